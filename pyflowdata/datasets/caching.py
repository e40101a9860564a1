"""`Dataset.cache()`: records that are computed once, kept in memory or in a file."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

from ..errors import FileError, InvalidArgumentError, shown
from ..formats import CacheWriter, cached_fields, encoded_records
from ..native import version as library_version
from ..nodes import Blob, Node, dtype_name
from ..nodes.file_states import state_of_files
from ..nodes.node import nodes_of
from ..nodes.objects import Object
from ..nodes.tables import Prepared, Table
from ..loader import DataLoader
from ..loader.reader_advice import warn_of_left_out
from ..pyops.function_digest import sha256
from ..pyops.op import function_of, name_of
from ..pyops.row_function import RowFunction
from ..ragged import Ragged
from .base import DatasetBase, SetT, node_alone
from .cache_files import CacheFolder, CachePlace
from .columns import (
    COMPARED,
    batches_once,
    changing_fields,
    pass_over,
    refuse_changing_order,
    some_rows,
)
from .fingerprints import is_own, of_function

_AT_ONCE = 128  # records in a batch


@dataclasses.dataclass(frozen=True, repr=False)
class _Cache(Prepared):
    """The records of a data set in a file.  A loader that needs the file makes it, or makes it
    again.

    Attributes:
        fields: The data set that is cached.
        place: The folder of caches.
        graph: The description of what is cached; its hash names the cache.
        said: The step in `repr`, as "cache('disk')".
    """

    fields: Mapping[str, Blob]
    place: CachePlace
    graph: str
    said: str

    @property
    def identity(self) -> str:
        return sha256(self.graph.encode())[:32]

    @property
    def folder(self) -> CacheFolder:
        return CacheFolder(self.place, self.identity)

    def prepare(self) -> None:
        """Makes the file, unless there is one and the data have not changed.

        Raises:
            FileError: It cannot be written, or there is not enough room.
            InvalidArgumentError: The records differ from epoch to epoch.
        """
        folder = self.folder
        self.place.make()
        state = self._state()
        if folder.is_usable(state):
            return
        with folder.filling():
            if folder.is_usable(state):  # another process has made it
                return
            self._fill(folder, state, self._probe())
            if not folder.is_usable(state):
                raise FileError(
                    "the cache was written, but does not belong to this user alone, or was changed "
                    "at once; take another folder", file=str(folder.records),
                )  # fmt: skip

    def __repr__(self) -> str:
        return f"Cache({str(self.folder.records)!r})"

    # ---- The data -----------------------------------------------------------------------------

    def _state(self) -> str:
        """A hash that differs where the files do."""
        ids = node_alone(self.fields.values(), 1, with_id=True).outputs[-1]
        with DataLoader(ids, num_threads=1, prefetch=1, ledger="") as loader:
            (reader,) = loader.readers
            said: list[Any] = [library_version(), reader.data, reader.spec, reader.records]
        said += state_of_files(self.fields.values())
        return sha256(repr(said).encode())

    def _probe(self) -> dict[int, bytes]:
        """Some records of another epoch with another seed, by number; none if no op computes the
        records.
        """
        if all(node.op.is_reader or node.op.is_view for node in nodes_of(self.fields.values())):
            return {}
        attrs = {"on_error": "pad", "max_skipped": -1}  # the pass over all says what is damaged
        node = node_alone(self.fields.values(), COMPARED, seed=1, **attrs)
        encoded = encoded_records(node.outputs)
        return some_rows(encoded, epoch=1)

    def _check(self, records: Ragged, first: int, probe: Mapping[int, bytes]) -> None:
        """Refuses records that random ops compute.

        Args:
            records: A batch.
            first: The number of its first record.
            probe: What `_probe()` gave.
        """
        for number in probe.keys() & range(first, first + len(records)):
            if records[number - first].tobytes() != probe[number]:
                changing = changing_fields(self.fields) or list(self.fields)
                raise InvalidArgumentError(
                    f"cache(): {', '.join(changing)} of {COMPARED} records change from epoch to "
                    "epoch or with the seed, and a cache would keep the first ones for ever; put "
                    "random ops and shuffles after cache()"
                )

    # ---- The file -----------------------------------------------------------------------------

    def _fill(self, folder: CacheFolder, state: str, probe: Mapping[int, bytes]) -> None:
        encoded = encoded_records(node_alone(self.fields.values(), _AT_ONCE).outputs)
        loader: DataLoader[Any] = DataLoader(encoded, ledger="")
        with loader, CacheWriter(folder.temporary(), self.fields) as writer:
            folder.keep(writer.fileno)
            total, most = loader.readers[0].records, 2 * loader.memory_budget
            said = f"cache() of {', '.join(self.fields)}"
            batches = batches_once(loader, _AT_ONCE)
            for batch in pass_over(loader, said, batches, kind="cache-fill"):
                self._check(batch, writer.records, probe)
                writer.write(batch.values, batch.row_splits)
                if 0 < writer.records == len(batch):
                    self._check_room(writer, total, most)
            writer.finish(folder.records)
            about = {"records": writer.records, "bytes": writer.bytes}
            folder.complete(state, {**about, "graph": self.graph.split("\n")})
        import logging  # takes long to import

        said = "cached %d records, %d bytes: %s"
        logging.getLogger("pyflowdata").info(said, writer.records, writer.bytes, folder.records)

    def _check_room(self, writer: CacheWriter, total: int, most: int) -> None:
        """Estimates from the first batch whether there is room for all records."""
        free = self.place.free_bytes(most)
        wanted = writer.bytes * max(total, writer.records) // writer.records
        if wanted <= free:
            return
        where = "of memory" if self.place.is_memory else "on this disk"
        other = "; give cache() a folder on a disk" if self.place.is_memory else ""
        raise FileError(
            f"the cache of {total:,} records will take about {wanted / 1e6:,.1f} MB, and "
            f"{free / 1e6:,.1f} MB {where} are free{other}",
            file=str(self.place.folder),
        )


# ---- What is cached ------------------------------------------------------------------------------


def _described(fields: Mapping[str, Blob], version: str) -> str:
    """The graph of the fields as a text: all that decides the records, except for the bytes of
    files.

    Raises:
        InvalidArgumentError: A part of it cannot be put into words, and there is no `version`.
    """
    numbers: dict[Node, int] = {}
    said = [version, str(list(fields))]

    def of_value(node: Node, value: object) -> str:
        """An attr's value; of tables and caches, what they hold."""
        if not isinstance(value, Object):
            return repr(value)
        if isinstance(value.value, Table):
            array = value.value.array
            return f"{array.dtype} {sha256(array.data)}"
        if isinstance(value.value, _Cache):
            return value.value.identity
        if value.identity is not None and not node.op.is_reader:  # of an op of this package
            return value.identity.digest()
        _need_version(f"{node.op.name} reads a Python object", version)
        return "an object"

    for node in nodes_of(fields.values()):
        inputs = [f"{numbers[blob.node]}.{blob.index}" for blob in node.inputs]
        values = {name: of_value(node, node.values[name]) for name in sorted(node.values)}
        types = [(dtype_name(blob.dtype), blob.shape[1:]) for blob in node.outputs]
        said.append(f"{_origin(node, version)} {node.name} {inputs} {values} {types}")
        numbers[node] = len(numbers)
    said += [f"{numbers[blob.node]}.{blob.index}" for blob in fields.values()]
    return "\n".join(said)


def _origin(node: Node, version: str) -> str:
    """The op of a node in words, and the folder of its relative paths."""
    function = function_of(node.op.name)
    if function is not None and not is_own(node.op.origin):  # its op has a name of this process
        name = name_of(function)
        given: tuple[Any, ...] = ()
        if isinstance(function, RowFunction):  # map() made it
            given = function.form
            function = functools.partial(function.function, **function.keywords)
        code = of_function(function)
        if code is None:
            _need_version(f"it cannot be seen what the Python function {name} depends on", version)
        return f"{node.op.origin.partition(':')[2]}() {code} {given}"
    origin, folder = f"{node.op.name} {node.op.origin}", ""
    if os.path.isfile(node.op.origin):  # the op is a plugin's
        found = os.stat(node.op.origin)
        origin += f" {found.st_size} {found.st_mtime_ns}"
    for name, value in node.values.items():
        if name == "files" or name.endswith("_dir"):
            paths = value if isinstance(value, list) else [value]
            if not all(os.path.isabs(str(path)) for path in paths):
                folder = os.getcwd()
    return f"{origin} {folder}"


def _need_version(what: str, version: str) -> None:
    if not version:
        raise InvalidArgumentError(
            f"cache(): {what}, so it cannot be seen whether it is the same in the next run; give "
            f"cache(version='1'), and another version whenever it changes"
        )


class Caching(DatasetBase):
    """The method of `Dataset` that keeps computed records."""

    def cache(self: SetT, where: str | os.PathLike[str] = "memory", *, version: str = "") -> SetT:
        """The records, computed once: the first loader that needs the records writes all of them
        into a file, and from then on loaders read them from this file, in any order.  The processes
        of a machine share the file, and one of them makes it.  The file is made again if the data
        files, ops or attrs have changed.  Put random ops and shuffles after `cache()`.

        Args:
            where: "memory"; "disk", the folder of the indexes; or a folder.
            version: A text that stands for what the library cannot see, such as Python objects and
                what functions read.  Change the text when these change.

        Raises:
            InvalidArgumentError: The order is random; or the data depend on what the library cannot
                see, and no version was given.
        """
        for name, given in (("where", where), ("version", version)):
            if not isinstance(given, (str, os.PathLike) if name == "where" else str):
                raise InvalidArgumentError(
                    f"cache({name}={shown(given)}): it must be a str; `where` is 'memory', 'disk' "
                    f"or a folder", attr=name,
                )  # fmt: skip
        shuffle = self._shuffle
        if shuffle is not None and (shuffle.reshuffle or shuffle.seed is None):
            raise InvalidArgumentError(
                "cache() after shuffle() would keep the order of one epoch: shuffle after it"
            )
        refuse_changing_order(self, "use cache() before it")
        fields = self.blobs
        said = f"cache({'' if where == 'memory' else shown(os.fspath(where))})"
        cache = _Cache(fields, CachePlace(where), _described(fields, version), said)
        warn_of_left_out(fields.values(), is_asked=True)
        blobs = cached_fields(cache, cache.folder.records, self.fields.values())
        return type(self)(dict(zip(fields, blobs, strict=False)))
