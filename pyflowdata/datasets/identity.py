"""When two data sets are the same: the same files, fields, views and attrs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from ..nodes import Blob, Node
from ..nodes.objects import Object
from .base import Shuffle


class _Itself:
    """A Python object that is equal to itself alone."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def identity_of(blobs: Mapping[str, Blob], shuffle: Shuffle | None) -> Hashable:
    """A value that two data sets have in common only where they are the same."""
    numbers: dict[Node, int] = {}
    nodes: list[Hashable] = []

    def walk(node: Node) -> int:
        """Adds a node after those upstream, and returns its number."""
        if node not in numbers:
            inputs = tuple((walk(blob.node), blob.index) for blob in node.inputs)
            values = tuple((name, _frozen(node.values[name])) for name in sorted(node.values))
            nodes.append((node.op.name, node.op.origin, node.name, values, inputs))
            numbers[node] = len(numbers)
        return numbers[node]

    fields = tuple((name, walk(blob.node), blob.index) for name, blob in blobs.items())
    order = None if shuffle is None else (*shuffle[:-1], tuple(sorted(shuffle.attrs.items())))
    return fields, tuple(nodes), order


def _frozen(value: Any) -> Hashable:
    """The value of an attr as something to compare."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, Object):
        return (type(value), value)  # True is not 1
    found = getattr(value.value, "identity", value.value)
    try:
        hash(found)
    except TypeError:
        return _Itself(found)
    return found  # type: ignore[no-any-return]
