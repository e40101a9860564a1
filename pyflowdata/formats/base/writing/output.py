"""A file that is written under a temporary name, and the streams that compress it."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import zlib
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from ....errors import Error, FileError, UnsupportedError

COMPRESSIONS = ("gzip", "zlib", "zstd")
LEVELS = {"gzip": (0, 9), "zlib": (0, 9), "zstd": (-131072, 22)}
_STEM = 200  # bytes of the target's name in that of its temporary file
_BLOCK = 1 << 20  # bytes that are written at once
_WINDOW_BITS = {"gzip": 31, "zlib": 15}  # zlib's gzip header names neither file nor time

T = TypeVar("T")


def compressor(name: str, level: int | None) -> Any:
    """An object with compress(data) and flush().

    Raises:
        UnsupportedError: It is zstd, and there is no package that has it.
    """
    if name in _WINDOW_BITS:
        method = zlib.Z_DEFAULT_COMPRESSION if level is None else level
        return zlib.compressobj(method, zlib.DEFLATED, _WINDOW_BITS[name], 9)
    try:
        return importlib.import_module("zstandard").ZstdCompressor(level or 3).compressobj()
    except ImportError:
        pass
    try:  # Python 3.14
        return importlib.import_module("compression.zstd").ZstdCompressor(level)
    except ImportError:
        raise UnsupportedError(
            "compression = 'zstd' needs the package zstandard (pip install zstandard) or "
            "Python 3.14; gzip and zlib need neither"
        ) from None


def failed(failure: OSError, path: Path, doing: str) -> Error:
    """What the system said, as an error of this package that names the file."""
    said = failure.strerror or str(failure)
    is_there = os.path.lexists(path)
    left = "the file that was there is as it was" if is_there else "nothing is left under this name"
    return FileError(f"{doing}: {said}; {left}", file=os.fspath(path))


def sync_folder(folder: Path) -> None:
    """Makes names in a folder last; file systems that cannot are left alone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def temporary(target: Path) -> Path:
    """A name beside the target for what is not finished; another one in each call."""
    # Names have a limit in bytes; a character that is cut there is left out.
    stem = os.fsencode(target.name)[:_STEM].decode("utf-8", "ignore")
    return target.parent / f".{stem}.{os.getpid()}-{os.urandom(4).hex()}.tmp"


def check_length(target: Path) -> None:
    """A name that is too long fails now, not when all is written."""
    try:
        os.lstat(target)
    except OSError as failure:
        if failure.errno == errno.ENAMETOOLONG:
            raise failed(failure, target, "making it") from failure


def not_made(failure: OSError, target: Path, what: str) -> Error:
    """The error of a folder in which nothing can be made."""
    said = failure.strerror or str(failure)
    return FileError(
        f"no {what} can be made in the folder {target.parent}: {said}", file=os.fspath(target)
    )


class OutputFile:
    """A new file beside the place it is meant for.

    Attributes:
        target: What it is to be called, for messages; the name itself is given later.
        path: What it is called until then.
        size: Bytes that were written, before compression.
    """

    def __init__(
        self,
        target: Path,
        compression: str | None = None,
        level: int | None = None,
        *,
        is_patched: bool = False,
    ) -> None:
        """Makes the file.

        Args:
            target: As the attribute.
            compression: One of COMPRESSIONS, or None.
            level: Of the compression; None for its default.
            is_patched: Whether patch() is called, so that compression waits until all is there.

        Raises:
            FileError: The folder is not there, or nothing can be written into it.
        """
        self.target = target
        check_length(target)
        self.size = 0
        self._packer: Any = compressor(compression, level) if compression else None
        self._is_late = is_patched and compression is not None
        self._kept: list[bytes] = []  # written with the next block
        self._kept_size = 0
        self._process = os.getpid()
        self._file, self.path = self._create()

    def _create(self) -> tuple[FileIO, Path]:
        while True:
            path = temporary(self.target)
            try:
                return FileIO(path, "x+"), path
            except FileExistsError:
                continue
            except OSError as failure:
                raise not_made(failure, self.target, "file") from failure

    def _do(self, call: Callable[[], T], doing: str) -> T:
        try:
            return call()
        except OSError as failure:
            raise failed(failure, self.target, doing) from failure

    def _write_all(self, data: bytes | memoryview) -> None:
        rest = memoryview(data)
        while len(rest):
            rest = rest[self._file.write(rest) :]

    def _keep(self, data: bytes | memoryview) -> None:
        """Small pieces are put together into blocks."""
        if len(data) < _BLOCK:
            self._kept.append(bytes(data))
            self._kept_size += len(data)
            if self._kept_size >= _BLOCK:
                self._flush()
            return
        self._flush()
        self._do(lambda: self._write_all(data), f"writing {len(data)} bytes")

    def _flush(self) -> None:
        block = b"".join(self._kept)
        self._kept.clear()
        self._kept_size = 0
        self._do(lambda: self._write_all(block), f"writing {len(block)} bytes")

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes."""
        packed = self._packer.compress(data) if self._packer and not self._is_late else data
        self._keep(packed)
        self.size += len(data)

    def patch(self, offset: int, data: bytes) -> None:
        """Overwrites bytes that were written before."""
        self._flush()
        self._do(
            lambda: os.pwrite(self._file.fileno(), data, offset),
            f"writing {len(data)} bytes at byte {offset}",
        )

    def _compress_all(self) -> None:
        """Puts a compressed file in the place of the plain one."""
        self._flush()
        plain, plain_path = self._file, self.path
        try:
            self._do(lambda: plain.seek(0), "reading what was written")
            self._file, self.path = self._create()
            while block := self._do(lambda: plain.read(_BLOCK), "reading what was written"):
                self._keep(self._packer.compress(block))
        finally:
            plain.close()
            plain_path.unlink(missing_ok=True)

    def seal(self) -> None:
        """Writes all that is left, makes it last, and closes the file."""
        if self._is_late:
            self._compress_all()
        if self._packer:
            self._keep(self._packer.flush())
        self._flush()
        self._do(lambda: os.fsync(self._file.fileno()), "syncing")
        self._do(self._file.close, "closing")

    def discard(self) -> None:
        """Closes and removes it; nothing is raised.  A forked child leaves the file alone."""
        with contextlib.suppress(OSError):
            self._file.close()
        if os.getpid() == self._process:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
