"""TFRecord files."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..native import ffi, lib
from ..native.protobuf import wire_fields
from ..nodes import Op
from .base.damage import Damage, Scan, walk_file
from .base.messages import (
    Feature,
    Kinds,
    MessageFormat,
    MessageWriter,
    Wanted,
    decode_features,
    encode_lists,
    encode_message,
    encode_messages,
    wanted_of,
)
from .base.fields import Field
from .base.images import ImageFields
from .base.source import Source

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_HEAD, _FOOT = _LENGTH.size + _CHECKSUM.size, _CHECKSUM.size  # bytes around the data of a record

_EXAMPLE = Kinds(
    "ExampleEncoder",
    "an Example",
    {"float32": 2, "int64": 3},
    {
        "float16": "float32",
        "bfloat16": "float32",
        **dict.fromkeys(("bool", "int8", "int16", "int32", "uint16", "uint32", "uint64"), "int64"),
    },
    is_wrapped=True,
)


# ---- Messages -----------------------------------------------------------------------------------


def encode_example(features: Mapping[str, Any]) -> bytes:
    """A tf.train.Example.

    Args:
        features: Name -> bytes, text, numbers, a list of them or an array; None is left out.

    Raises:
        InvalidArgumentError: An Example cannot hold the type of a value.
    """
    return encode_message(_EXAMPLE, features)


def encode_examples(batch: Mapping[str, Any]) -> list[bytes]:
    """A tf.train.Example for each row of a batch.

    Args:
        batch: Name -> column: an array, a Ragged or a list, with a row for each Example.

    Raises:
        InvalidArgumentError: Columns differ in length, or an Example cannot hold their type.
    """
    return encode_messages(_EXAMPLE, batch).to_bytes_list()


def encode_sequence_example(
    context: Mapping[str, Any], feature_lists: Mapping[str, Any]
) -> bytes:
    """A tf.train.SequenceExample.

    Args:
        context: As the features of an Example.
        feature_lists: Name -> steps: a list of such values, an array with a row for each step, or a
            Ragged.

    Raises:
        InvalidArgumentError: An Example cannot hold the type of a value.
    """
    lists = encode_lists(_EXAMPLE, feature_lists)
    return (encode_message(_EXAMPLE, context) if context else b"") + lists


# ---- Writing ------------------------------------------------------------------------------------


def _masked(crc: int) -> int:
    """The checksum as files store it: masked, so that data may hold checksums itself."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _checksum(data: bytes) -> int:
    return _masked(lib.pfd_crc32c(data, len(data)))


class TFRecordWriter(MessageWriter):
    """Writes TFRecord files: a length, its checksum, the data and their checksum for each record.

    A sample is a dict of features, which `encode_example` makes a tf.train.Example, or the bytes of
    a record as they are, such as those of `encode_sequence_example`.  A batch is a dict of columns,
    or a column of bytes.  TensorFlow reads "gzip" and "zlib", but not "zstd".
    """

    frame = "TFRecordFrame"
    kinds = _EXAMPLE

    def _framed(self, record: bytes) -> bytes:
        length = _LENGTH.pack(len(record))
        head = length + _CHECKSUM.pack(_checksum(length))
        return head + record + _CHECKSUM.pack(_checksum(record))


# ---- Damage -------------------------------------------------------------------------------------


def _checksum_of(data: mmap.mmap, begin: int, end: int) -> int:
    """The stored form of the checksum of mapped bytes, without a copy of them."""
    with ffi.from_buffer("uint8_t[]", data) as bytes_:
        return _masked(lib.pfd_crc32c(bytes_ + begin, end - begin))


def _has_length(data: mmap.mmap, at: int) -> bool:
    (stored,) = _CHECKSUM.unpack_from(data, at + _LENGTH.size)
    return bool(stored == _checksum_of(data, at, at + _LENGTH.size))


def _next_record(data: mmap.mmap, at: int) -> int:
    """The offset of the next record with correct checksums of length and data, or the end."""
    while True:
        with ffi.from_buffer("uint8_t[]", data) as bytes_:
            at = lib.pfd_format_resync(b"tfrecord", bytes_, len(data), at)
        if at == len(data):
            return at
        (size,) = _LENGTH.unpack_from(data, at)
        end = at + _HEAD + size
        (stored,) = _CHECKSUM.unpack_from(data, end)
        if stored == _checksum_of(data, at + _HEAD, end):
            return at
        at += 1


def _walk(path: str, data: mmap.mmap, scan: Scan) -> Iterator[Damage]:
    """All damage, in order. After a length with a wrong checksum the next whole record is searched
    byte by byte."""
    at, record, total = 0, 0, len(data)
    while at < total:
        if total - at < _HEAD:
            yield Damage(
                path, record, at, f"{total - at} bytes are left; a record begins with {_HEAD}"
            )
            return
        if not _has_length(data, at):
            begin = _next_record(data, at + 1)
            said = (
                f"the next whole record is {begin - at} bytes on"
                if begin < total
                else f"no whole record follows in the {total - at} bytes that are left"
            )
            yield Damage(path, record, at, f"the checksum of the length is wrong; {said}")
            at, record = begin, record + 1
            continue
        (size,) = _LENGTH.unpack_from(data, at)
        end = at + _HEAD + size
        if end + _FOOT > total:
            yield Damage(
                path, record, at, f"the record of {size} bytes runs {end + _FOOT - total} bytes "
                "past the end of the file"
            )  # fmt: skip
            return
        (said_crc,) = _CHECKSUM.unpack_from(data, end)
        found = _checksum_of(data, at + _HEAD, end)
        if found == said_crc:
            scan.good += 1
        else:
            yield Damage(
                path, record, at, f"the data's checksum is {found:#010x}, and the file says "
                f"{said_crc:#010x}"
            )  # fmt: skip
        at, record = end + _FOOT, record + 1


# ---- The format ---------------------------------------------------------------------------------


class TFRecord(MessageFormat):
    """Fields are the features of Examples."""

    writer = TFRecordWriter
    image_names = ImageFields("image/encoded", "image/class/label", "image/class/text")

    @staticmethod
    def features(record: bytes) -> dict[str, Feature | None]:
        found: dict[str, Feature | None] = {}
        for number, kind, body in wire_fields(record):
            if number != 1 or kind != 2:
                raise ValueError(f"an Example has no field {number} of the wire type {kind}")
            found |= decode_features(body, _EXAMPLE.dtypes)
        return found

    @staticmethod
    def frames(data: bytes) -> Iterator[bytes]:
        at = 0
        while at + _HEAD <= len(data):
            begin, end = at + _HEAD, at + _HEAD + _LENGTH.unpack_from(data, at)[0]
            if end + _FOOT > len(data):
                return
            yield data[begin:end]
            at = end + _FOOT

    def wanted(self, op: Op, values: Mapping[str, object]) -> Iterable[Wanted]:
        """The features of Examples; features of SequenceExamples are not looked for."""
        if op.name != self.decoders[0]:
            return ()
        elements: Any = values.get(op.outputs_attr, ())
        raw: Any = values.get("decode_raw", ())
        return [wanted_of(element, raw, op.outputs_attr) for element in elements]

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """The reader refuses a whole file of which a frame is damaged; then a walk finds its whole
        records, and all other damage."""
        found = super().damage(source, scan)
        if not found or source.compression is not None:
            return found
        scan.good = 0
        return list(walk_file(source.files[0], scan, _walk)) or found

    def refusal(self, field: Field) -> str | None:
        if field.dtype == "float64":
            return (
                f"{field.name} is float64, which an Example has not: store float32, by "
                f"data.map(flow.Cast, {field.name!r}, dtype='float32'), or --float32 of a command"
            )
        return None


FORMAT = TFRecord
