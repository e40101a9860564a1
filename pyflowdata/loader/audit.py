"""The audit of ledgers: which records of each epoch were delivered once, twice or never.

The words:

    loader    the ledgers whose readers have the same attrs and data, by one digest
    segment   the notes of one process of a loader
    start     the segments of all ranks that ran together; a restart is a further start
    history   starts that follow each other: each goes on from a state that was taken.  What was
              delivered after that state was rolled back with the model, and comes again
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..errors import FileError, shown
from ..words.plain_text import joined
from .epoch_steps import EpochSteps
from .ledger import (
    CLOSE, END, FAILED, LOAD, MOST_LISTED, MOVE, SEEK, STEP, SUFFIX, LedgerFile, Step, read_ledger,
)  # fmt: skip

_MOST_NAMED = 5  # ranges, records and files that a text names

Place = tuple[int, int]  # epoch and step


# ---- What is found ------------------------------------------------------------------------------


@dataclass
class EpochAudit:
    """How the records of an epoch were delivered in one history.

    Attributes:
        epoch: Counted from 0.
        status: "finished": a rank saw its end; "left": a rank went on with another epoch before its
            end; or "running": the history ends in it, for all ranks.
        once, twice, never: How many records were delivered once, twice or never.  In an epoch that
            is not finished, `never` counts only up to the last step; it counts nothing if `records`
            is -1.
        repeated: Records that were delivered, rolled back, and delivered again or not yet.
        damaged: Records that on_error left out or padded; they count as delivered.
        records: How many records the epoch has to deliver; -1: not known, since it is a stream.
        twice_at, never_at: The first of these positions: ranges [begin, end).
        damaged_records: The first of these: [file, line or number of the record].
    """

    epoch: int
    status: str
    once: int = 0
    twice: int = 0
    never: int = 0
    repeated: int = 0
    damaged: int = 0
    records: int = -1
    twice_at: list[tuple[int, int]] = field(default_factory=list)
    never_at: list[tuple[int, int]] = field(default_factory=list)
    damaged_records: list[list[Any]] = field(default_factory=list)


@dataclass
class StartAudit:
    """The processes of all ranks that were started together.

    Attributes:
        world_size, shares: The number of ranks, and the number of processes that share the steps of
            a rank.
        epoch, step: The place at which they began.
        by: "state": a state was loaded; "seek": the program went there; "": at the beginning.
        files: The names of the ledgers.
    """

    world_size: int
    shares: int
    epoch: int
    step: int
    by: str
    files: list[str]


@dataclass
class HistoryAudit:
    """Starts that follow each other.

    Attributes:
        starts, epochs: In their order.
        faults: Sentences about what is wrong; empty: each record was delivered exactly once.
    """

    starts: list[StartAudit]
    epochs: list[EpochAudit] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass
class LoaderAudit:
    """The histories of loaders with the same readers.

    Attributes:
        digest: The `check` of its states.
        about: A description of its fields, records and batch size.
        histories: The histories, in the order in which they began.
    """

    digest: str
    about: str
    histories: list[HistoryAudit] = field(default_factory=list)


@dataclass
class Audit:
    """What the ledgers of a directory say: print() shows it."""

    directory: str
    loaders: list[LoaderAudit]

    @property
    def faults(self) -> list[str]:
        """Sentences about what is wrong."""
        return [
            f"loader {loader.digest}: {fault}"
            for loader in self.loaders
            for history in loader.histories
            for fault in history.faults
        ]

    @property
    def is_exact(self) -> bool:
        """Whether each history delivered each record exactly once, as far as the epochs got."""
        return not self.faults

    @property
    def is_one_run(self) -> bool:
        """Whether each loader has one history, so that is_exact covers all its starts."""
        return all(len(loader.histories) == 1 for loader in self.loaders)

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {"exact": self.is_exact, "one_run": self.is_one_run, **asdict(self)}

    def __str__(self) -> str:
        lines = []
        for loader in self.loaders:
            lines.append(f"loader {loader.digest}: {loader.about}")
            for number, history in enumerate(loader.histories, 1):
                several = len(loader.histories) > 1
                lines += [f"  history {number} of {len(loader.histories)}"] if several else []
                lines += [f"  {line}" for line in _history_lines(history)]
        faults = len(self.faults)
        lines.append(
            f"NOT exact: {_count(faults, 'fault')}"
            if faults
            else "exact: no record was lost, and none was delivered twice"
            if self.is_one_run
            else "exact within each history; several histories may have delivered the same record"
        )
        if not self.is_one_run:
            lines.append(
                "A loader has several histories: a start without a saved state begins a new one. "
                "If it was meant to resume, its state was not loaded: this is not one run."
            )
        return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _history_lines(history: HistoryAudit) -> Iterator[str]:
    for number, start in enumerate(history.starts, 1):
        shares = f", {start.shares} processes each" if start.shares > 1 else ""
        how = {"state": ", from a state", "seek": ", by seek()", "": ""}[start.by]
        yield (
            f"start {number}: {_count(start.world_size, 'rank')}{shares}, at epoch {start.epoch}, "
            f"step {start.step}{how}"
        )
    for one in history.epochs:
        counts = [f"{one.once:,} once"]
        counts += [f"{one.twice:,} TWICE"] if one.twice else []
        counts += [f"{one.never:,} NEVER"] if one.never else []
        counts += [f"{one.repeated:,} repeated after a restart"] if one.repeated else []
        counts += [f"{one.damaged:,} damaged"] if one.damaged else []
        of = f" of {_count(one.records, 'record')}" if one.records >= 0 else ""
        yield f"epoch {one.epoch}{of}, {one.status}: {', '.join(counts)}"
        for file, record in one.damaged_records[:_MOST_NAMED]:
            yield f"  damaged: {file}: {record}"
    for fault in history.faults:
        yield f"FAULT: {fault}"


# ---- Segments: one ledger -----------------------------------------------------------------------


class _Segment:
    """What one process noted, without the batches that it took back.

    Attributes:
        file: The ledger.
        name: Its name.
        rank, world_size, share: The rank and share of the process.
        start_ns: When its loader was opened.
        place: The place at which it began; None: it did not begin.
        by: As in StartAudit.
        seeds: The seeds in use, of the readers whose order depends on them.
        steps: The batches that count.
        repeated: Epoch -> records that were rolled back by a state or a later start.
        ended: The epochs whose end it saw.
        is_closed: Whether its loader was closed; if not, the process was killed or still runs, or
            the file is cut.
        damaged: (epoch, step) -> [file, record] of damaged records.
    """

    def __init__(self, file: LedgerFile) -> None:
        header = file.header
        self.file, self.name = file, os.path.basename(file.path)
        self.rank, self.world_size = int(header["rank"]), int(header["world_size"])
        self.share: tuple[int, int] = tuple(header["share"])
        self.start_ns = int(header["start_ns"])
        self.seeds = [seed for seed in header["seeds"] if seed is not None]
        self.place: Place | None = None
        self.by = ""
        self.steps: list[Step] = []
        self.repeated: Counter[int] = Counter()
        self.ended: set[int] = set()
        self.is_closed = False
        self.damaged: dict[Place, list[list[Any]]] = {}
        self._last: Place | None = None  # the greatest place in `steps`, if it is known
        self._floor = 0  # steps before it stay when the library seeks
        for kind, value in file.entries:
            self._add(kind, value)
        self._last = max(self.steps)[:2] if self.steps else None

    def _add(self, kind: int, value: Any) -> None:
        if kind == STEP:
            self.steps.append(value)
        elif kind == FAILED:
            if self.steps:
                self.damaged[self.steps[-1][:2]] = value
        elif kind == SEEK:
            place = value[:2]
            self.place = place if self.place is None else self.place
            while len(self.steps) > self._floor and self.steps[-1][:2] >= place:
                self.steps.pop()
        elif kind == MOVE:
            self._floor = len(self.steps)
            self.by = self.by or ("seek" if self.place is None else "")
        elif kind == LOAD:
            self.by = "state" if self.place is None else self.by
            seeds = zip(value[3:], self.file.header["seeds"])
            self.seeds = [seed for seed, first in seeds if first is not None]
            place, self._last = value[:2], None
            self.roll_back(lambda _: place, place[0])
            self._floor = 0
        elif kind == END:
            self.ended.add(value[0])
        elif kind == CLOSE:
            self.is_closed = True

    def roll_back(self, place_of: Callable[[int], Place], epoch: int) -> None:
        """Removes the steps of an epoch from a place on; place_of(step) is the place for the share
        that has the step.
        """
        self.ended = {one for one in self.ended if one < epoch}
        if self._last is not None and self._last[0] < epoch:
            return
        kept = []
        for step in self.steps:
            if step[:2] >= place_of(step.step):
                self.repeated[step.epoch] += step.made
            else:
                kept.append(step)
        self.steps = kept
        self._last = max(kept)[:2] if kept else None

    def next(self, num_steps: int) -> Place:
        """The place of the first step that the process has not delivered."""
        epoch, step = self.place or (0, 0)
        index, count = self.share
        step += (index - step) % count
        if self._last is not None:
            epoch, step = max((epoch, step), (self._last[0], self._last[1] + count))
        if 0 <= num_steps <= step:
            epoch, step = epoch + 1, 0
        return max((epoch, step), (max(self.ended, default=-1) + 1, 0))

    def over(self, num_steps: int) -> int:
        """The process has ended or left all epochs before this one.  A run that was killed after
        the last step of an epoch may have had no time to end it.
        """
        return self.next(num_steps if self.is_closed else -1)[0]


# ---- Starts: the segments of all ranks ----------------------------------------------------------


@dataclass
class _Start:
    segments: list[_Segment]

    def fits(self, segment: _Segment) -> bool:
        """Whether the segment may have run together with the others."""
        first = self.segments[0]
        if (segment.world_size, segment.share[1]) != (first.world_size, first.share[1]):
            return False
        for one in self.segments:
            if one.share == segment.share:
                places = one.place, segment.place
                apart = None not in places and places[0] != places[1]
                if one.rank == segment.rank or apart:
                    return False
        return True

    @property
    def place(self) -> Place:
        places = [segment.place for segment in self.segments if segment.place is not None]
        return min(places, default=(0, 0))

    @property
    def by(self) -> str:
        return next((segment.by for segment in self.segments if segment.by), "")

    def place_of(self, step: int) -> Place:
        """The place at which the share with this step began."""
        count = self.segments[0].share[1]
        places = [p.place for p in self.segments if p.place and p.share[0] == step % count]
        return places[0] if places else self.place

    def missing(self) -> list[tuple[int, int]]:
        """(rank, share) of the processes without a ledger."""
        first = self.segments[0]
        had = {(segment.rank, segment.share[0]) for segment in self.segments}
        all_of = [(r, i) for r in range(first.world_size) for i in range(first.share[1])]
        return [one for one in all_of if one not in had]

    def next(self, num_steps: int) -> Place:
        """The place before which each process has delivered all its steps."""
        return min(segment.next(num_steps) for segment in self.segments)

    def ranks(self) -> list[list[_Segment]]:
        """The segments of each rank that has segments."""
        by_rank: dict[int, list[_Segment]] = {}
        for segment in self.segments:
            by_rank.setdefault(segment.rank, []).append(segment)
        return list(by_rank.values())

    def over(self, num_steps: int) -> int:
        """Some rank, with all its processes, has ended or left all epochs before this one."""
        return max(min(segment.over(num_steps) for segment in own) for own in self.ranks())

    def describe(self) -> StartAudit:
        first, (epoch, step) = self.segments[0], self.place
        files = [segment.name for segment in self.segments]
        return StartAudit(first.world_size, first.share[1], epoch, step, self.by, files)


def _starts_of(segments: Iterable[_Segment]) -> list[_Start]:
    starts: list[_Start] = []
    for segment in sorted(segments, key=lambda segment: (segment.start_ns, segment.rank)):
        if starts and starts[-1].fits(segment):
            starts[-1].segments.append(segment)
        elif segment.place is not None:
            starts.append(_Start([segment]))
    return starts


def _histories_of(starts: Iterable[_Start]) -> list[list[_Start]]:
    histories: list[list[_Start]] = []
    for start in starts:
        begins_anew = start.place == (0, 0) and start.by != "state"
        if not histories or begins_anew:
            histories.append([])
        histories[-1].append(start)
    return histories


# ---- Histories ----------------------------------------------------------------------------------


class _History:
    """Finds what is wrong with starts that follow each other."""

    def __init__(self, starts: list[_Start]) -> None:
        header = starts[0].segments[0].file.header
        self._starts = starts
        self._records, self._num_steps = int(header["rows"]), int(header["steps"])
        self._batch_size = int(header["batch_size"])
        self._end: Place = 0, 0  # the place before which each process had all its steps
        self._over = 0  # no rank goes on in the epochs before it
        self.found = HistoryAudit([start.describe() for start in starts])

    def audit(self) -> HistoryAudit:
        for number, start in enumerate(self._starts):
            self._resume(number, start)
        for number, start in enumerate(self._starts):
            self._compare_ranks(number, start)
        last = self._starts[-1]
        self._end = last.next(self._num_steps)
        self._over = max(self._end[0], last.over(self._num_steps))
        self._compare_ends(last)
        segments = self._segments()
        by_epoch: dict[int, list[tuple[Step, _Segment]]] = {}
        for segment in segments:
            for epoch in segment.repeated:
                by_epoch.setdefault(epoch, [])
            for step in segment.steps:
                by_epoch.setdefault(step.epoch, []).append((step, segment))
        for epoch in sorted(by_epoch):
            self.found.epochs.append(self._epoch(epoch, by_epoch[epoch]))
        return self.found

    def _segments(self) -> list[_Segment]:
        return [segment for start in self._starts for segment in start.segments]

    def _fault(self, said: str) -> None:
        self.found.faults.append(said)

    # ---- Starts -------------------------------------------------------------------------------

    def _resume(self, number: int, start: _Start) -> None:
        """Rolls back what earlier starts delivered from the place at which this start began."""
        epoch, step = start.place
        said = f"start {number + 1} began at epoch {epoch}, step {step}"
        if number == 0:
            if (epoch, step) > (0, 0):
                self._fault(f"{said}, but no ledger has the batches before that")
            return
        earlier = [segment for one in self._starts[:number] for segment in one.segments]
        for segment in earlier:
            segment.roll_back(start.place_of, epoch)
        reached = max((segment.next(self._num_steps) for segment in earlier), default=(0, 0))
        if (epoch, step) > reached and ((epoch, step) != (reached[0] + 1, 0)):
            self._fault(
                f"{said}, but the batches before it end at epoch {reached[0]}, step {reached[1]}: "
                f"the ledger of a start is missing, or steps were left out"
            )
        before, after = self._starts[number - 1].segments[0].seeds, start.segments[0].seeds
        if before != after:
            self._fault(f"start {number + 1} has seed {_numbers(after)}, and start {number} "
                        f"{_numbers(before)}: it has another order")  # fmt: skip

    def _compare_ranks(self, number: int, start: _Start) -> None:
        first = start.segments[0]
        for segment in start.segments[1:]:
            if segment.seeds != first.seeds:
                self._fault(
                    f"start {number + 1}: rank {segment.rank} has seed "
                    f"{_numbers(segment.seeds)}, and "
                    f"rank {first.rank} {_numbers(first.seeds)}: they have different orders"
                )
        missing = start.missing()
        if missing and any(segment.steps for segment in start.segments):
            names = [
                f"rank {rank}" + (f" process {share}" if first.share[1] > 1 else "")
                for rank, share in missing
            ]
            self._fault(f"start {number + 1}: {_listed(names)} of world size {first.world_size} "
                        f"has no ledger that begins at epoch {start.place[0]}, step "
                        f"{start.place[1]}")  # fmt: skip

    def _compare_ends(self, last: _Start) -> None:
        """Finds the ranks that stopped before the others."""
        is_any_closed = any(segment.is_closed for segment in last.segments)
        early = [one for one in last.segments if one.next(self._num_steps)[0] < self._over]
        if early and (self._num_steps >= 0 or is_any_closed):  # a stream's end is not foreseen
            said = [
                "{} ends at epoch {}, step {}".format(
                    self._whose(segment), *segment.next(self._num_steps)
                )
                for segment in early
            ]
            self._fault(f"{_listed(said)}, and another rank ended or left epoch {self._over - 1}")
        unclosed = [self._whose(segment) for segment in last.segments if not segment.is_closed]
        if is_any_closed and unclosed and last.segments[0].share[1] == 1:  # workers may be killed
            self._fault(f"{_listed(unclosed)}: no close of the loader is noted, and one of another "
                        "rank is: the process was killed or still runs, or the end of the ledger "
                        "is lost")  # fmt: skip

    # ---- Epochs -------------------------------------------------------------------------------

    def _epoch(self, epoch: int, steps: Sequence[tuple[Step, _Segment]]) -> EpochAudit:
        status, limit = self._status(epoch, [step for step, _ in steps])
        found = EpochAudit(epoch, status, records=self._records)
        found.repeated = sum(segment.repeated[epoch] for segment in self._segments())
        for step, segment in steps:
            found.damaged += step.failed
            found.damaged_records += segment.damaged.get((step.epoch, step.step), [])
        del found.damaged_records[MOST_LISTED:]
        ranges = np.array(
            [self._range(step, segment) for step, segment in steps], np.int64
        ).reshape(-1, 2)
        needed = self._needed(status, limit, steps, ranges)
        begins, ends, depths = _depths(ranges, needed)
        lengths = ends - begins
        found.once = int(lengths[depths == 1].sum())
        found.twice = int(lengths[depths > 1].sum())
        lost = (depths == 0) & (ends <= needed)
        found.never = int(lengths[lost].sum())
        found.twice_at = _joined_ranges(begins[depths > 1], ends[depths > 1])
        found.never_at = _joined_ranges(begins[lost], ends[lost])
        self._say_faults(found, steps)
        return found

    def _status(self, epoch: int, steps: Sequence[Step]) -> tuple[str, int]:
        """The status of an epoch, and the step before which everything must have been delivered."""
        most = max((step.step for step in steps), default=-1) + 1
        if epoch < self._over:
            ended = any(epoch in segment.ended for segment in self._segments())
            is_finished = ended or 0 <= self._num_steps <= most
            return ("finished" if is_finished else "left"), most
        return "running", self._end[1] if epoch == self._end[0] else 0

    def _range(self, step: Step, segment: _Segment) -> tuple[int, int]:
        first = step.first
        if first < 0:  # of a stream: the place in a batch as if all were full
            steps = EpochSteps(-1, -1, self._batch_size, segment.world_size, "short")
            first = steps.rows_of(step.step, segment.rank).start
        begin, end = first, first + step.made
        if self._records >= 0:  # without what only fills
            begin, end = min(begin, self._records), min(end, self._records)
        return begin, end

    def _needed(
        self, status: str, limit: int, steps: Sequence[tuple[Step, _Segment]], ranges: Any
    ) -> int:
        """The position before which everything must have been delivered; 0: not known."""
        if self._records < 0:
            return 0
        if status == "finished":
            return self._records
        size = self._batch_size
        in_grid = all(
            step.step * size <= step.first and step.first + step.made <= (step.step + 1) * size
            for step, _ in steps
        )
        if in_grid:
            return min(limit * size, self._records)
        done = [int(end) for (step, _), (_, end) in zip(steps, ranges) if step.step < limit]
        return max(done, default=0)

    def _whose(self, segment: _Segment) -> str:
        number = next(i for i, start in enumerate(self._starts, 1) if segment in start.segments)
        return f"rank {segment.rank} in start {number} ({segment.name})"

    def _say_faults(self, found: EpochAudit, steps: Sequence[tuple[Step, _Segment]]) -> None:
        if found.twice:
            begin = found.twice_at[0][0]
            whose: Counter[str] = Counter()
            for step, segment in steps:
                first, end = self._range(step, segment)
                if first <= begin < end:
                    whose[f"step {step.step} of {self._whose(segment)}"] += 1
            said = [f"{one}, {n} times" if n > 1 else one for one, n in whose.items()]
            self._fault(
                f"epoch {found.epoch}: {_count(found.twice, 'record')} twice, at "
                f"{_positions(found.twice_at)}; the first in {_listed(said)}"
            )
        if found.never:
            self._fault(
                f"epoch {found.epoch}: {_count(found.never, 'record')} never, at "
                f"{_positions(found.never_at)}"
            )


def _numbers(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds[:_MOST_NAMED]))


def _listed(texts: Sequence[str]) -> str:
    return joined(list(texts[:_MOST_NAMED]), "and")


def _positions(ranges: Sequence[tuple[int, int]]) -> str:
    said = [f"{begin}-{end - 1}" if end - begin > 1 else f"{begin}" for begin, end in ranges]
    more = ", ..." if len(said) > _MOST_NAMED else ""
    one = len(said) == 1 and "-" not in said[0]
    return f"position{'' if one else 's'} {', '.join(said[:_MOST_NAMED])}{more}"


def _depths(ranges: Any, needed: int) -> tuple[Any, Any, Any]:
    """Cuts [0, end) at the ends of the ranges; returns the pieces, and how many ranges contain each
    piece.
    """
    bounds, places = np.unique(
        np.concatenate([ranges.ravel(), np.array([0, needed], np.int64)]), return_inverse=True
    )
    places = places.ravel()[: ranges.size].reshape(-1, 2)
    changes = np.zeros(len(bounds), np.int64)
    np.add.at(changes, places[:, 0], 1)
    np.add.at(changes, places[:, 1], -1)
    return bounds[:-1], bounds[1:], np.cumsum(changes)[:-1]


def _joined_ranges(begins: Any, ends: Any) -> list[tuple[int, int]]:
    """The first ranges; ranges that touch are joined."""
    found: list[tuple[int, int]] = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if found and found[-1][1] == begin:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
        if len(found) > 2 * _MOST_NAMED:
            break
    return found


# ---- The directory ------------------------------------------------------------------------------


def _about(header: dict[str, Any]) -> str:
    records = int(header["rows"])
    of = _count(records, "record") if records >= 0 else "a stream"
    return f"{of}, batches of {header['batch_size']}, {_listed(header['fields'])}"


def _facts(reader: dict[str, Any]) -> dict[str, Any]:
    spec = reader.get("spec")
    facts = {key: value for key, value in reader.items() if key not in ("spec", "seed")}
    return facts | (spec if isinstance(spec, dict) else {"attrs": spec})


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """A sentence about what differs between two loaders."""
    said = []
    theirs = other["state"]["readers"]
    for name, reader in one["state"]["readers"].items():
        if name not in theirs:
            said.append(f"reader {shown(name)}")
            continue
        mine, its = _facts(reader), _facts(theirs[name])
        said += [
            f"{key} = {its.get(key)}, not {mine.get(key)}"
            for key in mine if mine[key] != its.get(key)
        ]  # fmt: skip
    return _listed(said) or "its readers"


def _explain_missing(starts: dict[str, list[_Start]], audits: dict[str, LoaderAudit]) -> None:
    """If ranks have no ledger, tells how another loader that has ledgers of them differs."""
    ranks = {digest: {segment.rank for start in own for segment in start.segments}
             for digest, own in starts.items()}  # fmt: skip
    header = {digest: own[0].segments[0].file.header for digest, own in starts.items()}
    for digest, own in starts.items():
        missing = {rank for start in own for rank, _ in start.missing()}
        last = audits[digest].histories[-1]
        if not last.faults:
            continue
        last.faults += [
            f"rank {rank} has ledgers of loader {other}: "
            + _difference(header[digest], header[other])
            for rank in sorted(missing)
            for other in starts
            if other != digest and rank in ranks[other]
        ]


def audit(directory: str | os.PathLike[str]) -> Audit:
    """Merges the ledgers of all ranks and restarts in a directory, and counts for each epoch the
    records that were delivered once, twice and never.

    Args:
        directory: As `ledger` of DataLoader.

    Returns:
        The result: `is_exact`, `faults` (sentences), `loaders` (all numbers); print() shows it.

    Raises:
        FileError: There are no ledgers, or they cannot be read.
        CorruptDataError: A ledger is damaged; `file` and `byte` name the place.
    """
    path = os.fspath(directory)
    try:
        names = sorted(name for name in os.listdir(path) if name.endswith(SUFFIX))
    except OSError as failure:
        raise FileError(f"cannot be read: {failure.strerror}", file=path) from failure
    files = [read_ledger(os.path.join(path, name)) for name in names]
    segments: dict[str, list[_Segment]] = {}
    for file in files:
        if file.header:
            segments.setdefault(file.header["state"]["check"], []).append(_Segment(file))
    starts = {digest: _starts_of(own) for digest, own in segments.items()}
    starts = {digest: own for digest, own in starts.items() if own}
    if not starts:
        raise FileError(
            f"has no ledger (*{SUFFIX}) with a batch; run with PYFLOWDATA_LEDGER={path}, or "
            "DataLoader(..., ledger=...)",
            file=path,
        )
    audits = {
        digest: LoaderAudit(
            digest,
            _about(own[0].segments[0].file.header),
            [_History(history).audit() for history in _histories_of(own)],
        )
        for digest, own in sorted(starts.items(), key=lambda one: one[1][0].segments[0].start_ns)
    }
    _explain_missing(starts, audits)
    return Audit(path, list(audits.values()))
