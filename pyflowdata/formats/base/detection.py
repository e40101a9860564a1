"""The files that a path stands for, and the format of each, as the C library detects it."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from ...errors import Error, FileError, InvalidArgumentError, shown
from ...native import check, encode, exception, ffi, lib, new_error, text
from ...nodes.registry import detect_format, folder_format, registered_formats
from ... import remote
from ...remote import forget_facts, is_remote
from ...words.remedies import did_you_mean

# ---- Files of a path ----------------------------------------------------------------------------

_WORDS = 1000  # bytes of a message about a missing file


_SEAL: str = text(lib.pfd_seal_suffix())


def _is_seal(name: str) -> bool:
    return name.endswith(_SEAL)


def _is_data(name: str) -> bool:
    """Whether a file in a folder is data, and not hidden or a seal."""
    return not name.startswith((".", "_")) and not _is_seal(name)


_PAUSES = (0.001, 0.004, 0.016, 0.064, 0.256)  # between tries, in seconds, as in C


def kind_of(path: str) -> int:
    """The kind of what a path leads to, as PFD_PATH_*.

    Raises:
        FileError: The kind is not known, since the call failed or a link leads nowhere; to go on
            could leave out a part of the data.
    """
    kind, err = ffi.new("int32_t *"), new_error()
    check(lib.pfd_path_kind(encode(path or ".", "path"), kind, err), err)
    return int(kind[0])


def _is_there(path: str) -> bool:
    return bool(kind_of(path) != lib.PFD_PATH_MISSING)


def is_file(path: str) -> bool:
    return bool(kind_of(path) == lib.PFD_PATH_FILE)


def _is_folder(path: str) -> bool:
    return bool(kind_of(path) == lib.PFD_PATH_FOLDER)


def _names(folder: str) -> list[str]:
    """The names in a folder; none where there is no folder.

    Raises:
        FileError: The folder cannot be read, or is a link that leads nowhere.
    """
    for pause in (*_PAUSES, None):
        try:
            return os.listdir(folder or ".")
        except OSError as failure:
            reason = lib.pfd_reason_of_errno(failure.errno or 0)
            if reason == lib.PFD_REASON_NONE:
                kind_of(folder)  # an error where a link leads nowhere
                return []
            said = f"the folder cannot be read: {failure.strerror or failure}"
        if reason != lib.PFD_REASON_TRANSIENT:
            raise FileError(said, file=folder, reason="environment")
        if pause is not None:
            time.sleep(pause)
    raise FileError(said, file=folder, reason="transient")


def _below(folder: str, around: tuple[tuple[int, int], ...] = ()) -> Iterator[str]:
    """The folder and everything in it, except for hidden files, and links to folders around them.
    """
    if not _is_folder(folder):
        yield folder
        return
    facts = os.stat(folder or ".")
    if (own := (facts.st_dev, facts.st_ino)) in around:
        return
    yield folder
    for name in _names(folder):
        if not name.startswith("."):
            yield from _below(os.path.join(folder, name), (*around, own))


def _matches(pattern: str) -> Iterator[str]:
    """The paths that a pattern stands for, as with glob.glob(), which leaves out what it cannot
    read.
    """
    import glob  # for patterns alone

    folder, name = os.path.split(pattern)
    if name == os.path.basename(folder) == "**":
        yield from _matches(folder)
        return
    for one in _matches(folder) if glob.has_magic(folder) else [folder]:
        if name == "**":
            yield from _below(one)
        elif glob.has_magic(name):
            for found in _names(one):
                if remote.client.name_matches(found, name):
                    yield os.path.join(one, found)
        else:
            yield os.path.join(one, name)


def expanded(paths: Sequence[str], format: str | None = None) -> list[str]:
    """The files that paths, patterns and folders stand for, sorted for each of them.

    Args:
        paths: As the user gives them; in a pattern, ** stands for any folders.
        format: The name of their format, if the user gives it.

    Raises:
        FileError: A path stands for no file; the message names what was found instead.
    """
    forget_facts()
    return [file for path in paths for file in _expanded(path, format)]


def _expanded(path: str, format: str | None) -> list[str]:
    if is_remote(path):
        return _expanded_remote(remote.client.name_object(path), format)
    if path[:8].lower() == "file:///":
        path = path[len("file://") :]
    if not path or not _is_there(path):
        kinds = {one: kind_of(one) for one in sorted(set(_matches(path))) if one}
        found = [
            one for one, kind in kinds.items() if kind != lib.PFD_PATH_MISSING
            and (not _is_seal(one) or path.endswith(_SEAL))
        ]  # fmt: skip
        # Folders count where the pattern stands for nothing else.
        found = [one for one in found if kinds[one] != lib.PFD_PATH_FOLDER] or found
        if not found:
            raise FileError(_why_missing(path), file=path)
        return found
    if not _is_folder(path) or is_data_set(path, format):
        return [path]
    names = sorted(_names(path))
    inside = (os.path.join(path, name) for name in names if _is_data(name))
    if found := list(filter(is_file, inside)):
        return found
    raise FileError(_why_empty(path, names), file=path)


def _expanded_remote(path: str, format: str | None) -> list[str]:
    """The same for an address."""
    kind = lib.PFD_PATH_MISSING if remote.client.has_magic(path) else kind_of(path)
    if kind == lib.PFD_PATH_FILE or kind == lib.PFD_PATH_FOLDER and is_data_set(path, format):
        return [path]
    found = []
    if kind == lib.PFD_PATH_FOLDER:
        listed = remote.client.listed(path.rstrip("/") + "/")
        names = ((one, one.rpartition("/")[2]) for one in listed)
        found = [one for one, name in names if name and _is_data(name)]
    elif remote.client.has_magic(path):
        found = remote.client.listed(path)
    found = [one for one in found if not _is_seal(one) or path.endswith(_SEAL)]
    if not found:
        raise FileError(_why_missing(path), file=path)
    return found


def _why_missing(path: str) -> str:
    if not path:
        return "a path is empty"
    room = ffi.new("char[]", _WORDS)
    lib.pfd_missing_file(encode(path, "path"), room, _WORDS)
    return text(room)


def _why_empty(path: str, names: list[str]) -> str:
    folders = [name for name in names if _is_data(name) and _is_folder(os.path.join(path, name))]
    if not names:
        return "the folder is empty"
    if folders:
        deep = os.path.join(path, "**", "*")
        return (
            f"the folder has no files, but folders: {', '.join(map(shown, folders[:5]))}"
            f"{' and more' if len(folders) > 5 else ''}; the pattern {shown(deep)} stands for "
            "the files in them"
        )
    return (
        "the folder has only names that begin with '.' or '_', which are left out: "
        f"{', '.join(map(shown, names[:5]))}"
    )


# ---- Formats ------------------------------------------------------------------------------------

HEAD: int = lib.PFD_PROBE_BYTES  # bytes that detection reads, after decompression


class Detected(NamedTuple):
    """A file and its format.

    Attributes:
        path: The file, or the folder that is a data set; for a folder with an index, the index.
        format: The name of the format.
        compression: A key of `nodes.registry.COMPRESSIONS`, or None.
        head: The first bytes, decompressed.
        size: The bytes of the file, before decompression.
        is_empty: Whether the decompressed file has no bytes.
    """

    path: str
    format: str
    compression: str | None
    head: bytes
    size: int
    is_empty: bool = False


class Head(NamedTuple):
    """The first bytes of a file.

    Attributes:
        data: HEAD bytes, decompressed; fewer where the file ends or is damaged.
        size: The bytes of the file, before decompression.
        compression: A key of `nodes.registry.COMPRESSIONS`, or None.
        damage: The error that ends the data of a compressed file.
    """

    data: bytes
    size: int
    compression: str | None
    damage: Error | None


def head_of(path: str | os.PathLike[str]) -> Head:
    """The first bytes of a file.

    Raises:
        FileError: The file cannot be read.
        UnsupportedError: This build has no library for the compression.
    """
    room = ffi.new("uint8_t[]", HEAD)
    sizes, name = ffi.new("int64_t[2]"), ffi.new("const char **")
    damage, err = new_error(), new_error()
    where = encode(os.fspath(path), "path")
    check(lib.pfd_file_head(where, room, HEAD, sizes, sizes + 1, name, damage, err), err)
    found = None if damage.status == lib.PFD_OK else exception(damage.status, damage)
    compression = text(name[0])
    data: bytes = ffi.buffer(room, sizes[0])[:]
    return Head(data, int(sizes[1]), None if compression == "none" else compression, found)


def begins_with_text(path: str) -> bool:
    """Whether the first bytes of a file are text in UTF-8; a file in a store is not looked at, and
    counts as bytes.
    """
    if is_remote(path):
        return False
    try:
        head = head_of(path).data
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except (Error, UnicodeDecodeError):
        return False
    return b"\0" not in head


def size_of(path: str) -> int:
    """The bytes of a file."""
    return remote.client.look_at([path])[0].size if is_remote(path) else os.path.getsize(path)


def opened(path: str) -> BinaryIO:
    """A file that is open for reading its bytes in Python; for a remote file an unnamed copy."""
    return remote.open_copy(path) if is_remote(path) else open(path, "rb")


def read_range(path: str, begin: int, size: int) -> bytes:
    """At most `size` bytes of a file from `begin` on, as stored; fewer where the file ends."""
    if is_remote(path):
        (facts,) = remote.client.look_at([path])
        size = min(size, facts.size - begin)
        return bytes(remote.client.fetch(path, facts.tag, begin, size)) if size > 0 else b""
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(size)


_PIECE = 1 << 20


def file_bytes(path: str) -> Iterator[bytes]:
    """The bytes of a file in pieces of 1 MiB, decompressed where it is compressed.

    Raises:
        FileError: The file cannot be read.
        UnsupportedError: This build has no library for the compression.
        CorruptDataError: The compressed data are damaged.
    """
    opened, size, err = ffi.new("pfd_file_bytes **"), ffi.new("int64_t *"), new_error()
    room = ffi.new("uint8_t[]", _PIECE)
    check(lib.pfd_file_bytes_open(encode(path, "path"), opened, err), err)
    try:
        while True:
            check(lib.pfd_file_bytes_read(opened[0], room, _PIECE, size, err), err)
            if not size[0]:
                return
            yield ffi.buffer(room, size[0])[:]
    finally:
        lib.pfd_file_bytes_close(opened[0])


def _is_of_another(path: str) -> bool:
    """Whether a file only has the name of a file that makes a folder a data set: other programs
    also have a state.json beside their files.
    """
    try:
        head = head_of(path)
        name = detect_format(path, head.data, None if head.compression else head.size)
    except FileError:
        raise
    except Error:
        return False  # the reader says what is wrong with it
    own = os.path.basename(path)
    return name not in {one.name for one in registered_formats() if one.folder_file == own}


def data_file(path: str | os.PathLike[str]) -> str | None:
    """The file, such as an index, that makes a folder a data set; None: there is no such file.

    Raises:
        FileError: It cannot be determined.
    """
    folder = os.fspath(path)
    if is_remote(folder) and remote.client.is_object(folder):
        return None
    names = {one.folder_file for one in registered_formats()} - {""}
    inside = (os.path.join(folder, name) for name in sorted(names))
    found = [one for one in inside if is_file(one)]
    return next((one for one in found if not _is_of_another(one)), None)


def is_data_set(path: str | os.PathLike[str], format: str | None = None) -> bool:
    """Whether a folder is one data set, not a set of files: it has an index, or files in folders.

    Args:
        format: The name of its format, if the caller knows it.
    """
    if any(one.reads_folders for one in registered_formats() if one.name == format):
        return True
    if data_file(path) is not None:
        return True
    return folder_format(os.fspath(path)) is not None


def _detect_folder(path: str, format: str | None) -> Detected | None:
    """The format of a folder that is read as a whole; None: the folder is not one data set."""
    if not _is_folder(path):
        return None
    own = {one.name for one in registered_formats() if one.reads_folders}
    name = folder_format(path) if format is None else format
    return Detected(path, name, None, b"", 0) if name in own and name is not None else None


def _refuse_foreign(path: str, head: bytes, format: str) -> None:
    """Refuses files of formats that have no reader, such as Parquet or a zip archive."""
    words = text(lib.pfd_foreign_container(head, len(head)))
    if words:
        raise InvalidArgumentError(f"it looks like {words}, which is not {format}", file=path)


def detect(path: str | os.PathLike[str], format: str | None = None) -> Detected:
    """The format of a file, from its content, and from its name if the content is not enough.

    Args:
        path: A file, or a folder that is a data set, such as a folder with an index.json or with a
            folder of images for each class.
        format: The name of the format, if the caller knows it; then only the compression is
            detected.

    Raises:
        FileError: The file cannot be read.
        UnsupportedError: This build has no library for the compression.
        InvalidArgumentError: The format is not known.
        CorruptDataError: The file begins like compressed data, but the rest of that header is
            damaged.
    """
    known = [one.name for one in registered_formats()]
    if format is not None and format not in known:
        raise InvalidArgumentError(
            f"format = {shown(format)}; it must be one of {', '.join(known)}"
            + did_you_mean(str(format), known)
        )
    where = data_file(path) or os.fspath(path)
    folder = _detect_folder(where, format)
    if folder is not None:
        return folder
    head = head_of(where)
    if format is not None:
        _refuse_foreign(where, head.data, format)
    else:
        format = detect_format(where, head.data, None if head.compression else head.size)
    is_empty = not head.data and head.damage is None
    return Detected(where, format, head.compression, head.data, head.size, is_empty)
