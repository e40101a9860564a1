"""Checks that read the sample through a DataLoader: threads, ranks, resuming."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyflowdata.errors import Error
from pyflowdata.nodes import Blob, Node
from pyflowdata.loader import DataLoader
from pyflowdata.native import ffi, lib, new_error, text
from ..spec import Spec
from .check import Check

# Attrs of the reader that the checks set themselves; all loaders have one seed, so that
# random_bits() gives a record the same numbers in all of them.
_SET_HERE = "rank world_size batch_size last_batch with_mask random_shuffle shuffle seed".split()

Rows = list[tuple[tuple[int, int], bytes]]  # (file, ordinal) and outputs, in order

_SEED = 3
_MOST_RESUMES = 16
_MOST_BATCHES = 300  # batches of an epoch: a source may have no end
_MOST_RECORDS = 100_000  # more records would take minutes


def _reader_of(node: Node) -> Node:
    return _reader_of(node.inputs[0].node) if node.inputs else node


def _id_of(reader: Node) -> Blob:
    return reader.outputs[-1]  # with_id=True adds this output


def _row(outputs: Iterable[Any], index: int) -> bytes:
    return b"|".join(np.ascontiguousarray(output[index]).tobytes() for output in outputs)


def loader(check: Check) -> str:
    """Compares threads, batch sizes, ranks, a random order and resumed states."""
    warnings.simplefilter("ignore")
    return _LoaderChecks(check).all()


class _LoaderChecks:
    """The checks of one node through DataLoaders."""

    def __init__(self, check: Check) -> None:
        self._check, self._tell, self._records = check, check.tell, check.job.records
        spec = check.given.with_reader(**dict.fromkeys(_SET_HERE))
        self._spec: Spec = spec.with_reader(with_id=True)
        self._unit = 1  # batch sizes are multiples of this, so that an epoch has few batches
        self._most: int | None = None  # records of an epoch that are compared; None: all

    def _open(self, threads: int = 1, **attrs: Any) -> DataLoader[tuple[Any, ...]]:
        given = {"batch_size": 3 * self._unit, "rank": 0, "world_size": 1, "seed": _SEED, **attrs}
        node = self._spec.with_reader(**given).make()
        id_blob = _id_of(_reader_of(node))
        blobs = [blob for blob in node.outputs if blob is not id_blob]
        return DataLoader(id_blob, *blobs, num_threads=threads)

    @staticmethod
    def _take(batches: Iterable[tuple[Any, ...]]) -> list[Rows]:
        taken: list[Rows] = []
        for ids, *outputs in batches:
            taken.append(
                [
                    ((int(place[0]), int(place[1])), _row(outputs, i))
                    for i, place in enumerate(ids)
                ]
            )
            if len(taken) == _MOST_BATCHES:
                break
        return taken

    def _epoch(self, threads: int = 1, **attrs: Any) -> Rows:
        with self._open(threads, **attrs) as loader:
            return [row for batch in self._take(loader) for row in batch][: self._most]

    def _differs(self, id: str, got: Rows, expected: Rows, what: str, remedy: str) -> None:
        if got == expected:
            return
        if len(got) != len(expected):
            found = f"{len(got)} records instead of {len(expected)}"
        else:
            first = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
            found = f"record number {first} of the epoch is the first that differs"
        self._tell(id, f"{what}: {found}; {remedy}")

    def all(self) -> str:
        """Runs every check; returns what was looked at."""
        try:
            return self._all()
        except Error as failure:
            self._tell(
                "loader-fails",
                f"a DataLoader over the intact sample fails: {type(failure).__name__}: {failure}",
            )
            return "a DataLoader fails"

    def _all(self) -> str:
        with self._open() as loader:
            records = len(loader) * 3 if _has_length(loader) else 0
        if records > _MOST_RECORDS:
            return f"left out: the sample has {records} records; {_MOST_RECORDS} are enough"
        self._unit = 1 + records // 300
        with self._open() as loader:
            batches = self._take(loader)
        base = [row for batch in batches for row in batch]
        if len(batches) == _MOST_BATCHES:  # the epoch has more batches, or no end
            self._most = len(base)
        elif self._records is not None and len(base) != self._records:
            self._tell(
                "record-count",
                f"an epoch has {len(base)} records, the sample has {self._records}: look at the "
                "first and the last record of each file, and at size()",
            )
        self._threads(base)
        if self._spec.needs_whole_batches():
            return f"{len(base)} records: 1, 2, 7 threads, {self._resume()} resumed states"
        if self._check.case("another batch_size"):
            self._differs(
                "batch-dependent", self._epoch(threads=2, batch_size=5 * self._unit), base,
                "with another batch_size the records are others",
                "a row must depend on its own record alone",
            )  # fmt: skip
        if self._most is not None:
            return (
                f"the first {len(base)} records: 1, 2, 7 threads, {self._resume()} resumed states; "
                "left out: ranks and random_shuffle, which are compared over a whole epoch"
            )
        self._worlds(base)
        resumed = self._resume()
        if self._check.case("random_shuffle"):
            again = self._epoch(threads=2, random_shuffle=True)
            self._differs(
                "shuffle-differs", sorted(again), sorted(base),
                "random_shuffle=True gives other rows", "a record must be the same in any order",
            )  # fmt: skip
        return f"{len(base)} records: 1, 2, 7 threads, 1 to 3 ranks, {resumed} resumed states"

    def _threads(self, base: Rows) -> None:
        for threads in (1, 2, 7, 7):
            if not self._check.case(f"{threads} threads"):
                continue
            self._differs(
                "threads-differ", self._epoch(threads), base,
                f"with num_threads={threads} the records are others than with 1",
                "keep no state in the source that at() changes, none in global variables, and let "
                "nothing depend on thread or time",
            )  # fmt: skip

    def _worlds(self, base: Rows) -> None:
        for size in (2, 3):
            if not self._check.case(f"{size} ranks"):
                continue
            ranks = [
                self._epoch(threads=2, batch_size=6 * self._unit, world_size=size, rank=rank)
                for rank in range(size)
            ]
            self._differs(
                "world-coverage", sorted(row for rank in ranks for row in rank), sorted(base),
                f"{size} ranks together do not cover each record once",
                "size(), at() and the order must be the same in every process: no randomness or "
                "time in open()",
            )  # fmt: skip

    def _resume(self) -> int:
        with self._open(2) as loader:
            batches = self._take(loader)
        steps = len(batches)
        picked = sorted({1 + i * steps // _MOST_RESUMES for i in range(_MOST_RESUMES)})
        for k in picked:
            if k >= steps:
                break
            if not self._check.case(f"resumed after {k} batches"):
                continue
            with self._open(1) as loader:
                iterator = iter(loader)
                for _ in range(k):
                    next(iterator)
                state = loader.state_dict()
            with self._open(2) as loader:
                loader.load_state_dict(state)
                rest = [row for batch in self._take(loader) for row in batch]
            expected = [row for batch in batches[k:] for row in batch]
            if self._most is not None:
                rest = rest[: len(expected)]
            self._differs(
                "resume-differs", rest, expected,
                f"resumed after {k} batches, the records differ from those without a stop",
                "seek() must set all of the position; at() must be a pure function",
            )  # fmt: skip
        return len(picked)


def _has_length(loader: DataLoader[Any]) -> bool:
    try:
        len(loader)
    except TypeError:
        return False
    return True


def has_groups(node: Node) -> bool:
    """Whether a reader makes batches by group, so that its order differs from the order of its
    records."""
    found, err = ffi.new("const pfd_op **"), new_error()
    lib.pfd_op_find(node.op.name.encode(), found, err)
    if found[0].group == ffi.NULL or found[0].group_attr == ffi.NULL:
        return bool(found[0].group != ffi.NULL)
    attr = node.op.attr(text(found[0].group_attr))
    return attr is not None and bool(node.values.get(attr.name, attr.default))
