"""Any reader as a source of Ray Data.

    from pyflowdata.integrations.ray import read

    x, y = flow.MiniDecoder(flow.MiniReader("/data", batch_size=1))
    dataset = read({"x": x, "y": y})              # a ray.data.Dataset with the columns x and y

The readers run in the tasks of Ray: this package must be installed on every node, and the files
must be there under the same path.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import os
import socket
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import ray
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask
from ray.data.extensions import ArrowTensorArray

from .. import Blob, DataLoader, FileError, InvalidArgumentError
from ..errors import shown
from ..nodes.node import Node, reader_nodes, with_reader_attrs
from ..nodes.op_texts import positional_names
from ..loader.batches import Array
from ..loader.opening import arrange

__all__ = ["FlowDatasource", "datasource", "read"]


def __dir__() -> list[str]:
    return sorted(__all__)


_BLOCK_BYTES = 32 * 2**20  # Ray's own limit is 128 MiB; several are in flight in a task


def read(*blobs: Any, num_threads: int = 1, **options: Any) -> ray.data.Dataset:
    """A Ray Dataset of the records of blobs; at first only an index is read.

    Args:
        *blobs, num_threads: As in datasource().
        **options: For ray.data.read_datasource(): override_num_blocks, ray_remote_args and so on.
    """
    source = datasource(*blobs, num_threads=num_threads)
    dataset: ray.data.Dataset = ray.data.read_datasource(source, **options)
    return dataset


def datasource(*blobs: Any, num_threads: int = 1) -> FlowDatasource:
    """The source of records for ray.data.read_datasource().

    Every record comes once, in blocks of at most 32 MiB (or of one row, if that is larger), in the
    order of the files if Ray is told to preserve it.  Ray forms the batches: batch_size and
    last_batch of the readers have no effect; only batches of groups keep their batch_size.  A
    reader of such batches, or one that can only be read in sequence, is one task.

    Args:
        *blobs: As for a DataLoader. A dict gives the columns their names; otherwise a column is
            named after its output, or after its whole blob where outputs share a name.
        num_threads: Threads in each read task; Ray counts a task as one CPU unless told otherwise.

    Raises:
        InvalidArgumentError: A reader is to shuffle (Dataset.random_shuffle() does that), or to
            read a rank's part; readers have different numbers of records; or a blob is ragged.
        FileError: Files are missing or cannot be read.
    """
    wanted, _ = arrange(blobs)
    names = list(blobs[0]) if isinstance(blobs[0], Mapping) else _column_names(wanted)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{shown(name)} is not a column name; it must be a str")
    for blob in wanted:
        _ = blob.dense_row_shape  # refuses ragged ones
    for node in reader_nodes(wanted):
        _check_order(node)
    graph = with_reader_attrs(wanted, _file_order)
    with DataLoader(graph, num_threads=num_threads, prefetch=1) as loader:
        readers = loader.readers
    return FlowDatasource(
        _Source(
            key=uuid.uuid4().hex,
            blobs=graph,
            columns=tuple(names),
            num_threads=num_threads,
            num_records=min(reader.records for reader in readers),
            fingerprints=tuple((reader.name, reader.data, reader.files) for reader in readers),
            may_skip=any(node.values.get("on_error") == "skip" for node in reader_nodes(graph)),
            keeps_batches=any("group_buffer_size" in reader.spec for reader in readers),
        )
    )


def _column_names(blobs: list[Blob]) -> list[str]:
    names = [blob.name.rpartition("/")[2] for blob in blobs]
    if len(set(names)) < len(names):
        names = [blob.name for blob in blobs]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"columns would share a name ({', '.join(names)}); give the blobs as a dict with names"
        )
    return names


def _check_order(node: Node) -> None:
    for name in ("shuffle", "random_shuffle"):
        if node.values.get(name, "none") not in ("none", "auto", False):
            raise InvalidArgumentError(
                f"{name} = {node.values[name]}; Ray reads ranges of records in parallel, so leave "
                "it out and call random_shuffle() or randomize_block_order() of the Dataset",
                op=node.op.name,
            )
    if node.values.get("world_size", -1) not in (-1, 1):
        raise InvalidArgumentError(
            f"world_size = {node.values['world_size']}; Ray shares the records among its tasks, so "
            "leave rank and world_size out",
            op=node.op.name,
        )


def _file_order(node: Node) -> dict[str, object]:
    """Attrs with which a reader yields every record once, also in another working folder."""
    attrs: dict[str, object] = {"last_batch": "short", "rank": 0, "world_size": 1}
    for name in positional_names(node.op):
        folder = node.values.get(name)
        if isinstance(folder, str) and "://" not in folder:
            attrs[name] = os.path.abspath(folder)
    return attrs


class FlowDatasource(Datasource):
    """A source of Ray Data, made by datasource(). It can be pickled, and has no open files."""

    def __init__(self, source: _Source) -> None:
        super().__init__()
        self._source = source

    def get_name(self) -> str:
        ops = {node.op.name: None for node in reader_nodes(self._source.blobs)}
        return "+".join(ops)

    def estimate_inmemory_data_size(self) -> int | None:
        """Bytes of all rows; None: only reading counts them."""
        source = self._source
        return source.num_records * source.row_bytes if source.num_records >= 0 else None

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: object = None,
        **_later: object,
    ) -> list[ReadTask]:
        """About `parallelism` tasks, each a range of the records. No file is read."""
        source = self._source
        rows = [np.zeros((1, *blob.dense_row_shape), blob.dtype) for blob in source.blobs]
        schema = source.table(rows).schema
        tasks = []
        for share in _shares(source, max(1, parallelism)):
            num_rows = None if source.may_skip else share.num_records
            if num_rows is not None and per_task_row_limit is not None:
                num_rows = min(num_rows, per_task_row_limit)
            metadata = _call(
                BlockMetadata,
                num_rows=num_rows,
                size_bytes=None if num_rows is None else num_rows * source.row_bytes,
                schema=schema,
                input_files=None,
                exec_stats=None,
            )
            tasks.append(
                _call(
                    ReadTask,
                    read_fn=functools.partial(_read, source, share, per_task_row_limit),
                    metadata=metadata,
                    schema=schema,
                    per_task_row_limit=per_task_row_limit,
                )
            )
        return tasks


def _call(cls: Any, **arguments: object) -> Any:
    """Calls with the arguments that this release of Ray knows."""
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in arguments.items() if name in known})


@dataclass(frozen=True)
class _Source:
    """The part that all read tasks share; small, since it is pickled with each.

    Attributes:
        key: Differs between sources, also over the same files.
        blobs: The blobs of a graph in the order of the files, with the user's batch_size.
        columns: Their names.
        num_threads: The threads of each loader.
        num_records: -1 where only reading counts them.
        fingerprints: Name, fingerprint of the data and number of files of each reader.
        may_skip: Whether records may be left out, so that there may be fewer rows than records.
        keeps_batches: Whether a batch is a unit, and batch_size must stay.
    """

    key: str
    blobs: tuple[Blob, ...]
    columns: tuple[str, ...]
    num_threads: int
    num_records: int
    fingerprints: tuple[tuple[str, str, int], ...]
    may_skip: bool
    keeps_batches: bool

    @property
    def row_bytes(self) -> int:
        return sum(math.prod(blob.dense_row_shape) * blob.dtype.itemsize for blob in self.blobs)

    def table(self, arrays: Iterable[Array]) -> pa.Table:
        """A block of these columns; it views the arrays, without a copy (bools become bits)."""
        columns = [
            pa.array(array) if array.ndim == 1 else ArrowTensorArray.from_numpy(array)
            for array in arrays
        ]
        return pa.table(columns, names=list(self.columns))


@dataclass(frozen=True)
class _Share:
    """The batches [begin, end) of batch_size rows; end None: all batches."""

    batch_size: int
    begin: int
    end: int | None
    num_records: int | None  # None: only reading counts them


def _shares(source: _Source, parallelism: int) -> list[_Share]:
    """Contiguous runs of batches of one size; as many runs as wanted, if there are as many rows."""
    most = max(1, _BLOCK_BYTES // max(1, source.row_bytes))
    if source.keeps_batches:
        most = source.blobs[0].batch_size
    records = source.num_records
    if records < 1 or source.keeps_batches:
        return [_Share(most, 0, None, None if records < 0 else records)]
    size = min(most, math.ceil(records / parallelism))
    num_batches = math.ceil(records / size)
    num_tasks = min(parallelism, num_batches)
    bounds = [num_batches * task // num_tasks for task in range(num_tasks + 1)]
    return [
        _Share(size, begin, end, min(end * size, records) - begin * size)
        for begin, end in itertools.pairwise(bounds)
    ]


# ---- In a task ----------------------------------------------------------------------------------

# A process runs many tasks of a source, one after the other: its loader stays open between them.
_lock = threading.Lock()
_idle: dict[tuple[str, int], DataLoader[tuple[Array, ...]]] = {}


def _read(source: _Source, share: _Share, limit: int | None) -> Iterator[pa.Table]:
    """The blocks of a share, in order, with at most `limit` rows."""
    loader = _open(source, share.batch_size)
    is_usable = False
    try:
        loader.seek(share.begin, epoch=0)
        number = None if share.end is None else share.end - share.begin
        table = None
        for arrays in itertools.islice(loader, number):
            table = source.table(arrays)
            if limit is not None and table.num_rows >= limit:
                yield table.slice(0, limit)
                break
            limit = None if limit is None else limit - table.num_rows
            yield table
        if table is None:
            yield source.table(np.zeros((0, *b.dense_row_shape), b.dtype) for b in source.blobs)
        is_usable = True
    except GeneratorExit:  # Ray has enough rows
        is_usable = True
        raise
    finally:
        if is_usable:
            _keep(source, share.batch_size, loader)
        else:
            loader.close()


def _open(source: _Source, batch_size: int) -> DataLoader[tuple[Array, ...]]:
    with _lock:
        found = _idle.pop((source.key, batch_size), None)
    if found is not None:
        return found
    graph = with_reader_attrs(source.blobs, lambda _: {"batch_size": batch_size})
    loader = DataLoader(graph, num_threads=source.num_threads, prefetch=2)
    try:
        for reader, (name, fingerprint, files) in zip(
            loader.readers, source.fingerprints, strict=True
        ):
            if reader.data != fingerprint:
                raise FileError(
                    f"{name}: on {socket.gethostname()} the data has {reader.files} files, where "
                    f"the Dataset was made {files}, and names, sizes or content differ; every node "
                    "must see the same files, unchanged until the Dataset has been read"
                )
    except BaseException:
        loader.close()
        raise
    return loader


def _keep(source: _Source, batch_size: int, loader: DataLoader[tuple[Array, ...]]) -> None:
    """Stores the loader for the next task, and closes any other."""
    with _lock:
        over = list(_idle.values())
        _idle.clear()
        _idle[source.key, batch_size] = loader
    for one in over:
        one.close()
