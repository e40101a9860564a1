"""Data sets as values: records in an order, before they have batches."""

from .dataset import Dataset
from .mixing import mix
from .opening import open

__all__ = ["Dataset", "mix", "open"]
