"""Programs that threads of this process wait for, and that end with what asked for them."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_lock = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_is_stopped = False


class StoppedError(RuntimeError):
    """No program is started any more."""


def run_program(
    command: Sequence[str | Path], env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Its result, with its output as text.

    Raises:
        subprocess.TimeoutExpired: It did not end in so many seconds, and was ended.
        StoppedError: The checks end.
    """
    with _lock:
        if _is_stopped:
            raise StoppedError
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace",
        )  # fmt: skip
        _running.add(process)
    try:
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, err)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    finally:
        with _lock:
            _running.discard(process)


@contextlib.contextmanager
def ended_on_failure() -> Iterator[None]:
    """Ends all programs where what is within is interrupted, so that no thread waits for one."""
    try:
        yield
    except BaseException:
        _stop(True)
        raise


def may_run_again() -> None:
    """Once the threads have ended."""
    _stop(False)


def _stop(is_stopped: bool) -> None:
    global _is_stopped
    with _lock:
        _is_stopped = is_stopped
        for process in _running if is_stopped else ():
            process.kill()
