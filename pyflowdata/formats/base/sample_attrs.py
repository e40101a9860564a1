"""Looks at the first records for ops that were left without a list of fields, or were given one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...nodes import Blob, Op
from .known import FORMATS
from .reader_values import reader_of


def values_in_files(
    name: str, op: Op, inputs: Sequence[Blob], values: Mapping[str, object]
) -> Mapping[str, object]:
    """What the files say of attrs that were left out.

    Args:
        name: Of the format whose reader or decoder the op is.
        op: The op of a node that is being made.
        inputs: Its inputs; none of a reader.
        values: Its attrs.

    Raises:
        InvalidArgumentError: Attrs that were given do not fit the files.
    """
    if not inputs:
        return FORMATS[name].found_by_reader(values)
    if reader_of(inputs[0]) is None:
        return {}
    return FORMATS[name].found_by_decoder(op, inputs[0], values)
