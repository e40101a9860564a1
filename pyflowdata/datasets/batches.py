"""Batches of a data set: their blobs, the lengths of rows, packs of several records, and batches of
similar lengths."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, WrongUseError, shown
from ..formats import array_blob, lengths_of, output_names
from ..native.calling_line import warn_program_once
from ..nodes import Blob, Node, find_op
from ..nodes.argument_hints import ARGUMENTS
from ..nodes.name_hints import NAMES
from ..nodes.file_states import state_of_files
from ..nodes.node import in_order, rebuilt
from ..nodes.registry import HOST_OUTPUTS
from ..nodes.tables import Table, array_of
from ..words import remedies
from ..words.remedies import did_you_mean, similar
from .base import (
    DatasetBase,
    SetT,
    batch_node,
    check_attrs,
    is_several,
    names_of,
    no_field_of,
    whole,
    wholes,
)
from .columns import Computation, drawing_view, empty_of, evaluate, has_no_seed, only_column
from .fingerprints import of_blobs
from .mapping import Maps, Outputs, SampleBatch, chosen, computed


# ---- Methods that are not there -----------------------------------------------------------------

# The message for a method of another library names the method of data sets that does the same.

_PADDED = "PadBatch(data.batch(n)[field])"
_BY_LENGTH = "batch_by_length(field=...)"
_CAST = 'map(flow.Cast, name, dtype="int32")'
_LOOP = "for record in data; batches are in flow.DataLoader(data.batch(n))"
_WRITTEN = (
    'write("data.parquet"), whose name says the format; cache(folder) keeps what this program reads'
)
_STATE = "a DataLoader of its batches has state_dict() and load_state_dict()"
_ARRAYS = f"nothing: loaders give arrays of NumPy; {remedies.DEVICE}"
_RAGGED = "batch(n): rows that differ in size come as a Ragged"

# Names of PyTorch, tf.data, MindData, Hugging Face, Grain and pandas -> the name in data sets.
_METHODS = {
    **dict.fromkeys(("add_column", "assign"), "zip(flow.from_arrays({name: array}))"),
    "apply": "function(data)",
    **dict.fromkeys(("as_numpy_iterator", "create_dict_iterator", "create_tuple_iterator", "iter",
                     "iterrows", "itertuples", "to_iter_dataset", "to_iterable_dataset",
                     "to_list"), _LOOP),
    **dict.fromkeys(("batch_and_pad", "padded_batch"), _PADDED),
    **dict.fromkeys(("batch_map", "map_batches"), "batch(n).map(function)"),
    **dict.fromkeys(("bucket", "bucket_batch_by_length", "bucket_by_sequence_length",
                     "group_by_length"), _BY_LENGTH),
    **dict.fromkeys(("cardinality", "get_dataset_size", "num_rows"), "len(data)"),
    **dict.fromkeys(("cast", "cast_column", "class_encode_column"), _CAST),
    **dict.fromkeys(("column_names", "columns", "element_spec", "features", "get_col_names",
                     "info", "items", "keys", "output_shapes", "output_types", "schema"),
                    "fields"),
    **dict.fromkeys(("concatenate", "concatenate_datasets"), "concat(other)"),
    **dict.fromkeys(("dense_to_ragged_batch", "ragged_batch", "sparse_batch"), _RAGGED),
    **dict.fromkeys(("formatted_as", "reset_format", "set_format", "to_device", "with_format"),
                    _ARRAYS),
    **dict.fromkeys(("get_state", "load_state_dict", "set_state", "state_dict"), _STATE),
    **dict.fromkeys(("group_by_window", "groupby"), "group_by(key)"),
    **dict.fromkeys(("ignore_errors", "skip_errors"),
                    'skip_damaged(); of batches alone, batch(n, on_error="skip")'),
    **dict.fromkeys(("iloc", "loc"), "select(numbers), data[10:20] or data[i]"),
    **dict.fromkeys(("interleave", "interleave_datasets", "select_from_datasets"), remedies.MIX),
    "map_with_index": "map(function, with_index=True)",
    "mp_prefetch": "nothing: threads of a DataLoader make batches ahead",
    "query": "where(predicate)",
    **dict.fromkeys(("random_split", "train_test_split"), remedies.SPLIT),
    "rejection_resample": "balance(name)",
    "remove_columns": "drop(name)",
    **dict.fromkeys(("rename_column", "rename_columns"), "rename({old: new})"),
    **dict.fromkeys(("dedup", "deduplicate", "dropDuplicates", "drop_duplicates"),
                    "distinct(name)"),
    **dict.fromkeys(("export", "save", "save_to_disk", "snapshot", "to_csv", "to_json",
                     "to_parquet", "write_csv", "write_json", "write_parquet"), _WRITTEN),
    "select_columns": "project(name)",
    "set_epoch": "nothing: a DataLoader counts its epochs; data.shuffle() orders each differently; "
    "loader.seek(0, epoch=n) goes to another",
    **dict.fromkeys(("set_transform", "with_transform"),
                    "map(function), which is called when a record is read"),
    "sort_values": "sort(name)",
    "split_dataset_by_node": "nothing: each rank gets its part of every batch",
    "to_dict": "to_numpy()",
    "to_polars": "polars.from_arrow(data.to_arrow())",
    **dict.fromkeys(("unbatch", "rebatch"), "nothing: a data set has no batches yet"),
    "unique": "np.unique(data.column(name)) are the values, and distinct(name) the records",
    "value_counts": "np.unique(data.column(name), return_counts=True)",
    "values": "column(name)",
    "window": "windows(length, step=...)",
}  # fmt: skip


def unknown_method(name: str, known: list[str], fields: Iterable[str]) -> str:
    """The message for an unknown method of a data set."""
    said = f"a data set has no {name!r}"
    if name in fields:
        return f"{said}: the field is data.column({name!r}), or data.batch(n)[{name!r}] in batches"
    same = _METHODS.get(name) or ARGUMENTS.get(name) or NAMES.get(name)
    if same:
        return f"{said}; the same here: {same}"
    return f"{said}{did_you_mean(name, known)}"


def _unknown_of_batches(name: str, fields: Iterable[str], of_data: bool) -> str:
    """The message for an unknown method of batches; `of_data`: data sets have it."""
    said = f"batches have no {name!r}"
    if of_data and name not in fields:
        return f"{said}: {remedies.ON_DATA}"
    field = similar(name, fields, 0.8)
    return f"{said}; its field is batch[{field!r}]" if field else said


# ---- The blobs of batches -----------------------------------------------------------------------

_OF_DATA = ("shuffle", "take", "skip", "where", "filter", "enumerate", "repeat", "concat", "zip",
            "split", "sample", "cache", "flat_map", "explode", "windows", "group_by",
            "distinct", "write")  # fmt: skip


class Batches(tuple[Blob, ...]):
    """The blobs of a data set's batches, in the order of its fields: `x, y = data.batch(64)`.

    Unpacking, `list()`, a loop and `len()` see columns, not batches: `len()` is the number of
    columns.  A loader delivers the batches, `for batch in flow.DataLoader(data.batch(64))`, and
    `len(flow.DataLoader(...))` is their number.  A blob that is used as a batch raises a
    WrongUseError, which is a TypeError and says this.

    `batches["x"]` is the blob of a field, `batches[["x", "y"]]` are the blobs of several fields,
    and `batches.blobs` has all of them by name, as a DataLoader takes them.
    """

    blobs: dict[str, Blob]

    def __new__(cls, blobs: Mapping[str, Blob]) -> Batches:
        self = super().__new__(cls, blobs.values())
        self.blobs = dict(blobs)
        return self

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> Blob: ...

    @overload
    def __getitem__(self, key: list[str] | slice, /) -> tuple[Blob, ...]: ...

    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, str):
            if key not in self.blobs:
                raise InvalidArgumentError(no_field_of(key, self.blobs))
            return self.blobs[key]
        if isinstance(key, list):
            return tuple(self[name] for name in key)
        return super().__getitem__(key)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            said = _unknown_of_batches(
                name, self.__dict__.get("blobs", ()), hasattr(Maps, name) or name in _OF_DATA
            )
            raise AttributeError(said, name=name, obj=None)

    def map(
        self,
        function: Callable[..., Any],
        *fields: str,
        outputs: Outputs | None = None,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> Batches:
        """`Dataset.map` for whole batches: a Python function gets all rows that this rank has of a
        batch, as arrays with the rows in the first dimension, or as `Ragged`s, and returns as many
        rows in the same form.
        """
        names = chosen(self.blobs, fields)
        first = SampleBatch([self.blobs[one] for one in names])
        made = computed(self.blobs, names, function, outputs, processes, name, attrs, first)
        return Batches({**self.blobs, **made})

    def __reduce__(self) -> tuple[Any, ...]:
        return Batches, (self.blobs,)


def batches_of(node: Node, fields: Mapping[str, Blob]) -> Batches:
    """The outputs of a node of batches by the names of the fields, then mask and id."""
    named = dict(zip(fields, node.outputs, strict=False))
    for blob in node.outputs:
        port = blob.name.rpartition("/")[2]
        if port in HOST_OUTPUTS:
            if port in fields:
                raise InvalidArgumentError(
                    f"with_{port}=True gives a blob '{port}', and there is a field of this name: "
                    "rename() it"
                )
            named[port] = blob
    return Batches(named)


# ---- Lengths of rows, in the order of views -----------------------------------------------------

# A view that plans by lengths, such as packs, needs the length of each row of the first epoch.  The
# lengths of the records of a source are a column, which is kept on disk.  For views that draw, such
# as a mix, the same views over a data set of lengths bring that column into the order of the rows.


def with_known_order(blobs: Mapping[str, Blob]) -> dict[str, Blob]:
    """The same fields in an order that does not depend on the seed of the batches: views that would
    take that seed get the seed 0.
    """

    def seed_of(node: Node) -> dict[str, object]:
        has_none = node.op.is_view and node.op.attr("seed") is not None and has_no_seed(node)
        return {"seed": 0} if has_none else {}

    return dict(zip(blobs, rebuilt(blobs.values(), seed_of), strict=True))


def row_lengths(blob: Blob, said: str = "") -> Table:
    """The length of each row of a field in the first epoch, computed when a loader first needs it.

    Args:
        blob: A field of a data set, as `with_known_order()` returns it.
        said: As the attribute of the table.

    Raises:
        InvalidArgumentError: The rows are made of pieces of records that a view draws.
    """
    if drawing_view([blob]) is not None:
        lengths, key, name = _lengths_in_order(blob), None, f"lengths of {blob.name}"
    else:
        lengths, key = lengths_of(blob), "blob"
        name = lengths.name
    wanted = Computation({"value": lengths}, only_column, key, name, empty_of(lengths))
    graph = of_blobs({"value": lengths_of(blob)})
    return Table(
        lambda: evaluate(wanted, wanted.blobs).astype(np.int64, copy=False),
        said=said,
        key=None if graph is None else ("lengths", graph),
        state=lambda: state_of_files([blob]),
    )


def _lengths_in_order(blob: Blob) -> Blob:
    """A field with the lengths of the rows of another one, in the same order.

    An op on a row gives the same before and after a view, so ops are moved to the sources below the
    views.
    """
    below: dict[Blob, list[Blob]] = {}
    made: dict[Blob, Blob] = {}

    def sources(one: Blob) -> list[Blob]:
        below[one] = [] if drawing_view([one]) is None else _below_view(one)
        return below[one]

    for one in in_order([blob], sources):
        if below[one]:
            made[one] = _same_view(_outputs_used(one)[0].node, [made[of] for of in below[one]])
        else:
            made[one] = array_blob(row_lengths(one), Table(np.empty(0, np.int64)), "int64", [])
    return made[blob]


def _below_view(blob: Blob) -> list[Blob]:
    """The field in each source of the view that gives it."""
    used = _outputs_used(blob)
    view = used[0].node
    divided = view.values.get("divided") or []
    assert isinstance(divided, list)
    is_joined = view.op.name in ("PackDataset", "WindowDataset")
    if is_joined or any(
        one.node is not view or one.index in divided or one.index >= len(view.inputs)
        for one in used
    ):
        raise InvalidArgumentError(
            f"the lengths of {blob.name} are not known: its rows are made of pieces, or of several "
            f"records, of what a view draws; pack or map before that view, or give lengths=array"
        )
    num_sources = int(str(view.values.get("num_sources", 1)))
    width = len(view.inputs) // num_sources
    outputs = [(view, one.index) for one in view.outputs]
    placed = (
        dict(zip(outputs, view.inputs[s * width :], strict=False)) for s in range(num_sources)
    )
    return [rebuilt([blob], others=others)[0] for others in placed]


def _same_view(view: Node, lengths: list[Blob]) -> Blob:
    """The same view of lengths."""
    if view.op.name in ("ZipDataset", "EnumerateDataset"):  # the same rows, with other fields
        return lengths[0]
    values = {**view.values, "fields": ["length"]}
    if "divided" in values:
        values["divided"] = []
    return Node(find_op(view.op.name), view.name, lengths, values).outputs[0]


def _outputs_used(blob: Blob) -> list[Blob]:
    """The outputs of views and readers that a field is computed from."""
    ops = in_order([blob], lambda one: one.node.inputs if _is_op_of_row(one.node) else ())
    return [one for one in ops if not _is_op_of_row(one.node)]


def _is_op_of_row(node: Node) -> bool:
    return not (node.op.is_view or node.op.is_reader)


# ---- Lengths of records -------------------------------------------------------------------------

Array = npt.NDArray[Any]


def _lengths_table(blob: Blob, field: str, lengths: npt.ArrayLike | None) -> Table:
    """The length of each record, computed when a loader first needs it, unless the user gave it.

    Raises:
        InvalidArgumentError: The field has no length, the array no whole numbers, or the lengths
            cannot be computed.
    """
    if lengths is not None:
        return Table(_whole_numbers(array_of(lengths, "lengths")))
    if not blob.shape[1:]:
        raise InvalidArgumentError(f"field {shown(field)} is one number, which has no length")
    return row_lengths(blob)


def _whole_numbers(lengths: Array) -> Array:
    if lengths.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"lengths is an array of {lengths.dtype}; lengths are whole numbers"
        )
    if lengths.dtype in (np.int32, np.int64):
        return lengths
    return lengths.astype(np.int32 if lengths.dtype.itemsize < 4 else np.int64)


# ---- Packs, and batches of similar lengths ------------------------------------------------------

_DESCRIPTIONS = ("segment_ids", "position_ids", "loss_mask", "cu_seqlens", "max_seqlen")
_MOST_ROWS = 4096


def _is_of_packs(blob: Blob) -> bool:
    """Whether rows are packs, which views may have put in another order."""
    below = in_order([blob], lambda one: one.node.inputs if one.node.op.is_view else ())
    return any(one.node.op.name == "PackDataset" for one in below)


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

        The lengths decide once which record goes into which pack, so the packs have a `len()`, and
        `shuffle()` after `pack()` shuffles packs.  After a view that draws, such as a mix, each
        epoch packs the records of the first epoch; `mix.repeat(3).pack(...)` packs the records of
        three epochs. If such a view has no seed, its seed is 0.  Packs cannot be packed again,
        since their padding would become tokens.

        Args:
            length: Tokens of a pack.
            field: The field with the tokens; or several fields that have a value for each token,
                such as labels, which are packed in the same way.  Other fields are left out.
            rule: "best_fit": among the records of a window, each record goes whole into the pack
                that it fills best.  "chunk": the records stand one after another, and are cut at
                every `length` tokens.
            longer: With "best_fit", what happens to records that are longer than a pack: "split"
                into full packs and a rest, "truncate", "drop" or "raise".
            last: With "chunk", what happens to a last pack that is not full: "pad" or "drop".
            padding: The value that fills a pack after its last record: one for all fields, or a
                dict by field.
            add: Further fields, which tell the records of a pack apart: segment_ids (1, 2 ..., and
                0 for padding), position_ids (from 0 in each segment), loss_mask (False for
                padding), cu_seqlens (where segments begin, then `length`; padding is a separate
                segment) and max_seqlen (the longest segment); "NAME=segment_ids" gives it another
                name.
            window: With "best_fit", how many consecutive records are packed together; None: enough
                to fill several hundred packs.
            lengths: The lengths of all records of the first epoch, if they are known.  None: one
                pass over the records of each source finds the lengths when a loader first needs
                them, and the lengths are stored like an index.

        Raises:
            InvalidArgumentError: An argument is wrong, or the lengths cannot be counted.
        """
        if window is not None:
            whole(window, "window", 1)
        names, added = names_of(field, "field"), names_of(add, "add")
        for one in added:
            kind = one.rpartition("=")[2]
            if kind not in _DESCRIPTIONS:
                raise InvalidArgumentError(
                    f"add = {shown(one)}; the fields to be added are {', '.join(_DESCRIPTIONS)}, "
                    f"or NAME=segment_ids and so on{did_you_mean(kind, _DESCRIPTIONS)}", attr="add",
                )  # fmt: skip
        if not names:
            raise InvalidArgumentError("field = []; a pack is made of a field or several")
        if any(_is_of_packs(self.blob(name)) for name in names):
            warn_program_once(
                ("packs of packs", tuple(names), length),
                UserWarning(
                    f"pack({length}) of packs: their padding would become tokens with loss_mask "
                    f"True, and the documents of a pack one segment; pack the documents once, "
                    f"documents.pack({length}, field={field!r})"
                ),
            )
        self._check_files()
        blobs = with_known_order({name: self.blob(name) for name in names})
        inputs = [blobs[name] for name in names]
        values = {
            "fields": [*output_names(names), *added], "length": length, "rule": rule,
            "longer": longer, "last": last, "window": window or 0,
            "padding": padding_of(padding, names),
            "lengths": _lengths_table(inputs[0], names[0], lengths),
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

        After `data.shuffle()` each epoch has every record once, in other batches.  Without a
        shuffle the longest records come first.  The number of batches is the same in each epoch.
        After views that draw, such as a mix, each epoch has the records of the first epoch, as in
        `pack()`.

        Args:
            max_tokens: The limit for the rows of a batch, of all ranks together, times the longest
                length in its bucket.
            field: The field whose rows have these lengths; `PadBatch` pads them.
            most_rows: The most rows of a batch, of all ranks together, also where records are so
                short that max_tokens would permit more rows.
            multiple_of: The number of rows of a batch is a multiple of this number, such as the
                number of ranks, except where there are few records.
            boundaries: The lengths that separate the buckets, ascending; if left out, they are
                chosen so that little is padded.
            lengths: As `pack()` takes them.
            last: "short"; or "drop", which leaves out records so that the batches of a bucket have
                the same size; each epoch leaves out other records.
            seed: As `batch()` takes it.
            name: The name of the node.
            **attrs: Attrs of every reader, as `batch()` takes them.

        Raises:
            InvalidArgumentError: An argument is wrong.  Raised when a loader opens: max_tokens is
                less than the longest record needs.
        """
        whole(max_tokens, "max_tokens", 1)
        check_attrs(attrs)
        if "batch_size" in attrs:
            raise InvalidArgumentError("batch_by_tokens: give most_rows", attr="batch_size")
        own = {"max_tokens": max_tokens, "batch_size": most_rows, "multiple_of": multiple_of,
               "boundaries": wholes(boundaries, "boundaries")}  # fmt: skip
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
            field: The field whose rows have these lengths.
            boundaries: The lengths that separate the buckets, ascending; if left out, they are
                chosen so that little is padded.
            batch_sizes: One batch size for each bucket, in place of batch_size: one more than there
                are boundaries.
            last: "short"; or "drop", which leaves out the short batches of each bucket, with other
                records in each epoch.
            lengths, seed, name, **attrs: As `batch_by_tokens()` takes them.  A shuffle acts as in
                `batch_by_tokens()`, too.

        Raises:
            InvalidArgumentError: An argument is wrong.
        """
        check_attrs(attrs)
        if is_several(batch_size):
            raise WrongUseError(
                f"batch_size = {shown(batch_size)}; it is one size for all buckets: one for each "
                f"bucket is batch_sizes={shown(batch_size)}",
                attr="batch_size",
            )
        sizes = wholes(batch_sizes, "batch_sizes")
        if (batch_size is None) != bool(sizes):
            raise InvalidArgumentError(
                f"batch_size = {shown(batch_size)}, batch_sizes = {shown(batch_sizes)}; give one "
                "of the two"
            )
        most = max(sizes) if batch_size is None else batch_size
        own = {"batch_size": most, "batch_sizes": sizes,
               "boundaries": wholes(boundaries, "boundaries")}  # fmt: skip
        return _by_length(self, field, lengths, last, seed, name, {**own, **attrs})


def padding_of(padding: float | Mapping[str, float], names: Sequence[str]) -> list[float]:
    if isinstance(padding, numbers.Real):
        return [float(padding)] if padding else []
    if not isinstance(padding, Mapping):
        raise InvalidArgumentError(
            f"padding = {shown(padding)}; it must be a number, or a dict of numbers by field",
            attr="padding",
        )
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
    if not isinstance(field, str) or field not in data._fields:
        data.blob(field)
    data._check_files()
    blobs = with_known_order(data._fields)
    table = _lengths_table(blobs[field], field, lengths)
    given = {**attrs, "last_batch": last, "lengths": table}
    if seed is not None:
        given["seed"] = seed
    node = batch_node(blobs, data, given, "BucketDataset", name)
    return batches_of(node, blobs)
