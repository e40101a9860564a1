"""Worker processes, from the program: how they start, their messages, how they end."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import multiprocessing.spawn
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from .shared_memory import SharedMemory

_WAIT_MS = 20  # for an answer, before the program does anything else
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from {module} import begin; "
    "from pyflowdata.workers.inside import serve; "
    "serve({connection}, {memory}, begin, has_session={has_session}, is_forked={is_forked})"
)
# NumPy's own threads, one set for each worker, would compete for the cores.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


# ---- The end of processes -----------------------------------------------------------------------


class _Process(Protocol):
    """A process of multiprocessing, as far as end_together() uses it."""

    def join(self, timeout: float) -> None: ...
    def is_alive(self) -> bool: ...
    def kill(self) -> None: ...


def end_together(processes: Sequence[_Process], seconds: float) -> None:
    """Waits this long for processes that end by themselves, and kills the others."""
    until = time.monotonic() + seconds
    for one in processes:
        with contextlib.suppress(ValueError, AssertionError, OSError):
            one.join(max(0.0, until - time.monotonic()))
            if one.is_alive():
                one.kill()
    for one in processes:
        with contextlib.suppress(ValueError, AssertionError, OSError):
            one.join(1)


def _signal_name(number: int) -> str:
    """SIGKILL for 9; "signal 40" for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def killed_by(status: int | None) -> str:
    """The signal that ended a process, with its probable reason; "" if no signal did.

    Args:
        status: As in subprocess and multiprocessing: -9 for SIGKILL.
    """
    if status is None or status >= 0:
        return ""
    hint = "; the system was probably out of memory" if status == -signal.SIGKILL else ""
    return _signal_name(-status) + hint


# ---- Forks of the program, which have none of its workers ---------------------------------------


class _Forgets(Protocol):
    def forget(self) -> None: ...


_forget: weakref.WeakSet[_Forgets] = weakref.WeakSet()


def forget_in_forks(one: _Forgets) -> None:
    """Calls its forget() in each fork of this process.

    A fork that kept copies of the connections would keep workers alive after the program.
    """
    _forget.add(one)


def _forget_all() -> None:
    for one in list(_forget):
        one.forget()


os.register_at_fork(after_in_child=_forget_all)


# ---- What workers compute ------------------------------------------------------------------------

_running: weakref.WeakSet[Worker] = weakref.WeakSet()


def cpu_seconds() -> float:
    """What the running workers have computed, in ticks of the system's clock."""
    return sum(one.cpu_seconds for one in list(_running))


# ---- One worker ---------------------------------------------------------------------------------


class WorkerEnded(Exception):
    """The process of a worker has ended; see Worker.how_it_ended()."""


class Worker:
    """A new process of Python, with a connection for small messages, and shared memory.

    The process is never a fork of this one, which has threads.  It starts when it is needed, and
    ends when its connection does.  One thread at a time uses it.

    Attributes:
        memory: The memory that it shares with this process.
        is_pending: Whether it has a message that it has not answered.
    """

    def __init__(
        self, module: str, begin: bytes, *, has_session: bool = True, is_forked: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Starts nothing yet.

        Args:
            module: Its function `begin` gets the first message, the memory and a function that
                sends answers, and returns the function that answers further messages.
            begin: The first message.
            has_session: A session of its own keeps Ctrl-C from the process and all that it starts;
                otherwise it ignores Ctrl-C, and Ctrl-Z stops it with the program.
            is_forked: The process makes forks, and so has one thread.
            environment: None: that of the program, with one thread for NumPy.
        """
        self._module, self._begin, self._has_session = module, begin, has_session
        self._is_forked, self._environment = is_forked, environment
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._poll = select.poll()
        self.memory = SharedMemory(-1)
        self.is_pending = False

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def fileno(self) -> int:
        """A descriptor that is readable when the worker has answered, or has ended."""
        return int(self._connection.fileno())

    def start(self) -> None:
        """Starts the process if it does not run."""
        if self._process is not None:
            return
        self.stop()
        memory = SharedMemory()
        memory.grow(1)
        mine, other = multiprocessing.connection.Pipe()
        process = None
        try:
            with contextlib.nullcontext() if self._has_session else _held_back(signal.SIGINT):
                process = self._new_process(other.fileno(), memory.fd)
            with contextlib.suppress(OSError):  # the process has ended: the next message raises
                mine.send_bytes(self._begin)
        except BaseException:
            mine.close()
            memory.close()
            if process is not None:
                process.kill()
                process.wait()
            raise
        finally:
            other.close()
        self._poll = select.poll()
        self._poll.register(mine.fileno(), select.POLLIN)
        self.memory, self._connection, self._process = memory, mine, process
        _running.add(self)

    def _new_process(self, connection: int, memory: int) -> subprocess.Popen[bytes]:
        program = _PROGRAM.format(
            path=sys.path, module=self._module, connection=connection, memory=memory,
            has_session=self._has_session, is_forked=self._is_forked,
        )  # fmt: skip
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        return subprocess.Popen(
            [os.fsdecode(multiprocessing.spawn.get_executable()), *flags, "-c", program],
            env=self._environment or {**dict.fromkeys(_ONE_THREAD, "1"), **os.environ},
            stdin=subprocess.DEVNULL,
            pass_fds=(connection, memory),
            start_new_session=self._has_session,
        )

    @property
    def cpu_seconds(self) -> float:
        """What the process has computed, with its children that have ended; 0: it has not started,
        or has been waited for."""
        process = self._process
        if process is None or process.returncode is not None:
            return 0.0
        try:
            with open(f"/proc/{process.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # proc(5): utime to cstime

    @property
    def is_running(self) -> bool:
        """Whether its process has started, and has not ended."""
        return self._process is not None and self._process.poll() is None

    def end(self, seconds: float) -> None:
        """As stop(), but first waits this long for the process to end what it has started."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        self.stop()

    def stop(self) -> None:
        """Ends the process, also in the middle of a call."""
        process, self._process = self._process, None
        self.is_pending = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.memory.close()
        if process is not None:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """In a fork of the program, to which the process does not belong."""
        self._process = None
        self.stop()

    def give(self, message: bytes) -> None:
        """Sends a message.

        Raises:
            WorkerEnded: The process has ended.
        """
        self.is_pending = True
        try:
            self._connection.send_bytes(message)
        except OSError:
            raise WorkerEnded from None

    def is_ready(self) -> bool:
        """Whether the worker has answered or ended, after a short wait."""
        return bool(self._poll.poll(_WAIT_MS))

    def take(self) -> bytes:
        """The answer, once there is one.

        Raises:
            WorkerEnded: The process has ended.
        """
        try:
            answer: bytes = self._connection.recv_bytes()
        except (EOFError, OSError):
            raise WorkerEnded from None
        self.is_pending = False
        return answer

    @property
    def status(self) -> int:
        """The exit status of a process that has closed its connection: -9 for SIGKILL."""
        assert self._process is not None
        try:
            return self._process.wait(5)
        except subprocess.TimeoutExpired:  # the process still runs
            return 0

    def was_ended(self) -> bool:
        """Whether the process was ended from outside: by a user, or for want of memory."""
        status = self.status
        return status is not None and -status in (
            signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP
        )  # fmt: skip

    def how_it_ended(self) -> str:
        """The end of the process, for a message."""
        status = self.status
        signal_ = killed_by(status)
        return f"was killed by {signal_}" if signal_ else f"ended with exit status {status}"


def answered(workers: Iterable[Worker], wait_ms: int) -> list[Worker]:
    """The workers that have answered or ended; waits at most this long for one."""
    poll, found = select.poll(), {one.fileno(): one for one in workers}
    for descriptor in found:
        poll.register(descriptor, select.POLLIN)
    return [found[descriptor] for descriptor, _ in poll.poll(wait_ms)]


@contextlib.contextmanager
def _held_back(number: int) -> Iterator[None]:
    """Blocks a signal in the `with` block; it comes afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- Some workers -------------------------------------------------------------------------------


class Pool:
    """Workers of one kind, which run while the pool has users.

    Attributes:
        workers: All workers; none while the pool has no users.
    """

    def __init__(
        self, module: str, begin: Callable[[], bytes], count: int, *, has_session: bool = True
    ) -> None:
        """Starts nothing yet.

        Args:
            module, has_session: As for Worker.
            begin: Gives the first message of the workers, when the first user comes.
            count: The number of workers.
        """
        self._module, self._begin = module, begin
        self._count, self._has_session = count, has_session
        self._lock = threading.Lock()
        self._users = 0
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self.workers: list[Worker] = []
        forget_in_forks(self)

    @property
    def is_open(self) -> bool:
        """Whether the pool has users."""
        return self._users > 0

    def acquire(self) -> None:
        """Starts the workers, for the first user."""
        with self._lock:
            if self._users == 0:
                message, self._free = self._begin(), queue.SimpleQueue()
                self.workers = [
                    Worker(self._module, message, has_session=self._has_session)
                    for _ in range(self._count)
                ]
                try:
                    for one in self.workers:
                        one.start()
                        self._free.put(one)
                except BaseException:
                    self._stop()
                    raise
            self._users += 1

    def release(self) -> None:
        """Ends the workers with the last user, also in the middle of a call."""
        with self._lock:
            if self._users > 0:
                self._users -= 1
                if self._users == 0:
                    self._stop()

    def _stop(self) -> None:
        workers, self.workers = self.workers, []
        for one in workers:
            one.stop()

    def forget(self) -> None:
        """In a fork of the program, to which the processes do not belong."""
        self._lock = threading.Lock()
        self._users = 0
        workers, self.workers = self.workers, []
        for one in workers:
            one.forget()

    def take(self, wait_ms: int = _WAIT_MS) -> Worker | None:
        """A free worker, after at most this wait; None: there is none."""
        try:
            return self._free.get(timeout=wait_ms / 1000) if wait_ms else self._free.get_nowait()
        except queue.Empty:
            return None

    def give_back(self, one: Worker) -> None:
        """Frees a worker. It is ended if it may still be at work, and starts again when it is
        needed; so is one that was taken before the pool was released."""
        is_own = one in self.workers
        if one.is_pending or not is_own:
            one.stop()
        if is_own:
            self._free.put(one)
