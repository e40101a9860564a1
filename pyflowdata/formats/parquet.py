"""Parquet files, which need pyarrow."""

from __future__ import annotations

import dataclasses
import importlib

from .base.format import ColumnFormat
from .base.detection import Detected
from .base.source import Source


class Parquet(ColumnFormat):
    """Tables whose row groups pyarrow decodes."""

    written_by = ", and pyarrow writes it, pyarrow.parquet.write_table()"
    refuses_compressed = True

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the columns of a file; raises also if pyarrow is not installed."""
        try:
            importlib.import_module("pyarrow.parquet")
        except ImportError:
            dataclasses.replace(source, files=(one.path,)).reader()  # says what it needs
            raise
        return super().infer(source, one, as_stored=as_stored)


FORMAT = Parquet
