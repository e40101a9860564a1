"""Python objects as values of attrs: C knows them by number."""

from __future__ import annotations

import itertools
import pickle
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

_numbers = itertools.count(1)
_objects: weakref.WeakValueDictionary[int, Object] = weakref.WeakValueDictionary()


class Identity(NamedTuple):
    """The identity of a Python function, or of an object that yields samples; states compare it.

    Attributes:
        digest: Returns the digest of its code and of its current values.
        said: Its name and place, as "jitter(), train.py:12".
        draws: Whether it gets random numbers.
        outputs: Names of its results; none for an object that yields samples.
        what: The subject and verb of a message about a changed digest.
    """

    digest: Callable[[], str]
    said: str
    draws: bool = False
    outputs: tuple[str, ...] = ()
    what: str = "the code of its function, or its arguments, were"


class Object:
    """A Python object with its number in C; it is a value of nodes.

    Attributes:
        value: The object.
        number: Valid as long as this object lives.
        identity: Its `object_identity`, if it has one, as a vocabulary does; for a source the
            identity, once a reader has checked it.
    """

    __slots__ = ("__weakref__", "identity", "number", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.identity: Identity | None = getattr(value, "object_identity", None)
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


def object_of(number: int) -> Object:
    """The object with a number.

    Raises:
        KeyError: There is no such object, or it was released.
    """
    return _objects[number]
