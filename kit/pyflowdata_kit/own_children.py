"""Finds and ends processes that this process has started, or that its children left to it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36  # of <sys/prctl.h>


def adopt() -> None:
    """Makes this process the parent of descendants whose parents end first."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def has_some() -> bool:
    """Whether there are any, at work, or ended and not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def end_all() -> None:
    """Ends all of them, and after adopt() also their descendants."""
    while has_some():
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                for number in (task / "children").read_text().split():
                    os.kill(int(number), signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)
