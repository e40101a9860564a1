"""Memory and descriptors over many rounds."""

from __future__ import annotations

from ..kit import Run
from .check import Check

LEAK_ROUNDS = 65
LEAK_REPEATS = 3  # what grows each time is a leak


def grows(check: Check, *, doing: str = "", **options: int) -> Run:
    """A silent run over many rounds; a leak that it has found was there each time."""
    for _ in range(LEAK_REPEATS):
        run = check.base(doing=doing, silent=True, rounds=LEAK_ROUNDS, **options)
        if not any(id.startswith("leaks-") for id, _ in run.found):
            break
    return run


def leaks(check: Check) -> str:
    """Memory and descriptors over many rounds."""
    run = grows(check, most_records=64)
    for id, text in run.found:
        check.tell(id, text)
    return f"{LEAK_ROUNDS} times opened and closed"
