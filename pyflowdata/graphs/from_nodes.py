"""From nodes to the vertices and edges of a drawing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ..errors import FileError
from ..nodes import Blob, Node
from ..nodes.node import nodes_of
from ..nodes.node_files import files_of
from ..nodes.row_types import RowType
from ..nodes.attr_words import prepared_of, said_of_tables, told_attrs, value_text, view_word
from ..nodes.world import World
from ..plain_text import counted, printable, size
from .model import BATCH, BATCHES, FILES, OP, READER, VIEW, Edge, Files, Output, Vertex
from .planned_ops import Planned, planned_ops

_FILE_ATTRS = ("files", "data_dir")  # which the vertex of the files says
_RECORD_ATTRS = ("batch_size", "rank", "world_size")  # of the batches in which a data set is read


class Builder:
    """Makes the vertices, inputs before what takes them.

    Attributes:
        vertices, edges: What there is so far.
    """

    def __init__(self, wanted: Mapping[str, Blob], *, is_data_set: bool) -> None:
        """Args:
        wanted: What a batch has, by keys.
        is_data_set: They are the fields of one, in batches that nobody asked for.
        """
        self.vertices: list[Vertex] = []
        self.edges: list[Edge] = []
        self._wanted = wanted
        self._is_data_set = is_data_set
        self._planned = planned_ops(list(wanted.values()))
        self._fused_into = {one.fused: node for node, one in self._planned.items() if one.fused}
        self._keys: dict[tuple[Node, int], list[str]] = {}
        for key, blob in wanted.items():
            self._keys.setdefault((blob.node, blob.index), []).append(key)
        nodes, self._kept = _with_kept(nodes_of(wanted.values()))
        self._world = next(world for blob in wanted.values() for world in blob.node.worlds)
        self._used = {(blob.node, blob.index) for node in nodes for blob in _inputs_of(node)}
        self._numbers: dict[Node, int] = {}  # of vertices
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
        self, target: int, blobs: Iterable[Blob], planned: Planned | None = None
    ) -> dict[int, Edge]:
        """An edge for each vertex that some of the blobs come from."""
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
        """Adds the vertex of what is wanted; `facts` are lines of it."""
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
    """The blobs that a node is made of; of the reader of a cache, those that the cache has."""
    kept = prepared_of(node)
    return node.inputs if kept is None else kept.fields.values()


def _with_kept(nodes: Iterable[Node]) -> tuple[list[Node], set[Node]]:
    """The nodes with those before caches, inputs first; and the latter, which no loader of the
    blobs runs once the cache is there."""
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
    """Whether its rows are records that have no batches yet."""
    while node.inputs and not node.op.is_reader:
        if node.op.is_view:
            return True
        node = node.inputs[0].node
    return node.op.is_reader and not node.op.is_view and "batch_size" not in node.values


def _passes(node: Node) -> bool:
    """Whether a view has the fields of its (first) data set, only in another order."""
    if _kind_of(node) != VIEW or len(node.outputs) > len(node.inputs):
        return False
    return all(
        (own.name.rpartition("/")[2], own.dtype, own.shape[1:])
        == (given.name.rpartition("/")[2], given.dtype, given.shape[1:])
        for own, given in zip(node.outputs, node.inputs, strict=False)
    )


def _batch_words(rows: int, world: World, outputs: Sequence[Output]) -> tuple[str, str]:
    """The title of a batch of `rows` rows on all ranks, and the bytes of its blobs together."""
    title = f"batch of {'up to ' * outputs[0].is_most}{counted(rows, 'row')}"
    if world.world_size > 1:
        title += f", {outputs[0].rows:,} of them on rank {world.rank} of {world.world_size}"
    known = [one.batch_bytes for one in outputs if one.batch_bytes is not None]
    said = f"{size(sum(known))} a batch" if len(outputs) > 1 and known else ""
    if said and len(known) < len(outputs):
        said += ", and the ragged rows"
    return title, said


def _files_vertex(reader: Node) -> Vertex | None:
    """The files of a reader; None if it reads none."""
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
