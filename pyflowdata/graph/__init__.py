"""The graph of ops: C's registry as Python shows it, nodes and blobs, and what makes them."""

from .node import Blob, Node
from .op_builder import user_op_builder
from .registry import Attr, Op, find_op, registered_ops

__all__ = ["Attr", "Blob", "Node", "Op", "find_op", "registered_ops", "user_op_builder"]
