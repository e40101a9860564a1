"""Descriptions of nodes: the attrs worth showing, and the texts of values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import shown
from .node import Node
from .objects import Object
from .op_facts import Attr
from .tables import Prepared, Table

ORDER_KEY = "shuffle"  # a shuffle has this one if none is given
_FAR = 2**62  # numbers beyond it stand for the end


def told_attrs(node: Node) -> list[Attr]:
    """The attrs that were given and differ from the default.  Attrs that list outputs, or were read
    from headers, are not among them: the outputs show them.
    """
    return [attr for attr in node.op.attrs if _is_telling(node, attr)]


def _is_telling(node: Node, attr: Attr) -> bool:
    if attr.name not in node.values or attr.name in node.found:
        return False
    value = node.values[attr.name]
    if attr.name in ("num_sources", node.op.outputs_attr):
        return False
    if attr.name == "order_key" and value == ORDER_KEY:
        return False
    if isinstance(value, int) and abs(value) > _FAR:
        return False
    if isinstance(value, Object) and isinstance(value.value, Table):
        return False  # an array; see said_of_tables()
    default = list(attr.default) if isinstance(attr.default, tuple) else attr.default
    return value != default


def value_text(value: Any) -> str:
    """The value of an attr, of bounded length."""
    return shown(value.value if isinstance(value, Object) else value)


def view_word(node: Node) -> str:
    """The name of a view for people: "take" for TakeDataset."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node.op.name.removesuffix("Dataset")).lower()


def said_of_tables(node: Node) -> str:
    """The call that made the arrays of a view, as "where('label != 3')"; "": not known."""
    return next((table.said for table in tables_of(node) if table.said), "")


def prepared_of(reader: Node) -> Prepared | None:
    """The object that makes the file of a reader of a data set's cache; None: the reader reads no
    cache.
    """
    given = (one.value for one in reader.values.values() if isinstance(one, Object))
    return next((value for value in given if isinstance(value, Prepared)), None)


def has_tables(node: Node) -> bool:
    """Whether an attr is an array of the program."""
    return any(True for _ in tables_of(node))


def tables_of(node: Node) -> Iterator[Table]:
    """The arrays of the program among the attrs of a node."""
    for value in node.values.values():
        if isinstance(value, Object) and isinstance(value.value, Table):
            yield value.value
