"""Damage of files: a reader omits damaged records and names them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import CorruptDataError, Error, FileError, OutOfMemoryError
from ...loader import DataLoader
from .detection import opened

Walk = Callable[[str, mmap.mmap, "Scan"], "Iterator[Damage]"]
Opener = Callable[..., DataLoader[Any]]  # a loader of the records, with further attrs of the reader

_BATCH = 64  # a loader keeps at most 100 skipped records of a batch (PFD_MOST_SKIPPED_ERRORS)
_LARGE_BATCH = 1024  # records, most likely all whole


class Damage(NamedTuple):
    """A place in a file where something is wrong.

    Attributes:
        file: The path of the file.
        record: The number of the record in the file, from 0; None: not known.
        byte: The offset in the file; None: not known.
        message: The wrong value, and the expected value.
        line: The line in a text file, from 1.
    """

    file: str
    record: int | None
    byte: int | None
    message: str
    line: int | None = None

    def __str__(self) -> str:
        place = [f"record {self.record}"] if self.record is not None and self.line is None else []
        place += [f"byte {self.byte}"] if self.byte is not None else []
        where = f"{self.file}:{self.line}" if self.line is not None else self.file
        details = f" ({', '.join(place)})" if place else ""
        return f"{where}{details}: {self.message}"


@dataclass
class Scan:
    """The results of a scan.

    Attributes:
        good: The number of whole records.
        is_unchecked: Whether there are checksums, but none of them could be computed.
        notes: Sentences about what could not be checked, and what looks odd.
        progress: Called now and then with the number of whole records so far.
    """

    good: int = 0
    is_unchecked: bool = False
    notes: list[str] = field(default_factory=list)
    progress: Callable[[int], None] = lambda records: None


def damage_of(path: str, failure: Error) -> Damage:
    """The place that an error names, in `path` if it names no file."""
    return Damage(
        failure.file or path, failure.ordinal, failure.byte, failure.message, failure.line
    )


def read_all(path: str, opener: Opener, is_stream: bool, scan: Scan) -> list[Damage]:
    """Reads all records of a file, and finds the records that its reader refuses.

    Args:
        opener: Opens a loader over the file.
        is_stream: Whether the file is compressed: nothing after its first damage can be read.
        scan: Counts the whole records.

    Raises:
        OutOfMemoryError: One record is larger than the memory budget of the loader.
    """
    if _is_whole(opener, scan):
        return []
    batch_size = _BATCH
    while True:
        scan.good = 0
        try:
            return list(_read(path, opener, is_stream, scan, batch_size))
        except OutOfMemoryError as failure:
            if batch_size == 1 or failure.file is not None:  # one record is too large
                raise
            batch_size = batch_size // 8  # perhaps a few records fit


def _is_whole(opener: Opener, scan: Scan) -> bool:
    """Whether all records are whole: reads them in large batches, up to the first damage."""
    try:
        with opener(batch_size=_LARGE_BATCH, on_error="skip", max_skipped=-1) as loader:
            for batch in loader:
                if loader.stats()["skipped"]:
                    return False
                scan.good += len(next(iter(batch.values())))
                scan.progress(scan.good)
            return not loader.stats()["skipped"]
    except (CorruptDataError, FileError, OutOfMemoryError):
        return False


def _read(
    path: str, opener: Opener, is_stream: bool, scan: Scan, batch_size: int
) -> Iterator[Damage]:
    try:
        # One thread delivers, so that stats() after a batch has the records skipped in it.
        with opener(batch_size=batch_size, on_error="skip", max_skipped=-1) as loader:
            reported = 0
            batches = iter(loader)
            while True:
                try:
                    batch = next(batches, None)
                except CorruptDataError as failure:
                    if is_stream and failure.reason != "no-records":
                        scan.good += _whole_before(opener, scan.good + reported)
                    raise
                total = int(loader.stats()["skipped"])
                new = loader.skipped[-(total - reported) :] if total > reported else []
                yield from (damage_of(path, failure) for failure in new)
                reported = total
                if batch is None:
                    return
                scan.good += len(next(iter(batch.values())))
                scan.progress(scan.good)
    except (CorruptDataError, FileError) as failure:
        if failure.reason == "no-records":
            return
        if scan.good == 0 and failure.records is not None:
            scan.good = failure.records  # the reader counted these, and reads none of them
        yield damage_of(path, failure)


def _whole_before(opener: Opener, begin: int) -> int:
    """The number of records between whole batches of a stream and its damage."""
    records = 0
    try:
        with opener(batch_size=1, on_error="skip", max_skipped=-1) as loader:
            loader.seek(begin)
            for _ in loader:
                records += 1
    except (CorruptDataError, FileError):
        pass
    return records


def walk_file(path: str, scan: Scan, walk: Walk) -> Iterator[Damage]:
    """Walks over the frames of an uncompressed file; the walk may continue after damage.

    Raises:
        FileError: The file cannot be read.
    """
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield from walk(path, data, scan)
    except OSError as failure:
        raise FileError(failure.strerror or str(failure), file=path) from None
