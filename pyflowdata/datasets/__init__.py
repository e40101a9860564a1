"""Data sets as values: records in an order, before they have batches."""

from .arrays import from_arrays
from .batches import Batches
from .dataset import Dataset
from .mixing import mix
from .opening import open

__all__ = ["Batches", "Dataset", "from_arrays", "mix", "open"]
