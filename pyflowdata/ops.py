"""One function per op of the registry.  `python -m pyflowdata._stubs` writes their types."""

from .op_functions import make_function
from .registry import registered_ops

__all__ = [op.name for op in registered_ops()]

globals().update((op.name, make_function(op)) for op in registered_ops())
