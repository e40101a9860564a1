"""What is said on stderr while all records of a data set are read."""

from __future__ import annotations

import importlib
import sys
import time
from types import TracebackType
from typing import Any

_QUIET = 2.0  # seconds before anything is shown
_PAUSE = 5.0  # between two lines, where there is no terminal
_REDRAW = 0.2  # on one


class Progress:
    """A bar of tqdm where that is installed, else a line that is written again and again; lines
    where stderr is not a terminal.  What takes less than two seconds shows nothing.

    Use it with `with`.
    """

    def __init__(self, what: str, total: int) -> None:
        """Args: what is done, in a few words; the records, -1 if that is not known."""
        self._what, self._total = what, total
        self._bar: Any = None
        self._since = time.monotonic()
        self._next = self._since + _QUIET
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = False

    def update(self, done: int) -> None:
        """So many records were read."""
        now = time.monotonic()
        if now < self._next or sys.stderr is None:
            return
        if not self._is_shown and self._is_terminal:
            self._bar = self._make_bar()
        self._is_shown = True
        self._next = now + (_REDRAW if self._is_terminal else _PAUSE)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        else:
            self._write(done, now)

    def _make_bar(self) -> Any:
        try:
            tqdm = importlib.import_module("tqdm").tqdm
        except ImportError:
            return None
        total = self._total if self._total >= 0 else None
        return tqdm(total=total, desc=self._what, unit=" records", leave=False)

    def _write(self, done: int, now: float) -> None:
        share = f" ({100 * done // self._total} %)" if self._total > 0 else ""
        of = f" of {self._total:,}" if self._total >= 0 else ""
        speed = f"{done / (now - self._since):,.0f} a second"
        line = f"pyflowdata: {self._what}: {done:,}{of} records{share}, {speed}"
        end = "" if self._is_terminal else "\n"
        sys.stderr.write(("\r" if self._is_terminal else "") + line + end)
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _failure: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._bar is not None:
            self._bar.close()
        elif self._is_shown and self._is_terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
