"""`--input 'OP[.OUTPUT] K=V ...'` of the commands about one op."""

from __future__ import annotations

import shlex

from ..spec import Spec
from pyflowdata.cli.usage import UsageError, pairs


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
