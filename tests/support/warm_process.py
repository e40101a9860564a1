"""The process whose forks are the programs of tests; see warm_python.py.

It has imported NumPy and the package.  An order is a JSON text after its length, with the files of
the new process; the answer is the number of the process.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    import numpy  # noqa: F401

    import pyflowdata  # noqa: F401

    del sys.path[0]
IMPORTED = {*sys.modules}  # the rest is imported here, and a program does not see it
import runpy  # noqa: E402

IMPORTED_BY_M = {*sys.modules}  # before a program of python -m

import gc  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import time  # noqa: E402
import types  # noqa: E402
from typing import Any  # noqa: E402


def receive(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found


def serve(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Answers orders by the number of a process; returns in it with its order, and at the end."""
    while True:
        try:
            size, files, _, _ = socket.recv_fds(connection, 8, 200)
            if not size:
                return None
            order = json.loads(receive(connection, int.from_bytes(size, "little")))
        except (EOFError, ConnectionError):
            return None
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:  # it ends at once, and the tests' process takes its child
            between = os.getpid()
            process = os.fork()
            if process == 0:
                while os.getppid() == between:
                    time.sleep(0.0005)
                for one in (reading, writing):
                    os.close(one)
                connection.close()
                return order, files
            os.write(writing, process.to_bytes(8, "little"))
            os._exit(0)
        os.waitpid(between, 0)
        connection.sendall(os.read(reading, 8))
        for one in (reading, writing, *files):
            os.close(one)


def become(order: dict[str, Any], files: list[int]) -> None:
    """Makes this process what the order describes, but for its code."""
    if order["new_session"]:
        os.setsid()
    wanted = [0, 1, 2, *order["kept"]]
    above = [os.dup2(one, 500 + i, inheritable=False) for i, one in enumerate(files)]
    for one in files:
        os.close(one)
    for one, number in zip(above, wanted, strict=True):
        os.dup2(one, number)
        os.close(one)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        buffer = open(number, "wb" if number else "rb", closefd=False)
        buffer.raw.name = old.name
        new = io.TextIOWrapper(
            buffer, old.encoding, old.errors, line_buffering=old.line_buffering,
            write_through=old.write_through,
        )  # fmt: skip
        for each in (name, f"__{name}__"):
            setattr(sys, each, new)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    words = order["words"]
    sys.orig_argv = words
    sys.argv = [words[1], *words[3:]] if words[1] in ("-c", "-m") else words[1:]
    sys.path[:] = [order["first"], *order["more"], *sys.path]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, order["mask"])


def run(words: list[str]) -> None:
    shown, here = sys.excepthook, __file__

    def without_these_frames(kind: Any, value: Any, trace: Any) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename == here:
            trace = trace.tb_next
        shown(kind, value.with_traceback(trace), trace)

    sys.excepthook = without_these_frames
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    if words[1] == "-m":
        runpy._run_module_as_main(words[2])  # type: ignore[attr-defined]
        return
    if words[1] == "-c":
        code, name = words[2], "<string>"
    else:
        name = main.__file__ = os.path.abspath(words[1])
        main.__dict__["__cached__"] = None
        with open(name, encoding="utf-8") as file:
            code = file.read()
    exec(compile(code, name, "exec", dont_inherit=True), main.__dict__)  # noqa: S102


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    found = serve(socket.socket(fileno=int(sys.argv[1])))
    if found is not None:
        become(*found)
        words = found[0]["words"]
        for name in {*sys.modules} - (IMPORTED_BY_M if words[1] == "-m" else IMPORTED):
            del sys.modules[name]
        run(words)


if __name__ == "__main__":
    main()
