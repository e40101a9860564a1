"""Exceptions that a worker process sends to the program, with their tracebacks."""

from __future__ import annotations

import os
import pickle
import traceback
from types import TracebackType
from typing import NamedTuple

_MOST_BYTES = 1 << 20  # a pickled exception, and the text of a traceback, at most


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


def of_user(trace: TracebackType | None, own: str) -> TracebackType | None:
    """The part of a traceback after the frames of this package, whose folder is that of the file
    `own`; its last frame stays."""
    folder = os.path.dirname(own)
    while trace is not None and trace.tb_next is not None:
        if os.path.dirname(trace.tb_frame.f_code.co_filename) != folder:
            break
        trace = trace.tb_next
    return trace


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


class _Text(str):
    """A text that is its own repr(), since str() of a KeyError is the repr() of its argument."""

    def __repr__(self) -> str:
        return str(self)


def begins_as_torchs(failure: BaseException, text: str) -> BaseException:
    """The exception of a worker, with the text that torch's workers give it, as its argument.

    Its class and its other attributes stay.  Where the class makes a text of other arguments, the
    exception is made again of this text.  One that cannot have the text stays as it is.
    """
    said = failure.args
    try:
        failure.args = (_Text(text),)
        if str(failure) == text:
            return failure
        failure.args = said
        made = type(failure)(text)
        if str(made) == text:
            made.__dict__.update(failure.__dict__)
            return made
    except Exception:  # noqa: BLE001, S110  (what a user's class raises)
        pass
    failure.args = said
    return failure
