"""A graph of blobs as vertices and edges, from the files down to the batch: what is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..nodes import dtype_name
from ..nodes.row_types import RowType
from ..plain_text import counted, size

FILES, READER, VIEW, BATCHES, OP, BATCH = "files", "reader", "view", "batches", "op", "batch"
MORE = "more"


@dataclass(frozen=True)
class Output:
    """A blob: what a vertex makes, or, of the last vertex, what a batch has.

    Attributes:
        name: Without the name of the node; of what a batch has, its key, or "[0]" in a tuple.
        type: Of one row.
        rows: That this rank has in a full batch; None: of a data set, which has no batches.
        is_most: Batches differ in size, and `rows` are the most.
        is_used: An op of the graph takes it, or the batch has it.
        wanted: The keys under which the batch has it.
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
        """Bytes that a full batch of this rank has of it; None: they are not known."""
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
    """Files and folders of readers, and the bytes of the files."""

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
        title: Name of the op or view; of files how many, of the last vertex what it is.
        name: Of the node, as the user gave it; of files the first one; else "".
        attrs: Names and values of those that are not as by default.
        outputs: In the order of the op.
        notes: Further facts, a line each.
        count: For how many equal branches of a data set it stands.
        passes: Its outputs are its inputs, in another order.
        files: Of kind "files": how many.
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
        outputs: Names of the source's outputs that go along.
        is_fused: The two ops are computed as one.
    """

    source: int
    target: int
    outputs: tuple[str, ...] = ()
    is_fused: bool = False


@dataclass(frozen=True)
class Drawn:
    """What is drawn: vertices, inputs before what takes them, the batch last; and edges."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
