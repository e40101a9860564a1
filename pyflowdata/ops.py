"""One function per op of the registry.  `make stubs` writes their types."""

from .graph import registered_ops
from .graph.op_functions import make_function

__all__ = [op.name for op in registered_ops()]

globals().update((op.name, make_function(op)) for op in registered_ops())
