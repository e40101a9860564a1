"""One file a workload: its data, its batch size, and what its table shows."""
