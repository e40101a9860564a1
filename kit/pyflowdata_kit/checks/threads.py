"""Runs several threads in one source at once."""

from __future__ import annotations

from ..causes import SHARED_STATE
from ..kit import FORWARD, Run
from .check import Check

_ROUNDS = (2, 1, 2, 3)  # rounds of each case; the threads of the first case wait for each other


def threads(check: Check) -> str:
    """Runs several threads in one source at once; in the first case the threads meet."""
    if check.whole_batches:
        return "left out: rows depend on their batch"
    base = check.base()
    for place, rounds in enumerate(_ROUNDS):
        meet = place == 0
        name = "4 threads that wait for each other" if meet else f"4 threads, {rounds} rounds"
        if not check.case(name):
            continue
        run = check.kit.run(
            silent=True, doing="threads that wait for each other" if meet else "",
            order=FORWARD, range=3, num_threads=4, seed=1, rounds=rounds, delays=int(meet),
        )  # fmt: skip
        _tell(check, base, run)
    return "4 threads in one source"


def _tell(check: Check, base: Run, run: Run) -> None:
    likely = [_position(run), *SHARED_STATE] if run.shared_position else []
    for id, text in run.found:
        check.tell(id, text, likely=likely if id == "threads-differ" else [])
    if run.succeeded and not run.equals(base):
        check.tell(
            "threads-differ",
            "several threads at once get another record or row than one: the first is record "
            f"{run.first_difference(base)}; keep no state in the source that at() changes, and "
            "none in global variables",
            likely=likely,
        )
    elif not run.succeeded:
        check.tell(
            "threads-differ",
            f"{run.function} fails where several threads are in it at once: {run.message}; "
            "keep no state in the source that at() changes, and none in global variables",
            likely=likely,
        )


def _position(run: Run) -> str:
    return (
        "a FILE * or descriptor of the source, whose position all threads share "
        f"({run.shared_position}: a thread moved it between the seek and the read of another): "
        "pread(), or host->read()"
    )
