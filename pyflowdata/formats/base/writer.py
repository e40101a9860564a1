"""The base of all writers: shards, temporary names, and giving the files their names."""

from __future__ import annotations

import contextlib
import operator
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import Error, FileError, InvalidArgumentError, shown
from ...nodes.registry import COMPRESSIONS
from ...ragged import Ragged
from .output import (
    Names,
    OutputFile,
    OutputFolder,
    failed,
    put_in_place,
    sync_folder,
)
from .seals import remove_seal, write_seal
from .uploads import upload_of

if TYPE_CHECKING:
    from typing_extensions import Self


Sizes = npt.NDArray[np.int64]

_OPEN, _CLOSED, _BROKEN = "open", "closed", "broken"


class Shard:
    """The files of one shard, while they are written.

    Attributes:
        files: The files that the format has for one data set; or the one folder.
        records: The number of its records.
        bytes: Their size in the first file, before compression.
        is_started: Whether the part before the first record is written.
    """

    def __init__(self, files: Sequence[OutputFile | OutputFolder]) -> None:
        self.files, self.records, self.bytes = files, 0, 0
        self.is_started = False

    @property
    def main(self) -> OutputFile:
        return self.file(0)

    def file(self, place: int) -> OutputFile:
        """One of the files of a shard that is not a folder."""
        found = self.files[place]
        assert isinstance(found, OutputFile)
        return found


class Writer(ABC):
    """Writes records into one file, or into shards.

    Files get their final names in `close()`, which syncs all files, renames them, and syncs the
    folder.  After an exception in a `with` block, `discard()`, or the end of the process, no file
    is left; a process that is killed leaves files that begin with a dot and end in `.tmp`.  Several
    writers of one name do not disturb each other: the final files are complete, all from one
    writer.  One thread may use a writer at a time.

    Files at an address, as s3://bucket/train.tfrecord, are made in the folder of the cache, and put
    into the store in `close()`.  Each object appears whole or not at all.

    If a sample cannot be written, an exception is raised, and no part of the sample is written; the
    writer can go on.

    Attributes:
        records: The number of written records.
        paths: The files, once the writer is closed; texts where they are addresses.
    """

    compressions: ClassVar[tuple[str, ...]] = tuple(COMPRESSIONS)
    suffixes: ClassVar[tuple[str, ...]] = ("",)
    is_sharded: ClassVar[bool] = True  # whether there may be several shards
    is_patched: ClassVar[bool] = False  # whether the head of a file is known only at the end

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shard_records: int | None = None,
        shard_bytes: int | None = None,
        compression: str | None = None,
        level: int | None = None,
        overwrite: bool = False,
        seal: bool = False,
    ) -> None:
        """Opens the file.

        Args:
            path: The file, or its address. With shards `train.x` becomes
                `train-00000-of-00003.x`, and `part-{shard:05d}` becomes `part-00000`.
            shard_records: Starts a new shard after this many records.
            shard_bytes: Starts a new shard before a record that would make the shard larger than
                this, before compression. A larger record gets its own shard.
            compression: One of `compressions`, or "none"; None: by the suffix of the path, as
                `.gz`, and none otherwise.
            level: The level of the compression; None for its default.
            overwrite: Whether to replace files of these names, and shards of an earlier run, or
                its one file; otherwise such files are an error, now and in `close()`.
            seal: Whether each file gets a seal, NAME.pfdseal, with checksums of all its bytes.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The folder does not exist or is not writable, or the file exists already.
            UnsupportedError: The compression needs a package that is not installed.
        """
        self._state = _CLOSED
        self._shards: list[Shard] = []
        self._shard_records = self._whole("shard_records", shard_records, 1)
        self._shard_bytes = self._whole("shard_bytes", shard_bytes, 1)
        self._overwrite = overwrite
        self._has_seals = seal
        is_sharded = shard_records is not None or shard_bytes is not None
        self._upload = upload_of(path)
        self.records = 0
        self.paths: tuple[Path | str, ...] = ()
        try:
            self._path = self._base(self._upload.path if self._upload else self._checked(path))
            self._names = Names(self._path, is_sharded, self.suffixes)
            self._packing = self._pack(compression, level)
            self._refuse_present()
            self._state = _OPEN
            self._shards.append(self._new_shard())
        except BaseException:
            self.discard()
            raise

    # ---- What a format says -------------------------------------------------------------------

    @abstractmethod
    def write(self, sample: Any) -> None:
        """Writes one record."""

    @abstractmethod
    def write_batch(self, batch: Any) -> None:
        """Writes a record for each row."""

    def _base(self, path: Path) -> Path:
        """The path from which names are made."""
        return path

    def _begin(self, shard: Shard) -> None:
        """Writes the part before the first record; called before that record, or in close()."""

    def _wrote(self, shard: Shard, begin: int, end: int) -> None:
        """Called when rows begin..end of the argument of _emit() are in the shard."""

    def _finish(self, shard: Shard) -> None:
        """Writes the part after the last record, and values that were not known before."""

    @classmethod
    def name_set(cls, files: Sequence[Sequence[Path]], names: Sequence[Sequence[Path]]) -> None:
        """Called before complete files get their names, for formats whose files contain the names.

        Args:
            files: The files of each shard, under other names.
            names: The names that they get.
        """

    def expect(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Called with the fields of encoded rows, for files that name them.

        Args:
            shapes: Name of a field -> shape of its rows; () where the shape varies.
        """

    def write_encoded(self, rows: Ragged) -> None:
        """Writes encoded records: rows with the bytes of each record in the file, as
        `Format.encoded` makes them.
        """
        data = np.ascontiguousarray(rows.values)
        self._emit(data.data, rows.lengths)

    # ---- For the formats ----------------------------------------------------------------------

    def _shown(self) -> str:
        return self._upload.url if self._upload else os.fspath(self._path)

    def _fail(self, message: str, row: int | None = None) -> InvalidArgumentError:
        """The error for a sample, whose place in the batch is row."""
        return InvalidArgumentError(
            message,
            op=type(self).__name__,
            file=self._shown(),
            ordinal=self.records + (row or 0),
        )

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Adds the writer, its file and the record to errors of functions that make bytes."""
        try:
            yield
        except InvalidArgumentError as failure:
            if failure.op is not None:
                raise
            raise self._fail(failure.message, failure.ordinal) from failure.__cause__

    @staticmethod
    def _check_sample(sample: object) -> None:
        if not isinstance(sample, Mapping):
            raise InvalidArgumentError(f"a sample is a dict of fields; this is {shown(sample)}")

    def _emit(self, data: bytes | memoryview, sizes: Sizes) -> None:
        """Appends records that lie back to back in a buffer; a record is never divided between
        shards.
        """
        with self._writing():
            self._fill(memoryview(data).cast("B") if len(data) else data, np.cumsum(sizes))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A context manager: a failure to write ends the writer, and removes its files."""
        self._check_open()
        try:
            yield
        except BaseException:
            self._drop()
            self._state = _BROKEN
            raise

    def _check_open(self) -> None:
        if self._state != _OPEN:
            raise self._fail(f"it is {self._state}; no more can be written")

    def _fill(self, data: bytes | memoryview, ends: Sizes) -> None:
        row = 0
        while row < len(ends):
            begin = int(ends[row - 1]) if row else 0
            count = self._room(ends[row:] - begin)
            if count == 0:
                self._seal(self._shards[-1])
                self._shards.append(self._new_shard())
                continue
            self._put(data[begin : int(ends[row + count - 1])], row, row + count)
            row += count

    def _put(self, data: bytes | memoryview, begin: int, end: int) -> None:
        shard = self._shards[-1]
        self._begin_once(shard)
        shard.main.write(data)
        shard.records += end - begin
        shard.bytes += len(data)
        self._wrote(shard, begin, end)
        self.records += end - begin

    def _room(self, ends: Sizes) -> int:
        """How many of the next records, given by their ends, go into the current shard."""
        shard, count = self._shards[-1], len(ends)
        if self._shard_records is not None:
            count = min(count, self._shard_records - shard.records)
        if self._shard_bytes is not None:
            left = self._shard_bytes - shard.bytes
            fitting = int(np.searchsorted(ends, left, side="right"))
            count = min(count, max(fitting, 1 if shard.records == 0 else 0))
        return count

    # ---- Shards -------------------------------------------------------------------------------

    def _whole(self, what: str, value: Any, least: int, most: int | None = None) -> int | None:
        """An argument that is a whole number, checked."""
        if value is None:
            return None
        wanted = f"{least} or more" if most is None else f"{least} to {most}"
        try:
            number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
        except TypeError:
            number = None
        if number is None or number < least or (most is not None and number > most):
            of = "" if number is not None else "a whole number, "
            raise InvalidArgumentError(
                f"{what} = {shown(value)}; it must be {of}{wanted}", op=type(self).__name__
            )
        return number

    def _checked(self, path: Any) -> Path:
        """The path, if it can be the name of a file."""
        try:
            found = Path(os.fspath(path))
            is_name = b"\0" not in os.fsencode(found)
        except (TypeError, UnicodeEncodeError):
            is_name = False
        if not is_name:
            raise InvalidArgumentError(
                f"path = {shown(path)}; it must be text that may be the name of a file, or a Path",
                op=type(self).__name__,
            )
        return found

    def _pack(self, compression: str | None, level: Any) -> tuple[str | None, int | None]:
        found = self._names.compression() if compression is None else compression
        if found is None or (isinstance(found, str) and found == "none"):
            least, most = zip(*(one.levels for one in COMPRESSIONS.values()))
            return None, self._whole("level", level, min(least), max(most))
        if not isinstance(found, str) or found not in self.compressions:
            known = f"None, 'none' or one of {', '.join(map(repr, self.compressions))}"
            if not self.compressions:
                known = "None or 'none', as what this writer makes is never compressed"
            what = f"compression = {shown(found)}"
            if compression is None:
                what = f"the name {shown(self._names.name)} says {what}"
            raise InvalidArgumentError(f"{what}; it must be {known}", op=type(self).__name__)
        return found, self._whole("level", level, *COMPRESSIONS[found].levels)

    @classmethod
    def obstacle(cls, path: Path) -> str | None:
        """Why the file of a name cannot be replaced; None: it can."""
        if path.is_dir() or (path.exists() and not path.is_file()):
            return "it is not a regular file; choose another name"
        return None

    def _refuse_present(self) -> None:
        if self._upload:
            self._replaced = self._upload.refuse_present(
                self._names, self._overwrite, "overwrite=True"
            )
        for path in self._names.present():
            if said := self.obstacle(path):
                raise FileError(said, file=str(path))
            if not self._overwrite:
                raise FileError(
                    "it is there already; remove it, or say overwrite=True", file=str(path)
                )

    def _new_shard(self) -> Shard:
        files: list[OutputFile | OutputFolder] = []
        try:
            for target in self._names.of(len(self._shards), len(self._shards) + 1):
                files.append(self._new_file(target))
            return Shard(files)
        except BaseException:
            for file in files:
                file.discard()
            raise

    def _new_file(self, target: Path) -> OutputFile | OutputFolder:
        return OutputFile(target, *self._packing, is_patched=self.is_patched)

    def _begin_once(self, shard: Shard) -> None:
        if not shard.is_started:
            shard.is_started = True
            self._begin(shard)

    def _seal(self, shard: Shard) -> None:
        self._begin_once(shard)
        self._finish(shard)
        for file in shard.files:
            file.complete()

    # ---- The end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Finishes all files and gives them their names; does nothing if it is closed already.

        Raises:
            FileError: The files cannot be written or renamed; none of them is left.
            InvalidArgumentError: The writer failed before; its files are gone.
        """
        if self._state == _CLOSED:
            return
        if self._state == _BROKEN:
            self._state = _CLOSED
            raise self._fail("writing failed before, so that there is no file")
        try:
            self._seal(self._shards[-1])
            self._publish()
        except BaseException:
            self._drop()
            self._state = _CLOSED
            raise
        self._state = _CLOSED

    def _publish(self) -> None:
        self._refuse_present()
        old = set(self._names.present())
        total = len(self._shards)
        pairs = [
            (file, path, shard.records if total > 1 else self.records)
            for number, shard in enumerate(self._shards)
            for file, path in zip(shard.files, self._names.of(number, total), strict=True)
        ]
        self.name_set(
            [[file.path for file in shard.files] for shard in self._shards],
            [self._names.of(number, total) for number in range(total)],
        )
        there: list[Path] = []
        for file, path, _ in pairs:
            try:
                remove_seal(path)
                self._rename(file.path, path)
            except OSError as failure:
                for one in there:
                    one.unlink(missing_ok=True)
                if isinstance(failure, Error):
                    raise
                raise failed(failure, path, "renaming") from failure
            there.append(path)
        for path in old - set(there):
            path.unlink(missing_ok=True)
            remove_seal(path)
        if self._has_seals:
            for _, path, records in pairs:
                write_seal(path, records)
        sync_folder(self._names.folder)
        self._shards.clear()
        self.paths = tuple(self._upload.send(self._replaced) if self._upload else there)

    def _rename(self, temporary: Path, path: Path) -> None:
        if self._overwrite:
            put_in_place(temporary, path)
            return
        try:  # unlike a rename, a link fails where another writer was first
            os.link(temporary, path)
        except FileExistsError:
            raise FileError(
                "another writer has made it meanwhile; its file is kept, this one is dropped",
                file=str(path),
            ) from None
        except OSError:  # a file system without links
            os.rename(temporary, path)
        else:
            temporary.unlink()

    def _drop(self) -> None:
        for shard in self._shards:
            for file in shard.files:
                file.discard()
        self._shards.clear()
        if self._upload:
            self._upload.discard()

    def discard(self) -> None:
        """Removes all files of the writer."""
        self._drop()
        self._state = _CLOSED

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if failure is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        if getattr(self, "_state", _CLOSED) == _OPEN:
            warnings.warn(
                f"{self!r} was never closed: nothing of it is kept", ResourceWarning, stacklevel=2
            )
            self.discard()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()!r}, records={self.records})"
