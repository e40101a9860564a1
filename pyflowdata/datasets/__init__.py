"""Data sets as values: records in an order, before they have batches."""

from .opening import from_arrays, open
from .batches import Batches
from .dataset import Dataset
from .mixing import mix

__all__ = ["Batches", "Dataset", "from_arrays", "mix", "open"]
