"""Python objects as values of attrs: C knows them by number."""

from __future__ import annotations

import itertools
import pickle
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_numbers = itertools.count(1)
_objects: weakref.WeakValueDictionary[int, Object] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Identity:
    """What a Python function is, by which states compare it; also an object that yields samples.

    Attributes:
        digest: Gives the digest of its code, and of the values that it has now.
        said: What it is called and where it is, as "jitter(), train.py:12".
        draws: Whether it is given random numbers.
        outputs: Names of its results; none for an object that yields samples.
        what: The subject and verb of a message that the digest is another one.
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
        number: Valid as long as this lives.
        identity: What it is: the `object_identity` that it has, as a vocabulary does; of a source,
            once a reader has checked it.
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
