"""Pages of ops: one for each group, made of the registry."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyflowdata.formats import FORMATS
from pyflowdata.nodes.op_texts import limits, ordered_attrs, positional_names, python_name
from pyflowdata.nodes.op_facts import Attr, Op, Port

from . import examples
from .markdown import code, fenced, heading, prose, table
from .op_groups import Group, built_in_ops, groups, sources
from .page import Page

SHARED = "readers.md"

def pages() -> list[Page]:
    """A page for each group, and one of what all readers have."""
    return [_of_readers(), *(_of_group(group) for group in groups())]


def place_of(op: str) -> str:
    """The page and anchor of an op, from the folder of these pages."""
    group = next(one for one in groups() if any(op == each.name for each in one.ops))
    return f"{group.key}.md#{op}"


def _capital(said: str) -> str:
    return said[0].upper() + said[1:]


# ---- What readers share -------------------------------------------------------------------------


def _readers() -> list[Op]:
    return [op for op in built_in_ops() if op.is_reader and not op.is_view]


@functools.cache
def _shared() -> tuple[list[Attr], list[Attr]]:
    """Attrs of every reader, and those that only readers of files have."""
    readers = _readers()
    counts = {attr: sum(attr in op.attrs for op in readers) for op in readers for attr in op.attrs}
    everywhere = [attr for attr, count in counts.items() if count == len(readers)]
    of_files = [attr for attr, count in counts.items() if len(readers) / 2 < count < len(readers)]
    return everywhere, of_files


def _of_readers() -> Page:
    everywhere, of_files = _shared()
    anchors = [
        "# What every reader has\n",
        "The attrs that all readers share: files, batches, order, ranks, and what becomes of "
        "damaged records.\n",
        "A reader is an op without inputs: it finds records and delivers batches of them. Its own "
        "attrs are on the page of its format; those below come with all of them. They are given "
        "by name.\n",
        _example("MiniReader"),
        "## Files\n", "Readers of files have these; files are found when the loader opens.\n",
        _attr_table(of_files, with_anchors=True),
        "## Batches, order and ranks\n", _attr_table(everywhere, with_anchors=True),
        "## Outputs\n", "Besides its own outputs, every reader can have two more.\n",
        _output_table(next(op for op in _readers() if len(op.outputs) == 3), only=("mask", "id")),
        "\nWhat orders there are, and what they cost: [Shuffling](../../concepts/shuffle.md). "
        "Ranks: [Several processes](../../how-to/distributed.md). How files are named, and which "
        "formats there are: [Formats](../formats.md).\n",
    ]  # fmt: skip
    return Page(SHARED, "What every reader has", "\n".join(anchors))


# ---- A group ------------------------------------------------------------------------------------


def _of_group(group: Group) -> Page:
    title = _capital(group.title)
    parts = [f"# {title}\n", f"{group.about}\n"]
    if group.format:
        parts.append(_about_format(group))
    if len(group.ops) > 1:
        parts.append(table(
            ["op", "what it does"],
            [[f"[{op.name}](#{op.name})", prose(_first(op.doc))] for op in group.ops],
        ))  # fmt: skip
    parts += [_of_op(op) for op in group.ops]
    return Page(f"{group.key}.md", title, "\n".join(parts), tuple(op.name for op in group.ops))


def _about_format(group: Group) -> str:
    found = FORMATS[group.format]
    rows = []
    if found.suffixes:
        rows.append(["names of files", ", ".join(code(one) for one in found.suffixes)])
    rows.append(["checks while reading", prose(found.checks or "none")])
    if found.writer is not None:
        writer = found.writer.__name__
        rows.append(["writer", f"[{writer}](../python/writers.md#{writer})"])
    return f"{prose(found.doc)}\n\n" + table(
        ["name for `format=` and the commands", code(found.name)], rows
    )


def _first(doc: str) -> str:
    return doc.partition(". ")[0].rstrip(".") + "."


def _of_op(op: Op) -> str:
    first, _, rest = op.doc.partition(". ")
    parts = [heading(2, op.name, op.name), prose(first.rstrip(".") + ".") + "\n"]
    parts.append(fenced(_call(op), "python"))
    if rest:
        parts.append(prose(rest) + "\n")
    parts.append(_example(op.name))
    facts = _facts(op)
    if facts:
        parts.append("\n".join(f"- {one}" for one in facts) + "\n")
    if op.inputs:
        parts.append(table(["input", "what it is"], [_input_row(op, one) for one in op.inputs]))
    own = _own(op)
    if own:
        parts.append(_attr_table(own))
    parts.append(_output_table(op))
    parts.append(f"Source: [{sources()[op.name]}](../../../{sources()[op.name]})\n")
    return "\n".join(part for part in parts if part)


def _own(op: Op) -> list[Attr]:
    if not op.is_reader:
        return ordered_attrs(op)
    everywhere, of_files = _shared()
    return [attr for attr in ordered_attrs(op) if attr not in everywhere and attr not in of_files]


def _call(op: Op) -> str:
    """The call, with its own attrs and their defaults."""
    positional = positional_names(op)
    words = [f"*{python_name(one.name)}" if op.has_many_inputs else python_name(one.name)
             for one in op.inputs]  # fmt: skip
    if op.has_optional_input:
        words[-1] += "=None"
    own = [attr for attr in _own(op) if attr.name not in positional]
    words += [_parameter(next(one for one in op.attrs if one.name == name))
              for name in positional if op.attr(name) and not op.inputs]  # fmt: skip
    if own and not op.has_many_inputs:
        words.append("*")
    words += [_parameter(attr) for attr in own]
    if op.is_reader:
        words.append("**attrs_of_readers")
    outputs = ", ".join(python_name(one.name) for one in op.outputs if op.switch(one.name) is None)
    if op.outputs_attr:
        outputs = f"*{op.outputs_attr}"
    line = f"flow.{op.name}({', '.join(words)})  # -> {outputs}"
    if len(line) <= 80:
        return line
    return f"flow.{op.name}(\n" + "".join(f"    {one},\n" for one in words) + f")  # -> {outputs}"


def _parameter(attr: Attr) -> str:
    name = python_name(attr.name)
    if attr.is_found:
        return f"{name}=None"
    return name if attr.required else f"{name}={_value(attr)}"


def _value(attr: Attr) -> str:
    """The default; of a fraction such as 4 / 3, four digits."""
    value = attr.default
    if isinstance(value, tuple):
        return f"[{', '.join(map(_short, value))}]"
    return _short(value)


def _short(value: object) -> str:
    is_long = isinstance(value, float) and len(repr(value)) > 12
    return f"{value:.4f}" if is_long else repr(value)


def _facts(op: Op) -> list[str]:
    facts = []
    if op.method:
        method = f"Dataset.{op.method}"
        facts.append(f"Programs call [`{method}`](../python/datasets.md#{method}).")
    if op.is_reader and not op.is_view:
        facts.append(f"It has the [attrs of every reader]({SHARED}) as well.")
    elif op.is_view and op.is_reader:
        facts.append(f"It has the [attrs of batches, order and ranks]({SHARED}) as well.")
    if op.is_whole_batch:
        facts.append("It looks at all rows of a batch of this rank at once.")
    if op.inputs and not op.is_view:
        rows = "may differ" if op.takes_ragged else "must not differ"
        facts.append(f"Rows of its inputs {rows} in shape.")
    return facts


def _input_row(op: Op, port: Port) -> list[str]:
    name = python_name(port.name)
    many = "One or more. " if op.has_many_inputs else ""
    optional = "May be left out. " if op.has_optional_input and port == op.inputs[-1] else ""
    return [code(f"*{name}" if many else name), many + optional + prose(port.doc)]


def _attr_table(attrs: Sequence[Attr], *, with_anchors: bool = False) -> str:
    rows = []
    for attr in attrs:
        name = code(python_name(attr.name))
        if with_anchors:
            name = f'<span id="{attr.name}"></span>{name}'
        default = "required" if attr.required else "found in the files if left out"
        if attr.default is not None:
            default = f"default {code(_value(attr))}"
        facts = ", ".join(one for one in (attr.type.word, default, _limits(attr)) if one)
        rows.append([name, f'<span class="facts">{facts}</span><br>{prose(attr.doc)}'])
    return table(["attr", "what it is"], rows)


def _limits(attr: Attr) -> str:
    if attr.choices:
        return "one of " + " ".join(code(one) for one in attr.choices)
    return prose(limits(attr))


def _output_table(op: Op, only: Sequence[str] = ()) -> str:
    """Outputs; `mask` and `id` of readers are told of on the page of all readers."""
    rows = []
    for port in op.outputs:
        if only and port.name not in only:
            continue
        if not only and op.is_reader and port.name in ("mask", "id"):
            continue
        switch = op.switch(port.name)
        given = f"with_{port.name}=True" if switch and switch.type.word == "bool" else ""
        given = given or (switch.name if switch else "")
        when = f"Only with {code(given)}. " if given else ""
        name = code(python_name(port.name))
        if op.outputs_attr and port == op.outputs[0]:
            name = f"one for each of {code(op.outputs_attr)}"
        rows.append([name, when + prose(port.doc)])
    return table(["output", "what it is"], rows)


def _example(op: str) -> str:
    found = examples.of(op)
    if found is None:
        return ""
    return f"{fenced(found.code, 'python')}\n{fenced(found.output, 'text')}"
