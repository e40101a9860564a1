"""How commands print: what comes from files never reaches a terminal as it is.

A name or a cell may hold escape sequences, line breaks and characters that turn the direction of
the text around.  All that commands about data files print goes through `say`.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, TextIO

from ..words.plain_text import printable


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
