"""The process of which the programs of tests are forks; see `__init__.py`.

    python server.py DESCRIPTOR

Each message on the socket has the descriptors of an order in JSON, of a pipe, which gets the pid
of the program and later its exit status, and of its stdin, stdout and stderr.
"""

import gc
import json
import linecache
import os
import select
import signal
import socket
import struct
import sys
import types

import numpy  # noqa: F401

import pyflowdata  # noqa: F401
from pyflowdata import datasets, formats  # noqa: F401  (what most programs import later)
from pyflowdata.insight import counters, stalls  # noqa: F401


def next_order(connection):
    """Forks for each order until there are no more; returns in the fork, with source and file."""
    running = {}  # pidfd of a program -> its pid, and the pipe
    sources = [connection]
    while sources or running:
        for ready in select.select([*sources, *running], [], [])[0]:
            if ready is not connection:
                pid, answers = running.pop(ready)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                answer(answers, status)
                os.close(answers)
                os.close(ready)
                continue
            message, given, _, _ = socket.recv_fds(connection, 1, 5)
            if not message:
                sources.clear()
                continue
            order, answers, *streams = given
            pid = os.fork()
            if pid == 0:
                connection.close()
                for one in running:
                    os.close(one)
                for _, one in running.values():
                    os.close(one)
                return become(order, answers, streams)
            running[os.pidfd_open(pid)] = pid, answers
            answer(answers, pid)
            for one in (order, *streams):
                os.close(one)
    sys.exit()


def answer(pipe, number):
    try:
        os.write(pipe, struct.pack("i", number))
    except BrokenPipeError:  # who started the program has ended
        pass


def fresh_stream(name, mode, buffering):
    """Those of the server know what its descriptors are: whether one can seek in them."""
    of_server = getattr(sys, name)
    stream = open(
        of_server.fileno(), mode, buffering, of_server.encoding, of_server.errors, closefd=False
    )
    stream.reconfigure(write_through=of_server.write_through)
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def become(order, answers, streams):
    """Makes this process that of the program, up to its code; returns source and file."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a shell may have started the tests without it
    with open(order) as file:
        file.seek(0)
        order = json.load(file)
    if order["session"]:
        os.setsid()
    for number, one in enumerate(streams):
        os.dup2(one, number)
        os.close(one)
    os.close(answers)
    for name, mode, buffering in ("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", 1):
        fresh_stream(name, mode, buffering)
    os.chdir(order["folder"])
    before = set(os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ.clear()
    os.environ.update(order["environment"])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [one for one in sys.path[1:] if one not in before]
    sys.path[:] = [os.path.dirname(order["file"]), *paths, *others]
    sys.argv = [order["file"] or "-c", *order["arguments"]]
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # as another process, it draws other numbers
    lines = order["source"].splitlines(True)
    linecache.cache["<string>"] = len(order["source"]), None, lines, "<string>"
    return order["source"], order["file"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; it is for the tests
    gc.freeze()
    source, file = next_order(socket.socket(fileno=int(sys.argv[1])))
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    if file:
        program.__file__ = file
    exec(compile(source, file or "<string>", "exec"), program.__dict__)  # noqa: S102
