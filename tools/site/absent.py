"""Imports modules whose libraries are not installed, for their docstrings and signatures.

Inside `absent(...)`, an import of a named library that is not there gives an empty module, whose
attributes are empty classes, generic ones, of which there are no items.
"""

from __future__ import annotations

import abc
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence

_WITH_LIBRARIES = ("pyflowdata.integrations", "pyflowdata.packaging")


class _Empty(abc.ABCMeta):
    def __iter__(cls) -> Iterator[object]:
        return iter(())


class _Module(types.ModuleType):
    __path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        of_types = classmethod(lambda made, _types: made)  # DataLoader[BatchT] is DataLoader
        made = _Empty(name, (), {"__module__": self.__name__, "__class_getitem__": of_types})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, libraries: Sequence[str]) -> None:
        self._libraries = libraries

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self._libraries:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


@contextlib.contextmanager
def absent(*libraries: str) -> Iterator[None]:
    """Modules of installed libraries are imported as always."""
    lacking = [one for one in libraries if importlib.util.find_spec(one) is None]
    finder = _Finder(lacking)
    before = set(sys.modules)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if lacking:
            for name in set(sys.modules) - before:
                if name.partition(".")[0] in lacking or name.startswith(_WITH_LIBRARIES):
                    del sys.modules[name]
