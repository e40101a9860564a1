"""`flow.open`: files of any format as a data set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..formats import Source, expanded, open_source
from ..nodes import Blob, find_op
from .base import names_of
from .dataset import Dataset

Paths = str | os.PathLike[str]


def open(  # noqa: A001  (flow.open, as it is called)
    paths: Paths | Sequence[Paths],
    *,
    fields: str | Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
    **attrs: Any,
) -> Dataset:
    """The records of files as a data set; the format is found by content, the fields in a header or
    in the first records.

    Args:
        paths: Files, patterns, and folders, whose files are taken; or a folder that is a data set.
        fields: Names, or specs as "x:float32[3]"; None: all.
        format: As `pyflowdata head --format` takes it; None: found by content.
        **attrs: Of the format's reader, but not those of batches, such as batch_size.

    Raises:
        InvalidArgumentError: The format is not known, or there is no such field.
        FileError: There are no such files, or one cannot be read.
        CorruptDataError: A file is damaged where its fields are looked for.
    """
    files = [file for path in _listed(paths) for file in expanded(path, format)]
    if not files:
        raise InvalidArgumentError("no files were given")
    _check_attrs(attrs)
    chosen = names_of(fields) if fields is not None else None
    source = _source_of(files, format, attrs, chosen)
    blobs = source.blobs()
    if any(field.is_guessed for field in source.fields):
        _say_guessed(blobs.values())
    names = [field.name for field in source.fields] or list(blobs)
    return Dataset({name: blobs[name] for name in names})


def _listed(paths: Any) -> list[str]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise InvalidArgumentError(f"open({shown(paths)}): give a path, or a list of paths")
    for path in (listed := list(given)):
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidArgumentError(f"open(): {shown(path)} is not a path")
    return [os.fspath(path) for path in listed]


def _check_attrs(attrs: Mapping[str, Any]) -> None:
    """Refuses the attrs that belong to batches."""
    of_batches = {attr.name for attr in find_op("BatchDataset").attrs}
    for name in attrs:
        if name in of_batches:
            word = "last" if name == "last_batch" else name
            is_order = "shuffle" in name or name == "order_key"
            how = "use shuffle()" if is_order else f"give it to batch({word}=...)"
            raise InvalidArgumentError(
                f"open(): {name} is of batches, and a data set has none yet: {how}", attr=name
            )
        if name == "files":
            raise InvalidArgumentError("open(): files is the first argument", attr=name)


def _say_guessed(blobs: Iterable[Blob]) -> None:
    """Lets the error of a record that has another type than was guessed name the argument that
    states it."""
    for node in {blob.node for blob in blobs}:
        node.sampled = {node.op.outputs_attr: "fields"}


def _source_of(
    files: Sequence[str], format: str | None, attrs: Mapping[str, Any], fields: list[str] | None
) -> Source:
    """The files with their fields, which are found, or those that were chosen."""
    found = open_source(files, format, values=attrs)
    listed = find_op(found.format.reader).outputs_attr
    if listed in attrs:
        given = f", as in fields={shown(attrs[listed])}" if attrs[listed] else ""
        raise InvalidArgumentError(
            f"open() takes fields= in the place of {listed}={given}", attr=listed
        )
    found = found.choose(fields)
    attr = find_op(found.format.reader).attr(listed)
    if attr is not None and not found.fields:
        raise InvalidArgumentError(
            "its fields cannot be found, as there are no records; say them, as in "
            'fields=["x:float32[3]"]', file=files[0],
        )  # fmt: skip
    return found
