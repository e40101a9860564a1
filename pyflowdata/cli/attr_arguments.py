"""Attrs on the command line: `--op NAME --attr key=value`, read by the types of the op's attrs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidArgumentError
from ..registry import Attr, Op
from .usage import UsageError

_BOOLS = {"true": "true", "1": "true", "yes": "true", "false": "false", "0": "false", "no": "false"}
_FORMS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "shape": "numbers with commas between",
    "list of int": "whole numbers with commas between",
    "list of float": "numbers with commas between",
}


@dataclass
class NamedOp:
    """An op as it was named, and the `key=value` texts behind it."""

    name: str
    attrs: list[str] = field(default_factory=list)


class _Name(argparse.Action):
    """--op or --reader: what comes behind belongs to it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        named = NamedOp(values)
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), named])
        namespace.last_op = named


class _Attr(argparse.Action):
    """--attr of the op that was named last."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        last = getattr(namespace, "last_op", None)
        if last is None:
            parser.error(f"--attr {values}: of which op? --attr comes behind --op or --reader")
        last.attrs.append(values)


def add_op_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares --op, --reader and --attr; the first two make lists of NamedOp."""
    parser.add_argument(
        "--op",
        action=_Name,
        metavar="NAME",
        help="the op; given again, an op that takes the outputs of the one before",
    )
    parser.add_argument(
        "--reader", action=_Name, metavar="NAME", help="the reader whose outputs the op takes"
    )
    parser.add_argument(
        "--attr",
        action=_Attr,
        dest="attr",
        metavar="KEY=VALUE",
        help="an attr of the --op or --reader named before it; lists have commas between",
    )


def _value(op: Op, attr: Attr | None, name: str, text: str) -> object:
    if attr is None:
        return text  # the op refuses the name, with near ones
    word = attr.type.word
    try:
        return attr.type.parse(_BOOLS[text.lower()] if word == "bool" else text)
    except (ValueError, KeyError):
        raise InvalidArgumentError(
            f"attr '{name}' = '{text}'; it must be {_FORMS.get(word, word)}", op=op.name
        ) from None


def attr_values_of(op: Op, arguments: Sequence[str]) -> dict[str, object]:
    """The values of `key=value` texts.

    Raises:
        UsageError: One is no key=value, or a key comes twice.
        InvalidArgumentError: A value is not of its attr's type.
    """
    values: dict[str, object] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name:
            raise UsageError(f"--attr {argument}: it must be KEY=VALUE")
        if name in values:
            raise UsageError(f"--attr {name} is given twice for {op.name}")
        values[name] = _value(op, op.attr(name), name, text)
    return values
