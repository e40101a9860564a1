"""The course of a loader over time, from its history."""

from __future__ import annotations

from typing import NamedTuple

from .counters import History


class Course(NamedTuple):
    """What happened between two moments.

    Attributes:
        begin, end: Seconds since the first batch was asked for.
        rate: Delivered records a second.
        waiting: The share of the time in which next() waited or worked, from 0 to 1.
        ready: Complete batches in front of each delivered one, on average; None: none came.
    """

    begin: float
    end: float
    rate: float
    waiting: float
    ready: float | None


def course_of(history: History, delivered: float) -> list[Course]:
    """The periods of a history, as rates.

    Args:
        history: Of a loader.
        delivered: The moment of its last batch, at which the last period ends.  A short rest is
            joined with the period before, as a rate over it says little.
    """
    length, count = history.period_seconds, len(history.periods)
    if not count or length <= 0:
        return []
    ends = [(place + 1) * length for place in range(count)]
    ends[-1] = min(max(delivered - history.begin, ends[-1] - 0.999 * length), ends[-1])
    waits = _spread([one.wait_seconds for one in history.periods], ends)
    sums = [
        [one.batches, one.rows, one.ready, wait]
        for one, wait in zip(history.periods, waits, strict=True)
    ]
    if count > 1 and ends[-1] - ends[-2] < length / 2:
        ends[-2:] = ends[-1:]
        sums[-2:] = [[a + b for a, b in zip(*sums[-2:], strict=True)]]
    found, begin = [], 0.0
    for end, (batches, rows, ready, wait) in zip(ends, sums, strict=True):
        found.append(
            Course(
                begin, end, rows / (end - begin), min(1.0, wait / (end - begin)),
                ready / batches if batches else None,
            )
        )  # fmt: skip
        begin = end
    return found


def _spread(waits: list[float], ends: list[float]) -> list[float]:
    """Waits count where they end; what does not fit into that period was before it."""
    found = list(waits)
    for place in range(len(found) - 1, 0, -1):
        over = found[place] - (ends[place] - ends[place - 1])
        if over > 0:
            found[place] -= over
            found[place - 1] += over
    return found
