"""Plain text that is shown to people: short numbers, lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import shown
from .remedies import did_you_mean


_UNITS = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "KB": 10**3}
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_ROUNDED = 0.9995  # this share of a unit is 1 in three digits


def clipped(text: str, width: int) -> str:
    """The text, or as much of it as has `width` characters with the three dots at its end."""
    return text if len(text) <= width else f"{text[: max(0, width - 3)]}..."


# ---- Numbers ------------------------------------------------------------------------------------


def counted(count: int, what: str, plural: str = "") -> str:
    """"3 files", "1 file"; `plural` is the word for several, unless it ends with an s alone."""
    return f"{count:,} {what if count == 1 else plural or f'{what}s'}"


def number(count: float) -> str:
    """Counts: "4,700"; others with three digits."""
    return f"{count:,}" if isinstance(count, int) else _digits(count)


def tenths(mean: float) -> str:
    """A mean number of threads or processors: "1.8", "under 0.1", "0"."""
    return "under 0.1" if 0 < mean < 0.05 else number(round(mean, 1))


def short_count(count: float) -> str:
    """"17", "1.2k", "3M"."""
    factor, unit = next((one for one in _COUNTS if count >= _ROUNDED * one[0]), (1.0, ""))
    return f"{_digits(count / factor)}{unit}"


def size(count: float) -> str:
    """Bytes: "12 MB"."""
    for unit, factor in _UNITS.items():
        if count >= _ROUNDED * factor:
            return f"{_digits(count / factor)} {unit}"
    return "1 byte" if count == 1 else f"{count:.0f} bytes"


_SIZE = re.compile(r"\s*(\d+)(\.\d+)?\s*(?:([KMGT])(i?))?B?\s*", re.IGNORECASE | re.ASCII)
_LARGEST = 1 << 62


def bytes_of(text: str) -> int | None:
    """"512MB", "1.5 GiB" or "4096" in bytes; None: it is no such text, or more than C counts."""
    found = _SIZE.fullmatch(text)
    if found is None or len(found[1]) > 19:
        return None
    unit = (1024 if found[4] else 1000) ** " KMGT".index((found[3] or " ").upper())
    count = int(found[1]) * unit + int(float(found[2] or 0) * unit)
    return count if count < _LARGEST else None


def seconds(value: float) -> str:
    """A duration with three digits: "1.9 s", "12 ms", "350 us"."""
    for factor, unit in _TIMES:
        if value >= _ROUNDED * factor:
            return f"{_digits(value / factor)} {unit}"
    return "0 s" if value < 1e-9 else f"{_digits(value / 1e-9)} ns"


def percent(share: float) -> str:
    """0.004 -> "0.4 %", 0.314 -> "31 %"."""
    if share <= 0:
        return "0 %"
    if share < 0.0005:
        return "under 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:,.0f} %"


def _digits(value: float) -> str:
    """Three digits, at most four after the point, and no zeros at the end; never an exponent."""
    if value >= 99.95:
        return f"{value:,.0f}"
    places = 1 + sum(value < least for least in (9.995, 0.9995, 0.09995))
    return f"{value:.{places}f}".rstrip("0").rstrip(".")


def joined(texts: list[str], last: str = "or") -> str:
    """["a", "b", "c"] -> "a, b or c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def no_field(name: object, known: Iterable[str], noun: str = "field") -> str:
    """The message that there is no such field, with the likely one and all known ones."""
    names = list(known)
    meant = did_you_mean(name, names, 0.5) if isinstance(name, str) else ""
    meant += " There are " if meant else "; there are "
    return f"there is no {noun} {shown(name)}{meant}{', '.join(names) or 'none'}"
