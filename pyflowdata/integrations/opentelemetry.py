"""The numbers of a loader as instruments of OpenTelemetry.

    observe(metrics.get_meter("train"), loader)

The instruments are asked by whatever reader of the SDK exports them; nothing happens in between.
Names have dots, `pyflowdata.loop` in the unit "s", and become those of /metrics in Prometheus.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

from .. import DataLoader, InvalidArgumentError
from ..errors import shown
from ..insight.metrics import METRICS, Meter, Metric, Sample

__all__ = ["observe"]

_SAME_SECONDS = 0.05  # the instruments of one collection share one reading


def __dir__() -> list[str]:
    return sorted(__all__)


class _Observation(NamedTuple):
    """As opentelemetry.metrics.Observation."""

    value: float
    attributes: dict[str, str]
    context: None = None


class _Readings:
    """Reads a loader that may be collected meanwhile."""

    def __init__(self, loader: Any) -> None:
        self._loader, self._meter = weakref.ref(loader.data_loader), Meter()
        self._found: list[Sample] = []
        self._at = 0.0

    def of(self, metric: Metric) -> Iterable[_Observation]:
        loader, now = self._loader(), time.monotonic()
        if loader is None:
            return
        if now - self._at > _SAME_SECONDS:
            self._found = self._meter.read(loader.report().counters)
            self._at = now
        for sample in self._found:
            if sample.metric is metric:
                yield _Observation(sample.value, dict(sample.labels))


def observe(meter: Any, loader: Any) -> None:
    """Makes an observable instrument of each number of a loader.

    Args:
        meter: An `opentelemetry.metrics.Meter`.
        loader: A DataLoader, TorchLoader or JaxLoader.  The instruments do not keep it alive: they
            have no values after it is gone.  Several loaders of one process need a meter each.

    Raises:
        InvalidArgumentError: The meter makes no instruments, or the loader is none.
    """
    if not callable(getattr(meter, "create_observable_counter", None)):
        raise InvalidArgumentError(
            f"meter = {shown(meter)}; it must be a Meter, as opentelemetry.metrics.get_meter() "
            "gives"
        )
    if not isinstance(getattr(loader, "data_loader", None), DataLoader):
        raise InvalidArgumentError(f"loader = {shown(loader)}; it must be a DataLoader")
    readings = _Readings(loader)
    for metric in METRICS:
        create = (
            meter.create_observable_counter if metric.is_sum else meter.create_observable_gauge
        )

        def ask(_options: object, metric: Metric = metric) -> Iterable[_Observation]:
            return readings.of(metric)

        create(f"pyflowdata.{metric.base}", [ask], unit=metric.unit, description=metric.doc)
