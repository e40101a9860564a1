"""What commands about one op have in common: `--attr K=V` and `--input 'OP[.OUTPUT] K=V ...'`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..conformance.spec import Spec
from .usage import UsageError


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """The NAME=VALUE texts of an option; UsageError where one is none, or a name comes twice."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {one}: it must be NAME=VALUE")
        if name in found:
            raise UsageError(f"{option} {name} is given twice")
        found[name] = value
    return found


def input_of(given: str) -> tuple[Spec, str]:
    """The op of an --input, and the name of its output, "" for the only one."""
    try:
        words = shlex.split(given)
    except ValueError as failure:  # a quote or an escape without its end
        raise UsageError(f"--input {given}: {failure}") from None
    if not words:
        raise UsageError("--input is empty; it must be 'OP[.OUTPUT] NAME=VALUE ...'")
    op, _, output = words[0].partition(".")
    return Spec(op, texts=pairs(words[1:], "--input")), output
