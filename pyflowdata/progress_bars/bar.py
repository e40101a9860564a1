"""What is said on stderr while something takes long: a bar, or lines."""

from __future__ import annotations

import importlib
import math
import sys
import time
import warnings
from types import TracebackType
from typing import Any

_REDRAW = 0.2  # seconds between two drawings


class Bar:
    """A bar of tqdm where that is installed, else a line that is written again and again; lines
    where stderr is neither a terminal nor a notebook's.

    Use it with `with`.

    Attributes:
        due: When `update` has something to do, as `time.monotonic()`; until then it need not be
            called.
    """

    def __init__(
        self, what: str, total: int, *, done: int = 0, unit: str = "records", quiet: float = 2.0,
        pause: float = 5.0, stays: bool = False,
    ) -> None:  # fmt: skip
        """Args:
        what: Is done, in a few words.
        total: Records, or other units; -1 if that is not known.
        done: How many of them were done before.
        unit: What is counted.
        quiet: Seconds before anything is shown.
        pause: Seconds between two lines, where there is no bar.
        stays: The bar is there from the start, and its end stays there; otherwise it is wiped out.
        """
        self._what, self._total, self._unit = what, total, unit
        self._done = self._first = done
        self._note, self._stays = "", stays
        self._bar: Any = None
        self._is_drawn = _is_terminal() or _is_notebook()
        self._is_shown, self._pause = False, pause
        self._since = time.monotonic()
        self.due = self._since + quiet if sys.stderr is not None else math.inf
        if stays and self._is_drawn:
            self._show(self._since)

    def update(self, done: int, note: str = "") -> None:
        """So many were done, those before included; `note` is shown after the numbers."""
        self._done, self._note = done, note
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + (_REDRAW if self._is_drawn else self._pause)
        self._show(now)

    def _show(self, now: float) -> None:
        is_new = not self._is_shown and self._is_drawn
        if is_new:
            self._bar = self._make_bar()
        self._is_shown = True
        if self._bar is None:
            self._write(now)
            return
        self._bar.set_postfix_str(self._note, refresh=False)
        if self._done > self._bar.n:
            self._bar.update(self._done - self._bar.n)
        elif not is_new:  # which draws itself
            self._bar.refresh()

    def _make_bar(self) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a notebook without widgets: it has text
                tqdm = importlib.import_module("tqdm.auto" if _is_notebook() else "tqdm").tqdm
        except ImportError:
            self._is_drawn = _is_terminal()  # lines of a notebook cannot be written over
            return None
        total = self._total if self._total >= 0 else None
        return tqdm(
            total=total, initial=self._first, desc=self._what, unit=f" {self._unit}",
            leave=self._stays, mininterval=0, miniters=1,
        )  # fmt: skip

    def _write(self, now: float) -> None:
        done = self._done
        share = f" ({100 * done // self._total} %)" if self._total > 0 else ""
        of = f" of {self._total:,}" if self._total >= 0 else ""
        speed = f"{(done - self._first) / max(now - self._since, 1e-9):,.0f} a second"
        note = f", {self._note}" if self._note else ""
        line = f"pyflowdata: {self._what}: {done:,}{of} {self._unit}{share}, {speed}{note}"
        sys.stderr.write(f"\r{line}\033[K" if self._is_drawn else f"{line}\n")
        sys.stderr.flush()

    def finish(self, done: int, note: str = "") -> None:
        """The end, with the last numbers."""
        self._done, self._note = done, note
        self.close()

    def close(self) -> None:
        """The end of the bar."""
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
