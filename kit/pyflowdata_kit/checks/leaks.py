"""Looks for leaks of memory and descriptors over many rounds."""

from __future__ import annotations

from collections.abc import Callable

from ..kit import Run
from ..causes import causes_of
from .check import Check

LEAK_ROUNDS = 65
# Memory of the C library grows and shrinks by itself, so one run can hide a leak, or show one that
# does not exist.
_TRIES, _ENOUGH = 5, 3


def confirmed_leak(run_rounds: Callable[[int], Run | None]) -> Run | None:
    """Returns a run over many rounds that shows a leak, if most of several runs show a leak;
    otherwise None.

    Args:
        run_rounds: Runs this many rounds, and reports no findings.
    """
    shown: list[Run] = []
    for tried in range(1, _TRIES + 1):
        run = run_rounds(LEAK_ROUNDS)
        if run is not None and run.leaks:
            shown.append(run)
        if len(shown) == _ENOUGH:
            return run
        if tried - len(shown) > _TRIES - _ENOUGH:
            break
    return None


def tell_found(check: Check, run: Run, leak: Run | None) -> None:
    """Reports the findings of a run, but leaks only if confirmed_leak() found them."""
    others = [one for one in run.found if one not in run.leaks]
    for id, text in others:
        check.tell(id, text)
    for id, text in leak.leaks if leak else ():  # calls that fail: close() was checked
        check.tell(id, text, likely=causes_of(id)[::-1] if run.injected else ())


def leaks(check: Check) -> str:
    """Looks for leaks of memory and descriptors over many rounds."""

    def run_rounds(rounds: int) -> Run:
        return check.base(silent=True, rounds=rounds, most_records=64)

    runs = [run_rounds(LEAK_ROUNDS) for _ in range(2)]
    leak = confirmed_leak(run_rounds) if any(run.leaks for run in runs) else None
    tell_found(check, runs[0], leak)
    return f"{LEAK_ROUNDS} times opened and closed"
