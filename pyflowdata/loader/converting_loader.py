"""The base of loaders that take a DataLoader over and give its batches in another form."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeVar, overload

from .data_loader import DataLoader
from .loader import Loader

if TYPE_CHECKING:
    from ..insight.report import RankReport, Report

BatchT = TypeVar("BatchT", covariant=True)


class ConvertingLoader(Loader[BatchT]):
    """The base of loaders for other libraries.

    Attributes:
        loader: The DataLoader.
    """

    loader: DataLoader[Any]

    @property
    def data_loader(self) -> DataLoader[Any]:
        """The DataLoader, as `loader`."""
        return self.loader

    def __length_hint__(self) -> int:
        return self.data_loader.__length_hint__()

    def __len__(self) -> int:
        """As len() of the DataLoader."""
        return len(self.loader)

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
            gather: Every process of torch.distributed or jax.distributed must call this, and each
                gets a `RankReport` of all ranks.  Without these packages the report has one rank.
        """
        report = self.loader.report(since=since)
        return self._gathered(report) if gather else report

    @abstractmethod
    def _gathered(self, report: Report) -> RankReport:
        """The reports of all ranks; every process calls this."""

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: it has taken over a DataLoader, "
            f"with threads and open files; save state_dict(), make another loader, and load the "
            f"state there"
        )
