"""The commands `pyflowdata new`, `check` and `bench`, a module each."""
