"""How commands print, and how they refuse a wrong call.  Failures of a command are of two kinds:

- An argument is wrong whatever the files hold (is_wrong_call, and what argparse finds itself): the
  usage is printed, then the message, and the exit status is 2.
- Everything else, such as a missing file or field: only the message is printed, and the status is
  1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from ..errors import InvalidArgumentError, printable


# ---- Printing -----------------------------------------------------------------------------------

# A name or a cell of a file may hold escape sequences, line breaks and characters that turn the
# direction of the text around, so all that commands print about files goes through `say`.


def say_json(value: Any, indent: int | None = None) -> None:
    """Prints a value as JSON, which has its own escapes."""
    print(json.dumps(value, indent=indent))


def say(line: str, to: TextIO | None = None) -> None:
    """Prints one line of printable characters; None: to standard output."""
    print(printable(line), file=to or sys.stdout)


def finite(value: Any) -> Any:
    """The value without NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- Wrong calls --------------------------------------------------------------------------------


class UsageError(Exception):
    """The arguments are wrong: the usage is printed with the text, and the exit status is 2.

    Attributes:
        attr: The attr of an op that they set to a wrong value, or None.
    """

    def __init__(self, said: str, attr: str | None = None) -> None:
        self.attr = attr
        super().__init__(said)


def settable(args: argparse.Namespace) -> set[str]:
    """The attrs that an --attr of the command has set."""
    given = getattr(args, "attr", None)
    return {one.partition("=")[0] for one in given} if isinstance(given, list) else set()


def is_wrong_call(failure: BaseException, args: argparse.Namespace) -> bool:
    """Whether an argument is wrong whatever the files hold: a UsageError, or an --attr that is
    refused independently of the files.
    """
    if isinstance(failure, InvalidArgumentError):
        return failure.file is None and failure.attr in settable(args)
    return isinstance(failure, UsageError)


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """The NAME=VALUE texts of an option; UsageError if a text has another form, or a name comes
    twice.
    """
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {one}: it must be NAME=VALUE")
        if name in found:
            raise UsageError(f"{option} {name} is given twice")
        found[name] = value
    return found
