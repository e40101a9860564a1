"""How commands print: what comes from files never reaches a terminal as it is.

A name or a cell may hold escape sequences, line breaks and characters that turn the direction of
the text around.  All that commands about data files print goes through `say`.
"""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO


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
