"""Reads the intact sample: every order and range must give the same, and the op must touch only its
own memory.
"""

from __future__ import annotations

import numpy as np

from ..kit import BACKWARD, FORWARD, MOST_RECORDS, SHUFFLED, STREAM, Run, order_name
from .check import Check


# ---- next() and seek() give the same records as at(), from any place, in any epoch --------------


def _streams(check: Check, base: Run) -> None:
    if not check.is_reader:
        return
    for size in (16, 1, 5):
        if not check.case(f"next(), {size} at a time"):
            continue
        run = check.kit.run(order=STREAM, range=size)
        if run.succeeded and not run.equals(base):
            check.tell(
                "stream-differs",
                f"next() with max = {size} after seek(0) yields other records "
                f"({run.num_records}) than before ({base.num_records}): it must yield the same "
                "ones at any max, and after a seek() begin there",
            )
    seen = int(np.count_nonzero(base.records))
    for k in sorted({1, 2, 3, seen // 2, seen - 1}):
        if 0 < k < seen and check.case(f"seek() to {k}"):
            _seek(check, base, k, seen)
            _seek(check, base, k, seen, seek_from=seen - 1)
    if check.case("epoch 1"):
        _later_epoch(check, base, seen)


def _later_epoch(check: Check, base: Run, seen: int) -> None:
    """Checks a later epoch: it may have another order and other records, but must not leave records
    out.
    """
    later = check.kit.run(order=STREAM, range=16, epoch=1)
    if not later.succeeded:
        return check.tell(
            "epoch-differs",
            f"after seek() to epoch 1, {later.function} fails: {later.status}, "
            f"{later.message}; every epoch must be readable",
        )
    known = set(base.records[base.records != 0].tolist())
    found = set(later.records[later.records != 0].tolist())
    if found < known and seen < MOST_RECORDS:
        check.tell(
            "epoch-differs",
            f"after seek() to epoch 1, next() yields {later.num_records} records, and none "
            f"that epoch 0, of {base.num_records}, does not have: a later epoch must not leave "
            "records out; seek() to position 0 is the first record of any epoch",
        )
    count = int(np.count_nonzero(later.records))
    for k in sorted({1, count // 2, count - 1}):
        if 0 < k < count:
            _seek(check, later, k, count, epoch=1)
    return None


def _seek(check: Check, base: Run, k: int, seen: int, **options: int) -> None:
    run = check.kit.run(doing="", silent=False, order=STREAM, range=3, seek=k, **options)
    if np.array_equal(run.records[k:seen], base.records[k:seen]) and run.succeeded:
        return
    if run.num_records == seen and seen == MOST_RECORDS:
        return  # with at() the host seeks
    got = next((i for i in range(seen) if base.records[i] == run.records[k]), None)
    instead = f"record {got}" if got is not None else "something else"
    check.tell(
        "seek-wrong",
        f"after seek() to record {k}, next() yields {instead} instead of it: seek() must set "
        "all of the position, file and offset and ordinal, also backwards",
    )


# ---- The check ----------------------------------------------------------------------------------


def records(check: Check) -> str:
    """Checks that every order and range gives the same, and that the op touches only its own
    memory."""
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
    _streams(check, base)
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
    if size == check.range:  # so that only earlier records can make the difference
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
