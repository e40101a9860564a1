"""Runs the checks, one after the other."""

from __future__ import annotations

import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from ..about import in_lines
from . import formats, images, loaders
from .check import Check, LeftOut

CHECKS: list[Check] = [
    formats.text_and_csv,
    formats.npy,
    formats.tfrecord,
    formats.gzipped,
    formats.zstd,
    images.jpeg,
    images.png,
    images.webp,
    images.arithmetic,
    loaders.shuffled,
    loaders.threads,
    loaders.ranks,
    loaders.resumed,
    loaders.python_function,
    loaders.plugin,
]


def _title(check: Check) -> str:
    return (check.__doc__ or "").rstrip(".")


def _report(failures: list[str], say: Callable[[str], None]) -> None:
    say("")
    say("Please report this, with all that follows:")
    for line in "\n".join([*failures, in_lines()]).split("\n"):
        say(line)


def run(say: Callable[[str], None], checks: list[Check] | None = None) -> bool:
    """Runs all checks, also after one has failed.

    Args:
        say: Prints a line.
        checks: Which; None: all.

    Returns:
        Whether none has failed.
    """
    failures, left_out = [], 0
    wanted = CHECKS if checks is None else checks
    start = time.monotonic()
    for check in wanted:
        with tempfile.TemporaryDirectory(prefix="pyflowdata-selftest-") as folder:
            try:
                check(Path(folder))
            except LeftOut as reason:
                left_out += 1
                say(f"left out  {_title(check)}: {reason}")
            except Exception:  # whatever it is: the others are still of use
                failures.append(traceback.format_exc())
                say(f"FAILED    {_title(check)}")
            else:
                say(f"passed    {_title(check)}")
    if failures:
        _report(failures, say)
    passed = len(wanted) - len(failures) - left_out
    seconds = time.monotonic() - start
    said = f"{passed} passed, {left_out} left out, {len(failures)} failed in {seconds:.1f} s"
    say(f"selftest of pyflowdata: {said}")
    return not failures
