"""Ops and sources that are written in Python: functions and objects that C calls."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from ..native import CData, ffi, lib, new_struct
from .callbacks import c_function

# What C calls for samples.  Few programs have such sources: these functions stand in for those of a
# module until the first call, which imports the module, and it gives C its own.


def _functions(kind: str, module: str) -> tuple[CData, list[CData]]:
    """A struct of functions that call those of the struct `source` of a module."""
    struct, kept = new_struct(kind), []
    for name, field in ffi.typeof(kind).fields:
        if field.type.kind == "function":
            run = functools.partial(_call, module, name)
            kept.append(c_function(field.type, run, functools.partial(_fail, module)))
            setattr(struct, name, kept[-1])
    return struct, kept


def _module(name: str) -> Any:
    return importlib.import_module(f".{name}", __name__)


def _call(module: str, name: str, *args: Any) -> int:
    called: int = getattr(_module(module).source, name)(*args)
    return called


def _fail(module: str, args: tuple[Any, ...], failure: BaseException) -> int:
    failed: int = _module(module).fail(args, failure)
    return failed


_objects, _kept_objects = _functions("pfd_object_source", "sources")
_row_groups, _kept_row_groups = _functions("pfd_row_group_source", "row_groups")
lib.pfd_object_source_set(_objects)
lib.pfd_row_group_source_set(_row_groups)
