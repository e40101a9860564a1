"""The loader: it opens a graph, delivers its batches as arrays, and saves its state."""

from .data_loader import DataLoader

__all__ = ["DataLoader"]
