"""Parquet files: the columns that rows cannot have."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from .base.column_format import ColumnFormat
from .base.detection import Detected
from .base.source import Source


class Parquet(ColumnFormat):
    """Tables whose row groups pyarrow decodes."""

    written_by = ", and pyarrow writes it, pyarrow.parquet.write_table()"

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the columns of a file, and what is left out of them."""
        try:
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError:
            dataclasses.replace(source, files=(one.path,)).reader()  # says what it needs
            raise
        found = super().infer(source, one, as_stored=as_stored)
        names = parquet.read_schema(one.path).names if found.fields else []
        return self.without(found, names)


FORMAT = Parquet
