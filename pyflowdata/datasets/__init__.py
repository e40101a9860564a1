"""Data sets as values: records in an order, before they have batches."""

from .opening import from_arrays, from_arrow, open
from .batches import Batches
from .dataset import Dataset
from .mixing import mix

__all__ = ["Batches", "Dataset", "from_arrays", "from_arrow", "mix", "open"]
