"""Checks that call the op's functions directly, through the C part of the kit."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import CorruptDataError, Error, InternalError
from ..native import lib
from .damaged_copies import KINDS
from .damage_trial import DamageTrial
from .job import Job
from .kit import BACKWARD, FORWARD, MOST_RECORDS, SHUFFLED, STREAM, Kit, Run, Tell
from .spec import Spec

_MOST_FAILURES = 40  # calls of which each is made to fail
_LEAK_ROUNDS = 65
_LEAK_REPEATS = 3


class Checks:
    """The checks of one node, each a method that returns what it looked at."""

    def __init__(self, job: Job, tell: Tell, warn: Tell, report_fd: int) -> None:
        self._job, self._tell, self._warn = job, tell, warn
        self._report_fd = report_fd
        self._whole_batches = job.spec.needs_whole_batches()
        self._given = job.spec.with_reader(rank=0, world_size=1)
        node = self._given.make()
        # What propose() found in the sample holds for copies of it that are damaged.
        self._job = replace(job, spec=self._given.with_found(node))
        self.kit = Kit(node, tell, report_fd, job.limit)
        self.is_reader = not job.spec.inputs

    def _make_kit(self, spec: Spec) -> Kit:
        return Kit(spec.make(), self._tell, self._report_fd, self._job.limit)

    def _range(self) -> int:
        return MOST_RECORDS if self._whole_batches else 16

    def base(self, *, doing: str = "", silent: bool = False, **options: int) -> Run:
        """A run over the sample as it is."""
        return self.kit.run(
            doing=doing, silent=silent, order=FORWARD, range=self._range(), **options
        )

    # ---- The sample as it is --------------------------------------------------------------------

    def records(self) -> str:
        """Every order and range gives the same; nothing is touched that is not the op's."""
        base = self.base(twice=1, rounds=3)
        if not base.is_whole:
            self._tell(
                "sample-fails",
                f"the sample itself cannot be read: {base.function} failed with {base.status}: "
                f"{base.message}; give a sample without damage, or correct what refuses it",
            )
            return "the sample fails"
        if base.num_records == 0:
            self._tell("no-records", "the sample has no records; give one with a few")
            return "no records"
        expected = self._job.records
        if expected is not None and base.num_records != min(expected, MOST_RECORDS):
            self._tell(
                "record-count",
                f"the reader finds {base.num_records} records, the sample has {expected}: look at "
                "the first and the last record of each file, and at size()",
            )
        size = self._range() if self._whole_batches else 1
        self.kit.run(order=FORWARD, range=size, rounds=2, watch_globals=1)
        self._orders(base)
        self._streams(base)
        filler = self.kit.run(order=FORWARD, range=self._range(), filler=1)
        if filler.is_whole and not np.array_equal(filler.rows, base.rows):
            self._tell(
                "filler-differs",
                "a record with filler = 1 gives another row than with filler = 0: a filler is a "
                "repeated record, compute() must treat it as any other",
            )
        return f"{base.num_records} records in every order, next to forbidden pages"

    def _orders(self, base: Run) -> None:
        runs = [(BACKWARD, 16), (SHUFFLED, 16), (FORWARD, 1), (FORWARD, 7), (SHUFFLED, 1)]
        for order, size in runs:
            if self._whole_batches:
                break  # rows may depend on each other
            run = self.kit.run(order=order, range=size, twice=int(size == 7))
            if not np.array_equal(run.records, base.records):
                self._tell(
                    "at-not-pure",
                    "at() describes records differently when they are asked for in another order "
                    "or number at once: it must be a pure function of the ordinals, keep no cursor "
                    "in the source",
                )
            elif not run.is_whole:
                self._tell(
                    "order-fails",
                    f"{run.function} fails when records are asked for in another order or number: "
                    f"{run.status}, {run.message}; it must work for any ordinals and ranges",
                )
            elif not np.array_equal(run.rows, base.rows):
                self._tell(
                    "range-dependent",
                    f"outputs change with how many records compute() gets at once ({size} instead "
                    "of 16) or which: a row must depend on its own record alone",
                )

    def _streams(self, base: Run) -> None:
        if not self.is_reader:
            return
        for size in (16, 1, 5):
            run = self.kit.run(order=STREAM, range=size)
            if run.is_whole and not run.equals(base):
                self._tell(
                    "stream-differs",
                    f"next() with max = {size} after seek(0) yields other records "
                    f"({run.num_records}) than before ({base.num_records}): it must yield the same "
                    "ones at any max, and after a seek() begin there",
                )
        seen = int(np.count_nonzero(base.records))
        for k in sorted({1, 2, 3, seen // 2, seen - 1}):
            if 0 < k < seen:
                self._seek(base, k, seen)
                self._seek(base, k, seen, seek_from=seen - 1)
        self._later_epoch(base, seen)

    def _later_epoch(self, base: Run, seen: int) -> None:
        """An epoch may have an order and records of its own, but none that is only missing."""
        later = self.kit.run(order=STREAM, range=16, epoch=1)
        if not later.is_whole:
            return self._tell(
                "epoch-differs",
                f"after seek() to epoch 1, {later.function} fails: {later.status}, "
                f"{later.message}; every epoch must be readable",
            )
        known = set(base.records[base.records != 0].tolist())
        found = set(later.records[later.records != 0].tolist())
        if found < known and seen < MOST_RECORDS:
            self._tell(
                "epoch-differs",
                f"after seek() to epoch 1, next() yields {later.num_records} records, and none "
                f"that epoch 0, of {base.num_records}, does not have: a later epoch must not leave "
                "records out; seek() to position 0 is the first record of any epoch",
            )
        count = int(np.count_nonzero(later.records))
        for k in sorted({1, count // 2, count - 1}):
            if 0 < k < count:
                self._seek(later, k, count, epoch=1)
        return None

    def _seek(self, base: Run, k: int, seen: int, **options: int) -> None:
        run = self.kit.run(doing="", silent=False, order=STREAM, range=3, seek=k, **options)
        if np.array_equal(run.records[k:seen], base.records[k:seen]) and run.is_whole:
            return
        if run.num_records == seen and seen == MOST_RECORDS:
            return  # at() alone: the host seeks
        got = next((i for i in range(seen) if base.records[i] == run.records[k]), None)
        instead = f"record {got}" if got is not None else "something else"
        self._tell(
            "seek-wrong",
            f"after seek() to record {k}, next() yields {instead} instead of it: seek() must set "
            "all of the position, file and offset and ordinal, also backwards",
        )

    def threads(self) -> str:
        """Several threads in one source at once."""
        if self._whole_batches:
            return "left out: rows depend on their batch"
        base = self.base()
        for round_ in range(3):
            run = self.kit.run(order=FORWARD, range=3, num_threads=4, seed=1, rounds=1 + round_)
            if run.is_whole and not run.equals(base):
                self._tell(
                    "threads-differ",
                    "several threads at once get other records or rows than one: keep no state in "
                    "the source that at() changes, and none in global variables",
                )
            elif not run.is_whole:
                self._tell(
                    "threads-differ",
                    f"{run.function} fails where several threads are in it at once: {run.message}; "
                    "keep no state in the source that at() changes, and none in global variables",
                )
        return "4 threads in one source"

    def types(self) -> str:
        """Inputs of other types than those of the sample."""
        run = self.kit.run(types=1, twice=1)
        return f"{run.num_records} types of inputs offered, rows made up of those accepted"

    # ---- Failures of the host -------------------------------------------------------------------

    def failures(self) -> str:
        """The n-th read or allocation fails."""
        base = self.base()
        for n in _spread(base.num_reads):
            self._fail(base, "read", "PFD_IO", f"read number {n}", fail_read=n)
            self._fail(
                base, "read", "PFD_CORRUPT_DATA", f"read number {n} short", fail_read=n,
                fail_read_with=lib.PFD_CORRUPT_DATA,
            )  # fmt: skip
        for n in _spread(base.num_allocs):
            self._fail(base, "alloc", "PFD_OUT_OF_MEMORY", f"alloc number {n}", fail_alloc=n)
        self._cancel(base)
        return f"{base.num_reads} reads and {base.num_allocs} allocations, each failing"

    def _fail(self, base: Run, what: str, expected: str, doing: str, **options: int) -> None:
        run = self.base(doing=f"{doing} failing", rounds=6, silent=True, **options)
        if any(id.startswith("leaks-") for id, _ in run.found):  # to be sure, over more rounds
            run = self._grows(doing=f"{doing} failing", **options)
        for id, text in run.found:
            self._tell(id, text)
        if not run.injected or (run.is_whole and run.equals(base)):
            return
        if run.status == "PFD_OK":
            self._tell(
                f"{what}-failure-ignored",
                f"host->{what}() failed ({doing}), and the op went on and gave other data: return "
                "its status when it is not PFD_OK"
                if what == "read"
                else f"host->alloc() gave NULL ({doing}), and the op went on and gave other data: "
                "look for NULL, and fail with PFD_OUT_OF_MEMORY",
            )
        elif run.status != expected:
            self._tell(
                f"{what}-failure-status",
                f"host->{what}() failed with {expected} ({doing}), and {run.function} made "
                f"{run.status} of it ({run.message}): hand the status on, since it says what may "
                "be done about it",
            )

    def _cancel(self, base: Run) -> None:
        run = self.base(cancelled=1)
        if run.status not in ("PFD_OK", "PFD_CANCELLED") or (
            run.status == "PFD_OK" and not run.equals(base)
        ):
            self._tell(
                "cancel-status",
                f"while is_cancelled() says 1, {run.function or 'the op'} gives {run.status} "
                f"({run.message}): finish as usual, or fail with PFD_CANCELLED",
            )

    # ---- Leaks ----------------------------------------------------------------------------------

    def _grows(self, *, doing: str = "", **options: int) -> Run:
        """A silent run over many rounds; a leak that it has found was there each time."""
        for _ in range(_LEAK_REPEATS):
            run = self.base(doing=doing, silent=True, rounds=_LEAK_ROUNDS, **options)
            if not any(id.startswith("leaks-") for id, _ in run.found):
                break
        return run

    def leaks(self) -> str:
        """Memory and descriptors over many rounds."""
        run = self._grows(most_records=64)
        for id, text in run.found:
            self._tell(id, text)
        return f"{_LEAK_ROUNDS} times opened and closed"

    # ---- Damage ---------------------------------------------------------------------------------

    def damage(self, kind: str) -> str:
        """Damaged copies of the last file with bytes in it."""
        paths = [Path(path) for path in self.kit.files()]
        victim = next((path for path in reversed(paths) if path.stat().st_size > 0), None)
        if victim is None:
            return "no file has bytes"
        folder = Path(self._job.folder, kind)
        _copy_files(paths, folder)
        kit = self._make_kit(self._job.spec.in_folder(str(folder)))
        base = kit.run(order=FORWARD, range=self._range())
        data = victim.read_bytes()
        trial = DamageTrial(kit, base, kind, len(data), self._range())
        for damaged, doing in KINDS[kind](data, victim.name):
            _overwrite(folder / victim.name, damaged)
            self._propose(folder, doing)
            trial.look(doing, data, damaged, self._tell)
        if self.is_reader:
            tell_unnoticed = self._tell if self._job.checksums else self._warn
            trial.conclude(tell_unnoticed, self._tell, self._warn)
        return trial.summary(self.is_reader)

    def _propose(self, folder: Path, doing: str) -> None:
        """Makes the node again, so that propose() infers the attrs that were left out."""
        if self._given == self._job.spec:
            return
        try:
            self._given.in_folder(str(folder)).make()
        except InternalError as failure:
            self._tell("propose-status", f"with {doing}, making the node fails: {failure}")
        except Error:  # as it should
            pass

    # ---- Numbers of records ---------------------------------------------------------------------

    def sizes(self) -> str:
        """Empty files, and the further samples."""
        paths = [Path(path) for path in self.kit.files()]
        folder = Path(self._job.folder, "empty")
        if paths:
            _copy_files(paths, folder)
            for path in paths:
                (folder / path.name).unlink()
                (folder / path.name).touch()
            self._count(str(folder), 0, "files of 0 bytes")
        for name, count in self._job.also:
            self._count(name, count, f"the sample {name}")
        return f"empty files and {len(self._job.also)} further samples"

    def _count(self, folder: str, count: int, what: str) -> None:
        kit = self._make_kit(self._job.spec.in_folder(folder))
        try:
            run = kit.run(order=FORWARD, range=self._range(), doing=what)
        except CorruptDataError:  # of the reader before the op
            if count == 0:
                return
            raise
        if count == 0 and run.status == "PFD_CORRUPT_DATA":
            return
        said = f"{run.status}: {run.message}" if run.message else run.status
        if run.status != "PFD_OK" or run.num_records != min(count, MOST_RECORDS):
            self._tell(
                "record-count",
                f"{what}: {run.num_records} records ({said}), where {count} are expected"
                + (", or PFD_CORRUPT_DATA" if count == 0 else ""),
            )


def _spread(count: int) -> Iterable[int]:
    """Numbers from 1 to count, all of them or some."""
    if count <= _MOST_FAILURES:
        return range(1, count + 1)
    half = _MOST_FAILURES // 2
    return sorted({*range(1, half + 1), *(1 + i * count // half for i in range(half)), count})


def _overwrite(path: Path, data: bytes) -> None:
    """Write without truncating first: some file systems then wait for the disk at each close."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def _copy_files(paths: list[Path], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in paths:
        shutil.copyfile(path, folder / path.name)
