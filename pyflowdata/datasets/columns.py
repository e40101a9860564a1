"""What can be computed for each record of a data set, checked before a pass over the records."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import Error, InvalidArgumentError, shown
from ..nodes import Blob, Node, find_op
from ..nodes.node import nodes_of, reader_nodes
from ..nodes.objects import Object
from ..nodes.tables import Prepared, Table
from ..pyops.callbacks import user_failure
from ..ragged import Ragged
from .base import DatasetBase
from .column_pass import Array, Columns, Computation, evaluate
from .expressions import Expression, empty_column
from .fingerprints import of_blobs, of_function

What = str | Callable[..., Any] | Blob


def column(data: DatasetBase, what: What) -> Array:
    """The value of an expression for each record, such as "label" or "len(tokens)".

    It is computed once, by all threads, and kept in the cache of indexes; the array is mapped from
    there.  Texts come as an array of bytes of one length.

    Args:
        data: The records.
        what: A field or an expression; a function of arrays, whose parameters are fields; or a
            blob of an op on fields.

    Raises:
        InvalidArgumentError: It has another name than those of fields, or no value for each record.
    """
    return evaluate(made_of(data, what), data)


def bitmap_of(data: DatasetBase, predicate: What) -> Table:
    """Where a predicate is true, as a table of the words of a bitmap, which is computed when it is
    needed.

    Raises:
        InvalidArgumentError: As `column()`; or the predicate gives no truths.
    """
    wanted = made_of(data, predicate)
    if wanted.sample is not None and (
        wanted.sample.dtype != np.bool_ or math.prod(wanted.sample.shape[1:], start=1) != 1
    ):
        shape = wanted.sample.shape[1:]
        of_shape = f" of shape {shape}" if shape else ""
        raise InvalidArgumentError(
            f"{wanted.said} gives {wanted.sample.dtype}{of_shape} for a record; a predicate gives "
            "one truth, as a comparison does"
        )
    graph = of_blobs(wanted.blobs)
    key = None if wanted.key is None or graph is None else ("where", wanted.key, graph)
    said = f"where({wanted.said})"
    return Table(
        lambda: evaluate(wanted, data, is_bitmap=True),
        said=said, key=key, state=lambda: files_state(data),
    )  # fmt: skip


def files_state(data: DatasetBase) -> Hashable:
    """What differs where the files of a data set have changed since: their sizes and times."""
    return tuple(_stats(data._fields.values()))


def _stats(blobs: Iterable[Blob]) -> Iterator[tuple[int, int] | None]:
    for node in reader_nodes(list(blobs)):
        given = [value.value for value in node.values.values() if isinstance(value, Object)]
        made = [value for value in given if isinstance(value, Prepared)]
        for value in made:  # a cache, whose own file may be made later
            yield from _stats(value.fields.values())
        files = [] if made else node.values.get("files") or []
        for path in files if isinstance(files, list) else [files]:
            try:
                found = os.stat(str(path))
            except OSError:
                yield None
            else:
                yield found.st_size, found.st_mtime_ns


def words_of(truths: Array) -> Array:
    """The words of a bitmap: bit i % 64 of word i / 64 is truth i."""
    words = np.zeros((len(truths) + 63) // 64, "<u8")
    packed = np.packbits(truths, bitorder="little")
    words.view(np.uint8)[: len(packed)] = packed
    return words.astype(np.uint64, copy=False)


# ---- What to compute ----------------------------------------------------------------------------


def made_of(data: DatasetBase, what: What) -> Computation:
    """Checks what is to be computed, without reading a record."""
    refuse_changing_order(data)
    if isinstance(what, str):
        return _of_text(data, what)
    if isinstance(what, Blob):
        return _of_blob(data, what)
    if callable(what):
        return _of_function(data, what)
    raise InvalidArgumentError(
        f"{shown(what)} was given; it must be an expression, a function of fields, or a blob"
    )


def _of_text(data: DatasetBase, text: str) -> Computation:
    fields = data._fields
    if text.strip() in fields:
        blobs = {text.strip(): fields[text.strip()]}
        (sample,) = map(_empty, blobs.values())
        return Computation(blobs, _only, "field", shown(text), sample)
    expression = Expression(text, list(fields))
    blobs = {name: fields[name] for name in expression.names}
    sample = expression.evaluate({name: _empty(blob) for name, blob in blobs.items()})
    key = f"text {expression.text}"
    return Computation(blobs, expression.evaluate, key, shown(text), sample)


def _only(batch: Columns) -> Any:
    (found,) = batch.values()
    return found


def _empty(blob: Blob) -> Array | Ragged:
    return empty_column(blob.dtype, blob.shape[1:])


def _of_blob(data: DatasetBase, blob: Blob) -> Computation:
    first = next(iter(data._fields.values()))
    try:
        attrs = {"fields": ["first", "value"], "rank": 0, "world_size": 1}
        Node(find_op("BatchDataset"), None, [first, blob], attrs)
    except InvalidArgumentError as failure:
        failure.message += "; it must be made of the fields of this data set"
        raise
    return Computation({"value": blob}, _only, "blob", blob.name, _empty(blob))


def _of_function(data: DatasetBase, function: Callable[..., Any]) -> Computation:
    said = getattr(function, "__name__", type(function).__name__)
    fields = data._fields
    names: list[str] = []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{said}: its parameters cannot be found; give a function written in Python, as in "
            "lambda label: label != 3"
        ) from None
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            names = list(fields)
        elif parameter.name in fields and parameter.kind is not parameter.POSITIONAL_ONLY:
            names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise InvalidArgumentError(
                f"{said}: there is no field {shown(parameter.name)} for its parameter; the fields "
                f"are {', '.join(fields)}"
            )
    if not names:
        raise InvalidArgumentError(f"{said}: it has no parameter; they are the fields it needs")
    blobs = {name: fields[name] for name in dict.fromkeys(names)}

    def called(batch: Columns) -> Any:
        try:
            return function(**batch)
        except Error:
            raise
        except Exception as failure:
            raise user_failure(failure, f"{said}()") from failure

    return Computation(blobs, called, of_function(function), said)


def refuse_changing_order(
    data: DatasetBase, instead: str = "use where(), split() and columns before it"
) -> None:
    """Records have a number for good only where no view draws them in each epoch.

    Raises:
        InvalidArgumentError: A view does, such as a shuffle that is followed by another view.
    """
    for node in nodes_of(data._fields.values()):
        if not node.op.is_view or node.op.attr("seed") is None:
            continue
        if node.values.get("reshuffle") is not False or int(str(node.values.get("seed", -1))) < 0:
            raise InvalidArgumentError(
                f"{node.op.name} draws other records, or in another order, in each epoch, so that "
                f"record i is not the same in all of them: {instead}"
            )
