"""Parquet files: the columns that rows cannot have."""

from __future__ import annotations

import importlib
from typing import Any

from .base.column_format import ColumnFormat
from .base.detection import Detected
from .base.source import Source


class Parquet(ColumnFormat):
    """Tables whose row groups pyarrow decodes."""

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the columns of a file, and what is left out of them."""
        found = super().infer(source, one, as_stored=as_stored)
        if not found.fields:
            return found
        parquet: Any = importlib.import_module("pyarrow.parquet")
        return self.without(found, parquet.read_schema(one.path).names)


FORMAT = Parquet
