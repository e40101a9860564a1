"""The files of a reader, as the C library finds them."""

from __future__ import annotations

import os

from ..native import check, ffi, lib, new_error
from .node import Node


def files_of(reader: Node) -> list[str]:
    """The paths of a reader's files; none if it does not read files.

    Raises:
        FileError: Files are missing.
    """
    size, count, err = ffi.new("int64_t *"), ffi.new("int64_t *"), new_error()
    found, room = ffi.NULL, 0
    while True:
        status = lib.pfd_node_files(reader.handle, found, room, size, count, err)
        check(status, err)
        if size[0] <= room:
            break
        room = size[0]
        found = ffi.new("char[]", room)
    paths = bytes(ffi.buffer(found, size[0])).split(b"\0")[: count[0]] if size[0] else []
    return [os.fsdecode(path) for path in paths]
