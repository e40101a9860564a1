"""Python objects as values of attrs: C knows them by number."""

from __future__ import annotations

import itertools
import pickle
import weakref
from typing import Any

_numbers = itertools.count(1)
_objects: weakref.WeakValueDictionary[int, Object] = weakref.WeakValueDictionary()


class Object:
    """A Python object with its number in C; it is a value of nodes.

    Attributes:
        value: The object.
        number: Valid as long as this lives.
    """

    __slots__ = ("__weakref__", "number", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.number = next(_numbers)
        _objects[self.number] = self

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.value)
        except Exception as failure:
            raise TypeError(
                f"a blob of a {type(self.value).__name__} cannot be pickled, as the object cannot: "
                f"{failure}"
            ) from failure
        return Object, (self.value,)


def object_of(number: int) -> Any:
    """The object with a number.

    Raises:
        KeyError: There is no such object, or it was released.
    """
    return _objects[number].value
