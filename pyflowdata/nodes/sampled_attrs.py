"""Attrs that list the outputs of an op; if they were left out, they are found in the first records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import Error
from .op_facts import Op
from .registry import registered_formats

Sampler = Callable[[str, Op, Sequence[Any], Mapping[str, object]], Mapping[str, object]]


class Found(dict[str, object]):
    """Attrs that were found, by name.

    Attributes:
        notes: Name of an output -> why its type is perhaps not the wanted one.
    """

    def __init__(self, values: Mapping[str, object], notes: Mapping[str, str] | None = None):
        super().__init__(values)
        self.notes = notes or {}


_sampler: Sampler = lambda name, op, inputs, values: {}  # noqa: E731  (set_sampler() sets it)


def set_sampler(sampler: Sampler) -> None:
    """Sets the function that looks at the first records, for ops whose attr `outputs_attr` may be
    left out.

    Args:
        sampler: Gets the name of the op's format, the op, inputs and attrs.  It returns the values
            of attrs that were left out, and raises InvalidArgumentError where given ones do not fit
            the records.
    """
    global _sampler
    _sampler = sampler


def sampled_values(
    op: Op, inputs: Sequence[Any], values: Mapping[str, object]
) -> Mapping[str, object]:
    """The values of attrs that were left out, found in the first records; none if the records do
    not show them, or if an attr is unknown, which C refuses.
    """
    if not values.keys() <= {attr.name for attr in op.attrs}:
        return {}
    name = _format_of_decoder(op, inputs) if inputs else _format_of_reader(op, values)
    return {} if name is None else _sampler(name, op, inputs, values)


def has_types(elements: Any) -> bool:
    """Whether a list of fields was given in which each field has a type."""
    return bool(elements) and _are_texts(elements) and all(":" in one for one in elements)


def _are_texts(elements: Any) -> bool:
    """Whether the list of fields is a list of texts, or was left out; C refuses other values."""
    return elements is None or isinstance(elements, str) or (
        isinstance(elements, Sequence) and all(isinstance(one, str) for one in elements)
    )


def _format_of_reader(op: Op, values: Mapping[str, object]) -> str | None:
    """The format that the reader reads; None if its outputs and their types are known."""
    listed = op.attr(op.outputs_attr)
    if listed is None or not listed.is_found:
        return None
    given = values.get(listed.name)
    if has_types(given) or not _are_texts(given):
        return None
    return next((one.name for one in registered_formats() if one.reader == op.name), None)


def _format_of_decoder(op: Op, inputs: Sequence[Any]) -> str | None:
    if len(inputs) > 1 or op.is_view:
        return None
    return next((one.name for one in registered_formats() if op.name in one.decoders), None)


def say_notes(failure: Error, inputs: Iterable[Any]) -> None:
    """Adds notes about the types of the inputs to the failure of an op."""
    for blob in inputs:
        if blob.note:
            port = blob.name.rpartition("/")[2]
            failure.message += (
                f"; {port} is of bytes, because {blob.note}: for numbers state its type, as in "
                f'"{port}:float32"'
            )
