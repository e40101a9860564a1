"""The records that a loader left out."""

from __future__ import annotations

from ..errors import Error
from ..native import CData, exception, lib, new_error


def read_skipped(handle: CData) -> list[Error]:
    """As exceptions; the latest 1000, of a batch at most 100."""
    found: list[Error] = []
    err = new_error()
    while lib.pfd_loader_get_skipped(handle, len(found), err) == lib.PFD_OK:
        found.append(exception(err.status, err))
    return found
