"""The graph of ops: C's registry in Python, nodes, blobs, and the functions that make them."""

from .row_types import NUMBERS, dtype_name, dtype_number, is_bfloat16, numpy_dtype, widened
from .node import Blob, Node
from .op_facts import BUILT_IN, Attr, Op
from .registry import find_op, op_names, registered_ops

__all__ = [
    "BUILT_IN",
    "Attr",
    "Blob",
    "NUMBERS",
    "Node",
    "Op",
    "dtype_name",
    "dtype_number",
    "find_op",
    "is_bfloat16",
    "numpy_dtype",
    "op_names",
    "registered_ops",
    "widened",
]
