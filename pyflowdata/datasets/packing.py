"""Records of different lengths: packed into rows of one length, or in batches of similar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..formats import output_names
from ..nodes import Node, find_op
from .base import DatasetBase, SetT, names_of
from .batches import Batches, batches_of
from .batching import batch_node, check_attrs
from .lengths import lengths_table

_DESCRIPTIONS = ("segment_ids", "position_ids", "loss_mask", "cu_seqlens", "max_seqlen")
_MOST_ROWS = 4096


class Packing(DatasetBase):
    """The methods of `Dataset` for records of different lengths, such as tokens of documents."""

    def pack(
        self: SetT,
        length: int,
        *,
        field: str | Sequence[str],
        rule: str = "best_fit",
        longer: str = "split",
        last: str = "pad",
        padding: float | Mapping[str, float] = 0,
        add: str | Sequence[str] = _DESCRIPTIONS,
        window: int | None = None,
        lengths: npt.ArrayLike | None = None,
    ) -> SetT:
        """Rows of exactly `length` tokens, each made of several records.

        Which record goes where is decided once, from the lengths, so the packs have a `len()`, and
        `shuffle()` after `pack()` shuffles packs.

        Args:
            length: Tokens of a pack.
            field: The tokens; or several fields with a value for each token, such as labels, which
                are packed alongside.  Other fields are left out.
            rule: "best_fit": each record goes whole into the pack that it fills best, among the
                records of a window.  "chunk": the records one after another, cut at every `length`.
            longer: With "best_fit", what becomes of records longer than a pack: "split" into full
                packs and a rest, "truncate", "drop" or "raise".
            last: With "chunk", what becomes of a last pack that is not full: "pad" or "drop".
            padding: The value after the last record of a pack, of all fields or by field.
            add: Fields that tell the records of a pack apart: segment_ids (1, 2 ..., and 0 for
                padding), position_ids (from 0 in each segment), loss_mask (False for padding),
                cu_seqlens (where segments begin, then `length`; padding is a segment of its own)
                and max_seqlen (the longest segment); "NAME=segment_ids" gives it another name.
            window: With "best_fit", how many consecutive records are packed among each other;
                None: so many as fill several hundred packs.
            lengths: Of all records, if they are known; None: one pass over the records counts
                them, when a loader first needs them, and they are kept like an index.

        Raises:
            InvalidArgumentError: An argument is wrong, or the records are shuffled.
        """
        if self._shuffle is not None:
            raise InvalidArgumentError(
                "the records are shuffled, and packs are made in one order: shuffle the packs, "
                "data.pack(...).shuffle(...)"
            )
        if window is not None and window < 1:
            raise InvalidArgumentError(
                f"window = {shown(window)}; it must be 1 or more", attr="window"
            )
        names, added = names_of(field), names_of(add)
        inputs = [self.blob(name) for name in names]
        values = {
            "fields": [*output_names(names), *added], "length": length, "rule": rule,
            "longer": longer, "last": last, "window": window or 0,
            "padding": _padding_of(padding, names),
            "lengths": lengths_table(self, names[0], lengths),
        }  # fmt: skip
        node = Node(find_op("PackDataset"), None, inputs, values)
        named = [*names, *(one.partition("=")[0] for one in added)]
        return type(self)(dict(zip(named, node.outputs, strict=True)))

    def batch_by_tokens(
        self,
        max_tokens: int,
        *,
        field: str,
        most_rows: int = _MOST_ROWS,
        multiple_of: int = 1,
        boundaries: Sequence[int] = (),
        lengths: npt.ArrayLike | None = None,
        last: str = "short",
        seed: int | None = None,
        name: str | None = None,
        **attrs: Any,
    ) -> Batches:
        """Batches of records of similar lengths with at most `max_tokens` after padding.

        Each epoch of `data.shuffle()` has every record once, in batches that are drawn again; of
        data without a shuffle the longest come first.  How many batches there are does not change.

        Args:
            max_tokens: Rows of a batch, of all ranks together, times the longest in its bucket.
            field: Whose rows are counted; `PadBatch` pads them.
            most_rows: Of a batch, of all ranks together, where records are so short that max_tokens
                would let in more.
            multiple_of: Batches have a multiple of this many rows, such as the number of ranks,
                except where records are few.
            boundaries: Lengths that part the buckets, ascending; left out, they are chosen so that
                little is padded.
            lengths: As `pack()` takes them.
            last: "short"; or "drop": leaves out records so that the batches of a bucket have the
                same size, other ones in each epoch.
            seed: As `batch()` takes it.
            name: Of the node.
            **attrs: Of every reader, as `batch()` takes them.

        Raises:
            InvalidArgumentError: An argument is wrong; when a loader opens, max_tokens is less than
                the longest record needs.
        """
        if max_tokens == 0:
            raise InvalidArgumentError("max_tokens = 0; it must be 1 or more")
        check_attrs(attrs)
        if "batch_size" in attrs:
            raise InvalidArgumentError("batch_by_tokens: give most_rows", attr="batch_size")
        own = {"max_tokens": max_tokens, "batch_size": most_rows, "multiple_of": multiple_of,
               "boundaries": list(boundaries)}  # fmt: skip
        return _by_length(self, field, lengths, last, seed, name, {**own, **attrs})

    def batch_by_length(
        self,
        batch_size: int | None = None,
        *,
        field: str,
        boundaries: Sequence[int] = (),
        batch_sizes: Sequence[int] = (),
        lengths: npt.ArrayLike | None = None,
        last: str = "short",
        seed: int | None = None,
        name: str | None = None,
        **attrs: Any,
    ) -> Batches:
        """Batches of records of similar lengths, so that `PadBatch` pads little.

        Args:
            batch_size: Rows of a batch, of all ranks together.
            field: Whose rows are counted.
            boundaries: Lengths that part the buckets, ascending; left out, they are chosen so that
                little is padded.
            batch_sizes: In place of batch_size one for each bucket, so one more than boundaries.
            last: "short"; or "drop": short batches of each bucket are left out, with other records
                in each epoch.
            lengths, seed, name, **attrs: As `batch_by_tokens()` takes them; so are shuffles.

        Raises:
            InvalidArgumentError: An argument is wrong.
        """
        check_attrs(attrs)
        if (batch_size is None) != bool(batch_sizes):
            raise InvalidArgumentError(
                f"batch_size = {shown(batch_size)}, batch_sizes = {shown(batch_sizes)}; give one "
                "of the two"
            )
        most = max(batch_sizes) if batch_size is None else batch_size
        own = {"batch_size": most, "batch_sizes": list(batch_sizes), "boundaries": list(boundaries)}
        return _by_length(self, field, lengths, last, seed, name, {**own, **attrs})


def _padding_of(padding: float | Mapping[str, float], names: Sequence[str]) -> list[float]:
    if not isinstance(padding, Mapping):
        return [padding] if padding else []
    for name in padding:
        if name not in names:
            raise InvalidArgumentError(
                f"padding names field {shown(name)}, which is not packed; {', '.join(names)} are"
            )
    return [padding.get(name, 0) for name in names]


def _by_length(
    data: DatasetBase,
    field: str,
    lengths: npt.ArrayLike | None,
    last: str,
    seed: int | None,
    name: str | None,
    attrs: Mapping[str, Any],
) -> Batches:
    table = lengths_table(data, field, lengths)
    given = {**attrs, "last_batch": last, "lengths": table}
    if seed is not None:
        given["seed"] = seed
    node = batch_node(data._fields, data, given, "BucketDataset", name)
    return batches_of(node, data._fields)
