"""`pyflowdata check --watch`: checks again whenever a file is saved."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..report import Report
from ..recompiled.compiling import BuildError, MissingToolError
from pyflowdata.errors import Error
from pyflowdata.cli.output import say
from pyflowdata.cli.usage import UsageError

_POLL = 0.2  # seconds between two looks at the files
_MOST_FILES = 2000  # of the sample, that are looked at
_CLEAR = "\033[H\033[2J\033[3J"

_Stamps = dict[str, tuple[int, int, int]]  # by path: time of change, size and number


def watch(
    watched: Callable[[], Sequence[Path]],
    check: Callable[[bool, bool], Report],
    kinds: Sequence[bool],
) -> int:
    """Checks now and after each change, until Ctrl-C.

    Args:
        watched: The files and folders to look at; asked again for each look, as there may be more.
        check: Checks; is told whether quickly, and whether to build the plugin before.
        kinds: The checks of one round, quick ones or not: each runs if the one before passes.

    Returns:
        0: the last round passed; 1: it did not.

    Raises:
        UsageError: The first round was called wrongly.
    """
    passed = False
    try:
        for number in itertools.count():
            stamps = _stamps(watched())  # before: what is saved meanwhile is checked next
            _clear(number)
            try:
                passed = _one_round(check, kinds)
            except UsageError as failure:
                if number == 0:
                    raise
                passed = False
                say(f"not checked: {failure}")
            count = "1 file is" if len(stamps) == 1 else f"{len(stamps)} files are"
            say(f"{count} watched; Ctrl-C ends it")
            sys.stdout.flush()
            _wait(watched, stamps)
    except KeyboardInterrupt:
        say("")
    return 0 if passed else 1


def _say_lines(text: str) -> None:
    for line in text.splitlines():
        say(line)


def _one_round(check: Callable[[bool, bool], Report], kinds: Sequence[bool]) -> bool:
    """Whether all checks pass; each prints a short report."""
    for number, quick in enumerate(kinds):
        begin = time.monotonic()
        try:
            report = check(quick, number == 0)
        except (BuildError, MissingToolError) as failure:
            say(f"{time.strftime('%H:%M:%S')}  the plugin cannot be compiled:")
            _say_lines(str(failure))
            return False
        except (Error, OSError) as failure:
            say(f"{time.strftime('%H:%M:%S')}  not checked: {failure}")
            return False
        seconds = time.monotonic() - begin
        what = "quick checks" if quick else f"{len(report.groups)} groups of checks"
        say(f"{time.strftime('%H:%M:%S')}  {report.verdict()} ({what}, {seconds:.1f} s)")
        if details := report.details():
            for line in details.split("\n"):
                say(line)
        sys.stdout.flush()
        if not report.passed:
            return False
    return True


def _clear(number: int) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
    elif number:
        say("")


def _wait(watched: Callable[[], Sequence[Path]], before: _Stamps) -> None:
    """Until something has changed, and then nothing more: a library is written in parts."""
    last = before
    while True:
        time.sleep(_POLL)
        now = _stamps(watched())
        if now == last != before:
            return
        last = now


def _stamps(paths: Sequence[Path]) -> _Stamps:
    found: _Stamps = {}
    for path in itertools.islice(_files(paths), _MOST_FILES):
        try:
            about = os.stat(path)
        except OSError:  # it is being replaced
            continue
        found[str(path)] = (about.st_mtime_ns, about.st_size, about.st_ino)
    return found


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files, and those in the folders and below."""
    for path in paths:
        if path.is_dir():
            yield from (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        else:
            yield path
