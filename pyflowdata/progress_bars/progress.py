"""`flow.progress`: the steps of an epoch under a bar."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from ..errors import InvalidArgumentError, shown
from ..plain_text import printable
from ..plain_text import percent
from .bar import Bar

BatchT = TypeVar("BatchT")

_SOON = 0.1  # seconds before the first numbers
_PAUSE = 30.0  # between two lines, where there is no bar
_MEMORY = 5.0  # seconds that the smoothed numbers look back, about


class Progress(Generic[BatchT]):
    """The batches of a loader under a bar: `flow.progress()` makes one.  One thread iterates over
    it; each `for` loop begins where the loader is."""

    def __init__(
        self, loader: Iterable[BatchT], epochs: int | None, what: str | None, show: bool
    ) -> None:
        """As `progress()`, checked."""
        self._loader: Any = loader
        self._epochs, self._what, self._shows = epochs, what, show
        self._values: dict[str, object] = {}

    def set_postfix(self, **values: object) -> None:
        """Values to be shown after the numbers, such as loss=0.31, from the next drawing on; they
        are formatted only then."""
        self._values = values

    def __len__(self) -> int:
        """Steps of an epoch.

        Raises:
            TypeError: The loader does not know them.
        """
        return len(self._loader)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[BatchT]:
        for _ in itertools.count() if self._epochs is None else range(self._epochs):
            steps = 0
            for batch in self._one_epoch():
                steps += 1
                yield batch
            if steps == 0 and self._epochs is None:
                raise InvalidArgumentError(
                    "progress(epochs=None) of epochs without batches would never end"
                )

    def _one_epoch(self) -> Iterator[BatchT]:
        batches = iter(self._loader)
        place = self._loader.state_dict()  # of the iterator: where this epoch begins
        done = place["position"]
        if not self._shows or getattr(batches, "is_measured", False):
            yield from batches
            return
        what = printable(self._what or f"epoch {place['epoch']}")
        meter, clock = _Meter(self._loader.data_loader), time.monotonic
        bar = Bar(
            what, self._steps(), done=done, unit="steps", quiet=_SOON, pause=_PAUSE, stays=True
        )
        try:
            for batch in batches:
                done += 1
                if clock() >= bar.due:
                    bar.update(done, self._note(meter.lately()))
                yield batch
        finally:
            bar.finish(done, self._note(meter.overall()))

    def _steps(self) -> int:
        try:
            return len(self._loader)
        except TypeError:
            return -1

    def _note(self, measured: str) -> str:
        return ", ".join([measured, *(f"{k}={_short(v)}" for k, v in self._values.items())])


class _Meter:
    """Records a second of this rank, and the share of the time that its thread was in the loader,
    waiting for a batch or working on it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._start = self._last = self._read()
        self._sums = (0.0, 0.0, 0.0)  # of the last seconds: later ones weigh more

    def _read(self) -> tuple[float, float, float]:
        stats = self._loader.stats()
        waited = stats["wait_seconds"] + stats["help_seconds"]
        return time.monotonic(), stats["records"], waited

    def lately(self) -> str:
        """Of the last seconds."""
        now = self._read()
        passed = [new - old for new, old in zip(now, self._last, strict=True)]
        self._last = now
        kept = math.exp(-passed[0] / _MEMORY)
        seconds, records, waited = (
            kept * old + new for old, new in zip(self._sums, passed, strict=True)
        )
        self._sums = seconds, records, waited
        return _rates(seconds, records, waited)

    def overall(self) -> str:
        """Since the start."""
        seconds, records, waited = (
            new - old for new, old in zip(self._read(), self._start, strict=True)
        )
        return _rates(seconds, records, waited)


def _rates(seconds: float, records: float, waited: float) -> str:
    seconds = max(seconds, 1e-9)
    return f"{records / seconds:,.0f} records/s, waits {percent(min(1.0, waited / seconds))}"


def _short(value: object) -> str:
    """On one line.  What a value's own class raises does not end the training."""
    try:
        return f"{float(value):.4g}"  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001
        pass
    try:
        return printable(str(value))
    except Exception:  # noqa: BLE001
        return f"<{type(value).__name__} without a str()>"


def progress(
    loader: Iterable[BatchT],
    *,
    epochs: int | None = 1,
    desc: str | None = None,
    show: bool | None = None,
) -> Progress[BatchT]:
    """The batches of a loader's next epoch, as iterating over the loader gives them, under a bar on
    stderr: the epoch, the step and how many there are, records a second of this rank, and the share
    of the time that the training loop spends in the loader, over the last seconds and at the end
    over the epoch.

        for batch in flow.progress(loader):
            ...

    After `load_state_dict()` the bar begins at the step where the loader is.  It is drawn by tqdm
    (`pip install pyflowdata[tqdm]`) where that is installed; else it is a line.  Where stderr is
    no terminal, a line is written every 30 seconds and at the end.

    Args:
        loader: A `DataLoader`, `TorchLoader` or `JaxLoader`.
        epochs: How many from where the loader is, each with a bar; None: without end.
        desc: Words in front of the bar in place of the epoch.
        show: Whether there is a bar; None: on rank 0 alone.  There is none under
            `pyflowdata speed`, whose steps belong to no epoch.

    Raises:
        InvalidArgumentError: It is not a loader, or another argument is of a wrong type.
    """
    inner: Any = getattr(loader, "data_loader", None)
    if inner is None:
        raise InvalidArgumentError(
            f"progress({shown(loader)}): give a DataLoader, or a TorchLoader or JaxLoader; of "
            "other things tqdm shows the progress"
        )
    if epochs is not None and (type(epochs) is not int or epochs < 0):
        raise InvalidArgumentError(f"epochs = {shown(epochs)}; it must be 0, more, or None")
    if desc is not None and not isinstance(desc, str):
        raise InvalidArgumentError(f"desc = {shown(desc)}; it must be a str or None")
    if show is not None and type(show) is not bool:
        raise InvalidArgumentError(f"show = {shown(show)}; it must be a bool or None")
    is_first = all(reader.rank == 0 for reader in inner.readers)
    return Progress(loader, epochs, desc, is_first if show is None else show)
