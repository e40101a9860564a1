"""One function per op of the registry.  `make` writes their types to ops.pyi."""

from typing import TYPE_CHECKING

from .nodes import registered_ops
from .nodes.op_functions import make_function
from .nodes.name_hints import missing

__all__ = [op.name for op in registered_ops()]

globals().update((op.name, make_function(op)) for op in registered_ops())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        known = [one for one in globals() if one[:1].isupper() and one != "TYPE_CHECKING"]
        raise missing(name, known, "pyflowdata.ops")


def __dir__() -> list[str]:
    return sorted(__all__)
