"""One function per op of the registry.  `make stubs` writes their types."""

from .nodes import registered_ops
from .nodes.op_functions import make_function

__all__ = [op.name for op in registered_ops()]

globals().update((op.name, make_function(op)) for op in registered_ops())
