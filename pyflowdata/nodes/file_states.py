"""The states of files, by which a loader refuses files that are others than those seen before."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import FileError
from .attr_words import prepared_of, tables_of
from .node import Blob, files_of, nodes_of, reader_nodes


class FileState(NamedTuple):
    """What tells whether a file, or a folder, is another one; -1 where it cannot be seen.

    Attributes:
        path: Absolute.
        size: Bytes.
        mtime, ctime: Nanoseconds.
        inode: Its number in the file system.
        is_folder: Whether it is a folder.
    """

    path: str
    size: int = -1
    mtime: int = -1
    ctime: int = -1
    inode: int = -1
    is_folder: bool = False


def state_of_files(blobs: Iterable[Blob]) -> tuple[FileState, ...]:
    """The states of the files of all readers upstream, in order.

    Of a reader of folders, they are those of the folders, also of those inside: each file that
    comes or goes changes the times of its folder.

    Raises:
        FileError: A file is missing.
    """
    found: list[FileState] = []
    for node in reader_nodes(blobs):
        made = prepared_of(node)
        if made is not None:  # a cache, whose own file may be made later
            found += state_of_files(made.fields.values())
            continue
        waiting, seen = files_of(node)[::-1], set[str]()
        while waiting:
            state = state_of(waiting.pop())
            found.append(state)
            real = os.path.realpath(state.path) if state.is_folder else ""
            if state.is_folder and real not in seen:  # links of folders can make a circle
                seen.add(real)
                waiting += _folders_in(state)
    return tuple(found)


def state_of(path: str) -> FileState:
    """The state of a file or folder, on this machine."""
    path = os.path.abspath(path)
    try:
        found = os.stat(path)
    except OSError:
        return FileState(path)
    times = found.st_mtime_ns, found.st_ctime_ns
    return FileState(path, found.st_size, *times, found.st_ino, stat.S_ISDIR(found.st_mode))


@functools.lru_cache(1 << 16)
def _folders_in(state: FileState) -> tuple[str, ...]:
    """The folders in a folder, which is listed once for each of its states."""
    try:
        with os.scandir(state.path) as entries:
            return tuple(sorted((one.path for one in entries if one.is_dir()), reverse=True))
    except OSError:
        return ()


def refuse_changed(before: Iterable[FileState], now: Iterable[FileState]) -> None:
    """Refuses files that are not those that were seen before.

    Raises:
        FileError: It names a file that differs, came or went.
    """
    changed = sorted({*before} ^ {*now})
    if changed:
        raise FileError(
            "the file changed while this data set was open, so that its records are others; open "
            "the data set again", file=changed[0].path,
        )  # fmt: skip


def check_seen(blobs: Iterable[Blob]) -> None:
    """Refuses files that changed since a data set was read of which these are batches, or since an
    array such as the mask of `where()` was computed from them.

    A loader calls it when its files are open: from then on it notices changes by itself.

    Raises:
        FileError: It names the file.
    """
    right = set[tuple[FileState, ...]]()  # the same states of several views are looked at once
    for node in nodes_of(blobs):
        looks = [(table.state, table.state_now) for table in tables_of(node)]
        if node.seen:
            looks.append((node.seen, functools.partial(state_of_files, node.inputs)))
        for before, look in looks:
            if before not in right:
                refuse_changed(before, look())
                right.add(before)
