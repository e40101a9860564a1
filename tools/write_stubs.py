"""Writes ops.pyi, the types of the op functions: `python -m tools.write_stubs`.

With --check it writes nothing, and exits with 1 if the file is not what it would write.
"""

from __future__ import annotations

import itertools
import json
import sys
import textwrap
from pathlib import Path

from pyflowdata.graph import Attr, Op, registered_ops
from pyflowdata.graph.op_functions import docstring, ordered_attrs, positional_names, python_name

PATH = Path(__file__).resolve().parent.parent / "pyflowdata" / "ops.pyi"

_HEAD = '''\
"""One function per op of the registry.  Written by `make stubs`, not by hand."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, overload

from numpy.typing import DTypeLike

from .graph import Blob

'''


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _hint(attr: Attr) -> str:
    hint = attr.hint
    if attr.choices and attr.type.word == "str":
        hint = f"Literal[{', '.join(_literal(choice) for choice in attr.choices)}]"
    return f"{hint} | None" if attr.is_found else hint


def _parameter(attr: Attr) -> str:
    default = "" if attr.required else f" = {_literal(attr.default)}"
    return f"{python_name(attr.name)}: {_hint(attr)}{default}"


def _function(op: Op, last: list[str], result: str, *, doc: bool) -> str:
    """One declaration; `last` are the parameters that can only be given by name."""
    switches = _switches(op)
    positional = positional_names(op)
    attrs = [attr for attr in ordered_attrs(op) if attr not in switches]
    star = "*" if op.has_many_inputs else ""
    parameters = [f"{star}{python_name(port.name)}: Blob" for port in op.inputs]
    parameters += [_parameter(attr) for attr in attrs if attr.name in positional]
    parameters += [] if star else ["*"]
    parameters += [_parameter(attr) for attr in attrs if attr.name not in positional]
    parameters += [*last, "name: str | None = None"]
    lines = "".join(f"    {parameter},\n" for parameter in parameters)
    body = " ..."
    if doc:
        body = "\n" + textwrap.indent(f'"""{docstring(op)}\n"""\n...', "    ")
    return f"def {op.name}(\n{lines}) -> {result}:{body}\n"


def _switches(op: Op) -> list[Attr]:
    return [one for port in op.outputs if (one := op.switch(port.name)) is not None]


def _result(op: Op, given: set[str]) -> str:
    """The return type when these switches are given and no others."""
    if op.outputs_attr:
        return "Blob | tuple[Blob, ...]"
    blobs = [
        "Blob"
        for port in op.outputs
        if (switch := op.switch(port.name)) is None or switch.name in given
    ]
    return "Blob" if len(blobs) == 1 else f"tuple[{', '.join(blobs)}]"


def _switch(one: Attr, value: bool) -> str:
    """The parameter where the output is there, or is not; a list that is not given is left out."""
    if one.type.word == "bool":
        return f"{one.name}: Literal[{value}]{'' if value else ' = False'}"
    return f"{one.name}: {one.hint}" if value else ""


def _overloads(op: Op, switches: list[Attr]) -> str:
    """One for every choice of optional outputs, and one for a choice made at run time."""
    text = ""
    for values in itertools.product((False, True), repeat=len(switches)):
        given = {one.name for one, value in zip(switches, values, strict=True) if value}
        last = [
            parameter
            for one, value in zip(switches, values, strict=True)
            if (parameter := _switch(one, value))
        ]
        text += "@overload\n" + _function(op, last, _result(op, given), doc=not given)
    last = [f"{one.name}: {one.hint} = {one.default!r}" for one in switches]
    return text + "@overload\n" + _function(op, last, "Blob | tuple[Blob, ...]", doc=False)


def _stub(op: Op) -> str:
    switches = _switches(op)
    return _overloads(op, switches) if switches else _function(op, [], _result(op, set()), doc=True)


def make_stubs() -> str:
    """The text of ops.pyi for the loaded library."""
    ops = [op for op in registered_ops() if op.origin == "built in"]
    names = "".join(f"    {_literal(op.name)},\n" for op in ops)
    return f"{_HEAD}__all__ = [\n{names}]\n\n" + "\n".join(_stub(op) for op in ops)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.write_stubs [--check]", file=sys.stderr)
        return 2
    stubs = make_stubs()
    if arguments:
        current = PATH.is_file() and PATH.read_text(encoding="utf-8") == stubs
        if not current:
            print(f"{PATH} is not current; run `make stubs`", file=sys.stderr)
        return 0 if current else 1
    PATH.write_text(stubs, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
