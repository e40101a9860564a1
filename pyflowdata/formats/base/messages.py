"""Formats whose records are messages of features (protobuf): reading, writing, and fields."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import Error, InvalidArgumentError, shown
from ...native.protobuf import wire_fields
from ...nodes import Blob, Node, Op
from ...nodes.node import files_of
from ...ragged import Ragged
from ...words.plain_text import no_field
from .columns import (
    BYTES_LIKE,
    Array,
    are_bytes,
    as_array,
    as_bytes,
    byte_column,
    columns,
    each_row,
    encoded,
    integers,
    is_bytes_like,
    little,
    ragged_of_bytes,
    refuse_masked,
    to_float,
)
from .detection import Detected, head_of, read_range
from .fields import BYTES, Field, specs, split_spec
from .format import Format
from .images import ImageWriter
from .open_source import open_source
from .source import RECORD, Source, make_node, reader_of, reading_in

# ---- A message, read ----------------------------------------------------------------------------

_WIDTHS = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class Feature:
    """A feature of a record: its dtype, or "bytes", and its number of values."""

    dtype: str
    count: int


def _read_feature(data: bytes, kinds: dict[int, str]) -> Feature | None:
    found: Feature | None = None
    for number, kind, body in wire_fields(data):
        if number not in kinds or kind != 2:
            continue
        dtype = kinds[number]
        count = 0
        for inner, wire, values in wire_fields(body):
            if inner != 1:
                continue
            if dtype == "bytes" or wire != 2:
                count += 1
            elif dtype in _WIDTHS:
                count += len(values) // _WIDTHS[dtype]
            else:
                count += sum(byte < 0x80 for byte in values)
        found = Feature(dtype, count)
    return found


def decode_features(data: bytes, kinds: dict[int, str]) -> dict[str, Feature | None]:
    """The features of a map's entries, which are the fields 1 of a message.

    Args:
        data: The message.
        kinds: Number of a list in a feature -> dtype, or "bytes".

    Raises:
        ValueError: The bytes are not such a message.
    """
    found: dict[str, Feature | None] = {}
    for number, kind, entry in wire_fields(data):
        if number != 1 or kind != 2:
            continue
        name, feature = "", None
        for part, wire, body in wire_fields(entry):
            if part == 1 and wire == 2:
                name = body.decode()
            elif part == 2 and wire == 2:
                feature = _read_feature(body, kinds)
        found[name] = feature
    return found


# ---- Features that the user lists ---------------------------------------------------------------

_ENOUGH = 2  # records from which a missing feature is an error
Records = Sequence[Mapping[str, Feature | None]]


class Wanted(NamedTuple):
    """A feature that the user lists.

    Attributes:
        key: Its name in the records.
        kind: The kind of list that is read, "bytes", "float" or "int"; "": any.
        is_needed: Whether a record without the feature is an error.
        said: The element of the list in the attr.
        attr: The attr with the list.
    """

    key: str
    kind: str
    is_needed: bool
    said: str
    attr: str


def _kind_of(dtype: str) -> str:
    """The kind of the list that holds values of a dtype."""
    return BYTES if dtype == BYTES else "float" if dtype.startswith("float") else "int"


def wanted_of(element: str, raw: Container[str], attr: str) -> Wanted:
    """The feature for an element [NAME=]KEY:TYPE[=DEFAULT].

    Args:
        element: An element of the attr that lists the features.
        raw: Names of the fields whose feature is the bytes of numbers.
        attr: The name of that attr.
    """
    name, key, dtype, default = split_spec(element)
    kind = BYTES if (name or key) in raw else _kind_of(dtype.partition("[")[0])
    return Wanted(key, kind, default is None and "?" not in dtype, element, attr)


def _refuse_unknown(wanted: Iterable[Wanted], looked_at: Callable[[], Records]) -> None:
    """Refuses features that none of the first records has, or that all of them have as another kind
    of list.

    Args:
        wanted: The features that the user lists.
        looked_at: Gives the features of the first records; called only if the user lists features.
    """
    asked = list(wanted)
    records = looked_at() if asked else []
    known = sorted({name for record in records for name in record})
    for one in asked if len(records) >= _ENOUGH else ():
        where = f"attr '{one.attr}': {shown(one.said)}"
        if one.is_needed and one.key not in known:
            raise InvalidArgumentError(
                f"{where}: {no_field(one.key, known, 'feature')} in the first {len(records)} "
                "records", attr=one.attr,
            )  # fmt: skip
        found = [feature for record in records if (feature := record.get(one.key)) is not None]
        dtypes = {feature.dtype for feature in found}
        if dtypes and one.kind and one.kind not in map(_kind_of, dtypes):
            raise InvalidArgumentError(
                f"{where}: the feature {shown(one.key)} is {' and '.join(sorted(dtypes))} in the "
                f"first {len(records)} records", attr=one.attr,
            )  # fmt: skip


# ---- A message, written -------------------------------------------------------------------------
# Examples and OFRecords are made of values by the same rules:
#
#     bytes, str, arrays of uint8         one bytes value; a list of bytes or str: several
#     bool and integers                   int64 (OFRecord: int32 where the type fits into it)
#     float16, float32, Python's floats   float: Python's are rounded; those that are too large for
#                                         one, and integers beside them that are none, are errors
#     float64                             double in an OFRecord; an Example has none, and refuses it
#
# Shapes are not stored: the values of an array stand in C order.
#
# An op in C encodes whole columns; Python encodes one sample, and rows that are lists of values.
# For one sample Python is faster: an Example takes 90 us, and 154 us by the op, most of it for the
# call.

_LONGEST = 10  # bytes of a 64-bit number as a varint
_BYTES = 1  # the list of bytes, in every kind of feature


class Kinds(NamedTuple):
    """The values that a feature of a format's messages can hold.

    Attributes:
        encoder: The op that encodes whole columns.
        name: The name of the message, with its article.
        numbers: dtype -> number of the list in a feature; the list of bytes has the number 1.
        stored_as: dtype -> the dtype in which it is stored.
        is_wrapped: Whether the features are a separate message inside the record.
    """

    encoder: str
    name: str
    numbers: dict[str, int]
    stored_as: dict[str, str]
    is_wrapped: bool

    @property
    def dtypes(self) -> dict[int, str]:
        """Number of a list -> its dtype, or "bytes"."""
        return {_BYTES: "bytes", **{number: dtype for dtype, number in self.numbers.items()}}


# ---- Values -------------------------------------------------------------------------------------


def _check_dtype(kinds: Kinds, name: str, dtype: str) -> str:
    """The dtype in which numbers are stored."""
    wanted = kinds.stored_as.get(dtype, dtype)
    if wanted not in kinds.numbers:
        hint = "; .astype('float32') makes it one that is" if dtype == "float64" else ""
        raise InvalidArgumentError(f"{name} is of {dtype}, which {kinds.name} cannot hold{hint}")
    return wanted


def _fitted(kinds: Kinds, name: str, values: Array) -> Array:
    """The array as it is stored: widened, little-endian and contiguous."""
    wanted = _check_dtype(kinds, name, values.dtype.name)
    if values.dtype == np.uint64 and values.size and int(values.max()) > 2**63 - 1:
        raise InvalidArgumentError(f"{name} has {values.max()}, which does not fit into int64")
    return little(values.astype(wanted, copy=False))


def _numbers(values: Array) -> bytes:
    if values.dtype.kind == "f":
        return values.tobytes()
    if values.size < 16:
        return b"".join(map(_varint, values.ravel().tolist()))
    return _varints(values.ravel().astype(np.int64, copy=False))


def _from_python(name: str, value: Any) -> Array:
    """Numbers of Python, alone or in lists; floats are float32 unless NumPy gives a dtype."""
    found = as_array(name, value)
    if not isinstance(value, (np.ndarray, np.generic)):
        if found.size == 0:
            raise InvalidArgumentError(
                f"{name} = {shown(value)} has no type; say np.zeros(0, dtype)"
            )
        if found.dtype == np.float64 and not _has_float64(value):
            if sum(1 for _ in integers(value)) == found.size:
                raise InvalidArgumentError(f"{name} = {shown(value)} has integers beyond int64")
            found = to_float(name, value, found, np.dtype(np.float32))
    if found.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"{name} = {shown(value)}; a feature is bytes, text, numbers, or a list of them"
        )
    return found


def _has_float64(value: Any) -> bool:
    """Whether there are numbers of NumPy's float64 in lists."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_float64, value))
    return isinstance(value, np.ndarray) or (
        isinstance(value, np.generic) and value.dtype == np.float64
    )


def _sized(tag: int, data: bytes) -> bytes:
    return bytes([tag << 3 | 2]) + _varint(len(data)) + data


def _feature(kinds: Kinds, name: str, value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        refuse_masked(name, value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "SUO":
        value = value.tolist()
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], BYTES_LIKE):
        for one in value:
            if not isinstance(one, BYTES_LIKE):
                raise InvalidArgumentError(f"{name} has {shown(one)} beside bytes")
        return _sized(_BYTES, b"".join(_sized(1, as_bytes(one, name)) for one in value))
    if isinstance(value, BYTES_LIKE) or (isinstance(value, np.ndarray) and value.dtype == np.uint8):
        return _sized(_BYTES, _sized(1, as_bytes(value, name)))
    found = _fitted(kinds, name, _from_python(name, value))
    packed = _numbers(found)
    return _sized(kinds.numbers[found.dtype.name], _sized(1, packed) if packed else b"")


def _key(name: Any) -> bytes:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a feature is {shown(name)}; it must be text")
    if "\0" in name:  # a decoder cannot be given this name
        raise InvalidArgumentError(f"the name of a feature is {shown(name)}; it must have no NUL")
    try:
        return _sized(1, name.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{shown(name)} is not valid Unicode text") from None


def _features(kinds: Kinds, features: Mapping[str, Any]) -> bytes:
    if not isinstance(features, Mapping):
        raise InvalidArgumentError(
            f"features are a dict of names and values; this is {shown(features)}"
        )
    return b"".join(
        _sized(1, _key(name) + _sized(2, _feature(kinds, name, value)))
        for name, value in features.items()
        if value is not None
    )


def encode_message(kinds: Kinds, features: Mapping[str, Any]) -> bytes:
    """The message of some features; a feature that is None is left out."""
    entries = _features(kinds, features)
    return _sized(1, entries) if kinds.is_wrapped else entries


def encode_lists(kinds: Kinds, feature_lists: Mapping[str, Any]) -> bytes:
    """The entries of a map of lists of features: name -> steps."""
    lists = []
    for name, steps in feature_lists.items():
        if isinstance(steps, BYTES_LIKE) or not isinstance(steps, (Sequence, np.ndarray, Ragged)):
            raise InvalidArgumentError(f"{name} = {shown(steps)}; it must be a sequence of steps")
        refuse_masked(name, steps)
        body = b"".join(_sized(1, _feature(kinds, name, step)) for step in steps)
        lists.append(_sized(1, _key(name) + _sized(2, body)))
    return _sized(2, b"".join(lists))


# ---- Batches ------------------------------------------------------------------------------------


def _whole(
    kinds: Kinds, found: Mapping[str, Array | Ragged | list[Any]]
) -> dict[str, Array | Ragged] | None:
    """The columns in the form that C takes; None if only Python can encode a row."""
    whole: dict[str, Array | Ragged] = {}
    for name, rows in found.items():
        if isinstance(rows, list):
            if not are_bytes(rows):
                return None
            rows = byte_column(name, rows)
        if rows.dtype != np.uint8:
            _check_dtype(kinds, name, rows.dtype.name)
        whole[name] = rows
    return whole


def _row(rows: Array | Ragged | list[Any], row: int) -> Any:
    """A row of a column; for an array always an array, which keeps its dtype."""
    if isinstance(rows, np.ndarray):
        return rows[row : row + 1].reshape(rows.shape[1:])
    return rows[row]


def encode_messages(kinds: Kinds, batch: Mapping[str, Any]) -> Ragged:
    """A message for each row of a batch."""
    found, count = columns(batch)
    for name in found:
        _key(name)  # refuses invalid names
    whole = _whole(kinds, found)
    if whole is not None:
        return encoded(kinds.encoder, whole, names=list(whole))

    def message(row: int) -> bytes:
        return encode_message(kinds, {name: _row(one, row) for name, one in found.items()})

    return ragged_of_bytes(each_row(message, range(count)))


# ---- Variable-length integers --------------------------------------------------------------------


def _varint(value: int) -> bytes:
    """One number; a negative one as two's complement of 64 bits."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varints(values: npt.NDArray[np.int64]) -> bytes:
    """All numbers of a flat array, back to back."""
    numbers = values.view(np.uint64)
    sizes = np.ones(len(numbers), np.int64)
    for place in range(1, _LONGEST):
        longer = numbers >= np.uint64(1 << (7 * place))
        if not longer.any():
            break
        sizes += longer
    longest = int(sizes.max(initial=1))
    if longest == 1:
        return numbers.astype(np.uint8).tobytes()
    table = np.empty((len(numbers), longest), np.uint8)
    for place in range(longest):
        table[:, place] = (numbers >> np.uint64(7 * place)).astype(np.uint8) | np.uint8(0x80)
    table[np.arange(len(numbers)), sizes - 1] &= np.uint8(0x7F)
    return table[np.arange(longest) < sizes[:, np.newaxis]].tobytes()


# ---- The writer ---------------------------------------------------------------------------------


class MessageWriter(ImageWriter):
    """A writer of messages in frames; it takes dicts of features, or the bytes of messages."""

    frame: ClassVar[str]  # the op that makes a record of the file of a message
    kinds: ClassVar[Kinds]

    def write(self, sample: Any) -> None:
        """Writes one record.

        Raises:
            InvalidArgumentError: The sample is neither a dict of features nor bytes, or the format
                cannot hold it.
            FileError: The file cannot be written.
        """
        with self._naming():
            if is_bytes_like(sample):
                record = as_bytes(sample)
            else:
                record = encode_message(self.kinds, self._encoded_sample(sample))
            data = self._framed(record)
        self._emit(data, np.array([len(data)]))

    def write_batch(self, batch: Any) -> None:
        """Writes a record for each row.

        Raises:
            InvalidArgumentError: The batch is neither a dict of columns nor a column of bytes.
            FileError: The file cannot be written.
        """
        with self._naming():
            if isinstance(batch, Mapping):
                records = encode_messages(self.kinds, self._encoded_batch(batch))
            else:
                records = byte_column("records", batch)
            rows = encoded(self.frame, {"records": records})
        self.write_encoded(rows)

    @abstractmethod
    def _framed(self, record: bytes) -> bytes:
        """A record in its frame, as in the file."""


# ---- The format ---------------------------------------------------------------------------------

_LOOKED_AT = 256  # records that are read to find the fields
_CHECKED = 16  # records that are read to check the features that the user lists
_MOST_BYTES = 1 << 20  # read of a file to find a first record
_MISSING = -1  # in place of a count: a record has no such feature


class MessageFormat(Format):
    """Records are messages of features, or other bytes, which are not parsed."""

    holds_records: ClassVar[bool] = True

    def encoded(self, fields: Sequence[Field], blobs: Sequence[Blob]) -> Blob | None:
        assert self.writer is not None and issubclass(self.writer, MessageWriter)
        (message, *others), names = blobs, [field.name for field in fields]
        if any("\0" in name for name in names):
            return None
        if names:
            encoder = self.writer.kinds.encoder
            message = make_node(encoder, [message, *others], names=names).outputs[0]
        return make_node(self.writer.frame, [message]).outputs[0]

    @staticmethod
    @abstractmethod
    def features(record: bytes) -> dict[str, Feature | None]:
        """The features of a record.

        Raises:
            ValueError: The record is not a message of features.
        """

    @staticmethod
    @abstractmethod
    def frames(data: bytes) -> Iterator[bytes]:
        """The whole records at the beginning of the bytes of a file."""

    @abstractmethod
    def wanted(self, op: Op, values: Mapping[str, object]) -> Iterable[Wanted]:
        """The features that a decoder with these attrs reads."""

    def found_by_decoder(
        self, op: Op, record: Blob, values: Mapping[str, object]
    ) -> Mapping[str, object]:
        """All features of the first records, sorted by name; if features were given, the first
        records must have them."""
        reader = reader_of(record)
        listed = op.outputs_attr
        if reader is None or reader.op.name != self.reader:
            return {}
        attr = op.attr(listed)
        if attr is None or not attr.is_found or listed in values:
            _refuse_unknown(self.wanted(op, values), lambda: self._first_features(reader))
            return {}
        own = reading_in(reader.values)
        source = open_source(files_of(reader), self.name, values=own)
        found = specs(source.fields)
        if source.left_out:
            advice = (
                f"give it, as {listed}={shown(found)}"
                if found
                else "no feature of the first records can be one; decode the bytes of the records "
                "by a function of your own, which flow.register_decoder makes an op"
            )
            raise InvalidArgumentError(
                f"{listed} was left out, and {source.left_out[0]}, cannot be an output: {advice}",
                attr=listed,
            )
        if not found:
            raise InvalidArgumentError(
                f"{listed} was left out, and the first records have no features: give it",
                attr=listed, file=source.files[0],
            )  # fmt: skip
        return {listed: found}

    def _first_features(self, reader: Node) -> list[dict[str, Feature | None]]:
        """The features of the first records of the first file, if they can be read without a
        loader."""
        try:
            path = files_of(reader)[0]
            head = head_of(path)
            data = head.data
            if head.compression is None and next(self.frames(data), None) is None:
                data = read_range(path, 0, _MOST_BYTES)
            return list(map(self.features, islice(self.frames(data), _CHECKED)))
        except (Error, OSError, ValueError):  # the loader raises it
            return []

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the features of the first records of a file."""
        looked = dataclasses.replace(source, files=(one.path,), fields=())
        attrs: dict[str, Any] = {"batch_size": _LOOKED_AT, "on_error": "skip", "max_skipped": -1}
        with looked.loader([RECORD], **attrs) as loader:
            batch = next(iter(loader), None)
        records: list[bytes] = batch[RECORD].to_bytes_list() if batch else []
        try:
            fields, left_out = _feature_fields(list(map(self.features, records)))
        except ValueError as failure:
            if isinstance(failure, Error):
                raise
            return source  # other bytes, which stay whole
        return dataclasses.replace(source, fields=tuple(fields), left_out=tuple(left_out))


def _feature_fields(records: Sequence[dict[str, Feature | None]]) -> tuple[list[Field], list[str]]:
    """The fields of messages, sorted by name, and descriptions of features that are not fields."""
    found, left_out = [], []
    for name in sorted({name for record in records for name in record}):
        features = [one for record in records if (one := record.get(name)) is not None]
        counts = {feature.count for feature in features}
        dtypes = {feature.dtype for feature in features}
        if len(features) < len(records):
            counts.add(_MISSING)
        if not name:
            left_out.append("a feature without a name")
        elif len(dtypes) > 1:
            left_out.append(f"{name}, which is {' and '.join(sorted(dtypes))}")
        elif dtypes == {BYTES} and max(counts) > 1:
            left_out.append(f"{name}, which has {max(counts)} byte strings in a record")
        elif dtypes == {BYTES} and 0 in counts:
            left_out.append(f"{name}, which has 0 byte strings in a record")
        elif dtypes:
            found.append(_field(name, dtypes.pop(), counts))
    return found, left_out


def _field(name: str, dtype: str, counts: Iterable[int]) -> Field:
    if dtype == BYTES:
        return Field(name, BYTES, default=None if min(counts) == 1 else "")
    count, *others = counts
    if others:
        return Field(name, dtype, (None,))
    return Field(name, dtype, () if count == 1 else (count,))
