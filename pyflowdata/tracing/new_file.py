"""A file that is there when it is whole: what was at its path before stays until then."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
from typing import IO

from ..errors import FileError, InvalidArgumentError, shown


def path_of(path: object) -> str:
    """A path as text.

    Raises:
        InvalidArgumentError: It is none.
    """
    try:
        found = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        found = None
    if not isinstance(found, str) or not found or "\0" in found:
        raise InvalidArgumentError(f"path = {shown(path)}; it must be the path of a file")
    return found


def cannot_write(path: str, failure: OSError) -> FileError:
    """The error of a path."""
    return FileError(f"the trace cannot be written: {failure.strerror or failure}", file=path)


class NewFile:
    """Is written beside its path, and then moved there.  What is not a regular file, such as a
    pipe, is written in place."""

    def __init__(self, path: str) -> None:
        """Makes sure that it can be written.

        Raises:
            FileError: It cannot.
        """
        self._is_compressed = path.endswith(".gz")
        self._path = os.path.realpath(path)  # a link stays one
        self._written = self._path
        self._is_beside = os.path.isfile(self._path) or not os.path.exists(self._path)
        try:
            if os.path.isdir(self._path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if self._is_beside:
                self._written = f"{self._path}.{os.getpid()}-{id(self):x}.part"
                os.close(os.open(self._written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as failure:
            raise cannot_write(path, failure) from None

    def open(self) -> IO[str]:
        """For writing it."""
        if self._is_compressed:
            return gzip.open(self._written, "wt", encoding="utf-8", compresslevel=3)
        return open(self._written, "w", encoding="utf-8")

    def put_in_place(self) -> None:
        """It is whole."""
        if self._is_beside:
            os.replace(self._written, self._path)

    def remove(self) -> None:
        """What was written, unless it is in its place."""
        if self._is_beside:
            with contextlib.suppress(OSError):
                os.remove(self._written)
