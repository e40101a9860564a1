"""OFRecord files of OneFlow."""

from __future__ import annotations

import dataclasses
import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import CorruptDataError, InvalidArgumentError
from ..native.protobuf import wire_fields
from ..nodes import Blob, Op
from .base.damage import Damage, Scan, walk_file
from .base.detection import Detected, detect
from .base.messages import (
    Feature,
    Kinds,
    MessageFormat,
    MessageWriter,
    Wanted,
    decode_features,
    encode_message,
    encode_messages,
)
from .base.fields import BYTES, Field
from .base.images import ImageFields
from .base.source import Source, make_node

_LENGTH = struct.Struct("<q")  # before each record
_NAME = "blob_name"  # the attr of a decoder that names its feature

_KINDS = Kinds(
    "OFRecordEncoder",
    "an OFRecord",
    {"float32": 2, "float64": 3, "int32": 4, "int64": 5},
    {
        "float16": "float32",
        "bfloat16": "float32",
        **dict.fromkeys(("bool", "int8", "int16", "uint16"), "int32"),
        **dict.fromkeys(("uint32", "uint64"), "int64"),
    },
    is_wrapped=False,
)


def encode_ofrecord(features: Mapping[str, Any]) -> bytes:
    """An OFRecord.

    Args:
        features: As for `encode_example`; int32 and float64 stay as they are.

    Raises:
        InvalidArgumentError: An OFRecord cannot hold the type of a value.
    """
    return encode_message(_KINDS, features)


def encode_ofrecords(batch: Mapping[str, Any]) -> list[bytes]:
    """An OFRecord for each row of a batch; arguments and errors as of `encode_examples`."""
    return encode_messages(_KINDS, batch).to_bytes_list()


class OFRecordWriter(MessageWriter):
    """Writes OFRecord files: a length of 8 bytes and an OFRecord for each record.

    A sample is a dict of features, which becomes an OFRecord as `encode_ofrecord` makes it, or the
    bytes of one.  A batch is a dict of columns, or a column of bytes.  The path
    `part-{shard:05d}` gives the names that OneFlow's readers expect.  OneFlow itself reads no
    compressed files.
    """

    frame = "OFRecordFrame"
    kinds = _KINDS

    def _framed(self, record: bytes) -> bytes:
        if not record:
            raise InvalidArgumentError("the record is empty; OneFlow takes none")
        return _LENGTH.pack(len(record)) + record


# ---- Damage -------------------------------------------------------------------------------------


def _walk(path: str, data: mmap.mmap, scan: Scan) -> Iterator[Damage]:
    """All damage that can be detected: there are no checksums, and no record is found after a wrong
    length."""
    at, record, total = 0, 0, len(data)
    while at < total:
        begin = at + _LENGTH.size
        if begin > total:
            yield Damage(
                path, record, at, f"{total - at} bytes are left; a record begins with "
                f"{_LENGTH.size}"
            )  # fmt: skip
            return
        (size,) = _LENGTH.unpack_from(data, at)
        if not 0 < size <= total - begin:
            yield Damage(
                path, record, at, f"the length of the record is {size}, and {total - begin} bytes "
                "follow; what comes after it cannot be found"
            )  # fmt: skip
            return
        try:
            OFRecord.features(data[begin : begin + size])
            scan.good += 1
        except ValueError as failure:
            yield Damage(path, record, begin, f"the message is damaged: {failure}")
        at, record = begin + size, record + 1


# ---- The format ---------------------------------------------------------------------------------


class OFRecord(MessageFormat):
    """Fields are the features that have the same number of values in all records."""

    writer = OFRecordWriter
    image_names = ImageFields("encoded", "class/label", "class/text")

    @staticmethod
    def features(record: bytes) -> dict[str, Feature | None]:
        for number, _, _ in wire_fields(record):
            if number != 1:
                raise ValueError(f"an OFRecord has no field {number}")
        return decode_features(record, _KINDS.dtypes)

    @staticmethod
    def frames(data: bytes) -> Iterator[bytes]:
        at = 0
        while at + _LENGTH.size <= len(data):
            begin = at + _LENGTH.size
            at = begin + max(_LENGTH.unpack_from(data, at)[0], 0)
            if at > len(data):
                return
            yield data[begin:at]

    def wanted(self, op: Op, values: Mapping[str, object]) -> Iterable[Wanted]:
        """The one feature that a decoder takes out of a record."""
        name = values.get(_NAME)
        return [Wanted(name, "", True, name, _NAME)] if isinstance(name, str) else ()

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The features of the first records for which there is a decoder."""
        source = super().infer(source, one, as_stored=as_stored)
        free = [field for field in source.fields if None in field.shape]
        said = (
            f"{field.name}, which has a varying number of values: "
            f"{field.name}:{field.dtype}[LENGTH] in --fields" for field in free
        )  # fmt: skip
        fields = tuple(field for field in source.fields if field not in free)
        return dataclasses.replace(source, fields=fields, left_out=(*source.left_out, *said))

    def decoded(self, fields: Sequence[Field], record: Blob) -> dict[str, Blob]:
        """A node of a decoder for each feature."""
        of_numbers, of_bytes = self.decoders
        found = {}
        for field in fields:
            name, attrs = of_bytes, {}
            if field.dtype != BYTES:
                name, attrs = of_numbers, {"shape": field.shape, "dtype": field.dtype}
            node = make_node(name, [record], blob_name=field.name, **attrs)
            found[field.name] = node.outputs[0]
        return found

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """The reader checks only frames; messages are checked as well."""
        found = super().damage(source, scan)
        if source.compression is not None or (not found and self._are_messages(source, scan.good)):
            return found
        scan.good = 0
        return list(walk_file(source.files[0], scan, _walk)) or found

    def _are_messages(self, source: Source, records: int) -> bool:
        """Whether decoders accept all records; False also where a varying number of values has no
        decoder."""
        try:
            decoded = self.infer(source, detect(source.files[0], self.name))
            if decoded.left_out or not decoded.fields:
                return False
            batches = decoded.batches(batch_size=64)
            return sum(len(next(iter(batch.values()))) for batch in batches) == records
        except (CorruptDataError, InvalidArgumentError):
            return False


FORMAT = OFRecord
