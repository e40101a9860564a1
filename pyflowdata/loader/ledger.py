"""The ledger of a loader: a file that records which batches were delivered to a process, and when.

The file is mapped and shares its pages with the kernel's cache: what was noted stays when the
process is killed, and no step needs a system call.  A crash of the machine may lose the latest
entries.

    file     MAGIC, then entries one after the other; zeros after the last one
    entry    two uint32, little-endian: a CRC-32 of the rest, and kind << 24 | bytes of the payload;
             then the payload, a multiple of 8 bytes.  These two words, the head, are written last,
             so that an entry is there as a whole or not at all

The first entry is the header, a dict of JSON that says which loader and process wrote the ledger.
It has the loader's state at the start of epoch 0, which describes its readers.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
import zlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..errors import CorruptDataError, FileError, InvalidArgumentError, shown
from ..native import CData, ffi
from ..native.calling_line import warn_program_once
from ..nodes import Blob
from .batches import Batch, BatchArrays
from .opening import read_skipped

VARIABLE = "PYFLOWDATA_LEDGER"  # the directory of the ledgers; "": there are none
SUFFIX = ".pfdledger"
VERSION = 1
_MAGIC = b"pfdledg\x01"
_BLOCK = 1 << 16  # bytes that a file grows by, at least
_PAGE = mmap.ALLOCATIONGRANULARITY
_ENTRY_HEAD = struct.Struct("<II")
_MOMENT = struct.Struct("<qqq")
MOST_LISTED = 100  # damaged records of a batch, or of an epoch in an audit, that are listed

# Kinds of entries.  An audit passes over STATE and CLOSE: they tell a person who looks into a
# ledger after which batch a state was saved, and whether the loader was closed or killed.
HEADER = 1
STEP = 2  # a batch was delivered; the payload is a Step
FAILED = 3  # JSON: [file, record] of the damaged records of the step before
SEEK = 4  # the library goes to a place; steps noted at that place or later did not arrive
MOVE = 5  # the program goes to a place
LOAD = 6  # a state was loaded; the seeds of all readers follow the place
STATE = 7  # a state was taken
END = 8  # the end of an epoch was seen
CLOSE = 9


class Step(NamedTuple):
    """A delivered batch, as `pfd_batch` of the library has it.

    Attributes:
        epoch, step: The number of the batch.
        rows: Its rows on this rank.
        first, made: The first position, and the number of positions, in the order of the epoch from
            which the rows were made; first is -1 for streams.
        failed: Damaged rows, which were left out or padded.
    """

    epoch: int
    step: int
    rows: int
    first: int
    made: int
    failed: int


_STEP = struct.Struct("<6q")
_FIELDS = ffi.typeof("pfd_batch").fields
assert tuple(name for name, _ in _FIELDS[1:]) == Step._fields
_SIZE = _STEP.size
_FAILED = Step._fields.index("failed")
_ROOM = _ENTRY_HEAD.size + _SIZE
assert ffi.sizeof("pfd_batch") == 8 + _SIZE
_STEP_WORD = STEP << 24 | _SIZE
_STEP_CRC = zlib.crc32(_STEP_WORD.to_bytes(4, "little"))  # of a step's entry up to the payload
_crc32, _pack_head, _take = zlib.crc32, _ENTRY_HEAD.pack, BatchArrays.take


# ---- Writing ------------------------------------------------------------------------------------


def _failure(path: str, doing: str, failure: OSError) -> FileError:
    said = failure.strerror or str(failure)
    return FileError(f"the ledger cannot be {doing}: {said}; give another ledger=", file=path)


def directory_of(given: str | os.PathLike[str] | None) -> str:
    """The directory of a loader's ledger, made if it is missing; "": no ledger is wanted.

    Args:
        given: As `ledger` of DataLoader.

    Raises:
        InvalidArgumentError: `given` is not a path.
        FileError: The directory cannot be made.
    """
    try:
        path = os.fspath(os.environ.get(VARIABLE, "") if given is None else given)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise InvalidArgumentError(
            f"ledger = {shown(given)}; it must be the path of a directory, None or '' for no ledger"
        )
    if not path:
        return ""
    path = os.path.abspath(path)  # the program may go to another directory
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as failure:
        raise _failure(path, "made", failure) from failure
    return path


def warn_of_no_ledger(loader: str) -> None:
    """Warns once that a kind of loader writes no ledger, although the environment asks for one."""
    given = os.environ.get(VARIABLE)
    if given:
        warn_program_once(
            ("no ledger", loader),
            UserWarning(
                f"{VARIABLE} = {shown(given)}, and {loader} writes no ledger: `pyflowdata audit` "
                "will know nothing of its samples. flow.DataLoader and TorchLoader write one, over "
                "readers and flow.from_arrays()."
            ),
        )


def _json(value: object) -> bytes:
    text = json.dumps(value).encode()
    return text + b" " * (-len(text) % 8)


def _head(kind: int, payload: bytes) -> bytes:
    word = (kind << 24 | len(payload)).to_bytes(4, "little")
    return zlib.crc32(word + payload).to_bytes(4, "little") + word


class Ledger:
    """Writes the ledger of a loader.  Used by the thread that has the loader's turn; a signal
    handler may note a moment in between.

    The file is made when something is first noted, so a loader that delivers nothing has no ledger.

    Attributes:
        is_paused: Whether steps are not noted.
    """

    __slots__ = (
        "_at", "_base", "_directory", "_end", "_header", "_is_closed", "_map", "_path", "_start_ns",
        "_state", "is_paused",
    )  # fmt: skip

    def __init__(self, directory: str, header: dict[str, Any]) -> None:
        """Args: the header, without the facts about the process."""
        self._directory, self._header = directory, header
        self._path = ""  # "": not made yet, or closed
        self._start_ns = time.time_ns()
        self._map: Any = None
        self._base = self._at = self._end = 0  # of the mapped part: offset; next entry; size
        self._state: tuple[int, int] | None = None  # the last entry is of this state
        self._is_closed = self.is_paused = False

    def note(self, kind: int, epoch: int, position: int, *others: int) -> None:
        """Notes a moment, with the current time.

        Raises:
            FileError: The file cannot be made or made longer.
        """
        if kind == STATE:
            if self._state == (epoch, position) or not self._path:
                return
            self._state = epoch, position
        else:
            self._state = None
        numbers = epoch, position, time.time_ns(), *others
        self._add(kind, struct.pack(f"<{len(numbers)}q", *numbers))

    def note_failed(self, records: list[list[Any]]) -> None:
        """Notes the damaged records, [file, line or number], of the batch that was noted last."""
        self._add(FAILED, _json(records))

    def note_step(self, batch: Any) -> None:
        """Notes a delivered batch: a buffer with the bytes of a Step."""
        self._state = None
        head = _pack_head(_crc32(batch, _STEP_CRC), _STEP_WORD)
        if self._at + _ROOM > self._end:
            self._grow(_ROOM, self._path)
        at = self._at  # from here on there is no call: no signal handler comes in between
        begin, end = at + 8, at + _ROOM
        self._map[begin:end] = batch
        self._map[at:begin] = head
        self._at = end

    def _add(self, kind: int, payload: bytes) -> None:
        if self._is_closed:
            return
        if not self._path:
            self._begin()
        size = 8 + len(payload)
        head = _head(kind, payload)
        if self._at + size > self._end:
            self._grow(size, self._path)
        at = self._at
        self._map[at + 8 : at + size] = payload
        self._map[at : at + 8] = head
        self._at = at + size

    def _begin(self) -> None:
        """Makes the file; tries again if a signal interrupted it."""
        header, start = self._header, self._start_ns
        digest = header["state"]["check"]
        header |= {
            "version": VERSION, "start_ns": start, "pid": os.getpid(), "host": os.uname().nodename
        }  # fmt: skip
        while True:
            name = f"{digest}-rank{header['rank']}-{start}-{os.getpid()}{SUFFIX}"
            path = os.path.join(self._directory, name)
            text = _json(header)
            begin = _MAGIC + _head(HEADER, text) + text
            try:
                with open(path, "xb") as file:
                    file.write(begin)
                break
            except FileExistsError:  # of another loader of the process
                start += 1
            except OSError as failure:
                raise _failure(path, "made", failure) from failure
        self._base, self._at = 0, len(begin)
        self._grow(_ROOM, path)

    def _grow(self, size: int, path: str) -> None:
        """Maps the part of the file that begins at the next entry, with room for `size` bytes."""
        if self._is_closed:  # by another thread; nothing is kept
            self._map, self._at, self._end = bytearray(size), 0, size
            return
        place = self._base + self._at
        base = place // _PAGE * _PAGE
        length = max(_BLOCK, -(-(place - base + size) // _PAGE) * _PAGE)
        try:
            file = os.open(path, os.O_RDWR)
            try:
                os.posix_fallocate(file, base, length)  # a full disk is an error now, no crash then
                mapped = mmap.mmap(file, length, offset=base)
            finally:
                os.close(file)
        except OSError as failure:
            raise _failure(path, "made longer", failure) from failure
        self._map, self._end, self._path = mapped, length, path  # no signal comes in between
        self._base, self._at = base, place - base

    def close(self, epoch: int, position: int) -> None:
        """Notes the end of the loader; later notes have no effect.  A failure is not an error: the
        rest of the file stays empty.
        """
        if self._is_closed or not self._path:
            self._is_closed = True
            return
        try:
            self.note(CLOSE, epoch, position)
            used = self._base + self._at
            self._is_closed = True
            self._grow(_ROOM, self._path)
            os.truncate(self._path, used)
        except (OSError, FileError):
            self._is_closed = True


class NotedArrays(BatchArrays):
    """Makes the arrays of a loader's batches, and notes each batch of an epoch in a ledger."""

    __slots__ = ("_handle", "_ledger", "_numbers", "_step")

    def __init__(
        self, blobs: Sequence[Blob], info: CData, ledger: Ledger, handle: CData
    ) -> None:
        """Args: the blobs of the loader, its `pfd_loader_info`, its ledger, and `pfd_loader *`."""
        super().__init__(blobs, info)
        self._ledger, self._handle = ledger, handle
        self._step = ffi.buffer(ffi.addressof(self.batch, Step._fields[0]), _SIZE)
        self._numbers = memoryview(self._step).cast("q")  # a field of cffi takes longer

    def take(self) -> tuple[list[Batch], int, int]:
        """Like BatchArrays.take().  If a signal keeps the batch from the program, the loader goes
        back to the place of the batch, and the ledger notes this, too.

        Raises:
            FileError: The ledger cannot be made longer; the batch is made again later.
        """
        taken = _take(self)
        ledger = self._ledger
        if taken[2] >= 0 and not ledger.is_paused:
            ledger.note_step(self._step)
            if self._numbers[_FAILED]:
                records = [
                    [one.file, one.line if one.line is not None else one.ordinal]
                    for one in read_skipped(self._handle)[-min(self.batch.failed, MOST_LISTED) :]
                ]
                ledger.note_failed(records)
        return taken


# ---- Reading ------------------------------------------------------------------------------------


class LedgerFile:
    """The contents of a ledger.

    Attributes:
        path: The file.
        header: Its first entry.
        entries: The other entries in their order: kind and payload.  The payload of a STEP is a
            Step, of a FAILED a list, and of a moment a tuple with epoch, position, time in ns and
            more.
    """

    def __init__(self, path: str, header: dict[str, Any]) -> None:
        self.path, self.header = path, header
        self.entries: list[tuple[int, Any]] = []


_KINDS: Final = frozenset(range(HEADER, CLOSE + 1))


def _size_at(data: bytes, at: int) -> int:
    return int(_ENTRY_HEAD.unpack_from(data, at)[1]) & 0xFFFFFF


def _entry_at(data: bytes, at: int) -> tuple[int, int]:
    """The kind of the entry at an offset, and the size of its payload; (0, 0): there is none, or it
    is damaged.
    """
    crc, word = _ENTRY_HEAD.unpack_from(data, at)
    kind, size = word >> 24, word & 0xFFFFFF
    if kind not in _KINDS or size % 8 or at + 8 + size > len(data):
        return 0, 0
    return (kind, size) if zlib.crc32(data[at + 4 : at + 8 + size]) == crc else (0, 0)


def _is_unwritten(data: bytes, at: int) -> bool:
    """Whether there is no entry at `at` or later.  A payload after a head of zeros is not an entry:
    the process was killed before it wrote the head.
    """
    if data[at : at + 8] != bytes(8)[: len(data) - at]:
        return False
    rest = data[at:]
    written = len(rest.rstrip(b"\0"))
    return not any(_entry_at(data, at + i)[0] for i in range(8, min(written, len(rest) - 7), 8))


def read_ledger(path: str) -> LedgerFile:
    """Reads a ledger, also while a process still writes to it.

    Raises:
        FileError: The file cannot be read.
        CorruptDataError: The file is not a ledger, or is damaged; `byte` names the place.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as failure:
        raise FileError(f"the ledger cannot be read: {failure.strerror}", file=path) from failure
    if not data.startswith(_MAGIC):
        if data.strip(b"\0"):
            raise CorruptDataError(
                "this is not a ledger of this version: its first bytes differ", file=path, byte=0
            )
        return LedgerFile(path, {})  # killed before the first entry
    found, at = LedgerFile(path, {}), len(_MAGIC)
    while at + 8 <= len(data):
        kind, size = _entry_at(data, at)
        if not kind:
            is_cut = at == len(_MAGIC) and at + 8 + _size_at(data, at) > len(data)
            if is_cut or _is_unwritten(data, at):
                break  # is_cut: killed while the header was written
            raise CorruptDataError(
                "the ledger is damaged: this entry is not what was written", file=path, byte=at
            )
        payload = data[at + 8 : at + 8 + size]
        if (kind == HEADER) != (at == len(_MAGIC)):
            raise CorruptDataError(
                "the ledger is damaged: its header must be its first entry", file=path, byte=at
            )
        if kind == HEADER:
            found.header = _header(payload, path, at)
        else:
            found.entries.append((kind, _value(kind, payload, path, at)))
        at += 8 + size
    return found


def _header(payload: bytes, path: str, at: int) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(payload)
    except ValueError:
        header = {}
    if header.get("version") != VERSION:
        raise CorruptDataError(
            f"the ledger has version {shown(header.get('version'))}; this pyflowdata reads version "
            f"{VERSION}",
            file=path, byte=at,
        )  # fmt: skip
    return header


def _value(kind: int, payload: bytes, path: str, at: int) -> Any:
    if kind == STEP and len(payload) == _SIZE:
        return Step._make(_STEP.unpack(payload))
    if kind == FAILED:
        return json.loads(payload)
    if kind != STEP and len(payload) >= _MOMENT.size:
        return struct.unpack(f"<{len(payload) // 8}q", payload)
    raise CorruptDataError("the ledger is damaged: an entry has a wrong length", file=path, byte=at)


__all__ = [
    "END", "FAILED", "LOAD", "MOST_LISTED", "MOVE", "SEEK", "STATE", "STEP", "SUFFIX", "VARIABLE",
    "Ledger", "LedgerFile", "NotedArrays", "Step", "directory_of", "read_ledger",
    "warn_of_no_ledger",
]  # fmt: skip
