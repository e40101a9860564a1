"""The folder for results that were computed from records: arrays, and the files of `cache()`."""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import io
import json
import os
import stat
import struct
import sys
import time
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError, InvalidArgumentError
from ..native import ffi, lib, risk_of, text, xxh64
from ..native.calling_line import warn_program_once
from ..native.lock_files import open_lock, try_lock
from ..pyops.function_digest import sha256
from .expressions import parsed

# ---- The folder ----------------------------------------------------------------------------------

_ROOM = 4096  # bytes of a path, and of a clause about a folder


def cache_folder(index_dir: str) -> Path | None:
    """The folder for indexes and for results that are computed from records; None: there is no
    folder.
    """
    room = ffi.new("char[]", _ROOM)
    lib.pfd_index_folder(os.fsencode(index_dir), room, _ROOM)
    found = ffi.string(room)
    return Path(os.fsdecode(found)) if found else None


def foreign_user(folder: Path) -> str:
    """A clause about another user who could replace files in a folder, and what to do; "": there is
    no such user."""
    room = ffi.new("char[]", _ROOM)
    lib.pfd_index_folder_risk(os.fsencode(folder), room, _ROOM)
    return text(room)


def is_trusted(found: os.stat_result) -> bool:
    """Whether no other user can have written a file; see docs/concepts/indexes.md."""
    return bool(lib.pfd_index_is_shared()) or not risk_of(found)


def make_folder(folder: Path) -> None:
    folder.mkdir(0o777 if lib.pfd_index_is_shared() else 0o755, parents=True, exist_ok=True)


@contextlib.contextmanager
def new_file(path: Path, temporary: Path) -> Iterator[IO[bytes]]:
    """A file that is written under another name, synced and renamed; a failure removes it."""
    try:
        with open(temporary, "xb") as file:
            os.fchmod(file.fileno(), 0o644)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# ---- Records ------------------------------------------------------------------------------------

# Caches are on disk, or in memory that the processes of a machine share.
#
# A cache is a folder `*.cache` with three files: the records; notes that name the data and their
# state; and a lock of the process that makes the cache.  A cache in memory is in /dev/shm.  Each
# process that uses one there has a lock on its records, which ends with the process however it
# ends.  The last process removes the cache; the next one that uses a cache in memory removes what
# killed processes left.

_MEMORY = Path("/dev/shm")
_QUIET = 2.0  # seconds of a wait before a message
_held: dict[Path, int] = {}  # records in memory that this process uses: files with a shared lock
_owner = 0  # the process that has these locks


class CachePlace:
    """A folder of caches.

    Attributes:
        folder: Its path.
        is_memory: Whether the files are in memory, and vanish with the last process that uses them.
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        """Args:
            where: "memory", "disk" for the folder of the indexes, or a folder.

        Raises:
            InvalidArgumentError: PYFLOWDATA_INDEX_DIR says that there is no folder.
        """
        self.is_memory, self._is_of_indexes = where == "memory", where == "disk"
        if self.is_memory:
            self.folder = _MEMORY / f"pyflowdata-{os.geteuid()}"
        elif where == "disk":
            found = cache_folder("")
            if found is None:
                raise InvalidArgumentError(
                    "cache('disk') uses the folder of the indexes, and there is none: "
                    "PYFLOWDATA_INDEX_DIR is 'none', or there is no HOME; give a folder"
                )
            self.folder = found
        else:
            self.folder = Path(os.path.abspath(where))

    def make(self) -> None:
        """Makes the folder; in memory, removes caches that no process uses.

        Raises:
            FileError: It cannot be made, or another user could change it.
        """
        try:
            if self.is_memory:
                self.folder.mkdir(0o700, parents=True, exist_ok=True)
            else:
                make_folder(self.folder)
            found = os.lstat(self.folder)
        except OSError as failure:
            raise FileError(
                f"the folder for caches cannot be made: {failure.strerror}", file=str(self.folder)
            ) from failure
        if self._is_of_indexes and (said := foreign_user(self.folder)):
            raise FileError(
                f"cache('disk') makes no files there, as {said}, or give cache() another folder",
                file=str(self.folder),
            )
        if not self.is_memory:
            return
        is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not is_own or found.st_mode & 0o077:
            raise FileError(
                "caches in memory need this folder for themselves, and other users can use it",
                file=str(self.folder),
            )
        for cache in self.folder.iterdir():
            _remove_unused(cache)

    def free_bytes(self, most: int) -> int:
        """The bytes that can still be stored.

        Args:
            most: The bytes of memory that this process may use.
        """
        import shutil

        free = shutil.disk_usage(self.folder).free
        return min(free, most, _available_memory()) if self.is_memory else free


def _available_memory() -> int:
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return sys.maxsize


class CacheFolder:
    """The folder of one cache.

    Attributes:
        records: The file of the records.
    """

    def __init__(self, place: CachePlace, identity: str) -> None:
        """Takes the name; touches no file."""
        self._folder = place.folder / f"{identity}.cache"
        self._is_memory = place.is_memory
        self.records = self._folder / "records"
        self._notes = self._folder / "notes.json"

    def is_usable(self, state: str) -> bool:
        """Whether the records are whole, belong to this user, and were made from data in this
        state.  Records in memory are kept from now on.
        """
        if self._is_memory and not self._keep():
            return False
        try:
            found = os.stat(self.records)
            with open(self._notes) as file:
                is_own = is_trusted(found) and is_trusted(os.fstat(file.fileno()))
                notes = json.load(file)
            is_same = notes["file"] == _identify(found)
            if is_own and notes["state"] == state and not is_same:
                said = f"the cache {self.records} was changed after it was made; it is made again"
                warn_program_once(("changed", self.records), UserWarning(said))
            return is_own and notes["state"] == state and is_same
        except (OSError, ValueError, LookupError, TypeError):
            return False

    def complete(self, state: str, notes: Mapping[str, Any]) -> None:
        """Writes the notes about records that were just written: the state of the data, and facts
        for people.
        """
        said = {"state": state, "file": _identify(os.stat(self.records)), **notes}
        with new_file(self._notes, self.temporary()) as file:
            file.write(json.dumps(said, indent=1).encode())

    def temporary(self) -> Path:
        """A name for a file that is being made; `filling()` removes what killed processes left."""
        return self._folder / f".{os.getpid()}-{time.time_ns():x}"

    @contextlib.contextmanager
    def filling(self) -> Iterator[None]:
        """Keeps other processes from making this cache.  The lock of a process ends when it is
        killed.

        Raises:
            FileError: Nothing can be written there.
        """
        try:
            file = self._lock()
        except OSError as failure:
            raise FileError(
                f"the cache cannot be made: {failure.strerror}", file=str(self._folder)
            ) from failure
        with contextlib.closing(file):
            for left in self._folder.glob(".*"):
                left.unlink(missing_ok=True)
            try:
                yield
            finally:
                if not self.records.exists():
                    with contextlib.suppress(OSError):
                        (self._folder / "lock").unlink()
                        self._folder.rmdir()

    def _lock(self) -> Any:
        since, is_told, path = time.monotonic(), False, self._folder / "lock"
        while True:
            self._folder.mkdir(exist_ok=True)
            if not stat.S_ISDIR(os.lstat(self._folder).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "a link is in its place; remove it")
            try:
                file = open(open_lock(path), "r+b", buffering=0)
            except FileNotFoundError:  # another process has just removed the empty folder
                continue
            try:
                if try_lock(file.fileno(), path):
                    return file
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # files cannot be locked here: each process makes its own
                return file
            file.close()
            if not is_told and time.monotonic() > since + _QUIET and sys.stderr is not None:
                is_told = True
                sys.stderr.write(f"pyflowdata: another process makes the cache {self._folder}\n")

    # ---- In memory ----------------------------------------------------------------------------

    def keep(self, number: int) -> None:
        """Keeps a file in memory that is being made, as long as it is open."""
        if self._is_memory:
            with contextlib.suppress(OSError):
                fcntl.flock(number, fcntl.LOCK_SH)

    def _keep(self) -> bool:
        """Keeps the records as long as this process lives; False: there are no records."""
        global _owner
        if _owner != os.getpid():  # also in a forked child, where the locks are its parent's
            _held.clear()
            _owner = os.getpid()
            atexit.register(_release)
        try:
            number = os.open(self.records, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(number), os.stat(self.records)):
                if self.records in _held:
                    os.close(_held[self.records])
                _held[self.records] = number
                return True
        os.close(number)
        return False


def _identify(found: os.stat_result) -> list[int]:
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _remove_unused(cache: Path) -> None:
    """Removes a cache in memory, unless a process uses or makes it."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as files:
        found = []
        # Records first: of processes that end at the same time, none keeps the last one from the
        # lock.
        for name in ("records", "lock"):
            if (cache / name).exists():
                file = files.enter_context(open(cache / name, "rb"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(os.fstat(file.fileno()).st_ino)
        records = cache / "records"
        if not records.exists() or records.stat().st_ino in found:  # else they were made meanwhile
            import shutil

            shutil.rmtree(cache)


def _release() -> None:
    """Removes, at the end of the process, the caches in memory that no other process uses."""
    if _owner != os.getpid():
        return
    for path, number in _held.items():
        os.close(number)
        _remove_unused(path.parent)
    _held.clear()


# ---- Arrays --------------------------------------------------------------------------------------

# Arrays that were computed from all records of a data set, kept on disk like indexes.
#
# A file is an array in NumPy's format, and then a footer: a hash of the state of the data, and a
# checksum.  The name of the file is a hash of the data and of what was computed.  A file is written
# under another name, synced and renamed.  Where files cannot be written, which is no error, each
# process computes its own array.

Array = npt.NDArray[Any]

_FOOTER = struct.Struct("<8s32sQ")  # magic, hash of the state, XXH64 of the elements
_MAGIC = b"pfdcolmn"
_MAGIC_OF_BYTES, _MAGIC_OF_STR = b"pfdbytes", b"pfd_str_"  # of objects, made flat by _flat()
_UTF8 = "utf-8", "surrogatepass"
_LONGEST_WAIT = 600.0  # seconds for another process that computes the same


def array_folder(index_dir: str) -> Path | None:
    """Like cache_folder(); None also if another user could change the folder, with one warning."""
    folder = cache_folder(index_dir)
    if folder is not None and (said := foreign_user(folder)):
        warn_program_once(
            ("foreign", folder), UserWarning(f"columns stay in memory, as {said}.")
        )
        return None
    return folder


class CachedArray:
    """The file of one array.

    Attributes:
        path: Where it is.
    """

    def __init__(self, folder: Path, identity: str, state: str) -> None:
        """Names the file for the result `identity`, and touches no file.  A file that was made from
        data in another state is replaced later.
        """
        self.path = folder / f"{sha256(identity.encode())[:32]}.column"
        self._state = bytes.fromhex(sha256(state.encode()))

    def load(self) -> Array | None:
        """The array, mapped; None if there is no whole and current file."""
        try:
            with open(self.path, "rb") as file:
                if not is_trusted(os.fstat(file.fileno())):
                    return None
                return self._map(file)
        except (OSError, ValueError, EOFError, SyntaxError, tokenize.TokenError):  # the header
            return None

    def _map(self, file: io.BufferedReader) -> Array | None:
        file.seek(-_FOOTER.size, os.SEEK_END)
        end = file.tell()
        magic, state, checksum = _FOOTER.unpack(file.read())
        if magic not in (_MAGIC, _MAGIC_OF_BYTES, _MAGIC_OF_STR) or state != self._state:
            return None
        file.seek(0)
        major, minor = np.lib.format.read_magic(file)
        read_header = getattr(np.lib.format, f"read_array_header_{major}_{minor}")
        place = file.tell()

        def header() -> tuple[Any, Any, Any]:
            """Reads the header from the start of the file, also when called again."""
            file.seek(place)
            found: tuple[Any, Any, Any] = read_header(file)
            return found

        shape, _, dtype = parsed(header)
        begin, count = file.tell(), int(np.prod(shape))
        if dtype.hasobject or begin + count * dtype.itemsize != end:
            return None
        array = np.memmap(file, dtype, "r", begin, shape) if count else np.empty(shape, dtype)
        if _checksum(array) != checksum:
            return None
        return array if magic == _MAGIC else _texts_of(array, magic == _MAGIC_OF_STR)

    def store(self, array: Array) -> Array:
        """Writes the array; returns it mapped from the new file, or as given if it cannot be
        written.
        """
        temporary = self.path.with_name(f"{self.path.name}.tmp-{os.getpid()}-{time.time_ns():x}")
        written, magic = array, _MAGIC
        if array.dtype.hasobject:
            are_str = isinstance(array[0], str)
            written, magic = _flat(array), _MAGIC_OF_STR if are_str else _MAGIC_OF_BYTES
        try:
            make_folder(self.path.parent)
            with new_file(self.path, temporary) as file:
                np.lib.format.write_array(file, written, allow_pickle=False)
                file.write(_FOOTER.pack(magic, self._state, _checksum(written)))
        except OSError:
            return array
        stored = self.load()
        return array if stored is None else stored

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other processes from computing the same, for at most `_LONGEST_WAIT`."""
        path = f"{self.path}.lock"
        try:
            make_folder(self.path.parent)
            number = self._take_lock(path)
        except OSError:
            number = None
        try:
            if number is not None:
                self._remove_leftovers()
            yield
        finally:
            if number is not None:  # those who wait make their own lock, and find the array
                with contextlib.suppress(OSError):
                    os.unlink(path)
                os.close(number)

    def _take_lock(self, path: str) -> int | None:
        """A descriptor that holds the lock; None: other processes have held the lock for too long.
        """
        deadline, pause = time.monotonic() + _LONGEST_WAIT, 0.005
        while time.monotonic() < deadline:
            number = open_lock(path)
            try:
                if try_lock(number, path):
                    return number
            except BlockingIOError:
                pass
            except OSError:
                os.close(number)
                raise
            os.close(number)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return None

    def _remove_leftovers(self) -> None:
        """Removes the files of processes that were killed."""
        for path in self.path.parent.glob(f"{self.path.name}.tmp-*"):
            with contextlib.suppress(OSError):
                path.unlink()


def as_objects(texts: Sequence[Any]) -> Array:
    found = np.empty(len(texts), np.object_)
    found[:] = texts
    return found


def _flat(texts: Array) -> Array:
    """Texts as bytes: their number, the size of each, and the texts themselves."""
    found = [one.encode(*_UTF8) if isinstance(one, str) else one for one in texts.tolist()]
    sizes = np.array([len(found), *map(len, found)], "<i8")
    return np.frombuffer(b"".join([sizes.tobytes(), *found]), np.uint8)


def _texts_of(flat: Array, are_str: bool) -> Array:
    """The texts that _flat() was given."""
    count = int(flat[:8].view("<i8")[0])
    sizes = flat[8 : 8 + 8 * count].view("<i8").tolist()
    take = io.BytesIO(flat[8 + 8 * count :].tobytes()).read
    found = map(take, sizes)
    return as_objects([one.decode(*_UTF8) for one in found] if are_str else [*found])


def _checksum(array: Array) -> int:
    return xxh64(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
