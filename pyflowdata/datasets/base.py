"""The base of `Dataset`: its fields, the views that make new data sets, and the nodes that
make its batches."""

from __future__ import annotations

import operator
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import Error, InvalidArgumentError, UnsupportedError, WrongUseError, shown
from ..formats import FORMATS, Field, field_of, head_of, output_names
from ..nodes import BUILT_IN, Blob, Node, find_op
from ..nodes.file_states import FileState, refuse_changed, state_of_files
from ..nodes.node import Records, nodes_of
from ..nodes.tables import Table
from ..remote import one_opening
from ..words.plain_text import no_field


# ---- Sources that can only be read in sequence --------------------------------------------------

_compressions: weakref.WeakKeyDictionary[Node, str | None] = weakref.WeakKeyDictionary()


def _refuse_stream(blobs: Iterable[Blob], what: str) -> None:
    """Refuses fields of compressed files: a view asks for records in any order.

    Raises:
        UnsupportedError: The header of the first file says that it is compressed, and its reader
            does not decompress it into memory.
    """
    for node in _readers_of(blobs):
        if node not in _compressions:
            _compressions[node] = _compression_of(node)
        if _compressions[node]:
            raise UnsupportedError(
                f"the files are compressed ({_compressions[node]}), and can only be read in "
                f"sequence: shuffle() and batch() work, and {what} asks for records in any order; "
                "decompress or convert the files, or cache() the data set before",
                op=node.op.name,
            )


def _readers_of(blobs: Iterable[Blob]) -> Iterable[Node]:
    """The readers of the fields, but those upstream of a view, which has checked them."""
    waiting, seen = [blob.node for blob in blobs], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op.is_reader:
            yield node
        elif not node.op.is_view:
            waiting += [blob.node for blob in node.inputs]


def _compression_of(reader: Node) -> str | None:
    """The compression of the first file; None where the reader can read it in any order, or does
    not read it at all."""
    files: Any = reader.values.get("files")
    if not isinstance(files, list) or not files or not os.path.isfile(files[0]):
        return None
    if reader.values.get("compression") == "none":
        return None
    own = [one for one in FORMATS.values() if one.reader == reader.op.name]
    if not own or any(
        one.decompresses_whole or one.refuses_compressed or one.origin != BUILT_IN for one in own
    ):
        return None
    try:
        return head_of(files[0]).compression
    except Error:
        return None  # the loader says it


# ---- Names that are no fields ------------------------------------------------------------------


def left_out_of(blobs: Mapping[str, Blob]) -> dict[str, str]:
    """Texts about the columns of files and tables that are no field of a data set, by name."""
    said = {
        one.partition(", which ")[0]: one
        for node in nodes_of(blobs.values())
        for one in node.left_out
    }
    return {name: one for name, one in said.items() if name not in blobs}


def no_field_of(name: object, blobs: Mapping[str, Blob]) -> str:
    """The message that a data set has no such field, and why its column was left out, if it was."""
    return no_field(name, blobs) + reason_of(name, blobs)


def reason_of(name: object, blobs: Mapping[str, Blob]) -> str:
    """The end of a message that there is no such field: why its column was left out; "" if not."""
    said = left_out_of(blobs).get(name) if isinstance(name, str) else None
    return f"; left out: {said}" if said else ""


def explain_key(failure: Error, cause: BaseException | None, blobs: Mapping[str, Blob]) -> None:
    """Says why a record has no field that a function read, if its column was left out."""
    if isinstance(cause, KeyError) and cause.args:
        failure.message += reason_of(cause.args[0], blobs)


# ---- Fields, and new data sets ------------------------------------------------------------------

SetT = TypeVar("SetT", bound="DatasetBase")


class Shuffle(NamedTuple):
    """A random order that is not a node yet: batches take it over, any other view makes it one.

    Attributes:
        seed: None: the seed of the batches.
        kind: "auto", "global", "window" or "buffer".
        order_key: A text on which the order depends besides the seed.
        reshuffle: Whether each epoch has its own order.
        attrs: Attrs of the kind, as readers have them.
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
        self._ordered: dict[str, Blob] | None = None  # made by the first use of `blobs`

    def _seen(self) -> tuple[FileState, ...]:
        """The states of the files when records were first counted or read by number; (): not yet
        read.
        """
        return ()

    def _check_files(self) -> None:
        """Refuses files that changed since the records were counted or read by number: a view such
        as `where()` would select other records.

        Raises:
            FileError: It names the file.
        """
        if seen := self._seen():
            with one_opening(is_last=True):
                refuse_changed(seen, state_of_files(self._fields.values()))

    # ---- Fields -------------------------------------------------------------------------------

    @property
    def fields(self) -> dict[str, Field]:
        """Name, dtype and shape of each field of a record; None in a shape varies."""
        return {name: field_of(name, blob) for name, blob in self._fields.items()}

    def blob(self, name: str) -> Blob:
        """A field as a blob in batches of 1.  Ops take this blob, and their results can be fields,
        too.

        Raises:
            InvalidArgumentError: There is no such field.
        """
        if not isinstance(name, str) or name not in self._fields:
            raise InvalidArgumentError(no_field_of(name, self._fields))
        return self.blobs[name]

    @property
    def blobs(self) -> dict[str, Blob]:
        """All fields by name, each as `blob()` gives it."""
        if self._ordered is None:  # always the same blobs, so that they share one shuffle
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
        """The records of a table, chosen before the shuffle, which then shuffles only them."""
        return self._with_blobs(named_view("SelectDataset", self._fields, {"table": table}))

    def _with_blobs(self: SetT, blobs: Mapping[str, Blob]) -> SetT:
        """The same records and shuffle with other fields."""
        return type(self)(blobs, self._shuffle)


def named_view(
    op: str, blobs: Mapping[str, Blob], attrs: Mapping[str, Any], more: Sequence[str] = ()
) -> dict[str, Blob]:
    """The outputs of a view, with the names of its inputs; `more` names further outputs."""
    _refuse_stream(blobs.values(), op)
    names = [*blobs, *more]
    node = Node(find_op(op), None, list(blobs.values()), {"fields": output_names(names), **attrs})
    return dict(zip(names, node.outputs, strict=False))


def numbered(blobs: Mapping[str, Blob], name: str) -> dict[str, Blob]:
    """The fields, and the record's number in the data set as a field of this name."""
    if not isinstance(name, str) or not name or name in blobs:
        is_there = isinstance(name, str) and name in blobs
        why = "it must be a str, the name of a new field"
        why = "there is a field of this name" if is_there else why
        raise InvalidArgumentError(f"enumerate({shown(name)}): {why}")
    return named_view("EnumerateDataset", blobs, {}, [name])


def check_sources(what: str, sources: Iterable[object]) -> None:
    """Refuses what is not a data set."""
    for source in sources:
        if not isinstance(source, DatasetBase):
            raise InvalidArgumentError(f"{what}({shown(source)}): give data sets, one or several")


def several_view(
    op: str, sources: Sequence[Mapping[str, Blob]], attrs: Mapping[str, Any],
    names: Sequence[str] = (),
) -> dict[str, Blob]:
    """The outputs of a view of the blobs of several sources, which must have the same fields.
    Messages have the `names` of sources, if they are given.

    Raises:
        InvalidArgumentError: Names or types of fields differ; the text shows both.
    """
    first = sources[0]
    inputs: list[Blob] = []
    for index, blobs in enumerate(sources):
        if blobs.keys() != first.keys():
            one, other = (shown(names[at]) if names else str(at) for at in (0, index))
            raise InvalidArgumentError(
                f"source {one} has the fields {_described(first)}; source {other} has "
                f"{_described(blobs)}: choose and rename them so that they are the same"
            )
        inputs += [blobs[name] for name in first]
    _refuse_stream(inputs, op)
    values = {"fields": output_names(first), "num_sources": len(sources), **attrs}
    node = Node(find_op(op), None, inputs, values)
    return dict(zip(first, node.outputs, strict=False))


def _described(blobs: Mapping[str, Blob]) -> str:
    """image: bytes, label: int64."""
    return ", ".join(f"{name}: {field_of(name, blob).type}" for name, blob in blobs.items())


# ---- Arguments ----------------------------------------------------------------------------------


def is_several(given: object) -> bool:
    """Whether an argument is a list or another iterable of values.  A text, an array without a
    dimension and a data set are single values.
    """
    is_one = isinstance(given, (str, bytes, DatasetBase)) or getattr(given, "shape", None) == ()
    return isinstance(given, Iterable) and not is_one


def names_of(names: str | Iterable[str], what: str) -> list[str]:
    """The names of an argument, one or several; `what`: the argument.

    Raises:
        WrongUseError: It is neither a text nor an iterable of texts.
    """
    if isinstance(names, str):
        return [names]
    found = list(names) if is_several(names) else []
    if not is_several(names) or not all(isinstance(one, str) for one in found):
        raise WrongUseError(
            f"{what} = {shown(names)}; it must be the name of a field, or a list of names",
            attr=what,
        )
    return found


def whole(given: object, what: str, least: int | None = None) -> int:
    """The whole number of an argument; `what`: the argument.

    Raises:
        WrongUseError: It is no whole number.
        InvalidArgumentError: It is below `least`.
    """
    limit = "" if least is None else f"{least} or more"
    try:
        found = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        said = f"{what} = {shown(given)}; it must be a whole number{limit and ', '}{limit}"
        raise WrongUseError(said, attr=what) from None
    if least is not None and found < least:
        raise InvalidArgumentError(f"{what} = {shown(given)}; it must be {limit}", attr=what)
    return int(found)


def wholes(given: Any, what: str, least: int | None = None) -> list[int]:
    """The whole numbers of an argument that is a list or an array, as `whole()`."""
    if not is_several(given):
        raise WrongUseError(
            f"{what} = {shown(given)}; it must be a list of whole numbers", attr=what
        )
    return [whole(one, f"{what}[{i}]", least) for i, one in enumerate(given)]


def truth(given: object, what: str) -> bool:
    """The truth of an argument; `what`: the argument.

    Raises:
        WrongUseError: It is neither True nor False; an array of truths is not one.
    """
    if not isinstance(given, (int, np.bool_, np.integer)):
        raise WrongUseError(f"{what} = {shown(given)}; it must be True or False", attr=what)
    return bool(given)


# ---- The nodes of batches -----------------------------------------------------------------------

# Arguments of batches in other libraries, and in readers -> what a data set takes instead.
_OTHER_WORDS = {
    "drop_last": 'say last="drop"',
    "drop_remainder": 'say last="drop"',
    "last_batch": "it is called last",
    "num_workers": "a DataLoader has num_threads",
    "pad": "flow.PadBatch(batch[name]) pads the rows of a field",
}


def check_attrs(attrs: Iterable[str]) -> None:
    """Refuses attrs that have another name in data sets than in readers or in other libraries.

    Raises:
        InvalidArgumentError: There is one; the message has its name in data sets.
    """
    for name in attrs:
        here = _OTHER_WORDS.get(name, "")
        if "shuffle" in name or name == "order_key":
            here = "shuffle the data set, data.shuffle().batch(n)"
        if here:
            raise InvalidArgumentError(f"batch({name}=...): {here}", attr=name)


def batch_node(
    blobs: Mapping[str, Blob],
    data: DatasetBase,
    attrs: Mapping[str, Any],
    op: str = "BatchDataset",
    name: str | None = None,
) -> Node:
    shuffle = data._shuffle
    if shuffle is not None and _has_other_seed(shuffle, attrs):
        if op != "BatchDataset" or shuffle.kind not in ("auto", "global"):
            raise InvalidArgumentError(
                f"shuffle() has the seed {shown(shuffle.seed)}, and the batches have "
                f"{shown(attrs['seed'])}; here both are the same seed: give one of them"
            )
        ordered = data.blobs
        blobs, shuffle = {field: ordered[field] for field in blobs}, None
    given: dict[str, Any] = {"fields": output_names(blobs), **attrs}
    if shuffle is not None:
        given |= {"random_shuffle": True, "shuffle": shuffle.kind, "order_key": shuffle.order_key,
                  "shuffle_after_epoch": shuffle.reshuffle, **shuffle.attrs}  # fmt: skip
        if shuffle.seed is not None and "seed" not in given:
            given["seed"] = shuffle.seed
    node = Node(find_op(op), name, list(blobs.values()), given)
    node.seen = data._seen()
    return node


def _has_other_seed(shuffle: Shuffle, attrs: Mapping[str, Any]) -> bool:
    seed = attrs.get("seed")
    if seed is None or is_several(seed) or shuffle.seed is None:
        return False  # the node refuses a seed that is no number
    return seed not in (shuffle.seed, -1)


def node_alone(blobs: Iterable[Blob], batch_size: int, seed: int = 0, **attrs: Any) -> Node:
    """The node of batches that the library itself reads: one rank, in order, with a seed."""
    inputs = list(blobs)
    names = [f"field{place}" for place in range(len(inputs))]  # no field of the user is "id"
    given = {"fields": names, "batch_size": batch_size, "rank": 0, "world_size": 1, "seed": seed}
    return Node(find_op("BatchDataset"), None, inputs, {**given, **attrs})
