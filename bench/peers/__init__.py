"""One file a peer, and its pinned requirements beside it: the best ways it delivers a workload."""
