"""Plain text that is shown to people: what comes from files is escaped, and numbers are short."""

from __future__ import annotations

UNITS = {"GB": 10**9, "MB": 10**6, "KB": 10**3}


def printable(text: str) -> str:
    """The text with a backslash escape for each character that is not printed as itself."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def size_text(count: float) -> str:
    """Bytes in words."""
    for unit, factor in UNITS.items():
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return "1 byte" if count == 1 else f"{count:.0f} bytes"


def clipped(text: str, width: int) -> str:
    """The text, or as much of it as has `width` characters with the three dots at its end."""
    return text if len(text) <= width else f"{text[: max(0, width - 3)]}..."


def counted(number: int, what: str) -> str:
    """3 files; 1 file."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
