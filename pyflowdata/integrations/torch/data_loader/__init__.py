"""torch.utils.data.DataLoader with exact resume: `from pyflowdata.integrations.torch import
DataLoader`."""

from __future__ import annotations

from .loader import DataLoader
from .randomness import sample_generator

__all__ = ["DataLoader", "sample_generator"]

DataLoader.__module__ = __name__.rpartition(".")[0]  # where users import it from
sample_generator.__module__ = __name__.rpartition(".")[0]
