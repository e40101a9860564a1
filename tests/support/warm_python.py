"""Programs of Python that tests start are forks of a process that has imported the package.

Most of a short program's time went into starting Python and importing NumPy and the package.  The
fork is a child of the process of the tests as any other: subprocess knows no difference.  What it
cannot be is a program with flags of the interpreter, with another package, or with variables that
count at its start: these start as ever, and so do all where a test has the fixture `cold_python`.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from support.paths import ROOT
from support.warm_process import receive

# What Python, the C library, NumPy or the package read when they start.
AT_START = (
    "LD_", "PYTHON", "MALLOC_", "GLIBC_", "LC_", "LANG", "TZ", "OMP_", "OPENBLAS_",
    "PYFLOWDATA_LIBRARY", "PYFLOWDATA_PLUGINS", "PYFLOWDATA_SIMD",
)  # fmt: skip
PR_SET_CHILD_SUBREAPER = 36
PROCESS = str(ROOT / "tests/support/warm_process.py")


def _at_start(environment: dict[str, str]) -> dict[str, str]:
    return {
        name: text for name, text in environment.items()
        if name.startswith(AT_START) and name != "PYTHONPATH"
    }  # fmt: skip


def _has_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "pyflowdata", "__init__.py"))


class WarmPython:
    """Takes the place of the function by which subprocess starts a process."""

    def __init__(self) -> None:
        self.start = subprocess._fork_exec  # type: ignore[attr-defined]
        self._environment = {**os.environ}
        self._environment.pop("PYTHONPATH", None)  # each program has its own
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._pid = os.getpid()
        self._prctl = ctypes.CDLL(None).prctl

    def __call__(self, *given: Any) -> int:
        order = self._order(*given[:22])
        if order is None or self._pid != os.getpid():
            return int(self.start(*given))
        files = [own if own >= 0 else i for i, own in enumerate((given[6], given[9], given[11]))]
        kept = [one for one in given[3] if one != given[13]]
        with self._lock:
            if self._socket is None:
                self._socket = self._begin()
            self._prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                return self._ask({**order, "kept": kept}, [*files, *kept])
            finally:
                self._prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def _order(
        self, args: list[Any], programs: Any, close_fds: bool, kept: Any, cwd: Any, env: Any,
        p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int, errwrite: int,
        errpipe_read: int, errpipe_write: int, restore_signals: bool, new_session: bool,
        group: int, gid: Any, gids: Any, uid: Any, umask: int, preexec: Any,
    ) -> dict[str, Any] | None:  # fmt: skip
        """What the fork needs; None: it has to be a process as any other."""
        words = [os.fsdecode(one) for one in args]
        if [os.fsdecode(one) for one in programs] != [sys.executable] or len(words) < 2:
            return None
        if not close_fds or group != -1 or umask != -1 or preexec or gid or gids or uid:
            return None
        has_code = words[1] in ("-c", "-m") and len(words) > 2
        if words[1] == PROCESS or words[1].startswith("-") and not has_code:
            return None
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return None
        if any(os.isatty(one) for one in (0, 1, 2, c2pwrite, errwrite) if one >= 0):
            return None
        if env is None:
            environment = {**os.environ}
        else:
            environment = dict(os.fsdecode(one).split("=", 1) for one in env)
        if _at_start(environment) != _at_start(self._environment):
            return None
        folder = os.path.realpath(os.fsdecode(cwd) if cwd else os.getcwd())
        if words[1].startswith("-"):
            first = "" if words[1] == "-c" else folder
        else:
            first = os.path.dirname(os.path.realpath(os.path.join(folder, words[1])))
        more = [one for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one]
        found = [os.path.realpath(one) for one in (first or folder, *more) if _has_package(one)]
        sets_path = first.startswith(f"{ROOT}/") or repr(str(ROOT)) in "".join(words[2:3])
        if found[:1] != [str(ROOT)] and (found or not sets_path):
            return None  # another package, or none
        return {
            "words": words, "environment": environment, "folder": folder, "first": first,
            "more": more, "new_session": new_session,
            "mask": [int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        }  # fmt: skip

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        process = subprocess.Popen(
            [sys.executable, PROCESS, str(theirs.fileno())], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=self._environment,
        )  # fmt: skip
        process.returncode = 0  # nobody waits for it: it ends with this process
        theirs.close()
        atexit.register(ours.close)
        return ours

    def _ask(self, order: dict[str, Any], files: list[int]) -> int:
        assert self._socket is not None
        text = json.dumps(order).encode()
        socket.send_fds(self._socket, [len(text).to_bytes(8, "little")], files)
        self._socket.sendall(text)
        return int.from_bytes(receive(self._socket, 8), "little")


def use() -> None:
    """Starts programs so from now on, where subprocess has the function: from Python 3.11 on."""
    if hasattr(subprocess, "_fork_exec"):
        subprocess._fork_exec = WarmPython()
