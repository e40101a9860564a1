"""Turns nodes into the vertices and edges of a drawing."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import FileError, printable
from ..native import address_of, check, ffi, lib, new_error
from ..nodes import Blob, Node, dtype_name
from ..nodes.attr_words import prepared_of, said_of_tables, told_attrs, value_text, view_word
from ..nodes.node import files_of, nodes_of
from ..nodes.row_types import RowType
from ..nodes.world import World
from ..words.plain_text import counted, size


# ---- Vertices and edges -------------------------------------------------------------------------

FILES, READER, VIEW, BATCHES, OP, BATCH = "files", "reader", "view", "batches", "op", "batch"
MORE = "more"


@dataclass(frozen=True)
class Output:
    """A blob: an output of a vertex or, for the last vertex, a blob of the batch.

    Attributes:
        name: The name of the output, without the name of the node; in a batch the key, or "[0]" in
            a tuple.
        type: The type of one row.
        rows: Rows of this rank in a full batch; None: a data set has no batches.
        is_most: Whether batches differ in size, and `rows` is the maximum.
        is_used: Whether an op of the graph takes it, or the batch contains it.
        wanted: The keys under which the batch contains it.
    """

    name: str
    type: RowType
    rows: int | None
    is_most: bool
    is_used: bool
    wanted: tuple[str, ...] = ()

    @property
    def row_bytes(self) -> int | None:
        """Bytes of a row; None: rows differ in size."""
        if self.type.is_ragged:
            return None
        return self.type.dtype.itemsize * math.prod(one or 0 for one in self.type.shape)

    @property
    def batch_bytes(self) -> int | None:
        """Bytes of this blob in a full batch of this rank; None: not known."""
        if self.row_bytes is None or self.rows is None:
            return None
        return self.row_bytes * self.rows

    @property
    def type_text(self) -> str:
        """float32[224,224,3]; a question mark stands for what varies from row to row."""
        sizes = ",".join("?" if one is None else str(one) for one in self.type.shape)
        name = dtype_name(self.type.dtype)
        return f"{name}[{sizes}]" if self.type.shape else name

    @property
    def bytes_text(self) -> str:
        """12 bytes a row, 3.07 KB a batch."""
        row, batch = self.row_bytes, self.batch_bytes
        if row is None:
            return "ragged: rows differ in size"
        if batch is None:
            return f"{size(row)} a record"
        return f"{size(row)} a row, {'up to ' * self.is_most}{size(batch)} a batch"


@dataclass(frozen=True)
class Files:
    """The files and folders of readers, and the bytes of the files."""

    files: int
    folders: int
    bytes: int

    def __add__(self, other: Files) -> Files:
        return Files(
            self.files + other.files, self.folders + other.folders, self.bytes + other.bytes
        )

    def __str__(self) -> str:
        said = [f"{counted(self.files, 'file')}, {size(self.bytes)}"] if self.files else []
        return ", ".join([*said, *([counted(self.folders, "folder")] if self.folders else [])])


@dataclass(frozen=True)
class Vertex:
    """A box of the drawing.

    Attributes:
        kind: "files", "reader", "view" (of a data set), "batches" (of a data set), "op", "batch",
            or "more": data sets of a view that are not drawn.
        title: The name of the op or view; for files their number; for the last vertex what it is.
        name: The name of the node, if the user gave one; the name of the first file; otherwise "".
        attrs: Names and values of the attrs that differ from their defaults.
        outputs: The outputs in the order of the op.
        notes: Further facts, one per line.
        count: How many equal branches of a data set this vertex stands for.
        passes: Whether its outputs are its inputs in another order.
        files: The numbers, for kind "files".
    """

    kind: str
    title: str
    name: str = ""
    attrs: tuple[tuple[str, str], ...] = ()
    outputs: tuple[Output, ...] = ()
    notes: tuple[str, ...] = ()
    count: int = 1
    passes: bool = False
    files: Files | None = None


@dataclass(frozen=True)
class Edge:
    """Rows that go from one vertex to another.

    Attributes:
        source, target: Numbers of vertices; the source comes first.
        outputs: Names of the source's outputs that the target takes.
        is_fused: Whether the two ops are computed as one.
    """

    source: int
    target: int
    outputs: tuple[str, ...] = ()
    is_fused: bool = False


@dataclass(frozen=True)
class Drawn:
    """A drawing: vertices, inputs first and the batch last; and edges."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]


# ---- Ops that are computed as one ---------------------------------------------------------------

# C plans the blobs of a loader without opening it.


class _Planned(NamedTuple):
    """An op that a loader runs.

    Attributes:
        fused: The op before it whose work it also does; None: there is none.
        stage: Even: over ranges of rows; odd: once, over the whole batch.
    """

    fused: Node | None
    stage: int


def _planned_ops(blobs: Sequence[Blob]) -> dict[Node, _Planned]:
    """The nodes that a loader of these blobs would compute.

    Raises:
        InvalidArgumentError: The blobs cannot be in one loader.
    """
    slots = ffi.new("pfd_blob[]", len(blobs))
    for slot, blob in zip(slots, blobs, strict=True):
        blob.fill(slot)
    count, err = ffi.new("int64_t *"), new_error()
    found, room = ffi.NULL, 0
    while True:
        check(lib.pfd_planned_ops(slots, len(blobs), found, room, count, err), err)
        if count[0] <= room:
            break
        room = count[0]
        found = ffi.new("pfd_planned_op[]", room)
    by_address = {address_of(node.handle): node for node in nodes_of(blobs)}
    planned: dict[Node, _Planned] = {}
    for one in found[0 : count[0]]:
        node = by_address[address_of(one.node)]
        fused = by_address[address_of(one.fused)] if one.fused != ffi.NULL else None
        planned.setdefault(node, _Planned(fused, one.stage))
    return planned


# ---- From nodes to vertices ---------------------------------------------------------------------

_FILE_ATTRS = ("files", "data_dir")  # which the vertex of the files says
_RECORD_ATTRS = ("batch_size", "rank", "world_size")  # batches that read a data set


class Builder:
    """Makes the vertices; inputs come before the vertices that take them.

    Attributes:
        vertices, edges: The vertices and edges so far.
    """

    def __init__(self, wanted: Mapping[str, Blob], *, is_data_set: bool) -> None:
        """Takes the blobs of a batch by their keys, or the fields of a data set."""
        self.vertices: list[Vertex] = []
        self.edges: list[Edge] = []
        self._wanted = wanted
        self._is_data_set = is_data_set
        self._planned = _planned_ops(list(wanted.values()))
        self._fused_into = {one.fused: node for node, one in self._planned.items() if one.fused}
        self._keys: dict[tuple[Node, int], list[str]] = {}
        for key, blob in wanted.items():
            self._keys.setdefault((blob.node, blob.index), []).append(key)
        nodes, self._kept = _with_kept(nodes_of(wanted.values()))
        self._world = next(world for blob in wanted.values() for world in blob.node.worlds)
        self._used = {(blob.node, blob.index) for node in nodes for blob in _inputs_of(node)}
        self._numbers: dict[Node, int] = {}  # node -> number of its vertex
        for node in nodes:
            self._add(node)

    # ---- Vertices -----------------------------------------------------------------------------

    def _put(self, vertex: Vertex, inputs: Mapping[int, Edge]) -> int:
        self.vertices.append(vertex)
        self.edges += inputs.values()
        return len(self.vertices) - 1

    def _add(self, node: Node) -> None:
        kind = _kind_of(node)
        inputs: dict[int, Edge] = {}
        own = len(self.vertices)
        if kind == READER and prepared_of(node) is None:
            files = _files_vertex(node)
            if files is not None:
                inputs[own] = Edge(self._put(files, {}), own := own + 1)
        inputs |= self._edges_to(own, _inputs_of(node), self._planned.get(node))
        attrs = self._attrs_of(node)
        if kind == BATCHES and self._is_data_set and not attrs:
            return  # the records come as the data set has them
        self._numbers[node] = own
        self._put(
            Vertex(
                kind,
                self._title_of(node, kind),
                printable(node.name),
                attrs,
                self._outputs_of(node),
                tuple(self._notes_of(node, kind)),
                passes=_passes(node),
            ),
            inputs,
        )

    def _title_of(self, node: Node, kind: str) -> str:
        if kind == BATCHES:
            return "shuffle" if self._is_data_set else view_word(node)
        kept = prepared_of(node)
        if kept is not None:
            return printable(kept.said)
        if kind == VIEW:
            return printable(said_of_tables(node)) or view_word(node)
        return node.op.name

    def _edges_to(
        self, target: int, blobs: Iterable[Blob], planned: _Planned | None = None
    ) -> dict[int, Edge]:
        """Adds an edge for each vertex that some of the blobs come from."""
        names: dict[int, dict[str, None]] = {}
        fused: set[int] = set()
        for blob in blobs:
            node, index = blob.node, blob.index
            while node not in self._numbers:  # batches that are not drawn
                node, index = node.inputs[index].node, node.inputs[index].index
            source = self._numbers[node]
            names.setdefault(source, {})[_port(node, index)] = None
            if planned is not None and planned.fused is node:
                fused.add(source)
        return {
            source: Edge(source, target, tuple(ports), source in fused)
            for source, ports in names.items()
        }

    def _attrs_of(self, node: Node) -> tuple[tuple[str, str], ...]:
        left_out: tuple[str, ...] = ()
        if prepared_of(node) is not None:
            return ()
        if _kind_of(node) == READER:
            left_out = _FILE_ATTRS
            if _is_of_data_set(node):
                left_out += ("seed", "rank", "world_size")  # which the batches have
        if self._is_data_set and _kind_of(node) == BATCHES:
            left_out = _RECORD_ATTRS
            if not node.values.get("random_shuffle"):
                left_out += ("seed",)
        return tuple(
            (attr.name, printable(value_text(node.values[attr.name])))
            for attr in told_attrs(node)
            if attr.name not in left_out
        )

    def _outputs_of(self, node: Node) -> tuple[Output, ...]:
        rows, is_most = (None, False) if _is_of_data_set(node) else self._rows_of(node)
        return tuple(
            Output(
                printable(_port(node, blob.index)),
                RowType(blob.dtype, blob.shape[1:]),
                None if self._is_data_set else rows,
                is_most,
                (node, blob.index) in self._used or (node, blob.index) in self._keys,
                tuple(map(printable, self._keys.get((node, blob.index), ()))),
            )
            for blob in node.outputs
        )

    def _rows_of(self, node: Node) -> tuple[int, bool]:
        """Rows of this rank in a full batch, and whether batches differ in size."""
        while not node.op.is_reader and node.inputs:
            node = node.inputs[0].node
        world, size = self._world, node.outputs[0].batch_size
        rows = size // world.world_size + (world.rank < size % world.world_size)
        return rows, node.op.is_view and node.op.name != "BatchDataset"

    def _notes_of(self, node: Node, kind: str) -> list[str]:
        if prepared_of(node) is not None:
            return ["computed once, and read from a file after that"]
        if kind != OP or node in self._kept:
            return []
        notes = []
        if node in self._fused_into:
            into = self._fused_into[node]
            notes.append(f"computed together with {into.op.name}, as one op")
        elif node not in self._planned:
            notes.append("not computed: no wanted blob needs it")
        elif any(one.stage for one in self._planned.values()):
            stage = self._planned[node].stage
            how = "the whole batch at once" if stage % 2 else "ranges of rows"
            notes.append(f"stage {stage}: {how}")
        return notes

    # ---- The last vertex ----------------------------------------------------------------------

    def finish(self, facts: Sequence[str]) -> None:
        """Adds the last vertex, with the wanted blobs; `facts` are lines of it."""
        outputs = []
        for key, blob in self._wanted.items():
            rows, is_most = self._rows_of(blob.node)
            type = RowType(blob.dtype, blob.shape[1:])
            own = None if self._is_data_set else rows
            outputs.append(Output(printable(key), type, own, is_most, True))
        inputs = self._edges_to(len(self.vertices), self._wanted.values())
        title, notes = "record", list(facts)
        if not self._is_data_set:
            first = next(iter(self._wanted.values()))
            title, said = _batch_words(first.batch_size, self._world, outputs)
            notes = [said, *notes] if said else notes
        self._put(Vertex(BATCH, title, "", (), tuple(outputs), tuple(notes)), inputs)


# ---- Kept records -------------------------------------------------------------------------------


def _inputs_of(node: Node) -> Iterable[Blob]:
    """The inputs of a node; for the reader of a cache, the blobs that are cached."""
    kept = prepared_of(node)
    return node.inputs if kept is None else kept.fields.values()


def _with_kept(nodes: Iterable[Node]) -> tuple[list[Node], set[Node]]:
    """The nodes, inputs first, with the nodes before caches; and separately these last ones, which
    no loader runs once the cache exists.
    """
    found: dict[Node, None] = {}
    before: set[Node] = set()
    for node in nodes:
        kept = prepared_of(node)
        if kept is not None:
            inner, _ = _with_kept(nodes_of(kept.fields.values()))
            found.update(dict.fromkeys(inner))
            before.update(inner)
        found[node] = None
    return list(found), before


# ---- Facts about nodes --------------------------------------------------------------------------


def _kind_of(node: Node) -> str:
    if node.op.is_view:
        return BATCHES if node.op.is_reader else VIEW
    return READER if node.op.is_reader else OP


def _port(node: Node, index: int) -> str:
    return node.op.outputs[index].name


def _is_of_data_set(node: Node) -> bool:
    """Whether its rows are records that are not in batches yet."""
    while node.inputs and not node.op.is_reader:
        if node.op.is_view:
            return True
        node = node.inputs[0].node
    return node.op.is_reader and not node.op.is_view and "batch_size" not in node.values


def _passes(node: Node) -> bool:
    """Whether a view only reorders the records of its (first) data set."""
    if _kind_of(node) != VIEW or len(node.outputs) > len(node.inputs):
        return False
    return all(
        (own.name.rpartition("/")[2], own.dtype, own.shape[1:])
        == (given.name.rpartition("/")[2], given.dtype, given.shape[1:])
        for own, given in zip(node.outputs, node.inputs, strict=False)
    )


def _batch_words(rows: int, world: World, outputs: Sequence[Output]) -> tuple[str, str]:
    """The title of a batch with `rows` rows on all ranks, with the bytes of all its blobs."""
    title = f"batch of {'up to ' * outputs[0].is_most}{counted(rows, 'row')}"
    if world.world_size > 1:
        title += f", {outputs[0].rows:,} of them on rank {world.rank} of {world.world_size}"
    known = [one.batch_bytes for one in outputs if one.batch_bytes is not None]
    said = f"{size(sum(known))} a batch" if len(outputs) > 1 and known else ""
    if said and len(known) < len(outputs):
        said += ", and the ragged rows"
    return title, said


def _files_vertex(reader: Node) -> Vertex | None:
    if all(reader.op.attr(name) is None for name in _FILE_ATTRS):
        return None
    given = reader.values.get("files") or reader.values.get("data_dir") or ""
    first = str(given[0] if isinstance(given, list) else given)
    try:
        paths = files_of(reader)
    except FileError as failure:
        return Vertex(FILES, "missing files", printable(first), notes=(printable(failure.message),))
    if not paths:
        return None
    sizes = [os.stat(path).st_size for path in paths if os.path.isfile(path)]
    files = Files(len(sizes), len(paths) - len(sizes), sum(sizes))
    name = os.path.basename(os.path.normpath(paths[0])) + (" ..." if len(paths) > 1 else "")
    return Vertex(FILES, str(files), printable(name), files=files)
