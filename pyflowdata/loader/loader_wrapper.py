"""A loader that has taken a DataLoader over, and gives its batches in another form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import Error
from .any_loader import AnyLoader
from .data_loader import DataLoader

if TYPE_CHECKING:
    from ..reports.report import Report
    from ..reports.tuning import Tuning
    from ..stalls.watchdog import Stall

BatchT = TypeVar("BatchT", covariant=True)


class LoaderWrapper(AnyLoader[BatchT]):
    """What is the same for every one: the counters of its DataLoader.

    Attributes:
        loader: The DataLoader.
    """

    loader: DataLoader[Any]

    @property
    def data_loader(self) -> DataLoader[Any]:
        """The DataLoader, as `loader`."""
        return self.loader

    def stats(self) -> dict[str, float]:
        """As DataLoader.stats()."""
        return self.loader.stats()

    def report(self, *, since: Report | None = None) -> Report:
        """As DataLoader.report(), with the copies of batches to devices."""
        return self.loader.report(since=since)

    @property
    def tuning(self) -> Tuning | None:
        """As DataLoader.tuning."""
        return self.loader.tuning

    @property
    def skipped(self) -> list[Error]:
        """As DataLoader.skipped."""
        return self.loader.skipped

    @property
    def last_stall(self) -> Stall | None:
        """As DataLoader.last_stall."""
        return self.loader.last_stall
