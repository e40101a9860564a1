"""Makes the text of .pyi files with the types of op functions: of the built-in ops, and a plugin's.

What readers share is written once, as a TypedDict that they unpack: a type checker takes its keys
for keyword arguments, and editors complete them and show the text below each.
"""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from .nodes import Attr, Op, find_op, registered_ops
from .nodes.eager import OPTIONS
from .nodes.op_functions import (
    BAD_ARGUMENT_DOC,
    NAME_DOC,
    attr_doc,
    description,
    ordered_attrs,
    positional_names,
    python_name,
)

_RAISES = textwrap.fill(BAD_ARGUMENT_DOC, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
_RAISED = f'''\

Raises, each of them:
{_RAISES}
"""

'''
_HEAD = f'''\
"""One function per op of the registry.  Written by `make stubs`, not by hand.
{_RAISED}\
from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict, overload, type_check_only

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from .nodes import Blob
from .ragged import Ragged

'''
# The last overload takes what the others take, for a choice made at run time.
_PLUGIN_HEAD = f'''\
# mypy: disable-error-code="overload-overlap"
"""The ops of a plugin.  Written by `pyflowdata stubs`, not by hand.
{_RAISED}\
from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from pyflowdata import Blob, Ragged
from pyflowdata.ops import Blobs, FileReaderAttrs, OnRows, ReaderAttrs

'''

# What list attrs name, and what is chosen at run time, can be taken for one blob and for several:
# only the writer knows.
_BLOBS = '''\
@type_check_only
class Blobs(Blob, tuple[Blob, ...]):  # type: ignore[misc]  # `index` is that of Blob
    """The blobs of outputs that attrs decide: a tuple, or the blob itself where it is one."""
'''

# What an op takes in place of blobs, and what it then answers.
_ROW_TYPES = '''\
_Array: TypeAlias = NDArray[Any]
_Row: TypeAlias = _Array | np.generic | bytes | bytearray | memoryview | float
_Rows: TypeAlias = list[Any] | Ragged
'''
_ON_ROWS = '''\
@type_check_only
class OnRows(TypedDict, total=False):
    """What a call on rows takes besides."""

'''
_ANSWERS = {"_Row": "_Array", "_Rows": "list[_Array]"}


def _on_rows_options() -> str:
    keys = (
        f'{name}: int{" | None" if least < 0 else ""}\n"""{doc}"""\n'
        for name, (least, doc) in OPTIONS.items()
    )
    return _ON_ROWS + textwrap.indent("\n".join(keys), "    ")


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _hint(attr: Attr) -> str:
    hint = attr.hint
    if attr.choices and attr.type.word == "str":
        words = [choice for choice in attr.choices if choice not in ("true", "false")]
        hint = f"Literal[{', '.join(map(_literal, words))}]"
        hint = f"bool | {hint}" if attr.is_switch else hint
    return f"{hint} | None" if attr.is_found else hint


def _parameter(attr: Attr) -> str:
    default = "" if attr.required else f" = {_literal(attr.default)}"
    return f"{python_name(attr.name)}: {_hint(attr)}{default}"


@dataclass(frozen=True)
class _Group:
    """The attrs that readers of one kind share."""

    name: str
    base: str
    doc: str
    attrs: tuple[Attr, ...]
    inherited: tuple[Attr, ...] = ()

    @property
    def members(self) -> tuple[Attr, ...]:
        return self.attrs + self.inherited

    def argument_doc(self) -> str:
        """What the docstring of a reader says in their place."""
        names = ", ".join([*(python_name(attr.name) for attr in self.members), "name"])
        return f"**attrs ({self.name}): {self.doc}: {names}."

    def declaration(self) -> str:
        keys = [(f"{python_name(one.name)}: {_hint(one)}", attr_doc(one)) for one in self.attrs]
        if not self.inherited:
            keys.append(("name: str | None", NAME_DOC))
        body = f'"""{self.doc}."""\n\n' + "\n".join(f"{key}\n{_quoted(doc)}" for key, doc in keys)
        head = f"@type_check_only\nclass {self.name}({self.base}, total=False):\n"
        return head + textwrap.indent(body, "    ")


def _quoted(doc: str) -> str:
    return "\n".join(textwrap.wrap(f'"""{doc}"""', 96)) + "\n"


def _shared(readers: list[Op]) -> tuple[Attr, ...]:
    """The attrs that are the same in all these readers and can be left out, and neither come by
    position nor decide what is returned: those stand in the signature."""
    first, *others = readers
    return tuple(
        attr
        for attr in first.attrs
        if not attr.required
        and attr.name not in positional_names(first)
        and attr not in _switches(first)
        and all(attr in other.attrs for other in others)
    )


def _reads_files(op: Op) -> bool:
    return op.is_reader and op.attr("data_dir") is not None


def _groups(ops: list[Op]) -> tuple[_Group, _Group]:
    """What all readers share, and what those of files share besides."""
    every = _shared([op for op in ops if op.is_reader])
    files = _shared([op for op in ops if _reads_files(op)])
    own = tuple(attr for attr in files if attr not in every)
    return (
        _Group("ReaderAttrs", "TypedDict", "What all readers share", every),
        _Group(
            "FileReaderAttrs",
            "ReaderAttrs",
            "What all readers of files share",
            own,
            inherited=every,
        ),
    )


def _group(op: Op, groups: tuple[_Group, _Group]) -> _Group | None:
    """The group whose attrs the op has; None: it has none, and its signature lists all."""
    group = groups[_reads_files(op)] if op.is_reader else None
    return group if group and all(attr in op.attrs for attr in group.members) else None


def _function(
    op: Op, group: _Group | None, last: list[str], result: str, *, doc: bool, given: str = "Blob"
) -> str:
    """One declaration; `last` are parameters that can only be given by name, `given` the type of
    the inputs."""
    switches = _switches(op)
    positional = positional_names(op)
    members = group.members if group else ()
    own = [attr for attr in ordered_attrs(op) if attr not in members]
    attrs = [attr for attr in own if attr not in switches]
    star = "*" if op.has_many_inputs else ""
    parameters = [f"{star}{python_name(port.name)}: {given}" for port in op.inputs]
    if op.has_optional_input:
        parameters[-1] += " | None = None"
    parameters += [_parameter(attr) for attr in attrs if attr.name in positional]
    named = [_parameter(attr) for attr in attrs if attr.name not in positional] + last
    named += [] if group else ["name: str | None = None"]
    parameters += ["*"] if named and not star else []
    parameters += named
    parameters += [f"**attrs: Unpack[{group.name}]"] if group else []
    parameters += [] if given == "Blob" else ["**on_rows: Unpack[OnRows]"]
    if not doc:
        return f"def {op.name}(\n{_filled(parameters)}) -> {result}: ...\n"
    lines = "".join(f"    {parameter},\n" for parameter in parameters)
    text = description(op, own, group.argument_doc() if group else NAME_DOC)
    body = textwrap.indent(f'"""{text}\n"""\n...', "    ")
    return f"def {op.name}(\n{lines}) -> {result}:\n{body}\n"


def _filled(parameters: list[str]) -> str:
    """As many in a line as fit: these are for type checkers, people see the first overload."""
    lines = [""]
    for parameter in parameters:
        if len(f"   {lines[-1]} {parameter},") > 100:
            lines.append("")
        lines[-1] += f" {parameter},"
    return "".join(f"   {line}\n" for line in lines)


def _switches(op: Op) -> list[Attr]:
    return [one for port in op.outputs if (one := op.switch(port.name)) is not None]


def _result(op: Op, given: set[str]) -> str:
    """The return type when these switches are given and no others."""
    if op.outputs_attr:
        return "Blobs"
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


def _overloads(op: Op, group: _Group | None, switches: list[Attr]) -> str:
    """One for every choice of optional outputs, and one for a choice made at run time."""
    text = ""
    for values in itertools.product((False, True), repeat=len(switches)):
        given = {one.name for one, value in zip(switches, values, strict=True) if value}
        last = [
            parameter
            for one, value in zip(switches, values, strict=True)
            if (parameter := _switch(one, value))
        ]
        text += "@overload\n" + _function(op, group, last, _result(op, given), doc=not given)
    last = [_parameter(one) for one in switches]
    return text + "@overload\n" + _function(op, group, last, "Blobs", doc=False)


def _on_rows(op: Op) -> str:
    """One for a row and one for a batch; only one where attrs decide what is returned."""
    switches = [_parameter(one) for one in _switches(op)]
    answers = {"_Row | _Rows": "Any"}
    if not switches and not op.outputs_attr:
        counts = len(op.outputs)
        answers = {
            given: one if counts == 1 else f"tuple[{', '.join([one] * counts)}]"
            for given, one in _ANSWERS.items()
        }
    return "".join(
        "@overload\n" + _function(op, None, switches, answer, doc=False, given=given)
        for given, answer in answers.items()
    )


def _stub(op: Op, group: _Group | None) -> str:
    switches = _switches(op)
    if switches and not op.outputs_attr:
        stub = _overloads(op, group, switches)
        return stub if op.is_reader or op.is_view else stub + _on_rows(op)
    last = [_parameter(one) for one in switches]
    stub = _function(op, group, last, _result(op, set()), doc=True)
    return stub if op.is_reader or op.is_view else f"@overload\n{stub}{_on_rows(op)}"


def _built_in() -> list[Op]:
    return [op for op in registered_ops() if op.origin == "built in"]


def _exported(ops: Sequence[Op]) -> str:
    return "__all__ = [\n" + "".join(f"    {_literal(op.name)},\n" for op in ops) + "]\n\n"


def make_stubs() -> str:
    """The text of ops.pyi for the loaded library."""
    ops = _built_in()
    groups = _groups(ops)
    parts = [_BLOBS, _ROW_TYPES, _on_rows_options(), *(group.declaration() for group in groups)]
    parts += [_stub(op, _group(op, groups)) for op in ops]
    return _HEAD + _exported(ops) + "\n".join(parts)


def make_plugin_stubs(names: Sequence[str]) -> str:
    """The text of a .pyi file for a module with these ops, which are those of a loaded plugin."""
    ops = [find_op(name) for name in names]
    groups = _groups(_built_in())
    parts = [_ROW_TYPES, *(_stub(op, _group(op, groups)) for op in ops)]
    return _PLUGIN_HEAD + _exported(ops) + "__version__: str\n\n" + "\n".join(parts)
