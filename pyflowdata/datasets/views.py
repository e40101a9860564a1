"""Views that only say which records there are, and in which order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..nodes.attr_words import ORDER_KEY
from ..nodes.op_facts import Op
from ..nodes.op_functions import signature
from ..nodes.op_texts import attr_doc, ordered_attrs
from ..nodes.argument_hints import takes_names_only
from .base import DatasetBase, SetT, Shuffle, check_sources, named_view, several_view
from .batching import batch_node
from .mixing import Changes, Weights, mix

_FAR = 2**63 - 1  # beyond all records


class Views(DatasetBase):
    """The methods of `Dataset` for views of a kind that every library has."""

    def take(self: SetT, count: int) -> SetT:
        """The first `count` records; all where there are fewer."""
        return self._view("TakeDataset", count=count)

    def skip(self: SetT, count: int) -> SetT:
        """All records but the first `count`."""
        return self._view("SkipDataset", count=count)

    def slice(
        self: SetT, begin: int | None, end: int | None = None, step: int | None = None
    ) -> SetT:
        """The records that a slice of a list would have; `data[begin:end:step]` is the same."""
        step = 1 if step is None else step
        first, last = (0, _FAR) if step > 0 else (_FAR, -_FAR)
        return self._view("SliceDataset", begin=first if begin is None else begin,
                         end=last if end is None else end, step=step)  # fmt: skip

    def repeat(self: SetT, times: int) -> SetT:
        """The records `times` times; what shuffles them does so in each repeat in its own way, and
        random ops treat each repeat of a record in their own way."""
        return self._view("RepeatDataset", times=times)

    def concat(self: SetT, *others: DatasetBase) -> SetT:
        """The records of this data set, then those of others with the same fields.

        The files may be of different formats.

        Raises:
            InvalidArgumentError: The fields differ; the text shows both.
        """
        check_sources("concat", others)
        return type(self)(several_view("ConcatDataset", [self, *others], {})) if others else self

    def mix(
        self: SetT,
        *others: SetT,
        weights: Weights | Changes | None = None,
        stop: str | None = None,
        length: int | None = None,
        unit: str = "records",
        field: str | None = None,
        mean_lengths: Weights | None = None,
        interleave: str = "regular",
        block_size: int | None = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> SetT:
        """This data set and others with the same fields, drawn by weights: `flow.mix` of a list,
        with its arguments."""
        return mix(
            [self, *others], weights, stop=stop, length=length, unit=unit, field=field,
            mean_lengths=mean_lengths, interleave=interleave, block_size=block_size, names=names,
            seed=seed,
        )  # fmt: skip

    def zip(self: SetT, *others: DatasetBase) -> SetT:
        """The fields of data sets of the same length side by side: record i of each.

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

    @takes_names_only("it shuffles all records, without a buffer: shuffle(), or shuffle(seed=7)")
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
        """The records in a random order, each once, and another one in each epoch.

        Args:
            kind: "global", or how the shuffle of batches keeps reads together: "window", and
                "buffer" for data that is read in sequence; "auto" is "global" where it can be.
            reshuffle: False: every epoch has the order of the first one.
            block_size, window, lanes: Of kind="window", as `shuffle_block_size`,
                `shuffle_window` and `shuffle_lanes` of readers.
            buffer_size: Of kind="buffer", in records.
            order_key: A text on which the order depends besides the seed.
            seed: None: the seed of the batches, which is drawn where there is none.
        """
        given = {"shuffle_block_size": block_size, "shuffle_window": window,
                 "shuffle_lanes": lanes, "shuffle_buffer_size": buffer_size}  # fmt: skip
        attrs = {name: value for name, value in given.items() if value is not None}
        made = type(self)(self.blobs, Shuffle(seed, kind, order_key, reshuffle, attrs))
        rows = lanes if isinstance(lanes, int) and lanes > 0 else 1  # of a batch that has all lanes
        one_rank = {"batch_size": rows, "rank": 0, "world_size": 1}
        batch_node(made._fields, made, one_rank)  # checks seed, kind and so on
        return made


def method_of(op: Op) -> Callable[..., DatasetBase]:
    """The method for a view of one data set, made of its op: its arguments are the op's attrs."""
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
