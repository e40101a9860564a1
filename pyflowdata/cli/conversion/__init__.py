"""The work of `pyflowdata convert`: shards of a target, made by several processes, resumable."""
