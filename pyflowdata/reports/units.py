"""Numbers in words, short enough for an axis."""

from __future__ import annotations

import math

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number_text(value: float) -> str:
    """At least two digits that count: 0.032, 0.4, 17, 1,234."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.3g}"


def time_text(seconds: float) -> str:
    """340 ns, 2.1 ms, 45 s, 3 min 20 s, 2 h 5 min."""
    if seconds == 0:
        return "0 s"
    if seconds >= 99.5:
        minutes, rest = divmod(round(seconds), 60)
        if minutes < 60:
            return f"{minutes} min {rest} s" if rest else f"{minutes} min"
        hours, rest = divmod(round(seconds / 60), 60)
        return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"
    factor, unit = next((one for one in _TIMES if seconds >= 0.995 * one[0]), _TIMES[-1])
    return f"{_digits(seconds / factor)} {unit}"


def size_text(count: float) -> str:
    """Bytes: 512 bytes, 2.1 MB."""
    found = next((one for one in _SIZES if count >= one[0]), None)
    return f"{_digits(count / found[0])} {found[1]}" if found else f"{count:.0f} bytes"


def count_text(count: float) -> str:
    """For an axis: 17, 1.2k, 3M."""
    found = next((one for one in _COUNTS if abs(count) >= one[0]), None)
    return f"{_digits(count / found[0])}{found[1]}" if found else number_text(count)


def percent_text(share: float) -> str:
    """Of a share of 1: 0 %, 0.4 %, 31 %."""
    percent = 100 * share
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return f"{percent:.1f} %" if 0 < percent < 9.95 else f"{percent:.0f} %"


def counted(number: int, what: str) -> str:
    """3 files; 1 file; 2 batches."""
    ending = "" if number == 1 else "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{ending}"


def _digits(value: float) -> str:
    """Two or three digits, without zeros at the end of a fraction."""
    if value >= 99.5:
        return f"{value:.0f}"
    return f"{value:.{1 if value >= 9.95 else 2}f}".rstrip("0").rstrip(".")


# ---- Ticks --------------------------------------------------------------------------------------

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)


def round_step(most: float, count: int) -> float:
    """1, 2 or 5 times a power of ten, at most `count` of which are below `most`."""
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


def time_ticks(seconds: float, count: int = 5) -> list[float]:
    """Moments from 0 s to at most `seconds` that a clock would show."""
    if seconds < count:
        return ticks(seconds, count)
    steps = (one for one in _TIME_STEPS if seconds / one <= count)
    return _multiples(seconds, next(steps, 86400 * round_step(seconds / 86400, count)))


def tick_time(seconds: float) -> str:
    """A moment of `time_ticks()`: 0, 0.5 s, 90 s, 5 min, 2 h."""
    if seconds >= 3600 and seconds % 3600 == 0:
        return f"{seconds / 3600:g} h"
    if seconds > 60 and seconds % 60 == 0:
        return f"{seconds / 60:g} min"
    return time_text(seconds) if seconds else "0"
