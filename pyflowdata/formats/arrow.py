"""Arrow IPC files and streams, and their writer, which needs pyarrow."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any, ClassVar

from ..nodes.registry import COMPRESSIONS
from .base.arrow_tables import TableWriter
from .base.format import ColumnFormat

_BATCH_RECORDS = 1000


class ArrowWriter(TableWriter):
    """Writes Arrow IPC files, or streams.

    A sample is a dict of numbers, text, bytes and arrays of numbers, a batch a dict of columns.
    Text becomes utf8, bytes become binary, and arrays become lists, of a fixed size in each
    dimension in which all rows agree.  `columns` gives types; the first sample or batch decides the
    types of other columns.  Arrays of uint8 with one dimension are bytes, unless `columns` says
    otherwise.
    """

    levels: ClassVar[Mapping[str, tuple[int, int] | None]] = {
        "lz4": (1, 12), "zstd": COMPRESSIONS["zstd"].levels,
    }  # fmt: skip
    compressions = tuple(levels)

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        batch_records: int = _BATCH_RECORDS,
        stream: bool = False,
        **options: Any,
    ) -> None:
        """Opens the file.

        Args:
            path: The file.
            columns: Name of a column -> its type: str, bytes, or a dtype with the shape of a row,
                as int64, float32[3] or float32[?,2].
            batch_records: The rows of a record batch; a batch of more than 1 GiB has fewer.
            stream: Whether to write a stream, which has no index of its batches, in place of a
                file.
            **options: As for every `Writer`.  `compression` applies to the buffers in the file:
                "lz4", "zstd" or "none"; `shard_bytes` counts the bytes of values.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The folder does not exist or is not writable, or the file exists already.
            UnsupportedError: The package pyarrow is not installed.
        """
        rows = self._whole("batch_records", batch_records, 1)
        self._is_stream = bool(stream)
        super().__init__(path, columns=columns, batch_records=rows or _BATCH_RECORDS, **options)

    def _opened(self, sink: Any) -> Any:
        ipc = self._arrow.ipc
        codec = self._arrow.Codec(*self._codec) if self._codec else None
        make = ipc.new_stream if self._is_stream else ipc.new_file
        return make(sink, self._schema(), options=ipc.IpcWriteOptions(compression=codec))


class Arrow(ColumnFormat):
    """Fields are the columns of the first file that rows can have, by their paths."""

    writer = ArrowWriter
    has_objects = True
    refuses_compressed = True
    refuses_others = True

    def schema(self, path: str) -> Any:
        """The schema of a file or of a stream."""
        arrow = importlib.import_module("pyarrow")
        ipc = importlib.import_module("pyarrow.ipc")
        with arrow.memory_map(path) as file:
            try:
                return ipc.open_file(file).schema
            except arrow.ArrowInvalid:
                file.seek(0)
                return ipc.open_stream(file).schema


FORMAT = Arrow
