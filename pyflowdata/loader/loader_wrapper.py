"""A loader that has taken a DataLoader over, and gives its batches in another form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeVar, overload

from ..errors import Error
from .any_loader import AnyLoader
from .data_loader import DataLoader

if TYPE_CHECKING:
    from ..insight.report import RankReport, Report
    from ..insight.stalls import Stall
    from ..insight.tuning import Tuning


# ---- What they use of a DataLoader --------------------------------------------------------------

# What a loader that has taken a DataLoader over uses of it, besides what programs use.

class WrappedLoader:
    """A DataLoader as its wrapper sees it.

    Attributes:
        form: Makes what a batch is, such as a dict, of a list with one thing for each blob.
        shows: shows(what): in a `with` block a trace shows that this thread does so with a batch.
    """

    form: Callable[[list[Any]], Any]
    shows: Callable[[str], AbstractContextManager[None]]

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._core = loader._core
        self.form, self.shows = self._core.form, self._core.observed.shows

    # ---- Where it is --------------------------------------------------------------------------

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and step of the batch after the last one that it delivered, as in state_dict()."""
        return self._core.cursor.consumed()

    @property
    def started(self) -> int | None:
        """The last started epoch; None: it was moved, and the next iterator begins at `place`."""
        return self._core.cursor.started

    @property
    def is_shared(self) -> bool:
        """Whether other loaders have steps of the same epoch, which may be left after its own."""
        return self._core.share.count > 1

    def stay_in_epoch(self) -> None:
        """Where it was moved to the end of a stream, the next iterator has no batch; else it would
        go on with the next epoch."""
        self._core.cursor.stays_in_epoch = self.started is None

    def state_at(self, epoch: int, step: int) -> dict[str, Any]:
        """As DataLoader.state_dict(), of the place before this step."""
        return self._core.state_at(epoch, step)

    # ---- Reports ------------------------------------------------------------------------------

    def drop_report_at_end(self) -> None:
        """PYFLOWDATA_REPORT is not about this loader."""
        self._core.observed.drop_report_at_end()


# ---- The base of loaders in other forms ---------------------------------------------------------


BatchT = TypeVar("BatchT", covariant=True)


class LoaderWrapper(AnyLoader[BatchT]):
    """What is the same for every one: the counters of its DataLoader, and reports.

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

    @overload
    def report(self, *, since: Report | None = ..., gather: Literal[False] = ...) -> Report: ...

    @overload
    def report(self, *, since: Report | None = ..., gather: Literal[True]) -> RankReport: ...

    def report(
        self, *, since: Report | None = None, gather: bool = False
    ) -> Report | RankReport:
        """As DataLoader.report(), with the copies of batches to devices.

        Args:
            since: An earlier report of this process.
            gather: Every process of torch.distributed or jax.distributed calls this, and each gets
                a `RankReport` of all ranks; without these, of one rank.
        """
        report = self.loader.report(since=since)
        return self._gathered(report) if gather else report

    @abstractmethod
    def _gathered(self, report: Report) -> RankReport:
        """The reports of all ranks; every process calls this."""

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: it has taken over a DataLoader, "
            "with threads and open files; save state_dict(), make another one and load it there"
        )

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
