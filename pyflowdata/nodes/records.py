"""What is given in place of blobs by mistake: a data set, whose records have no batches yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from .node import Blob


class Records(ABC):
    """The base of data sets, for ops and loaders, which take blobs, to know them by."""

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, object]:
        """The fields by name."""

    @abstractmethod
    def first_batch(self, count: int) -> Mapping[str, Blob]:
        """The fields in a batch of the first records."""


def hint_of(data: Records) -> str:
    """What to give in place of a data set."""
    first = next(iter(data.fields))
    return (
        f"a {type(data).__name__} was given, which has no batches yet: give data.batch(n), or a "
        f"field of it, as data.batch(n)[{first!r}]"
    )
