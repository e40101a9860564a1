"""MDS datasets: their writer, and comparison of shards with what index.json says of them."""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import FileError, InvalidArgumentError, shown
from ..native import xxh64
from ..nodes.image_files import ending_of
from ..ragged import Ragged
from .base.columns import Array, bytes_rows, columns, each_row, little, slices
from .base.damage import Damage, Scan
from .base.detection import head_of, is_file, opened, read_range, size_of
from .base.fields import BYTES, Field
from .base.format import Format
from .base.images import ImageEncoding, encoded_rows
from .base.output import OutputFolder, compressed
from .base.row_types import (
    TEXT,
    ColumnsWriter,
    Part,
    RowType,
    arrays,
    byte_view,
    dense,
    joined,
    refuse_other_columns,
    row_type,
    sizes_of_part,
    type_of_field,
)
from .base.source import Source
from .base.writer import Shard, Sizes

_PIECE = 1 << 20
_WORD = 4  # bytes of the number of samples, and of each of the offsets, one more than samples
_COLUMN_FACTS = ("column_names", "column_encodings", "column_sizes")
_INDEX = "index.json"
_VERSION = 2  # of the shards and of the index

# ---- Hashes -------------------------------------------------------------------------------------


def _pieces(path: str) -> Iterator[bytes]:
    with opened(path) as file:
        while piece := file.read(_PIECE):
            yield piece


def _crc32(path: str) -> str:
    value = 0
    for piece in _pieces(path):
        value = zlib.crc32(piece, value)
    return f"{value:08x}"


def _xxh64(path: str) -> str:
    if size_of(path) == 0:  # it cannot be mapped
        return f"{xxh64(b''):016x}"
    with (
        opened(path) as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return f"{xxh64(data):016x}"


def _digest(kind: str) -> Callable[[str], str] | None:
    """A function that computes a kind of hash, in hexadecimal; None: the kind is not supported."""
    if kind in ("xxh64", "crc32"):
        return _xxh64 if kind == "xxh64" else _crc32
    try:
        if hashlib.new(kind).digest_size == 0:  # a kind that gives any number of bytes
            return None
    except (ValueError, TypeError):
        return None

    def compute(path: str) -> str:
        state = hashlib.new(kind)
        for piece in _pieces(path):
            state.update(piece)
        return state.hexdigest()

    return compute


def _hash(kind: str, data: bytes) -> str:
    """The hash of some bytes, in hexadecimal, of a kind that `_digest` knows."""
    if kind == "xxh64":
        return f"{xxh64(data):016x}"
    return f"{zlib.crc32(data):08x}" if kind == "crc32" else hashlib.new(kind, data).hexdigest()


# ---- Damage -------------------------------------------------------------------------------------


def _shards_of(index: str) -> list[dict[str, Any]]:
    try:
        with opened(index) as file:
            found = json.loads(file.read())
    except ValueError as failure:
        raise InvalidArgumentError(f"it is not JSON: {failure}", file=index) from None
    shards = found.get("shards") if isinstance(found, dict) else None
    return [one for one in shards if isinstance(one, dict)] if isinstance(shards, list) else []


def _file_of(index: str, shard: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The file of a shard that readers take, and its hashes: the decompressed file if it exists."""
    for part in ("raw_data", "zip_data"):
        about = shard.get(part)
        if isinstance(about, dict) and isinstance(name := about.get("basename"), str):
            path = os.path.join(os.path.dirname(index), name)
            if is_file(path):
                hashes = about.get("hashes")
                return path, hashes if isinstance(hashes, dict) else {}
    return "", {}


def _check_hashes(index: str, scan: Scan) -> Iterator[Damage]:
    """The shards of an index.json whose hashes differ from the index.

    Each file is compared with the hashes of its own entry: a compressed shard with those of
    ``zip_data``, a plain one with those of ``raw_data``.  The scan gets a note of each kind of hash
    that cannot be computed.

    Raises:
        FileError: A shard cannot be read.
    """
    unknown: dict[str, int] = {}
    known = 0
    for shard in _shards_of(index):
        path, hashes = _file_of(index, shard)
        for kind, said in sorted(hashes.items()):
            digest = _digest(kind)
            if digest is None:
                unknown[kind] = unknown.get(kind, 0) + 1
                continue
            known += 1
            try:
                value = digest(path)
            except OSError as failure:
                raise FileError(failure.strerror or str(failure), file=path) from None
            if value != str(said).lower():
                yield Damage(path, None, None, f"its {kind} is {value}, and {index} says {said}")
    scan.is_unchecked = bool(unknown) and not known
    scan.notes += [
        f"{kind} of {count} shards not checked: it cannot be computed here"
        for kind, count in sorted(unknown.items())
    ]


def _header_of(path: str) -> dict[str, Any] | None:
    """The JSON of a shard, before its samples; None: the first bytes do not hold it."""
    head = head_of(path)
    count, offset = (int.from_bytes(head.data[at : at + _WORD], "little") for at in (0, _WORD))
    begin = _WORD * (count + 2)
    if head.compression is None:
        text = read_range(path, begin, max(offset - begin, 0))
    else:
        text = head.data[begin:offset]
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _check_headers(index: str, scan: Scan) -> Iterator[Damage]:
    """The shards whose headers have other columns than the index.

    Raises:
        FileError: A shard cannot be read.
    """
    unseen = 0
    for shard in _shards_of(index):
        path, _ = _file_of(index, shard)
        if not path:
            continue
        try:
            header = _header_of(path)
        except OSError as failure:
            raise FileError(failure.strerror or str(failure), file=path) from None
        if header is None:
            unseen += 1
            continue
        for name in _COLUMN_FACTS:
            if header.get(name) != shard.get(name):
                yield Damage(
                    path, None, None, f"its {name} are {shown(header.get(name))}, and {index} says "
                    f"{shown(shard.get(name))}"
                )  # fmt: skip
    if unseen:
        scan.notes.append(f"the columns of {unseen} shards were not compared with the index")


# ---- Columns that are written -------------------------------------------------------------------

_CODES = {
    "uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "float16": 18, "uint32": 32, "int32": 33,
    "float32": 34, "uint64": 64, "int64": 65, "float64": 66,
}  # fmt: skip
_ARRAY = re.compile(r"ndarray(?::([a-z0-9]+)(?::([0-9]+(?:,[0-9]+)*))?)?")
_IMAGES = {"jpeg": "jpg", "png": "png"}  # encoding -> the usual ending of such files
_MOST_DIMENSIONS = 63
*_, _JSON = "bytes str json".split()  # the encoding for any value
_ENCODINGS = (
    "bytes, str, json, jpeg, png, int, int8 to uint64, float16 to float64, ndarray, ndarray:DTYPE "
    "or ndarray:DTYPE:SHAPE as ndarray:float32:3,224,224"
)


class _Column:
    """A column of a data set, which encodes rows.

    Attributes:
        name, encoding: As index.json has them.
        size: The bytes of each row; None: they vary.
    """

    def __init__(self, name: str, encoding: Any, quality: int) -> None:
        """Parses the encoding.

        Raises:
            InvalidArgumentError: There is no such encoding, or no writer for it.
        """
        self.name, self.encoding = name, encoding
        found = _ARRAY.fullmatch(encoding) if isinstance(encoding, str) else None
        self._dtype, self._is_array = "", found is not None
        self._shape: tuple[int, ...] | None = None
        if found is not None:
            self._dtype = found[1] or ""
            self._shape = tuple(map(int, found[2].split(","))) if found[2] else None
        elif encoding == "int" or encoding in _CODES:
            self._dtype, self._shape = "int64" if encoding == "int" else encoding, ()
        elif encoding not in (BYTES, TEXT, _JSON, *_IMAGES):
            raise self._unknown()
        if (self._dtype and self._dtype not in _CODES) or 0 in (self._shape or ()):
            raise self._unknown()
        self._image = ImageEncoding(encoding, quality) if encoding in _IMAGES else None
        self.size = None
        if self._shape is not None:
            self.size = int(np.prod(self._shape)) * np.dtype(self._dtype).itemsize

    def _unknown(self) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"columns[{shown(self.name)}] = {shown(self.encoding)}; the encodings are {_ENCODINGS}"
        )

    def encoded(self, rows: Array | Ragged | list[Any]) -> Part:
        """The rows as samples have them.

        Raises:
            InvalidArgumentError: The encoding cannot hold a row.
        """
        if self._shape is not None:
            return byte_view(little(self._dense(rows, self._shape)))
        if self._is_array:
            return self._arrays(rows)
        if self.encoding == _JSON:
            values = bytes_rows(self.name, rows) if isinstance(rows, Ragged) else rows
            return each_row(self._json, values)
        if self._image is not None:
            return encoded_rows(self.name, rows, self._file)
        found = bytes_rows(self.name, rows)
        if self.encoding == TEXT and not _is_text(rows):
            each_row(self._check_text, found)
        return found

    def _dense(self, rows: Array | Ragged | list[Any], shape: tuple[int, ...]) -> Array:
        try:
            return dense(self.name, rows, RowType(self._dtype, shape))
        except InvalidArgumentError as failure:
            if not self._is_array or row_type(self.name, rows).shape == shape:
                raise
            message = (
                f"{failure.message}; say columns={{{self.name!r}: 'ndarray:{self._dtype}'}} where "
                "shapes vary"
            )
            raise InvalidArgumentError(message, ordinal=failure.ordinal) from None

    def _arrays(self, rows: Array | Ragged | list[Any]) -> list[bytes]:
        found = row_type(self.name, rows)
        if found.dtype == BYTES:  # rows of uint8
            found = RowType("uint8", (None,))
        if not found.is_number or not 1 <= len(found.shape) <= _MOST_DIMENSIONS:
            raise InvalidArgumentError(f"{self.name} has rows that are no arrays of numbers")
        dtype = self._dtype or found.dtype
        if dtype not in _CODES:
            raise InvalidArgumentError(f"{self.name} is of {dtype}; MDS has {', '.join(_CODES)}")
        values, shapes = arrays(self.name, rows, RowType(dtype, (None,) * len(found.shape)))
        if (shapes == 0).any():
            raise InvalidArgumentError(
                f"{self.name} has an array without elements, which MDS has not",
                ordinal=int(np.argmax((shapes == 0).any(axis=1))),
            )
        code = b"" if self._dtype else bytes([_CODES[dtype]])
        heads = [code + _shape_head(tuple(shape)) for shape in shapes.tolist()]
        sizes = np.prod(shapes, axis=1, dtype=np.int64) * values.dtype.itemsize
        return [*map(bytes.__add__, heads, slices(little(values).tobytes(), sizes))]

    def _json(self, value: Any) -> bytes:
        """The text of a value; bytes are JSON already."""
        try:
            if isinstance(value, (bytes, bytearray, memoryview)):
                json.loads(bytes(value))
                return bytes(value)
            plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            return json.dumps(plain).encode()
        except (TypeError, ValueError, RecursionError) as failure:
            raise InvalidArgumentError(f"{self.name} = {shown(value)}: {failure}") from None

    def _file(self, name: str, image: Any) -> bytes:
        assert self._image is not None
        data = bytes(self._image(name, image))
        if ending_of(data) != _IMAGES[self.encoding]:
            raise InvalidArgumentError(
                f"{name} = {shown(data)} is no file of {self.encoding.upper()}, which "
                f"columns[{name!r}] = {self.encoding!r} says"
            )
        return data

    def _check_text(self, data: bytes) -> None:
        try:
            data.decode()
        except UnicodeDecodeError as failure:
            raise InvalidArgumentError(
                f"{self.name} = {shown(data)} is not text in UTF-8 at its byte {failure.start}; "
                f"say columns={{{self.name!r}: 'bytes'}}"
            ) from None


def _is_text(rows: Array | Ragged | list[Any]) -> bool:
    return isinstance(rows, list) and all(isinstance(one, str) for one in rows)


@functools.lru_cache(maxsize=4096)
def _shape_head(shape: tuple[int, ...]) -> bytes:
    """The shape before the elements of an array: the least width that holds all of its sizes."""
    power = next(one for one in range(4) if max(shape) < 1 << (8 << one))
    sizes = np.array(shape, f"<u{1 << power}")
    return bytes([len(shape) << 2 | power]) + sizes.tobytes()


def _encoding_of(kind: RowType) -> str:
    """The encoding for rows of a type; bools, which MDS has not, are uint8."""
    if not kind.is_number:
        return kind.dtype
    dtype = "uint8" if kind.dtype == "bool" else kind.dtype
    if not kind.shape:
        return dtype
    sizes = "" if kind.varies else ":" + ",".join(map(str, kind.shape))
    return f"ndarray:{dtype}{sizes}"


def _samples(found: Sequence[Part], rows: int) -> list[bytes]:
    """The samples of columns: the sizes of those that vary, then all columns."""
    varying = [one for one in found if isinstance(one, list)]
    sizes = np.empty((rows, len(varying)), "<u4")
    for place, one in enumerate(varying):
        lengths = sizes_of_part(one)
        if lengths.max() >= 2**32:
            raise InvalidArgumentError(
                f"a value has {lengths.max()} bytes, and at most 2^32 - 1 fit into a sample",
                ordinal=int(np.argmax(lengths)),
            )
        sizes[:, place] = lengths
    return joined([byte_view(sizes), *found])


# ---- Writing ------------------------------------------------------------------------------------


class MDSWriter(ColumnsWriter):
    """Writes a folder of MDS shards and their index.json, as Mosaic's Streaming reads it.

    A sample is a dict of numbers, text, bytes and arrays of numbers, a batch a dict of columns.
    `columns` gives the encoding of each; left out, the first sample or batch does: bytes, str, the
    dtype of numbers (int64 of Python's integers, uint8 of bools), and ndarray with the dtype and,
    where it is the same in all rows, the shape.  Arrays of uint8 with one dimension are bytes.

    A shard is in memory until it is full.
    """

    compressions = ("gzip", "zstd")
    is_sharded = False  # the shards are in the folder
    _NAMES: ClassVar[dict[str, str]] = {"gzip": "gz", "zstd": "zstd"}

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        hashes: Sequence[str] = ("sha1",),
        quality: int = 90,
        shard_records: int | None = None,
        shard_bytes: int | None = 1 << 26,
        **options: Any,
    ) -> None:
        """Makes the folder.

        Args:
            path: The folder.
            columns: Name of a column -> its encoding: bytes, str, json, jpeg, png, int, a dtype of
                NumPy, ndarray, ndarray:DTYPE or ndarray:DTYPE:SHAPE as ndarray:float32:3,224,224.
                Images may be arrays, which are encoded, or files. None: as the first rows are.
            hashes: Kinds of hashes of each shard for the index: sha1, xxh64, crc32 and all others
                of hashlib; () for none. `verify` compares the shards with the hashes, and
                Streaming with validate_hash="sha1".
            quality: The quality of JPEG, 1 to 100.
            shard_records: Starts a new shard after this many records.
            shard_bytes: Starts a new shard before a record that would make the shard larger than
                this, before compression; below 2^32. None: one shard.
            **options: As for every `Writer`: compression ("gzip" or "zstd", of each shard), level,
                overwrite and seal.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The parent folder does not exist or is not writable, or the folder exists
                already.
            UnsupportedError: The compression needs a package that is not installed.
        """
        self._quality = self._whole("quality", quality, 1, 100) or 90
        most = self._whole("shard_records", shard_records, 1)
        limit = self._whole("shard_bytes", shard_bytes, 1, 2**32 - 1)
        self._hashes = self._checked_hashes(hashes)
        self._columns: list[_Column] = []
        self._config: dict[str, Any] = {}
        self._config_text = b""
        self._about: list[dict[str, Any]] = []  # of the finished shards, for the index
        self._held: list[bytes] = []  # samples of the current shard
        self._sizes: list[Sizes] = []
        if columns is not None:
            try:
                self._set_columns(columns)
            except InvalidArgumentError as failure:
                raise InvalidArgumentError(failure.message, op=type(self).__name__) from None
        super().__init__(path, **options)
        self._shard_records, self._shard_bytes = most, limit
        if self._columns:
            self._complete_config()

    def _checked_hashes(self, hashes: Any) -> list[str]:
        is_list = isinstance(hashes, Sequence) and not isinstance(hashes, str)
        for kind in hashes if is_list else [hashes]:
            if not isinstance(kind, str) or _digest(kind) is None:
                raise InvalidArgumentError(
                    f"hashes = {shown(hashes)}; it must be a list of xxh64, crc32 and the names "
                    "that hashlib knows, as ['sha1']",
                    op=type(self).__name__,
                )
        return sorted(set(hashes))

    def _set_columns(self, given: Any) -> None:
        if not isinstance(given, Mapping) or not given:
            raise InvalidArgumentError(
                f"columns = {shown(given)}; it must be a dict of names and encodings, as "
                "{'image': 'jpeg', 'label': 'int'}"
            )
        for name in given:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"the name of a column is {shown(name)}; it is text")
        self._columns = [_Column(name, given[name], self._quality) for name in sorted(given)]

    def _complete_config(self) -> None:
        """The JSON in each shard, once the columns are known."""
        kind, level = self._packing
        named = self._NAMES[kind] if kind else None
        self._config = {
            "version": _VERSION,
            "format": "mds",
            "compression": named if level is None or named is None else f"{named}:{level}",
            "hashes": self._hashes,
            "size_limit": self._shard_bytes,
            "column_names": [one.name for one in self._columns],
            "column_encodings": [one.encoding for one in self._columns],
            "column_sizes": [one.size for one in self._columns],
        }
        self._config_text = json.dumps(self._config, sort_keys=True).encode()
        self._shards[-1].bytes = self._head_bytes

    @property
    def _head_bytes(self) -> int:
        """The bytes of a shard without samples."""
        return 2 * _WORD + len(self._config_text)

    # ---- Records ------------------------------------------------------------------------------

    def write_batch(self, batch: Any) -> None:
        """Writes a sample for each row of the columns; raises as `write`."""
        with self._naming():
            found, count = columns(batch)
            if not count:
                return
            if not self._columns:
                kinds = {name: row_type(name, one) for name, one in found.items()}
                self._set_columns({n: _encoding_of(k) for n, k in kinds.items()})
                self._complete_config()
            refuse_other_columns(found, [one.name for one in self._columns])
            samples = _samples([one.encoded(found[one.name]) for one in self._columns], count)
        with self._writing():
            self._add(samples)

    def _add(self, samples: list[bytes]) -> None:
        sizes = np.fromiter(map(len, samples), np.int64, len(samples)) + _WORD
        begin = 0
        while begin < len(samples):
            shard = self._shards[-1]
            count = self._room(np.cumsum(sizes[begin:]))
            end = begin + count
            size = int(sizes[begin:end].sum())
            if count == 0 or (shard.records and shard.bytes + size >= 2**32):
                self._flush(shard)
                continue
            if shard.bytes + size >= 2**32:
                raise self._fail(f"the sample has {size} bytes, and a shard less than 2^32", begin)
            self._held += samples[begin:end]
            self._sizes.append(sizes[begin:end] - _WORD)
            shard.bytes += size
            shard.records += count
            self.records += count
            begin = end

    # ---- Files --------------------------------------------------------------------------------

    @property
    def _folder(self) -> OutputFolder:
        folder = self._shards[-1].files[0]
        assert isinstance(folder, OutputFolder)
        return folder

    def _new_file(self, target: Path) -> OutputFolder:
        kind, level = self._packing
        if kind is not None:
            compressed(b"", kind, level)  # raises where the package is missing
        return OutputFolder(target)

    def _flush(self, shard: Shard) -> None:
        """Writes the shard that is held."""
        count = len(self._held)
        ends = np.cumsum(np.concatenate([[0], *self._sizes]))
        offsets = (ends + _WORD * (count + 2) + len(self._config_text)).astype("<u4")
        head = np.array([count], "<u4").tobytes() + offsets.tobytes() + self._config_text
        data = b"".join([head, *self._held])
        self._held.clear()
        self._sizes.clear()
        shard.records, shard.bytes = 0, self._head_bytes
        name = f"shard.{len(self._about):05d}.mds"
        about = {"samples": count, "raw_data": self._file(name, data), "zip_data": None}
        kind, level = self._packing
        if kind is not None:
            name, data = f"{name}.{self._NAMES[kind]}", compressed(data, kind, level)
            about["zip_data"] = self._file(name, data)
        self._folder.add_file(name, data)
        self._about.append({**self._config, **about})

    def _file(self, name: str, data: bytes) -> dict[str, Any]:
        hashes = {kind: _hash(kind, data) for kind in self._hashes}
        return {"basename": name, "bytes": len(data), "hashes": hashes}

    def _finish(self, shard: Shard) -> None:
        if self._held:
            self._flush(shard)
        index = {"version": _VERSION, "shards": self._about}
        self._folder.add_file(_INDEX, json.dumps(index, sort_keys=True).encode())

    @classmethod
    def obstacle(cls, path: Path) -> str | None:
        if path.exists() and not path.is_dir():
            return "it is not a folder; choose another name"
        names = os.listdir(path) if path.is_dir() else []
        other = next((one for one in names if not re.fullmatch(_OWN_FILE, one)), None)
        if other is not None:
            return f"it has {other}, which is no file of an MDS data set; choose another name"
        return None


_OWN_FILE = r"index\.json|shard\.[0-9]+\.mds(\.[a-z0-9]+)?"


# ---- The format ---------------------------------------------------------------------------------


class MDS(Format):
    """Shards are compared with an index.json that is given as the file: columns and hashes."""

    writer = MDSWriter

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        found = super().damage(source, scan)
        (path,) = source.files
        if not path.endswith(".json"):
            return found
        return [*found, *_check_headers(path, scan), *_check_hashes(path, scan)]

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The encodings of the fields; texts of JSON have their own."""
        return {
            "columns": {
                one.name: _JSON if one.is_json else _encoding_of(type_of_field(one))
                for one in fields
            }
        }


FORMAT = MDS
