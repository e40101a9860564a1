"""What an op may answer where the data is damaged."""

from __future__ import annotations

from ..kit import Run
from .check import Check


def tell_damage_status(check: Check, run: Run, doing: str) -> None:
    """Tells of a run over damaged data that neither passed nor refused it as it must."""
    if run.status == "PFD_OK" or run.is_refused:
        return
    check.tell(
        "damage-status",
        f"with {doing}, {run.function} gives {run.status} ({run.message}): damaged data is "
        "PFD_CORRUPT_DATA, which on_error can pass over; PFD_IO is for the file system, "
        "the others stop the program",
    )
