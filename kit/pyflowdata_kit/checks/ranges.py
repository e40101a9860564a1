"""Computes the first records of the sample alone, and in calls of 1 to 4,097 rows."""

from __future__ import annotations

from ..kit import BLOCKS, MANY_ROWS, ONE_ROW, RANGES, Run
from .check import Check

_LIKELY = {
    BLOCKS: (
        "a loop over blocks of rows leaves out those after the last whole block",
        "the rest after the last block is handled by other code than the blocks",
    ),
    MANY_ROWS: (
        "an array, or a counter of 8 bits, for at most so many rows",
        "rows are done in blocks, and the second block takes the places of the first one",
        "a row takes a value of the row before it in place of its own",
    ),
    ONE_ROW: (
        "a branch for num_rows == 1",
        "a neighbouring row is used, which a batch of one does not have",
    ),
}


def tell_of_ranges(check: Check, run: Run) -> None:
    """Reports the findings of a run, with causes for faults that depend on the rows of a call."""
    for id, text in run.found:
        check.tell(id, text, _LIKELY.get(run.patterns.get(id, 0), ()))


def ranges(check: Check) -> str:
    """Computes the first records of the sample alone, and in calls of 1 to 4,097 rows."""
    if not check.case("many lengths"):
        return ""
    run = check.kit.run(silent=True, mode=RANGES)
    tell_of_ranges(check, run)
    if run.num_records == 0:
        return "no record can be computed"
    return f"each record alone, and calls of up to {run.num_records} rows"
