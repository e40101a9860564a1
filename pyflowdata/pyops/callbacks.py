"""Functions that C calls: they take the GIL, and their exceptions become C's errors."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any, TypeVar

from ..errors import CorruptDataError, Error, OutOfMemoryError, UserFunctionError
from ..native import EXCEPTIONS, CData, calls, ffi, lib
from ..native.calling_line import is_ours

_Held = TypeVar("_Held")
_STATUS = {cls: status for status, cls in EXCEPTIONS.items()}
_LONGEST = 1000  # bytes of a message
_main_thread = threading.main_thread()


class Handles(dict[int, _Held]):
    """Objects that C knows by numbers; no number is given twice."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)

    def add(self, held: _Held) -> int:
        """Keeps an object until its number is removed, and returns the number."""
        number = next(self._numbers)
        self[number] = held
        return number


def c_function(
    signature: Any, run: Callable[..., int], fail: Callable[[tuple[Any, ...], BaseException], int]
) -> CData:
    """A C function that returns the result of `run`, or of `fail` for an exception.

    During a call its thread is in `calls.inside`.

    Args:
        signature: A pointer to a function that returns a pfd_status or nothing: C, or a type.
        run: Called with the arguments from C.
        fail: Called with all arguments in a tuple, and the exception.
    """

    def call(*args: Any) -> int:
        me = threading.get_ident()
        try:
            calls.inside[me] = calls.inside.get(me, 0) + 1
            return run(*args)
        except BaseException as failure:  # noqa: BLE001  (none can pass through C)
            return fail(args, failure)
        finally:
            depth = calls.inside.get(me, 0)
            if depth > 1:
                calls.inside[me] = depth - 1
            else:
                calls.inside.pop(me, None)

    def interrupted(_type: Any, failure: Any, trace: Any) -> int | None:
        """Handles Ctrl-C at the start or the end of call()."""
        here = trace.tb_frame.f_locals if trace is not None else {}
        calls.inside.pop(threading.get_ident(), None)
        status = int(lib.PFD_INTERNAL)
        if here.get("args"):
            status = fail(here["args"], failure)
        return status if is_status else None

    kind = ffi.typeof(signature) if isinstance(signature, str) else signature
    is_status = kind.result.kind != "void"
    options = {"error": lib.PFD_INTERNAL} if is_status else {}
    return ffi.callback(kind, call, onerror=interrupted, **options)


def status_of(failure: BaseException, otherwise: int) -> int:
    """The status for an exception: `otherwise` if its class is not of this package."""
    if isinstance(failure, Error):
        return int(next(_STATUS[cls] for cls in type(failure).__mro__ if cls in _STATUS))
    return int(lib.PFD_OUT_OF_MEMORY) if isinstance(failure, MemoryError) else otherwise


def is_ctrl_c(failure: BaseException) -> bool:
    """Whether the exception may be Ctrl-C, which comes to the main thread."""
    return isinstance(failure, KeyboardInterrupt) and threading.current_thread() is _main_thread


def text_of(failure: BaseException) -> str:
    """The str() of an exception, even if that fails."""
    try:
        if isinstance(failure, Error):
            return failure.message
        return str(failure) + getattr(failure, "pyflowdata_hint", "")
    except Exception:  # noqa: BLE001  (what a user's class raises)
        return f"<{type(failure).__name__} without a str()>"


def place_of(trace: TracebackType | None) -> str:
    """The place in the user's code that raised an exception, as "file.py:12": the innermost line in
    the file of the outermost frame that is not of this package; "" if there is none."""
    while trace is not None and is_ours(trace.tb_frame):
        trace = trace.tb_next
    if trace is None:
        return ""
    file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    while trace.tb_next is not None:
        trace = trace.tb_next
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
    near = os.path.relpath(file) if os.path.isabs(file) else file
    return f"{file if near.startswith(os.pardir) else near}:{line}"


def user_failure(failure: Exception, said: str) -> Error:
    """The error for an exception of a user's function that this package called: an OutOfMemoryError
    for a MemoryError, else a UserFunctionError.

    Args:
        said: The name of the call.
    """
    place = place_of(failure.__traceback__)
    text = f"{said} raised {type(failure).__name__}: {text_of(failure)}"
    kind = OutOfMemoryError if isinstance(failure, MemoryError) else UserFunctionError
    made = kind(f"{text} ({place})" if place else text)
    made.__cause__ = failure
    return made


def message_of(
    failure: BaseException, said: str, own_files: Collection[str], *, is_told: bool = False
) -> tuple[bytes, int]:
    """The message for C, and the number by which the exception is found again.

    Args:
        said: The name of the call, for exceptions of classes that are not of this package.
        own_files: Modules whose frames are removed from the beginning of the traceback.
        is_told: Whether the text is complete: then the exception is not stored, and the number is
            0.
    """
    if isinstance(failure, KeyboardInterrupt):
        calls.interrupt(failure, is_main=is_ctrl_c(failure))
    message, end = text_of(failure), ""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next and trace.tb_frame.f_code.co_filename in own_files:
        trace = trace.tb_next
    BaseException.with_traceback(failure, trace)  # a frozen class refuses to be assigned to
    if not isinstance(failure, Error):
        message = f"{said} raised {type(failure).__name__}: {message}"
        place = getattr(failure, "pyflowdata_place", "") or place_of(trace)
        end = f" ({place})" if place else ""
    cause = 0
    if not is_told:
        cause = calls.keep(failure, is_light=isinstance(failure, CorruptDataError))
    text, last = (
        one.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0") for one in (message, end)
    )
    return text[: _LONGEST - len(last)].decode("utf-8", "ignore").encode() + last, cause
