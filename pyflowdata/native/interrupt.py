"""Ctrl-C before the command line has started: its process ends with 130, without a traceback.

Importing the package takes a moment, and a KeyboardInterrupt then would print a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

_INTERRUPTED = 130  # as a shell has it of a process that the signal ends


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


def _is_command() -> bool:
    """Whether this process is `pyflowdata` or `python -m pyflowdata`, during its first imports."""
    program = sys.argv[0] if sys.argv else ""
    if program != "-m":
        return os.path.basename(program) == "pyflowdata"
    module = sys.orig_argv[-len(sys.argv) :][:1]  # the last one before the module's own arguments
    return module in (["pyflowdata"], ["-mpyflowdata"])


def _begin_quietly() -> None:
    """In a starting command, Ctrl-C ends the process instead of raising KeyboardInterrupt."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_again() -> None:
    """Ctrl-C raises KeyboardInterrupt from here on."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_begin_quietly()
