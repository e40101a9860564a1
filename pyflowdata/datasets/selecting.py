"""Views of some of the records: those where a predicate is true, those with numbers, parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..graph.tables import Table
from .base import named_view
from .columns import What, bitmap_of, column, refuse_changing_order, words_of
from .reading import Reading
from .splitting import Sizes, Split

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

    @overload
    def split(
        self: OwnT,
        parts: Mapping[str, float],
        *,
        by: str | Sequence[str] | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> dict[str, OwnT]: ...

    @overload
    def split(
        self: OwnT,
        parts: Sequence[float],
        *,
        by: str | Sequence[str] | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> tuple[OwnT, ...]: ...

    def split(
        self: OwnT,
        parts: Sequence[float] | Mapping[str, float],
        *,
        by: str | Sequence[str] | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> tuple[OwnT, ...] | dict[str, OwnT]:
        """Parts that have each record once; each part has its records in their order.

        A hash of the seed and of what names a record decides its part: its file's name and its
        number in the file, or the values of `by`.  So records and files that are appended move none
        of those before, and sizes are about, not exactly, the fractions.  Counts are exact, and
        appended records may move others.

        Args:
            parts: Fractions that sum to 1, as [0.9, 0.1], or counts of all records, as [1000, 200];
                or a dict of them, for a dict of data sets.
            by: A field or several: records with the same values are in the same part.
            in_order: Whether parts are runs of consecutive records, of exactly these sizes:
                fractions are rounded by largest remainders.
            seed: Another one makes other parts.

        Raises:
            InvalidArgumentError: There is no such field, or the parts are not all of the records.
        """
        if isinstance(parts, (str, bytes)) or not isinstance(parts, Iterable):
            raise InvalidArgumentError(
                f"split({shown(parts)}): give fractions of all parts, as [0.9, 0.1], or counts"
            )
        if isinstance(parts, Mapping):
            found = self._parts(list(parts.values()), by, in_order, seed)
            return dict(zip(parts, found, strict=True))
        return tuple(self._parts(list(parts), by, in_order, seed))

    def _parts(
        self: OwnT, parts: list[float], by: str | Sequence[str] | None, in_order: bool, seed: int
    ) -> list[OwnT]:
        sizes = Sizes(parts)
        if type(seed) is not int or not 0 <= seed < 2**63:
            raise InvalidArgumentError(f"seed = {shown(seed)}; it must be an int of at least 0")
        names = [by] if isinstance(by, str) else list(by) if by else None
        if not in_order:
            split = Split(self, sizes, names, seed)
            return [self._selected(split.table(part)) for part in range(len(sizes))]
        if names:
            raise InvalidArgumentError(
                f"by = {shown(by)}: parts in order may divide records with the same value; leave "
                "in_order or by out"
            )
        refuse_changing_order(self)
        given = {"counts": sizes.counts} if sizes.counts else {"fractions": sizes.fractions}
        return [
            self._with_order(named_view("SplitDataset", self._fields, {**given, "part": part}))
            for part in range(len(sizes))
        ]

    def _selected(self: OwnT, table: Table) -> OwnT:
        """Of the records before the shuffle, which then shuffles those that are left."""
        return self._with_order(named_view("SelectDataset", self._fields, {"table": table}))

    def _with_order(self: OwnT, blobs: Any) -> OwnT:
        return type(self)(blobs, self._shuffle)
