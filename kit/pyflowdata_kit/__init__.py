"""The conformance kit, which checks that an op keeps its contract, and the benchmark of ops."""
