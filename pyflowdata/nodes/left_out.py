"""Attrs that list the outputs of an op, found in the first records where they were left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .registry import Op

if TYPE_CHECKING:
    from .node import Blob

Look = Callable[[Op, "Sequence[Blob]", Mapping[str, object]], Mapping[str, object]]


def _look_at_nothing(
    op: Op, inputs: Sequence[Blob], values: Mapping[str, object]
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
    op: Op, inputs: Sequence[Blob], values: Mapping[str, object]
) -> Mapping[str, object]:
    """Attrs that were left out, as the first records have them; none where these do not say it."""
    listed = op.attr(op.outputs_attr)
    return _look(op, inputs, values) if listed is not None and listed.is_found else {}
