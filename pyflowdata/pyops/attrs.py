"""Attrs of ops that are Python functions: from keyword-only parameters to C's table, and back."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..native import CData, encode, ffi, lib, text_value
from ..nodes.row_types import dtype_name, dtype_of, numpy_dtype

_SLOT_BYTES = 16  # of each attr in the op's struct; the largest is a list: pointer and size


def _list_reader(element: str) -> Callable[[CData], tuple[Any, ...]]:
    def read(address: CData) -> tuple[Any, ...]:
        values = ffi.cast(f"pfd_list_{element} *", address)
        return tuple(ffi.unpack(values.data, values.size)) if values.size else ()

    return read


def _read_strings(address: CData) -> tuple[str, ...]:
    values = ffi.cast("pfd_list_string *", address)
    return tuple(text_value(values.data[i]) for i in range(values.size))


# Python type -> C's type, its bytes, and what reads a value of it.
_KINDS: dict[Any, tuple[int, int, Callable[[CData], Any]]] = {
    bool: (lib.PFD_ATTR_BOOL, 4, lambda at: bool(ffi.cast("int32_t *", at)[0])),
    int: (lib.PFD_ATTR_INT64, 8, lambda at: ffi.cast("int64_t *", at)[0]),
    float: (lib.PFD_ATTR_FLOAT64, 8, lambda at: ffi.cast("double *", at)[0]),
    str: (lib.PFD_ATTR_STRING, 8, lambda at: text_value(ffi.cast("char **", at)[0])),
    np.dtype: (
        lib.PFD_ATTR_DTYPE,
        4,
        lambda at: dtype_of(ffi.cast("int32_t *", at)[0]),
    ),
    (int,): (lib.PFD_ATTR_LIST_INT64, 16, _list_reader("int64")),
    (float,): (lib.PFD_ATTR_LIST_FLOAT64, 16, _list_reader("float64")),
    (str,): (lib.PFD_ATTR_LIST_STRING, 16, _read_strings),
}
_EXPECTED = (
    "bool, int, float, str, np.dtype, Literal of str, or list or tuple of int, float or str"
)


class PythonAttr:
    """One attr: a keyword-only parameter of the function."""

    def __init__(self, parameter: inspect.Parameter, annotation: Any, offset: int) -> None:
        self.name = parameter.name
        self.offset = offset
        self.default: Any = parameter.default
        self.choices: tuple[str, ...] = ()
        kind = self._kind_of_annotation(annotation)
        if kind is None and self.default is not inspect.Parameter.empty:
            kind = self._kind_of_default()
        if kind is None:
            raise InvalidArgumentError(
                f"the type of the attr '{self.name}' is not known; give the parameter a default or "
                f"an annotation: {_EXPECTED}"
            )
        self.kind = kind
        self.type, self.size, self._read = _KINDS[kind]

    def read(self, attrs: CData) -> Any:
        """Its value in an attr struct (`char *`)."""
        return self._read(attrs + self.offset)

    def _kind_of_annotation(self, annotation: Any) -> Any:
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return None
        if origin is Literal and all(isinstance(choice, str) for choice in arguments):
            self.choices = arguments
            return str
        if origin is np.dtype:
            return np.dtype
        if origin in (list, tuple, Sequence) and arguments and arguments[0] in (int, float, str):
            return (arguments[0],)
        return annotation if isinstance(annotation, type) and annotation in _KINDS else None

    def _kind_of_default(self) -> Any:
        default = self.default
        if isinstance(default, (list, tuple)) and default:
            kinds = {type(one) for one in default}
            element = float if kinds == {int, float} else kinds.pop() if len(kinds) == 1 else None
            return (element,) if element in (int, float, str) else None
        if isinstance(default, np.dtype) or (
            isinstance(default, type) and issubclass(default, np.generic)
        ):
            return np.dtype
        return type(default) if type(default) in _KINDS else None

    def default_text(self) -> bytes | None:
        """The default as C's tables write it; None: required."""
        if self.default is inspect.Parameter.empty:
            return None
        try:
            written = self._written(self.kind, self.default)
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                f"the default of the attr '{self.name}' is {shown(self.default)}; it does not fit "
                "the type of the attr"
            ) from None
        return encode(written, f"the default of the attr '{self.name}'")

    def _written(self, kind: Any, value: Any) -> str:
        if isinstance(kind, tuple):
            parts = [self._written(kind[0], one) for one in value]
            if kind[0] is str and any("," in one or one.startswith(" ") for one in parts):
                raise ValueError
            if parts == [""]:
                raise ValueError
            return ",".join(parts)
        if kind is np.dtype:
            return dtype_name(numpy_dtype(value))
        if kind is bool:
            return {True: "true", False: "false"}[value]
        if kind is float:
            number = float(value)
            return str(number) if math.isfinite(number) else repr(number)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError
        return str(value)


def python_attrs(
    function: Callable[..., Any], parameters: Sequence[inspect.Parameter]
) -> list[PythonAttr]:
    """The attrs that parameters of a function stand for.

    Raises:
        InvalidArgumentError: The type of one is not known, or is none that an attr can have.
    """
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001  (names in annotations that are not there at run time)
        hints = {}
    return [
        PythonAttr(parameter, hints.get(parameter.name), index * _SLOT_BYTES)
        for index, parameter in enumerate(parameters)
    ]


def attr_table(attrs: Sequence[PythonAttr], owner: str, keep: list[CData]) -> tuple[CData, int]:
    """The `pfd_attr[]` of an op, and the bytes of its attr struct; `keep` owns its memory."""

    def kept(value: bytes | None) -> CData:
        if value is None:
            return ffi.NULL
        keep.append(ffi.new("char[]", value))
        return keep[-1]

    rows = ffi.new("pfd_attr[]", max(len(attrs), 1))
    keep.append(rows)
    for row, attr in zip(rows, attrs, strict=False):
        row.name = kept(encode(attr.name, "the name of an attr"))
        row.type, row.offset, row.size = attr.type, attr.offset, attr.size
        row.default_value = kept(attr.default_text())
        row.choices = kept(encode("|".join(attr.choices), "choices") if attr.choices else None)
        row.doc = kept(encode(f"Parameter of the Python function {owner}.", "doc"))
    return rows, len(attrs) * _SLOT_BYTES
