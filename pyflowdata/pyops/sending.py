"""Functions on their way to worker processes, which import them by module and name."""

from __future__ import annotations

import importlib
import os
import pickle
import runpy
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import InvalidArgumentError

_MAIN = "__main__"
_MAIN_THERE = "__mp_main__"  # its name in processes of multiprocessing, too


class Sent(NamedTuple):
    """A function, and what a new process needs before it can have it.

    Attributes:
        path, argv: `sys.path` and `sys.argv`.
        main: How the main module is imported: ("name", its name), ("path", its file), or
            ("", "") where it is not needed.
        function: Pickled.
    """

    path: list[str]
    argv: list[str]
    main: tuple[str, str]
    function: bytes


class _Registered:
    """A function whose name in its module is that of the op that was made of it."""

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
    """The function; by its place, where `register_decoder` was its decorator."""
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
    """What a process needs to have the function.

    Raises:
        InvalidArgumentError: It cannot be pickled; the text says what to do.
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


def receive(sent: Sent) -> Callable[..., Any]:
    """The function, in the other process, which gets path, argv and main module first."""
    sys.path[:], sys.argv[:] = sent.path, sent.argv
    kind, where = sent.main
    if kind:
        _import_main(kind, where)
    function: Callable[..., Any] = pickle.loads(sent.function)
    return function


def _import_main(kind: str, where: str) -> None:
    """Runs the main module under a name by which it knows that it is not the program."""
    run = runpy.run_module if kind == "name" else runpy.run_path
    name = where.removesuffix(".__main__") if kind == "name" else where
    module = types.ModuleType(_MAIN_THERE)
    module.__dict__.update(run(name, run_name=_MAIN_THERE))
    sys.modules[_MAIN] = sys.modules[_MAIN_THERE] = module
