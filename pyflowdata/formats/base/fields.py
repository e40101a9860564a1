"""The fields of records: their names, types and places in a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InvalidArgumentError, shown
from ...nodes import Blob, Node, dtype_name, find_op
from ...nodes.registry import HOST_OUTPUTS, JSON_TEXT

BYTES = "bytes"  # the dtype of a field whose rows are runs of bytes


@dataclass(frozen=True)
class Field:
    """A field of the records of a file.

    Attributes:
        name: The name of the output.
        dtype: The dtype of its elements, or "bytes".
        shape: The shape of a row, with None for a size that varies; () for bytes.
        key: The name of the field in the file.
        default: The value for records without the field; None: a record without it is an error.
        is_guessed: Whether later records may have another type.
        note: Why the field is bytes although nearly all seen values are numbers; otherwise "".
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] = ()
    key: str = ""
    default: str | None = None
    is_guessed: bool = False
    note: str = ""

    @property
    def type(self) -> str:
        """The type as an attr spells it: float32[2,?]."""
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]" if self.shape else self.dtype

    @property
    def is_json(self) -> bool:
        """Whether its rows are the texts of values in JSON."""
        return False

    def spec(self, output: str) -> str:
        """The element of an attr that lists fields, for this field and an output with this name."""
        key = self.key or self.name
        name = "" if key == output else f"{output}="
        default = "" if self.default is None else f"={self.default}"
        return f"{name}{key}:{self.type}{default}"

    def with_type(self, kind: str) -> Field:
        """The field with another type and default, as float32, float32[3] or float32=nan.

        Raises:
            InvalidArgumentError: The shape in the type is invalid.
        """
        kind, equals, said = kind.partition("=")
        default: str | None = said
        if not equals:  # a guessed one is NaN
            keeps = not self.is_guessed or kind.startswith("float")
            default = self.default if keeps else None
        dtype, _, sizes = kind.partition("[")
        parts = [one for one in sizes.rstrip("]").split(",") if one]
        try:
            shape = tuple(None if one == "?" else int(one) for one in parts)
        except ValueError:
            raise InvalidArgumentError(
                f"the type {shown(kind)} of {self.name} must be like float32[3,?]"
            ) from None
        key = self.key or self.name
        if kind == JSON_TEXT:
            if not equals and not self.is_json:
                default = None  # that of numbers or texts is not JSON
            return JsonField(self.name, BYTES, (), key, default)
        return Field(self.name, dtype, shape if "[" in kind else self.shape, key, default)


class JsonField(Field):
    """A field of JSON texts, for example of arrays of strings or objects, which no other type
    holds.
    """

    @property
    def type(self) -> str:
        """The type as the reader's attr spells it."""
        return JSON_TEXT

    @property
    def is_json(self) -> bool:
        return True


def specs(fields: Iterable[Field]) -> list[str]:
    """The value of an attr that lists fields, for these fields."""
    listed = list(fields)
    outputs = output_names(field.name for field in listed)
    return [field.spec(output) for field, output in zip(listed, outputs, strict=True)]


def notes_of(fields: Iterable[Field]) -> dict[str, str]:
    """The notes of fields, by the names of their outputs."""
    listed = list(fields)
    outputs = output_names(field.name for field in listed)
    named = zip(outputs, listed, strict=True)
    return {output: field.note for output, field in named if field.note}


def output_names(fields: Iterable[str]) -> list[str]:
    """Names of outputs for fields.  A name that an output cannot have, such as `id` (an output of
    every reader), gets underscores.
    """
    found: dict[str, None] = {}
    for name in fields:
        output = name.replace("=", "_").replace(":", "_") or "_"
        while output in HOST_OUTPUTS or output in found:
            output += "_"
        found[output] = None
    return list(found)


def port_name(blob: Blob) -> str:
    """The name of a blob as an output of its op."""
    return blob.name.rpartition("/")[2]


def field_of(name: str, blob: Blob) -> Field:
    """The field for an output; rows of uint8 whose length varies are bytes."""
    if blob.dtype == np.uint8 and blob.shape[1:] == (None,):
        return Field(name, BYTES)
    return Field(name, dtype_name(blob.dtype), blob.shape[1:])


def output_fields(blobs: Sequence[Blob]) -> tuple[Field, ...]:
    """A field for each output of an op that declares its outputs; a single output is called out."""
    names = ["out"] if len(blobs) == 1 else [port_name(blob) for blob in blobs]
    return tuple(map(field_of, names, blobs))


def split_spec(element: str) -> tuple[str, str, str, str | None]:
    """Name, key, type and default of [NAME=]KEY:TYPE[=DEFAULT]; "" and None: it has none."""
    left, equals, default = element.rpartition("=")
    if not equals or ":" not in left:  # the text before this "=" is a name
        left, equals = element, ""
    name, _, rest = left.rpartition("=")
    key, _, kind = rest.rpartition(":")
    return name, key, kind, default if equals else None


def listed_field(element: str, blob: Blob) -> Field:
    """The field for an element of an attr that lists fields, with its name in the file."""
    _, key, kind, default = split_spec(element)
    if kind in (BYTES, JSON_TEXT):
        return (JsonField if kind == JSON_TEXT else Field)(key, BYTES, default=default)
    return Field(key, dtype_name(blob.dtype), blob.shape[1:], default=default)


def lengths_of(blob: Blob) -> Blob:
    """The length of each row of a field; if rows are parts of a file, the elements are not read.

    Raises:
        InvalidArgumentError: The rows are single numbers.
    """
    return Node(find_op("RowLength"), None, [blob], {}).outputs[0]


def as_float32(blob: Blob) -> Blob:
    """The numbers as float32; a number that is too large for it is an error."""
    return Node(find_op("Cast"), None, [blob], {"dtype": "float32"}).outputs[0]
