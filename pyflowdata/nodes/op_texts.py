"""Texts about an op: its names in Python, the order of its arguments, and its help.

The help of functions, the stubs, the commands and the reference show them.  Like op_facts.py this
module needs nothing but Python.
"""

from __future__ import annotations

import functools
import itertools
import keyword
import re
import textwrap
from collections.abc import Sequence

from .op_facts import Attr, Op, Port

_WRITTEN = {"true": "True", "false": "False"}  # choices that are no strings in Python
_FOLDER = "data_dir"  # attrs of every reader of files
_COLUMNS = 100
_HYPHENATED = re.compile(r"[a-zA-Z]-[a-zA-Z]|-{2}")  # where textwrap may end a line
BAD_ARGUMENT_DOC = (
    "InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range; "
    "the text says what is allowed."
)
ROWS_RULE = "an array is one row, a list of arrays is a batch"
_ON_ROWS = f"Called with rows in place of blobs it answers at once: {ROWS_RULE}."
NAME_DOC = "name (str, default None): Name of this node, unique in a loader; None for none."


def python_name(name: str) -> str:
    """A name of the registry as a Python identifier: `in` is a keyword and becomes `in_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def ordered_attrs(op: Op) -> list[Attr]:
    """The attrs in the order of the op's table, but with the files first, then required attrs."""
    first = positional_names(op) if op.is_reader else []
    return sorted(op.attrs, key=lambda attr: (attr.name not in first, not attr.required))


def positional_names(op: Op) -> list[str]:
    """The inputs, or the source of the records; other arguments have no natural order and are given
    by name."""
    if op.inputs:
        return [port.name for port in op.inputs]
    return [attr.name for attr in op.attrs if attr.name == _FOLDER or attr.type.word == "object"]


# ---- Help text ----------------------------------------------------------------------------------


def limits(attr: Attr) -> str:
    """The limits of the attr as a text; empty if there are none."""
    if attr.choices:
        return "one of " + ", ".join(_WRITTEN.get(choice, repr(choice)) for choice in attr.choices)
    low, high = attr.minimum, attr.maximum
    if low is not None and high is not None:
        return f"in [{low:.15g}, {high:.15g}]"
    if low is not None:
        return f"at least {low:.15g}"
    return "" if high is None else f"at most {high:.15g}"


def _default(attr: Attr) -> str:
    if attr.is_found:
        return "found in the files if left out"
    return "required" if attr.required else f"default {attr.default!r}"


def attr_doc(attr: Attr) -> str:
    """The text for an attr: name, type, default, limits, and its sentence."""
    about = [attr.type.word, _default(attr)]
    about += [limits(attr)] if limits(attr) else []
    return f"{python_name(attr.name)} ({', '.join(about)}): {attr.doc}"


def _input_doc(op: Op, port: Port) -> str:
    name = python_name(port.name)
    about = "Blob or rows" if name == port.name else f"Blob or rows, the input '{port.name}'"
    if op.has_many_inputs:
        name, about = f"*{name}", f"one or more, {about}"
    if op.has_optional_input and port == op.inputs[-1]:
        about += ", or None"
    return f"{name} ({about}): {port.doc}"


def _given(switch: Attr) -> str:
    return f"{switch.name}=True" if switch.type.word == "bool" else switch.name


def docstring(op: Op) -> str:
    """The op's doc, its inputs, attrs with defaults and limits, outputs, and exceptions."""
    raises = _section("Raises", [BAD_ARGUMENT_DOC])
    return "\n".join([description(op, ordered_attrs(op), NAME_DOC), *raises])


def description(op: Op, attrs: Sequence[Attr], last: str) -> str:
    """The doc of the op, its inputs, these attrs with defaults and limits, `last` for the arguments
    that follow, and the outputs.
    """
    arguments = [_input_doc(op, port) for port in op.inputs]
    arguments += [attr_doc(attr) for attr in attrs]
    arguments.append(last)
    outputs = []
    for port in op.outputs:
        switch = op.switch(port.name)
        condition = f" (only with {_given(switch)})" if switch else ""
        outputs.append(f"{port.name}{condition}: {port.doc}")
    if op.outputs_attr:
        outputs[0] = f"one for each of {op.outputs_attr}: {op.outputs[0].doc}"
    returns = "The blob of the output" if len(op.outputs) == 1 else "The blobs of the outputs"
    on_rows = [] if op.is_reader or op.is_view else ["", *lines_of(_ON_ROWS)]
    return "\n".join(
        [
            *paragraphs(op.doc),
            *on_rows,
            *_section("Args", arguments),
            *_section("Returns", [f"{returns}:", *outputs]),
        ]
    )


def paragraphs(doc: str) -> list[str]:
    """The lines of an op's doc: the summary, and the rest as a separate paragraph."""
    summary, stop, rest = doc.partition(". ")
    if not stop or not rest.strip():
        return lines_of(doc)
    return [
        *lines_of(summary + "."),
        "",
        *lines_of(rest.strip()),
    ]


def lines_of(text: str, first: str = "", others: str = "") -> list[str]:
    """Wraps like textwrap.wrap(), which would take a large part of the time of `import pyflowdata`.
    """
    if _HYPHENATED.search(text):
        width = _COLUMNS - 4
        return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others)
    lines, line = [], first
    for word in text.split():
        if len(line) + len(word) > _COLUMNS - 4:
            lines.append(line[:-1])
            line = others
        line += word + " "
    return [*lines, line[:-1]]


def _section(title: str, items: list[str]) -> list[str]:
    return ["", f"{title}:", *itertools.chain.from_iterable(map(entry, items))]


@functools.cache  # readers share most of their attrs
def entry(item: str) -> list[str]:
    """The lines of an argument or output in a docstring."""
    return lines_of(item, " " * 4, " " * 8)
