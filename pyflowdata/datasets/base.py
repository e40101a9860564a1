"""What all parts of `Dataset` build on: its fields, and how a new data set is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..errors import InvalidArgumentError, shown
from ..words.plain_text import no_field
from ..formats import Field, field_of, output_names
from ..nodes import Blob, Node, find_op
from ..nodes.node import Records
from ..nodes.tables import Table
from .streams import refuse_stream

SetT = TypeVar("SetT", bound="DatasetBase")


class Shuffle(NamedTuple):
    """A random order that is not a node yet: batches take it over, any other view makes it one.

    Attributes:
        seed: None: that of the batches.
        kind: "auto", "global", "window" or "buffer".
        order_key: A text on which the order depends besides the seed.
        reshuffle: Whether each epoch has an order of its own.
        attrs: Of the kind, as readers have them.
    """

    seed: int | None
    kind: str
    order_key: str
    reshuffle: bool
    attrs: Mapping[str, int]


class DatasetBase(Records):
    """The fields of a data set, all of one reader or view.  Immutable."""

    def __init__(self, blobs: Mapping[str, Blob], shuffle: Shuffle | None = None) -> None:
        """Args:
        blobs: The fields by name: outputs of a reader or view, or of ops on them, in batches of 1.
        shuffle: The order of the records, where it is not a part of the blobs.
        """
        if not blobs:
            raise InvalidArgumentError("a data set needs a field or more")
        self._fields = dict(blobs)
        self._shuffle = shuffle
        self._ordered: dict[str, Blob] | None = None  # once they are asked for

    # ---- Fields -------------------------------------------------------------------------------

    @property
    def fields(self) -> dict[str, Field]:
        """Name, dtype and shape of each field of a record; None in a shape varies."""
        return {name: field_of(name, blob) for name, blob in self._fields.items()}

    def blob(self, name: str) -> Blob:
        """A field as a blob in batches of 1, for ops: what they make of it can be a field, too.

        Raises:
            InvalidArgumentError: There is no such field.
        """
        if name not in self._fields:
            raise InvalidArgumentError(no_field(name, self._fields))
        return self.blobs[name]

    @property
    def blobs(self) -> dict[str, Blob]:
        """All fields by name, each as `blob()` gives it."""
        if self._ordered is None:  # the same ones from now on, so that they go together
            self._ordered = self._shuffled()
        return dict(self._ordered)

    def _shuffled(self) -> dict[str, Blob]:
        shuffle = self._shuffle
        if shuffle is None:
            return self._fields
        if shuffle.kind not in ("auto", "global"):
            raise InvalidArgumentError(
                f"shuffle(kind={shown(shuffle.kind)}) is an order of batches: use it last, or "
                "kind='global'"
            )
        attrs = {"seed": -1 if shuffle.seed is None else shuffle.seed,
                 "order_key": shuffle.order_key, "reshuffle": shuffle.reshuffle}  # fmt: skip
        return named_view("ShuffleDataset", self._fields, attrs)

    # ---- New data sets ------------------------------------------------------------------------

    def _view(self: SetT, op: str, **attrs: Any) -> SetT:
        """The data set that a view makes of this one, with the same fields."""
        return type(self)(named_view(op, self.blobs, attrs))

    def _selected(self: SetT, table: Table) -> SetT:
        """Of the records before the shuffle, which then shuffles those that are left."""
        return self._with_blobs(named_view("SelectDataset", self._fields, {"table": table}))

    def _with_blobs(self: SetT, blobs: Mapping[str, Blob]) -> SetT:
        """A data set of other fields of the same records, before its shuffle."""
        return type(self)(blobs, self._shuffle)


def named_view(op: str, blobs: Mapping[str, Blob], attrs: Mapping[str, Any]) -> dict[str, Blob]:
    """The outputs of a view, by the names of its inputs."""
    refuse_stream(blobs.values(), op)
    attrs = {"fields": output_names(blobs), **attrs}
    node = Node(find_op(op), None, list(blobs.values()), attrs)
    return dict(zip(blobs, node.outputs, strict=False))


def check_sources(what: str, sources: Iterable[object]) -> None:
    """Refuses what is not a data set."""
    for source in sources:
        if not isinstance(source, DatasetBase):
            raise InvalidArgumentError(f"{what}({shown(source)}): give data sets, one or several")


def several_view(
    op: str, sources: Sequence[DatasetBase], attrs: Mapping[str, Any]
) -> dict[str, Blob]:
    """The outputs of a view of several sources, which must have the same fields.

    Raises:
        InvalidArgumentError: Names or types of fields differ; the text shows both.
    """
    first = sources[0].blobs
    inputs: list[Blob] = []
    for index, source in enumerate(sources):
        blobs = source.blobs
        if set(blobs) != set(first):
            raise InvalidArgumentError(
                f"source 0 has the fields {described(sources[0])}; source {index} has "
                f"{described(source)}: choose and rename them so that they are the same"
            )
        inputs += [blobs[name] for name in first]
    refuse_stream(inputs, op)
    values = {"fields": output_names(first), "num_sources": len(sources), **attrs}
    node = Node(find_op(op), None, inputs, values)
    return dict(zip(first, node.outputs, strict=False))


def described(data: DatasetBase) -> str:
    """image: bytes, label: int64."""
    return ", ".join(f"{name}: {field.type}" for name, field in data.fields.items())


def names_of(names: str | Iterable[str]) -> list[str]:
    """One name or several as a list."""
    return [names] if isinstance(names, str) else list(names)
