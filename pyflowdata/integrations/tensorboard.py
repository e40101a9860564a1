"""The numbers of a loader as curves in TensorBoard, beside those of training.

    curves = LoaderCurves(SummaryWriter(), loader)
    for step, batch in enumerate(loader):
        ...
        if step % 100 == 0:
            curves.write(step)

The writer is that of torch, tensorboardX or Lightning: any object with `add_scalar`.  This module
imports none of them.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from .. import DataLoader, InvalidArgumentError
from ..errors import shown
from ..insight.metrics import Meter, Sample

__all__ = ["LoaderCurves"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Writer(Protocol):
    """What writes curves."""

    def add_scalar(self, tag: str, value: float, step: int, /) -> Any: ...


class LoaderCurves:
    """Writes what a loader did since the last call: sums as rates, levels as they are.

    A tag is `pyflowdata/records_per_second`, or `pyflowdata/loop/wait`: seconds a second, so that
    the curves of a `loop` are the shares of the time of the training thread, and those of an `op`
    the threads in it.  Bytes are `pyflowdata/read_bytes_per_second` and `pyflowdata/memory_bytes`.
    """

    def __init__(self, writer: Writer, loader: Any) -> None:
        """Args:
            writer: Such as a SummaryWriter of torch.
            loader: A DataLoader, TorchLoader or JaxLoader.

        Raises:
            InvalidArgumentError: The writer has no add_scalar(), or the loader is none.
        """
        if not callable(getattr(writer, "add_scalar", None)):
            raise InvalidArgumentError(
                f"writer = {shown(writer)}; it must have add_scalar(), as a SummaryWriter of torch "
                "does"
            )
        if not isinstance(getattr(loader, "data_loader", None), DataLoader):
            raise InvalidArgumentError(f"loader = {shown(loader)}; it must be a DataLoader")
        self._writer, self._loader, self._meter = writer, loader, Meter()
        self._before, self._at = self._read(), time.monotonic()

    def _read(self) -> dict[str, tuple[Sample, float]]:
        counters = self._loader.data_loader.report().counters
        found = {}
        for sample in self._meter.read(counters):
            kinds = [text for key, text in sample.labels if key != "rank"]
            if sample.metric.base != "about":
                found["/".join(["pyflowdata", sample.metric.base, *kinds])] = sample, sample.value
        return found

    def write(self, step: int) -> None:
        """Writes all curves at a step of training."""
        now, moment = self._read(), time.monotonic()
        elapsed = max(moment - self._at, 1e-9)
        for tag, (sample, value) in now.items():
            unit = "_bytes" if sample.metric.unit == "By" else ""
            if sample.metric.is_sum:
                before = self._before[tag][1] if tag in self._before else 0.0
                value = (value - before) / elapsed
                unit += "" if sample.metric.unit == "s" else "_per_second"
            self._writer.add_scalar(tag + unit, value, step)
        self._before, self._at = now, moment
