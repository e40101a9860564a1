"""The graph of ops: C's registry in Python, nodes, blobs, and the functions that make them."""

from .node import Blob, Node
from .op_builder import user_op_builder
from .registry import Attr, Op, find_op, registered_ops
from .row_types import DTYPES

__all__ = [
    "DTYPES",
    "Attr",
    "Blob",
    "Node",
    "Op",
    "find_op",
    "registered_ops",
    "user_op_builder",
]
