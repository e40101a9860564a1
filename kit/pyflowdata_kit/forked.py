"""Runs a function in a fork of this process, whose memory it leaves as it is."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from . import own_children

_LAST_WORDS = 1.0  # seconds for a run of the kit to tell what it was doing


def in_fork(function: Callable[[], Any], limit: float) -> Any:
    """What the function returns, pickled on the way; None where it raised or ended the process.

    Raises:
        TimeoutError: It did not return within `limit` seconds, and its process was ended.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(function(), pipe)
                own_children.end_all()  # which have the pipe, too
        finally:
            os._exit(0)  # no more than this: what is at exit is the parent's
    os.close(writing)
    parts: list[bytes] = []
    try:
        is_done = _read(reading, parts, limit)
        if not is_done:
            os.kill(process, signal.SIGPROF)
            _read(reading, parts, _LAST_WORDS)
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(reading)
        os.waitpid(process, 0)
    if not is_done:
        raise TimeoutError
    try:
        return pickle.loads(b"".join(parts))
    except (EOFError, pickle.UnpicklingError):
        return None


def _read(pipe: int, parts: list[bytes], limit: float) -> bool:
    """Whether the other end was closed in time."""
    end = time.monotonic() + limit
    while (left := end - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            return True
        parts.append(part)
    return False
