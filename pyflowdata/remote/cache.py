"""The cache of blocks: its folder, its budget, the order of removal, and the threads that fill it.

C opens the files, and says which blocks are missing (csrc/files/remote_file.h).
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np
import numpy.typing as npt

from ..errors import (
    CancelledError, CorruptDataError, Error, FileError, InvalidArgumentError, UnsupportedError,
    WrongUseError, shown,
)  # fmt: skip
from ..native import CData, check, encode, ffi, lib, new_error, text
from ..native.calls import interrupt
from ..native.lock_files import open_lock
from ..words.plain_text import bytes_of
from ..words.remedies import did_you_mean
from . import client
from .client import Facts

_FOLDER_VARIABLE = "PYFLOWDATA_CACHE"
_BUDGET_VARIABLE = "PYFLOWDATA_CACHE_BUDGET"
_LEAST_BUDGET = 16 << 20
_SUFFIX = text(lib.pfd_cache_suffix())
_BLOCK: int = lib.PFD_CACHE_BLOCK_BYTES

# ---- Options ------------------------------------------------------------------------------------

def _bytes(name: str, value: object) -> int:
    """A number of bytes, from a number or a text such as "50GB" or "8GiB"."""
    size = bytes_of(str(value)) if not isinstance(value, bool) else None
    if size is None:
        raise InvalidArgumentError(f'{name} = {shown(value)}; give bytes, or a text as "50GB"')
    if size < _LEAST_BUDGET:
        raise InvalidArgumentError(f"{name} = {shown(value)}; it must be at least 16MiB")
    return size


def _default_folder() -> str:
    if given := os.environ.get(_FOLDER_VARIABLE):
        return given
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "pyflowdata", "blocks")


class _Cache:
    """The folder, and the budget of all processes that use it."""

    def __init__(self, folder: str, budget: int | None) -> None:
        self.folder = os.path.abspath(folder)
        self._make_folder()
        self.budget = budget if budget is not None else self._default_budget()
        self._since = self.budget  # bytes since the folder was looked at
        self._sharers = 1
        self.forget_threads()

    def forget_threads(self) -> None:
        """Notes that no thread of this process writes: at the start, and in a forked child."""
        self._lock = threading.Lock()
        self._pending = 0  # bytes that threads of this process are about to write

    def _make_folder(self) -> None:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            found = os.stat(self.folder)
        except OSError as failure:
            raise FileError(
                f"the cache of remote files cannot be made: {failure.strerror}; give another "
                f"folder, {_FOLDER_VARIABLE}", file=self.folder, reason="environment",
            ) from failure
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise FileError(
                "the cache of remote files is not this user's alone, so that others could change "
                f"what it holds; give a folder of your own, {_FOLDER_VARIABLE}, or chmod 700",
                file=self.folder, reason="environment",
            )

    def _default_budget(self) -> int:
        """Half of the space that the cache could take on its disk."""
        if given := os.environ.get(_BUDGET_VARIABLE):
            return _bytes(_BUDGET_VARIABLE, given)
        used = sum(size for _, size in self.files())
        return max((shutil.disk_usage(self.folder).free + used) // 2, _LEAST_BUDGET)

    def files(self) -> Iterator[tuple[str, int]]:
        """Paths of the files, with the bytes that each has on disk."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.path, entry.stat(follow_symlinks=False).st_blocks * 512

    # ---- Room: the bytes on disk stay below the budget, a part of which is for what is written
    # between two looks: an eighth, if other processes write, too

    @contextlib.contextmanager
    def room(self, size: int) -> Iterator[None]:
        """Makes room for bytes that are written in this context."""
        with self._lock:
            self._pending += size
        try:
            with self._lock:
                self._since += size
                if self._since >= self.budget // 64 // self._sharers:
                    self._since = 0
                    self._keep_budget()
            yield
        finally:
            with self._lock:
                self._pending -= size

    def _keep_budget(self) -> None:
        self._sharers = _sharers(self.folder)
        lib.pfd_remote_set_sharers(self._sharers)
        used = sum(size for _, size in self.files()) + self._pending
        spare = self.budget // (32 if self._sharers == 1 else 8)
        if used <= self.budget - spare:
            return
        lock = open_lock(os.path.join(self.folder, "lock"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            files = [(path, size) for path, size in self.files() if size > 0]
            used = sum(size for _, size in files) + self._pending
            if used > self.budget - spare:
                self.drop(files, used - self.budget + 2 * spare)
        finally:
            os.close(lock)

    def drop(self, files: list[tuple[str, int]], size: int | None) -> int:
        """Removes the blocks that will be used last, until this many bytes are free; None: all.

        A block counts as its share of the bytes that its file has on disk; files come from files().
        Blocks that were read whole are removed first: they are not needed before the next epoch.
        The block that was read last is the first of them, since epochs begin with the same blocks.
        Then follow blocks that were read in part, beginning with the block that was not read for
        the longest time; then blocks that were requested ahead and not read yet, the latest request
        first, since it is needed last.  Blocks whose next use a loader announced come last, by the
        time of that use.
        """
        lib.pfd_remote_note_next_uses()
        tables = [(path, read_blocks(path)[0]) for path, _ in files]
        owner = np.repeat(np.arange(len(tables)), [len(one) for _, one in tables])
        blocks = np.concatenate([one for _, one in tables] or [np.zeros(0, _BLOCK_TYPE)])
        number = np.concatenate([np.arange(len(one)) for _, one in tables] or [np.zeros(0, int)])
        there = np.flatnonzero(blocks["state"] % 2)
        counts = np.bincount(owner[there], minlength=len(files))
        each = np.array([size for _, size in files]) / np.maximum(counts, 1)
        used, times = blocks["used"][there], blocks["used_ms"][there]
        is_passed = used >= lib.PFD_CACHE_PASSED_BYTES
        is_ahead = (used == 0) & (times > times.max(initial=0) - _AHEAD_MS)
        is_partly = ~is_passed & ~is_ahead
        kind = np.select([is_passed, is_partly], [0, 1], 2)
        nexts = blocks["next_ms"][there]
        is_told = nexts > time.time() * 1000
        kind[is_told] = 3
        by_time = np.where(is_told, -nexts, np.where(is_partly, times, -times))
        order = there[np.lexsort((by_time, kind))]
        if size is None:
            chosen = order
        else:
            chosen = order[: np.searchsorted(np.cumsum(each[owner[order]]), size) + 1]
        freed = 0
        for one in np.unique(owner[chosen]):
            own = np.ascontiguousarray(number[chosen[owner[chosen] == one]], np.int64)
            path = encode(tables[int(one)][0], "path")
            freed += lib.pfd_cached_blocks_drop(path, ffi.from_buffer("int64_t[]", own), len(own))
        return freed


_seats: dict[str, int] = {}  # descriptors of this process, by folder; never closed: locks would end
_FREE_SEATS = 16  # after so many free ones in a row, none is taken


def _has_seat(seats: int, number: int) -> bool:
    """Locks a seat, if no other process has it."""
    try:
        fcntl.lockf(seats, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except OSError:
        return False
    return True


def _sharers(folder: str) -> int:
    """How many processes use a folder now: each holds a lock on a byte of a file, which ends with
    the process."""
    if folder not in _seats:
        _seats[folder] = open_lock(os.path.join(folder, "processes"))
    seats, own, others, free, number = _seats[folder], -1, 0, 0, 0
    while free < _FREE_SEATS:
        if not _has_seat(seats, number):
            others, free = others + 1, 0
        elif own < 0:
            own = number
        else:
            free += 1
            fcntl.lockf(seats, fcntl.LOCK_UN, 1, number)
        number += 1
    return others + 1


_AHEAD_MS = 600_000  # who asked for a block longer ago has gone away
_BLOCK_TYPE = np.dtype([("state", "u4"), ("used", "u4"), ("used_ms", "i8"), ("next_ms", "i8"),
                        ("checksum", "u8")])


def read_blocks(path: str) -> tuple[npt.NDArray[Any], str]:
    """The blocks of a file of the cache, and the address of the object; none of other files."""
    where, room = encode(path, "path"), ffi.new("char[4096]")
    count = max(lib.pfd_cached_blocks_read(where, ffi.NULL, 0, room, 4096), 0)
    blocks = np.zeros(count, _BLOCK_TYPE)
    if count:
        lib.pfd_cached_blocks_read(
            where, ffi.from_buffer("pfd_cached_block[]", blocks), count, ffi.NULL, 0
        )
    return blocks, text(room)


_state = threading.RLock()
_cache: _Cache | None = None
_threads: list[threading.Thread] = []
_requests = 16  # of an object at a time
_folder: str | None = None  # what configure() was given
_budget: int | None = None


_SETTINGS = ("cache_dir", "budget", "requests", "options")


def configure(
    *, cache_dir: str | os.PathLike[str] | None = None, budget: int | str | None = None,
    requests: int | None = None, options: Mapping[str, Mapping[str, Any]] | None = None,
    **others: NoReturn,
) -> None:
    """Says where remote files are cached, and how stores are read, for what is opened from now on.

    None leaves what is set: by an earlier call, else by the environment.

        flow.remote.configure(cache_dir="/scratch/cache", budget="200GB")

    Args:
        cache_dir: The folder, which all processes of a machine should share.  At first
            PYFLOWDATA_CACHE, else pyflowdata/blocks in XDG_CACHE_HOME or ~/.cache.
        budget: The bytes that all files in it may have on disk together, such as "200GB".  At first
            PYFLOWDATA_CACHE_BUDGET, else half of what is free on its disk.
        requests: How many requests at a time this process makes for an object; at first 16.  A few
            more are for other objects and stores, so that one that does not answer holds up no
            other.
        options: Options of stores, by how addresses begin, as `{"s3://bucket": {"region": ...}}`:
            those of obstore's `from_url()`, or of the file system of fsspec.

    Raises:
        InvalidArgumentError: The budget is no size, or below 16 MiB; or there is no such argument.
        FileError: The folder cannot be made, or others may write into it.
    """
    global _cache, _requests, _folder, _budget
    for name in others:
        hint = did_you_mean(name, _SETTINGS) or f"; it has {', '.join(_SETTINGS)}"
        raise WrongUseError(f"configure() has no argument '{name}'{hint}", attr=name)
    size = None if budget is None else _bytes("budget", budget)
    if requests is not None and (isinstance(requests, bool) or not 1 <= requests <= 1024):
        raise InvalidArgumentError(f"requests = {shown(requests)}; it must be in [1, 1024]")
    with _state:
        if options is not None:
            client.set_options(options)
        _requests = requests or _requests
        if cache_dir is None and size is None:
            return
        folder = _folder if cache_dir is None else os.fspath(cache_dir)
        size = _budget if size is None else size
        _cache = _Cache(folder or _default_folder(), size)
        _folder, _budget = folder, size
        _use(_cache)


@dataclass(frozen=True)
class CacheInfo:
    """The cache of blocks, and what this process fetched.

    Attributes:
        folder: Its folder.
        budget: The bytes that its files may have on disk.
        bytes: The bytes that they have.
        requests: Requests for ranges that were answered.
        bytes_fetched: Bytes that those brought.
        bytes_again: The part of them that had been in the cache before, and was dropped.
        failures: Requests that failed, after all attempts.
        retries: Further attempts of requests.
        waits: Reads that waited for a block.
    """

    folder: str
    budget: int
    bytes: int
    requests: int
    bytes_fetched: int
    bytes_again: int
    failures: int
    retries: int
    waits: int


def cache_info() -> CacheInfo:
    """The cache now."""
    cache, counts = _current(), ffi.new("pfd_fetch_counts *")
    lib.pfd_fetch_counted(counts)
    used = sum(size for _, size in cache.files())
    return CacheInfo(
        cache.folder, cache.budget, used, counts.requests, counts.bytes,
        counts.again_bytes, counts.failures, client.retries, counts.waits,
    )  # fmt: skip


@dataclass(frozen=True)
class CachedObject:
    """An object of which the cache has blocks.

    Attributes:
        url: Its address.
        bytes: What it has on disk.
        blocks: How many blocks of it are there.
        num_blocks: How many it has.
        used: When one of them was read last, in seconds since 1970.
    """

    url: str
    bytes: int
    blocks: int
    num_blocks: int
    used: float


def cached_objects() -> list[CachedObject]:
    """The objects in the cache, the one that was used last first.  An address comes several times
    if blocks of several versions are there."""
    found = []
    for path, size in _current().files():
        blocks, url = read_blocks(path)
        there = blocks[blocks["state"] % 2 == 1]
        if not len(there):
            continue  # it stays for a day, for programs that have it open
        used = int(there["used_ms"].max(initial=0)) / 1000
        found.append(CachedObject(url, size, len(there), len(blocks), used))
    return sorted(found, key=lambda one: -one.used)


_IDLE = 86_400  # seconds; a program may have an object open that it does not read


def clear_cache() -> int:
    """Takes all blocks out of the cache, also those that programs read, which fetch them again.

    Returns:
        How many bytes became free.
    """
    cache = _current()
    files = list(cache.files())
    before = sum(size for _, size in files)
    cache.drop(files, None)
    for path, _ in files:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(path).st_mtime > _IDLE:
                os.unlink(path)
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(os.path.join(cache.folder, "uploads")):
            if time.time() - entry.stat().st_mtime > _IDLE:
                shutil.rmtree(entry.path, ignore_errors=True)
    return before - sum(size for _, size in cache.files())


_WARMERS = 8
_WARM = 32 * _BLOCK


def warm(urls: list[str], show: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Brings all bytes of objects into the cache.

    Args:
        urls: Their addresses.
        show: Called with the bytes that are there, and those of all.

    Returns:
        The bytes of all.

    Raises:
        InvalidArgumentError: The cache is too small for them.
        FileError: One cannot be read.
    """
    cache = _prepared()
    sizes = [facts.size for facts in client.look_at(urls)]
    total, done = sum(sizes), 0
    needed = sum(-(-size // 4096) * 4096 + 65536 for size in sizes)
    if needed > cache.budget * 7 // 8 - (4 << 20):
        raise InvalidArgumentError(
            f"the files have {total} bytes, and an eighth of the cache's budget, {cache.budget}, "
            f"is kept free; give it {needed * 8 // 7 + (5 << 20)} by {_BUDGET_VARIABLE}"
        )

    ends = ffi.new("int32_t *")

    def bring(piece: tuple[str, int, int]) -> int:
        err = new_error()
        url, offset, size = piece
        check(lib.pfd_remote_warm(url.encode(), offset, size, ends, err), err)
        return size

    pieces = (
        (url, offset, min(_WARM, size - offset))
        for url, size in zip(urls, sizes, strict=True) for offset in range(0, size, _WARM)
    )  # fmt: skip
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(_WARMERS, "pyflowdata warm")
    try:
        waiting = {pool.submit(bring, piece) for piece in islice(pieces, _WARMERS)}
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            done += sum(one.result() for one in ended)
            show(done, total)
            waiting |= {pool.submit(bring, piece) for piece in islice(pieces, len(ended))}
    finally:
        ends[0] = 1  # a program that ends would wait for the threads of the pool
        pool.shutdown(wait=False, cancel_futures=True)
    return total


# ---- Threads that fetch -------------------------------------------------------------------------


def _use(cache: _Cache) -> None:
    err = new_error()
    check(lib.pfd_remote_set_folder(encode(cache.folder, "path"), cache.budget, err), err)


def _current() -> _Cache:
    """The cache, whose folder is there."""
    global _cache
    with _state:
        if _cache is None:
            _cache = _Cache(_default_folder(), None)
            _use(_cache)
        return _cache


def _prepared() -> _Cache:
    """The cache, with its threads running."""
    with _state:
        cache = _current()
        wanted = lib.pfd_fetch_set_requests(_requests)
        while len(_threads) < wanted:
            name = f"pyflowdata fetch {len(_threads)}"
            _threads.append(threading.Thread(target=_fetch_all, name=name, daemon=True))
            _threads[-1].start()
        return cache


def staging_folder() -> str:
    """The folder in the cache's in which files are made that are put into stores.

    Raises:
        FileError: It cannot be made.
    """
    folder = os.path.join(_current().folder, "uploads")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as failure:
        raise FileError(failure.strerror or str(failure), file=folder) from failure
    return folder


def open_copy(url: str) -> BinaryIO:
    """The bytes of an object in a file without a name.

    Raises:
        FileError: It cannot be read.
    """
    (facts,) = client.look_at([url])
    file = cast(BinaryIO, tempfile.TemporaryFile(dir=staging_folder()))
    with contextlib.ExitStack() as failing:
        failing.callback(file.close)
        for offset in range(0, facts.size, _COPIED):
            size = min(_COPIED, facts.size - offset)
            file.write(client.fetch(url, facts.tag, offset, size))
        file.seek(0)
        failing.pop_all()
    return file


_COPIED = 8 * _BLOCK


def _forget_threads() -> None:
    """In a forked child, which has none of them."""
    global _state
    _state = threading.RLock()
    _threads.clear()
    _seats.clear()  # locks are the parent's
    if _cache is not None:
        _cache.forget_threads()


def _stop() -> None:
    lib.pfd_fetch_stop()
    end = time.monotonic() + 0.2  # for all of them together
    for thread in _threads:
        thread.join(max(end - time.monotonic(), 0.0))


os.register_at_fork(after_in_child=_forget_threads)
atexit.register(_stop)


def _write_facts(found: Facts, out: CData) -> None:
    out.size, out.modified_ns, out.tag = found.size, int(found.modified * 1e9), found.tag.encode()


def _fetch_all() -> None:
    wanted, facts = ffi.new("pfd_fetch_range *"), ffi.new("pfd_remote_facts *")
    while (request := lib.pfd_fetch_take(wanted)) != ffi.NULL:
        attempts = client.Attempts(int(wanted.failed_attempts), wanted.since_ns / 1e9)
        try:
            if wanted.tag == ffi.NULL:
                found, data = client.look_and_fetch(text(wanted.url), int(wanted.size), attempts)
                _write_facts(found, facts)
                wanted.size = len(data)
                if not lib.pfd_fetch_found(request, facts, wanted.size):
                    continue
            else:
                data = client.fetch(
                    text(wanted.url), text(wanted.tag), int(wanted.offset), int(wanted.size),
                    attempts,
                )  # fmt: skip
            lib.pfd_fetch_answered(request, int(getattr(client.answered, "seconds", 0) * 1e9))
            kept = ffi.from_buffer("uint8_t[]", data)
            cache = _cache
            assert cache is not None  # threads start with it
            with cache.room(int(wanted.size)):
                ended, request = request, None
                lib.pfd_fetch_put(ended, kept, wanted.size, new_error())
        except client.RetryLater as later:
            lib.pfd_fetch_retry(request, int(later.pause * 1e9))
        except BaseException as failure:  # noqa: BLE001  (who waits must hear of it)
            if request is not None:
                status, reason, message = _told(failure)
                lib.pfd_fetch_fail(request, status, reason, message)


# ---- Calls of C ---------------------------------------------------------------------------------

_REASONS = {"environment": lib.PFD_REASON_ENVIRONMENT, "transient": lib.PFD_REASON_TRANSIENT}
_STATUSES = (
    (CancelledError, lib.PFD_CANCELLED), (CorruptDataError, lib.PFD_CORRUPT_DATA),
    (UnsupportedError, lib.PFD_UNSUPPORTED), (InvalidArgumentError, lib.PFD_INVALID_ARGUMENT),
    (FileError, lib.PFD_IO),
)  # fmt: skip


def _told(failure: BaseException) -> tuple[int, int, bytes]:
    """An exception as C takes it."""
    if isinstance(failure, Error):
        status = next((code for kind, code in _STATUSES if isinstance(failure, kind)), lib.PFD_IO)
        reason = _REASONS.get(failure.reason or "", lib.PFD_REASON_NONE)
        return int(status), int(reason), failure.message.encode("utf-8", "replace")
    said = f"{type(failure).__name__}: {failure}".encode("utf-8", "replace").replace(b"\0", b"")
    return int(lib.PFD_IO), int(lib.PFD_REASON_ENVIRONMENT), said


def _fail(err: CData, failure: BaseException, url: str) -> int:
    if isinstance(failure, KeyboardInterrupt):
        is_main = threading.current_thread() is threading.main_thread()
        interrupt(failure, is_main=is_main)  # raised when C returns
        failure = CancelledError("a signal ended the wait")
    status, reason, message = _told(failure)
    where = getattr(failure, "file", None) or url
    return int(lib.pfd_remote_fail(err, status, reason, str(where).encode(), message))


def look(paths: CData, n: int, how: int, facts: CData, err: CData) -> int:
    """`look` of pfd_remote_calls."""
    names = [text(paths[i]) for i in range(n)]
    places = [i for i in range(n) if lib.pfd_path_is_remote(paths[i])]
    try:
        _prepared()
        urls = [names[i] for i in places]
        if how == lib.PFD_LOOK_KNOWN:
            found = client.known_facts(urls)
        else:
            found = client.look_at(urls, is_kept=how == lib.PFD_LOOK_KEPT)
        for i, one in zip(places, found, strict=True):
            _write_facts(one, facts[i])
    except BaseException as failure:  # noqa: BLE001  (C tells it)
        return _fail(err, failure, names[places[0]] if places else "")
    return 0


def kind(url: CData, found: CData, err: CData) -> int:
    """`kind` of pfd_remote_calls."""
    name = text(url)
    try:
        if client.is_object(name):
            found[0] = lib.PFD_PATH_FILE
        elif client.is_folder(name):
            found[0] = lib.PFD_PATH_FOLDER
        else:
            found[0] = lib.PFD_PATH_MISSING
    except BaseException as failure:  # noqa: BLE001  (C tells it)
        return _fail(err, failure, name)
    return 0


def name_objects(urls: CData, n: int, err: CData) -> int:
    """`name_objects` of pfd_remote_calls."""
    try:
        for i in range(n):
            name = client.name_object(text(urls[i]), is_of_row=True).encode() + b"\0"
            ffi.memmove(urls[i], name, len(name))
    except BaseException as failure:  # noqa: BLE001  (C tells it)
        return _fail(err, failure, "")
    return 0


def list_objects(pattern: CData, found: CData, err: CData) -> int:
    """`list` of pfd_remote_calls."""
    name = text(pattern)
    try:
        for url in client.listed(name):
            check(lib.pfd_remote_listed(found, url.encode(), err), err)
    except BaseException as failure:  # noqa: BLE001  (C tells it)
        return _fail(err, failure, name)
    return 0


_FOLDER = re.compile(r"[^/]+://.+/")


def index_beside(urls: Sequence[str], path: str) -> str | None:
    """The address of the index of files: in the folder that has all of them, under a hidden name.

    Args:
        urls: Their addresses.
        path: The index on this machine, whose name says of which files it is.

    Returns:
        None: they have no folder in common, as those of two buckets.
    """
    common = os.path.commonprefix(urls)
    folder = common[: common.rfind("/") + 1]
    name = os.path.splitext(os.path.basename(path))[0]
    return f"{folder}.pyflowdata-{name}.pfdindex" if _FOLDER.fullmatch(folder) else None


def bring_index(files: CData, n: int, path: CData, found: CData) -> int:
    """`bring` of pfd_remote_calls.  An index that cannot be read is none: it saves time only."""
    where, found[0] = text(path), 0
    url = index_beside([text(files[i]) for i in range(n)], where)
    if url is None:
        return 0
    temporary = f"{where}.tmp-{os.getpid()}-{os.urandom(4).hex()}"
    with contextlib.suppress(Error, OSError), open_copy(url) as copy:
        try:
            with open(temporary, "xb") as out:
                shutil.copyfileobj(copy, out)
            os.replace(temporary, where)
            found[0] = 1
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    return 0
