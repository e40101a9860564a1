"""Attrs that list the outputs of an op, found in the first records where they were left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import CorruptDataError, Error
from .registry import Op

Look = Callable[[Op, Sequence[Any], Mapping[str, object]], Mapping[str, object]]


def _look_at_nothing(
    op: Op, inputs: Sequence[Any], values: Mapping[str, object]
) -> Mapping[str, object]:
    return {}


_look: Look = _look_at_nothing


def set_look(look: Look) -> None:
    """Says who looks at the first records, for ops whose attr `outputs_attr` may be left out.

    Args:
        look: Given op, inputs and attrs, it returns what it finds of attrs that were left out, and
            raises InvalidArgumentError where those that were given do not fit the records.
    """
    global _look
    _look = look


def left_out_values(
    op: Op, inputs: Sequence[Any], values: Mapping[str, object]
) -> Mapping[str, object]:
    """Attrs that were left out, as the first records have them; none where these do not say it, and
    none where an attr is unknown, which C refuses."""
    if any(op.attr(name) is None for name in values):
        return {}
    return _look(op, inputs, values)


def say_sample(failure: Error, nodes: Iterable[Any]) -> None:
    """Adds to the failure of a record that the types it does not fit are those of a sample."""
    for node in nodes:
        listed = node.op.outputs_attr
        if isinstance(failure, CorruptDataError) and failure.op == node.op.name \
                and listed in node.sampled and failure.ordinal is not None:  # fmt: skip
            failure.message += (
                f" ({listed} was left out, and found in the first records; give {listed}= for "
                "other types)"
            )
            return
