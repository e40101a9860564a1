"""Arrays made of what the user gave: nothing is lost on the way, or it is an error.

NumPy itself drops masks, makes infinities of numbers that are too large, and floats of integers
that stand beside floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import InvalidArgumentError, shown
from ....nodes import widened
from ....ragged import Ragged

Array = npt.NDArray[Any]


# ---- Masks --------------------------------------------------------------------------------------


def has_mask(given: Any) -> bool:
    """Whether it is a masked array, or there is one in lists or in a Ragged."""
    if isinstance(given, Ragged):
        given = given.values
    if isinstance(given, np.ma.MaskedArray):
        return True
    if isinstance(given, np.ndarray):
        return given.dtype.kind == "O" and has_mask(given.ravel().tolist())
    if not isinstance(given, (list, tuple)):
        return False
    kinds = set(map(type, given))
    deep = any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds)
    return deep and _any_masked(given)


def _any_masked(given: Any) -> bool:
    try:
        return any(map(has_mask, given))
    except RecursionError:  # lists that hold themselves, or nearly; no writer takes these
        return False


def _lacks_value(row: Any) -> bool:
    return bool(np.ma.is_masked(row))


def refuse_masked(name: str, given: Any, *, is_batch: bool = False) -> None:
    """Refuses masked arrays, with masked values or without.

    Args:
        name: Of the field, for the message.
        given: An array, or lists; anything else passes.
        is_batch: Whether it has a row for each record.

    Raises:
        InvalidArgumentError: It is one; `ordinal` is the first row that lacks a value.
    """
    if not has_mask(given):
        return
    rows = given if is_batch else ()
    row = _first(_lacks_value, rows)
    if row is None:
        row = _first(has_mask, rows)
    raise InvalidArgumentError(
        f"{name} is a masked array, and the file cannot say which values are missing; "
        "fill them, as .filled(0) does",
        ordinal=row,
    )


# ---- Numbers ------------------------------------------------------------------------------------


def _first(test: Callable[[Any], bool], rows: Any) -> int | None:
    return next((row for row, one in enumerate(rows) if test(one)), None)


def integers(given: Any) -> Iterator[int]:
    """Those in nested lists."""
    if isinstance(given, (list, tuple)):
        if not set(map(type, given)) <= {float}:
            for one in given:
                yield from integers(one)
    elif isinstance(given, (int, np.integer)):
        yield int(given)
    elif isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        yield from given.ravel().tolist()


def _refuse_changed(name: str, given: Any, dtype: np.dtype[Any], *, is_batch: bool) -> None:
    """Refuses integers that a float dtype cannot hold exactly."""

    exact = 2 ** (np.finfo(dtype).nmant + 1)  # a float holds all integers up to this one

    def changed(value: Any) -> int | None:
        """The first integer of a value that the dtype cannot hold exactly, or None."""
        with np.errstate(over="ignore"):
            for one in integers(value):
                if not -exact <= one <= exact and float(dtype.type(one)) != one:
                    return one
        return None

    found = changed(given)
    if found is not None:
        raise InvalidArgumentError(
            f"{name} has the integer {found}, which {dtype} cannot hold exactly; "
            "give an array of the type that is meant",
            ordinal=_first(lambda row: changed(row) is not None, given) if is_batch else None,
        )


def as_array(name: str, given: Any, *, is_batch: bool = False) -> Array:
    """What NumPy makes of it, with all its values; of bfloat16 float32, which files hold.

    Args:
        name: Of the field, for messages.
        given: An array, a number, or lists of them.
        is_batch: Whether it has a row for each record.

    Raises:
        InvalidArgumentError: It is masked, no array, or has integers that become other ones.
    """
    refuse_masked(name, given, is_batch=is_batch)
    try:
        found = np.asarray(given)
    except (ValueError, TypeError, OverflowError) as failure:
        raise InvalidArgumentError(f"{name} = {shown(given)} is not an array: {failure}") from None
    if found.dtype.kind == "f" and isinstance(given, (list, tuple)):
        _refuse_changed(name, given, found.dtype, is_batch=is_batch)
    return widened(found)


def to_float(
    name: str, given: Any, found: Array, dtype: np.dtype[Any], *, is_batch: bool = False
) -> Array:
    """Numbers of Python, which have no width of their own, rounded to a float type.

    Args:
        name: Of the field, for messages.
        given: A number, or nested lists.
        found: What `as_array` made of it.
        dtype: A float type.
        is_batch: Whether it has a row for each record.

    Raises:
        InvalidArgumentError: A finite number becomes infinite, or an integer another number.
    """
    with np.errstate(over="ignore"):
        cast = found.astype(dtype)
    lost = np.isinf(cast) & np.isfinite(found)
    if lost.any():
        row = int(np.argmax(lost.reshape(len(lost), -1).any(axis=1))) if is_batch else None
        raise InvalidArgumentError(
            f"{name} has {found[lost].flat[0]}, which is too large for {dtype}", ordinal=row
        )
    if not isinstance(given, float):
        _refuse_changed(name, given, dtype, is_batch=is_batch)
    return cast
