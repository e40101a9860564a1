"""Tar files of samples, in the form of WebDataset."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import tarfile
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import CorruptDataError, InvalidArgumentError, shown
from ..nodes import Blob, numpy_dtype
from ..nodes.image_files import ENDINGS, ending_of
from ..ragged import Ragged
from .base.damage import Damage, Scan
from .base.detection import Detected, file_bytes, read_range, size_of
from .base.fields import BYTES, Field
from .base.format import Format
from .base.images import ImageFields, ImageWriter
from .base.source import Source, make_node
from .base.columns import (
    Array,
    as_bytes,
    bytes_rows,
    check_name,
    columns,
    each_row,
    is_bytes_like,
    refuse_masked,
)
from .base.writer import Shard, Sizes

_BLOCK = 512
_END = 10240  # the size of a tar file is a multiple of this; it ends with two blocks of zeros
_KEY = "__key__"
_CLASS, _ARRAY = ".cls", ".npy"  # the members that are decoded
_LOOKED_AT = 64  # samples that are read to infer the types of members


def _suffix(extension: str) -> str:
    """The last part of an extension, which gives the type of the member."""
    return f".{extension.rpartition('.')[2]}"


# ---- Writing ------------------------------------------------------------------------------------


class TarWriter(ImageWriter):
    """Writes tar files of samples: a file KEY.EXTENSION for each field of a sample.

    A sample is a dict of extensions and contents, with its key under `__key__`; without a key, the
    key is the number of the sample in nine digits.  Bytes, text and arrays of uint8 are stored as
    they are, numbers as text under `cls`, `id`, `index` and `txt`, any value of JSON under `json`,
    and arrays as NumPy's files under `npy`; with `images={"jpg": "jpeg"}` arrays under `jpg` are
    encoded.  A field that is None is left out.  The names of shards do not depend on the keys.
    """

    def write(self, sample: Any) -> None:
        """Writes one sample.

        Raises:
            InvalidArgumentError: A reader would split the key or an extension in another way, or
                the extension cannot have the type of its content.
            FileError: The file cannot be written.
        """
        with self._naming():
            if not isinstance(sample, Mapping):
                raise InvalidArgumentError(f"a sample is a dict of fields; this is {shown(sample)}")
            data = self._members(self._encoded_sample(sample), self.records)
        self._emit(data, np.array([len(data)], np.int64))

    def write_batch(self, batch: Any) -> None:
        """Writes a sample for each row of the columns; raises as `write`."""
        with self._naming():
            found, count = columns(self._encoded_batch(batch))
            keys = [f"{number:09d}" for number in range(self.records, self.records + count)]
            if _KEY in found:
                keys = each_row(_key, found[_KEY])
            fields = {
                name: _contents(name, rows)
                for name, rows in found.items()
                if _is_stored(name)
            }
            samples = each_row(
                lambda row: _sample(keys[row], {name: one[row] for name, one in fields.items()}),
                range(count),
            )
        sizes: Sizes = np.fromiter(map(len, samples), np.int64, len(samples))
        self._emit(b"".join(samples), sizes)

    def _finish(self, shard: Shard) -> None:
        size = shard.main.size + 2 * _BLOCK
        shard.main.write(bytes(2 * _BLOCK + -size % _END))

    def _members(self, sample: Mapping[str, Any], number: int) -> bytes:
        key = _key(sample[_KEY]) if _KEY in sample else f"{number:09d}"
        return _sample(key, {
            name: None if value is None else _content(name, value)
            for name, value in sample.items()
            if _is_stored(name)
        })  # fmt: skip


def _is_stored(extension: Any) -> bool:
    """Whether a field is a member of a sample: not one of the names in underscores.

    Raises:
        InvalidArgumentError: Readers would take the extension for another.
    """
    check_name(extension)
    if extension.startswith("__"):
        return False
    if not extension or set("/\0") & set(extension) or extension != extension.lower():
        raise InvalidArgumentError(
            f"the extension {shown(extension)} would be read as another: it must be lower "
            "case, without a slash or NUL"
        )
    return True


def _sample(key: str, fields: Mapping[str, bytes | None]) -> bytes:
    """The members of a sample, each a file of the archive."""
    pieces: list[bytes] = []
    for extension, data in fields.items():
        if data is not None:
            pieces += (_head(f"{key}.{extension}", len(data)), data, _PADDINGS[-len(data) % _BLOCK])
    if not pieces:
        raise InvalidArgumentError(f"the sample {shown(key)} has no fields, and would be lost")
    return b"".join(pieces)


def _key(given: Any) -> str:
    """A valid key: WebDataset cuts names at the first dot of the last part."""
    if not is_bytes_like(given):
        raise InvalidArgumentError(f"{_KEY} = {shown(given)}; it must be text")
    key = as_bytes(given, _KEY).decode("utf-8", "surrogateescape")
    base = key.rpartition("/")[2]
    if not base or "." in base or "\0" in key or key.startswith(("/", "__")):
        raise InvalidArgumentError(
            f"{_KEY} = {shown(key)}; a key must not be empty, have a dot in its last part, hold "
            "NUL, or begin with a slash or __: it would be read as another"
        )
    return key


def _content(extension: str, value: Any) -> bytes:
    kind = _suffix(extension)
    refuse_masked(extension, value)
    if kind == _ARRAY and isinstance(value, (np.ndarray, np.generic)):
        out = io.BytesIO()
        np.save(out, value, allow_pickle=False)
        return out.getvalue()
    if is_bytes_like(value):
        return as_bytes(value, extension)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if kind in (_CLASS, ".cls2", ".id", ".index", ".inx", ".txt", ".text"):
        if isinstance(value, (int, float)):
            return str(int(value) if isinstance(value, bool) else value).encode()
    if kind in (".json", ".jsn"):
        value = value.tolist() if isinstance(value, np.ndarray) else value
        try:
            return json.dumps(value, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as failure:
            raise InvalidArgumentError(f"{extension} = {shown(value)}: {failure}") from None
    raise InvalidArgumentError(
        f"{extension} = {shown(value)}; contents are bytes, text or arrays of uint8, numbers under "
        "cls and txt, arrays under npy, anything of JSON under json"
    )


def _contents(extension: str, rows: Array | Ragged | list[Any]) -> list[bytes | None]:
    """The contents of the members of a column; None where a sample has none."""
    if isinstance(rows, list) and set(map(type, rows)) <= {bytes, type(None)}:
        return rows
    if isinstance(rows, Ragged) and rows.dtype == np.uint8 and _suffix(extension) != _ARRAY:
        return [*bytes_rows(extension, rows)]
    return each_row(lambda one: None if one is None else _content(extension, one), rows)


# ---- Headers of members -------------------------------------------------------------------------

_PADDINGS = [bytes(size) for size in range(_BLOCK)]
_NAME, _SIZE, _SUM = 100, slice(124, 136), slice(148, 156)  # where they are in a header
_MOST = 8**11  # a file of fewer bytes has its size in the header


def _made_by_tarfile(name: str, size: int) -> bytes:
    about = tarfile.TarInfo(name)
    about.size, about.mode, about.mtime = size, 0o444, 0
    return about.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


_PATTERN = _made_by_tarfile("", 0)
_BEFORE_SIZE = _PATTERN[_NAME : _SIZE.start]
_BEFORE_SUM = _PATTERN[_SIZE.stop : _SUM.start]
_AFTER_SUM = _PATTERN[_SUM.stop :]
# The sum of the bytes that are the same in all headers; the field of the sum counts as blanks.
_REST = sum(_BEFORE_SIZE) + sum(_BEFORE_SUM) + sum(_AFTER_SUM) + sum(b" " * 8)


def _head(name: str, size: int) -> bytes:
    """The header of a member; equal for equal arguments, and like the header of Python's tarfile,
    which is much slower.
    """
    if len(name) > _NAME or size >= _MOST or not name.isascii():
        try:
            return _made_by_tarfile(name, size)
        except UnicodeEncodeError:
            raise InvalidArgumentError(
                f"the name {shown(name)} is not valid Unicode text"
            ) from None
    short = name.encode()
    octal = b"%011o\0" % size
    total = b"%06o\0 " % (_REST + sum(short) + sum(octal))
    padded = short.ljust(_NAME, b"\0")
    return b"".join((padded, _BEFORE_SIZE, octal, _BEFORE_SUM, total, _AFTER_SUM))


# ---- Reading ------------------------------------------------------------------------------------


def _class_type(contents: Iterable[bytes]) -> str | None:
    """The dtype of class numbers as text; None: some are not class numbers."""
    for content in contents:
        if not re.fullmatch(rb"\s*[+-]?[0-9]{1,19}\s*", content):
            return None
        if not -(2**63) <= int(content) < 2**63:
            return None
    return "int64"


def _array_head(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Shape and dtype of an array in NumPy's format; None: not an array, or damaged."""
    read: Any = np.lib.format
    file = io.BytesIO(content)
    try:
        is_short = read.read_magic(file) == (1, 0)
        parse = read.read_array_header_1_0 if is_short else read.read_array_header_2_0
        shape, _, dtype = parse(file)
    except (ValueError, TypeError, LookupError, SyntaxError, RecursionError, tokenize.TokenError):
        return None
    return None if any(size < 0 for size in shape) else (shape, dtype)


def _array_type(contents: Iterable[bytes]) -> tuple[str, tuple[int | None, ...]] | None:
    """Dtype and shape of arrays, with None for sizes that differ; None: they differ in other ways.
    """
    heads = [_array_head(content) for content in contents]
    shapes = {head[0] for head in heads if head}
    dtypes = {head[1].newbyteorder("=") for head in heads if head}
    if None in heads or len(dtypes) != 1 or len(set(map(len, shapes))) != 1:
        return None
    (dtype,) = dtypes
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        return None
    sizes = [set(column) for column in zip(*shapes, strict=True)]
    return dtype.name, tuple(one.pop() if len(one) == 1 else None for one in sizes)


def _decoded_field(field: Field, contents: list[bytes]) -> Field:
    """The field with the type of its decoded members; itself if they cannot be decoded."""
    if _suffix(field.name) == _CLASS:
        dtype = _class_type(contents)
        return dataclasses.replace(field, dtype=dtype) if dtype else field
    found = _array_type(contents)
    return dataclasses.replace(field, dtype=found[0], shape=found[1]) if found else field


class Tar(Format):
    """Fields are the key and the members of a sample; class numbers and arrays are decoded."""

    writer = TarWriter
    image_names = ImageFields("jpg", "cls")

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The extensions of the first samples, with the types of their members."""
        source = super().infer(source, one, as_stored=as_stored)
        wanted = [
            field for field in source.fields
            if _suffix(field.name) in (_CLASS, _ARRAY) and field.default is None
        ]  # fmt: skip
        if as_stored or not wanted:
            return source
        looked = dataclasses.replace(source, files=(one.path,), fields=tuple(wanted))
        try:
            batch = next(looked.batches(batch_size=_LOOKED_AT, on_error="skip", max_skipped=-1), {})
        except CorruptDataError:  # the reader raises it
            return source
        rows = {name: column.to_bytes_list() for name, column in batch.items()}
        fields = (
            _decoded_field(field, rows[field.name]) if rows.get(field.name) else field
            for field in source.fields
        )
        return dataclasses.replace(source, fields=tuple(fields))

    def as_read(self, field: Field) -> Field:
        """The bytes of the member, if it is decoded later."""
        if field.dtype == BYTES or _suffix(field.name) not in (_CLASS, _ARRAY):
            return field
        return dataclasses.replace(field, dtype=BYTES, shape=())

    def converted(self, field: Field, blob: Blob) -> Blob:
        """The class number or the array that a member holds."""
        if self.as_read(field) == field:
            return blob
        if _suffix(field.name) == _ARRAY:
            sizes = [-1 if size is None else size for size in field.shape]
            return make_node("DecodeNpy", [blob], dtype=field.dtype, shape=sizes).outputs[0]
        if (field.dtype, field.shape) != ("int64", ()):
            raise InvalidArgumentError(
                f"{field.name} holds class numbers, which are int64; this asks for {field.type}"
            )
        return make_node("DecodeClass", [blob]).outputs[0]

    def with_images(self, source: Source) -> Source:
        """Several kinds of images become one field if no sample has two of them."""
        kinds = [field for field in source.fields if f".{field.name}" in ENDINGS]
        if len(kinds) < 2 or any(field.default is None for field in kinds):
            return source
        looked = dataclasses.replace(source, fields=tuple(kinds))
        batch = next(looked.batches(batch_size=_LOOKED_AT, on_error="skip", max_skipped=-1), None)
        if batch is None:
            return source
        if (sum((column.lengths > 0).astype(int) for column in batch.values()) != 1).any():
            return source
        names = "|".join(field.name for field in kinds)
        one = Field(kinds[0].name, BYTES, key=names)
        others = (field for field in source.fields if field not in kinds)
        return dataclasses.replace(source, fields=(one, *others))

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """A member that a sample lacks is not damage."""
        fields = (
            dataclasses.replace(field, default="") if field.dtype == BYTES else field
            for field in source.fields
        )
        found = super().damage(dataclasses.replace(source, fields=tuple(fields)), scan)
        (path,) = source.files
        if not found and not _has_end_mark(path, source.compression):
            said = "the mark of the archive's end, two blocks of zeros, is missing; was it cut?"
            found.append(Damage(path, None, size_of(path), said))
        return found

    def is_copied_to(self, target: Format) -> bool:
        """Members keep their bytes in another tar file."""
        return target == self

    def adapted(self, fields: Sequence[Field], batch: dict[str, Any]) -> dict[str, Any]:
        """The fields by extensions that tell the types of their contents."""
        return {
            _extension(field): batch[field.name].to_bytes_list()
            if field.dtype == BYTES
            else list(batch[field.name])
            for field in fields
        }

    def is_image_name(self, name: str) -> bool:
        """The extension of any kind of image, or several as jpg|png."""
        return all(f".{one}" in ENDINGS for one in name.split("|"))

    def image_columns(self, name: str, images: Any) -> dict[str, Any]:
        """Images under the extensions of their kinds: a column for each kind, with gaps."""
        rows = bytes_rows(name, images)
        extensions = [_image_extension(name, row) for row in rows]
        return {
            extension: [
                row if one == extension else None
                for row, one in zip(rows, extensions, strict=True)
            ]
            for extension in sorted(set(extensions))
        }  # fmt: skip


def _has_end_mark(path: str, compression: str | None) -> bool:
    """Whether two blocks of zeros are in the last record, which some writers fill with other bytes.

    Raises:
        FileError: The file cannot be read.
        CorruptDataError: The compressed data are damaged.
    """
    size, tail = 0, b""
    if compression is None:
        size = size_of(path)
        begin = max(0, (size - _END) // _BLOCK - 1) * _BLOCK
        tail = read_range(path, begin, size - begin)
    else:
        for piece in file_bytes(path):
            size += len(piece)
            tail = (tail + piece)[-_END - 2 * _BLOCK :]
    tail = tail[(len(tail) - size) % _BLOCK :]  # from the beginning of a block
    zeros = [not any(tail[at : at + _BLOCK]) for at in range(0, len(tail) - _BLOCK + 1, _BLOCK)]
    return any(one and next_one for one, next_one in zip(zeros, zeros[1:]))


_SYNONYMS = {"jpeg": "jpg", "tiff": "tif"}


def _image_extension(name: str, data: bytes) -> str:
    """The extension for an image: the name of its field, if that ends in the kind of the image."""
    name = name.lower().replace("/", "_")
    front, dot, last = name.rpartition(".")
    found = ending_of(data)
    if found is None or _SYNONYMS.get(last, last) == found:
        return name
    return f"{front}{dot}{found}"


def _extension(field: Field) -> str:
    name = field.name.lower().replace("/", "_")
    if name.startswith("__") or field.dtype == BYTES:
        return name
    is_class = not field.shape and numpy_dtype(field.dtype).kind in "iu"
    kind = _CLASS if is_class else _ARRAY
    return name if _suffix(name) == kind else name + kind


FORMAT = Tar
