"""next() and seek(): the same records as by at(), from any place, in any epoch."""

from __future__ import annotations

import numpy as np

from ..kit import MOST_RECORDS, STREAM, Run
from .check import Check


def streams(check: Check, base: Run) -> None:
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
    """An epoch may have an order and records of its own, but none that is only missing."""
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
        return  # at() alone: the host seeks
    got = next((i for i in range(seen) if base.records[i] == run.records[k]), None)
    instead = f"record {got}" if got is not None else "something else"
    check.tell(
        "seek-wrong",
        f"after seek() to record {k}, next() yields {instead} instead of it: seek() must set "
        "all of the position, file and offset and ordinal, also backwards",
    )
