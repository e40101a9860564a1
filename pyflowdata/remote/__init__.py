"""Files at addresses, such as s3://bucket/key: the stores, and the cache of their blocks.
Importing the package registers them in C; the packages that they need are imported when such a file
is read.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..native import IS_INTERRUPTED, encode, ffi, lib

if TYPE_CHECKING:
    from . import client as client
    from .cache import CacheInfo, cache_info, configure, open_copy, staging_folder

__all__ = ["CacheInfo", "cache_info", "configure", "open_copy", "staging_folder"]  # of the cache

_opening = threading.local()  # `goes_on`


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address, SCHEME://..., and not file://; a scheme may have capitals."""
    return bool(lib.pfd_path_is_remote(encode(os.fspath(path), "path")))


def forget_facts() -> None:
    """Forgets the facts about objects: an opening begins, which asks for the versions of objects
    again, or an opening has ended.
    """
    forget = getattr(sys.modules.get(f"{__name__}.client"), "forget_facts", None)
    if forget is not None and not getattr(_opening, "goes_on", False):
        forget()


@contextlib.contextmanager
def one_opening(*, is_last: bool = False) -> Iterator[None]:
    """Keeps the facts about objects while this thread opens loaders, so that all loaders read the
    same versions.

    Args:
        is_last: Whether later openings ask for the versions again.
    """
    former = getattr(_opening, "goes_on", False)
    _opening.goes_on = True
    try:
        yield
    finally:
        _opening.goes_on = former
        if is_last:
            forget_facts()


def _cache() -> Any:
    return importlib.import_module(".cache", __name__)


def __getattr__(name: str) -> object:
    """Imports the client or the cache when a program first names it, or a part of the cache."""
    if name == "client":
        return importlib.import_module(".client", __name__)
    if name in __all__:
        return getattr(_cache(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_types = dict(ffi.typeof("pfd_remote_calls").fields)
_functions = {
    "look": lambda *given: _cache().look(*given),
    "kind": lambda *given: _cache().kind(*given),
    "name_objects": lambda *given: _cache().name_objects(*given),
    "list": lambda *given: _cache().list_objects(*given),
    "bring": lambda *given: _cache().bring_index(*given),
}
_callbacks = {
    name: ffi.callback(_types[name].type, function, error=-1)
    for name, function in _functions.items()
}
lib.pfd_remote_install(
    ffi.new("pfd_remote_calls *", {**_callbacks, "is_interrupted": IS_INTERRUPTED})
)
