"""`flow.progress`: the steps of an epoch under a bar."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..errors import InvalidArgumentError, printable, shown
from ..native import lib
from ..words.plain_text import number, percent, size
from .stats import IN_NEXT, read_fetched


# ---- A bar --------------------------------------------------------------------------------------

_REDRAW = 0.2  # seconds between two drawings


class Bar:
    """A progress bar: of tqdm if that is installed, otherwise one line that is rewritten.  If
    stderr is neither a terminal nor a notebook, it writes lines.  Use it with `with`.

    Attributes:
        due: The moment of the next drawing, as `time.monotonic()`; no `update` is needed before.
    """

    def __init__(
        self, what: str, total: int, *, done: int = 0, unit: str = "records", quiet: float = 2.0,
        pause: float = 5.0, stays: bool = False, since: float | None = None,
    ) -> None:  # fmt: skip
        """Args:
        what: The work, in a few words.
        total: The units of work; -1: not known.
        done: The units that were done before.
        unit: What is counted.
        quiet: Seconds before anything is shown; in a log, for a bar that stays, it is `pause`.
        pause: Seconds between two lines, if there is no bar.
        stays: Whether the bar is shown from the start and stays at its end; otherwise it is erased.
        since: When the work began, as `time.monotonic()`; None: now.
        """
        self._what, self._total, self._unit = what, total, unit
        self._done = self._first = done
        self._note, self._stays = "", stays
        self._bar: Any = None
        self._is_drawn = _is_terminal() or _is_notebook()
        self._is_shown, self._pause = False, pause
        now = time.monotonic()
        self._since = now if since is None else since
        is_log = stays and not self._is_drawn  # it has a line at the end in any case
        first = pause if is_log else quiet
        self.due = now + first if sys.stderr is not None else math.inf
        if stays and self._is_drawn:
            self._show(now)

    def update(self, done: int, note: str = "") -> None:
        """Sets the number of units that are done, and a note after the numbers."""
        self._done, self._note = done, note
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + (_REDRAW if self._is_drawn else self._pause)
        self._show(now)

    def _show(self, now: float) -> None:
        is_new = not self._is_shown and self._is_drawn
        if is_new:
            self._bar = self._make_bar(now - self._since)
        self._is_shown = True
        if self._bar is None:
            self._write(now)
            return
        self._bar.set_postfix_str(self._note, refresh=False)
        if self._done > self._bar.n:
            self._bar.update(self._done - self._bar.n)
        elif not is_new:  # which draws itself
            self._bar.refresh()

    def _make_bar(self, passed: float) -> Any:
        """`passed`: seconds since the work began."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a notebook without widgets has text
                tqdm = importlib.import_module("tqdm.auto" if _is_notebook() else "tqdm").tqdm
        except ImportError:
            self._is_drawn = _is_terminal()  # lines of a notebook cannot be written over
            return None
        total = self._total if self._total >= 0 else None
        bar = tqdm(
            total=total, initial=self._first, desc=self._what, unit=f" {self._unit}",
            leave=self._stays, mininterval=0, miniters=1,
        )  # fmt: skip
        bar.start_t -= passed
        return bar

    def _write(self, now: float) -> None:
        done = self._done
        share = f" ({100 * done // self._total} %)" if self._total > 0 else ""
        of = f" of {self._total:,}" if self._total >= 0 else ""
        speed = f"{number((done - self._first) / max(now - self._since, 1e-9))} a second"
        note = f", {self._note}" if self._note else ""
        line = f"pyflowdata: {self._what}: {done:,}{of} {self._unit}{share}, {speed}{note}"
        sys.stderr.write(f"\r{line}\033[K" if self._is_drawn else f"{line}\n")
        sys.stderr.flush()

    def finish(self, done: int, note: str = "") -> None:
        """Ends the bar with the last numbers."""
        self._done, self._note = done, note
        self.close()

    def close(self) -> None:
        """Ends the bar."""
        self.due = math.inf
        if sys.stderr is None:
            return
        if self._stays:
            self._show(time.monotonic())
        if self._bar is not None:
            self._bar.close()
        elif self._is_shown and self._is_drawn:
            sys.stderr.write("\n" if self._stays else "\r\033[K")
            sys.stderr.flush()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _failure: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook() -> bool:
    return "ipykernel" in sys.modules


# ---- Progress of a loader -----------------------------------------------------------------------

BatchT = TypeVar("BatchT")

_SOON = 0.1  # seconds before the first numbers
_PAUSE = 30.0  # between two lines, where there is no bar
_MEMORY = 5.0  # seconds that the smoothed numbers look back, about


class Progress(Generic[BatchT]):
    """The batches of a loader with a progress bar; `flow.progress()` makes it.  One thread iterates
    over it; each `for` loop begins at the place of the loader.
    """

    def __init__(
        self, loader: Iterable[BatchT], epochs: int | None, what: str | None, show: bool
    ) -> None:
        """Takes the arguments of `progress()`, checked."""
        self._loader: Any = loader
        self._epochs, self._what, self._shows = epochs, what, show
        self._values: dict[str, object] = {}

    def set_postfix(self, **values: object) -> None:
        """Sets values to show after the numbers, such as loss=0.31, from the next drawing on; they
        are formatted only then.
        """
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
        meter, clock = _Meter(self._loader.data_loader), time.monotonic
        begin = clock()  # the first iter() of a loader takes a while
        batches = iter(self._loader)
        place = self._loader.state_dict()  # the iterator is where this epoch begins
        done = place["position"]
        if not self._shows or getattr(batches, "is_measured", False):
            yield from batches
            return
        what = printable(self._what or f"epoch {place['epoch']}")
        bar = Bar(
            what, self._steps(), done=done, unit="steps", quiet=_SOON, pause=_PAUSE, stays=True,
            since=begin,
        )  # fmt: skip
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
    """Measures the records per second of this rank, and the share of the time that its thread was
    in the loader, waiting for a batch or working on it; in a cold epoch also the fetched and the
    missing bytes.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._is_cold = self._missing() > 0
        self._fetched = read_fetched()["bytes"]
        self._start = self._last = self._read()
        self._sums = (0.0, 0.0, 0.0)  # the last seconds; later ones weigh more

    def _read(self) -> tuple[float, float, float]:
        stats = self._loader.stats()
        waited = sum(stats[f"{name}_seconds"] for name in IN_NEXT)
        return time.monotonic(), stats["records"], waited

    def lately(self) -> str:
        """The rates of the last seconds."""
        now = self._read()
        passed = [new - old for new, old in zip(now, self._last, strict=True)]
        self._last = now
        kept = math.exp(-passed[0] / _MEMORY)
        seconds, records, waited = (
            kept * old + new for old, new in zip(self._sums, passed, strict=True)
        )
        self._sums = seconds, records, waited
        return _rates(seconds, records, waited) + self._cold()

    def _missing(self) -> int:
        opened = getattr(self._loader, "_opened", None)  # a program's own loader has none
        return int(lib.pfd_loader_missing_bytes(opened.handle)) if opened else 0

    def _cold(self) -> str:
        """The text for a cold epoch: other processes may fetch, too, and the epoch need not read
        everything.
        """
        if not self._is_cold:
            return ""
        fetched = read_fetched()["bytes"] - self._fetched
        return f", cold: {size(fetched)} fetched, {size(self._missing())} not there"

    def overall(self) -> str:
        """The rates since the start."""
        seconds, records, waited = (
            new - old for new, old in zip(self._read(), self._start, strict=True)
        )
        return _rates(seconds, records, waited) + self._cold()


def _rates(seconds: float, records: float, waited: float) -> str:
    seconds = max(seconds, 1e-9)
    return f"{number(records / seconds)} records/s, waits {percent(min(1.0, waited / seconds))}"


def _short(value: object) -> str:
    """The value on one line; an exception of the value's class does not end the training."""
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
    """Iterates over a loader, with a progress bar on stderr.  The bar shows the epoch, the step and
    the number of steps, records per second of this rank, and the share of the time that the
    training loop spends in the loader: over the last seconds, and at the end over the epoch.  If
    the cache lacks blocks of remote files when an epoch starts, the epoch is cold: the bar also
    shows the fetched bytes, and the bytes that are not in the cache.

        for batch in flow.progress(loader):
            ...

    After `load_state_dict()` the bar begins at the step of the loader.  tqdm draws the bar if it is
    installed (`pip install pyflowdata[tqdm]`); otherwise the bar is a line.  If stderr is not a
    terminal, a line is written every 30 seconds and at the end.

    Args:
        loader: A `DataLoader`, `TorchLoader` or `JaxLoader`.
        epochs: The number of epochs, from the place of the loader on, each with a bar; None:
            without end.
        desc: Text in front of the bar, in place of the epoch.
        show: Whether to show a bar; None: only on rank 0.  Under `pyflowdata speed`, whose steps
            belong to no epoch, there is no bar.

    Raises:
        InvalidArgumentError: `loader` is not a loader, or another argument has a wrong type.
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
