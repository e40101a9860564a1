"""Bars that show how far a loader, or other long work, is."""
