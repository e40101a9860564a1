"""Sources that can only be read in sequence, as far as a header tells."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from typing import Any

from ..errors import Error, UnsupportedError
from ..formats import FORMATS, head_of
from ..nodes import Blob, Node

_compressions: weakref.WeakKeyDictionary[Node, str | None] = weakref.WeakKeyDictionary()


def refuse_stream(blobs: Iterable[Blob], what: str) -> None:
    """Refuses fields of compressed files, for a view, which asks for records in any order.

    Raises:
        UnsupportedError: The first file is compressed, by its header, and is not decompressed into
            memory.
    """
    for node in _readers_of(blobs):
        if node not in _compressions:
            _compressions[node] = _compression_of(node)
        if _compressions[node]:
            raise UnsupportedError(
                f"the files are compressed ({_compressions[node]}), and can only be read in "
                f"sequence: shuffle() and batch() work, and {what} asks for records in any order; "
                "decompress or convert the files, or cache() the data set before",
                op=node.op.name,
            )


def _readers_of(blobs: Iterable[Blob]) -> Iterable[Node]:
    """The readers of the fields; none of those before a view, which has checked them."""
    waiting, seen = [blob.node for blob in blobs], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op.is_reader:
            yield node
        elif not node.op.is_view:
            waiting += [blob.node for blob in node.inputs]


def _compression_of(reader: Node) -> str | None:
    """Of the first file; None: none, or the reader can read it in any order."""
    files: Any = reader.values.get("files")
    if not isinstance(files, list) or not files or not os.path.isfile(files[0]):
        return None
    if reader.values.get("compression") == "none":
        return None
    own = [one for one in FORMATS.values() if one.reader == reader.op.name]
    if not own or any(one.decompresses_whole or one.origin != "built in" for one in own):
        return None
    try:
        return head_of(files[0]).compression
    except Error:
        return None  # the loader says it
