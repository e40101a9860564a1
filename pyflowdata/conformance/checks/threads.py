"""Several threads in one source at once."""

from __future__ import annotations

from ..kit import FORWARD
from .check import Check


def threads(check: Check) -> str:
    """Several threads in one source at once."""
    if check.whole_batches:
        return "left out: rows depend on their batch"
    base = check.base()
    for round_ in range(3):
        if not check.case(f"4 threads, {round_ + 1} rounds"):
            continue
        run = check.kit.run(order=FORWARD, range=3, num_threads=4, seed=1, rounds=1 + round_)
        if run.is_whole and not run.equals(base):
            check.tell(
                "threads-differ",
                "several threads at once get other records or rows than one: keep no state in "
                "the source that at() changes, and none in global variables",
            )
        elif not run.is_whole:
            check.tell(
                "threads-differ",
                f"{run.function} fails where several threads are in it at once: {run.message}; "
                "keep no state in the source that at() changes, and none in global variables",
            )
    return "4 threads in one source"
