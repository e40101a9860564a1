"""The facts about an op in the registry, as Python data, and their reader from the structs of op.h.

The package reads them with cffi.  The build reads them with ctypes, so that it needs nothing but
Python: this module imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

AttrValue = bool | int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
BUILT_IN = "built in"  # the origin of what is in the library itself
_ENDLESS = 2.0**31 - 2  # larger integer limits are those of the type


class AttrType(NamedTuple):
    """One of the PFD_ATTR_* types.

    Attributes:
        word: As docs name it, for example "list of int".
        hint: The type, as a type checker reads it.
        element: The Python type of the elements of a list; None if it is not a list.
        parse: Makes the value from the text of a default.
    """

    word: str
    hint: str
    element: type | None
    parse: Callable[[str], AttrValue]


# C has checked every default when it registered the op.


def _elements(default: str) -> list[str]:
    return [part.lstrip(" ") for part in default.split(",")] if default else []


def _list_of(kind: Callable[[str], Any]) -> Callable[[str], AttrValue]:
    return lambda default: tuple(map(kind, _elements(default)))


def _bool(default: str) -> AttrValue:
    return {"true": True, "false": False}[default]


_INTS = "Sequence[int] | NDArray[Any]"
_FLOATS = "float | Sequence[float] | NDArray[Any]"
ATTR_TYPES: dict[str, AttrType] = {  # by the rest of PFD_ATTR_*
    "BOOL": AttrType("bool", "bool", None, _bool),
    "INT32": AttrType("int", "int", None, int),
    "INT64": AttrType("int", "int", None, int),
    "FLOAT32": AttrType("float", "float", None, float),
    "FLOAT64": AttrType("float", "float", None, float),
    "STRING": AttrType("str", "str | PathLike[str]", None, str),
    "CHOICE": AttrType("str", "str", None, str),
    "DTYPE": AttrType("dtype", "DTypeLike", None, str),
    "OBJECT": AttrType("object", "object", None, str),
    "SHAPE": AttrType("shape", _INTS, int, _list_of(int)),
    "LIST_INT64": AttrType("list of int", _INTS, int, _list_of(int)),
    "LIST_FLOAT64": AttrType("list of float", _FLOATS, float, _list_of(float)),
    "LIST_STRING": AttrType(
        "list of str", "str | PathLike[str] | Sequence[str | PathLike[str]]", str, _list_of(str)
    ),
}


# Further arguments of a call on rows, unless the op has an attr of the name: the least value, which
# is the default, and the doc.
ROW_OPTIONS = {
    "seed": (-1, "The seed of random numbers, as that of a reader; -1 or None draws one."),
    "epoch": (0, "The epoch whose random numbers are wanted."),
    "ordinal": (0, "The number of the first row's record, for its random numbers."),
}


class Attr(NamedTuple):
    """One attr of an op, as its C table declares it.

    Attributes:
        name: As users write it.
        type: The type of its values.
        default: The value if it is left out; None if it is required, or inferred from the files.
        is_found: Whether it is inferred from the files when the node is made, if it was left out.
            minimum, maximum: Inclusive limits of numbers and list elements; None: no limit.
        choices: The valid strings or dtypes; empty: any.  "true" and "false" stand for bools, too.
        doc: One sentence.
    """

    name: str
    type: AttrType
    default: AttrValue | None
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    doc: str
    is_found: bool = False

    @property
    def hint(self) -> str:
        """The type, as a type checker reads it; a dimension that may vary may also be None."""
        varies = self.type.word == "shape" and self.minimum is not None and self.minimum < 0
        if self.takes_none and not self.is_found:
            return f"{self.type.hint} | None"
        return _INTS.replace("int", "int | None", 1) if varies else self.type.hint

    @property
    def is_switch(self) -> bool:
        """Whether True and False are among the choices."""
        return "true" in self.choices

    @property
    def takes_none(self) -> bool:
        """Whether None stands for an attr that is left out; in C -1, or the dtype "", stands for
        it.
        """
        is_inferred = self.type.word == "dtype" and self.default == ""
        return self.is_found or is_inferred or self.default == self.minimum == -1

    @property
    def required(self) -> bool:
        return self.default is None and not self.is_found


class Port(NamedTuple):
    """An input or output of an op."""

    name: str
    doc: str


class Op(NamedTuple):
    """An op of the registry, with what the host adds to every reader.

    Attributes:
        name: The op's own spelling, in CamelCase.
        doc: A paragraph; its first sentence is the summary.
        is_reader: Whether it yields batches of records: of files, or of the data set that is its
            input.
        attrs, inputs, outputs: In the order of the C tables; for the op of a node, those of the
            node.
        origin: "built in", the path of the plugin, or "python <module>:<function>".
        outputs_attr: The attr that lists the outputs of a node, which `outputs` then describes
            by one entry; "" if outputs are declared.
        has_many_inputs: Whether the only input takes one or more blobs.
        takes_ragged: Whether rows of inputs may differ in size.
        is_whole_batch: Whether it looks at all rows of a batch at once.
        has_equal_rows: Whether the rows of its ragged outputs have one shape within a batch.
        keeps_equal_rows: Whether these rows have one shape if the rows of its ragged inputs have
            one shape.
        has_optional_input: Whether the last input may be left out.
        is_view: Whether its rows are the rows of its inputs in another order (or, for a reader, in
            batches).
        reads_folders: Whether it reads folders, not files.
        method: The method of a data set that makes the view; "": it is not a view.
        host_outputs: The outputs that every reader can have besides its own.
    """

    name: str
    doc: str
    is_reader: bool
    attrs: tuple[Attr, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    origin: str
    outputs_attr: str = ""
    has_many_inputs: bool = False
    takes_ragged: bool = False
    is_whole_batch: bool = False
    has_equal_rows: bool = False
    keeps_equal_rows: bool = False
    has_optional_input: bool = False
    is_view: bool = False
    reads_folders: bool = False
    method: str = ""
    host_outputs: tuple[str, ...] = ()

    def attr(self, name: str) -> Attr | None:
        for attr in self.attrs:  # without a generator: it is asked often
            if attr.name == name:
                return attr
        return None

    def takes(self, num_inputs: int) -> bool:
        """Whether a node of the op can have that many inputs."""
        if self.has_many_inputs:
            return num_inputs > 0
        return 0 <= len(self.inputs) - num_inputs <= self.has_optional_input

    def switch(self, output: str) -> Attr | None:
        """The attr that turns an output on, or None: the bool `with_<output>`, or a list attr with
        the name of the output, which turns it on if it is not empty.
        """
        if self.outputs_attr and output not in self.host_outputs:
            return None  # named by the user; it may have the name of an attr
        own = self.attr(output)
        return self.attr(f"with_{output}") or (own if own and own.default == () else None)


# ---- Reading ------------------------------------------------------------------------------------


def _limit(value: float, is_int: bool) -> float | None:
    if value in (float("inf"), float("-inf")) or (is_int and abs(value) >= _ENDLESS):
        return None
    return int(value) if is_int else value


class OpReader:
    """Makes an `Op` from a `pfd_op`: an object whose attributes are the fields, and whose NULL
    pointers are false.
    """

    def __init__(self, constants: Any, text: Callable[[Any], str]) -> None:
        """
        Args:
            constants: Has the constants of op.h as attributes.
            text: Reads a `char *`; "" for NULL.
        """
        self._constants, self._text = constants, text
        self._types = {
            getattr(constants, f"PFD_ATTR_{key}"): kind for key, kind in ATTR_TYPES.items()
        }

    def op(self, op: Any, origin: str, host_outputs: tuple[str, ...]) -> Op:
        """
        Raises:
            ValueError: An attr has a type that is not known here.
        """
        text = self._text

        def has(flag: str) -> bool:
            return bool(op.flags & getattr(self._constants, flag))

        return Op(
            name=text(op.name),
            doc=text(op.doc),
            is_reader=bool(op.open),
            attrs=tuple(self._attr(op.attrs[i]) for i in range(op.num_attrs)),
            inputs=self.ports(op.inputs, op.num_inputs),
            outputs=self.ports(op.outputs, op.num_outputs),
            origin=origin,
            outputs_attr=text(op.outputs_attr),
            has_many_inputs=has("PFD_MANY_INPUTS"),
            takes_ragged=has("PFD_TAKES_RAGGED"),
            is_whole_batch=has("PFD_WHOLE_BATCH"),
            has_equal_rows=has("PFD_EQUAL_ROWS"),
            keeps_equal_rows=has("PFD_KEEPS_EQUAL_ROWS"),
            has_optional_input=has("PFD_OPTIONAL_INPUT"),
            is_view=has("PFD_VIEW"),
            reads_folders=has("PFD_READS_FOLDERS"),
            host_outputs=host_outputs,
        )

    def ports(self, ports: Any, count: int) -> tuple[Port, ...]:
        """The inputs or outputs in an array of `pfd_port`."""
        return tuple(
            Port(self._text(ports[i].name), self._text(ports[i].doc)) for i in range(count)
        )

    def _attr(self, row: Any) -> Attr:
        text = self._text
        name = text(row.name)
        kind = self._types.get(row.type)
        if kind is None:
            raise ValueError(f"attr '{name}' has the unknown type {row.type}")
        limited = row.min != row.max
        is_int = kind.word in ("int", "shape", "list of int")
        is_found = bool(row.flags & self._constants.PFD_ATTR_FOUND)
        has_default = bool(row.default_value) and not is_found
        return Attr(
            name=name,
            type=kind,
            default=kind.parse(text(row.default_value)) if has_default else None,
            minimum=_limit(row.min, is_int) if limited else None,
            maximum=_limit(row.max, is_int) if limited else None,
            choices=tuple(text(row.choices).split("|")) if text(row.choices) else (),
            doc=text(row.doc),
            is_found=is_found,
        )
