"""Views that only choose records and their order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, WrongUseError, shown
from ..native.calling_line import warn_program_once
from ..nodes import Blob
from ..nodes.argument_hints import says_how
from ..nodes.attr_words import ORDER_KEY
from ..nodes.op_facts import Op
from ..nodes.op_functions import signature
from ..nodes.op_texts import attr_doc, ordered_attrs
from ..nodes.world import world
from ..nodes.tables import SupportsArray, Table, array_of
from ..words.remedies import did_you_mean
from .base import (
    DatasetBase,
    SetT,
    Shuffle,
    batch_node,
    check_sources,
    named_view,
    numbered,
    several_view,
    truth,
    whole,
)
from .columns import (
    What,
    bitmap_of,
    column,
    order_of,
    refuse_changing_order,
    whole_of,
    words_of,
)
from .mixing import Changes, Repeats, Weights, mix
from .reading import Reading


_KINDS = ("auto", "global", "window", "buffer")  # of shuffle()

# ---- Some of the records ------------------------------------------------------------------------

Array = npt.NDArray[Any]
OwnT = TypeVar("OwnT", bound="Selecting")


class Selecting(Reading):
    """The methods of `Dataset` that select records."""

    def where(
        self: OwnT, predicate: What | Sequence[bool] | Array | SupportsArray
    ) -> OwnT:
        """The records for which a predicate is true, in their order.  The predicate is evaluated
        once, over all records, when the length or a record is first needed; the result is stored in
        the cache of indexes.

        Args:
            predicate: An expression such as "label != 3 and len(text) > 10"; a function of arrays,
                whose parameters are fields, as `lambda label: label != 3`; a function of the
                record, whose one parameter has another name, as `lambda r: r["label"] != 3`; or a
                blob of bools that ops compute from fields, as `flow.MyOp(data["image"])`.  Or one
                bool for each record, as an array, a tensor or a list.

        Raises:
            InvalidArgumentError: The predicate is not an expression, names a field that does not
                exist, or does not give bools.
        """
        if isinstance(predicate, (str, Blob)) or callable(predicate):
            return self._selected(bitmap_of(self, predicate))
        refuse_changing_order(self)
        truths = np.array(array_of(predicate, "where()"))
        if truths.ndim != 1 or (truths.dtype != np.bool_ and truths.size):
            raise InvalidArgumentError(
                f"where({shown(predicate)}): give an expression, a function of fields, a blob, or "
                "one truth (bool) for each record; select() takes numbers of records"
            )
        said, key = f"where({truths.size:,} truths)", ("where", truths.tobytes())
        return self._selected(Table(lambda: self._flagged(truths), said=said, key=key))

    def sort(self: OwnT, by: What | Sequence[What], *, reverse: bool = False) -> OwnT:
        """The records sorted by a value; records with the same value keep their order.

            data.sort("len(text)", reverse=True)
            data.sort(["user", "day"])    # by user, for each by day; sort("day").sort("user") too

        The order is computed once, over all records, and stored like the result of `where()`.  NaN
        comes last.  A shuffle before `sort()` has no effect on it.

        Args:
            by: A field, an expression or a function, as in `where()`, with a number, a bool or a
                text for each record.  Or a list of these: the first one decides, and each later one
                decides among records that are equal in those before it.
            reverse: Whether the largest value comes first.

        Raises:
            InvalidArgumentError: There is no such field, or it has no number, bool or text for each
                record.
        """
        reverse = truth(reverse, "reverse")
        if isinstance(by, Sequence) and not isinstance(by, str):
            if not by:
                raise InvalidArgumentError(f"sort({shown(by)}): give at least one value")
            found = self
            for one in reversed(by):
                found = found.sort(one, reverse=reverse)
            return found
        table = order_of(self, by, reverse)
        return type(self)(named_view("SelectDataset", self._fields, {"table": table}))

    def filter(
        self: OwnT, predicate: What | Sequence[bool] | Array | SupportsArray, **unknown: Any
    ) -> OwnT:
        """The same as `where(predicate)`, under the name that other libraries use.

        Raises:
            WrongUseError: An argument of another library, such as `batched`, was given.
            InvalidArgumentError: As `where()`.
        """
        for one in unknown:
            raise WrongUseError(
                f"filter() has no argument {shown(one)}: a function whose parameters are fields "
                "gets columns of many records, as lambda label: label > 3, and enumerate() before "
                'it makes a field of numbers, as data.enumerate().filter("index > 3")'
            )
        return self.where(predicate)

    def skip_damaged(self: OwnT, *, max_skipped: float = 0.01) -> OwnT:
        """The records that are not damaged in any field, in their order.

        A method that reads all records first, such as `where()`, `sort()`, `split()`, `group_by()`
        or `Statistics.fit()`, fails at a damaged record, since the record has no value; after
        `skip_damaged()` there are no damaged records.  `on_error` of batches leaves out records
        only later, when batches are made.  All fields of all records are read once, when the length
        or a record is first needed; the result is stored like the result of `where()`.  A warning
        lists the records that are left out, and the reasons.

        Args:
            max_skipped: How many records may be left out, as in the attr of every reader: a float
                is a share, which always permits 10 records; an int is a number of records; -1: no
                limit.

        Raises:
            InvalidArgumentError: `max_skipped` is wrong; the records are drawn in each epoch, or
                random ops compute them.
            CorruptDataError: Raised when records are counted: more records are damaged than
                `max_skipped` permits.
        """
        refuse_changing_order(self, "use skip_damaged() before it")
        return self._selected(whole_of(self, max_skipped))

    def column(self, what: What) -> Array:
        """A value for each record, from a field, an expression or a function, as in `where()`.  The
        values are computed once and stored in the cache of indexes; the array is mapped from there.

            np.bincount(data.column("label"))

        Texts come as an array of bytes of one length, as NumPy has them; or as an array of bytes
        objects, if a text ends with NUL, which NumPy would cut off, or if padding would take more
        than 8 times the memory of the texts, as one long text makes it.

        Raises:
            InvalidArgumentError: There is no such field, or it has no value for each record.
        """
        return column(self, what)

    def select(self: OwnT, rows: Iterable[int] | Iterable[bool] | Array | SupportsArray) -> OwnT:
        """The records with these numbers, in this order; or those where `rows` is True.

        Args:
            rows: Numbers of records, in any order, perhaps repeated; negative numbers count from
                the end.  Or one bool for each record.  A list, an array, a tensor, or an iterator,
                which is read to its end.

        Raises:
            InvalidArgumentError: They are neither.
        """
        if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], str):
            raise WrongUseError(
                f"select({shown(rows)}): select() chooses records; project({shown(rows)}) chooses "
                f"fields"
            )
        given = np.array(array_of(rows, "select()"))
        given = given.astype(np.int64) if given.size == 0 else given
        if given.ndim != 1 or given.dtype.kind not in "biu":
            raise InvalidArgumentError(
                f"select({shown(rows)}): give a list of numbers, or of one truth for each record"
            )
        if given.dtype != np.bool_:
            if given.dtype == np.uint64 and bool(np.any(given >> np.uint64(63))):
                raise InvalidArgumentError("select(): a number is above all records")
            given = given.astype(np.int64)
        find = self._flagged if given.dtype == np.bool_ else self._numbered
        said = f"select({'truths' if given.dtype == np.bool_ else f'{given.size:,} numbers'})"
        key = (given.dtype.str, given.tobytes())
        return self._view("SelectDataset", table=Table(lambda: find(given), said=said, key=key))

    def _flagged(self, truths: Array) -> Array:
        if len(truths) != len(self):
            raise InvalidArgumentError(
                f"there are {len(truths)} truths, and {len(self)} records"
            )
        return words_of(truths)

    def _numbered(self, numbers: Array) -> Array:
        if not np.any(numbers < 0):
            return numbers  # the view compares them with the records
        size = len(self)
        wrong = np.flatnonzero((numbers < -size) | (numbers >= size))
        if wrong.size:
            raise InvalidArgumentError(
                f"select(): number {numbers[wrong[0]]} (element {wrong[0]}) is not in "
                f"[-{size}, {size}), the records of the data set"
            )
        return np.where(numbers < 0, numbers + size, numbers)


# ---- Views of all records -----------------------------------------------------------------------

_FAR = 2**63 - 1  # beyond all records
_MOST_PARTS = 64  # of a concat that is taken apart
_MOST_INPUTS = 4096  # of a node


def _parts_of(blobs: Mapping[str, Blob]) -> list[Mapping[str, Blob]]:
    """The sources of a concat, in place of the fields of the concat; or the given fields.  A concat
    of many sources stays one source, so that a loop that adds one data set after another makes a
    tree of few levels in linear time.
    """
    node = next(iter(blobs.values())).node
    fields, count = len(node.outputs), len(node.inputs) // len(node.outputs)
    is_concat = node.op.name == "ConcatDataset" and not node.name and count < _MOST_PARTS
    if not is_concat or any(blob.node is not node for blob in blobs.values()):
        return [blobs]
    return [
        {name: node.inputs[source * fields + blob.index] for name, blob in blobs.items()}
        for source in range(count)
    ]


class Views(DatasetBase):
    """The methods of `Dataset` for the views that every library has."""

    def take(self: SetT, count: int) -> SetT:
        """The first `count` records, or all records if there are fewer."""
        return self._view("TakeDataset", count=count)

    def skip(self: SetT, count: int) -> SetT:
        """All records but the first `count`."""
        return self._view("SkipDataset", count=count)

    def slice(
        self: SetT, begin: int | None, end: int | None = None, step: int | None = None
    ) -> SetT:
        """The records at the places of a slice of a list; `data[begin:end:step]` is the same."""
        step = 1 if step is None else whole(step, "step")
        first, last = (0, _FAR) if step > 0 else (_FAR, -_FAR)
        return self._view("SliceDataset", begin=first if begin is None else begin,
                         end=last if end is None else end, step=step)  # fmt: skip

    def repeat(self: SetT, times: int | None = None) -> SetT:
        """The records, repeated `times` times.  Each repeat has its own shuffle, and random ops
        draw other numbers in each repeat.  Without `times` there is no end: the data set and its
        loaders have no `len()`, a loop over them stops by `break`, and everything is one epoch.
        """
        return self._view("RepeatDataset", times=-1 if times is None else times)

    def shard(self: SetT, count: int, index: int) -> SetT:
        """Every count-th record, from record `index` on: `data[index::count]`.  Ranks need no
        shards, since each rank gets its part of every batch.  If there are `count` ranks, one
        warning says so.
        """
        if type(count) is not int or type(index) is not int or not 0 <= index < count:
            raise InvalidArgumentError(
                f"shard({shown(count)}, {shown(index)}): give the number of shards, and the number "
                f"of one of them, from 0"
            )
        if 1 < count == world().world_size:
            warn_program_once(
                ("shard", count),
                UserWarning(
                    f"shard({count}, {index}): each of the {count} ranks gets its part of every "
                    f"batch already, so shards divide the records a second time: leave shard() "
                    f"out, or call batch(..., rank=0, world_size=1)"
                ),
            )
        return self._view("SliceDataset", begin=index, end=_FAR, step=count)

    def enumerate(self: SetT, name: str = "index") -> SetT:
        """The records with one more field: the number of the record in this data set, int64, from
        0.
        """
        return type(self)(numbered(self.blobs, name))

    def concat(self: SetT, *others: DatasetBase) -> SetT:
        """The records of this data set, then those of others with the same fields.

        The files may be of different formats.

        Raises:
            InvalidArgumentError: The fields differ; the text shows both.
        """
        check_sources("concat", others)
        if not others:
            return self
        sources = [*_parts_of(self.blobs), *(other.blobs for other in others)]
        most = max(2, _MOST_INPUTS // len(self._fields))
        while len(sources) > most:
            sources = [several_view("ConcatDataset", sources[at : at + most], {})
                       for at in range(0, len(sources), most)]  # fmt: skip
        return type(self)(several_view("ConcatDataset", sources, {}))

    def mix(
        self: SetT,
        *others: SetT,
        weights: Weights | Changes | None = None,
        stop: str | None = None,
        length: int | None = None,
        max_repeats: Repeats | None = None,
        unit: str = "records",
        field: str | None = None,
        mean_lengths: Weights | None = None,
        interleave: str = "regular",
        block_size: int | None = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> SetT:
        """This data set and others with the same fields, drawn by weights; the arguments are those
        of `flow.mix`.
        """
        return mix(
            [self, *others], weights, stop=stop, length=length, max_repeats=max_repeats,
            unit=unit, field=field, mean_lengths=mean_lengths, interleave=interleave,
            block_size=block_size, names=names, seed=seed,
        )  # fmt: skip

    def zip(self: SetT, *others: DatasetBase) -> SetT:
        """The fields of several data sets of the same length, side by side: record i has the fields
        of record i of each.

        Raises:
            InvalidArgumentError: Two of them have a field of the same name.
        """
        check_sources("zip", others)
        if not others:
            return self
        sources: list[DatasetBase] = [self, *others]
        blobs = {}
        for source in sources:
            for name, blob in source.blobs.items():
                if name in blobs:
                    raise InvalidArgumentError(
                        f"two of the data sets have a field {shown(name)}: rename() one of them"
                    )
                blobs[name] = blob
        return type(self)(named_view("ZipDataset", blobs, {}))

    @says_how(
        "it shuffles all records, without a buffer: shuffle(), or shuffle(seed=7); only a source "
        "that is read in sequence takes a buffer, shuffle(buffer_size=1000)"
    )
    def shuffle(
        self: SetT,
        *,
        kind: str = "auto",
        reshuffle: bool = True,
        block_size: int | None = None,
        window: int | None = None,
        lanes: int | None = None,
        buffer_size: int | None = None,
        order_key: str = ORDER_KEY,
        seed: int | None = None,
    ) -> SetT:
        """The records in a random order, each once in an epoch; each epoch has another order.

        Args:
            kind: "global"; or a shuffle that keeps reads together: "window", or "buffer" for data
                that is read in sequence; "auto" is "global" wherever that is possible.
            reshuffle: False: every epoch has the order of the first epoch.
            block_size, window, lanes: For kind="window", as `shuffle_block_size`,
                `shuffle_window` and `shuffle_lanes` of readers: records that are near each other in
                the files are shuffled among each other.  (`windows()` is not a shuffle.)
            buffer_size: The size of the buffer in records, for data that is read in sequence and
                for kind="buffer"; other kinds have no buffer.
            order_key: A text on which the order depends besides the seed.
            seed: None: the seed of the batches, which is drawn if none is given.
        """
        if not isinstance(kind, str) or kind not in _KINDS:
            raise InvalidArgumentError(
                f"kind = {shown(kind)}; the kinds are {', '.join(map(repr, _KINDS))}"
                f"{did_you_mean(str(kind), _KINDS)}",
                op="shuffle", attr="kind",
            )  # fmt: skip
        given = {"shuffle_block_size": block_size, "shuffle_window": window,
                 "shuffle_lanes": lanes, "shuffle_buffer_size": buffer_size}  # fmt: skip
        attrs = {name: value for name, value in given.items() if value is not None}
        seed = None if seed is None else whole(seed, "seed")
        made = type(self)(self.blobs, Shuffle(seed, kind, order_key, reshuffle, attrs))
        rows = lanes if isinstance(lanes, int) and lanes > 0 else 1  # a batch has all lanes
        one_rank = {"batch_size": rows, "rank": 0, "world_size": 1}
        batch_node(made._fields, made, one_rank)  # checks seed, kind and so on
        return made


def method_of(op: Op) -> Callable[..., DatasetBase]:
    """The method for a view of one data set, made from its op: the arguments are the attrs of the
    op.
    """
    attrs = [attr for attr in ordered_attrs(op) if attr.name != op.outputs_attr]
    found = signature(op).parameters
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    of_method = inspect.Signature([first, *(found[attr.name].replace(kind=kind) for attr in attrs)])

    def method(self: DatasetBase, *args: Any, **kwargs: Any) -> DatasetBase:
        given = of_method.bind(self, *args, **kwargs).arguments
        del given["self"]
        return self._view(op.name, **given)

    method.__name__, method.__qualname__ = op.method, f"Dataset.{op.method}"
    method.__doc__ = "\n\n".join([op.doc, *(attr_doc(attr) for attr in attrs)])
    method.__signature__ = of_method  # type: ignore[attr-defined]
    return method
