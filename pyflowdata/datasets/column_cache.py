"""Arrays that were computed from all records of a data set, kept on disk like indexes.

A file is an array of NumPy's format, and after it what it was computed from and a checksum.  Its
name says which data, and what was computed; the state after the array, what the data was like.  It
is written under another name, synced and renamed.  None of this is an error: where files cannot be
written, each process computes its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import stat
import struct
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import ffi, lib
from .parsing import parsed

Array = npt.NDArray[Any]

_FOOTER = struct.Struct("<8s32sQ")  # magic, hash of the state, XXH64 of the elements
_MAGIC = b"pfdcolmn"
_LONGEST_WAIT = 600.0  # seconds for another process that computes the same


def cache_folder(index_dir: str) -> Path | None:
    """Where arrays are kept, as indexes are; None: nowhere.

    Args:
        index_dir: The attr of the readers.
    """
    xdg, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    named = index_dir or os.environ.get("PYFLOWDATA_INDEX_DIR", "")
    if named:
        return None if named == "none" else Path(named)
    if xdg.startswith("/"):
        return Path(xdg, "pyflowdata")
    return Path(home, ".cache", "pyflowdata") if home else None


class CachedArray:
    """The file of one array.

    Attributes:
        path: Where it is.
    """

    def __init__(self, folder: Path, identity: str, state: str) -> None:
        """Names the file, and touches nothing.

        Args:
            folder: Where.
            identity: Which data, and what is computed of it.
            state: What else it depends on: a file with another state is replaced.
        """
        self.path = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.column"
        self._state = hashlib.sha256(state.encode()).digest()

    def load(self) -> Array | None:
        """The array, mapped; None where there is none that is whole and current."""
        try:
            with open(self.path, "rb") as file:
                if not is_trusted(os.fstat(file.fileno())):
                    return None
                return self._map(file)
        except (OSError, ValueError, EOFError, SyntaxError, tokenize.TokenError):  # of its header
            return None

    def _map(self, file: io.BufferedReader) -> Array | None:
        file.seek(-_FOOTER.size, os.SEEK_END)
        end = file.tell()
        magic, state, checksum = _FOOTER.unpack(file.read())
        if magic != _MAGIC or state != self._state:
            return None
        file.seek(0)
        version = np.lib.format.read_magic(file)
        read_header = getattr(np.lib.format, f"read_array_header_{version[0]}_{version[1]}")
        place = file.tell()

        def header() -> tuple[Any, Any, Any]:
            """Reads it from its start, also a second time."""
            file.seek(place)
            found: tuple[Any, Any, Any] = read_header(file)
            return found

        shape, _, dtype = parsed(header)
        begin, count = file.tell(), int(np.prod(shape))
        if dtype.hasobject or begin + count * dtype.itemsize != end:
            return None
        array = (
            np.memmap(file, dtype, "r", begin, shape) if count else np.empty(shape, dtype)
        )
        return array if _checksum(array) == checksum else None

    def store(self, array: Array) -> Array:
        """The array, mapped from its new file where that can be written; else as it is."""
        temporary = self.path.with_name(f"{self.path.name}.tmp-{os.getpid()}-{time.time_ns():x}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(temporary, "xb") as file:
                    os.fchmod(file.fileno(), 0o644)
                    np.lib.format.write_array(file, array, allow_pickle=False)
                    file.write(_FOOTER.pack(_MAGIC, self._state, _checksum(array)))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, self.path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError:
            return array
        stored = self.load()
        return array if stored is None else stored

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Meanwhile no other process computes the same, unless it has waited for very long."""
        path = f"{self.path}.lock"
        deadline, pause = time.monotonic() + _LONGEST_WAIT, 0.005
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            yield
            return
        is_ours = False
        try:
            while not is_ours and time.monotonic() < deadline:
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    is_ours = True
                except BlockingIOError:
                    time.sleep(pause)
                    pause = min(2 * pause, 0.05)
                except OSError:  # files cannot be locked here
                    break
            if is_ours:
                self._remove_leftovers()
            yield
        finally:
            if is_ours:  # those who wait take the lock, and find the array
                with contextlib.suppress(OSError):
                    os.unlink(path)
            os.close(number)

    def _remove_leftovers(self) -> None:
        """The files of processes that were killed."""
        for path in self.path.parent.glob(f"{self.path.name}.tmp-*"):
            with contextlib.suppress(OSError):
                path.unlink()


def is_trusted(found: os.stat_result) -> bool:
    """Whether no other user can have written it; see docs/concepts/indexes.md."""
    if os.environ.get("PYFLOWDATA_SHARED_INDEXES") == "1":
        return True
    is_own = found.st_uid in (os.geteuid(), 0)
    return is_own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _checksum(array: Array) -> int:
    if not array.size:
        return int(lib.pfd_xxh64(ffi.NULL, 0))
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return int(lib.pfd_xxh64(ffi.from_buffer(flat, require_writable=False), flat.size))
