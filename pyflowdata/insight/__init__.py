"""The work of a loader in numbers and pictures: reports, graphs, traces, stalls, speed, sheets."""
