"""The benchmark; README.md says how it is run and how it measures."""
