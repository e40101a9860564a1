"""What is said of a method that data sets and batches do not have: the one that does the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Names of PyTorch, tf.data, MindData, Hugging Face and Grain -> what does the same here.
_ELSEWHERE = {
    "batch_and_pad": "PadBatch(data.batch(n)[field])",
    "bucket_batch_by_length": "batch_by_length(field=...)",
    "cardinality": "len(data)",
    "columns": "fields",
    "column_names": "fields",
    "concatenate": "concat(other)",
    "enumerate": "batch(n, with_id=True)",
    "features": "fields",
    "filter": "where(predicate)",
    "interleave": "flow.mix([a, b])",
    "map_batches": "batch(n).map(function)",
    "padded_batch": "PadBatch(data.batch(n)[field])",
    "random_split": "split([0.9, 0.1])",
    "remove_columns": "drop(name)",
    "rename_column": "rename({old: new})",
    "rename_columns": "rename({old: new})",
    "select_columns": "project(name)",
    "shard": "a slice, data[index::count]; ranks need none",
    "sort": "select(np.argsort(data.column(name)))",
    "train_test_split": "split([0.9, 0.1])",
    "unbatch": "nothing: a data set has no batches yet",
    "unique": "np.unique(data.column(name))",
}


def _field(name: str, fields: Iterable[str], place: str) -> str:
    near = difflib.get_close_matches(name, [*fields], 1, 0.8)
    return f"; its field is {place}[{near[0]!r}]" if near else ""


def unknown_method(name: str, known: list[str], fields: Iterable[str]) -> str:
    """The message for a method of a data set that is not there."""
    said = f"a data set has no {name!r}"
    if name in fields:
        return f"{said}: the field is data.column({name!r}), or data.batch(n)[{name!r}] in batches"
    if name in _ELSEWHERE:
        return f"{said}; the same here: {_ELSEWHERE[name]}"
    near = difflib.get_close_matches(name, known, 1)
    return f"{said}; did you mean {near[0]!r}?" if near else said


def unknown_of_batches(name: str, fields: Iterable[str], of_data: bool) -> str:
    """The message for what batches do not have; `of_data`: data sets have it."""
    said = f"batches have no {name!r}"
    if of_data and name not in fields:
        return f"{said}: call it on the data set, before batch()"
    return said + _field(name, fields, "batch")
