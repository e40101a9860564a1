"""Measuring a contender of a script in a process of its own, which answers in JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import NoReturn

from bench import programs


def answer(measured: Callable[[], dict[str, float]]) -> NoReturn:
    """In that process: prints what is measured, and ends it."""
    stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    print(json.dumps(measured()), file=stdout, flush=True)
    os._exit(0)  # not waiting for a library's threads


def run(python: str, module: str, *arguments: str) -> dict[str, float] | None:
    """The answer of `python -m module --child arguments`; None, and a line, where it failed."""
    command = [python, "-m", module, "--child", *arguments]
    done = subprocess.run(command, cwd=programs.ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(arguments)} failed: {done.stderr.strip()[-500:]}", flush=True)
        return None
    found: dict[str, float] = json.loads(done.stdout)
    return found
