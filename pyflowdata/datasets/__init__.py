"""Data sets as values: records in an order, before they have batches."""

from .opening import from_arrays, from_arrow, open, range
from .batches import Batches
from .dataset import Dataset
from .mixing import mix
from .splitting import Leaks, leaks

__all__ = [
    "Batches", "Dataset", "Leaks", "from_arrays", "from_arrow", "leaks", "mix", "open", "range",
]  # fmt: skip
