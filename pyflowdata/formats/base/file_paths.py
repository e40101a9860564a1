"""The files that a path, a pattern or a folder stands for."""

from __future__ import annotations

import glob
import os

from ...errors import FileError, shown
from ...native import encode, ffi, lib, text
from .detection import is_data_set

_WORDS = 1000  # bytes of a message about a missing file


def expanded(path: str, format: str | None = None) -> list[str]:
    """The files that a path, pattern or folder stands for, sorted.

    Args:
        path: As the user gives it; in a pattern, ** stands for any folders.
        format: The name of their format, where the user says it.

    Raises:
        FileError: There are none; the text says what is there instead.
    """
    if not os.path.exists(path):
        found = sorted(filter(os.path.exists, glob.glob(path, recursive=True)))
        if not found:
            raise FileError(_why_missing(path), file=path)
        return found
    if not os.path.isdir(path) or is_data_set(path, format):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as failure:
        said = failure.strerror or str(failure)
        raise FileError(f"the folder cannot be read: {said}", file=path) from None
    inside = (os.path.join(path, name) for name in names if not name.startswith((".", "_")))
    if found := [one for one in inside if os.path.isfile(one)]:
        return found
    raise FileError(_why_empty(path, names), file=path)


def _why_missing(path: str) -> str:
    if not path:
        return "a path is empty"
    room = ffi.new("char[]", _WORDS)
    lib.pfd_missing_file(encode(path, "path"), room, _WORDS)
    return text(room)


def _why_empty(path: str, names: list[str]) -> str:
    """What is in a folder without files."""
    folders = [name for name in names if os.path.isdir(os.path.join(path, name))]
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
