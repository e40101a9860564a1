"""What `repr` says of a data set, read from its nodes: views need no code of their own for it."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import shown
from ..formats import FORMATS, field_of
from ..nodes import Attr, Blob, Node
from ..nodes.objects import Object
from ..nodes.attr_words import (
    has_tables,
    prepared_of,
    said_of_tables,
    told_attrs,
    value_text,
    view_word,
)
from ..words.plain_text import counted
from .base import Shuffle

_MOST_FIELDS = 20
_MOST_SOURCES = 12
_IN_MEMORY = "arrays in memory"
_MIX_ATTRS = ("weights", "segments", "mean_lengths", "source_names")  # what `_mix_shares` says


class _Chain(NamedTuple):
    """A reader, or a view of several data sets, and what follows.

    Attributes:
        source: In words.
        inner: The data sets of the view, each with what is said before it.
        steps: Views and ops, in order.
    """

    source: str
    inner: Sequence[tuple[str, _Chain]]
    steps: Sequence[str]


class Described(NamedTuple):
    """What is said of a data set.

    Attributes:
        what: That it is one, how many records it has, and where they come from.
        fields: Names and types of the first ones.
        more_fields: How many there are besides.
        views: Lines of the data sets of a view, and of what follows.
    """

    what: str
    fields: Sequence[tuple[str, str]]
    more_fields: int
    views: Sequence[str]

    def __str__(self) -> str:
        lines = [f"  {name}: {type}" for name, type in self.fields]
        if self.more_fields:
            lines.append(f"  and {self.more_fields} more fields")
        return "\n".join([self.what, *lines, *(f"  {line}" for line in self.views)])


def described_graph(
    blobs: Mapping[str, Blob], shuffle: Shuffle | None, size: int | None
) -> Described:
    """A data set in words.

    Args:
        blobs: Its fields.
        shuffle: Its order that is not a node yet.
        size: Of its records; None: not known; -1: it is a stream.
    """
    chain = _chain_of(list(blobs.values()))
    steps = [*chain.steps, *([_shuffle_step(shuffle)] if shuffle else [])]
    what = "Dataset" if size is None else f"Dataset of {counted(size, 'record')}"
    what = "Dataset, a stream without len()" if size == -1 else what
    fields = [(name, _type_of(name, blob)) for name, blob in blobs.items()]
    return Described(
        what if chain.inner else f"{what}: {chain.source}",
        fields[:_MOST_FIELDS],
        max(0, len(fields) - _MOST_FIELDS),
        [*_lines_of(chain), *([f"-> {' -> '.join(steps)}"] if steps else [])],
    )


def _type_of(name: str, blob: Blob) -> str:
    type = field_of(name, blob).type
    return f"{type} ({blob.note})" if blob.note else type


def _lines_of(chain: _Chain) -> Iterator[str]:
    """The data sets of a view, without the steps after it."""
    if not chain.inner:
        return
    yield f"{chain.source.removesuffix('()')} of"
    for said, inner in chain.inner[:_MOST_SOURCES]:
        steps = "".join(f" -> {step}" for step in inner.steps)
        first, *rest = list(_lines_of(inner)) or [inner.source]
        yield f"  {said}{first}{'' if rest else steps}"
        yield from (f"  {line}" for line in rest)
        if rest and steps:
            yield f"   {steps}"
    if len(chain.inner) > _MOST_SOURCES:
        yield f"  and {len(chain.inner) - _MOST_SOURCES} more"


# ---- Following nodes ----------------------------------------------------------------------------


def _chain_of(blobs: Sequence[Blob]) -> _Chain:
    steps: list[str] = []
    while True:
        ops, order = _ops_before(blobs)
        decoders = _decoders_of(order)
        steps[:0] = [_step_of(node) for node in ops if node.op.name not in decoders]
        cached = prepared_of(order)
        if cached is not None:
            steps.insert(0, cached.said)
            blobs = list(cached.fields.values())
            continue
        if order.op.is_reader:
            return _Chain(_source_of(order), (), steps)
        groups = _groups_of(order)
        if len(groups) > 1:
            said = _said_of_sources(order, len(groups))
            inner = [(text, _chain_of(group)) for text, group in zip(said, groups, strict=True)]
            if all(chain == _Chain(_IN_MEMORY, (), []) for _, chain in inner):
                return inner[0][1]._replace(steps=steps)
            return _Chain(_step_of(order), inner, steps)
        steps.insert(0, _step_of(order))
        blobs = order.inputs


def _ops_before(blobs: Sequence[Blob]) -> tuple[list[Node], Node]:
    """The ops that make the fields, in order, and the reader or view whose records they take."""
    ops: dict[Node, None] = {}
    order: list[Node] = []

    def walk(node: Node) -> None:
        """Adds a node after those upstream."""
        if node.op.is_reader or node.op.is_view:
            order.append(node)
        elif node not in ops:
            for blob in node.inputs:
                walk(blob.node)
            ops[node] = None

    for blob in blobs:
        walk(blob.node)
    return list(ops), order[0]


def _order_of(blob: Blob) -> Node:
    return _ops_before([blob])[1]


def _groups_of(node: Node) -> list[Sequence[Blob]]:
    """The fields of each data set of a view."""
    count = node.values.get("num_sources", 1)
    assert isinstance(count, int)
    if node.op.name != "ZipDataset":
        size = len(node.inputs) // count
        return [node.inputs[at : at + size] for at in range(0, len(node.inputs), size)]
    groups: list[list[Blob]] = []
    for blob in node.inputs:
        if groups and _order_of(groups[-1][0]) is _order_of(blob):
            groups[-1].append(blob)
        else:
            groups.append([blob])
    return [*groups]


def _said_of_sources(node: Node, count: int) -> list[str]:
    if node.op.name != "MixDataset":
        return [""] * count
    return [f"{share} of " for share in _mix_shares(node)]


def _mix_shares(node: Node) -> list[str]:
    """What is said of each source of a mix: its name, and its share of the records."""
    values: Mapping[str, Any] = node.values
    count = operator.index(values["num_sources"])
    said = [f"{name}: " for name in values.get("source_names") or range(count)]
    for number, row in enumerate([0, *(values.get("segments") or [])]):
        when = f", {{}} from record {row:,}" if row else "{}"
        for source, share in enumerate(_shares(values, number, count)):
            said[source] += when.format(share)
    return said


def _shares(values: Mapping[str, Any], number: int, count: int) -> list[str]:
    """Each source's share of the records, in a set of weights."""
    flat = values.get("weights") or [1.0] * count
    means = values.get("mean_lengths") or [1.0] * count
    own = flat[number * count : (number + 1) * count]
    weights = [weight / mean for weight, mean in zip(own, means, strict=True)]
    return [f"{100 * weight / sum(weights):.4g} %" for weight in weights]


# ---- Words --------------------------------------------------------------------------------------


def _decoders_of(reader: Node) -> set[str]:
    """The ops that belong to reading a format."""
    own = [one for one in FORMATS.values() if one.reader == reader.op.name]
    return {decoder for one in own for decoder in one.decoders}


def _source_of(reader: Node) -> str:
    """TFRecord, 12 files (train-00.tfrecord ...)."""
    title = next((one.title for one in FORMATS.values() if one.reader == reader.op.name), "")
    files: Any = reader.values.get("files") or []
    folder: Any = reader.values.get("data_dir")
    if not files and folder:
        return f"{title or reader.op.name}, {shown(folder)}"
    if has_tables(reader):
        return _IN_MEMORY
    if not files:
        return _step_of(reader)
    first = os.path.basename(os.path.normpath(files[0]))
    said = first if len(files) == 1 else f"{counted(len(files), 'file')} ({first} ...)"
    return f"{title or reader.op.name}, {said}"


def _step_of(node: Node) -> str:
    """take(count=100); what a table was made from, where it says so."""
    said = said_of_tables(node)
    if said:
        return said
    name = view_word(node) if node.op.is_view else node.op.name
    told = [attr for attr in told_attrs(node) if not _is_of_others(node, attr)]
    if node.op.is_view and [attr.required for attr in told] == [True]:
        return f"{name}({value_text(node.values[told[0].name])})"
    values = [f"{attr.name}={value_text(node.values[attr.name])}" for attr in told]
    return f"{name}({', '.join(values)})"


def _is_of_others(node: Node, attr: Attr) -> bool:
    """Whether an attr is said elsewhere, or is of batches."""
    if node.op.name == "MixDataset" and attr.name in _MIX_ATTRS:
        return True
    return node.op.is_reader and attr.name in ("seed", "rank", "world_size")


def _shuffle_step(shuffle: Shuffle) -> str:
    said = [f"seed={shuffle.seed}"]
    if shuffle.kind != "auto":
        said.append(f"kind={shuffle.kind!r}")
    if not shuffle.reshuffle:
        said.append("reshuffle=False")
    return f"shuffle({', '.join([*said, *(f'{k}={v}' for k, v in shuffle.attrs.items())])})"
