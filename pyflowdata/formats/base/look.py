"""Looks at the first records for ops that were left without a list of fields, or were given one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...nodes import Blob, Op
from ...nodes.left_out import set_look
from ...nodes.registry import registered_formats
from .known import FORMATS
from .reader_values import reader_of


def _look(op: Op, inputs: Sequence[Blob], values: Mapping[str, object]) -> Mapping[str, object]:
    if not inputs:
        listed = op.attr(op.outputs_attr)
        if listed is None or not listed.is_found or values.get(listed.name):
            return {}
        readers = (one.name for one in registered_formats() if one.reader == op.name)
        name = next(readers, None)
        return {} if name is None else FORMATS[name].found_by_reader(values)
    if len(inputs) > 1 or op.is_view or reader_of(inputs[0]) is None:
        return {}
    decoders = (one.name for one in registered_formats() if op.name in one.decoders)
    name = next(decoders, None)
    return {} if name is None else FORMATS[name].found_by_decoder(op, inputs[0], values)


set_look(_look)
