"""Python programs of tests in processes of their own, without the time that a start takes.

Each is a fork of a process with one thread that has imported NumPy and pyflowdata, with the parts
of it that most programs import later (`server.py`).  In all else it is as `python -c` or
`python FILE` starts it: `__main__`, `sys.argv`, working directory, environment, streams, exit
status and signals.  It finds the package and the helpers of the tests.

There is a server for each value of the variables that Python or the package reads while it starts,
_READ_AT_START.  A program that is to start with flags, or whose start is the subject of a test, is
started by `subprocess`.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, CompletedProcess, TimeoutExpired
from typing import IO, Any

from support.paths import ROOT

import pyflowdata as flow

# A program that is the command `pyflowdata`, with its arguments.
COMMAND = "import sys; from pyflowdata import cli; sys.exit(cli.main(sys.argv[1:]))"

_READ_AT_START = (
    "LD_PRELOAD", "PYFLOWDATA_LIBRARY", "PYFLOWDATA_PLUGINS", "PYFLOWDATA_SIMD", "PYTHONHASHSEED",
)  # fmt: skip
_IS_PRELOADED = "LD_PRELOAD" in os.environ  # a sanitizer follows no program through such a fork


def environment(**more: str) -> dict[str, str]:
    """The environment in which a new process imports the same package and the helpers."""
    package = str(Path(flow.__file__).resolve().parent.parent)
    paths = [package, str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def run(
    source: str | Path, *arguments: object, input: str = "", check: bool = False,
    timeout: float = 60, env: Mapping[str, str] | None = None, cwd: Path | None = None,
) -> CompletedProcess[str]:  # fmt: skip
    """Runs a program until it ends, as subprocess.run() does with all that it prints."""
    with start(
        source, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=cwd
    ) as program:  # fmt: skip
        try:
            printed, said = program.communicate(input, timeout)
        except BaseException:
            program.kill()
            raise
    assert not (check and program.returncode), (
        f"exit status {program.returncode}\n{printed}{said}"
    )
    return CompletedProcess(program.args, program.returncode, printed, said)


def start(
    source: str | Path, *arguments: object, stdin: int | IO[str] = DEVNULL,
    stdout: int | IO[str] | None = None, stderr: int | IO[str] | None = None,
    env: Mapping[str, str] | None = None, cwd: Path | None = None,
    start_new_session: bool = False,
) -> Program | subprocess.Popen[str]:  # fmt: skip
    """Starts a program, as subprocess.Popen() does; pipes are those of text.

    Args:
        source: The text of the program, or its file.
        env: None: `environment()`.
    """
    words, env = [str(one) for one in arguments], env or environment()
    if _IS_PRELOADED:
        return subprocess.Popen(
            [sys.executable, *_named(source), *words], text=True, stdin=stdin, stdout=stdout,
            stderr=stderr, env=env, cwd=cwd, start_new_session=start_new_session,
        )  # fmt: skip
    order = {
        "file": str(source) if isinstance(source, Path) else "",
        "source": source.read_text() if isinstance(source, Path) else source,
        "arguments": words, "environment": dict(env), "folder": str(cwd or os.getcwd()),
        "session": start_new_session,
    }  # fmt: skip
    return Program([*_named(source), *words], order, stdin, stdout, stderr)


def _named(source: str | Path) -> list[str]:
    return [str(source)] if isinstance(source, Path) else ["-c", source]


class Program:
    """A program that runs or has run; it is used as a subprocess.Popen in text mode is."""

    def __init__(
        self, args: list[str], order: dict[str, Any], stdin: int | IO[str],
        stdout: int | IO[str] | None, stderr: int | IO[str] | None,
    ) -> None:  # fmt: skip
        self.args = args
        self.returncode: int | None = None
        self._answers, answers = os.pipe()
        opened = [answers]  # descriptors that the program has instead of this process
        try:
            given, self.stdin = _stream(stdin, 0, opened)
            printed, self.stdout = _stream(stdout, 1, opened)
            said, self.stderr = _stream(stderr, 2, opened)
            with tempfile.TemporaryFile() as file:
                file.write(json.dumps(order).encode())
                file.flush()
                descriptors = [file.fileno(), answers, given, printed, said]
                at_start = [order["environment"].get(name) for name in _READ_AT_START]
                socket.send_fds(_server(*at_start).connection, [b"."], descriptors)
        finally:
            for one in opened:
                os.close(one)
        self.pid = self._answer()

    def _answer(self) -> int:
        said = os.read(self._answers, 4)
        if not said:
            raise RuntimeError("the process that runs the programs of tests has ended")
        return int(struct.unpack("i", said)[0])

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._answers], [], [], timeout)[0]:
                raise TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._answer()
            os.close(self._answers)
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except TimeoutExpired:
            return None

    def communicate(self, input: str = "", timeout: float | None = None) -> tuple[str, str]:
        """What the program prints, after this input, until it ends."""
        end = time.monotonic() + (threading.TIMEOUT_MAX if timeout is None else timeout)
        if self.stdin is not None:
            try:
                self.stdin.write(input)
                self.stdin.close()
            except BrokenPipeError:
                pass
        texts = ["", ""]

        def read(number: int, stream: IO[str]) -> None:
            with stream:
                texts[number] = stream.read()

        readers = [
            threading.Thread(target=read, args=(number, stream), daemon=True)
            for number, stream in enumerate((self.stdout, self.stderr)) if stream is not None
        ]  # fmt: skip
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(0, end - time.monotonic()))
            if reader.is_alive():
                raise TimeoutExpired(self.args, timeout or 0)
        self.wait(None if timeout is None else max(0, end - time.monotonic()))
        return texts[0], texts[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exception: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _stream(given: int | IO[str] | None, number: int, opened: list[int]) -> tuple[int, Any]:
    """The program's descriptor of this number, and this process's end of a pipe.

    opened: Gets the descriptors that are the program's alone.
    """
    if given is None:
        return number, None
    if given == DEVNULL:
        opened.append(os.open(os.devnull, os.O_RDWR))
        return opened[-1], None
    if given == PIPE:
        reads, writes = os.pipe()
        theirs, ours = (reads, writes) if number == 0 else (writes, reads)
        opened.append(theirs)
        return theirs, open(ours, "w" if number == 0 else "r")
    return given if isinstance(given, int) else given.fileno(), None


@functools.lru_cache(maxsize=3)
def _server(*at_start: str | None) -> _Server:
    return _Server(*at_start)


class _Server:
    """A server, which ends with this object or this process."""

    def __init__(self, *at_start: str | None) -> None:
        given = dict(zip(_READ_AT_START, at_start, strict=True))
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("server.py"), str(theirs.fileno())],
            env=environment(**{name: value for name, value in given.items() if value is not None}),
            cwd=ROOT, stdin=DEVNULL, stdout=DEVNULL, pass_fds=[theirs.fileno()],
        )  # fmt: skip
        theirs.close()
        weakref.finalize(self, self._end, self.connection, process, os.getpid())

    @staticmethod
    def _end(connection: socket.socket, process: subprocess.Popen[bytes], owner: int) -> None:
        connection.close()
        if os.getpid() == owner:
            try:
                process.wait(5)
            except TimeoutExpired:  # a program of a test that failed
                process.kill()
                process.wait()
