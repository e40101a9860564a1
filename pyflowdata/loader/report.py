"""What a loader counted, and the records that it left out."""

from __future__ import annotations

from ..errors import Error
from ..native import CData, check, exception, ffi, lib, new_error, new_struct


def read_stats(handle: CData) -> dict[str, float]:
    """The counters of a loader, with times in seconds."""
    stats = new_struct("pfd_stats")
    check(lib.pfd_loader_get_stats(handle, stats), new_error())
    found: dict[str, float] = {}
    for name, _ in ffi.typeof(stats).item.fields:
        if name.endswith("_ns"):
            found[name.removesuffix("_ns") + "_seconds"] = getattr(stats, name) / 1e9
        elif name != "struct_size":
            found[name] = getattr(stats, name)
    return found


def read_skipped(handle: CData) -> list[Error]:
    """The records that were left out, as exceptions; the latest 1000, of a batch at most 100."""
    found: list[Error] = []
    err = new_error()
    while lib.pfd_loader_get_skipped(handle, len(found), err) == lib.PFD_OK:
        found.append(exception(err.status, err))
    return found
