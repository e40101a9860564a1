"""Views of some of the records: those where a predicate is true, and those with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..nodes.tables import Table
from .columns import What, bitmap_of, column, words_of
from .reading import Reading

Array = npt.NDArray[Any]
OwnT = TypeVar("OwnT", bound="Selecting")


class Selecting(Reading):
    """The methods of `Dataset` that select records."""

    def where(self: OwnT, predicate: What) -> OwnT:
        """The records for which a predicate is true, in their order.

        It is evaluated once, over all records, when the length or a record is first needed; the
        result is kept in the cache of indexes.

        Args:
            predicate: An expression such as "label != 3 and len(text) > 10"; a function of arrays,
                whose parameters are fields, as `lambda label: label != 3`; or a blob of truths that
                ops make of fields, as `flow.MyOp(data["image"])`.

        Raises:
            InvalidArgumentError: It is no expression, or names no field, or gives no truths.
        """
        return self._selected(bitmap_of(self, predicate))

    def column(self, what: What) -> Array:
        """A value for each record: of a field, an expression, or a function, as in `where()`.

        It is computed once, and kept in the cache of indexes; the array is mapped from there.

            np.bincount(data.column("label"))

        Raises:
            InvalidArgumentError: There is no such field, or it has no value for each record.
        """
        return column(self, what)

    def select(self: OwnT, rows: Sequence[int] | Sequence[bool] | Array) -> OwnT:
        """The records with these numbers, in this order; or those where `rows` is True.

        Args:
            rows: Numbers, in any order and as often as wanted, negative ones from the end; or one
                truth for each record.

        Raises:
            InvalidArgumentError: They are neither.
        """
        given = np.array(rows)
        given = given.astype(np.int64) if given.size == 0 else given
        if given.ndim != 1 or given.dtype.kind not in "biu":
            raise InvalidArgumentError(
                f"select({shown(rows)}): give a list of numbers, or of one truth for each record"
            )
        if given.dtype != np.bool_:
            if given.dtype == np.uint64 and bool(np.any(given >> np.uint64(63))):
                raise InvalidArgumentError("select(): a number is above all records")
            given = given.astype(np.int64)
        find = self._flagged if given.dtype == np.bool_ else self._numbered
        said = f"select({'truths' if given.dtype == np.bool_ else f'{given.size:,} numbers'})"
        key = (given.dtype.str, given.tobytes())
        return self._view("SelectDataset", table=Table(lambda: find(given), said=said, key=key))

    def _flagged(self, truths: Array) -> Array:
        if len(truths) != len(self):
            raise InvalidArgumentError(
                f"select(): there are {len(truths)} truths, and {len(self)} records"
            )
        return words_of(truths)

    def _numbered(self, numbers: Array) -> Array:
        if not np.any(numbers < 0):
            return numbers  # the view compares them with the records
        size = len(self)
        wrong = np.flatnonzero((numbers < -size) | (numbers >= size))
        if wrong.size:
            raise InvalidArgumentError(
                f"select(): number {numbers[wrong[0]]} (element {wrong[0]}) is not in "
                f"[-{size}, {size}), the records of the data set"
            )
        return np.where(numbers < 0, numbers + size, numbers)
