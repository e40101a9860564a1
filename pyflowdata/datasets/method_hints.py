"""What is said of a method that data sets and batches do not have: the one that does the same."""

from __future__ import annotations

from collections.abc import Iterable

from ..words import remedies
from ..words.remedies import did_you_mean, similar


_PADDED = "PadBatch(data.batch(n)[field])"

# Names of PyTorch, tf.data, MindData, Hugging Face and Grain -> what does the same here.
_METHODS = {
    "batch_and_pad": _PADDED,
    "bucket_batch_by_length": "batch_by_length(field=...)",
    "cardinality": "len(data)",
    "columns": "fields",
    "column_names": "fields",
    "concatenate": "concat(other)",
    "enumerate": "batch(n, with_id=True)",
    "features": "fields",
    "filter": "where(predicate)",
    "interleave": remedies.MIX,
    "map_batches": "batch(n).map(function)",
    "padded_batch": _PADDED,
    "random_split": remedies.SPLIT,
    "remove_columns": "drop(name)",
    "rename_column": "rename({old: new})",
    "rename_columns": "rename({old: new})",
    "select_columns": "project(name)",
    "shard": "a slice, data[index::count]; ranks need none",
    "sort": "select(np.argsort(data.column(name)))",
    "train_test_split": remedies.SPLIT,
    "unbatch": "nothing: a data set has no batches yet",
    "unique": "np.unique(data.column(name))",
}


def unknown_method(name: str, known: list[str], fields: Iterable[str]) -> str:
    """The message for a method of a data set that is not there."""
    said = f"a data set has no {name!r}"
    if name in fields:
        return f"{said}: the field is data.column({name!r}), or data.batch(n)[{name!r}] in batches"
    if name in _METHODS:
        return f"{said}; the same here: {_METHODS[name]}"
    return f"{said}{did_you_mean(name, known)}"


def unknown_of_batches(name: str, fields: Iterable[str], of_data: bool) -> str:
    """The message for what batches do not have; `of_data`: data sets have it."""
    said = f"batches have no {name!r}"
    if of_data and name not in fields:
        return f"{said}: {remedies.ON_DATA}"
    field = similar(name, fields, 0.8)
    return f"{said}; its field is batch[{field!r}]" if field else said
