"""What a loader did, with every picture of it: reports, graphs, traces, stalls, speed, sheets."""
