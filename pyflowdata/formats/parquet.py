"""Parquet files, which need pyarrow, and their writer."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Mapping
from typing import Any, ClassVar

from ..nodes.registry import COMPRESSIONS
from .base.arrow_tables import TableWriter
from .base.detection import Detected
from .base.format import ColumnFormat
from .base.source import Source

_GROUP_RECORDS = 1 << 14


class ParquetWriter(TableWriter):
    """Writes Parquet files, with checksums of their pages.

    Samples, batches and `columns` are those of an `ArrowWriter`.  The reader decodes a row group
    as a whole and shuffles within some of them, so small groups shuffle better, and take more
    time.
    """

    levels: ClassVar[Mapping[str, tuple[int, int] | None]] = {
        "zstd": COMPRESSIONS["zstd"].levels, "snappy": None, "gzip": (1, 9), "lz4": None,
        "brotli": (0, 11),
    }  # fmt: skip
    compressions = tuple(levels)

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        group_records: int = _GROUP_RECORDS,
        **options: Any,
    ) -> None:
        """Opens the file; raises as an `ArrowWriter`.

        Args:
            path: The file.
            columns: As for an `ArrowWriter`.
            group_records: The rows of a row group; one of more than 1 GiB has fewer.
            **options: As for every `Writer`.  `compression` applies to the pages in the file:
                "zstd", which is the default, "snappy", "gzip", "lz4", "brotli" or "none".
        """
        rows = self._whole("group_records", group_records, 1)
        super().__init__(path, columns=columns, batch_records=rows or _GROUP_RECORDS, **options)

    def _pack(self, compression: str | None, level: Any) -> tuple[str | None, int | None]:
        return super()._pack("zstd" if compression is None else compression, level)

    def _opened(self, sink: Any) -> Any:
        parquet = importlib.import_module("pyarrow.parquet")
        name, level = self._codec or ("none", None)
        return parquet.ParquetWriter(
            sink, self._schema(), compression=name, compression_level=level,
            write_page_checksum=True,
        )  # fmt: skip


class Parquet(ColumnFormat):
    """Tables whose row groups pyarrow decodes."""

    writer = ParquetWriter
    has_objects = True
    refuses_compressed = True

    def schema(self, path: str) -> Any:
        """The schema of a file."""
        return importlib.import_module("pyarrow.parquet").read_schema(path)

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the columns of a file; raises also if pyarrow is not installed."""
        try:
            importlib.import_module("pyarrow.parquet")
        except ImportError:
            dataclasses.replace(source, files=(one.path,)).reader()  # says what it needs
            raise
        return super().infer(source, one, as_stored=as_stored)


FORMAT = Parquet
