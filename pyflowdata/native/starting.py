"""Endings of a command during the import of the package, without a traceback.

Importing the package takes a moment.  Ctrl-C in that moment ends the process with 130; an error of
the package, as of a library that is older than its sources, is one sentence.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import TypeGuard

_INTERRUPTED = 130  # as a shell has it of a process that the signal ends


def is_sentence(failure: BaseException | None) -> TypeGuard[ImportError]:
    """Whether an ImportError is a sentence of this package; the interpreter's errors have a name.
    """
    return isinstance(failure, ImportError) and failure.name is None


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)


def _print(
    kind: type[BaseException], failure: BaseException, trace: TracebackType | None
) -> None:
    if is_sentence(failure) and "--debug" not in sys.argv:
        print(f"pyflowdata: error: {failure}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, failure, trace)


def _is_command() -> bool:
    """Whether this process is `pyflowdata` or `python -m pyflowdata`, during its first imports."""
    program = sys.argv[0] if sys.argv else ""
    if program != "-m":
        return os.path.basename(program) == "pyflowdata"
    module = sys.orig_argv[-len(sys.argv) :][:1]  # the last one before the module's own arguments
    return module in (["pyflowdata"], ["-mpyflowdata"])


def _begin_quietly() -> None:
    if not _is_command():
        return
    sys.excepthook = _print
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_again() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt from this call on."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_begin_quietly()
