"""Plugins that are compiled again: for sanitizers, fuzzers and programs without Python."""
