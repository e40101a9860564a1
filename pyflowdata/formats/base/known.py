"""The formats that are known: those of the C library, each with what its Python module adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ...nodes.registry import FileFormat, registered_formats
from .format import Format

_PACKAGE = __name__.rsplit(".", 2)[0]
_OWN = "built in"  # the origin of formats whose modules are in this package


@cache
def _made(facts: FileFormat) -> Format:
    """The format: of the class FORMAT of its module, or of the base class."""
    kind: type[Format] = Format
    module = f"{_PACKAGE}.{facts.name}"
    if facts.origin == _OWN and find_spec(module) is not None:
        kind = getattr(import_module(module), "FORMAT", Format)
    return kind(**vars(facts))


class _Formats(Mapping[str, Format]):
    """By name, in the order of the C library's list; formats of loaded plugins come last."""

    def __getitem__(self, name: str) -> Format:
        for facts in registered_formats():
            if facts.name == name:
                return _made(facts)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (facts.name for facts in registered_formats())

    def __len__(self) -> int:
        return len(registered_formats())


FORMATS: Mapping[str, Format] = _Formats()
