"""The process that runs the code of pages: it imports the library once, and forks for each page.

Its orders are lines of JSON, each answered by a line with a status.  A page is a process in which
__main__ is the module of the page; a command is a separate process, which starts from this one.
"""

from __future__ import annotations

import contextlib
import gc
import json
import linecache
import os
import socket
import sys
import traceback
import types
from typing import Any, TextIO


def serve(orders: TextIO, answers: TextIO) -> None:
    import numpy.ma  # noqa: F401

    import pyflowdata  # noqa: F401
    from pyflowdata import cli, datasets, io  # noqa: F401  (what most pages import)
    from pyflowdata.insight import counters, stalls  # noqa: F401

    gc.freeze()
    page: _Page | None = None
    for line in orders:
        order = json.loads(line)
        if order["do"] == "open":
            page = _Page(order["folder"])
            status = 0
        elif order["do"] == "python":
            assert page is not None
            status = page.run(order)
        elif order["do"] == "command":
            status = _command(order)
        else:
            assert page is not None
            status = page.close()
        print(status, file=answers, flush=True)


class _Page:
    def __init__(self, folder: str) -> None:
        ours, theirs = socket.socketpair()
        self.process = os.fork()
        if self.process == 0:
            ours.close()
            os.chdir(folder)
            _run_page(theirs)
            sys.exit()
        theirs.close()
        self.socket = ours
        self.lines = ours.makefile("rw")

    def run(self, order: dict[str, Any]) -> int:
        print(json.dumps(order), file=self.lines, flush=True)
        return int(self.lines.readline() or -1)

    def close(self) -> int:
        self.lines.close()
        self.socket.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def _run_page(orders: socket.socket) -> None:
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv, sys.path[0] = ["page.py"], os.getcwd()
    with orders.makefile("rw") as lines:
        for line in lines:
            order = json.loads(line)
            _redirect(order["output"])
            try:
                source = order["code"]
                linecache.cache[order["name"]] = (
                    len(source), None, source.splitlines(True), order["name"]
                )  # fmt: skip
                exec(compile(source, order["name"], "exec"), main.__dict__)  # noqa: S102
                status = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            print(status, file=lines, flush=True)


def _command(order: dict[str, Any]) -> int:
    process = os.fork()
    if process == 0:
        from pyflowdata import cli

        os.chdir(order["folder"])
        _redirect(order["output"])
        sys.exit(cli.main(order["arguments"]))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _redirect(output: str) -> None:
    """stdout to the file `output`, stderr to `output`.err."""
    for number, path in ((1, output), (2, output + ".err")):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)


if __name__ == "__main__":
    sys.path[0] = sys.argv[1]  # the tree whose package it is
    with os.fdopen(os.dup(1), "w") as answers, contextlib.suppress(KeyboardInterrupt):
        serve(sys.stdin, answers)
