"""Looks at the first records for ops that were left without a list of fields, or were given one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...nodes import Blob, Op
from ...nodes.left_out import set_look
from ...nodes.registry import registered_formats
from .known import FORMATS


def _look(op: Op, inputs: Sequence[Blob], values: Mapping[str, object]) -> Mapping[str, object]:
    for facts in registered_formats():
        if op.name == facts.reader:
            return FORMATS[facts.name].found_by_reader(values)
        if op.name in facts.decoders and len(inputs) == 1:
            return FORMATS[facts.name].found_by_decoder(op, inputs[0], values)
    return {}


set_look(_look)
