"""Ranks that train together, step by step: the rank that the others wait for, and the reason.

The rule.  A rank's step is the wait for its batch, and what it computes until it asks for the next
one, less the time in collectives that the program has marked by `loader.collective()`.  As a
collective ends on all ranks when the last rank has come to it, the rest of a step says when a rank
comes: the rank with the longest rest is the last one, and how much longer this rest is than the
shortest is the skew of the step.  Collectives that are not marked count as the work of a rank: then
ranks that meet in each step look alike, unless the loader of one rank is slow.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import CData, check, lib, new_error, new_struct
from ..words.html_text import Html, element, page as html_page
from ..words.plain_text import counted, joined, number, percent, seconds
from .counters import CountedLoader, Counters
from .drawing import STYLE, Axis, Panel, strips, ticks, timeline, whole_ticks
from .measures import Measures, ratio
from .report_page import figure, section, table, verdict_box
from .report_text import aligned, ranks_as_text
from .verdict import Verdict, judge, judge_ranks

Times = npt.NDArray[np.float64]

_SLOW = 1.15  # times the steps of the others
_FEW_STEPS = 10


# ---- The latest steps of one rank ---------------------------------------------------------------


@dataclass(frozen=True)
class Steps:
    """The latest steps of a loader, at most 255; times in seconds.

    Attributes:
        first: The number of the first of these steps, counted in batches since the open.
        waits: The time of next() for the batch of each step; NaN if there is no such step, as
            between two epochs.
        trains: The time from the batch to the next call of next(), without collectives.
        collectives: The time in marked collectives of each step.
    """

    first: int
    waits: tuple[float, ...]
    trains: tuple[float, ...]
    collectives: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """As values of JSON, which has no NaN."""
        listed = {name: [None if one != one else one for one in getattr(self, name)]
                  for name in _SERIES}  # fmt: skip
        return {"first": self.first, **listed}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Steps:
        """The steps that to_dict() gave."""
        listed = {name: tuple(np.nan if one is None else float(one) for one in found[name])
                  for name in _SERIES}  # fmt: skip
        if len({len(one) for one in listed.values()}) > 1:
            raise ValueError("steps")
        return cls(int(found["first"]), **listed)


_SERIES = ("waits", "trains", "collectives")


class Collectives:
    """The times at which a program was in collectives: the latest 1,024, on the monotonic clock."""

    def __init__(self) -> None:
        self._spans: deque[tuple[float, float]] = deque(maxlen=1024)
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._spans.append((begin, time.monotonic()))

    def within(self, begins: Times, ends: Times) -> Times:
        """The seconds of collectives in each of several spans of time."""
        with self._lock:
            spans = np.array(self._spans, np.float64).reshape(-1, 2)
        first = np.maximum(begins[:, None], spans[None, :, 0])
        last = np.minimum(ends[:, None], spans[None, :, 1])
        found: Times = np.maximum(last - first, 0.0).sum(axis=1)
        return found


def read_steps(handle: CData, collectives: Collectives) -> Steps:
    """The latest steps of a loader, open or closed."""
    found = new_struct("pfd_moments")
    check(lib.pfd_loader_get_moments(handle, found), new_error())
    most, count = lib.PFD_MOST_MOMENTS, int(found.count)
    first = max(count - most, 0)
    moments = [found.batches[i % most] for i in range(first, count)]
    asked = np.array([one.asked_ns for one in moments], np.float64) / 1e9
    delivered = np.array([one.delivered_ns for one in moments], np.float64) / 1e9
    is_start = np.array([bool(one.is_start) for one in moments], np.bool_)
    in_them = collectives.within(delivered[:-1], asked[1:])
    trains = asked[1:] - delivered[:-1] - in_them
    no_step = is_start[1:]  # what was before it is not only training
    waits = np.where(is_start, np.nan, delivered - asked)[:-1]
    trains, in_them = (np.where(no_step, np.nan, one) for one in (trains, in_them))
    return Steps(first, *(tuple(map(float, np.round(one, 7))) for one in (waits, trains, in_them)))


def steps_of(counted: CountedLoader) -> Steps | None:
    """The latest steps of a loader, for the comparison of ranks; None: there is one rank."""
    if counted.readers[0].world_size == 1:
        return None
    return read_steps(counted.handle, next(iter(counted.collectives), Collectives()))


# ---- Over the ranks -----------------------------------------------------------------------------


class Ranks:
    """The same steps on all ranks of a job.

    Attributes:
        counters: The counters of each rank.
        first: The number of the first common step; 0 if there is none.
        waits, owns, collectives: Arrays [rank, step]: the wait for the batch, the training step
            without collectives, and the collectives; only steps that every rank has.
        numbers: The numbers of these steps.
    """

    def __init__(self, counters: Sequence[Counters], steps: Sequence[Steps | None]) -> None:
        self.counters = counters
        known = [one for one in steps if one is not None]
        shape = (len(counters), 0)
        self.waits, self.owns, self.collectives = (np.zeros(shape) for _ in range(3))
        self.numbers = np.zeros(0, np.int64)
        if not known or len(known) < len(counters):
            return
        first = max(one.first for one in known)
        end = min(one.first + len(one.waits) for one in known)
        if end <= first:
            return
        series = [
            np.array([getattr(one, name)[first - one.first : end - one.first] for one in known])
            for name in _SERIES
        ]
        there = ~np.isnan(series).any(axis=(0, 1))
        self.waits, self.owns, self.collectives = (one[:, there] for one in series)
        self.numbers = np.arange(first, end)[there]

    @property
    def has_steps(self) -> bool:
        return len(self.counters) > 1 and len(self.numbers) >= _FEW_STEPS

    @property
    def lateness(self) -> Times:
        """How much later each rank is than the first rank, in each step; [rank, step]."""
        busy = self.waits + self.owns
        late: Times = busy - busy.min(axis=0)
        return late

    @property
    def skews(self) -> Times:
        """How long the first rank waits for the last one, in each step."""
        most: Times = self.lateness.max(axis=0)
        return most

    def own_seconds(self, rank: int) -> float:
        """The time of the training step of a rank: the median of the common steps, or the mean of
        all steps.
        """
        if self.has_steps:
            return float(np.median(self.owns[rank]))
        stats = self.counters[rank].stats
        return ratio(stats["step_train_seconds"], stats["steps"])

    def last_share(self, rank: int) -> float:
        """The share of the common steps in which a rank is the last one."""
        return float((self.lateness.argmax(axis=0) == rank).mean()) if self.has_steps else 0.0

    @property
    def is_marked(self) -> bool:
        """Whether the program marks collectives."""
        return bool(self.collectives.any())


def judge_steps(ranks: Ranks) -> Verdict:
    """The verdict over ranks, which also finds a rank that is slow in its own training step."""
    by_loaders = judge_ranks(ranks.counters)
    counters = ranks.counters
    if len(counters) < 2 or by_loaders.limit == "rank" \
            or min(one.stats["steps"] for one in counters) < _FEW_STEPS:  # fmt: skip
        return by_loaders
    owns = [ranks.own_seconds(i) for i in range(len(counters))]
    usual = statistics.median_low(owns)
    slow = [i for i, own in enumerate(owns) if own >= _SLOW * usual]
    if not slow or len(slow) > len(owns) / 2:
        return by_loaders
    worst = max(slow, key=lambda i: owns[i])
    others = statistics.median(own for i, own in enumerate(owns) if i not in slow)
    waits = ratio(counters[worst].stats["step_wait_seconds"], counters[worst].stats["steps"])
    if waits > owns[worst] - others:
        return by_loaders  # its loader costs more than its step
    return _of_slow_step(counters, slow, worst, owns[worst], others, by_loaders)


def _of_slow_step(
    counters: Sequence[Counters], slow: Sequence[int], worst: int, own: float, others: float,
    by_loaders: Verdict,
) -> Verdict:  # fmt: skip
    names = joined([str(counters[i].rank) for i in slow], "and")
    subject = f"rank {names}'s training step takes" if len(slow) == 1 else \
        f"the training steps of ranks {names} take"  # fmt: skip
    waited = percent(Measures(counters[worst]).wait_share)
    sentence = (
        f"{subject} {number(round(ratio(own, others), 1))} times as long as those of the others, "
        f"{seconds(own)} beside {seconds(others)}; the loader is not the cause: training waits for "
        f"it {waited} of the time"
    )
    remedies = [
        f"profile the step of rank {counters[worst].rank} beside that of another: other work "
        "(logging, checkpoints, longer rows), or a slower device"
    ]
    hosts = {counters[i].host for i in slow}
    if not hosts & {one.host for i, one in enumerate(counters) if i not in slow}:
        machines = joined(sorted(hosts), "and")
        remedies.insert(0, f"compare the machine {machines} with the others: clocks, heat, other "
                           "programs")  # fmt: skip
    evidence = {**by_loaders.evidence, "slowest_rank": counters[worst].rank,
                "own_step_seconds": own, "others_step_seconds": others}  # fmt: skip
    return Verdict("rank", "step", sentence, tuple(remedies), evidence)


_HEAD = ("rank", "trains", "waits", "collectives", "is last in")  # seconds of a step


def _rows(ranks: Ranks) -> list[tuple[str, ...]]:
    return [
        (
            str(one.rank),
            seconds(ranks.own_seconds(i)),
            seconds(ratio(one.stats["step_wait_seconds"], one.stats["steps"])),
            seconds(float(ranks.collectives[i].mean())) if ranks.is_marked else "not marked",
            percent(ranks.last_share(i)) if ranks.has_steps else "",
        )
        for i, one in enumerate(ranks.counters)
    ]


def _about_skew(ranks: Ranks) -> str:
    skews = ranks.skews
    said = (
        f"{counted(len(skews), 'common step')}: the first rank is ahead of the last one by "
        f"{seconds(float(np.median(skews)))} (median), at most {seconds(float(skews.max()))}"
    )
    if ranks.is_marked:
        return f"{said}; collectives, which loader.collective() marks, are not counted."
    return (
        f"{said}. No collective is marked by loader.collective(): where ranks meet in each step, "
        "these times have the waits of the fast for the slow."
    )


def steps_as_text(ranks: Ranks, verdict: Verdict) -> str:
    """The report of ranks, for a terminal."""
    text = ranks_as_text(ranks.counters, verdict)
    if not ranks.has_steps:
        return text
    rows = [_HEAD, *_rows(ranks)]
    return "\n".join([text, "", _about_skew(ranks), "", *aligned(rows)])


def _table(ranks: Ranks) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """A table of the ranks, with the machine and the verdict on the loader of each."""
    rows = []
    for row, one in zip(_rows(ranks), ranks.counters, strict=True):
        own = judge(one)
        rows.append((f"{row[0]} ({one.host})", *row[1:], own.cause or own.limit))
    return (*_HEAD, "loader alone"), rows


# ---- The page -----------------------------------------------------------------------------------

_MOST_COLUMNS = 128


def ranks_page(ranks: Ranks, verdict: Verdict) -> str:
    """The page of the report of ranks: HTML of one file, without scripts."""
    first = f"; {verdict.remedies[0]}" if verdict.cause == "step" else ""
    title = f"report of {counted(len(ranks.counters), 'rank')}"
    parts = [
        element("h1", f"pyflowdata {title}: {', '.join(ranks.counters[0].blobs[:8])}"),
        verdict_box(verdict, f"{verdict.sentence}{first}"),
        _skew(ranks) if ranks.has_steps else Html(""),
        section("ranks", "The ranks", table(*_table(ranks))),
    ]  # fmt: skip
    return html_page(f"{title}: {verdict.sentence.partition(';')[0]}", STYLE,
                     element("main", *parts))  # fmt: skip


def _skew(ranks: Ranks) -> Html:
    late, skews, count = ranks.lateness, ranks.skews, len(ranks.numbers)
    edges = np.linspace(0, count, min(count, _MOST_COLUMNS) + 1).astype(int)
    mean = np.array([[row[a:b].mean() for a, b in zip(edges, edges[1:], strict=False)]
                     for row in late])  # fmt: skip
    most = float(mean.max())
    scale = 1e3
    marks = ticks(max(float(skews.max()) * scale, 1e-6), 4)
    top = marks[-1] + (marks[1] if len(marks) > 1 else 1.0)
    numbers = [(float(np.searchsorted(ranks.numbers, one)), f"{int(one):,}")
               for one in whole_ticks(float(ranks.numbers[-1]), 8) if one >= ranks.numbers[0]]
    panel = Panel(Axis(top, [(one, f"{one:g}") for one in marks], "skew, ms"),
                  [float(one) * scale for one in skews], "b")  # fmt: skip
    over = Axis(float(count), numbers, "step")
    columns = mean.shape[1]
    cells = Axis(columns, [(one * columns / count, text) for one, text in numbers], "step")
    rows = [[float(one) / most if most > 0 else 0.0 for one in row] for row in mean]
    names = [f"rank {one.rank}" for one in ranks.counters]
    return section(
        "skew", "Skew, step by step",
        figure(timeline([panel], [float(i + 1) for i in range(count)], over, (),
                        "Skew of each step", height=110), _about_skew(ranks)),
        figure(strips(names, rows, cells, "How late each rank is in each step"),
               f"The stronger the colour, the later a rank is than the first one; {seconds(most)} "
               "at most. A step is the wait for its batch and the training step; these are the "
               "latest steps that all ranks have."),
    )  # fmt: skip
