"""What is seen of a loader besides batches: counters, reports, a trace, stalls, skipped records.

Nothing here is done in the steps of a loader, and nothing changes its batches or their order.
"""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

from ..errors import Error, InvalidArgumentError, shown
from ..insight.at_end import report_at_end
from ..insight.stats import read_stats
from ..native import CData, exception, lib, new_error
from ..nodes import Blob
from .epochs import Cursor
from .state import Reader

if TYPE_CHECKING:
    from ..insight.counters import CountedLoader, DataFacts
    from ..insight.report import Report
    from ..insight.stalls import Stall, Wait
    from ..insight.trace import Trace
    from ..insight.tuning import Tuning


# ---- Skipped records ----------------------------------------------------------------------------

# The records that a loader left out.

def read_skipped(handle: CData) -> list[Error]:
    """As exceptions; the latest 1000, of a batch at most 100."""
    found: list[Error] = []
    err = new_error()
    while lib.pfd_loader_get_skipped(handle, len(found), err) == lib.PFD_OK:
        found.append(exception(err.status, err))
    return found


# ---- Observation --------------------------------------------------------------------------------


_NOTHING = contextlib.nullcontext()


def _check_count(name: str, value: object) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value < float("inf"):  # type: ignore[operator]
        raise InvalidArgumentError(f"{name} = {shown(value)}; it must be a number from 0 on")


class Observed:
    """What is seen of one loader.  It has no reference to the LoaderCore, which has this.

    Attributes:
        trace_on: The trace that is on.
    """

    def __init__(self, handle: CData, blobs: tuple[Blob, ...], readers: tuple[Reader, ...]) -> None:
        self._handle, self._blobs, self._readers = handle, blobs, readers
        self.trace_on: Trace | None = None
        self._wait: Wait | None = None  # from the first epoch on, if stalls are watched for
        self._waits: list[Wait] = []  # of it, for reports
        self._at_end: weakref.finalize[Any, Any] | None = None

    # ---- Counters -----------------------------------------------------------------------------

    def stats(self) -> dict[str, float]:
        """As `DataLoader.stats`."""
        return read_stats(self._handle)

    def tuning(self) -> Tuning | None:
        """As `DataLoader.tuning`."""
        from ..insight.tuning import read_tuning

        return read_tuning(self._handle)

    def skipped(self) -> list[Error]:
        """As `DataLoader.skipped`."""
        return read_skipped(self._handle)

    # ---- Reports ------------------------------------------------------------------------------

    @functools.cached_property
    def _counted(self) -> CountedLoader:
        from ..insight.counters import CountedLoader

        return CountedLoader(self._handle, self._blobs, self._readers, waits=self._waits)

    def report(self, since: Report | None, describe_data: Callable[[], DataFacts]) -> Report:
        """As `DataLoader.report`; `describe_data` is called if the report says more of the data."""
        from ..insight.report import Report

        report = Report(self._counted.count(), describe_data)
        return report if since is None else report.since(since)

    def count_copy(self, seconds: float, size: int, device: str, overlaps: bool) -> None:
        """As `DataLoader.count_copy`."""
        _check_count("seconds", seconds)
        _check_count("size", size)
        if not isinstance(device, str):
            raise InvalidArgumentError(f"device = {shown(device)}; it must be a str")
        copies = self._counted.ahead if overlaps else self._counted.hand_over
        copies.device = device
        copies.batches += 1
        copies.bytes += size
        copies.seconds += seconds

    def report_at_end_of(self, loader: object) -> None:
        """Has PYFLOWDATA_REPORT obeyed at the end of this LoaderCore."""
        self._at_end = report_at_end(loader, lambda: self._counted)

    def drop_report_at_end(self) -> None:
        """PYFLOWDATA_REPORT is not about this loader."""
        if self._at_end is not None:
            self._at_end.detach()

    # ---- A trace ------------------------------------------------------------------------------

    def trace(self, path: str | os.PathLike[str], memory: int) -> Trace:
        from ..insight.trace import Trace

        return Trace(self._handle, path, memory, self)

    def shows(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Shows in a trace that this thread does something with a batch in a `with` block."""
        trace = self.trace_on  # another thread may end it
        return _NOTHING if trace is None else trace.span(what)

    # ---- Stalls -------------------------------------------------------------------------------

    def watch(self, loader: object) -> None:
        """Has the waits of this LoaderCore watched, from its first iterator on."""
        if self._wait is None:
            from ..insight.stalls import begin

            self._wait = begin(loader)
            if self._wait is not None:
                self._waits.append(self._wait)

    @property
    def stall(self) -> Stall | None:
        return None if self._wait is None else self._wait.stall

    def raise_stall(self, cursor: Cursor) -> None:
        """In next(): raises a StallWarning about this batch that a filter has made an error."""
        if self._wait is not None and self._wait.failure is not None:
            self._wait.raise_failure(*cursor.next())

    # ---- The end ------------------------------------------------------------------------------

    def end(self) -> None:
        """Before the loader is closed.

        Raises:
            FileError: A trace cannot be written; the rest is done.
        """
        trace = self.trace_on
        try:
            if trace is not None:
                trace.end()
        finally:
            if self._wait is not None:
                self._wait.end()

    def report_end(self) -> None:
        """After the loader was closed."""
        if self._at_end is not None:
            self._at_end()
