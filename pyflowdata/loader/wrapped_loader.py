"""What a loader that has taken a DataLoader over uses of it, besides what programs use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .data_loader import DataLoader


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
