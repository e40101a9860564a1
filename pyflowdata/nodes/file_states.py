"""The states of files, by which a loader refuses files that have changed since they were first
seen.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import FileError
from ..native import encode, lib
from .attr_words import prepared_of, tables_of
from .node import Blob, files_of, nodes_of, reader_nodes


class FileState(NamedTuple):
    """Facts that show whether a file or folder has changed; -1: a fact that is not available.

    Attributes:
        path: The absolute path, or the address.
        size: The size in bytes.
        mtime, ctime: The times in nanoseconds.
        inode: The number of the file in the file system.
        is_folder: Whether it is a folder.
        tag: The version of an object, as its store states it.
    """

    path: str
    size: int = -1
    mtime: int = -1
    ctime: int = -1
    inode: int = -1
    is_folder: bool = False
    tag: str = ""


def state_of_files(blobs: Iterable[Blob]) -> tuple[FileState, ...]:
    """The states of the files of all readers upstream, in order.

    For a reader of folders they are the states of the folders, and of folders inside: a file that
    is added or removed changes the times of its folder.

    Raises:
        FileError: A file is missing.
    """
    found: list[FileState] = []
    for node in reader_nodes(blobs):
        made = prepared_of(node)
        if made is not None:  # a cache, whose own file may be made later
            found += state_of_files(made.fields.values())
            continue
        paths, seen = files_of(node), set[str]()
        if node.op.reads_folders:
            found += (state for path in paths for state in _states_in_store(path))
            paths = [path for path in paths if not _is_remote(path)]
        objects = _states_of_objects(paths)
        waiting = paths[::-1]
        while waiting:
            path = waiting.pop()
            state = objects.get(path) or state_of(path)
            found.append(state)
            real = os.path.realpath(state.path) if state.is_folder else ""
            if state.is_folder and real not in seen:  # links of folders can make a circle
                seen.add(real)
                waiting += _folders_in(state)
    return tuple(found)


def _is_remote(path: str) -> bool:
    return bool(lib.pfd_path_is_remote(encode(path, "path")))


def _states_in_store(folder: str) -> Iterator[FileState]:
    """The states of a folder in a store, and of the folders inside; none for a local folder."""
    waiting = [folder] if _is_remote(folder) else []
    while waiting:
        from ..remote.client import folder_facts  # not needed by programs that read local files

        facts, inside = folder_facts(path := waiting.pop())
        yield FileState(path, facts.size, is_folder=True, tag=facts.tag)
        waiting += inside[::-1]


def _states_of_objects(paths: Iterable[str]) -> dict[str, FileState]:
    """The states of the paths that are addresses; the store is asked for all of them together."""
    urls = list(filter(_is_remote, paths))
    if not urls:
        return {}
    from ..remote.client import look_at  # not needed by programs that read local files

    return {
        url: FileState(url, facts.size, int(facts.modified * 1e9), tag=facts.tag)
        for url, facts in zip(urls, look_at(urls), strict=True)
    }


def state_of(path: str) -> FileState:
    """The state of a file or folder, on this machine or in a store.

    Raises:
        FileError: There is no such object in the store.
    """
    if objects := _states_of_objects([path]):
        return objects[path]
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
    """Refuses files that have changed since they were seen.

    Raises:
        FileError: It names a file that was changed, added or removed.
    """
    changed = sorted({*before} ^ {*now})
    if changed:
        raise FileError(
            "the file changed while this data set was open, so its records may differ; open the "
            "data set again", file=changed[0].path,
        )  # fmt: skip


def check_seen(blobs: Iterable[Blob]) -> None:
    """Refuses files that changed since the data set of these batches was read, or since an array,
    such as the mask of `where()`, was computed from them.

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
