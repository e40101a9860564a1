"""The code that a new worker process runs: it answers messages until the program closes the
connection or ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from .shared_memory import SharedMemory

Send = Callable[[bytes], None]
Begin = Callable[[bytes, SharedMemory, Send], Callable[[bytes], None]]

is_worker = False  # whether this process is one


def serve(
    connection: int, memory: int, begin: Begin, *, has_session: bool, is_forked: bool
) -> None:
    """Answers one message after the other.

    Args:
        connection, memory: File descriptors that this process has inherited.
        begin: Called with the first message; returns the function for the others, which answers by
            `send`.
        has_session: Whether Ctrl-C in the program's terminal does not reach this process.
        is_forked: Whether this process makes forks, which a second thread would hinder: then it
            looks for the end of the program only between calls.
    """
    global is_worker
    is_worker = True
    if not has_session:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A thread of a loader, in which signals are blocked, may have started this process.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    program, shared = Connection(connection), SharedMemory(memory)
    for one in (program, shared):  # a fork is not to look like this process
        os.register_at_fork(after_in_child=one.close)
    if not is_forked:
        threading.Thread(target=_end_with_program, args=(connection,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # the program has closed the connection
        shared.follow(os.fstat(memory).st_size)
        answer = begin(program.recv_bytes(), shared, program.send_bytes)
        while True:
            answer(program.recv_bytes())
    os._exit(0)


def _end_with_program(connection: int) -> None:
    """Ends this process when the program has ended, also in a long call."""
    poll = select.poll()
    poll.register(connection, 0)  # 0: only the end is of interest
    poll.poll()
    os._exit(0)
