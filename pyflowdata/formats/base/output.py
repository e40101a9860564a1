"""The files of a writer: their names, a file that is renamed when it is complete, and a folder."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import re
import string
import zlib
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from ...errors import Error, FileError, InvalidArgumentError, UnsupportedError, shown
from ...nodes.registry import COMPRESSIONS

# ---- Names of files -----------------------------------------------------------------------------

_OWN_SHARD = r"-[0-9]{5,}-of-[0-9]{5,}"
# Suffixes that say how the file is compressed; the number goes before the format's own suffix.
COMPRESSION_SUFFIXES = {
    suffix: name for name, one in COMPRESSIONS.items() for suffix in one.suffixes
}
# Only decimal numbers, without blanks or signs: these can be found again.
_SPEC = re.compile(r"(?:0[0-9]{0,2})?d?")


def _pieces(name: str) -> list[tuple[str, str, str]]:
    """A pattern as (text before, "shard", "shards" or "", format of the number).

    Raises:
        ValueError: The name is not a pattern.
    """
    pieces = []
    for text, field, spec, conversion in string.Formatter().parse(name):
        if field is not None and field not in ("shard", "shards"):
            raise ValueError(f"{{{field}}} is neither {{shard}} nor {{shards}}")
        if conversion or (spec and _SPEC.fullmatch(spec) is None):
            found = f"{'!' if conversion else ':'}{conversion or spec}"
            raise ValueError(f"{found} is not how shards are numbered: it must be like :05d")
        pieces.append((text, field or "", spec or ""))
    return pieces


class Names:
    """The names of the files of a writer: one file, or one for each shard.

    A path with `{shard}` in its last part, as `part-{shard:05d}`, is filled in with the number of
    the shard, and `{shards}` with the number of shards, both in decimal.  Any other path is the
    name of the only file, or, with shards, gets `-00000-of-00003` before its suffix.

    Attributes:
        is_sharded: Whether there may be several shards.
    """

    def __init__(self, path: Path, is_sharded: bool, suffixes: tuple[str, ...]) -> None:
        """Takes the path as the user gave it.

        Args:
            is_sharded: As the attribute.
            suffixes: Appended to the name, one for each file of a shard; ("",) for one file.

        Raises:
            InvalidArgumentError: The pattern in the path is invalid.
        """
        self.folder, self.name, self._suffixes = path.parent, path.name, suffixes
        self._is_pattern = "{shard" in self.name
        self.is_sharded = is_sharded or self._is_pattern
        if not self.name or self.name in (".", ".."):
            raise InvalidArgumentError(f"path = {shown(str(path))}; it must be the name of a file")
        try:
            self._pieces = _pieces(self.name) if self._is_pattern else []
        except ValueError as failure:
            raise InvalidArgumentError(
                f"path = {shown(str(path))}; its pattern must be like part-{{shard:05d}}, or with "
                f"{{shards}} for how many there are ({failure})"
            ) from None
        first, second = self._fill(0, 2), self._fill(1, 2)
        if self.is_sharded and first == second:
            raise InvalidArgumentError(
                f"path = {shown(str(path))}; all shards would be {shown(first)}: "
                "put {shard:05d} where their numbers belong"
            )

    def _split(self) -> tuple[str, str]:
        """The name before the shard's number, and the suffix after it."""
        stem, tail = self.name, ""
        if stem.lower().endswith(tuple(COMPRESSION_SUFFIXES)):
            stem, dot, packed = stem.rpartition(".")
            tail = dot + packed
        suffix = Path(stem).suffix
        return stem.removesuffix(suffix), suffix + tail

    def _fill(self, shard: int, shards: int) -> str:
        if self._is_pattern:
            numbers = {"shard": shard, "shards": shards}
            return "".join(
                text + (format(numbers[field], spec) if field else "")
                for text, field, spec in self._pieces
            )
        if not self.is_sharded:
            return self.name
        stem, suffix = self._split()
        return f"{stem}-{shard:05d}-of-{shards:05d}{suffix}"

    def compression(self) -> str | None:
        """The compression that the suffix names, if the path is the name of one file."""
        suffix = Path(self.name).suffix.lower()
        return COMPRESSION_SUFFIXES.get(suffix) if self._suffixes == ("",) else None

    def of(self, shard: int, shards: int) -> list[Path]:
        """The files of one shard."""
        name = self._fill(shard, shards)
        return [self.folder / (name + suffix) for suffix in self._suffixes]

    def _matcher(self) -> re.Pattern[str]:
        if self._is_pattern:
            body = "".join(
                re.escape(text) + ("[0-9]+" if field else "") for text, field, _ in self._pieces
            )
        elif self.is_sharded:
            stem, suffix = self._split()
            body = f"{re.escape(stem)}(?:{_OWN_SHARD})?{re.escape(suffix)}"  # or of one file
        else:
            body = re.escape(self.name)
        return re.compile(f"{body}(?:{'|'.join(map(re.escape, self._suffixes))})")

    def are(self, name: str) -> bool:
        """Whether a file of this name is one of them."""
        return self._matcher().fullmatch(name) is not None

    def present(self) -> list[Path]:
        """Existing files with such names, from an earlier run."""
        if not self.is_sharded:
            return [path for path in self.of(0, 1) if os.path.lexists(path)]
        matcher = self._matcher()
        try:
            found = [path for path in self.folder.iterdir() if matcher.fullmatch(path.name)]
            return sorted(one for one in found if one.name != self.name or one.is_file())
        except OSError:
            return []


# ---- A file that is written ---------------------------------------------------------------------

_STEM = 200  # bytes of the target's name in the temporary name
_BLOCK = 1 << 20  # bytes that are written at once

T = TypeVar("T")


def _deflater(level: int | None, window_bits: int) -> Any:
    method = zlib.Z_DEFAULT_COMPRESSION if level is None else level
    return zlib.compressobj(method, zlib.DEFLATED, window_bits, 9)


def _zstd(level: int | None, size: int = -1) -> Any:
    """A zstd compressor, whose frames end with a checksum; UnsupportedError if no installed package
    has one.

    Args:
        level: The level.
        size: The number of bytes to compress, for the head of the frame; -1: not known.
    """
    try:
        library = importlib.import_module("zstandard")
        return library.ZstdCompressor(level or 3, write_checksum=True).compressobj(size=size)
    except ImportError:
        pass
    try:  # Python 3.14
        library = importlib.import_module("compression.zstd")
        options = {library.CompressionParameter.checksum_flag: 1}
        if level is not None:
            options[library.CompressionParameter.compression_level] = level
        return library.ZstdCompressor(options=options)
    except ImportError:
        raise UnsupportedError(
            "compression = 'zstd' needs the package zstandard (pip install zstandard) or "
            "Python 3.14; gzip and zlib need neither"
        ) from None


# Key of COMPRESSIONS -> what makes an object with compress(data) and flush().
_COMPRESSORS: dict[str, Callable[[int | None], Any]] = {
    "gzip": lambda level: _deflater(level, 31),  # a header that names neither file nor time
    "zlib": lambda level: _deflater(level, 15),
    "zstd": _zstd,
}


def compressed(data: bytes, compression: str, level: int | None) -> bytes:
    """Bytes as one compressed stream, which states their size if the compression can.

    Raises:
        UnsupportedError: The compression needs a package that is not installed.
    """
    is_zstd = compression == "zstd"
    packer = _zstd(level, len(data)) if is_zstd else _COMPRESSORS[compression](level)
    if hasattr(packer, "FLUSH_FRAME"):  # Python's own, which learns the size by this alone
        packed: bytes = packer.compress(data, packer.FLUSH_FRAME)
        return packed
    begin: bytes = packer.compress(data)
    end: bytes = packer.flush()
    return begin + end


def failed(failure: OSError, path: Path, doing: str) -> Error:
    """The error for a failure of the system, which names the file."""
    said = failure.strerror or str(failure)
    is_there = os.path.lexists(path)
    left = "the file that was there is as it was" if is_there else "nothing is left under this name"
    return FileError(f"{doing}: {said}; {left}", file=os.fspath(path))


def sync_folder(folder: Path) -> None:
    """Syncs the names in a folder; a file system that cannot is left alone."""
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


def _temporary(target: Path) -> Path:
    """A name beside the target for an unfinished file; another name in each call."""
    # Names have a limit in bytes; a character that is cut there is left out.
    stem = os.fsencode(target.name)[:_STEM].decode("utf-8", "ignore")
    return target.parent / f".{stem}.{os.getpid()}-{os.urandom(4).hex()}.tmp"


def _made(target: Path, what: str, make: Callable[[Path], T]) -> tuple[T, Path]:
    """Makes a new file or folder beside the target; returns it and its temporary name."""
    while True:
        path = _temporary(target)
        try:
            return make(path), path
        except FileExistsError:
            continue
        except OSError as failure:
            said = failure.strerror or str(failure)
            raise FileError(
                f"no {what} can be made in the folder {target.parent}: {said}",
                file=os.fspath(target),
            ) from failure


def _check_length(target: Path) -> None:
    """Refuses a name that is too long at once, and not only after everything is written."""
    try:
        os.lstat(target)
    except OSError as failure:
        if failure.errno == errno.ENAMETOOLONG:
            raise failed(failure, target, "making it") from failure


def _write_all(file: FileIO, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest) :]


class OutputFile:
    """A new file beside its target, written under a temporary name.

    Attributes:
        target: The name that it is meant for; put_in_place() gives it later.
        path: The temporary name.
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
            compression: A key of COMPRESSIONS, or None.
            level: The level of compression; None for its default.
            is_patched: Whether patch() is called: then the file is compressed when all is written.

        Raises:
            FileError: The folder does not exist, or is not writable.
        """
        self.target = target
        _check_length(target)
        self.size = 0
        self._packer: Any = _COMPRESSORS[compression](level) if compression else None
        self._is_late = is_patched and compression is not None
        self._kept: list[bytes] = []  # written with the next block
        self._kept_size = 0
        self._process = os.getpid()
        self._file, self.path = self._create()

    def _create(self) -> tuple[FileIO, Path]:
        return _made(self.target, "file", lambda path: FileIO(path, "x+"))

    def _do(self, call: Callable[[], T], doing: str) -> T:
        try:
            return call()
        except OSError as failure:
            raise failed(failure, self.target, doing) from failure

    def _keep(self, data: bytes | memoryview) -> None:
        """Collects small pieces into blocks."""
        if len(data) < _BLOCK:
            self._kept.append(bytes(data))
            self._kept_size += len(data)
            if self._kept_size >= _BLOCK:
                self._flush()
            return
        self._flush()
        self._do(lambda: _write_all(self._file, data), f"writing {len(data)} bytes")

    def _flush(self) -> None:
        block = b"".join(self._kept)
        self._kept.clear()
        self._kept_size = 0
        self._do(lambda: _write_all(self._file, block), f"writing {len(block)} bytes")

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes."""
        packed = self._packer.compress(data) if self._packer and not self._is_late else data
        self._keep(packed)
        self.size += len(data)

    def skip(self, size: int) -> None:
        """Skips bytes, which become zeros, in a file that is not compressed."""
        self._flush()
        self._do(lambda: self._file.seek(size, os.SEEK_CUR), f"leaving {size} bytes out")
        self.size += size

    def patch(self, offset: int, data: bytes) -> None:
        """Overwrites bytes that were written earlier."""
        self._flush()
        self._do(
            lambda: os.pwrite(self._file.fileno(), data, offset),
            f"writing {len(data)} bytes at byte {offset}",
        )

    def _compress_all(self) -> None:
        """Replaces the plain file by a compressed one."""
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

    def complete(self) -> None:
        """Writes the rest, syncs, and closes the file."""
        if self._is_late:
            self._compress_all()
        if self._packer:
            self._keep(self._packer.flush())
        self._flush()
        self._do(lambda: os.fsync(self._file.fileno()), "syncing")
        self._do(self._file.close, "closing")

    def discard(self) -> None:
        """Closes and removes the file, without an error. A forked child leaves the file alone."""
        with contextlib.suppress(OSError):
            self._file.close()
        if os.getpid() == self._process:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)


# ---- A folder that is written -------------------------------------------------------------------

_SYNCING = 8  # files that are synced at a time, which a file system does together


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class OutputFolder:
    """A new folder of files, or of folders of files, beside its target.

    Attributes:
        target, path: As in OutputFile.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        _check_length(target)
        self._process = os.getpid()
        _, self.path = _made(target, "folder", Path.mkdir)

    def add_folder(self, name: str) -> None:
        """Makes a folder in it."""
        try:
            os.mkdir(self.path / name)
        except OSError as failure:
            raise failed(failure, self.target, f"making the folder {name}") from failure

    def rename_folder(self, name: str, new: str) -> None:
        """Gives a folder in it another name."""
        try:
            os.rename(self.path / name, self.path / new)
        except OSError as failure:
            raise failed(failure, self.target, f"renaming the folder {name}") from failure

    def add_file(self, name: str, data: bytes) -> None:
        """Writes a file in it, or in one of its folders: `name` is its path from here."""
        try:
            with open(f"{self.path}/{name}", "xb", buffering=0) as file:
                _write_all(file, data)
        except OSError as failure:
            raise failed(failure, self.target, f"writing {name}") from failure

    def complete(self) -> None:
        """Syncs all files."""
        from concurrent.futures import ThreadPoolExecutor

        try:
            with ThreadPoolExecutor(_SYNCING) as pool:
                for folder, _, names in os.walk(self.path):
                    for _ in pool.map(_sync, (os.path.join(folder, name) for name in names)):
                        pass
                    sync_folder(Path(folder))
        except OSError as failure:
            raise failed(failure, self.target, "syncing") from failure

    def discard(self) -> None:
        """Removes the folder, without an error. A forked child leaves it alone."""
        import shutil

        if os.getpid() == self._process:
            shutil.rmtree(self.path, ignore_errors=True)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it."""
    import shutil  # for few programs

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put_in_place(made: Path, path: Path) -> None:
    """Renames a file or a folder, replacing a former one of that name.  A folder with files is not
    replaced in one step: for a moment no folder has the name.

    Raises:
        OSError: It cannot be renamed; the former file still has the name.
    """
    if not made.is_dir() or not os.path.lexists(path):
        os.replace(made, path)
        return
    old = _temporary(path)
    os.rename(path, old)
    try:
        os.rename(made, path)
    except OSError:
        os.rename(old, path)
        raise
    with contextlib.suppress(OSError):
        remove(old)
