"""Protobuf messages of features as writers make them: Examples and OFRecords.

What becomes of a value is the same in all of them:

    bytes, str, arrays of uint8         one bytes value; a list of bytes or str: several
    bool and integers                   int64 (OFRecord: int32 where the type fits into it)
    float16, float32, Python's floats   float: Python's are rounded; those that are too large for
                                        one, and integers beside them that are none, are errors
    float64                             double in an OFRecord; an Example has none, and refuses it

Shapes are not stored: the values of an array stand in C order.

Whole columns are encoded by an op in C; one sample, and rows that are lists of values, here.  For
one sample Python is faster: an Example takes it 90 us, and the op 154 us, most of it for the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....errors import InvalidArgumentError, shown
from ....ragged import Ragged
from ..writing.columns import BYTES, as_bytes, columns, little
from ..writing.encoding import are_bytes, byte_column, encoded, joined
from ..writing.lossless import Array, as_array, integers, refuse_masked, to_float

_LONGEST = 10  # bytes of a 64-bit number as a varint
_BYTES = 1  # the list of bytes, in every kind of feature


class Kinds(NamedTuple):
    """What a feature of a format's messages can hold.

    Attributes:
        encoder: The op that encodes whole columns.
        name: Of the message, with its article.
        numbers: dtype -> number of the list in a feature; that of bytes is 1.
        stored_as: dtype -> the one as which it is stored.
        is_wrapped: Whether the features are a message of their own inside the record.
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
    """The dtype as which numbers are stored."""
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
    """The packed values of a list."""
    if values.dtype.kind == "f":
        return values.tobytes()
    if values.size < 16:
        return b"".join(map(_varint, values.ravel().tolist()))
    return _varints(values.ravel().astype(np.int64, copy=False))


def _from_python(name: str, value: Any) -> Array:
    """Numbers of Python, in nested lists or alone; floats are float32 unless NumPy says more."""
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
    """A field with a length."""
    return bytes([tag << 3 | 2]) + _varint(len(data)) + data


def _feature(kinds: Kinds, name: str, value: Any) -> bytes:
    """One feature: a list of one kind."""
    if isinstance(value, np.ndarray):
        refuse_masked(name, value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "SUO":
        value = value.tolist()
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], BYTES):
        for one in value:
            if not isinstance(one, BYTES):
                raise InvalidArgumentError(f"{name} has {shown(one)} beside bytes")
        return _sized(_BYTES, b"".join(_sized(1, as_bytes(one, name)) for one in value))
    if isinstance(value, BYTES) or (isinstance(value, np.ndarray) and value.dtype == np.uint8):
        return _sized(_BYTES, _sized(1, as_bytes(value, name)))
    found = _fitted(kinds, name, _from_python(name, value))
    packed = _numbers(found)
    return _sized(kinds.numbers[found.dtype.name], _sized(1, packed) if packed else b"")


def _key(name: Any) -> bytes:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a feature is {shown(name)}; it must be text")
    if "\0" in name:  # no decoder could be given it
        raise InvalidArgumentError(f"the name of a feature is {shown(name)}; it must have no NUL")
    try:
        return _sized(1, name.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{shown(name)} is not valid Unicode text") from None


def _features(kinds: Kinds, features: Mapping[str, Any]) -> bytes:
    """The entries of the map; a feature that is None is left out."""
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
    """The message of some features; one that is None is left out."""
    entries = _features(kinds, features)
    return _sized(1, entries) if kinds.is_wrapped else entries


def encode_lists(kinds: Kinds, feature_lists: Mapping[str, Any]) -> bytes:
    """The entries of a map of lists of features: name -> steps."""
    lists = []
    for name, steps in feature_lists.items():
        if isinstance(steps, BYTES) or not isinstance(steps, (Sequence, np.ndarray, Ragged)):
            raise InvalidArgumentError(f"{name} = {shown(steps)}; it must be a sequence of steps")
        refuse_masked(name, steps)
        body = b"".join(_sized(1, _feature(kinds, name, step)) for step in steps)
        lists.append(_sized(1, _key(name) + _sized(2, body)))
    return _sized(2, b"".join(lists))


# ---- Batches ------------------------------------------------------------------------------------


def _whole(
    kinds: Kinds, found: Mapping[str, Array | Ragged | list[Any]]
) -> dict[str, Array | Ragged] | None:
    """The columns as C takes them; None where a row is something that only Python knows."""
    whole: dict[str, Array | Ragged] = {}
    for name, rows in found.items():
        if isinstance(rows, list):
            if not are_bytes(rows):
                return None
            rows = byte_column(name, rows)
        dtype = rows.dtype
        if dtype != np.uint8:
            _check_dtype(kinds, name, dtype.name)
        whole[name] = rows
    return whole


def _row(rows: Array | Ragged | list[Any], row: int) -> Any:
    """A row of a column; of an array always an array, which keeps its dtype."""
    if isinstance(rows, np.ndarray):
        return rows[row : row + 1].reshape(rows.shape[1:])
    return rows[row]


def encode_messages(kinds: Kinds, batch: Mapping[str, Any]) -> Ragged:
    """A message for each row of a batch."""
    found, count = columns(batch)
    for name in found:
        _key(name)  # refuses what is no name of a feature
    whole = _whole(kinds, found)
    if whole is not None:
        return encoded(kinds.encoder, whole, names=list(whole))
    made = []
    for row in range(count):
        try:
            sample = {name: _row(one, row) for name, one in found.items()}
            made.append(encode_message(kinds, sample))
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, ordinal=row) from None
    return joined(made)


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
    """All numbers of a flat array back to back."""
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
