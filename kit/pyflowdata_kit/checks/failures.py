"""Makes the host's functions fail, one call after another."""

from __future__ import annotations

from collections.abc import Iterable

from pyflowdata.native import lib
from ..kit import Run
from .check import Check
from .leaks import confirmed_leak, tell_found

_MOST_FAILURES = 40  # calls of which each is made to fail


def failures(check: Check) -> str:
    """Makes the n-th read or allocation fail."""
    base = check.base()
    for n in spread(base.num_reads, _MOST_FAILURES):
        _fail(check, base, "read", "PFD_IO", f"read number {n}", fail_read=n)
        _fail(
            check, base, "read", "PFD_CORRUPT_DATA", f"read number {n} short", fail_read=n,
            fail_read_with=lib.PFD_CORRUPT_DATA,
        )  # fmt: skip
    for n in spread(base.num_allocs, _MOST_FAILURES):
        _fail(check, base, "alloc", "PFD_OUT_OF_MEMORY", f"alloc number {n}", fail_alloc=n)
    _cancel(check, base)
    return f"{base.num_reads} reads and {base.num_allocs} allocations, each failing"


def _fail(check: Check, base: Run, what: str, expected: str, doing: str, **options: int) -> None:
    if not check.case(doing):
        return

    def run_rounds(rounds: int) -> Run:
        return check.base(doing=f"{doing} failing", rounds=rounds, silent=True, **options)

    run = run_rounds(6)
    tell_found(check, run, confirmed_leak(run_rounds) if run.leaks else None)
    if not run.injected or (run.succeeded and run.equals(base)):
        return
    if run.status == "PFD_OK":
        check.tell(
            f"{what}-failure-ignored",
            f"host->{what}() failed ({doing}), and the op went on and gave other data: return "
            "its status when it is not PFD_OK"
            if what == "read"
            else f"host->alloc() gave NULL ({doing}), and the op went on and gave other data: "
            "look for NULL, and fail with PFD_OUT_OF_MEMORY",
        )
    elif run.status != expected:
        check.tell(
            f"{what}-failure-status",
            f"host->{what}() failed with {expected} ({doing}), and {run.function} made "
            f"{run.status} of it ({run.message}): hand the status on, since it says what may "
            "be done about it",
        )


def _cancel(check: Check, base: Run) -> None:
    if not check.case("cancelled"):
        return
    run = check.base(cancelled=1)
    if run.status not in ("PFD_OK", "PFD_CANCELLED") or (
        run.status == "PFD_OK" and not run.equals(base)
    ):
        check.tell(
            "cancel-status",
            f"while is_cancelled() says 1, {run.function or 'the op'} gives {run.status} "
            f"({run.message}): finish as usual, or fail with PFD_CANCELLED",
        )


def spread(count: int, most: int) -> Iterable[int]:
    """Numbers from 1 to count: all, or about `most`, with the first numbers among them."""
    if count <= most:
        return range(1, count + 1)
    half = most // 2
    return sorted({*range(1, half + 1), *(1 + i * count // half for i in range(half)), count})
