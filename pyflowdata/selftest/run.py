"""Runs the checks, one after the other."""

from __future__ import annotations

import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from ..about import in_lines
from . import check_formats, check_images, check_loaders
from .check import Check, Skipped

CHECKS: list[Check] = [
    check_formats.text_and_csv,
    check_formats.npy,
    check_formats.tfrecord,
    check_formats.gzipped,
    check_formats.zstd,
    check_images.jpeg,
    check_images.png,
    check_images.webp,
    check_images.arithmetic,
    check_loaders.shuffled,
    check_loaders.threads,
    check_loaders.ranks,
    check_loaders.resumed,
    check_loaders.python_function,
    check_loaders.plugin,
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
    failures, skipped = [], 0
    wanted = CHECKS if checks is None else checks
    start = time.monotonic()
    for check in wanted:
        with tempfile.TemporaryDirectory(prefix="pyflowdata-selftest-") as folder:
            try:
                check(Path(folder))
            except Skipped as reason:
                skipped += 1
                say(f"skipped   {_title(check)}: {reason}")
            except Exception:  # whatever it is: the others are still of use
                failures.append(traceback.format_exc())
                say(f"FAILED    {_title(check)}")
            else:
                say(f"passed    {_title(check)}")
    if failures:
        _report(failures, say)
    passed = len(wanted) - len(failures) - skipped
    seconds = time.monotonic() - start
    said = f"{passed} passed, {skipped} skipped, {len(failures)} failed in {seconds:.1f} s"
    say(f"selftest of pyflowdata: {said}")
    return not failures
