"""Ops that are Python functions: `register_decoder`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from ..errors import InvalidArgumentError, shown
from ..plugins import loading
from .op import PythonOp, describe, name_of, op_name, origin_of

if TYPE_CHECKING:
    from ..nodes import Blob
    from ..ops import Blobs

_ops: dict[str, PythonOp] = {}  # the latest op of each name
_lock = threading.RLock()  # for _ops
_MOST_PROCESSES = 1024

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class PythonDecoder(Protocol[FunctionT]):
    """The op that `register_decoder` makes from a function.

    Attributes:
        function: The function itself, to be called with arrays.
    """

    __name__: str
    function: FunctionT

    @overload
    def __call__(
        self, blob: Blob, /, *blobs: Blob, name: str | None = None, **attrs: Any
    ) -> Blobs:
        """Adds a node to the graph, like the functions of all ops: it takes and returns blobs.
        Called with rows in place of blobs, it returns the results at once.
        """

    @overload
    def __call__(self, *rows: Any, name: str | None = None, **attrs: Any) -> Any: ...


def _check_outputs(outputs: Any) -> None:
    if not isinstance(outputs, Mapping) or not outputs:
        raise InvalidArgumentError(
            f"outputs = {shown(outputs)}; it must be a dict with each output's name and what a row "
            "of it is, like {'out': ('float32', (3,))}"
        )
    for name in outputs:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"outputs names {shown(name)}; a name is a str")


def check_processes(processes: object) -> None:
    """Refuses a value that cannot be a number of processes."""
    is_int = isinstance(processes, int) and not isinstance(processes, bool)
    if not is_int or not 0 <= processes <= _MOST_PROCESSES:  # type: ignore[operator]
        raise InvalidArgumentError(
            f"processes = {shown(processes)}; it must be an int in [0, {_MOST_PROCESSES}]"
        )


# ---- The public face ----------------------------------------------------------------------------


@overload
def register_decoder(
    function: FunctionT,
    /,
    *,
    outputs: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = ...,
    per: Literal["batch", "rows", "row"] = ...,
    processes: int = ...,
    name: str | None = ...,
    replace: bool = ...,
) -> PythonDecoder[FunctionT]: ...


@overload
def register_decoder(
    *,
    outputs: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = ...,
    per: Literal["batch", "rows", "row"] = ...,
    processes: int = ...,
    name: str | None = ...,
    replace: bool = ...,
) -> Callable[[FunctionT], PythonDecoder[FunctionT]]: ...


def register_decoder(
    function: Callable[..., Any] | None = None,
    /,
    *,
    outputs: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    per: Literal["batch", "rows", "row"] = "batch",
    processes: int = 0,
    name: str | None = None,
    replace: bool = False,
) -> Any:
    """Makes a function of NumPy arrays an op of the graph; also as a decorator.

        @flow.register_decoder(outputs={"out": ("float32", (3,))})
        def normalise(x, *, scale: float = 1.0):
            return (x - x.mean(axis=0)) * np.float32(scale)

        y = normalise(x, scale=2.0)  # a Blob

    The parameters are the inputs, in order; the keyword-only ones are attrs, whose types are those
    of their defaults or annotations: bool, int, float, str, np.dtype, Literal, or a list or tuple
    of int, float or str.  A last parameter whose default is None is an input that may be left out.
    An output `x` is there only if the function has no bool attr `with_x`, or this is True; the
    function returns None in its place.

    The loader gives two keyword-only names: `rng`, a NumPy Generator keyed by seed, epoch, op and
    record (per="batch": the first record), valid during the call; and `ids`, int64 with the file
    and the ordinal of each row's record, of shape (rows, 2) or (2,).

    The function is called with arrays of its own, in threads of the loader, one call at a time
    under the GIL; the arrays that it returns are copied.  With per="batch" the first dimension of
    arrays is the rows of the batch that this rank has, and a ragged blob is a `Ragged`.  With
    per="rows" it is some of these rows, so that several threads call the function for one batch,
    and records before batches have it as well; which rows come together must not matter.  With
    per="row" an array is one row.  The op lives as long as the process.

    Args:
        function: The function to call. If numba has compiled it (`njit`), it runs without the GIL:
            its parameters are the inputs and then the outputs, arrays to be written into, then
            attrs, which have defaults and are bool, int or float; `inputs` must be given. A numba
            CFunc of `int32(voidptr, voidptr)` is taken as the compute() of op.h itself.
        outputs: Each output's name, and dtype and shape of one row: ("float32", (3,)), or a dtype
            alone for rows that are numbers; None for a dimension that varies from row to row. Or a
            function of the inputs' types that returns this: it is called with a (dtype, shape) for
            each input, and with the attrs that it takes by keyword.
        inputs: Required types of inputs; an input that is not in it may have any type. None is a
            dimension of any size.
        per: The rows of one call: "batch", "rows" (some of a batch) or "row".
        processes: Worker processes that call the function, in place of threads; 0: none. They run
            while a loader uses the op, and import the function by its module and name.
        name: The name of the op; None: the function's own in CamelCase.
        replace: Whether to replace an existing op of this name. The same function, by module and
            name, is replaced without it, for example when a notebook's cell runs again. Existing
            nodes keep the former function.

    Returns:
        The op's function, which is also `pyflowdata.ops.<Name>`; `.function` is the given function.

    Raises:
        InvalidArgumentError: The function or its declaration cannot be an op; the message says why.

    The loader raises the exceptions of the function.  A CorruptDataError (and other errors of this
    package) keeps its class and gets the place of the record, so that on_error="skip" and "pad"
    continue without the row; with per="batch", `row=` names the row.  Any other exception becomes a
    UserFunctionError.  The function's own exception, with its traceback, is the `__cause__`.
    """

    def register(given: Callable[..., Any]) -> PythonDecoder[Any]:
        try:
            return _register(given, outputs, inputs, per, processes, name, replace)
        except InvalidArgumentError as failure:
            failure.op = failure.op or name or name_of(given)
            raise

    return register if function is None else register(function)


def _register(
    function: Callable[..., Any],
    outputs: Mapping[str, Any],
    inputs: Mapping[str, Any] | None,
    per: str,
    processes: int,
    name: str | None,
    replace: bool,
) -> PythonDecoder[Any]:
    if not callable(function):
        raise InvalidArgumentError(f"{shown(function)} was given; it must be a function")
    if per not in ("batch", "rows", "row"):
        raise InvalidArgumentError(f"per = {shown(per)}; it must be 'batch', 'rows' or 'row'")
    if not isinstance(inputs, (Mapping, type(None))):
        raise InvalidArgumentError(f"inputs = {shown(inputs)}; it must be a dict or None")
    _check_outputs(outputs)
    check_processes(processes)
    described, compute = None, None
    if type(function).__module__.partition(".")[0] == "numba":
        from .numba_ops import compiled

        described, compute = compiled(function, inputs, outputs, per)
        if described is not None and processes:
            raise InvalidArgumentError(
                f"processes = {processes}; a numba function runs without the GIL on all threads of "
                "the loader: leave it out"
            )
    if described is None:
        described = describe(function, inputs, outputs)
    if per == "rows" and "rng" in described.from_host:
        raise InvalidArgumentError(
            "the function takes rng, whose numbers would depend on which rows come together: say "
            "per='row'"
        )
    if not name and name_of(function) == "<lambda>":
        raise InvalidArgumentError("a lambda has no name that an op can have; give one by name=")
    op = PythonOp(name or op_name(function), described, per, compute, processes)
    with _lock:
        former = _ops.get(op.name)
        again = former is not None and origin_of(former.described) == origin_of(described)
        op.add(replace=replace or again)
        _ops[op.name] = op
        node = loading.publish(op.name)

    def decoder(*inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        if _ops.get(op.name) is not op:
            raise InvalidArgumentError(
                "this function was registered again since; use the newer one", op=op.name
            )
        return node(*inputs, name=name, **attrs)

    for attribute in ("__doc__", "__signature__"):
        setattr(decoder, attribute, getattr(node, attribute))
    decoder.__name__ = decoder.__qualname__ = name_of(function)
    decoder.__module__ = getattr(function, "__module__", __name__)
    decoder.function = function  # type: ignore[attr-defined]
    decoder.op_name = op.name  # type: ignore[attr-defined]
    return decoder  # type: ignore[return-value]
