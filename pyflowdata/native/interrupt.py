"""Ctrl-C before the command line has begun: its process ends with 130, without a traceback.

The package is imported first, which takes a moment, and whoever imports it reports what is raised.
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
    """Whether this process is `pyflowdata` or `python -m pyflowdata`, not yet further than here."""
    program = sys.argv[0] if sys.argv else ""
    if program != "-m":
        return os.path.basename(program) == "pyflowdata"
    module = sys.orig_argv[-len(sys.argv) :][:1]  # the last one before the module's own arguments
    return module in (["pyflowdata"], ["-mpyflowdata"])


def begin_quietly() -> None:
    """Where Ctrl-C would raise KeyboardInterrupt in the command, it ends the process."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_again() -> None:
    """Ctrl-C raises KeyboardInterrupt from here on."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin_quietly()
