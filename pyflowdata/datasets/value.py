"""A data set as a value, which can be shown, compared, copied and sent to another process."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..errors import WrongUseError, printable, shown
from ..formats import FORMATS, field_of
from ..loader.state import ENDLESS
from ..nodes import Attr, Blob, Node
from ..nodes.attr_words import (
    has_tables,
    prepared_of,
    said_of_tables,
    told_attrs,
    value_text,
    view_word,
)
from ..nodes.node import in_order, nodes_of
from ..nodes.objects import Object
from ..words.plain_text import counted
from .base import SetT, Shuffle, left_out_of
from .reading import Reading


# ---- When two data sets are the same ------------------------------------------------------------


class _Itself:
    """A Python object that is equal to itself alone."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def _identity_of(blobs: Mapping[str, Blob], shuffle: Shuffle | None) -> Hashable:
    """A value that is equal only for data sets with the same files, fields, views and attrs."""
    numbers: dict[Node, int] = {}
    nodes: list[Hashable] = []
    for node in nodes_of(blobs.values()):
        inputs = tuple((numbers[blob.node], blob.index) for blob in node.inputs)
        values = tuple((name, _frozen(node.values[name])) for name in sorted(node.values))
        nodes.append((node.op.name, node.op.origin, node.name, values, inputs))
        numbers[node] = len(numbers)
    fields = tuple((name, numbers[blob.node], blob.index) for name, blob in blobs.items())
    order = None if shuffle is None else (*shuffle[:-1], tuple(sorted(shuffle.attrs.items())))
    return fields, tuple(nodes), order


def _frozen(value: Any) -> Hashable:
    """The value of an attr in a form that can be compared."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, Object):
        return (type(value), value)  # True is not 1
    found = getattr(value.value, "identity", value.value)
    try:
        hash(found)
    except TypeError:
        return _Itself(found)
    return found  # type: ignore[no-any-return]


# ---- What repr says -----------------------------------------------------------------------------

# The text is read from the nodes: views need no code of their own for it.

_MOST_FIELDS = 20
_MOST_SOURCES = 12
_MOST_LEVELS = 8  # of data sets in one another
_IN_MEMORY = "arrays in memory"
_MIX_ATTRS = ("weights", "segments", "mean_lengths", "source_names")  # `_mix_shares` shows these


class _Chain(NamedTuple):
    """A reader, or a view of several data sets, and the steps after it.

    Attributes:
        source: The reader or view, in words.
        inner: The data sets of the view, each with the text before it.
        steps: Views and ops, in order.
    """

    source: str
    inner: Sequence[tuple[str, _Chain]]
    steps: Sequence[str]


class _Described(NamedTuple):
    """A data set in words.

    Attributes:
        what: The first line: the number of records and their source.
        fields: Names and types of the first fields.
        more_fields: How many further fields there are.
        left_out: Lines about columns that are no fields.
        views: Lines of the data sets of a view, and of the steps after it.
    """

    what: str
    fields: Sequence[tuple[str, str]]
    more_fields: int
    left_out: Sequence[str]
    views: Sequence[str]

    def __str__(self) -> str:
        lines = [f"  {printable(name)}: {type}" for name, type in self.fields]
        if self.more_fields:
            lines.append(f"  and {self.more_fields} more fields")
        return "\n".join(
            [
                printable(self.what),
                *lines,
                *(f"  {printable(line)}" for line in (*self.left_out, *self.views)),
            ]
        )


def _described_graph(
    blobs: Mapping[str, Blob], shuffle: Shuffle | None, size: int | None
) -> _Described:
    """Describes a data set of `size` records; None: the size is not known; -1: it is a stream."""
    chain = _chain_of(list(blobs.values()))
    steps = [*chain.steps, *([_shuffle_step(shuffle)] if shuffle else [])]
    what = "Dataset" if size is None else f"Dataset of {counted(size, 'record')}"
    what = "Dataset, a stream without len()" if size == -1 else what
    what = "Dataset without end" if size is not None and size >= ENDLESS else what
    fields = [(name, _type_of(name, blob)) for name, blob in blobs.items()]
    return _Described(
        what if chain.inner else f"{what}: {chain.source}",
        fields[:_MOST_FIELDS],
        max(0, len(fields) - _MOST_FIELDS),
        _left_out_lines(blobs),
        [*_lines_of(chain), *([f"-> {' -> '.join(steps)}"] if steps else [])],
    )


def _left_out_lines(blobs: Mapping[str, Blob]) -> list[str]:
    said = list(left_out_of(blobs).values())
    more = len(said) - _MOST_FIELDS
    lines = [f"left out: {one}" for one in said[:_MOST_FIELDS]]
    return [*lines, f"left out: {more} more"] if more > 0 else lines


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


def _chain_of(blobs: Sequence[Blob], levels: int = _MOST_LEVELS) -> _Chain:
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
        if len(groups) > 1 and levels == 0:
            return _Chain(f"{_step_of(order).removesuffix('()')} of {len(groups)} more", (), steps)
        if len(groups) > 1:
            is_mix = order.op.name == "MixDataset"
            said = [f"{one} of " for one in _mix_shares(order)] if is_mix else [""] * len(groups)
            chains = [_chain_of(group, levels - 1) for group in groups]
            inner = list(zip(said, chains, strict=True))
            if all(chain == _Chain(_IN_MEMORY, (), []) for _, chain in inner):
                return inner[0][1]._replace(steps=steps)
            return _Chain(_step_of(order), inner, steps)
        steps.insert(0, _step_of(order))
        blobs = order.inputs


def _ops_before(blobs: Sequence[Blob]) -> tuple[list[Node], Node]:
    """The ops that compute the fields, in order, and the reader or view that gives the records."""

    def before(node: Node) -> Iterator[Node]:
        return iter(()) if gives_records(node) else (blob.node for blob in node.inputs)

    def gives_records(node: Node) -> bool:
        return node.op.is_reader or node.op.is_view

    nodes = in_order((blob.node for blob in blobs), before)
    order = next(node for node in nodes if gives_records(node))
    return [node for node in nodes if not gives_records(node)], order


def _order_of(blob: Blob) -> Node:
    return _ops_before([blob])[1]


def _groups_of(node: Node) -> list[Sequence[Blob]]:
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


def _mix_shares(node: Node) -> list[str]:
    """The name of each source of a mix, and its share of the records."""
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
    """The ops that belong to reading files of a format."""
    own = [one for one in FORMATS.values() if one.reader == reader.op.name]
    return {decoder for one in own for decoder in one.decoders}


def _source_of(reader: Node) -> str:
    """The reader in words: TFRecord, 12 files (train-00.tfrecord ...)."""
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
    """A step in words: take(count=100), or what its table was made from."""
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
    """Whether an attr is shown elsewhere in the text, or belongs to batches."""
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


# ---- The methods --------------------------------------------------------------------------------


class Value(Reading):
    """The methods of `Dataset` that Python calls for every value."""

    _identity: Hashable = None

    def _compared(self) -> Hashable:
        if self._identity is None:
            self._identity = _identity_of(self._fields, self._shuffle)
        return self._identity

    def __eq__(self, other: object) -> bool:
        """Whether the files, fields, views and attrs are the same."""
        if self is other:
            return True
        if not isinstance(other, Value) or type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def __copy__(self: SetT) -> SetT:
        return self

    def __deepcopy__(self: SetT, _memo: dict[int, Any]) -> SetT:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields, self._shuffle)

    def __contains__(self, name: object) -> bool:
        """Whether there is a field of this name."""
        if not isinstance(name, str):
            raise TypeError(
                f"{type(name).__name__} in a Dataset: `in` takes the name of a field, a str"
            )
        return name in self._fields

    if not TYPE_CHECKING:  # a type checker finds this by itself

        def __array__(self, *_args: Any, **_options: Any) -> NoReturn:
            raise WrongUseError(
                "a Dataset is not an array: data.column(name) is the array of a field for all "
                "records, and data.rows(numbers)[name] for some records"
            )

    def _described(self) -> _Described:
        opened = self._opened
        return _described_graph(
            self._fields, self._shuffle, None if opened is None else opened.size
        )

    def __repr__(self) -> str:
        return str(self._described())

    def _repr_html_(self) -> str:
        from ..words.html_text import code, element, lines, note, table, title

        said = self._described()
        more = f"and {said.more_fields} more fields" if said.more_fields else ""
        views = lines("\n".join(said.views))
        fields = table([(name, code(type)) for name, type in said.fields], ("field", "type"))
        notes = [note(more), *map(note, said.left_out)]
        return element("div", title(said.what), fields, *notes, views if said.views else "")
