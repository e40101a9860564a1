"""How commands print: what comes from files never reaches a terminal as it is.

A name or a cell may hold escape sequences, line breaks and characters that turn the direction of
the text around.  All that commands about data files print goes through `say`.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, TextIO

UNITS = {"GB": 10**9, "MB": 10**6, "KB": 10**3}


def printable(text: str) -> str:
    """The text with a backslash escape for each character that is not printed as itself."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def say_json(value: Any, indent: int | None = None) -> None:
    """Prints a value as JSON, which has escapes of its own."""
    print(json.dumps(value, indent=indent))


def say(line: str, to: TextIO | None = None) -> None:
    """Prints one line, of characters that are printed as themselves.

    Args:
        line: What to print.
        to: Where; None: the standard output.
    """
    print(printable(line), file=to or sys.stdout)


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def size_text(count: float) -> str:
    """Bytes in words."""
    for unit, factor in UNITS.items():
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} bytes"
