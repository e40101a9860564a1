"""One function per op of the registry, made when it is first named: a program names few of them.
`make` writes their types to ops.pyi."""

from typing import TYPE_CHECKING

from .nodes import find_op, op_names
from .nodes.op_functions import make_function

__all__ = op_names()

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in __all__:  # one function, also where two threads name it at once
            return globals().setdefault(name, make_function(find_op(name)))
        from .nodes.name_hints import missing

        raise missing(name, __all__, "pyflowdata.ops")


def __dir__() -> list[str]:
    return sorted(__all__)
