"""Values of attrs, from Python to `pfd_attr_value`.

Only the form changes here (an int stays an int): C decides what an attr accepts.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..native import CData, encode, ffi, lib, text, text_value
from .objects import Object
from .row_types import dtype_name, is_bfloat16, numpy_dtype
from .argument_hints import refuse_other_argument
from .op_facts import Attr, Op

Plain = bool | int | float | str | list[int] | list[float] | list[str] | Object

_NO_VALUES = "mMV"  # dtype kinds whose item() looks like a number or a tuple, but is not one


def _refuse(attr: Attr, value: object, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"attr '{attr.name}' = {shown(value)} ({type(value).__name__}); it must be {expected}",
        attr=attr.name,
    )


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _dtype_name(attr: Attr, value: object) -> str:
    if value is None:
        raise _refuse(attr, value, "a dtype, like 'float32' or np.float32")
    try:
        dtype = numpy_dtype(value)
    except (TypeError, ValueError, SyntaxError):
        if isinstance(value, str):
            return value  # C lists the valid dtypes
        raise _refuse(attr, value, "a dtype, like 'float32' or np.float32") from None
    if is_bfloat16(dtype):
        return dtype_name(dtype)
    if dtype.fields is not None:
        raise _refuse(
            attr, value, "one dtype; a row of several fields is bytes, shape=[n] of dtype='uint8', "
            "which flow.Slice and flow.DecodeRaw take apart"
        )  # fmt: skip
    name = dtype.name if dtype.isnative and dtype.fields is None else str(dtype)
    return str(name)


def _list(attr: Attr, values: Sequence[object]) -> Plain:
    if any(isinstance(value, (list, tuple)) for value in values):  # it may contain itself
        raise _refuse(attr, values, _a(attr.type.word))
    if attr.type.word == "shape":  # as the shapes of blobs show a dimension that varies
        values = [-1 if value is None else value for value in values]
    plain = [_plain(attr, value) for value in values]
    kinds = {type(value) for value in plain}
    if kinds <= {str}:
        return [value for value in plain if isinstance(value, str)]
    if kinds <= {int}:
        return [value for value in plain if isinstance(value, int)]
    if kinds <= {int, float}:
        return [float(value) for value in plain if isinstance(value, (int, float))]
    raise _refuse(attr, values, _a(attr.type.word))


def _plain(attr: Attr, value: object) -> Plain:
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in _NO_VALUES:
        raise _refuse(attr, value, _a(attr.type.word))
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        number = operator.index(value)  # an enum is an int, too
        if not -(2**63) <= number < 2**63:
            raise _refuse(attr, number, "a number of 64 bits")
        return number
    if isinstance(value, str):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, (list, tuple)):
        return _list(attr, value)
    is_shown = value is None and attr.default not in (None, "", ())
    example = f", such as {attr.default!r}" if is_shown else ""
    raise _refuse(attr, value, _a(attr.type.word) + example)


class _Filler:
    """Writes values into C structs, and owns the memory that the structs point to."""

    def __init__(self) -> None:
        self.keep: list[CData] = []

    def string(self, value: str, what: str) -> CData:
        self.keep.append(ffi.new("char[]", encode(value, what)))
        return self.keep[-1]

    def fill(self, slot: CData, name: str, value: Plain) -> None:
        """Writes a value into a `pfd_attr_value`, which borrows from this object."""
        what = f"attr '{name}'"
        if isinstance(value, bool):
            slot.kind, slot.i = lib.PFD_VALUE_BOOL, value
        elif isinstance(value, int):
            slot.kind, slot.i = lib.PFD_VALUE_INT, value
        elif isinstance(value, float):
            slot.kind, slot.f = lib.PFD_VALUE_FLOAT, value
        elif isinstance(value, Object):
            slot.kind, slot.i = lib.PFD_VALUE_INT, value.number
        elif isinstance(value, str):
            slot.kind, slot.s = lib.PFD_VALUE_STRING, self.string(value, what)
        else:
            self.fill_list(slot, what, value)

    def fill_list(
        self, slot: CData, what: str, values: list[int] | list[float] | list[str]
    ) -> None:
        """Writes a list into a `pfd_attr_value`; an empty one fits any list attr."""
        if values and isinstance(values[0], str):
            elements = ffi.new("char *[]", [self.string(str(value), what) for value in values])
            slot.kind = lib.PFD_VALUE_LIST_STRING
        elif values and isinstance(values[0], float):
            elements = ffi.new("double[]", values)
            slot.kind = lib.PFD_VALUE_LIST_FLOAT
        else:
            elements = ffi.new("int64_t[]", values)
            slot.kind = lib.PFD_VALUE_LIST_INT
        self.keep.append(elements)
        slot.list, slot.list_size = elements, len(values)


def _is_number(value: object) -> bool:
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    kind = value.dtype.kind if isinstance(value, (np.generic, np.ndarray)) else ""
    is_plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_plain or (is_scalar and kind in "iuf")


_PATHS = ("files", "data_dir")  # attrs of readers


def _with_addresses(values: dict[str, Plain], change: str) -> dict[str, Plain]:
    """The values, with each path as a function of remote/client.py gives it."""
    from ..remote import client  # not needed by programs that read local files

    address: Callable[[str], str] = getattr(client, change)
    for name in _PATHS:
        given: Any = values.get(name)
        if isinstance(given, str):
            values[name] = address(given)
        elif given:
            values[name] = [address(one) for one in given]
    return values


def _has_addresses(values: Mapping[str, Plain]) -> bool:
    given: list[Any] = [values.get(name) or () for name in _PATHS]
    return any(
        isinstance(one, str) and "://" in one
        for paths in given for one in ((paths,) if isinstance(paths, str) else paths)
    )  # fmt: skip


def carried_values(op: Op, values: dict[str, Plain]) -> dict[str, Plain]:
    """The values for another process, which reads the same objects: with the queries of addresses,
    that nothing else has."""
    has_addresses = op.is_reader and _has_addresses(values)
    return _with_addresses(dict(values), "full_address") if has_addresses else values


def plain_values(op: Op, values: Mapping[str, object]) -> dict[str, Plain]:
    """Copies of the values, as numbers, texts and lists."""
    plain: dict[str, Plain] = {}
    for name, value in values.items():
        attr = op.attr(name)
        if attr is None:
            refuse_other_argument(op, name)
            plain[name] = True  # any value: C refuses the name, and lists near ones
        elif value is None and attr.takes_none:
            pass  # as left out
        elif attr.type.word == "object":
            plain[name] = own = value if isinstance(value, Object) else Object(value)
            if name == "vocabulary" and own.identity is None:
                raise _refuse(attr, value, "a Vocabulary, as Vocabulary.fit(data, field)")
        elif attr.type.word == "dtype":
            plain[name] = _dtype_name(attr, value)
        elif attr.type.element is str and isinstance(value, (str, os.PathLike)):
            plain[name] = _list(attr, [value])
        elif attr.type.element is float and _is_number(value):
            plain[name] = _list(attr, [value])
        else:
            plain[name] = found = _plain(attr, value)
            kinds = (str, list, bool) if attr.is_switch else (str, list)
            if attr.choices and not isinstance(found, kinds):
                raise _refuse(attr, value, f"one of {', '.join(attr.choices)}")
    if op.is_reader and _has_addresses(plain):
        return _with_addresses(plain, "name_object")
    return plain


def parse_attr(op: Op, name: str, said: str) -> Any:
    """The value that a text spells; InvalidArgumentError if it does not have the type of the attr.
    """
    attr = op.attr(name)
    if attr is None:
        return said  # the op refuses the name, and lists near ones
    try:
        if attr.type.word == "float" and said.lstrip("-").isdecimal():
            return int(said)  # max_skipped=1 is a number of records, 1.0 a share
        return attr.type.parse(said)
    except (ValueError, KeyError):
        raise InvalidArgumentError(
            f"attr '{name}' = '{said}'; it must be a value of the type {attr.type.word}",
            op=op.name, attr=name,
        ) from None


def found_values(node: CData) -> dict[str, Plain]:
    """The attrs of a `pfd_node` that were left out and inferred from the files."""
    count = ffi.new("int64_t *")
    found = lib.pfd_node_found(node, count)
    return {text(found[i].name): _value_of(found[i]) for i in range(count[0])}


def _value_of(slot: CData) -> Plain:
    if slot.kind == lib.PFD_VALUE_BOOL:
        return bool(slot.i)
    if slot.kind == lib.PFD_VALUE_INT:
        return int(slot.i)
    if slot.kind == lib.PFD_VALUE_FLOAT:
        return float(slot.f)
    if slot.kind == lib.PFD_VALUE_STRING:
        return text_value(slot.s)
    places = range(slot.list_size)
    if slot.kind == lib.PFD_VALUE_LIST_STRING:
        texts = ffi.cast("char **", slot.list)
        return [text_value(texts[i]) for i in places]
    if slot.kind == lib.PFD_VALUE_LIST_FLOAT:
        floats = ffi.cast("double *", slot.list)
        return [float(floats[i]) for i in places]
    ints = ffi.cast("int64_t *", slot.list)
    return [int(ints[i]) for i in places]


def encode_node_name(name: object) -> bytes:
    """The name of a node for C; None stands for no name."""
    if not isinstance(name, (str, type(None))):
        raise InvalidArgumentError(
            f"name = {shown(name)} ({type(name).__name__}); it must be a str or None"
        )
    return encode(name or "", "name")


def attr_values(values: Mapping[str, Plain]) -> tuple[CData, list[CData]]:
    """A `pfd_attr_value[]`, and the objects that must live as long as this array."""
    filler = _Filler()
    slots = ffi.new("pfd_attr_value[]", len(values))
    for slot, (name, value) in zip(slots, values.items(), strict=True):
        slot.name = filler.string(name, "the name of an attr")
        filler.fill(slot, name, value)
    return slots, filler.keep
