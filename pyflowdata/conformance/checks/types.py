"""Inputs of other types than those of the sample."""

from __future__ import annotations

from .check import Check


def types(check: Check) -> str:
    """Inputs of other types than those of the sample."""
    run = check.kit.run(types=1, twice=1)
    return f"{run.num_records} types of inputs offered, rows made up of those accepted"
