"""Hands batches to other libraries, one module for each; a module imports its library itself."""
