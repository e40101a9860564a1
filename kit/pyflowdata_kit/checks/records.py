"""The sample as it is: every order and range gives the same, and no byte of others is touched."""

from __future__ import annotations

import numpy as np

from ..kit import BACKWARD, FORWARD, MOST_RECORDS, SHUFFLED, Run, order_name
from .check import Check
from .streams import streams


def records(check: Check) -> str:
    """Every order and range gives the same; nothing is touched that is not the op's."""
    check.case("as it is")
    base = check.base(twice=1, rounds=3)
    if not base.succeeded:
        check.tell(
            "sample-fails",
            f"the sample itself cannot be read: {base.function} failed with {base.status}: "
            f"{base.message}; give a sample without damage, or correct what refuses it",
        )
        return "the sample fails"
    if base.num_records == 0:
        check.tell("no-records", "the sample has no records; give one with a few")
        return "no records"
    expected = check.job.records
    found = base.size if base.size >= 0 else base.num_records
    if expected is not None and found != (
        expected if base.size >= 0 else min(expected, MOST_RECORDS)
    ):
        check.tell(
            "record-count",
            f"the reader finds {found} records, the sample has {expected}: look at "
            "the first and the last record of each file, and at size()",
        )
    if check.case("global memory"):
        size = check.range if check.whole_batches else 1
        check.kit.run(order=FORWARD, range=size, rounds=2, watch_globals=1)
    _orders(check, base)
    streams(check, base)
    if check.case("fillers"):
        _fillers(check, base)
    return f"{base.num_records} records in every order, next to forbidden pages"


def _fillers(check: Check, base: Run) -> None:
    run = check.kit.run(order=FORWARD, range=check.range, filler=1)
    if run.succeeded and not np.array_equal(run.rows, base.rows):
        check.tell(
            "filler-differs",
            "a record with filler = 1 gives another row than with filler = 0: a filler is a "
            "repeated record, compute() must treat it as any other",
        )


def _orders(check: Check, base: Run) -> None:
    runs = [(BACKWARD, 16), (SHUFFLED, 16), (FORWARD, 1), (FORWARD, 7), (SHUFFLED, 1)]
    for order, size in runs:
        if check.whole_batches:
            break  # rows may depend on each other
        if not check.case(f"{order_name(order)}, {size} at a time"):
            continue
        run = check.kit.run(order=order, range=size, twice=int(size == 7))
        if not np.array_equal(run.records, base.records):
            check.tell(
                "at-not-pure",
                "at() describes records differently when they are asked for in another order "
                "or number at once: it must be a pure function of the ordinals, keep no cursor "
                "in the source",
            )
        elif not run.succeeded:
            check.tell(
                "order-fails",
                f"{run.function} fails when records are asked for in another order or number: "
                f"{run.status}, {run.message}; it must work for any ordinals and ranges",
            )
        elif not np.array_equal(run.rows, base.rows):
            _tell_range(check, base, run, order, size)


def _tell_range(check: Check, base: Run, run: Run, order: int, size: int) -> None:
    if size == check.range:  # so that only what came before can make the difference
        what = f"which records are computed before it ({order_name(order)} instead of forward)"
        likely = [
            "a static or thread_local variable that keeps something of a row before",
            "a ragged row on the stack or in memory of the source, which the next row overwrites",
        ]
    else:
        what = f"how many records compute() gets at once ({size} instead of {check.range}) or which"
        likely = []
    check.tell(
        "range-dependent",
        f"the row of record {run.first_difference(base)} changes with {what}: a row must depend on "
        "its own record alone",
        likely=likely,
    )
