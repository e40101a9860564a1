"""Makes the text of .pyi files with the types of op functions: of the built-in ops, and a plugin's.

What ops share is written once.  The attrs of readers are TypedDicts that they unpack: a type
checker takes their keys for keyword arguments, and editors complete them and show the text below
each.  Ops that take and return the same are decorated: the decorator adds the overloads for rows
and for outputs that are chosen, and `_P` stands for the op's own arguments in them.

The build runs this module without the package, so that it imports only modules that need nothing
but Python.
"""

from __future__ import annotations

import itertools
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .op_facts import BUILT_IN, ROW_OPTIONS, Attr, Op, Port
from .op_texts import (
    BAD_ARGUMENT_DOC,
    NAME_DOC,
    ROWS_RULE,
    attr_doc,
    entry,
    limits,
    ordered_attrs,
    lines_of,
    positional_names,
    python_name,
)

_COLUMNS = 100
_RAISES = textwrap.fill(BAD_ARGUMENT_DOC, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
_SAID_ONCE = f'''\

Each function has an argument `name`, which names the node and is unique in a loader.  An op that is
called with rows in place of blobs answers at once: {ROWS_RULE}.

Raises, each of them:
{_RAISES}
"""

'''
_IMPORTS = """\
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, {typing}overload{type_check_only}

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Concatenate, Never, ParamSpec, Unpack

"""
_HEAD = (
    '"""One function per op of the registry.  Written by `make`, not by hand.\n'
    + _SAID_ONCE
    + _IMPORTS.format(typing="TypedDict, ", type_check_only=", type_check_only")
    + "from .nodes import Blob\nfrom .ragged import Ragged\n\n"
)
# The last overload takes what the others take, for a choice made at run time.
_PLUGIN_HEAD = (
    '# mypy: disable-error-code="overload-overlap"\n'
    '"""The ops of a plugin.  Written by `pyflowdata stubs`, not by hand.\n'
    + _SAID_ONCE
    + _IMPORTS.format(typing="", type_check_only="")
    + "from pyflowdata import Blob, Ragged\n"
    "from pyflowdata.ops import Blobs, FileReaderAttrs, OnRows, ReaderAttrs\n\n"
)

# What list attrs name, and what is chosen at run time, can be taken for one blob and for several:
# only the writer knows.
_BLOBS = '''\
@type_check_only
class Blobs(Blob, tuple[Blob, ...]):  # type: ignore[misc]  # `index` is that of Blob
    """The blobs of outputs that attrs decide: a tuple, or the blob itself where it is one."""

'''

# What attrs take that no one word of Python names.
_ALIASES = {
    "_Texts": "str | PathLike[str] | Sequence[str | PathLike[str]]",
    "_Text": "str | PathLike[str]",
    "_Floats": "float | Sequence[float] | NDArray[Any]",
    "_Ints": "Sequence[int] | NDArray[Any]",
    "_Sizes": "Sequence[int | None] | NDArray[Any]",
}
# What an op takes in place of blobs, and what it then answers.
_TYPES = (
    "".join(f"{name}: TypeAlias = {hint}\n" for name, hint in _ALIASES.items())
    + """\
_Array: TypeAlias = NDArray[Any]
_Row: TypeAlias = _Array | np.generic | bytes | bytearray | memoryview | float
_Rows: TypeAlias = list[Any] | Ragged
_P = ParamSpec("_P")

"""
)
_ON_ROWS = '''\
@type_check_only
class OnRows(TypedDict, total=False):
    """The arguments of a call on rows that are no attrs of the op."""

'''
_ANSWERS = {"_Row": "_Array", "_Rows": "list[_Array]"}
_ONLY_BY_NAME = (
    "_by_name: Never = ..."  # nothing has this type, so that no more is given by position
)
_COUNTS = ("Data", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


# ---- Parameters ---------------------------------------------------------------------------------


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _hint(attr: Attr) -> str:
    hint = attr.hint
    for name, long in _ALIASES.items():
        hint = hint.replace(long, name)
    if attr.choices and attr.type.word == "str":
        words = [choice for choice in attr.choices if choice not in ("true", "false")]
        hint = f"Literal[{', '.join(map(_literal, words))}]"
        hint = f"bool | {hint}" if attr.is_switch else hint
    return f"{hint} | None" if attr.is_found else hint


def _parameter(attr: Attr, *, is_told: bool = True) -> str:
    """A parameter; `is_told`: with its default, which one declaration of a function tells."""
    default = _literal(attr.default) if is_told else "..."
    return f"{python_name(attr.name)}: {_hint(attr)}{'' if attr.required else f' = {default}'}"


def _inputs(op: Op, given: str) -> list[str]:
    star = "*" if op.has_many_inputs else ""
    found = [f"{star}{python_name(port.name)}: {given}" for port in op.inputs]
    if op.has_optional_input:
        found[-1] += " | None = None"
    return found


def _row_options(op: Op) -> dict[str, tuple[int, str]]:
    """The arguments of a call on rows that are no attrs of the op."""
    return {name: option for name, option in ROW_OPTIONS.items() if op.attr(name) is None}


def _row_option(name: str, least: int, default: str) -> str:
    return f"{name}: int{' | None' if least < 0 else ''}{default}"


def _declared(head: str, parameters: Sequence[str], tail: str) -> str:
    """A declaration, with as many parameters in a line as fit."""
    indent = " " * (len(head) - len(head.lstrip()) + 8)
    *most, last = parameters
    lines = [f"{head}("]
    for parameter in [*(f"{one}, " for one in most), f"{last}){tail}"]:
        if len(lines[-1]) + len(parameter.rstrip()) > _COLUMNS:
            lines.append(indent)
        lines[-1] += parameter
    return "\n".join(line.rstrip() for line in lines)


# ---- What readers share -------------------------------------------------------------------------


def _on_rows_options() -> str:
    keys = (
        f'{_row_option(name, least, "")}\n"""{doc}"""\n'
        for name, (least, doc) in ROW_OPTIONS.items()
    )
    return _ON_ROWS + textwrap.indent("\n".join(keys), "    ")


@dataclass(frozen=True)
class _Group:
    """The attrs that readers of one kind share."""

    name: str
    base: str
    doc: str
    attrs: tuple[Attr, ...]
    also: tuple[Attr, ...] = ()  # attrs that are in signatures, and have their docs with the group
    inherited: tuple[Attr, ...] = ()

    @property
    def members(self) -> tuple[Attr, ...]:
        return self.attrs + self.inherited

    def declaration(self) -> str:
        keys = [(f"{python_name(one.name)}: {_hint(one)}", attr_doc(one)) for one in self.attrs]
        if not self.inherited:
            keys.append(("name: str | None", NAME_DOC))
        also = "".join(f" {one.name}: {one.doc}" for one in self.also)
        about = _quoted(f"{self.doc}.{also}")
        body = f"{about}\n" + "\n".join(f"{key}\n{_quoted(doc)}" for key, doc in keys)
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


def _groups(ops: Sequence[Op]) -> tuple[_Group, _Group]:
    """What all readers share, and what those of files share besides."""
    readers = [op for op in ops if op.is_reader]
    every = _shared(readers)
    of_files = [op for op in readers if _reads_files(op)]
    files = _shared(of_files)
    own = tuple(attr for attr in files if attr not in every)
    switches, sources = tuple(_host_switches(readers[0])), tuple(_sources(of_files[0]))
    about = "What all readers of files share"
    return (
        _Group("ReaderAttrs", "TypedDict", "What all readers share", every, switches),
        _Group("FileReaderAttrs", "ReaderAttrs", about, own, sources, inherited=every),
    )


def _group(op: Op, groups: tuple[_Group, _Group]) -> _Group | None:
    """The group whose attrs the op has; None: it has none, and its signature lists all."""
    group = groups[_reads_files(op)] if op.is_reader else None
    return group if group and all(attr in op.attrs for attr in group.members) else None


# ---- What is returned ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Variant:
    """One type of a function: of its inputs, of the attrs that choose outputs, of its result."""

    given: str
    switches: tuple[str, ...]
    result: str

    @property
    def is_on_rows(self) -> bool:
        return self.given != "Blob"


def _switches(op: Op) -> list[Attr]:
    return [one for port in op.outputs if (one := op.switch(port.name)) is not None]


def _host_switches(op: Op) -> list[Attr]:
    found = (op.switch(name) for name in op.host_outputs)
    return [one for one in found if one is not None]


def _is_certain(op: Op, port: Port) -> bool:
    return op.switch(port.name) is None


def _tuple(one: str, count: int) -> str:
    return one if count == 1 else f"tuple[{', '.join([one] * count)}]"


def _switch(one: Attr, value: bool) -> str:
    """The parameter where the output is there, or is not; a list that is not given is left out."""
    if one.type.word == "bool":
        return f"{one.name}: Literal[{value}]{'' if value else ' = False'}"
    return f"{one.name}: {_hint(one)}" if value else ""


def _variants(op: Op) -> Iterator[_Variant]:
    """One for every choice of optional outputs, and one for a choice made at run time; then those
    on rows, one for a row and one for a batch where attrs do not decide what is returned."""
    switches = _switches(op)
    at_run_time = tuple(map(_parameter, switches))
    certain = sum(_is_certain(op, port) for port in op.outputs)
    if switches and not op.outputs_attr:
        for values in itertools.product((False, True), repeat=len(switches)):
            chosen = (_switch(one, value) for one, value in zip(switches, values, strict=True))
            count = certain + sum(values)
            yield _Variant("Blob", tuple(filter(None, chosen)), _tuple("Blob", count))
    is_chosen = bool(op.outputs_attr or switches)
    yield _Variant("Blob", at_run_time, "Blobs" if is_chosen else _tuple("Blob", certain))
    if op.is_reader or op.is_view:
        return
    if is_chosen:
        yield _Variant("_Row | _Rows", at_run_time, "Any")
    else:
        for given, answer in _ANSWERS.items():
            yield _Variant(given, (), _tuple(answer, certain))


# ---- Ops that take and return the same ----------------------------------------------------------


@dataclass(frozen=True)
class _Shape:
    """What the decorator of several ops says: all but their own arguments, which are `_P`."""

    op: str  # the name, without what is `_P`
    overloads: tuple[str, ...]
    taken: tuple[str, ...]  # the types of what can be given by position

    @property
    def decorator(self) -> str:
        return "_" + "".join(f"_{c.lower()}" if c.isupper() else c for c in self.op).strip("_")

    def declaration(self) -> str:
        taken = ", ".join([*self.taken, "_P"])
        overloads = "".join(f"    @overload\n{overload}\n" for overload in self.overloads)
        return (
            f"class _{self.op}(Protocol[_P]):\n{overloads}"
            + _declared(
                f"def {self.decorator}",
                [f"op: Callable[Concatenate[{taken}], object]"],
                f" -> _{self.op}[_P]: ...",
            )
            + "\n"
        )


def _sources(op: Op) -> list[Attr]:
    return [attr for attr in ordered_attrs(op) if attr.name in positional_names(op)]


def _shape(op: Op) -> _Shape | None:
    """None: the op has one type alone, or takes any number of inputs, which `_P` cannot follow."""
    variants = list(_variants(op))
    if len(variants) == 1 or op.has_many_inputs:
        return None
    overloads = []
    for variant in variants:
        parameters = [*_inputs(op, variant.given), *map(_parameter, _sources(op))]
        named = [one if " = " in one else f"{one} = ..." for one in variant.switches]
        if variant.is_on_rows:
            named += [
                _row_option(name, least, f" = {None if least < 0 else least}")
                for name, (least, _) in _row_options(op).items()
            ]
        parameters += [_ONLY_BY_NAME, *named] if named else []
        parameters += ["*args: _P.args", "**attrs: _P.kwargs"]
        overloads.append(
            _declared("    def __call__", ["self", *parameters], f" -> {variant.result}: ...")
        )
    taken = [one.partition(": ")[2].partition(" = ")[0] for one in _inputs(op, "Blob")]
    taken += [_hint(attr) for attr in _sources(op)]
    outputs = "Several"
    if not op.outputs_attr:
        outputs = _COUNTS[sum(_is_certain(op, port) for port in op.outputs)]
    name = f"{_COUNTS[len(op.inputs)]}To{outputs}"
    name += "OrMore" if _switches(op) and not op.is_reader else ""
    name += "Seeded" if variants[-1].is_on_rows and "seed" not in _row_options(op) else ""
    return _Shape(name, tuple(overloads), tuple(taken))


def _common_shapes(ops: Sequence[Op]) -> list[_Shape]:
    """The shapes that two ops or more have, the first of each name."""
    counts = Counter(shape for op in ops if (shape := _shape(op)) is not None)
    common = {shape.op: shape for shape, count in reversed(counts.items()) if count > 1}
    return list(reversed(common.values()))


# ---- Functions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Common:
    """What ops share: attrs of readers, decorators, and which op explains an attr."""

    groups: tuple[_Group, _Group]
    shapes: Sequence[_Shape]
    explained: Mapping[str, str]


def _common(ops: Sequence[Op], built_in: Sequence[Op]) -> _Common:
    groups = _groups(built_in)
    return _Common(groups, _common_shapes(ops), _explained(ops, groups[1].members))


def _function(op: Op, common: _Common, variant: _Variant, *, is_first: bool) -> str:
    """One declaration: the first has the docstring and tells the defaults."""
    group, switches = _group(op, common.groups), _switches(op)
    members = group.members if group else ()
    attrs = [attr for attr in ordered_attrs(op) if attr not in members and attr not in switches]
    positional = positional_names(op)
    parameters = _inputs(op, variant.given)
    parameters += [_parameter(attr, is_told=is_first) for attr in attrs if attr.name in positional]
    named = [_parameter(attr, is_told=is_first) for attr in attrs if attr.name not in positional]
    named += variant.switches
    if not group:
        named.append(f"name: str | None = {None if is_first else '...'}")
    options = _row_options(op) if variant.is_on_rows else {}
    has_all = len(options) == len(ROW_OPTIONS)
    if not has_all:  # an attr of the op has the name of one of OnRows
        named += [_row_option(key, least, " = ...") for key, (least, _) in options.items()]
    parameters += ["*"] if named and not op.has_many_inputs else []
    parameters += named
    parameters += [f"**attrs: Unpack[{group.name}]"] if group else []
    parameters += ["**on_rows: Unpack[OnRows]"] if has_all else []
    tail = f" -> {variant.result}:{'' if is_first else ' ...'}"
    declared = _declared(f"def {op.name}", parameters, tail)
    about = f"{_docstring(op, group, common.explained)}\n" if is_first else ""
    return f"{declared}\n{about}"


def _docstring(op: Op, group: _Group | None, explained: Mapping[str, str]) -> str:
    """Types and defaults are in the signature; what ops share is said once."""
    in_group = [*group.also, *_host_switches(op)] if group else []
    said_once = [*group.members, *in_group] if group else []
    arguments = [f"{python_name(port.name)}: {port.doc}" for port in op.inputs]
    as_in: dict[str, list[str]] = {}
    for attr in ordered_attrs(op):
        about = _said(attr)
        if attr in said_once:
            continue
        if (other := explained.get(about, op.name)) != op.name:
            as_in.setdefault(other, []).append(python_name(attr.name))
        else:
            arguments.append(about)
    arguments += [f"{', '.join(names)}: As in {other}." for other, names in as_in.items()]
    if group:
        names = [*(attr.name for attr in in_group), f"**attrs ({group.name})"]
        arguments += [f"{', '.join(names)}: {group.doc}."]
    own = [port for port in op.outputs if port.name not in op.host_outputs]
    outputs = {f"{port.name}{_condition(op, port)}": port.doc for port in own}
    if len(outputs) > 1:
        said = (f"{name}: {doc}" for name, doc in outputs.items())
        returns = ["Returns:", *itertools.chain.from_iterable(map(entry, said))]
    else:
        each = f"One for each of {op.outputs_attr}: " if op.outputs_attr else ""
        returns = lines_of(f"Returns: {each}{''.join(outputs.values())}", others=" " * 4)
    lines = [*lines_of(f'"""{op.doc}'), "", "Args:"]
    lines += itertools.chain.from_iterable(map(entry, arguments))
    text = "\n".join([*lines, *returns])
    if len(text) - text.rfind("\n") > _COLUMNS - 6:
        text += "\n"
    return textwrap.indent(f'{text}"""', "    ")


def _condition(op: Op, port: Port) -> str:
    switch = op.switch(port.name)
    return f" (with {switch.name})" if switch else ""


def _said(attr: Attr) -> str:
    """An attr in a docstring: its name, limits and doc."""
    about = "" if attr.choices and attr.type.word == "str" else limits(attr)
    if attr.is_found:
        about = "found in the files if left out"
    return f"{python_name(attr.name)}{f' ({about})' if about else ''}: {attr.doc}"


def _explained(ops: Sequence[Op], in_group: Sequence[Attr]) -> dict[str, str]:
    """What is said of an attr that takes several lines -> the op that says it: of those that have
    the attr, the one with the shortest name."""
    named = sorted(ops, key=lambda op: len(op.name), reverse=True)
    said = {_said(attr): op.name for op in named for attr in op.attrs if attr not in in_group}
    return {about: name for about, name in said.items() if len(entry(about)) > 1}


def _stub(op: Op, common: _Common) -> str:
    shape, variants = _shape(op), list(_variants(op))
    if shape is not None and shape in common.shapes:
        switches = () if _switches(op) else variants[0].switches
        plain = _Variant("Blob", switches, variants[0].result)
        return f"@{shape.decorator}\n" + _function(op, common, plain, is_first=True)
    if len(variants) == 1:
        return _function(op, common, variants[0], is_first=True)
    return "".join(
        "@overload\n" + _function(op, common, one, is_first=one is variants[0]) for one in variants
    )


def _exported(ops: Sequence[Op]) -> str:
    names = textwrap.wrap(", ".join(_literal(op.name) for op in ops) + ",", _COLUMNS - 4)
    return "__all__ = [\n" + "".join(f"    {line}\n" for line in names) + "]\n\n"


def _built_in(ops: Sequence[Op]) -> list[Op]:
    return [op for op in ops if op.origin == BUILT_IN]


def _declarations(ops: Sequence[Op], common: _Common) -> list[str]:
    decorators = [shape.declaration() for shape in common.shapes]
    return decorators + [_stub(op, common) for op in ops]


def make_stubs(registered: Sequence[Op]) -> str:
    """The text of ops.pyi for the built-in ops among these."""
    ops = _built_in(registered)
    common = _common(ops, ops)
    parts = [_on_rows_options(), *(group.declaration() for group in common.groups)]
    parts += _declarations(ops, common)
    return _HEAD + _exported(ops) + _BLOBS + _TYPES + "\n".join(parts)


def make_plugin_stubs(ops: Sequence[Op], registered: Sequence[Op]) -> str:
    """The text of a .pyi file for a module with these ops, which are those of a loaded plugin."""
    parts = _declarations(ops, _common(ops, _built_in(registered)))
    return _PLUGIN_HEAD + _exported(ops) + "__version__: str\n\n" + _TYPES + "\n".join(parts)
