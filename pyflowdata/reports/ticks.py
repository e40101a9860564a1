"""Ticks of axes: round numbers and moments, and how they are written."""

from __future__ import annotations

import math

from ..plain_text import seconds

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)


def edge_text(power: int) -> str:
    """2**power nanoseconds, with two digits: 260 us, 1 ms, 17 ms."""
    return seconds(float(f"{2.0**power / 1e9:.1e}"))


def round_step(most: float, count: int) -> float:
    """1, 2 or 5 times a power of ten, at most `count` of which go into `most`; and one does, from a
    count of 3 on."""
    least = most / count
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= least * (1 - 1e-9))


def _multiples(most: float, step: float) -> list[float]:
    return [i * step for i in range(int(most / step * (1 + 1e-9)) + 1)]


def ticks(most: float, count: int = 4) -> list[float]:
    """Round numbers from 0 to at most `most`."""
    return _multiples(most, round_step(most, count)) if most > 0 else [0.0]


def whole_ticks(most: float, count: int = 4) -> list[float]:
    """Round whole numbers from 0 to at most `most`."""
    return _multiples(most, max(1.0, round_step(most, count))) if most > 0 else [0.0]


def time_ticks(most: float, count: int = 5) -> list[float]:
    """Moments from 0 s to at most `most` that a clock would show."""
    if most < count:
        return ticks(most, count)
    steps = (one for one in _TIME_STEPS if most / one <= count)
    return _multiples(most, next(steps, 86400 * round_step(most / 86400, count)))


def moment_text(moment: float) -> str:
    """One of `time_ticks()`: 0, 0.5 s, 90 s, 5 min, 2 h."""
    if moment >= 3600 and moment % 3600 == 0:
        return f"{moment / 3600:g} h"
    if moment > 60 and moment % 60 == 0:
        return f"{moment / 60:g} min"
    return seconds(moment) if moment else "0"
