"""Tries files beyond 2 and 4 GB, where numbers of 32 bits end: sparse copies of the sample."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..file_layout import ByteOrder, Layout, Span, differ_alike, length_fields
from ..kit import FORWARD, MOST_RECORDS, Run
from .check import Check
from .sample_files import SampleCopy, companion_files, layout_of, overwrite, why_not_grown
from pyflowdata.errors import Error


# ---- Sparse copies, by what the format of a file seems to be ------------------------------------

_KINDS: tuple[tuple[int, ByteOrder], ...] = ((8, "little"), (8, "big"), (4, "little"), (4, "big"))
_MOST_ADDED = 64  # bytes that an offset may count besides: a header
_LEAST_STRIDE = 16  # bytes of a record: 2 GB would have too many smaller records
_MOST_BYTES = 1 << 20  # bytes of files that are searched for numbers
_MOST_WAYS = 16  # ways that are tried
_LONGEST_ENTRY = 64  # bytes of an entry of a table of offsets


@dataclass(frozen=True)
class _Field:
    """An integer in a file that counts the bytes up to the end of record `number` of the file, or
    the bytes of only that record.
    """

    file: str
    place: int
    width: int
    order: ByteOrder
    number: int
    is_length: bool

    def fits(self, value: int) -> bool:
        return 0 <= value < 1 << (8 * self.width)


@dataclass(frozen=True)
class _Growth:
    """How a file can grow.

    Attributes:
        name: The name of the file.
        layout: Its records.
        fields: The numbers that change.
        step: The number of zeros is a multiple of this.
        into: Zeros are put after the bytes of these records.
    """

    name: str
    layout: Layout
    fields: tuple[_Field, ...]
    step: int
    into: tuple[int, ...]

    def grown(
        self, contents: Mapping[str, bytes], added: int
    ) -> dict[str, dict[int, bytes]] | None:
        """The changed files, with about this many more bytes; each file is a dict of pieces by
        offset, with zeros between them.  None: the fields cannot hold such numbers.
        """
        each = added // len(self.into) // self.step * self.step
        holes = {number: each for number in self.into}
        changed = {name: bytearray(contents[name]) for name in self._names()}
        for field in self.fields:
            data, end = changed[field.file], field.place + field.width
            value = int.from_bytes(data[field.place : end], field.order)
            if field.is_length:
                value += holes.get(field.number, 0)
            else:
                value += sum(size for number, size in holes.items() if number < field.number)
            if not field.fits(value):
                return None
            data[field.place : end] = value.to_bytes(field.width, field.order)
        pieces = {name: {0: bytes(data)} for name, data in changed.items()}
        pieces[self.name] = self._with_holes(bytes(changed[self.name]), holes)
        return pieces

    def shift(self, added: int) -> int:
        """The bytes by which the last record moves."""
        return added // len(self.into) // self.step * self.step * len(self.into)

    def _names(self) -> set[str]:
        return {self.name, *(field.file for field in self.fields)}

    def _with_holes(self, data: bytes, holes: Mapping[int, int]) -> dict[int, bytes]:
        pieces, begin, shift = {}, 0, 0
        for number in sorted(holes):
            end = self.layout.records[number].end
            pieces[begin + shift] = data[begin:end]
            begin, shift = end, shift + holes[number]
        pieces[begin + shift] = data[begin:]
        return pieces


def growths(contents: Mapping[str, bytes], name: str, layout: Layout) -> Iterator[_Growth]:
    """The ways in which a file might grow; none if nothing is known of its format.

    Args:
        contents: The bytes of the file and its companions, by name.
        name: The file; its last record is the last record of the sample.
        layout: All records of the file.
    """
    records = layout.records
    if len(records) < 4 or sum(map(len, contents.values())) > _MOST_BYTES:
        return
    strides = {two.offset - one.offset for one, two in zip(records, records[1:])}
    if len(strides) == 1 and min(strides) >= _LEAST_STRIDE:
        yield _Growth(name, layout, (), min(strides), (1,))
    lengths = [*_lengths(contents[name], name, records), ()]
    tables = [one for other in contents for one in _tables(contents[other], other, records)]
    middle = tuple(range(1, len(records) - 1))
    ways = [one + two for one in lengths for two in [*tables, ()]]
    for fields in ways[:_MOST_WAYS]:
        if fields:
            yield _Growth(name, layout, fields, 64, middle)


def write_sparse(path: Path, pieces: Mapping[int, bytes]) -> None:
    """Writes a file that has zeros between the pieces."""
    with path.open("wb") as file:
        for offset, data in pieces.items():
            file.seek(offset)
            file.write(data)
        file.truncate()


def _lengths(data: bytes, name: str, records: Sequence[Span]) -> Iterator[tuple[_Field, ...]]:
    """A field of each record, at the same distance from the record."""
    if len({record.size for record in records}) < 2:
        return
    for field in length_fields(data, records, _KINDS):
        yield tuple(
            _Field(name, record.offset - field.before, field.width, field.order, number, True)
            for number, record in enumerate(records)
        )


def _tables(data: bytes, name: str, records: Sequence[Span]) -> Iterator[tuple[_Field, ...]]:
    """A field for each record, at equal distances from each other."""
    offsets = [record.offset for record in records]
    for width, order in _KINDS:
        if len(data) < width:
            continue
        runs = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, np.uint8), width)
        numbers = np.ascontiguousarray(runs).view(f"{'<' if order == 'little' else '>'}i{width}")
        added = numbers.ravel().astype(np.int64) - offsets[0]
        firsts = np.flatnonzero(np.abs(added) <= _MOST_ADDED)
        for entry in range(width, _LONGEST_ENTRY + 1):
            fit = firsts[firsts + entry * (len(records) - 1) < len(added)]
            fit = fit[added[fit + entry] - added[fit] == offsets[1] - offsets[0]]
            for place in fit.tolist():
                places = range(place, place + entry * len(records), entry)
                if differ_alike([int(numbers[p, 0]) for p in places], offsets):
                    yield tuple(
                        _Field(name, one, width, order, number, False)
                        for number, one in enumerate(places)
                    )


# ---- The check ----------------------------------------------------------------------------------

_SMALL = 1 << 16  # a file grows by so many bytes, to see whether its format is understood
_AROUND = 1 << 20  # distance from the limit, on both sides
_LIMITS = {31: "2 GB", 32: "4 GB"}
_MEMORY = 1 << 30  # bytes that the op may take; an index of many records may need more


def large(check: Check) -> str:
    """Reads the last file with records as if it had more than 2 and 4 GB."""
    _limit_memory()
    base = check.base(silent=True)
    if why := why_not_grown(base):
        return f"not tried: {why}"
    paths = [Path(path) for path in check.kit.files()]
    last = int(base.spans["file"][base.num_records - 1])
    files = [paths[last], *(paths[i] for i in companion_files(paths, base))]
    copy = SampleCopy(check, "large")
    if not {path.name for path in files} <= copy.names():
        return "not tried: the files are read from where they are"
    contents = {path.name: path.read_bytes() for path in files}
    for growth in growths(contents, paths[last].name, layout_of(base, last)):
        trial = _Trial(check, copy, base, growth, contents)
        if trial.understood():
            return trial.run()
    return "not tried: it does not show how a file of this format grows; give a large one by --also"


def _limit_memory() -> None:
    """Limits the memory of this process, which is a fork for only these checks."""
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = used + _MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))


class _Trial:
    """Tries one way to grow a file."""

    def __init__(
        self, check: Check, copy: SampleCopy, base: Run, growth: _Growth,
        contents: dict[str, bytes],
    ) -> None:  # fmt: skip
        self._check, self._base = check, base
        self._kit, self._folder = copy.kit, copy.folder
        self._growth, self._contents = growth, contents
        self._name, self._size = growth.name, len(contents[growth.name])

    def understood(self) -> bool:
        """Whether a copy that grew a little is read as expected, in a time that does not grow."""
        step = self._growth.step
        if self._growth.fields:
            return self._read(_SMALL) is None
        reads = []
        for count in (3, 6):  # further records of zeros
            if not self._write(count * step):
                return False
            run = self._run(MOST_RECORDS)
            if run is None or run.num_records != min(self._base.num_records + count, MOST_RECORDS):
                return False
            reads.append(run.num_reads - run.num_records)
        return reads[0] == reads[1] and self._read(_SMALL // step * step) is None

    def run(self) -> str:
        """Reports findings."""
        seen = []
        for bits, limit in _LIMITS.items():
            below, above = (1 << bits) - _AROUND - self._size, (1 << bits) + _AROUND - self._size
            if not self._check.case(f"{self._name} grown to {limit}"):
                continue
            if self._read(below) is not None:
                break  # the reader has its own limit
            fault = self._read(above, f"{self._name} grown to {limit}")
            if fault == "":
                break
            seen.append(limit)
            if fault is not None:
                self._tell(bits, limit, fault)
                break
        self._restore()
        return f"{self._name} grown to {' and '.join(seen) or 'less than 2 GB'}"

    def _tell(self, bits: int, limit: str, fault: str) -> None:
        self._check.tell(
            "narrow-offset",
            f"{self._name} was read as it should with 1 MB less than {limit}, and not with 1 MB "
            f"more (zeros within it, as a sparse file): {fault}; hold offsets and sizes of files "
            "in int64_t, also between two steps of a computation",
            likely=(
                f"an offset or a size of {'int' if bits == 31 else 'uint32_t'}, or a cast to it",
                "a product of two ints, such as index * record_bytes: make one of them int64_t",
            ),
        )

    def _restore(self) -> None:
        for name, data in self._contents.items():
            overwrite(self._folder / name, data)

    def _write(self, added: int) -> bool:
        grown = self._growth.grown(self._contents, added)
        if grown is None:
            return False
        try:
            for name, pieces in grown.items():
                write_sparse(self._folder / name, pieces)
        except OSError as failure:  # the disk, or a limit of the user
            self._check.note(f"files beyond 2 GB: they cannot be written: {failure}")
            return False
        return True

    def _run(self, most: int, doing: str = "") -> Run | None:
        try:
            return self._kit.run(
                order=FORWARD, range=1, most_records=most, silent=not doing, doing=doing
            )
        except Error:
            return None

    def _read(self, added: int, doing: str = "") -> str | None:
        """The fault in the first or the last record; None: there is none; "": it cannot be tried.
        """
        if not self._write(added):
            return ""
        run = self._run(2, doing)
        if run is None:
            return "the op could not be called"
        is_refused = run.status == "PFD_UNSUPPORTED" and run.function == "open()"
        if is_refused or run.status == "PFD_OUT_OF_MEMORY":
            return ""
        expected = self._base.spans[self._base.num_records - 1]
        offset = int(expected["offset"]) + self._growth.shift(added)
        if run.status != "PFD_OK" or run.num_records < 2:
            said = f"{run.function} fails with {run.status}, {run.message}" if run.function else ""
            return said or f"it has {run.num_records} records"
        found = run.spans[1]
        if (int(found["offset"]), int(found["size"])) != (offset, int(expected["size"])):
            return (
                f"the last record is said to have {found['size']} bytes at offset "
                f"{found['offset']}, where it has {expected['size']} at {offset}"
            )
        if run.rows[1] != self._base.rows[self._base.num_records - 1]:
            return "the outputs of the last record are others"
        return None
