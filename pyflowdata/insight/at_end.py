"""PYFLOWDATA_REPORT: writes the report of each loader at its end, without a change of the program.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import Error, InvalidArgumentError, shown
from ..native import lib
from ..words.plain_text import joined

if TYPE_CHECKING:
    from .counters import CountedLoader

VARIABLE = "PYFLOWDATA_REPORT"  # "1": printed; a path: written there
_FORMS = (".html", ".json", ".txt")


def check_report_variable() -> None:
    """Raises InvalidArgumentError if PYFLOWDATA_REPORT is neither "0", "1" nor a report's path, or
    if no report can be written there."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "0", "1") and not wanted.lower().endswith(_FORMS):
        raise InvalidArgumentError(
            f"{VARIABLE} = {shown(wanted)}; it must be 1, which prints reports, 0, or a path that "
            f"ends with {joined(list(_FORMS))}"
        )
    if wanted not in ("", "0", "1"):
        _check_place(wanted)


def _check_place(path: str) -> None:
    directory, lacks = os.path.dirname(path) or os.curdir, ""
    if os.path.isdir(path):
        lacks = "it is a directory; name a file in it"
    elif not os.path.isdir(directory):
        lacks = f"there is no directory {directory}; make it first"
    elif not os.access(directory, os.W_OK | os.X_OK):
        lacks = f"this process may not write into {directory}; choose another directory"
    if lacks:
        raise InvalidArgumentError(f"{VARIABLE} = {shown(path)}; {lacks}")


def report_at_end(
    loader: object, count: Callable[[], CountedLoader]
) -> weakref.finalize[Any, Any] | None:
    """Prints or writes the report of an open loader once: when the returned function is called,
    when the loader is collected, or when the program ends, also by SIGTERM or SIGHUP if they have
    no handler.

    Args:
        count: Gives the contents of the report, and has no reference to the loader.

    Returns:
        None unless PYFLOWDATA_REPORT asks for reports.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted in ("", "0"):
        return None
    if wanted != "1":
        wanted = os.path.abspath(wanted)  # the program may go to another directory
    ends = weakref.finalize(loader, _report, count(), wanted, os.getpid())
    _ends[:] = [one for one in _ends if one.alive] + [ends]
    _await_signal()
    return ends


_ends: list[weakref.finalize[Any, Any]] = []  # of the loaders that this process has
_waiting: list[threading.Thread] = []  # one, or none


def _await_signal() -> None:
    if not _waiting:
        _waiting.append(threading.Thread(target=_end, name="pyflowdata end", daemon=True))
        _waiting[0].start()


def _end() -> None:
    """Writes the reports when a signal ends this process."""
    if lib.pfd_ending_wait():
        try:
            for ends in [*_ends]:
                ends()
            if sys.stderr is not None:
                sys.stderr.flush()
        finally:
            lib.pfd_ending_end()


os.register_at_fork(after_in_child=_waiting.clear)


def _report(counted: CountedLoader, wanted: str, pid: int) -> None:
    if os.getpid() != pid:
        return  # a forked child, which has none of the loader's threads
    try:
        counters = counted.count()
        if counters.stats["steps"] == 0:
            return  # such as a look at the first batch
        from .ranks import steps_of
        from .report import Report

        report = Report(counters, steps=steps_of(counted))
        if wanted == "1":
            if sys.stderr is None:
                return
            names = ", ".join(counters.blobs)
            rank = f", rank {counters.rank}" if counters.world_size > 1 else ""
            print(f"pyflowdata: report of DataLoader({names}){rank}\n{report}", file=sys.stderr)
        else:
            report.save(_free_path(wanted, counters.rank, counters.world_size))
    except (Error, OSError, ValueError) as failure:  # ValueError: sys.stderr is closed
        if sys.stderr is not None and not sys.stderr.closed:
            print(f"pyflowdata: no report: {failure}", file=sys.stderr)


def _free_path(wanted: str, rank: int, world_size: int) -> str:
    """The path, with the rank in its name if there are several ranks; if that file exists, also the
    number of the process, and if necessary a count.
    """
    stem, suffix = os.path.splitext(wanted)
    if world_size > 1:
        stem = f"{stem}-rank{rank}"
    tried = f"{stem}{suffix}"
    count = 0
    while os.path.exists(tried):
        count += 1
        number = "" if count == 1 else f"-{count}"
        tried = f"{stem}-{os.getpid()}{number}{suffix}"
    return tried
