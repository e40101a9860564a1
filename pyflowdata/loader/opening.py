"""Opens a loader: converts its options to C, and facts about the loader to Python."""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Callable, Sequence

from ..errors import Error, InvalidArgumentError, UnsupportedError, shown
from ..nodes import Blob
from ..nodes.python_ops import InUse
from ..nodes.file_states import check_seen
from ..nodes.node import check_is_batched, reader_nodes
from ..nodes.tables import prepare_tables
from ..nodes.world import World, has_peers
from ..native import (
    IS_INTERRUPTED, CData, check, exception, ffi, lib, new_error, new_struct, text,
)  # fmt: skip
from ..remote import one_opening
from .shares import Share
from .state import Index, Reader

_ZIP = {"strict": lib.PFD_ZIP_STRICT, "shortest": lib.PFD_ZIP_SHORTEST}
_SIGNALS_SECONDS = 0.05  # the longest wait without a check for signals


def _whole(name: str, value: object, bits: int, or_text: str = "") -> int:
    """An option as C takes it; None is 0, which stands for "choose"."""
    if value is None:
        return 0
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(
            f"{name} = {shown(value)} ({type(value).__name__}); it must be an int{or_text} or None"
        ) from None
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise InvalidArgumentError(f"{name} = {shown(number)}; it must be a number of {bits} bits")
    return number


def _tuned(name: str, value: object) -> int:
    """An option as C takes it, which may be "auto"."""
    if isinstance(value, str) and value == "auto":
        automatic: int = lib.PFD_AUTO
        return automatic
    return _whole(name, value, 32, ', "auto"')


def open_handle(
    blobs: list[Blob], num_threads: object, prefetch: object, memory_budget: object, rule: object,
    share: Share,
) -> tuple[CData, InUse]:
    """Checks the options and opens the readers.

    Returns:
        The loader, which is released with this object, and what its ops use until then.
    """
    options = new_struct("pfd_loader_options")
    options.num_threads = _tuned("num_threads", num_threads)
    options.prefetch = _tuned("prefetch", prefetch)
    options.memory_budget = _whole("memory_budget", memory_budget, 64)
    if not isinstance(rule, str) or rule not in _ZIP:
        raise InvalidArgumentError(f"zip = {shown(rule)}; it must be one of {', '.join(_ZIP)}")
    options.zip = _ZIP[rule]
    options.share, options.num_shares = share.number, share.total
    options.has_peers = has_peers()
    options.is_interrupted = IS_INTERRUPTED
    for node in reader_nodes(blobs):
        check_is_batched(node)
    with one_opening(is_last=True):
        return _opened(blobs, options)


def _opened(blobs: list[Blob], options: CData) -> tuple[CData, InUse]:
    prepare_tables(blobs)
    slots = ffi.new("pfd_blob[]", len(blobs))
    for slot, blob in zip(slots, blobs, strict=True):
        blob.fill(slot)
    worlds = _worlds(blobs)
    try:
        in_use = InUse(blobs)
        handle = _Opening(blobs, options, slots, in_use).wait()
        check_seen(blobs)
        return handle, in_use
    except InvalidArgumentError as failure:
        if len({(world.rank, world.world_size) for world in worlds}) > 1:
            failure.message += f" (readers are for {', '.join(map(str, worlds))})"
        raise


def _worlds(blobs: list[Blob]) -> list[World]:
    return list(dict.fromkeys(world for blob in blobs for world in blob.node.worlds))


def rank_of(blobs: list[Blob]) -> str:
    """Rank and world size of an open loader, which are the same in all its readers, and where they
    come from.
    """
    worlds = _worlds(blobs)
    sources = "; ".join(dict.fromkeys(world.source for world in worlds))
    return f"rank={worlds[0].rank}/{worlds[0].world_size} ({sources})"


def _releasing(in_use: InUse, blobs: Sequence[Blob]) -> Callable[[CData], None]:
    kept = list(blobs)  # their arrays are read by the loader's threads
    release_loader = lib.pfd_loader_release  # when the interpreter ends, the module is empty
    is_ending = sys.is_finalizing

    def release(handle: CData) -> None:
        if is_ending():  # threads inside of Python functions never leave them, so nobody waits
            return
        if kept:  # once: a signal in _Opening.wait() leaves two objects that release the loader
            release_loader(handle)
            in_use.release()
            kept.clear()

    return release


class _Opening:
    """One call of `pfd_loader_open`, in a separate thread, so that Python can handle signals.

    No signal interrupts that thread, so it owns the loader from the moment the call returns.  If
    the caller no longer waits, the loader is released as soon as it is open.
    """

    def __init__(
        self, blobs: list[Blob], options: CData, slots: CData, in_use: InUse
    ) -> None:
        self._blobs = blobs  # C only borrows the nodes
        self._in_use = in_use
        self._release = _releasing(in_use, blobs)
        self._options = options
        self._slots = slots
        self._out, self._err = ffi.new("pfd_loader **"), new_error()
        self._status: int | None = None
        self._handle: CData | None = None
        self._is_wanted = True

    def _open(self) -> None:
        with self._in_use.opening():
            status = lib.pfd_loader_open(
                self._options, self._slots, len(self._blobs), self._out, self._err
            )
        if status >= 0:
            self._handle = ffi.gc(self._out[0], self._release)
            if not self._is_wanted:
                self._handle = None
        else:
            self._in_use.release()
        self._status = status

    def wait(self) -> CData:
        """Opens the loader and returns it; it is released with the returned object."""
        try:
            self._run()
        except BaseException:
            self._is_wanted = False  # the traceback may keep this object for long
            self._handle = None
            raise
        if self._status is None:  # a signal handler forked, and this is the child
            raise UnsupportedError("the process was forked while the DataLoader was being opened")
        check(self._status, self._err)
        # Its own object: one that an ended thread has made may outlive its last reference, without
        # the interpreter's lock, until a thread with the same identifier runs Python.
        handle = ffi.gc(self._out[0], self._release)
        ffi.gc(self._handle, None)
        return handle

    def _run(self) -> None:
        thread = threading.Thread(target=self._open, name="pyflowdata open", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._open()
        while thread.is_alive():
            thread.join(_SIGNALS_SECONDS)


def read_info(handle: CData) -> CData:
    """The `pfd_loader_info` of an open loader."""
    info = new_struct("pfd_loader_info")
    check(lib.pfd_loader_get_info(handle, info), new_error())
    return info


def describe_threads(handle: CData) -> str:
    """The current numbers of threads and of batches ahead, as a text."""
    info, tuning = read_info(handle), new_struct("pfd_tuning_info")
    is_tuned = lib.pfd_loader_get_tuning(handle, tuning) == lib.PFD_OK
    threads = " (auto)" if is_tuned and tuning.tunes_threads else ""
    prefetch = " (auto)" if is_tuned and tuning.tunes_prefetch else ""
    return f"num_threads={info.num_threads}{threads}, prefetch={info.prefetch}{prefetch}"


def read_readers(handle: CData, count: int) -> tuple[Reader, ...]:
    """Facts about the readers of an open loader."""
    return tuple(_read_reader(handle, index) for index in range(count))


def _read_reader(handle: CData, index: int) -> Reader:
    info, err = new_struct("pfd_reader_info"), new_error()
    check(lib.pfd_loader_get_reader(handle, index, info), err)
    return Reader(
        name=text(info.name),
        op=text(info.op),
        seed=info.seed,
        seed_is_default=info.seed_origin == lib.PFD_SEED_DEFAULT,
        spec=_read_spec(info),
        files=info.num_files,
        bytes=info.num_bytes,
        records=info.num_records,
        data=f"{info.data_fingerprint:016x}",
        batch_size=info.batch_size,
        rank=info.rank,
        world_size=info.world_size,
        left_out=info.left_out,
        notices=tuple(line for line in text(info.notice).split("\n") if line),
        index=Index(
            path=os.fsdecode(ffi.string(info.index_path)),
            bytes=info.index_bytes,
            seconds=info.index_ns / 1e9,
            is_new=info.indexes_built > 0,
        ),
    )


def read_skipped(handle: CData) -> list[Error]:
    """The latest records that a loader left out, as exceptions."""
    found: list[Error] = []
    err = new_error()
    while lib.pfd_loader_get_skipped(handle, len(found), err) == lib.PFD_OK:
        found.append(exception(err.status, err))
    return found


def _read_spec(info: CData) -> dict[str, str]:
    """The attrs that decide the order; C escapes control characters, so a line is an attr."""
    spec = dict(line.split("=", 1) for line in text(info.spec).split("\n"))
    spec["order_key"] = text(info.order_key)
    return spec
