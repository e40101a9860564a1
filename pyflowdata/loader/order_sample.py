"""Facts about the data of a loader for reports: the places of the records of its first batches.

A second, small loader reads the numbers of the records, so that the first loader goes on
undisturbed.  It decodes nothing, and stops after a time and a number of batches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import Error
from ..insight.counters import DataFacts
from ..nodes import Blob, Node
from ..nodes.python_ops import nothing_in_use
from ..nodes.node import nodes_of, reader_nodes, with_reader_attrs
from ..nodes.objects import Object
from ..nodes.tables import Prepared, Table
from .open_loader import open_loader_of
from .state import Reader


# ---- Where the records of the first batches lie -------------------------------------------------


Numbers = npt.NDArray[np.int64]

_MOST_BATCHES = 64
_MOST_POINTS = 4000
_LEAST_BATCHES = 8  # enough, where they are large
_MOST_BYTES = 64 << 20
_MOST_FILES = 5000
_MOST_CANDIDATES = 4
_MOST_LABELS = 24
_INDEX_SECONDS = 2.0  # an index that takes longer to find is not built again for a picture
_NAMES = ("label", "class", "cls", "target", "fine_label", "image/class/label", "y")


def sample_order(
    loader_class: Callable[..., Any], blobs: Sequence[Blob], readers: Sequence[Reader], epoch: int,
    *, seconds: float = 2.0,
) -> dict[str, Any]:  # fmt: skip
    """The records of the first batches of an epoch.

    Args:
        loader_class: The class `DataLoader`.
        blobs: The blobs of a loader.
        readers: Its readers; the order of the first reader is read, of all ranks together.
        epoch: The number of the epoch.
        seconds: How long this may read.

    Returns:
        For JSON: "reader", its name, and "missing", why there is no order, or "" and

        - "rows": records in each batch
        - "positions" and "places": of some rows, or all: the number in the epoch's order, and in
          that of the files
        - "extent": one more than the largest place that is known of
        - "files": names of files and their first places; empty if there are too many
        - "labels": {"name", "values", "counts"}: the values of a blob of whole numbers, and how
          often each batch has them; or {"missing": why}
    """
    reader = readers[0]
    found: dict[str, Any] = {"reader": reader.name, "epoch": epoch}
    node = reader_nodes(blobs)[0]
    missing = _why_not(node, reader)
    if missing:
        return {**found, "missing": missing}
    wanted = _label_blobs(blobs, node)
    try:
        with nothing_in_use():
            read = _read(loader_class, node, wanted, reader, epoch, seconds)
        return {**found, "missing": "", **read}
    except Error as failure:
        return {**found, "missing": f"reading it failed: {failure}"}


def _why_not(node: Node, reader: Reader) -> str:
    """Why reading the order would cost too much, or have side effects; "": it can be read."""
    if reader.records < 0:
        return "the records are read in sequence, and would be read twice"
    if any(_runs_python(one) for one in nodes_of(node.outputs[:1])):
        return "the records come from Python objects, whose code would run again"
    if reader.index.seconds > _INDEX_SECONDS:
        return f"finding the records took {reader.index.seconds:.1f} s, and would take it again"
    buffered = int(reader.spec["shuffle_buffer_size"]) if reader.shuffle == "buffer" else 0
    records = min(buffered + reader.batch_size, max(1, reader.records))
    read_bytes = records * reader.bytes // max(1, reader.records)
    if read_bytes > _MOST_BYTES:
        return f"a batch of it takes {read_bytes / 1e6:,.0f} MB to read"
    return ""


def _runs_python(node: Node) -> bool:
    objects = (one.value for one in node.values.values() if isinstance(one, Object))
    is_source = any(not isinstance(one, (Table, Prepared, np.ndarray)) for one in objects)
    return is_source or node.op.origin.startswith("python")


def _label_blobs(blobs: Sequence[Blob], node: Node) -> list[Blob]:
    """The cheap blobs with one whole number in a row; likely names come first."""
    found = [
        blob
        for blob in dict.fromkeys(blobs)
        if blob.dtype.kind in "iub" and blob.shape[1:] in ((), (1,))
        and reader_nodes([blob]) == [node]
        and not any(_runs_python(one) for one in nodes_of([blob]))
        and not (blob.node is node and _port(blob) in ("id", "mask"))
    ]  # fmt: skip
    ranks = {name: rank for rank, name in enumerate(_NAMES)}
    found.sort(key=lambda blob: ranks.get(_port(blob), len(ranks)))
    return found[:_MOST_CANDIDATES]


def _port(blob: Blob) -> str:
    return blob.node.op.outputs[blob.index].name


def _read(
    loader_class: Callable[..., Any], node: Node, wanted: Sequence[Blob], reader: Reader,
    epoch: int, seconds: float,
) -> dict[str, Any]:  # fmt: skip
    attrs: dict[str, object] = {"with_id": True, "rank": 0, "world_size": 1, "seed": reader.seed,
             "order_key": reader.spec["order_key"]}  # fmt: skip
    anchor, *labels = with_reader_attrs([node.outputs[0], *wanted], lambda _: attrs)
    ids = next(blob for blob in anchor.node.outputs if _port(blob) == "id")
    most = min(_MOST_BATCHES, max(_LEAST_BATCHES, _MOST_POINTS // reader.batch_size))
    end = time.monotonic() + seconds
    rows: list[Numbers] = []
    values: list[list[Numbers]] = [[] for _ in labels]
    with loader_class((ids, *labels), num_threads=1, prefetch=1, ledger="") as loader:
        open_loader_of(loader).observation.hide()
        loader.seek(0, epoch=epoch)
        for batch in loader:
            rows.append(np.array(batch[0], np.int64))
            for taken, column in zip(values, batch[1:], strict=True):
                taken.append(np.array(column, np.int64).reshape(-1))
            if len(rows) == most or time.monotonic() > end:
                break
        names, firsts = _files_of(loader, reader)
    found = _places(rows, firsts, names, reader)
    return {**found, "labels": _labels(wanted, values)}


def _files_of(loader: Any, reader: Reader) -> tuple[list[str], list[int]]:
    if not 0 < reader.files <= _MOST_FILES:
        return [], []
    opened = open_loader_of(loader)
    names = opened.files()
    return names, opened.first_records(len(names))


def _places(
    rows: Sequence[Numbers], firsts: Sequence[int], names: Sequence[str], reader: Reader
) -> dict[str, Any]:
    """The places of files, one after another; the numbers of records begin at 0 again for each
    reader.
    """
    ids = np.concatenate(rows) if rows else np.zeros((0, 2), np.int64)
    files, numbers = ids[:, 0], ids[:, 1]
    bases = [0]
    for place, first in enumerate(firsts):
        own = numbers[files == place]
        size = int(own.max()) + 1 - first if own.size else 0
        if place + 1 < len(firsts) and firsts[place + 1] >= first + size:
            size = firsts[place + 1] - first
        bases.append(bases[-1] + size)
    places = numbers
    if names:
        places = numbers - np.array(firsts, np.int64)[files] + np.array(bases, np.int64)[files]
    extent = max(bases[-1], int(places.max()) + 1 if places.size else 0)
    if len(names) == reader.files and list(firsts) == sorted(firsts):
        extent = max(extent, reader.records)
    every = max(1, -(-len(ids) // _MOST_POINTS))
    return {
        "rows": [len(one) for one in rows],
        "positions": list(range(0, len(ids), every)),
        "places": places[::every].tolist(),
        "extent": extent,
        "files": [
            {"name": os.path.basename(name), "first": base}
            for name, base in zip(names, bases, strict=False)
        ],
    }


def _labels(wanted: Sequence[Blob], values: Sequence[Sequence[Numbers]]) -> dict[str, Any]:
    for blob, batches in zip(wanted, values, strict=True):
        classes = np.unique(np.concatenate(batches)) if batches else np.zeros(0, np.int64)
        if 2 <= len(classes) <= _MOST_LABELS:
            counts = [[int((batch == one).sum()) for one in classes] for batch in batches]
            return {"missing": "", "name": blob.name, "values": classes.tolist(), "counts": counts}
    if not wanted:
        return {"missing": "no wanted blob has one whole number a row that is cheap to compute"}
    return {"missing": f"{', '.join(blob.name for blob in wanted)}: not 2 to {_MOST_LABELS} values"}


# ---- What a report says of the data -------------------------------------------------------------

def data_facts(
    loader_class: Callable[..., Any], form: Callable[[list[Any]], Any], blobs: Sequence[Blob],
    readers: Sequence[Reader], epoch: int,
) -> DataFacts:  # fmt: skip
    """Facts about the data of a loader, open or closed.  This reads records for about two seconds
    at most.

    Args:
        loader_class: The class `DataLoader`.
        form: Makes a batch of the blobs' arrays: a dict, a tuple, or a bare array.
        blobs: The blobs of the loader.
        readers: Its readers.
        epoch: The epoch whose order is shown.
    """
    return DataFacts(
        readers=[_as_dict(one) for one in readers],
        order=sample_order(loader_class, blobs, readers, epoch),
        graph=_graph(form(list(blobs))),
    )


def _as_dict(reader: Reader) -> dict[str, Any]:
    return {**vars(reader), "index": reader.index._asdict(), "shuffle": reader.shuffle}


def _graph(blobs: Any) -> str:
    from ..insight.graph_drawing import graph

    try:
        return graph(blobs)._repr_html_()
    except Error:  # such as of files that are gone
        return ""
