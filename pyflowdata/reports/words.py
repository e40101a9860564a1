"""Numbers in words, for reports."""

from __future__ import annotations


def percent(share: float) -> str:
    """0.004 -> "0.4 %", 0.314 -> "31 %"."""
    if share <= 0:
        return "0 %"
    if share < 0.0005:
        return "under 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def seconds(value: float) -> str:
    """With three digits: "1.9 s", "12 ms", "350 us"."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{_digits(value / factor)} {unit}"
    return "0 s" if value < 1e-9 else f"{_digits(value / 1e-9)} ns"


def size(count: float) -> str:
    """Bytes: "12 MB"."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if count >= factor:
            return f"{_digits(count / factor)} {unit}"
    return f"{count:.0f} bytes"


def number(count: float) -> str:
    """Counts: "4,700"; others with three digits."""
    if isinstance(count, int) or count >= 100:
        return f"{count:,.0f}"
    return _digits(count)


def _digits(value: float) -> str:
    """Three digits, and no zeros after them."""
    if value >= 100:
        return f"{value:,.0f}"
    text = f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".")


def joined(texts: list[str], last: str = "or") -> str:
    """["a", "b", "c"] -> "a, b or c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"
