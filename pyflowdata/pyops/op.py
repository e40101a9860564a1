"""A Python function as an op: its descriptor, and the callbacks that C calls.

A callback takes the GIL; compute() of a function that numba has compiled does not.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
import threading
import time
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import (
    CancelledError,
    CorruptDataError,
    Error,
    InternalError,
    InvalidArgumentError,
    shown,
)
from ..native import CData, check, encode, ffi, has_lock, lib, new_error, new_struct, text_value
from ..nodes.node import identities
from ..nodes.objects import Identity, Object, object_of
from ..nodes.op_facts import Op
from ..nodes.python_ops import note_interpreted, note_variants, provide
from ..nodes.registry import find_op
from ..nodes.row_types import (
    RowType,
    dtype_name,
    dtype_of,
    numpy_dtype,
    read_row_type,
    row_type,
    write_row_type,
)
from .callbacks import c_function, message_of, status_of
from .function_digest import Digest, place_of
from .tensors import (
    Call,
    Generators,
    OutputMismatch,
    Runner,
    Told,
    input_batch,
    input_rows,
    output_view,
    write_ragged,
)

if TYPE_CHECKING:
    from .processes import Pool


# ---- Attrs --------------------------------------------------------------------------------------
# From keyword-only parameters to the table of C, and back.

_lock_taken = lib.pfd_lock_taken
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
    np.dtype: (lib.PFD_ATTR_DTYPE, 4, lambda at: dtype_of(ffi.cast("int32_t *", at)[0])),
    (int,): (lib.PFD_ATTR_LIST_INT64, 16, _list_reader("int64")),
    (float,): (lib.PFD_ATTR_LIST_FLOAT64, 16, _list_reader("float64")),
    (str,): (lib.PFD_ATTR_LIST_STRING, 16, _read_strings),
    Object: (  # of ops of this package
        lib.PFD_ATTR_OBJECT, 8, lambda at: object_of(ffi.cast("int64_t *", at)[0]).value
    ),
}  # fmt: skip
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
        """The value of the attr in an attr struct (`char *`)."""
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
        """The default as C's tables write it; None: the attr is required."""
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
    """The attrs for parameters of a function.

    Raises:
        InvalidArgumentError: The type of a parameter is not known, or no attr can have it.
    """
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001  (names in annotations that are not there at run time)
        hints = {}
    return [
        PythonAttr(parameter, hints.get(parameter.name), index * _SLOT_BYTES)
        for index, parameter in enumerate(parameters)
    ]


def _attr_table(attrs: Sequence[PythonAttr], owner: str, keep: list[CData]) -> tuple[CData, int]:
    """The `pfd_attr[]` of an op, and the bytes of its attr struct; `keep` owns its memory."""

    def kept(value: bytes | None) -> CData:
        keep.append(ffi.NULL if value is None else ffi.new("char[]", value))
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


# ---- The function -------------------------------------------------------------------------------

GIVEN_BY_HOST = ("rng", "ids")
_ANNOTATIONS: dict[str, Any] = {}
if sys.version_info >= (3, 14):  # evaluates them when asked; some names are for type checkers alone
    import annotationlib

    _ANNOTATIONS["annotation_format"] = annotationlib.Format.FORWARDREF


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function of the program, by name.

    Raises:
        TypeError, ValueError: It does not tell, as some functions in C.
    """
    return dict(inspect.signature(function, **_ANNOTATIONS).parameters)


def given_by_host(
    parameters: Iterable[inspect.Parameter],
    given: Iterable[str] = (),
    fields: Iterable[str] | None = None,
) -> list[str]:
    """The parameters that the loader gives: `rng` and `ids` after a `*`; in a function of records
    also before it, unless a field has the name.

    Args:
        given: Names of arguments that the user gives.
        fields: The fields of the records; None: the function takes fields, by place.
    """
    return [
        one.name for one in parameters
        if one.name in GIVEN_BY_HOST and one.name not in given
        and (one.kind is one.KEYWORD_ONLY or (fields is not None and one.name not in fields))
    ]  # fmt: skip


_functions: dict[str, Callable[..., Any]] = {}  # by the names of their ops
_kept: list[object] = []  # memory that C points to: an op lives as long as the process
_OWN_FILES = (
    __file__, c_function.__code__.co_filename, Runner.run.__code__.co_filename,
    os.path.join(os.path.dirname(__file__), "processes.py"),
    os.path.join(os.path.dirname(__file__), "row_function.py"),
    os.path.join(os.path.dirname(__file__), "records.py"),
)  # fmt: skip
_own = threading.local()
_ASK_SECONDS = 0.001  # between two questions whether the batch was given up
_MOST_UNASKED = 32  # rows between two looks at the clock, where the rows before took less


class Described:
    """A function as an op: its inputs, attrs and outputs by name.

    Attributes:
        function: The user's function.
        inputs, outputs: The names of inputs and outputs.
        has_optional_input: Whether the last input may be left out; it is then None.
        attrs: The other declared parameters.
        from_host: The parameters among `rng` and `ids`.
        types: Declared types of inputs; other inputs may have any type.
        specs: Declared types of outputs: a RowType, or a function of the inputs' types.
        switches: For each output the attr that turns it on, the bool `with_<output>`; "": none.
        takes_ragged: Whether rows may differ in shape.
    """

    takes_ragged = True

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Sequence[str],
        attrs: Sequence[PythonAttr],
        from_host: Sequence[str],
        types: Mapping[str, Any] | None,
        outputs: Mapping[str, Any],
        *,
        has_optional_input: bool = False,
    ) -> None:
        self.function = function
        self.inputs = tuple(inputs)
        self.has_optional_input = has_optional_input
        self.attrs = tuple(attrs)
        self.from_host = tuple(from_host)
        self.outputs = tuple(outputs)
        self.types = {
            name: row_type(f"inputs['{name}']", given) for name, given in (types or {}).items()
        }
        self.specs: tuple[RowType | Callable[..., Any], ...] = tuple(
            given if callable(given) and not isinstance(given, type)
            else row_type(f"outputs['{name}']", given)
            for name, given in outputs.items()
        )  # fmt: skip
        for name in self.types:
            if name not in self.inputs:
                raise InvalidArgumentError(
                    f"inputs names '{name}', which is not an input of the function; its inputs: "
                    + ", ".join(self.inputs)
                )
        own = {attr.name for attr in self.attrs if attr.kind is bool}
        self.switches = tuple(one if (one := f"with_{name}") in own else "" for name in outputs)

    def infer(self, inputs: Sequence[RowType | None], attrs: Mapping[str, Any]) -> list[RowType]:
        for name, found in zip(self.inputs, inputs, strict=True):
            wanted = self.types.get(name)
            if wanted is not None and found is not None and not wanted.fits(*found):
                raise InvalidArgumentError(
                    f"the input '{name}' has rows of {found}; the function takes {wanted}"
                )
        types = []
        for name, spec in zip(self.outputs, self.specs, strict=True):
            if isinstance(spec, RowType):
                types.append(spec)
                continue
            given = {key: attrs[key] for key in attrs if _takes(spec, key)}
            types.append(row_type(f"outputs['{name}']", spec(*inputs, **given)))
        return types


def _takes(function: Callable[..., Any], keyword: str) -> bool:
    parameter = parameters_of(function).get(keyword)
    return parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY


def describe(
    function: Callable[..., Any], types: Mapping[str, Any] | None, outputs: Mapping[str, Any]
) -> Described:
    inputs: list[str] = []
    attrs: list[inspect.Parameter] = []
    from_host: list[inspect.Parameter] = []
    has_optional_input = False
    for parameter in parameters_of(function).values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InvalidArgumentError(
                f"the function has the parameter {parameter}; inputs and attrs must have names"
            )
        if parameter.kind is parameter.KEYWORD_ONLY:
            (from_host if parameter.name in GIVEN_BY_HOST else attrs).append(parameter)
        elif parameter.default is None and inputs and not has_optional_input:
            inputs.append(parameter.name)
            has_optional_input = True
        elif parameter.default is not parameter.empty:
            raise InvalidArgumentError(
                f"the parameter '{parameter}' has a default, but inputs have none, apart from a "
                "last one that may be left out, whose default is None; if it is an attr, put it "
                f"after a *: def {name_of(function)}(x, *, {parameter})"
            )
        else:
            inputs.append(parameter.name)
    if not inputs:
        raise InvalidArgumentError(
            "the function has no positional parameters; its inputs must be such parameters"
        )
    names = [parameter.name for parameter in from_host]
    return Described(
        function, inputs, python_attrs(function, attrs), names, types, outputs,
        has_optional_input=has_optional_input,
    )  # fmt: skip


def name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def function_place(function: Callable[..., Any]) -> str:
    """The file and line of a function, as file.py:12; "": not known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    near = os.path.relpath(code.co_filename) if os.path.isabs(code.co_filename) else ""
    file = near if near and not near.startswith(os.pardir) else code.co_filename
    return f"{file}:{code.co_firstlineno}"


def op_name(function: Callable[..., Any]) -> str:
    """The name of the op for a function: normalise_rows -> NormaliseRows."""
    parts = re.split(r"[\W_]+", name_of(function).strip("_"))
    return "".join(part[:1].upper() + part[1:] for part in parts)


# ---- The op -------------------------------------------------------------------------------------


class PythonOp:
    """A registered function; it lives as long as the process, since nodes may point to it.

    Attributes:
        pool: The processes that run it while a loader uses it; None: threads run it.
        takes_any_names: Whether inputs and outputs may have names that ports cannot have.
    """

    def __init__(
        self,
        name: str,
        described: Described,
        per: str,
        compute: CData | None,
        processes: int = 0,
        *,
        takes_any_names: bool = False,
    ) -> None:
        self.name = name
        self.takes_any_names = takes_any_names
        self.described = described
        self.is_whole_batch, self.is_batch = per == "batch", per != "row"
        self._said = name_of(described.function)
        self._runner = Runner(
            described.function, self._said, described.outputs, described.from_host, self.is_batch,
            described.switches,
        )  # fmt: skip
        self.pool: Pool | None = None
        self.takes_lock = compute is None and has_lock()
        self._infer = self._callback("infer", self._run_infer)
        self._compute = compute if compute is not None else self._callback("compute", self._run)
        self.has_costly_calls = per == "rows" and compute is None and not processes
        if compute is None:
            has_columns = self.is_batch or getattr(described.function, "at_once", False)
            note_interpreted(self._compute, by_row=not has_columns)
            self._per, self._variants = per, {processes: name}
            note_variants(self._compute, self._variant)
        if processes:
            from .processes import Pool

            self.pool = Pool(self._runner, processes)
            provide(self._compute, self.pool)

    def _variant(self, processes: int) -> Op:
        """The same op with other processes; it lives as long as this op."""
        if processes not in self._variants:
            kind, *number = self.name.partition("#")
            name = f"{kind}In{processes}Processes{''.join(number)}"
            same = PythonOp(
                name, self.described, self._per, None, processes,
                takes_any_names=self.takes_any_names,
            )  # fmt: skip
            same.add(replace=True)
            self._variants[processes] = name
        return find_op(self._variants[processes])

    def _identity(self) -> Identity:
        """The identity of the user's function, with the arguments that `map` got for it."""
        described = self.described
        mapped = getattr(described.function, "mapped", (described.function,))
        draws = "rng" in described.from_host
        return Identity(Digest(*mapped).now, place_of(mapped[0]), draws, described.outputs)

    def _callback(self, kind: str, run: Callable[[CData], None]) -> CData:
        def call(args: CData, _err: CData) -> int:
            _lock_taken()
            run(args)
            return 0

        signature = f"pfd_status (*)(const pfd_{kind}_args *, pfd_error *)"
        return c_function(signature, call, self._fail)

    def _fail(self, given: tuple[CData, CData], failure: BaseException) -> int:
        args, err = given
        row = getattr(failure, "pyflowdata_row", -1)
        byte = -1
        if isinstance(failure, CorruptDataError) and failure.row is not None and row < 0:
            row = failure.row
        if isinstance(failure, Error) and failure.byte is not None and row >= 0:
            byte = failure.byte
        if isinstance(failure, OutputMismatch):
            failure.message = f"{self._said}(): {failure.message}"
        is_infer = ffi.typeof(args) is ffi.typeof("const pfd_infer_args *")
        status = status_of(
            failure, lib.PFD_INVALID_ARGUMENT if is_infer else lib.PFD_USER_FUNCTION
        )
        said, cause = message_of(
            failure, f"{self._said}()", _OWN_FILES, is_told=isinstance(failure, Told)
        )
        args.host.fail_row(err, row, byte, status, b"%s", ffi.new("char[]", said))
        err.cause = cause
        return status

    def _attrs(self, args: CData) -> dict[str, Any]:
        if not self.described.attrs:
            return {}
        address = ffi.cast("char *", args.attrs)
        return {attr.name: attr.read(address) for attr in self.described.attrs}

    def _run_infer(self, args: CData) -> None:
        described = self.described
        if self.pool is not None:
            self.pool.check()
        inputs: list[RowType | None] = [None] * len(described.inputs)
        inputs[: args.num_inputs] = [read_row_type(args.inputs[i]) for i in range(args.num_inputs)]
        for index, found in enumerate(described.infer(inputs, self._attrs(args))):
            write_row_type(args.outputs[index], found)

    def _run(self, args: CData) -> None:
        described, num_rows = self.described, args.num_rows
        keywords = self._attrs(args)
        types = [read_row_type(args.outputs[i].type) for i in range(len(described.outputs))]
        ids = _ids(args) if "ids" in described.from_host else None
        has_rng = "rng" in described.from_host
        pool = self.pool
        if pool is not None and pool.is_open:
            given = [read_row_type(args.inputs[i].type) for i in range(args.num_inputs)]
            drawn = [_key(args, row) for row in range(num_rows)] if has_rng else None
            keys = None if drawn is None else np.array(drawn, np.uint64)
            pool.run(args, keywords, given, types, ids, keys)
            return

        asked, unasked = 0.0, 1

        def before_row(_row: int) -> int:
            nonlocal asked, unasked
            now = time.monotonic()
            if now - asked < _ASK_SECONDS:
                unasked = min(2 * unasked, _MOST_UNASKED)
                return unasked
            if args.host.is_cancelled(args.scratch):
                raise CancelledError("the batch was given up")
            asked, unasked = now, 1
            return unasked

        def generator(row: int) -> np.random.Generator:
            return _generators().of(*_key(args, row))

        take = input_batch if self._runner.takes_columns else input_rows
        inputs = [take(args.inputs[i], num_rows) for i in range(args.num_inputs)]
        outputs = [
            None if declared.is_ragged else output_view(args.outputs[i], declared, num_rows)
            for i, declared in enumerate(types)
        ]
        own = generator if has_rng else None
        call = Call(inputs, num_rows, keywords, ids, own, types, outputs, before_row)
        for index, rows in enumerate(self._runner.run(call)):
            if types[index].is_ragged:
                write_ragged(args, args.outputs[index], rows, types[index])

    def add(self, *, replace: bool) -> None:
        described, keep = self.described, []
        if "#" in self.name and not self.takes_any_names:
            raise InvalidArgumentError(f"the name of the op, {shown(self.name)}, has a '#'")

        def kept(value: str) -> CData:
            keep.append(ffi.new("char[]", encode(value, "a name")))
            return keep[-1]

        def ports(names: Sequence[str], called: str, doc: str) -> CData:
            array = ffi.new("pfd_port[]", len(names))
            keep.append(array)
            for index, (port, name) in enumerate(zip(array, names, strict=True)):
                own = f"{called}{index}" if self.takes_any_names else name
                port.name, port.doc = kept(own), kept(doc)
            return array

        op = new_struct("pfd_op")
        op.attr_size, op.port_size = ffi.sizeof("pfd_attr"), ffi.sizeof("pfd_port")
        op.flags = lib.PFD_WHOLE_BATCH if self.is_whole_batch else 0
        op.flags |= lib.PFD_COSTLY_CALLS if self.has_costly_calls else 0
        op.flags |= lib.PFD_TAKES_LOCK if self.takes_lock else 0
        op.flags |= lib.PFD_TAKES_RAGGED if described.takes_ragged else 0
        op.flags |= lib.PFD_OPTIONAL_INPUT if described.has_optional_input else 0
        op.name, op.doc = kept(self.name), kept(_sentences(described.function))
        op.attrs, op.attrs_struct_size = _attr_table(described.attrs, self._said, keep)
        op.num_attrs = len(described.attrs)
        op.inputs = ports(described.inputs, "in", f"Parameter of the Python function {self._said}.")
        op.num_inputs = len(described.inputs)
        op.outputs = ports(described.outputs, "out", f"Result of the Python function {self._said}.")
        op.num_outputs = len(described.outputs)
        op.infer, op.compute = self._infer, self._compute
        plugin, ops = new_struct("pfd_plugin"), ffi.new("const pfd_op *[]", [op])
        plugin.abi_major, plugin.abi_minor = lib.PFD_ABI_MAJOR, lib.PFD_ABI_MINOR
        plugin.num_ops, plugin.ops = 1, ops
        plugin.name, plugin.version = kept(self._said), kept("")
        memory = self, op, ops, plugin, keep
        _kept.append(memory)
        err = new_error()
        status = lib.pfd_plugin_add(plugin, encode(origin_of(described), "origin"), replace, err)
        try:
            check(status, err)
        except InternalError as failure:  # a name that no op can have
            _kept.remove(memory)  # other threads may have added theirs
            raise InvalidArgumentError(failure.message) from None
        _functions[self.name] = described.function
        identities[self.name] = self._identity()


def function_of(op: str) -> Callable[..., Any] | None:
    """The Python function of an op, by the op's name; None: the op has none."""
    return _functions.get(op)


def _ids(args: CData) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The file and ordinal of each row's record, as in a reader's output `id`."""
    records = args.records
    ids = [
        (record.file, record.offset if record.size == lib.PFD_DRAWN else record.ordinal)
        for record in records[0 : args.num_rows]
    ]
    return np.array(ids, np.int64).reshape(len(ids), 2)


def _key(args: CData, row: int) -> tuple[int, int]:
    """The key of a row's random numbers, which depends only on seed, epoch, op and record."""
    ordinal, bits = args.records[row].ordinal, args.host.random_bits
    return bits(args.random_key, ordinal, 0), bits(args.random_key, ordinal, 1)


def _generators() -> Generators:
    own: Generators | None = getattr(_own, "generators", None)
    if own is None:
        own = _own.generators = Generators()
    return own


def _sentences(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, for the descriptor."""
    doc = inspect.getdoc(function) if inspect.isroutine(function) else None
    first = " ".join((doc or "").split("\n\n")[0].split())
    if not first:
        return f"The Python function {name_of(function)}."
    return first if first.endswith(".") else f"{first}."


def origin_of(described: Described) -> str:
    """The origin of the op: "python module:function"."""
    function = described.function
    module = getattr(function, "__module__", "?")
    return f"python {module}:{getattr(function, '__qualname__', name_of(function))}"
