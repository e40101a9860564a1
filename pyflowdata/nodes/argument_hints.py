"""What is said of an argument that belongs elsewhere, as those of other libraries' loaders do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from ..errors import WrongUseError, shown
from ..hints.arguments import ARGUMENTS, ATTRS, OF_READERS, SOURCE_THREADS
from ..hints.similar import did_you_mean
from .op_facts import Op
from .registry import find_op

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def _is_of_readers(name: str) -> bool:
    return find_op("BatchDataset").attr(name) is not None


def refuse_arguments(given: Iterable[str], function: str, own: Iterable[str]) -> None:
    """Refuses the arguments that a loader was given and does not have.

    Args:
        given: The unknown ones; if there are none, this returns.
        function: What was called.
        own: The arguments that it has by name.

    Raises:
        WrongUseError: Says where each belongs, or which one is meant; its attr is the first.
    """
    said = {name: _said_of(name, own) for name in given}
    if said:
        first, *others = said
        more = "".join(f"; nor '{name}'{said[name]}" for name in others)
        raise WrongUseError(
            f"{function}() has no argument '{first}'{said[first]}{more}", attr=first
        )


def _said_of(name: str, own: Iterable[str]) -> str:
    if name in OF_READERS:
        return f": {OF_READERS[name]}"
    if name in ARGUMENTS:
        return f": {ARGUMENTS[name]}"
    near = did_you_mean(name, own, 0.8)
    if near:
        return near
    if _is_of_readers(name):
        return ": give it to the reader, or to .batch(n) of a data set"
    return f"; it has {', '.join(own)}"


def takes_own_arguments(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Makes a function that loaders are given to answer unknown arguments as loaders do."""
    names = function.__code__.co_varnames[: _num_arguments(function)]

    @functools.wraps(function)
    def called(*args: P.args, **given: P.kwargs) -> ResultT:
        refuse_arguments((one for one in given if one not in names), function.__name__, names)
        return function(*args, **given)

    return called


def _num_arguments(function: Callable[..., Any]) -> int:
    code = function.__code__
    return int(code.co_argcount + code.co_kwonlyargcount)


def takes_names_only(hint: str) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
    """Makes a method without positional arguments answer those with a hint."""

    def changed(method: Callable[P, ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(method)
        def called(*args: P.args, **given: P.kwargs) -> ResultT:
            if len(args) > 1:
                raise WrongUseError(f"{method.__name__}({shown(args[1])}): {hint}")
            return method(*args, **given)

        return called

    return changed


def says_how(hint: str) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
    """Makes a function answer a call that does not fit its arguments with how it is called."""

    def changed(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(function)
        def called(*args: P.args, **given: P.kwargs) -> ResultT:
            try:
                return function(*args, **given)
            except TypeError:
                said = _misfit(function, args, given)
                if not said:
                    raise
                raise WrongUseError(f"{function.__name__}(): {said}: {hint}") from None

        return called

    return changed


def _misfit(function: Callable[..., Any], args: Any, given: Any) -> str:
    """How a call does not fit the arguments of the function; "": it fits."""
    try:
        inspect.signature(function).bind(*args, **given)
    except TypeError as failure:
        return str(failure)
    return ""


def refuse_other_argument(op: Op, name: str) -> None:
    """Refuses an attr that an op does not have, where it is known what is meant by it.

    Raises:
        WrongUseError: Says where it belongs.
    """
    meant = None if op.is_reader and name == "dataset" else ARGUMENTS.get(name)
    if meant is None and not op.is_reader and _is_of_readers(name):
        meant = f"the reader has it, before {op.name} in the graph"
    word = ATTRS.get(name, "")
    if op.attr(word) is not None or (word == "fields" and op.attr("columns") is not None):
        meant = f"it is {word}= of flow.open here" if word == "fields" else f"it is {word}= here"
    if name in ("num_workers", "num_parallel_workers") and op.attr("thread_safe") is not None:
        meant = SOURCE_THREADS
    if meant is not None:
        raise WrongUseError(f"unknown attr '{name}': {meant}", op=op.name, attr=name)
