"""Calls of a function in a worker process: how the function is sent, rows in shared memory,
messages, and the worker.

The program lays out the inputs and the dense outputs.  The worker adds the ragged outputs, whose
size only the worker knows, and enlarges the memory where they need it.
"""

from __future__ import annotations

import ast
import importlib
import math
import os
import pickle
import runpy
import sys
import time
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError
from ..native import CData
from ..nodes.python_ops import importing
from ..nodes.row_types import RowType
from ..workers.inside import Send
from ..workers.remote_errors import RemoteError, of_user, remote_error
from ..workers.shared_memory import SharedMemory, aligned
from .callbacks import place_of, text_of
from .tensors import (
    Call,
    Generators,
    RaggedRows,
    Rows,
    Runner,
    copy_ragged_values,
    flat_rows,
    output_view,
    place_ragged,
    ragged_shapes,
    ragged_of,
)

Array = npt.NDArray[Any]

_MAIN = "__main__"
_MAIN_THERE = "__mp_main__"  # its name in processes of multiprocessing, too
_START = 64  # bytes before the rows, for the number of the worker's current row


# ---- Sending the function -----------------------------------------------------------------------


class Sent(NamedTuple):
    """A function, with the settings that a new process needs to import it.

    Attributes:
        path, argv: `sys.path` and `sys.argv`.
        main: How to import the main module: ("name", its name), ("path", its file), or ("", "") if
            it is not needed.
        function: The pickled function.
    """

    path: list[str]
    argv: list[str]
    main: tuple[str, str]
    function: bytes


class _Registered:
    """A function whose name in its module is that of the op made of it."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def __reduce__(self) -> tuple[Any, ...]:
        return _function_of, self._place


def _named(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _function_of(module: str, name: str) -> Any:
    return _named(module, name).function


def _as_registered(function: Callable[..., Any]) -> Any:
    """The function; if `register_decoder` was its decorator, the place of the op."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    try:
        is_so = _named(module, name).function is function
    except Exception:  # noqa: BLE001  (no such module or name)
        return function
    return _Registered(module, name) if is_so else function


def _main_module() -> tuple[str, str]:
    """How another process can import the main module; ("", "") if it cannot."""
    main: Any = sys.modules.get(_MAIN)
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name:
        return "name", name
    file = getattr(main, "__file__", None)
    if file and os.path.isfile(file):
        return "path", os.path.abspath(file)
    return "", ""


def send(function: Callable[..., Any], said: str) -> Sent:
    """The function in the form that processes receive.

    Raises:
        InvalidArgumentError: It cannot be pickled; the message gives the remedy.
    """
    main = _main_module()
    try:
        content = pickle.dumps(_as_registered(function))
        if _MAIN.encode() in content and main == ("", ""):
            raise pickle.PicklingError("its module is __main__, and is not of a file")
    except Exception as failure:  # noqa: BLE001  (what __reduce__ of a user's class raises)
        return Sent(sys.path, sys.argv, ("", ""), _by_value(function, said, failure))
    return Sent(sys.path, sys.argv, main if _MAIN.encode() in content else ("", ""), content)


def _by_value(function: Callable[..., Any], said: str, failure: Exception) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise InvalidArgumentError(
            f"{said}() cannot be sent to processes ({failure}): they import a function by its "
            "module and name. Define it at the top of a module, and give what it encloses as "
            "attrs; or install cloudpickle, which sends a function as it is"
        ) from failure
    try:
        content: bytes = cloudpickle.dumps(function)
    except Exception as other:  # noqa: BLE001
        raise InvalidArgumentError(
            f"{said}() cannot be sent to processes: {other}; what it refers to must be picklable"
        ) from other
    return content


_DEFINITIONS = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass,
)  # fmt: skip
_IF_PROGRAM = ("__name__ == '__main__'", "'__main__' == __name__")


def first_line_again(sent: Sent) -> str:
    """The first statement of the main module that would do something where a process imports it, as
    "train.py:12"; "": all are definitions, constants or guarded, or no process imports it."""
    if sent.main == ("", ""):
        return ""
    file = sys.modules[_MAIN].__file__ or ""
    name = os.path.basename(file)
    try:
        with open(file, "rb") as content:
            statements = ast.parse(content.read()).body
    except (OSError, SyntaxError, ValueError):  # it may be a compiled file
        return f"{name}:1"
    return next((f"{name}:{one.lineno}" for one in statements if _does_something(one)), "")


def _does_something(statement: ast.stmt) -> bool:
    """Whether a statement may do more than give names to functions, classes and constants."""
    if isinstance(statement, _DEFINITIONS):
        return False
    if isinstance(statement, ast.If):
        is_guard = ast.unparse(statement.test) in _IF_PROGRAM
        inner = statement.orelse if is_guard else [*statement.body, *statement.orelse]
        return _computes(statement.test) or any(map(_does_something, inner))
    if isinstance(statement, ast.Try):
        handled = [one for handler in statement.handlers for one in handler.body]
        inner = [*statement.body, *handled, *statement.orelse, *statement.finalbody]
        return any(map(_does_something, inner))
    is_constant = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr))
    return not is_constant or _computes(statement)


def _computes(node: ast.AST) -> bool:
    """Whether a call or a loop is in it."""
    return any(isinstance(one, (ast.Call, ast.comprehension)) for one in ast.walk(node))


def _receive(sent: Sent) -> Callable[..., Any]:
    """The function, in the other process, after path, argv and main module are set."""
    sys.path[:], sys.argv[:] = sent.path, sent.argv
    kind, where = sent.main
    with importing():
        if kind:
            _import_main(kind, where)
        function: Callable[..., Any] = pickle.loads(sent.function)
    return function


def _import_main(kind: str, where: str) -> None:
    """Runs the main module under a name that tells it that it is not the program."""
    run = runpy.run_module if kind == "name" else runpy.run_path
    name = where.removesuffix(".__main__") if kind == "name" else where
    module = types.ModuleType(_MAIN_THERE)
    module.__dict__.update(run(name, run_name=_MAIN_THERE))
    sys.modules[_MAIN] = sys.modules[_MAIN_THERE] = module


# ---- Messages -----------------------------------------------------------------------------------


class RowsPlace(NamedTuple):
    """Where the rows of a blob are.

    Attributes:
        data: The offset of the first value; rows are back to back.
        shapes: The offset of the shapes of a ragged blob, int64 (rows, dimensions).
    """

    data: int
    shapes: int = -1


class Task(NamedTuple):
    """Rows for the function.

    Attributes:
        memory_size: The bytes of the shared memory.
        end: The first free offset in it.
        inputs, outputs: The places of the inputs and of the dense outputs.
        ids, keys: The places of the records' ids and of the keys of their random numbers; None: the
            function does not take them.
        keywords: The attrs.
    """

    memory_size: int
    end: int
    num_rows: int
    inputs: Sequence[RowsPlace]
    input_types: Sequence[RowType]
    outputs: Sequence[RowsPlace]
    output_types: Sequence[RowType]
    ids: RowsPlace | None
    keys: RowsPlace | None
    keywords: dict[str, Any]


class Done(NamedTuple):
    """The outputs are in the memory.

    Attributes:
        memory_size: The bytes of the shared memory, which may have grown.
        outputs: The places of the outputs.
        seconds: The time that the call took.
        wait_seconds: The part of it in which the process neither computed nor stood in line for a
            processor.
    """

    memory_size: int
    outputs: Sequence[RowsPlace]
    seconds: float
    wait_seconds: float


class Failed(NamedTuple):
    """The function raised an exception.

    Attributes:
        error: The exception.
        place: File and line of the function's code.
        row: The row of the call, or -1.
        has_started: False: the function could not be imported.
    """

    error: RemoteError
    place: str
    row: int
    has_started: bool


# ---- Rows, in the program -----------------------------------------------------------------------


class Sending:
    """Lays out and writes the inputs for a worker."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self.end = _START

    def _reserve(self, num_bytes: int) -> int:
        offset = self.end
        self.end = aligned(offset + num_bytes)
        return offset

    def numbers(self, array: Array) -> int:
        """Writes an array, and returns its offset."""
        offset = self._reserve(array.nbytes)
        self._memory.grow(self.end)
        self._memory.array(offset, array.shape, array.dtype)[...] = array
        return offset

    def input(self, tensor: CData, declared: RowType, begin: int, num_rows: int) -> RowsPlace:
        """Copies rows of a `pfd_tensor`."""
        if tensor.is_ragged:
            shapes = ragged_shapes(tensor, declared, begin, num_rows)
            total = int(shapes.prod(axis=1).sum()) * declared.dtype.itemsize
            at = self.numbers(shapes)
            offset = self._reserve(total)
            self._memory.grow(self.end)
            target = self._memory.array(offset, (total,), np.dtype(np.uint8))
            copy_ragged_values(tensor, begin, num_rows, declared.dtype.itemsize, target)
            return RowsPlace(offset, at)
        rows = output_view(tensor, declared, begin + num_rows)[begin:]
        return RowsPlace(self.numbers(rows))

    def output(self, declared: RowType, num_rows: int) -> RowsPlace:
        """Reserves memory for a dense output."""
        if declared.is_ragged:
            return RowsPlace(-1)
        row_bytes = math.prod(declared.fixed_sizes) * declared.dtype.itemsize
        offset = self._reserve(num_rows * row_bytes)
        self._memory.grow(self.end)
        return RowsPlace(offset)


def take_output(
    memory: SharedMemory, place: RowsPlace, declared: RowType, args: CData, tensor: CData,
    begin: int, num_rows: int,
) -> None:  # fmt: skip
    """Copies rows that a worker wrote into a `pfd_tensor`."""
    if not declared.is_ragged:
        view = output_view(tensor, declared, begin + num_rows)
        shape = (num_rows, *declared.fixed_sizes)
        view[begin:] = memory.array(place.data, shape, declared.dtype)
        return
    shapes = memory.array(place.shapes, (num_rows, len(declared.shape)), np.dtype(np.int64))
    total = int(shapes.prod(axis=1).sum())
    values = memory.array(place.data, (total,), declared.dtype)
    place_ragged(args, tensor, begin, values, shapes)


# ---- Rows, in the worker ------------------------------------------------------------------------


def _read_input(
    memory: SharedMemory, place: RowsPlace, declared: RowType, num_rows: int, *, is_column: bool
) -> Rows:
    if not declared.is_ragged:
        shape = (num_rows, *declared.fixed_sizes)
        copy: Array = memory.array(place.data, shape, declared.dtype).copy()
        return copy
    ndim = len(declared.shape)
    shapes = memory.array(place.shapes, (num_rows, ndim), np.dtype(np.int64))
    ends = np.cumsum(shapes.prod(axis=1))
    total = int(ends[-1]) if num_rows else 0
    values = memory.array(place.data, (total,), declared.dtype)
    if is_column:
        return ragged_of(values.copy(), shapes.copy(), declared)
    return [
        values[begin:end].reshape(shape).copy()
        for begin, end, shape in zip([0, *ends[:-1].tolist()], ends.tolist(), shapes.tolist(),
                                     strict=True)
    ]  # fmt: skip


def _output_array(
    memory: SharedMemory, place: RowsPlace, declared: RowType, num_rows: int
) -> Array | None:
    """The memory of a dense output; None for a ragged output."""
    if declared.is_ragged:
        return None
    return memory.array(place.data, (num_rows, *declared.fixed_sizes), declared.dtype)


def _write_ragged_output(
    memory: SharedMemory, end: int, rows: RaggedRows, declared: RowType
) -> tuple[RowsPlace, int]:
    """Writes rows at the first free offset; returns their place, and the next free offset."""
    values, shapes = flat_rows(rows, declared)
    at = aligned(end + shapes.nbytes)
    after = aligned(at + values.nbytes)
    memory.grow(after)
    memory.array(end, shapes.shape, shapes.dtype)[...] = shapes
    memory.array(at, values.shape, values.dtype)[...] = values
    return RowsPlace(at, end), after


# ---- The worker ---------------------------------------------------------------------------------

def _busy_seconds() -> float:
    """What this process has computed, and what this thread has stood in line for a processor, where
    the kernel says so."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            in_line = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        in_line = 0
    return time.process_time() + in_line / 1e9


_IDS = RowType(np.dtype(np.int64), (2,))
_KEYS = RowType(np.dtype(np.uint64), (2,))


class _Worker:
    def __init__(self, content: bytes, memory: SharedMemory) -> None:
        """Imports the function; a failure is the answer to the first task."""
        self._memory = memory
        self._runner: Runner | None = None
        self._failure: BaseException | None = None
        self._generators = Generators()
        sent, how = pickle.loads(content)
        try:
            self._runner = Runner(_receive(sent), **how)
        except BaseException as failure:  # noqa: BLE001  (what the user's module raises)
            self._failure = failure

    def answer(self, content: bytes) -> bytes:
        """Pickled Done or Failed for a pickled Task; b"" for b"", which asks whether it began."""
        if not content:
            return b""
        try:
            if self._runner is None:
                assert self._failure is not None
                return _pickled(self._failure, has_started=False)
            return pickle.dumps(self._run(self._runner, pickle.loads(content)))
        except BaseException as failure:  # noqa: BLE001  (what the user's function raises)
            return _pickled(failure, has_started=True)

    def _run(self, runner: Runner, task: Task) -> Done:
        memory, n = self._memory, task.num_rows
        started, busy = time.perf_counter(), _busy_seconds()
        memory.follow(task.memory_size)

        def taken(place: RowsPlace, declared: RowType) -> Rows:
            return _read_input(memory, place, declared, n, is_column=runner.takes_columns)

        inputs = list(map(taken, task.inputs, task.input_types))
        ids, keys = (
            None if place is None else np.asarray(taken(place, declared))
            for place, declared in ((task.ids, _IDS), (task.keys, _KEYS))
        )
        outputs = [
            _output_array(memory, place, declared, n)
            for place, declared in zip(task.outputs, task.output_types, strict=True)
        ]
        at_row = memory.place

        def note(row: int) -> int:
            at_row[0] = row
            return 1

        def generator(row: int) -> Any:
            assert keys is not None
            return self._generators.of(*keys[row])

        own = None if keys is None else generator
        call = Call(inputs, n, task.keywords, ids, own, task.output_types, outputs, note)
        places, end = list(task.outputs), task.end
        for index, rows in enumerate(runner.run(call)):
            declared = task.output_types[index]
            if declared.is_ragged:
                places[index], end = _write_ragged_output(memory, end, rows, declared)
        seconds = time.perf_counter() - started
        waited = max(seconds - (_busy_seconds() - busy), 0.0)
        return Done(memory.size, places, seconds, waited)


def begin(content: bytes, memory: SharedMemory, send: Send) -> Callable[[bytes], None]:
    """A function that answers tasks, for pyflowdata.workers.

    Args:
        content: A pickled Sent, and the other arguments of Runner.
    """
    worker = _Worker(content, memory)
    return lambda task: send(worker.answer(task))


def _pickled(failure: BaseException, *, has_started: bool) -> bytes:
    trace = of_user(failure.__traceback__, __file__)
    row = getattr(failure, "pyflowdata_row", -1)
    error = remote_error(failure, trace, text_of(failure))
    return pickle.dumps(Failed(error, place_of(trace), row, has_started))
