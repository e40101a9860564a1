"""The attrs of a reader: where its files are, and how it reads them."""

from __future__ import annotations

from collections.abc import Mapping

from ...nodes import Blob, Node, find_op
from ...nodes.node import files_of

_PLACES = {
    "data_dir", "files", "data_part_num", "part_name_prefix", "part_name_suffix_length"
}  # fmt: skip


def reading_in(values: Mapping[str, object]) -> dict[str, object]:
    """The attrs that say how the files are read, without those of batches."""
    others = {attr.name for attr in find_op("BatchDataset").attrs} | _PLACES
    return {name: value for name, value in values.items() if name not in others}


def files_in(op: str, values: Mapping[str, object], **needed: object) -> list[str]:
    """The files that the attrs of a reader name.

    Args:
        op: The name of the reader.
        needed: Attrs that the reader needs and the program left out; their values do not matter.

    Raises:
        FileError: There are no files.
    """
    given = {name: value for name, value in values.items() if name in _PLACES}
    given |= {**needed, "rank": 0, "world_size": 1}
    return files_of(Node(find_op(op), None, (), given))


def reader_of(record: Blob) -> Node | None:
    """The reader whose first output a blob is, also through views and batches; of several readers
    the first. None: other ops are between them."""
    while record.node.op.is_view and record.index < len(record.node.inputs):
        record = record.node.inputs[record.index]
    node = record.node
    return node if node.op.is_reader and not node.inputs and record.index == 0 else None
