"""What is said of a record that does not fit types which were found in the first records."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import CorruptDataError, Error
from ..nodes import Node


def say_sample(failure: Error, nodes: Iterable[Node]) -> None:
    """Adds to the failure of a record that the types it does not fit are those of a sample."""
    for node in nodes:
        listed = node.op.outputs_attr
        if isinstance(failure, CorruptDataError) and failure.op == node.op.name \
                and listed in node.sampled and failure.attr == listed:  # fmt: skip
            argument = node.sampled[listed]
            failure.message += (
                f" ({argument} was left out, and found in the first records; give {argument}= for "
                "other types)"
            )
            return
