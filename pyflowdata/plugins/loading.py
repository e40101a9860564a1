"""Plugins: shared libraries with ops of their own, loaded by name and never searched for."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .. import ops
from ..errors import Error, InvalidArgumentError, shown
from ..words.remedies import did_you_mean
from ..nodes import Op, find_op
from ..nodes.eager import forget
from ..nodes.op_functions import make_function
from ..native import check, encode, ffi, lib, new_error, text

PLUGINS_VARIABLE = "PYFLOWDATA_PLUGINS"  # paths to load at import, as PATH separates them

_lock = threading.Lock()
_published: dict[str, tuple[Op, Callable[..., Any]]] = {}


class Plugin:
    """The ops of a plugin: each op function is an attribute, and an item of the iteration.

    Attributes:
        path: The absolute path of the loaded library.
        name: The name that the plugin gives itself; empty if it has none.
        version: The version that the author gives; empty if there is none.
        abi: The version of the plugin interface that the plugin needs, major and minor.
    """

    def __init__(
        self,
        path: str,
        name: str,
        version: str,
        abi: tuple[int, int],
        functions: dict[str, Callable[..., Any]],
    ) -> None:
        self.path = path
        self.name = name
        self.version = version
        self.abi = abi
        self._functions = functions

    def __getattr__(self, name: str) -> Callable[..., Any]:
        functions: dict[str, Callable[..., Any]] = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        hint = did_you_mean(name, functions)
        raise AttributeError(
            f"the plugin {self.__dict__.get('path', '')} has no op '{name}'{hint}"
            f"{'' if hint else ';'} its ops: {', '.join(functions)}"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self._functions.values())

    def __len__(self) -> int:
        return len(self._functions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plugin) and self._functions == other._functions

    def __hash__(self) -> int:
        return hash(tuple(self._functions))

    def __reduce__(self) -> tuple[Callable[[str], Plugin], tuple[str]]:
        return load_library, (self.path,)

    def __repr__(self) -> str:
        about = " ".join(part for part in (self.name, self.version) if part)
        return f"<plugin {about or self.path}: {', '.join(self._functions)}>"


def publish(name: str) -> Callable[..., Any]:
    """Makes the function of an op an attribute of `pyflowdata.ops` and of `pyflowdata`."""
    op = find_op(name)
    former, function = _published.get(name, (None, None))
    if function is None or former is not op:
        forget()  # what was prepared for the former one
        function = make_function(op)
        package = sys.modules["pyflowdata"]
        taken = vars(package).get(name)
        is_op = name in ops.__all__ or name not in dir(package)
        if is_op and (taken is None or taken is vars(ops).get(name)):
            setattr(package, name, function)
            exported: list[str] = vars(package)["__all__"]
            if name not in exported:
                exported.append(name)
        else:
            warnings.warn(
                f"pyflowdata.{name} is not the op of the plugin, but what it was before; the op is "
                f"pyflowdata.ops.{name}",
                stacklevel=5,
            )
        setattr(ops, name, function)
        if name not in ops.__all__:
            ops.__all__.append(name)
        _published[name] = op, function
    return function


def load_library(path: str | os.PathLike[str]) -> Plugin:
    """Loads a plugin, a shared library with ops, and adds its ops to the others.

    The ops are then attributes of the returned object, of `pyflowdata` and of `pyflowdata.ops`, and
    `user_op_builder` knows them.  Loading a library again changes nothing and returns the same
    functions.  A plugin is never unloaded, so only the next process sees a recompiled library;
    `pyflowdata.compile()` gives each version its own file.  May be called from any thread.

    Args:
        path: The path of the file; no folders are searched.

    Returns:
        The plugin, with each op function as an attribute.

    Raises:
        FileError: There is no such file, or the system cannot load it: a library or symbol that it
            needs is missing.
        UnsupportedError: The library was made for another version of the plugin interface, or for
            another processor.
        InvalidArgumentError: The library is not a plugin, or an op of that name exists already.
        InternalError: The descriptor of an op is faulty; the text names op and field.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(
            f"path = {shown(path)} ({type(path).__name__}); it must be the path of a shared library"
        )
    file = os.fspath(path)
    if not isinstance(file, str):
        file = os.fsdecode(file)
    return load(file, replace=False)


def load(file: str, *, replace: bool) -> Plugin:
    """As `load_library`; with `replace`, its ops replace ops of the same name in other plugins."""
    out, err = ffi.new("const pfd_plugin **"), new_error()
    check(lib.pfd_library_load(encode(file, "path"), replace, out, err), err)
    plugin = out[0]
    names = [text(plugin.ops[i].name) for i in range(plugin.num_ops)]
    with _lock:
        functions = {name: publish(name) for name in names}
    abi = (plugin.abi_major, plugin.abi_minor)
    return Plugin(os.path.abspath(file), text(plugin.name), text(plugin.version), abi, functions)


def load_plugins_of_environment() -> None:
    """Loads the plugins that PYFLOWDATA_PLUGINS names; empty parts are skipped.

    Raises:
        ImportError: A plugin cannot be loaded; the text names the variable.
    """
    for path in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep):
        if not path:
            continue
        try:
            load_library(path)
        except Error as failure:
            raise ImportError(
                f"the environment variable {PLUGINS_VARIABLE} names a plugin that cannot be "
                f"loaded: {failure}"
            ) from failure
