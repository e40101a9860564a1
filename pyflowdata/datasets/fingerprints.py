"""Fingerprints: texts that describe all that a value depends on; equal texts mean equal values. A
fingerprint is None if the value depends on something unknown, such as a function of another
language.
"""

from __future__ import annotations

import dis
import functools
import os
import re
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..nodes import Blob, Node
from ..nodes.node import nodes_of
from ..nodes.objects import Object
from ..nodes.tables import Table
from ..native import version
from ..pyops.function_digest import is_library, names_in, sha256
from ..pyops.records import Divided

_LOOKS_UP = {"eval", "exec", "globals", "locals", "vars", "__import__"}  # names out of sight

Seen = dict[int, int]  # id of a function -> its number, in the order of the walk


class _UnknownError(Exception):
    """The value depends on something unknown."""


def of_function(function: Any) -> str | None:
    """The fingerprint of a Python function: its code, its constants, and the functions and values
    that it names."""
    try:
        return _hash(_value(function, {}))
    except (_UnknownError, RecursionError):  # a list may have itself as an element
        return None


def of_blobs(blobs: Mapping[str, Blob]) -> str | None:
    """The fingerprint of the ops that compute blobs, without the records of readers and views."""
    try:
        known = _nodes(nodes_of(blobs.values()))
        return _hash([(name, blob.index, known[blob.node]) for name, blob in blobs.items()],
                     version())  # fmt: skip
    except _UnknownError:
        return None


def _hash(*values: Any) -> str:
    return sha256(repr(values).encode("utf-8", "surrogatepass"))


# ---- Blobs --------------------------------------------------------------------------------------


def _nodes(nodes: Iterable[Node]) -> dict[Node, str]:
    """The hash of each node; nodes stand after those of their inputs."""
    found: dict[Node, str] = {}
    for node in nodes:
        inputs = [(blob.index, found[blob.node]) for blob in node.inputs]
        if node.op.is_reader or node.op.is_view:
            found[node] = _hash(node.op.name, inputs)  # the spec of the loader has the rest
        else:
            values = sorted((name, _value(value, {})) for name, value in node.values.items())
            found[node] = _hash(node.op.name, _origin(node.op.origin), values, inputs)
    return found


def is_own(origin: str) -> bool:
    """Whether the origin of an op is a Python function of this package, whose version tells it."""
    return origin.startswith(f"python {__name__.partition('.')[0]}.")


def _origin(origin: str) -> Any:
    """The origin of an op; for a plugin also the size and time of its file."""
    if is_own(origin):
        return origin
    if origin.partition(" ")[0] == "python":
        raise _UnknownError
    if not os.path.isfile(origin):
        return origin
    found = os.stat(origin)
    return origin, found.st_size, found.st_mtime_ns


# ---- Functions ----------------------------------------------------------------------------------


def _function(function: Any, seen: Seen) -> Any:
    """The text of a function that was written in Python."""
    if is_library(function.__module__):
        return "library", *_library(function)
    if id(function) in seen:
        return "seen", seen[id(function)]
    seen[id(function)] = len(seen)
    code = function.__code__
    try:
        cells = [_value(cell.cell_contents, seen) for cell in function.__closure__ or ()]
    except ValueError:  # one is still empty
        raise _UnknownError from None
    named = [
        (name, _value(function.__globals__[name], seen))
        for name in sorted(names_in(code))
        if name in function.__globals__
    ]
    own = [function.__defaults__, function.__kwdefaults__, function.__dict__]
    return "function", sys.version_info[:2], _code(code), cells, named, _value(own, seen)


def _code(code: types.CodeType) -> Any:
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and not is_library(step.argval):
            raise _UnknownError
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in _LOOKS_UP:
            raise _UnknownError
    constants = [_constant(constant) for constant in code.co_consts]
    return code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars


def _constant(constant: Any) -> Any:
    if isinstance(constant, types.CodeType):
        return _code(constant)
    if isinstance(constant, (tuple, frozenset)):
        parts = [repr(_constant(part)) for part in constant]
        return type(constant).__name__, parts if isinstance(constant, tuple) else sorted(parts)
    return type(constant).__name__, repr(constant)


# ---- Values -------------------------------------------------------------------------------------


def _library(value: Any) -> tuple[str, str, str]:
    top = sys.modules.get(value.__module__.partition(".")[0])
    version_of_it = str(getattr(top, "__version__", sys.version))
    return value.__module__, getattr(value, "__qualname__", value.__name__), version_of_it


def _value(value: Any, seen: Seen) -> Any:
    """The text of a value that a function may refer to."""
    if isinstance(value, Object):
        if value.identity is not None:  # of an op of this package: readers are not looked at
            return "object", value.identity.digest()
        value = value.value
    if isinstance(value, Table):
        value = value.array
    kind = type(value).__name__
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic, range)):
        return kind, repr(value)
    if type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject:
        return kind, str(value.dtype), value.shape, sha256(value.tobytes())
    if type(value) in (list, tuple):
        return kind, [_value(part, seen) for part in value]
    if type(value) in (set, frozenset):
        return kind, sorted(repr(_value(part, seen)) for part in value)
    if type(value) is dict:
        return kind, [(_value(key, seen), _value(part, seen)) for key, part in value.items()]
    if isinstance(value, types.FunctionType):
        return _function(value, seen)
    if isinstance(value, types.MethodType):
        return kind, _value(value.__func__, seen), _value(value.__self__, seen)
    if isinstance(value, functools.partial):
        return kind, [_value(part, seen) for part in (value.func, value.args, value.keywords)]
    if isinstance(value, Divided):
        return kind, _value(value.__wrapped__, seen)
    if isinstance(value, types.ModuleType) and is_library(value.__name__):
        return kind, value.__name__, str(getattr(value, "__version__", sys.version))
    if isinstance(value, re.Pattern):
        return kind, value.pattern, value.flags
    is_named = isinstance(value, (type, types.BuiltinFunctionType, np.ufunc))
    if is_named and is_library(getattr(value, "__module__", "") or "numpy"):
        return kind, getattr(value, "__module__", ""), value.__name__
    raise _UnknownError
