"""What `pyflowdata convert` does: shards of a target, made by several processes, resumable."""
