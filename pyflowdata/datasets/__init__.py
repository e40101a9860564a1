"""Data sets as values: records in an order, before they have batches."""

from .dataset import Dataset
from .opening import open

__all__ = ["Dataset", "open"]
