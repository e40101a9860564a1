"""A file of computed records, which CacheReader reads: csrc/formats/cache/cache_reader.c.

The file is written under another name, synced and renamed: under its own name it is complete.  Its
bytes depend only on the records: the state of a loader fits the cache of another machine.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import Error, FileError
from ..native import xxh64
from ..nodes import Blob, Node, dtype_number, find_op
from .base.fields import Field, output_names


Array = npt.NDArray[Any]

_HEADER = struct.Struct("=8sII5qQ")  # as cache_header
_FIELD = struct.Struct("=ii8q")  # as pfd_row_type
_MAGIC, _VERSION = b"PFDCACHE", 2
_PAGE = 4096
_BLOCK = 64 * 1024  # bytes with a checksum


def _types(fields: Mapping[str, Blob]) -> bytes:
    packed = b""
    for blob in fields.values():
        shape = [-1 if size is None else size for size in blob.shape[1:]]
        unused = [0] * (8 - len(shape))
        packed += _FIELD.pack(dtype_number(blob.dtype), len(shape), *shape, *unused)
    return packed


def _record_bytes(fields: Mapping[str, Blob]) -> int:
    """The bytes of every record; 0: records differ in size."""
    if any(blob.is_ragged for blob in fields.values()):
        return 0
    sizes = [blob.dtype.itemsize * int(np.prod(blob.dense_row_shape)) for blob in fields.values()]
    return sum(-(-size // 8) * 8 for size in sizes)


def encoded_records(blobs: Sequence[Blob]) -> Blob:
    """The records of fields in the form that `CacheWriter.write()` takes."""
    return Node(find_op("RecordEncoder"), None, list(blobs), {}).outputs[0]


def cached_fields(cache: object, path: Path, fields: Iterable[Field]) -> tuple[Blob, ...]:
    """The fields of the records of a file, which `cache` makes before a loader opens it."""
    listed = list(fields)
    outputs = output_names(field.name for field in listed)
    specs = [f"{name}:{field.type}" for name, field in zip(outputs, listed, strict=True)]
    values = {"cache": cache, "fields": specs, "files": [str(path)]}
    return Node(find_op("CacheReader"), None, [], values).outputs


class CacheWriter:
    """Writes a file of records; use it with `with`: without `finish()` no file is left.

    Attributes:
        records, bytes: How much was written.
    """

    def __init__(self, temporary: Path, fields: Mapping[str, Blob]) -> None:
        """Makes the file `temporary`, for records of these fields.

        Raises:
            FileError: The file cannot be made.
        """
        self.records = self.bytes = 0
        self._path = temporary
        self._types, self._record_bytes = _types(fields), _record_bytes(fields)
        self._num_fields = len(fields)
        self._first = -(-(_HEADER.size + len(self._types)) // _PAGE) * _PAGE
        self._ends: list[Array] = [np.zeros(1, np.int64)]
        self._sums: list[int] = []
        self._rest = bytearray()  # of a block that is not full
        try:
            number = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as failure:
            raise self._error(failure) from failure
        os.fchmod(number, 0o644)
        self._file = os.fdopen(number, "r+b")
        self._file.seek(self._first)

    @property
    def fileno(self) -> int:
        """The number of the open file."""
        return self._file.fileno()

    def write(self, records: Array, row_splits: Array) -> None:
        """Adds records whose bytes lie back to back; record i is the bytes between `row_splits[i]`
        and `row_splits[i + 1]`.
        """
        self._write(records)
        if not self._record_bytes:
            self._ends.append(row_splits[1:] + self.bytes)
        self.records += len(row_splits) - 1
        self.bytes += int(row_splits[-1])

    def finish(self, path: Path) -> None:
        """Completes the file, and gives it its name."""
        table = self._first + self.bytes
        if not self._record_bytes:
            self._write((np.concatenate(self._ends) + self._first).view(np.uint8))
        if self._rest:
            self._sums.append(xxh64(self._rest))
        sums = np.array(self._sums, np.uint64)
        places = (self._first, table, self._file.tell(), xxh64(sums))
        self._file.write(sums.data)
        self._file.truncate()  # without records nothing was written before this place
        header = _HEADER.pack(
            _MAGIC, _VERSION, self._num_fields, self.records, self._record_bytes, *places
        )
        self._file.seek(0)
        self._file.write(header + self._types)
        self._file.flush()
        os.fsync(self._file.fileno())
        os.replace(self._path, path)

    def _write(self, data: Array) -> None:
        """Adds bytes to the file, and the checksums of the blocks that they complete."""
        self._file.write(data.data)
        begin = min(_BLOCK - len(self._rest), len(data)) if self._rest else 0
        self._rest += data[:begin].data
        if len(self._rest) == _BLOCK:
            self._sums.append(xxh64(self._rest))
            self._rest.clear()
        end = begin + (len(data) - begin) // _BLOCK * _BLOCK
        self._sums += [xxh64(data[at : at + _BLOCK]) for at in range(begin, end, _BLOCK)]
        self._rest += data[end:].data

    def _error(self, failure: OSError) -> FileError:
        return FileError(
            f"the cache cannot be written after {self.records:,} records of "
            f"{self.bytes / 1e6:,.1f} MB together: {failure.strerror}",
            file=str(self._path.parent),
        )

    def __enter__(self) -> CacheWriter:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, failure: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Removes an unfinished file; a failure of the disk becomes an error that names the file.
        """
        with contextlib.suppress(OSError):  # what could not be written cannot be written now
            self._file.close()
        self._path.unlink(missing_ok=True)
        if isinstance(failure, OSError) and not isinstance(failure, Error):
            raise self._error(failure) from failure
