"""The first records of the sample, alone and in calls of 1 to 4,097 rows."""

from __future__ import annotations

from ..kit import RANGES
from .check import Check

_BLOCKS = (
    "a loop over blocks of rows leaves out those after the last whole block",
    "the rest after the last block is handled by other code than the blocks",
)
_MANY = (
    "an array, or a counter of 8 bits, for at most so many rows",
    "rows are done in blocks, and the second block takes the places of the first one",
)
_ONE = (
    "a branch for num_rows == 1",
    "a neighbouring row is used, which a batch of one does not have",
)


def likely_of(text: str) -> tuple[str, ...]:
    """The causes of what depends on how many rows a call has, by the words of range_lengths.c."""
    if text.startswith("Where rows %"):
        return _BLOCKS
    if text.startswith("In ranges of more than"):
        return _MANY
    if text.startswith(("In a range of one row", "a range of one row")):
        return _ONE
    return ()


def ranges(check: Check) -> str:
    """The first records of the sample, alone and in calls of 1 to 4,097 rows."""
    if not check.case("many lengths"):
        return ""
    run = check.kit.run(silent=True, mode=RANGES)
    for id, text in run.found:
        check.tell(id, text, likely_of(text))
    if run.num_records == 0:
        return "no record can be computed"
    return f"each record alone, and calls of up to {run.num_records} rows"
