"""Parquet files: the columns that rows cannot have."""

from __future__ import annotations

from ..pyops.row_groups import pyarrow
from .base.column_format import ColumnFormat
from .base.detection import Detected
from .base.source import Source


class Parquet(ColumnFormat):
    """Tables whose row groups pyarrow decodes."""

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the columns of a file, and what is left out of them."""
        parquet = pyarrow().parquet
        found = super().infer(source, one, as_stored=as_stored)
        names = parquet.read_schema(one.path).names if found.fields else []
        return self.without(found, names)


FORMAT = Parquet
