"""Functions that numba has compiled, used as compute() of an op: machine code, without the GIL.

This module is imported only for such a function: then the program has imported numba already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numba.core import types as numba_types
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from ..errors import InvalidArgumentError, UnsupportedError
from ..native import CData, ffi, lib
from .op import Described, PythonAttr, name_of, parameters_of, python_attrs
from ..nodes.row_types import RowType

_RAISED = (
    "{}() raised an exception, of which machine code keeps no more than that; call "
    "{}.py_func with such arrays to see it"
)
_DAMAGED = "{}() says that the record is damaged"
_machine_code: list[Any] = []  # lives as long as the process
_SCALARS = {bool: ("np.int32", "!= 0"), int: ("np.int64", ""), float: ("np.float64", "")}
_SIGNATURE = numba_types.int32(numba_types.voidptr, numba_types.voidptr)
_COMPUTE = "pfd_status (*)(const pfd_compute_args *, pfd_error *)"


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(_context: Any, _address: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return numba_types.voidptr(numba_types.int64), generate


def compiled(
    function: Any, inputs: Mapping[str, Any] | None, outputs: Mapping[str, Any], per: str
) -> tuple[Described | None, CData | None]:
    """The op of a numba function, and its compute(); (None, None) if numba did not make the
    function.

    Raises:
        InvalidArgumentError: Its signature cannot be called.
    """
    if isinstance(function, CFunc):
        return _of_cfunc(function, inputs, outputs)
    if isinstance(function, Dispatcher):
        return _of_dispatcher(function, inputs, outputs, per)
    return None, None


class Compiled(Described):
    """A function that works on C's memory, with rows of one shape."""

    takes_ragged = False

    def infer(self, inputs: Sequence[RowType | None], attrs: Mapping[str, Any]) -> list[RowType]:
        """The types of the outputs, with the sizes of the inputs."""
        types = super().infer(inputs, attrs)
        for name, declared in zip(self.outputs, types, strict=True):
            if declared.is_ragged:
                raise UnsupportedError(
                    f"the output '{name}' has rows of {declared}; those of a numba function have "
                    "one shape"
                )
        return types


def _of_cfunc(
    function: Any, inputs: Mapping[str, Any] | None, outputs: Mapping[str, Any]
) -> tuple[Described, CData]:
    signature = function._sig
    if signature != _SIGNATURE or not inputs:
        raise InvalidArgumentError(
            f"the CFunc has the signature {signature}; it must be int32(voidptr, voidptr), the "
            "compute() of pyflowdata/op.h, and inputs must name its inputs; an njit function needs "
            "neither"
        )
    described = Compiled(function, list(inputs), (), (), inputs, outputs)
    return described, ffi.cast(_COMPUTE, function.address)


def _of_dispatcher(
    function: Any, inputs: Mapping[str, Any] | None, outputs: Mapping[str, Any], per: str
) -> tuple[Described, CData]:
    if function.targetoptions.get("parallel"):
        raise InvalidArgumentError(
            "the numba function has parallel=True; threads of the loader run it side by side "
            "already, and numba's own must not be started by several at once: leave it out"
        )
    python = function.py_func
    parameters = list(parameters_of(python).values())
    plain = [one.name for one in parameters if one.default is one.empty]
    attrs = python_attrs(python, [one for one in parameters if one.default is not one.empty])
    names = plain[: len(plain) - len(outputs)]
    if plain[len(names) :] != list(outputs) or not names:
        raise InvalidArgumentError(
            f"the parameters of the numba function are {', '.join(plain) or 'none'}; they must be "
            f"its inputs and then the arrays to write into, {', '.join(outputs)}; attrs have "
            "defaults"
        )
    if set(inputs or ()) != set(names):
        raise InvalidArgumentError(
            f"inputs names {', '.join(inputs or ()) or 'nothing'}; for a numba function it must "
            f"tell dtype and shape of a row of {', '.join(names)}, with None for any size"
        )
    for attr in attrs:
        if attr.kind not in _SCALARS:
            raise InvalidArgumentError(
                f"the attr '{attr.name}' is of {attr.kind}; those of a numba function are bool, "
                "int or float"
            )
    described = Compiled(function, names, attrs, (), inputs, outputs)
    compute = _compile(function, described, _output_types(described, attrs), per)
    _machine_code.append(compute)
    return described, ffi.cast(_COMPUTE, compute.address)


def _output_types(described: Described, attrs: Sequence[PythonAttr]) -> list[RowType]:
    """The dtype and number of dimensions of outputs; sizes may depend on the inputs."""
    defaults = {attr.name: attr.default for attr in attrs}
    given = [described.types[name] for name in described.inputs]
    try:
        return Described.infer(described, given, defaults)
    except (TypeError, ValueError) as failure:
        raise InvalidArgumentError(
            "the types of the outputs cannot be told from the declared inputs, which a numba "
            f"function needs: {failure}"
        ) from failure


# ---- The kernel ---------------------------------------------------------------------------------


def _words(struct: str, *fields: str) -> int:
    """The offset of a field in a struct, in words of 8 bytes."""
    offset = ffi.offsetof(struct, *fields)
    assert offset % 8 == 0
    return int(offset) // 8


def _array(target: str, port: str, index: int, declared: RowType) -> list[str]:
    """Source lines that make an array of a tensor's memory."""
    shape = [f"t[{_words('pfd_tensor', 'type', 'shape') + axis}]" for axis in
             range(len(declared.shape))]  # fmt: skip
    size = ffi.sizeof("pfd_tensor") // 8
    return [
        f"p = carray(pointer(a[{_words('pfd_compute_args', port)}]), {index + 1}, np.int64)",
        f"t = carray(pointer(p[{index}]), {size}, np.int64)",
        f"{target} = carray(pointer(t[{_words('pfd_tensor', 'data')}]), "
        f"({', '.join(['n', *shape])},), np.{declared.dtype.name})",
    ]


def _source(described: Described, outputs: Sequence[RowType], per: str, says: bool) -> str:
    lines = [
        "def compute(args, err):",
        f"    a = carray(args, {ffi.sizeof('pfd_compute_args') // 8}, np.int64)",
        f"    n = a[{_words('pfd_compute_args', 'num_rows')}]",
    ]
    body: list[str] = []
    for index, name in enumerate(described.inputs):
        body += _array(f"x{index}", "inputs", index, described.types[name])
    for index, declared in enumerate(outputs):
        body += _array(f"y{index}", "outputs", index, declared)
    for index, attr in enumerate(described.attrs):
        dtype, test = _SCALARS[attr.kind]
        address = f"a[{_words('pfd_compute_args', 'attrs')}] + {attr.offset}"
        body.append(f"s{index} = carray(pointer({address}), 1, {dtype})[0] {test}")
    attrs = [f"s{index}" for index in range(len(described.attrs))]
    xs = [f"x{index}" for index in range(len(described.inputs))]
    ys = [f"y{index}" for index in range(len(outputs))]
    if per != "row":
        call = f"function({', '.join([*xs, *ys, *attrs])})"
        body += ["row = -1", "try:", f"    said = {call}" if says else f"    {call}"]
        body += ["except Exception:", "    return fail(err, -1, raised)"]
        body += ["if said >= 0:", "    return damage(err, said, damaged)"] if says else []
    else:
        rows = [f"{x}[row]" for x in xs]
        rows += [
            f"{y}[row]" if declared.shape else f"{y}[row : row + 1]"
            for y, declared in zip(ys, outputs, strict=True)
        ]
        call = f"function({', '.join([*rows, *attrs])})"
        body += ["for row in range(n):", "    try:"]
        body += [f"        said = {call}" if says else f"        {call}"]
        body += ["    except Exception:", "        return fail(err, row, raised)"]
        body += ["    if said:", "        return damage(err, row, damaged)"] if says else []
    body.append("return 0")
    return "\n".join([*lines, *(f"    {line}" for line in body)])


def _failing(status: int) -> Any:
    """A function that fills in a pfd_error, which the host has cleared."""
    row_at, message_at = _words("pfd_error", "row"), ffi.offsetof("pfd_error", "message")
    status_at, size = ffi.offsetof("pfd_error", "status") // 4, ffi.sizeof("pfd_error")

    @numba.njit  # type: ignore[untyped-decorator]
    def fail(err: Any, row: Any, message: Any) -> Any:
        numba.carray(err, row_at + 1, np.int64)[row_at] = row
        numba.carray(err, status_at + 1, np.int32)[status_at] = status
        to = numba.carray(err, size, np.uint8)
        for i in range(message.size):
            to[message_at + i] = message[i]
        return status

    return fail


def _text(template: str, name: str) -> Any:
    return np.frombuffer(template.replace("{}", name).encode()[:1000] + b"\0", np.uint8)


def _says(function: Any, described: Described, outputs: Sequence[RowType], per: str) -> bool:
    """Compiles the function; returns whether the function returns a number."""
    extra = 1 if per != "row" else 0

    def argument(declared: RowType, *, is_output: bool) -> Any:
        ndim = len(declared.shape) + extra
        if is_output:  # an array to write into, also where a row is a number
            ndim = max(ndim, 1)
        scalar = numba.from_dtype(declared.dtype)
        return numba_types.Array(scalar, ndim, "C") if ndim else scalar

    arguments = [argument(described.types[name], is_output=False) for name in described.inputs]
    arguments += [argument(declared, is_output=True) for declared in outputs]
    scalars = {bool: numba_types.boolean, int: numba_types.int64, float: numba_types.float64}
    arguments += [scalars[attr.kind] for attr in described.attrs]
    function.compile(tuple(arguments))
    returned = function.overloads[tuple(arguments)].signature.return_type
    if returned == numba_types.none:
        return False
    if isinstance(returned, (numba_types.Integer, numba_types.Boolean)):
        return True
    raise InvalidArgumentError(
        f"the numba function returns {returned}; it must write into its last parameters, and may "
        "return an integer: with per='batch' the row that is damaged or -1, with per='row' whether "
        "the row is"
    )


def _compile(function: Any, described: Described, outputs: Sequence[RowType], per: str) -> Any:
    name = name_of(function)
    try:
        says = _says(function, described, outputs, per)
        space: dict[str, Any] = {
            "np": np,
            "carray": numba.carray,
            "pointer": _pointer,
            "function": function,
            "fail": _failing(lib.PFD_USER_FUNCTION),
            "damage": _failing(lib.PFD_CORRUPT_DATA),
            "raised": _text(_RAISED, name),
            "damaged": _text(_DAMAGED, name),
        }
        exec(_source(described, outputs, per, says), space)  # noqa: S102  (made above)
        return numba.cfunc(_SIGNATURE)(space["compute"])
    except NumbaError as failure:
        raise InvalidArgumentError(
            f"numba cannot compile {name}() for rows of "
            + ", ".join(str(declared) for declared in described.types.values())
            + f": {failure}"
        ) from failure
