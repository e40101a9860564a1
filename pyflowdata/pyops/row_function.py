"""A user's function of rows, with bytes in place of arrays of bytes; and the op of it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError
from ..nodes import Op, find_op
from ..nodes.node import carried_ops
from ..nodes.row_types import RowType
from .decoders import check_processes
from .op import (
    GIVEN_BY_HOST, PythonOp, describe, given_by_host, name_of, op_name, parameters_of,
)  # fmt: skip
from .str_comparisons import hint_of_texts

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def is_bytes(declared: RowType) -> bool:
    """Whether rows are runs of bytes."""
    return declared.dtype == np.uint8 and declared.shape == (None,)


class RowFunction:
    """Calls a function with rows as `Dataset` shows them: bytes where a field has bytes.

    It can be pickled if the function and its keyword arguments can.

    Attributes:
        known: The names of the data set's fields, for messages.
    """

    known: tuple[str, ...] = ()

    def __init__(
        self,
        function: Callable[..., Any],
        keywords: Mapping[str, Any],
        are_bytes: Sequence[bool],
    ) -> None:
        """Takes the user's function.

        Args:
            keywords: Arguments that are the same for all rows.
            are_bytes: For each input, whether its rows are bytes.

        Raises:
            InvalidArgumentError: The function takes another number of rows.
        """
        self.function = function
        self.keywords = dict(keywords)
        self.are_bytes = tuple(are_bytes)
        self.__name__ = name_of(function)
        self.__qualname__ = str(getattr(function, "__qualname__", self.__name__))
        self.__module__ = str(getattr(function, "__module__", None) or "builtins")
        self.__doc__ = inspect.getdoc(function) if inspect.isroutine(function) else None
        self.__signature__ = self.signature()

    def signature(self) -> inspect.Signature:
        """The inputs, and the arguments that the loader gives."""
        return _signature(self.function, len(self.are_bytes), self.keywords)

    @property
    def form(self) -> tuple[Any, ...]:
        """What else its results depend on, beside the function, arguments and rows."""
        return (self.are_bytes,)

    def call(self, *rows: Any, **given: Any) -> Any:
        """What the user's function returns for rows as `Dataset` shows them."""
        try:
            return self.function(*rows, **self.keywords, **given)
        except BaseException as failure:
            names = [*self.__signature__.parameters][: len(self.are_bytes)]
            texts = {name for name, is_text in zip(names, self.are_bytes, strict=True) if is_text}
            note_hint(failure, hint_of_texts(failure, self.function, texts, names))
            raise

    @property
    def mapped(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The user's function and its arguments, of which a digest is made."""
        return self.function, self.keywords

    def __call__(self, *rows: Any, **given: Any) -> Any:
        """The results of the function for a row; bytes and texts become arrays of bytes."""
        inputs = [
            row.tobytes() if is_one else row
            for row, is_one in zip(rows, self.are_bytes, strict=True)
        ]
        found = self.call(*inputs, **given)
        if isinstance(found, Mapping):
            return {name: as_bytes(value) for name, value in found.items()}
        if isinstance(found, tuple):
            return tuple(map(as_bytes, found))
        return as_bytes(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowFunction, (self.function, self.keywords, self.are_bytes)


def note_hint(failure: BaseException, hint: str) -> None:
    """Adds a clause to the message about an exception of a user's function."""
    BaseException.__setattr__(failure, "pyflowdata_hint", hint)


def as_bytes(value: Any) -> Any:
    """Bytes and texts as arrays of bytes; anything else as it is."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8)
    return value


def _signature(
    function: Callable[..., Any], count: int, keywords: Mapping[str, Any]
) -> inspect.Signature:
    """A signature with this number of inputs, and the arguments that the loader gives."""
    try:
        parameters = list(parameters_of(function).values())
    except (TypeError, ValueError):  # some functions in C
        parameters = [inspect.Parameter("rows", inspect.Parameter.VAR_POSITIONAL)]
    inputs = [one for one in parameters if one.kind in _POSITIONAL and one.name not in keywords]
    takes_any = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    required = [one.name for one in inputs if one.default is one.empty]
    if len(required) > count or (len(inputs) < count and not takes_any):
        own = ", ".join(one.name for one in inputs) or "no rows"
        raise InvalidArgumentError(
            f"{name_of(function)}() takes {own}, and {count} "
            f"{'field is' if count == 1 else 'fields are'} given"
        )
    check_keywords(function, parameters, keywords)
    names = [one.name for one in inputs][:count]
    names += [f"row{i}" for i in range(len(names), count)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = [inspect.Parameter(name, kind) for name in names]
    made += by_keyword(given_by_host(parameters, keywords))
    return inspect.Signature(made)


def by_keyword(names: Iterable[str]) -> list[inspect.Parameter]:
    """Parameters that are given by their names."""
    return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]


# Arguments of map() in other libraries -> what to do here.
_WORDS_HERE = {
    "batch_size": "batched=n has the most records of a call",
    "deterministic": "leave it out, as there is one order, always",
    "fn_kwargs": "give them as arguments, map(f, scale=2.0)",
    "input_columns": "name the fields after the function, map(f, 'x')",
    "num_parallel_calls": "a loader has num_threads=, and map has processes=n",
    "num_proc": "write processes=n",
    "num_workers": "write processes=n",
    "remove_columns": "call drop(names) after map()",
    "with_indices": "write with_index=True",
}


def refuse_words(parameters: Sequence[inspect.Parameter], keywords: Mapping[str, Any]) -> None:
    """Refuses arguments of other libraries that the function does not have either."""
    names = {one.name for one in parameters}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    for name in () if takes_any else keywords:
        if name in _WORDS_HERE and name not in names:
            raise InvalidArgumentError(f"there is no argument '{name}' here: {_WORDS_HERE[name]}")


def check_keywords(
    function: Callable[..., Any],
    parameters: Sequence[inspect.Parameter],
    keywords: Mapping[str, Any],
) -> None:
    """Refuses arguments that the function does not have, and one that is missing."""
    refuse_words(parameters, keywords)
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    own = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    names = [one.name for one in own]
    for name in keywords:
        if name not in names and not takes_any:
            raise InvalidArgumentError(
                f"{name_of(function)}() has no parameter '{name}'; it has {', '.join(names)}"
            )
    for one in own:
        is_needed = one.kind is one.KEYWORD_ONLY and one.default is one.empty
        if is_needed and one.name not in (*keywords, *GIVEN_BY_HOST):
            raise InvalidArgumentError(
                f"{name_of(function)}() needs the argument '{one.name}': give it by name"
            )


# ---- Ops of such functions ----------------------------------------------------------------------
# Mapping a data set makes them, under names that programs do not use.

_lock = threading.RLock()  # for _names and _made
_names: set[str] = set()
_made: dict[Any, str] = {}  # arguments of mapped_op() -> name of the op


class _Carried:
    """Pickled in place of the name of an op; unpickling makes the op, and gives its name."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __reduce__(self) -> tuple[Any, ...]:
        return _name_of, self._given


def _name_of(
    function: RowFunction, outputs: Mapping[str, RowType], per: str, processes: int
) -> str:
    return mapped_op(function, outputs, per=per, processes=processes).name


def mapped_op(
    function: RowFunction, outputs: Mapping[str, RowType], *, per: str, processes: int
) -> Op:
    """The op of a function; the same op for the same function, arguments and outputs.

    Raises:
        InvalidArgumentError: The function cannot be an op; the message says why.
    """
    check_processes(processes)
    with _lock:
        try:
            typed = [(key, type(value), value) for key, value in function.keywords.items()]
            key: Any = (type(function.function), function.function, frozenset(typed),
                        function.form, function.known, tuple(outputs.items()), per,
                        processes)  # fmt: skip
            name = _made.get(key)
        except TypeError:  # an argument that has no hash
            key, name = None, None
        if name is None:
            name = _free_name(f"Map{op_name(function)}")
            described = describe(function, None, outputs)
            op = PythonOp(name, described, per, None, processes, takes_any_names=True)
            op.add(replace=False)
            _names.add(name)
            carried_ops[name] = _Carried(function, dict(outputs), per, processes)
            if key is not None:
                _made[key] = name
    return find_op(name)


def _free_name(wanted: str) -> str:
    """The name, with a number if another op has it; random keys are made without the number."""
    name, number = wanted, 1
    while name in _names or _is_known(name):
        number += 1
        name = f"{wanted}#{number}"
    return name


def _is_known(name: str) -> bool:
    try:
        find_op(name)
    except InvalidArgumentError:
        return False
    return True
