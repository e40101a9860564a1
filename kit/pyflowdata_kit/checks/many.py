"""Tries more than 65,536 records, where numbers of 16 bits end: the sample's records, repeated."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..file_layout import Layout
from ..kit import FORWARD, Kit, Run
from .check import Check
from .sample_files import SampleCopy, companion_files, layout_of, overwrite, why_not_grown
from pyflowdata.errors import Error


# ---- Copies with repeated records, by what the format of a file seems to be ---------------------

_Order = Literal["little", "big"]
_KINDS: tuple[tuple[int, _Order], ...] = ((4, "little"), (4, "big"), (8, "little"), (8, "big"))
_HEADER = 64  # bytes at a file's beginning in which a count is looked for


@dataclass(frozen=True)
class _Repetition:
    """How the records of a file can be repeated.

    Attributes:
        data: The file.
        begin, end: The bytes that are repeated.
        count: Place, width and byte order of the number of records; None: the file has none.
        num_records: The records of the file.
    """

    data: bytes
    begin: int
    end: int
    count: tuple[int, int, _Order] | None
    num_records: int

    def repeated(self, times: int) -> bytes:
        data = bytearray(self.data)
        if self.count:
            place, width, order = self.count
            total = self.num_records * times
            data[place : place + width] = total.to_bytes(width, order)
        return bytes(data[: self.begin] + data[self.begin : self.end] * times + data[self.end :])

    def shift(self, times: int) -> int:
        """The bytes by which the last record moves."""
        return (self.end - self.begin) * (times - 1)


def repetitions(data: bytes, layout: Layout) -> Iterator[_Repetition]:
    """The ways in which the records of a file might be repeated."""
    records = layout.records
    if len(records) < 2:
        return
    first, last, gap = records[0].offset, records[-1].end, layout.gap
    for before in dict.fromkeys([min(gap, first), *range(min(gap, first), -1, -4), 0]):
        begin, end = first - before, last + gap - before
        if end > len(data):
            continue
        for count in [None, *_counts(data[: min(begin, _HEADER)], len(records))]:
            yield _Repetition(data, begin, end, count, len(records))


def _counts(header: bytes, num_records: int) -> Iterator[tuple[int, int, _Order]]:
    """The places of the number, the most likely kind of integer first."""
    for width, order in _KINDS:
        place = header.find(num_records.to_bytes(width, order))
        if place >= 0:
            yield place, width, order


# ---- The check ----------------------------------------------------------------------------------

_MOST_BYTES = 1 << 25  # bytes of a file with repeated records
_MOST_FILES = 1000  # so many take a tenth of a second
_NAMES = math.isqrt(_MOST_FILES) + 1
_FILES = 256  # numbers of 8 bits end here; tried if so many files have too few records
_LIMITS = {15: "32,768", 16: "65,536"}
# Limits of the machine, such as descriptors and memory, or of the reader.
_LIMIT_STATUSES = ("PFD_IO", "PFD_OUT_OF_MEMORY", "PFD_UNSUPPORTED")


@dataclass(frozen=True)
class _Fault:
    """The fault in the last record, and the status with which the op reported it."""

    text: str
    status: str = "PFD_OK"


def many(check: Check) -> str:
    """Repeats the records of the last file within it; if that is impossible, repeats the files."""
    base = check.base(silent=True)
    if why := why_not_grown(base):
        return f"not tried: {why}"
    paths = [Path(path) for path in check.kit.files()]
    companions = companion_files(paths, base)
    said = None if companions else _in_one_file(check, base, paths)
    if said is None:
        said = _in_many_files(check, base, paths[: len(paths) - len(companions)])
    return said


# ---- In one file --------------------------------------------------------------------------------


def _in_one_file(check: Check, base: Run, paths: list[Path]) -> str | None:
    """A text about what was checked; None: the file does not show how its records can be repeated.
    """
    last = int(base.spans["file"][base.num_records - 1])
    path, files = paths[last], SampleCopy(check, "many")
    if path.name not in files.names():
        return None
    kit, copy, data = files.kit, files.folder / path.name, path.read_bytes()
    for way in repetitions(data, layout_of(base, last)):
        overwrite(copy, way.repeated(2))
        if _fault(kit, base, way, 2, "") is None and _num_records(kit) == (
            base.num_records + way.num_records
        ):
            return _repeat(check, kit, base, way, copy)
    return None


def _repeat(check: Check, kit: Kit, base: Run, way: _Repetition, copy: Path) -> str | None:
    if way.shift(1 + (1 << 16) // way.num_records) > _MOST_BYTES:
        return None
    seen = []
    for bits, limit in _LIMITS.items():
        doing = f"{copy.name} with more than {limit} records"
        if not check.case(doing):
            continue
        below = ((1 << bits) - base.num_records) // way.num_records
        overwrite(copy, way.repeated(below))
        fault = _fault(kit, base, way, below, "")
        if fault is not None and fault.status != "PFD_OK":
            break  # the reader has its own limit
        if fault is None:
            above = below + 2 + base.num_records // way.num_records
            overwrite(copy, way.repeated(above))
            fault = _fault(kit, base, way, above, doing)
        seen.append(limit)
        if fault is not None:
            _tell(check, fault, f"{copy.name}, with its records repeated to about {limit},")
            break
    return f"more than {' and '.join(seen) or 'some thousand'} records in {copy.name}"


def _num_records(kit: Kit) -> int:
    try:
        return kit.run(order=FORWARD, range=16, silent=True).num_records
    except Error:
        return -1


def _fault(kit: Kit, base: Run, way: _Repetition, times: int, doing: str) -> _Fault | None:
    """The fault in the last record of a file whose records are repeated this many times."""
    file, offset, size = _last_place(base)
    num_records = base.num_records + (times - 1) * way.num_records
    return _fault_at(kit, (file, offset + way.shift(times), size), num_records, doing)


# ---- In many files ------------------------------------------------------------------------------


def _in_many_files(check: Check, base: Run, paths: list[Path]) -> str:
    """Reads the files of the sample under many names."""
    folders = {path.resolve().parent for path in paths}
    choices = [1 + (1 << bits) // base.num_records for bits in sorted(_LIMITS, reverse=True)]
    choices.append(1 + _FILES // len(paths))
    times = next((n for n in choices if n * len(paths) <= _MOST_FILES), 0)
    if not times or len(folders) > 1:
        return "not tried: the sample has too many files, or several folders"
    doing = f"the {len(paths)} files of the sample {times} times"
    if not check.case(doing):
        return "nothing"
    folder = Path(check.job.folder, "files")
    folder.mkdir()
    (parent,) = folders
    for i in range(_NAMES):  # so many squared are enough; a link for each name would take longer
        os.symlink(".", folder / f"{i}")
        os.symlink(parent, folder / f"to-{i}")
    try:
        if _fault_in_files(check, base, paths, folder, 2, "") is not None:
            return "not tried: twice the files have not twice the records"
        fault = _fault_in_files(check, base, paths, folder, times, doing)
    except Error as failure:
        return f"not tried: {failure}"
    if fault is not None and fault.status in _LIMIT_STATUSES:
        return f"not tried: {fault.text}"
    if fault is not None:
        _tell(check, fault, f"{doing}, with {times * base.num_records} records,")
    count = times * base.num_records
    why = "" if count > 1 << 16 else ": it does not show how a file of this format grows"
    return f"{count:,} records in {times * len(paths)} files{why}"


def _fault_in_files(
    check: Check, base: Run, paths: list[Path], folder: Path, times: int, doing: str
) -> _Fault | None:
    """The fault in the last record when the files are repeated this many times, under the names of
    folders.  Raises Error: the files cannot be one data set.
    """
    names = [folder / f"{i // _NAMES}" / f"to-{i % _NAMES}" for i in range(times)]
    files = [str(name / path.name) for name in names for path in paths]
    kit = check.make_kit(check.job.spec.with_files(files))
    file, offset, size = _last_place(base)
    place = file + (times - 1) * len(paths), offset, size
    return _fault_at(kit, place, times * base.num_records, doing)


# ---- Both ---------------------------------------------------------------------------------------


def _last_place(base: Run) -> tuple[int, int, int]:
    """File, offset and size of the last record."""
    found = base.spans[base.num_records - 1]
    return int(found["file"]), int(found["offset"]), int(found["size"])


def _fault_at(
    kit: Kit, expected: tuple[int, int, int], num_records: int, doing: str
) -> _Fault | None:
    """The fault in the last of this many records, for which file, offset and size are expected."""
    try:
        run = kit.run(
            order=FORWARD, range=1, most_records=2, unguarded=1, silent=not doing, doing=doing
        )
    except Error as failure:
        return _Fault(f"the op could not be called: {failure}")
    if run.status not in ("PFD_OK", "PFD_CORRUPT_DATA") or run.function == "open()":
        return _Fault(f"{run.function} fails with {run.status}, {run.message}", run.status)
    if run.num_records < 2:
        return _Fault(f"it seems to have {run.num_records} records")
    file, offset, size = (int(run.spans[1][name]) for name in ("file", "offset", "size"))
    if file < 0:
        said = f"the last record fails in {run.function} with {run.status}, {run.message}"
        return _Fault(said, run.status)
    if (file, offset, size) != expected:
        return _Fault(
            f"the last record is said to have {size} bytes at offset {offset} of file {file}, "
            f"where it has {expected[2]} at {expected[1]} of file {expected[0]}"
        )
    if run.size != num_records:  # the last record is right where numbers of 16 bits begin again
        return _Fault(f"size() says {run.size} records, where there are {num_records}")
    return None


def _tell(check: Check, fault: _Fault, what: str) -> None:
    check.tell(
        "narrow-count",
        f"{what} cannot be read to the end: {fault.text}; hold numbers of records and files in "
        "int64_t, and let arrays of them grow",
    )
