"""Runs of the C part of the kit, and their findings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflowdata.nodes import Node
from pyflowdata.native import check, encode, new_error, text
from .binding import ffi, lib, new_struct

Hashes = npt.NDArray[np.uint64]
Draws = npt.NDArray[np.void]  # an array with the fields of _DRAW
_SPAN = np.dtype([("offset", "<i8"), ("size", "<i8"), ("file", "<i4")], align=True)
Tell = Callable[[str, str], None]  # a finding's id and text

_ORDERS = {
    lib.PFD_KIT_FORWARD: "forward",
    lib.PFD_KIT_BACKWARD: "backward",
    lib.PFD_KIT_SHUFFLED: "shuffled",
    lib.PFD_KIT_STREAM: "by next()",
}
FORWARD, BACKWARD = lib.PFD_KIT_FORWARD, lib.PFD_KIT_BACKWARD
SHUFFLED, STREAM = lib.PFD_KIT_SHUFFLED, lib.PFD_KIT_STREAM
TYPES, RANGES = lib.PFD_KIT_TYPES, lib.PFD_KIT_RANGES
FORMATS, _TWO_SOURCES = lib.PFD_KIT_FORMATS, lib.PFD_KIT_TWO_SOURCES
MANY_SHAPES, ONE_SHAPE = lib.PFD_KIT_MANY_SHAPES, lib.PFD_KIT_ONE_SHAPE
LARGE_ROWS = lib.PFD_KIT_LARGE_ROWS
NAME_GENERATORS = lib.PFD_KIT_NAME_GENERATORS
FIX_SYSTEM, FIX_SEEDED = lib.PFD_KIT_FIX_SYSTEM, lib.PFD_KIT_FIX_SEEDED
BLOCKS, MANY_ROWS = lib.PFD_KIT_PATTERN_BLOCKS, lib.PFD_KIT_PATTERN_MANY
ONE_ROW = lib.PFD_KIT_PATTERN_ONE
MOST_RECORDS = lib.PFD_KIT_MOST_RECORDS

_DRAW = np.dtype(
    [("key", np.uint64)]
    + [(name, np.int64) for name in ("ordinal", "draw", "first", "first_offset", "num_rows")]
)

_STATUS = {
    getattr(lib, name): name
    for name in (
        "PFD_OK PFD_END PFD_PENDING PFD_INVALID_ARGUMENT PFD_CORRUPT_DATA PFD_IO PFD_UNSUPPORTED "
        "PFD_OUT_OF_MEMORY PFD_CANCELLED PFD_INTERNAL PFD_USER_FUNCTION"
    ).split()
}


@dataclass(frozen=True)
class Hashed:
    """Hashes of the records and rows of a run.

    Attributes:
        records, rows: A hash of each record, and one of its row in all outputs; 0: not seen, 1:
            failed.  The shape is (most_records,).
    """

    records: Hashes
    rows: Hashes

    def equals(self, other: Hashed) -> bool:
        """Whether both have the same records with the same outputs."""
        return np.array_equal(self.records, other.records) and np.array_equal(
            self.rows, other.rows
        )

    def first_difference(self, other: Hashed) -> int | None:
        """The first record whose hash or row differs between two runs over as many records."""
        differs = (self.records != other.records) | (self.rows != other.rows)
        places = np.flatnonzero(differs)
        return int(places[0]) if len(places) else None


@dataclass(frozen=True)
class Run(Hashed):
    """The result of one run.

    Attributes:
        status: The status of the first call that failed, or "PFD_OK".
        function: The function of that call, such as "open()".
        message: The message of that call.
        injected: Whether a failure that was asked for took place.
        num_records: The records that were looked at.
        size: The records that the reader says it has; -1 for a stream.
        num_failed: The records among these that failed.
        num_accepted: The offered shapes that infer() has accepted.
        num_reads, num_allocs: Calls of the host's functions, in the first round.
        num_draws: Random numbers that compute() drew.
        generator: The first other watched generator of random numbers that was called, or "".
        shared_position: The file whose position several threads moved, or "".
        variable: With watch_state, the first variable of the environment that the plugin asked for,
            or "".
        clock_reads: With watch_state, how often the plugin asked for the time; -1: not known.
        found: Id and text of each finding.
        patterns: By the id of a finding, the common property of the ranges that show it: BLOCKS,
            MANY_ROWS or ONE_ROW.
        spans: The places of the records' bytes, shape (most_records,), with the fields offset, size
            and file; file is -1 for a record that was not seen.
    """

    status: str
    function: str
    message: str
    injected: bool
    num_records: int
    size: int
    num_failed: int
    num_reads: int
    num_allocs: int
    num_draws: int
    generator: str
    shared_position: str
    clock_reads: int
    variable: str
    num_accepted: int
    found: tuple[tuple[str, str], ...]
    patterns: Mapping[str, int]
    spans: npt.NDArray[np.void]

    @property
    def succeeded(self) -> bool:
        """Whether nothing failed."""
        return self.status == "PFD_OK" and self.num_failed == 0

    @property
    def leaks(self) -> tuple[tuple[str, str], ...]:
        """Id and text of each finding of memory or descriptors that grew over the rounds."""
        return tuple(one for one in self.found if one[0].startswith("leaks-"))

    @property
    def is_refused(self) -> bool:
        """Whether the data was refused, as damaged data may be."""
        return self.status == "PFD_CORRUPT_DATA" or (
            self.status == "PFD_UNSUPPORTED" and self.function == "open()"
        )

    def is_subsequence_of(self, other: Run) -> bool:
        """Whether these are records of the other run, with the same outputs and in the same
        order."""
        known = iter(_pairs(other))
        return all(pair in known for pair in _pairs(self))


def order_name(order: int) -> str:
    """The text for FORWARD, BACKWARD, SHUFFLED or STREAM."""
    return _ORDERS[order]


def _describe(given: Any, doing: str) -> str:
    """A text about what a run does, for the messages of its findings."""
    parts = [doing] if doing else []
    if given.mode in (TYPES, RANGES):
        parts += ["the first records of the sample"] if given.mode == RANGES else []
        return ", ".join([*parts, f"seed {given.seed}"])
    parts.append(f"records {order_name(given.order)}, {given.range} at a time")
    if given.seek > 0:
        parts.append(f"from record {given.seek} on")
    if given.epoch:
        parts.append(f"in epoch {given.epoch}")
    if given.num_threads > 1:
        parts.append(f"{given.num_threads} threads")
    return ", ".join([*parts, f"seed {given.seed}"])


def _options(options: Mapping[str, Any], report_fd: int, limit_ms: int) -> Any:
    given = new_struct("pfd_kit_options")
    defaults = {"range": 16, "most_records": MOST_RECORDS, "num_threads": 1, "rounds": 1,
                "fail_read_with": lib.PFD_IO, "report_fd": report_fd, "limit_ms": limit_ms,
                "seed": 1}  # fmt: skip
    for name, value in {**defaults, **options}.items():
        setattr(given, name, value)
    return given


def _seen(records: Hashes, rows: Hashes) -> dict[str, Any]:
    """A `pfd_kit_seen` of arrays that the caller keeps."""
    return {"records": ffi.cast("uint64_t *", records.ctypes.data),
            "rows": ffi.cast("uint64_t *", rows.ctypes.data), "capacity": len(records)}  # fmt: skip


def _each(out: Any) -> list[Any]:
    """The findings of a result, as pfd_kit_finding."""
    return [out.findings[i] for i in range(out.num_findings)]


def _findings(out: Any) -> list[tuple[str, str]]:
    """Id and text of each."""
    return [(text(one.id), text(one.text)) for one in _each(out)]


@contextlib.contextmanager
def watched_nodes(op: str, report_fd: int, limit: float) -> Iterator[list[tuple[str, str]]]:
    """Watches infer(), companions() and propose() of an op while nodes of the op are made; at the
    end, fills the list with ids and texts of findings."""
    given = _options({"watch_state": 1}, report_fd, int(limit * 1000))
    out, err = new_struct("pfd_kit_result"), new_error()
    found: list[tuple[str, str]] = []
    check(lib.pfd_kit_watch_begin(encode(op, "op name"), given, out, err), err)
    try:
        yield found
    finally:
        lib.pfd_kit_watch_end()
        found += _findings(out)


class Kit:
    """Runs over one node."""

    def __init__(
        self, node: Node, tell: Tell, report_fd: int, limit: float
    ) -> None:
        """Args: the node; who takes findings; the descriptor for reports of crashes; seconds for
        one run."""
        self._node = node
        self._blob = ffi.new("pfd_blob *")
        node.outputs[0].fill(self._blob)
        self._tell = tell
        self._report_fd = report_fd
        self._limit_ms = int(limit * 1000)

    def run(self, *, doing: str = "", silent: bool = False, **options: Any) -> Run:
        """Does one run; `options` are the fields of `pfd_kit_options`. A silent run tells no
        findings.

        Raises:
            Error: The op could not be called at all.
        """
        given = _options(options, self._report_fd, self._limit_ms)
        size: int = given.most_records
        records, rows = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        spans = np.zeros(size, _SPAN)
        where = _describe(given, doing)
        said = ffi.new("char[]", where.encode())
        given.doing, given.seen = said, _seen(records, rows)
        given.seen.spans = ffi.cast("pfd_kit_span *", spans.ctypes.data)
        out, err = new_struct("pfd_kit_result"), new_error()
        check(lib.pfd_kit_run(self._blob, given, out, err), err)
        run = _read_run(out, records, rows, spans, f" (with {where})")
        for id, said in () if silent else run.found:
            self._tell(id, said)
        return run

    def own_attrs(self) -> set[str]:
        """The attrs that the op declares, without those of the host."""
        names: set[str] = set()
        while (name := lib.pfd_kit_attr(self._blob, len(names))) != ffi.NULL:
            names.add(text(name))
        return names

    def draws(self, most: int, *, doing: str = "", **options: Any) -> Draws:
        """The first random numbers that compute() draws in a silent run.

        Returns: An array of shape (draws,) with a field for each of `pfd_kit_draw`.
        """
        noted = ffi.new("pfd_kit_draw[]", most)
        run = self.run(doing=doing, silent=True, draws=(noted, most), **options)
        known = min(run.num_draws, most)
        found: Draws = np.frombuffer(ffi.buffer(noted), _DRAW)[:known].copy()
        return found

    def run_with(self, other: Kit, *, doing: str, **options: Any) -> tuple[Run, Hashed]:
        """Runs over both nodes alternately, on one thread; returns the results of both."""
        size = options.get("most_records", MOST_RECORDS)
        records, rows = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        run = self.run(
            doing=doing, silent=True, mode=_TWO_SOURCES, other=other._blob,
            other_seen=_seen(records, rows), **options,
        )  # fmt: skip
        return run, Hashed(records, rows)

    def files(self) -> list[str]:
        """The files that the reader reads, in order. Raises FileError if they do not exist."""
        needed, size = ffi.new("int64_t *"), 4096
        while True:
            paths, err = ffi.new("char[]", size), new_error()
            check(lib.pfd_kit_files(self._blob, paths, size, needed, err), err)
            if needed[0] <= size:
                break
            size = needed[0]
        said: str = ffi.buffer(paths)[: needed[0]].decode("utf-8", "replace")
        return said.split("\0")[:-1]


def _pairs(run: Run) -> list[tuple[int, int]]:
    seen = run.records != 0
    return list(zip(run.records[seen].tolist(), run.rows[seen].tolist()))


def _read_run(
    out: Any, records: Hashes, rows: Hashes, spans: npt.NDArray[np.void], where: str
) -> Run:
    return Run(
        status=_STATUS.get(out.status, str(out.status)),
        function=text(out.function),
        message=text(out.error.message),
        injected=bool(out.injected),
        num_records=out.num_records,
        size=out.size,
        num_failed=out.num_failed,
        num_reads=out.num_reads,
        num_allocs=out.num_allocs,
        num_draws=out.num_draws,
        generator=text(out.generator),
        shared_position=text(out.shared_position),
        num_accepted=out.num_accepted,
        clock_reads=out.num_clock_reads,
        variable=text(out.variable),
        found=tuple((id, said + where) for id, said in _findings(out)),
        patterns={text(one.id): one.pattern for one in _each(out) if one.pattern},
        records=records,
        rows=rows,
        spans=spans,
    )
