"""Exceptions that a worker process sends to the program, with their tracebacks."""

from __future__ import annotations

import pickle
import traceback
from types import TracebackType
from typing import NamedTuple

_MOST_BYTES = 1 << 20  # of a pickled exception, and of the text of a traceback


class RemoteTraceback(Exception):
    """The `__cause__` of an exception that a worker raised: the traceback in the worker, as
    text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class RemoteError(NamedTuple):
    """An exception as a message.

    Attributes:
        failure: The pickled exception; b"": it cannot be pickled.
        said: Its class and text.
        trace: The traceback as Python prints it.
    """

    failure: bytes
    said: str
    trace: str


def remote_error(
    failure: BaseException, trace: TracebackType | None, text: str | None = None
) -> RemoteError:
    """An exception as a message.

    Args:
        trace: The part of its traceback for the program.
        text: The text of the exception; None: its str().
    """
    printed = "".join(traceback.format_exception(type(failure), failure, trace))
    try:
        content = pickle.dumps(failure)
        pickle.loads(content)
    except BaseException:  # noqa: BLE001  (what a user's class raises)
        content = b""
    try:
        said = f"{type(failure).__name__}: {failure if text is None else text}"
    except Exception:  # noqa: BLE001
        said = type(failure).__name__
    content = content if len(content) <= _MOST_BYTES else b""
    return RemoteError(content, said, printed[-_MOST_BYTES:])


def raised_there(error: RemoteError) -> BaseException | None:
    """The exception of a worker, of its own class; None: it could not be sent."""
    try:
        failure = pickle.loads(error.failure)
    except Exception:  # noqa: BLE001  (what a user's class raises)
        return None
    return failure if isinstance(failure, BaseException) else None
