"""Runs a group of checks in a separate process: a fork, its messages, and its limits of time."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from .checks import GROUPS, Group
from .spec import Job


Said = dict[str, Any]
_RunChild = Callable[[Job, str, int], int]  # (job, group, pipe to write to) -> exit status

STOP = 3  # exit status of a group after which no other can run
_GRACE = 10  # by the clock, a group may take so many times the limit of one pass; see is_late()
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_USUAL = {number: signal.getsignal(number) for number in _ENDING}
# Python ignores these signals, so an op that ignores them, too, would change nothing.
_DEFAULT = {signal.SIGPIPE: signal.SIG_DFL, signal.SIGXFSZ: signal.SIG_DFL}
_MOST_OUTPUT = 4096  # bytes of the op's output that are handed on
_LEAST_STALL = 2.0  # seconds in which a busy machine lets each process do something


class GroupProcess:
    """One group at work.

    Attributes:
        group: Its name.
        pipe: Readable when the group has written something, or has ended.
    """

    def __init__(self, job: Job, group: str, run_child: _RunChild) -> None:
        self.group = group
        self._job = job
        self._output = tempfile.TemporaryFile()  # gets what the op writes to 1 and 2
        self._process, self.pipe = _fork(job, group, run_child, self._output.fileno())
        self._parts: list[bytes] = []
        self._moved = time.monotonic()
        self._work = -1  # ticks of processor time at the last look
        self._own, self._looked = 0.0, self._moved  # its time up to the last look, see is_late()
        self._threads: dict[str, _Thread] = {}  # at the last look
        self._late, self._late_id = "", ""  # the reason for which the group was stopped

    def read(self) -> bool:
        """Reads what is in the pipe; False: the group has ended."""
        part = os.read(self.pipe, 65536)
        self._parts.append(part)
        self._moved = time.monotonic()
        return bool(part)

    def is_late(self) -> bool:
        """Whether the group takes too long, or waits without doing anything.  The time in which it
        stands in line for a processor, on a busy machine, does not count.
        """
        now, limit = time.monotonic(), self._job.limit
        before, self._threads = self._threads, _threads_of(self._process)
        self._own += _own_seconds(before, self._threads, now - self._looked)
        self._looked = now
        work = _work_of(self._process)
        if work != self._work:  # None: one of its threads could run
            self._work, self._moved = -1 if work is None else work, now
        if self._own > limit * _GRACE:
            seconds = f"{limit * _GRACE:.0f} s"
            self._late_id, self._late = "hang", f"did not end within {seconds} on a processor"
        elif now - self._moved > max(limit, _LEAST_STALL):
            seconds = f"{now - self._moved:.0f} s"
            self._late_id, self._late = "waits", f"waited for {seconds} and did nothing"
        return self.was_late

    @property
    def was_late(self) -> bool:
        """Whether is_late() has found so."""
        return bool(self._late)

    def stop(self) -> None:
        """Ends the group; if it waits, a run of the kit first reports in what."""
        if self._late_id == "waits":
            os.kill(self._process, signal.SIGPROF)
        end = time.monotonic() + 1.0
        while (left := end - time.monotonic()) > 0 and select.select([self.pipe], [], [], left)[0]:
            if not self.read():
                break
        self.kill()

    def has_ended(self) -> bool:
        """Whether its process has ended; processes that it started may still have the pipe."""
        state = os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return False
        while select.select([self.pipe], [], [], 0)[0] and self.read():
            pass
        return True

    def kill(self) -> None:
        """Ends at once the group and the processes that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process, signal.SIGKILL)

    def close(self) -> tuple[list[Said], bool]:
        """Waits for the group's end; returns its messages, and whether other groups can follow."""
        os.close(self.pipe)
        if not self._late:  # the process ends by itself
            os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOWAIT)
        self.kill()
        _, status = os.waitpid(self._process, 0)
        code = os.waitstatus_to_exitcode(status)
        lines = b"".join(self._parts).decode("utf-8", "replace").splitlines()
        said = [_understand(line) for line in lines]
        ended = any("done" in one or "no_space" in one for one in said) or code == STOP
        told = any("id" in one for one in said)
        if self._late and not any(one.get("id") in ("hang", "waits") for one in said):
            text = f"the group '{self.group}' {self._late}: look for an endless loop or lock"
            said.append({"id": self._late_id, "text": text})
        elif code < 0 and not told:
            said.append({"id": "crash", "text": f"the op crashed the process ({_name(-code)}): run "
                         "with --asan to see where"})  # fmt: skip
        elif not ended and not told:
            said.append({"id": "exit", "text": f"the op ended the process (exit status {code}): an "
                         "op must never call exit(), return host->fail() instead"})  # fmt: skip
        if code < 0 or not any(one.get("id") == "prints" for one in said):
            self._hand_on()
        self._output.close()
        return _with_cases(said), code != STOP

    def _hand_on(self) -> None:
        """Writes the end of the op's output, such as the text of an assertion, to standard error.
        """
        size = os.fstat(self._output.fileno()).st_size
        with contextlib.suppress(OSError):
            os.write(2, os.pread(self._output.fileno(), _MOST_OUTPUT, max(size - _MOST_OUTPUT, 0)))


def _fork(job: Job, group: str, run_child: _RunChild, output: int) -> tuple[int, int]:
    """Starts a group; returns its process and pipe."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process:
        with contextlib.suppress(OSError):  # the fork may have done this, and ended
            os.setpgid(process, process)
        os.close(writing)
        return process, reading
    status = 1
    try:
        os.setpgid(0, 0)  # so that processes that it starts end with it
        for number, usual in {**_USUAL, **_DEFAULT}.items():
            signal.signal(number, usual)
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # descriptor 0 has the next jobs
        sys.stderr = os.fdopen(os.dup(2), "w")  # warnings of Python and the kit are not the op's
        os.dup2(output, 1)  # the op's output is not part of the report
        os.dup2(output, 2)
        status = run_child(job, group, writing)
    finally:
        os._exit(status)  # without exit functions: threads of the op may hang


def _work_of(process: int) -> int | None:
    """Ticks of processor time of a process whose threads all wait; None: a thread could run, or
    waits for a disk or for a process of its own."""
    ticks = 0
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            words = (task / "stat").read_text().rpartition(")")[2].split()
            if words[0] in "RD" or (task / "children").read_text():
                return None
            ticks += int(words[11]) + int(words[12])
    except OSError:
        return None
    return ticks


class _Thread(NamedTuple):
    """A thread at a moment.

    Attributes:
        is_ready: Whether it is on a processor, or stands in line for one.
        on, in_line: For how many nanoseconds it was; a wait in line counts from its end on.
    """

    is_ready: bool
    on: int
    in_line: int


def _threads_of(process: int) -> dict[str, _Thread]:
    """The threads of a process by their numbers; {}: the kernel does not say."""
    found = {}
    with contextlib.suppress(OSError, ValueError):
        for task in Path(f"/proc/{process}/task").iterdir():
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            on, in_line, _ = map(int, (task / "schedstat").read_text().split())
            found[task.name] = _Thread(state == "R", on, in_line)
    return found


def _own_seconds(
    before: Mapping[str, _Thread], now: Mapping[str, _Thread], seconds: float
) -> float:
    """The part of the seconds between two looks in which a process did not stand in line."""
    none = _Thread(False, 0, 0)
    new = [(one, before.get(name, none)) for name, one in now.items()]
    if any(one.is_ready for one in now.values()):
        return max(one.on - last.on for one, last in new) / 1e9
    return max(seconds - max((one.in_line - last.in_line for one, last in new), default=0) / 1e9, 0)


def _understand(line: str) -> Said:
    """A line of JSON, or a crash as the C part tells it."""
    if line.startswith("{"):
        said: Said = json.loads(line)
        return said
    id, _, text = line.partition("\t")
    return {"id": id, "text": text}


def _with_cases(said: list[Said]) -> list[Said]:
    """The messages without the beginnings of cases; a crash gets the case in which it happened."""
    case, kept = "", []
    for one in said:
        if one.keys() == {"case"}:
            case = one["case"]
        else:
            kept.append({"case": case, **one} if "id" in one else one)
    return kept


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# ---- Several groups at a time, and their results in the order of GROUPS -------------------------

_LOOK = 0.25  # seconds between two looks at the time of the groups
_Started = Callable[[str], None]


def run_groups(
    job: Job, run_child: _RunChild, started: _Started
) -> Iterator[tuple[str, list[Said]]]:
    """Yields each group with its messages, as soon as it and all earlier groups are done.

    Args:
        run_child: Runs a group in its process.
        started: Gets the name of each group that begins.
    """
    goes_on, names = True, list[str]()
    for said, goes_on in _run([_DESCRIPTOR], job, run_child, started):
        names = next((one["groups"] for one in said if "groups" in one), [])
        of_sample = next((one for one in said if "part" in one), None)
        if of_sample is not None:
            job = job.of_sample(of_sample["part"], of_sample["is_large"])
        yield _DESCRIPTOR.name, said
    groups = [group for group in GROUPS if group.name in names and _is_wanted(group, job)]
    if not goes_on:
        return
    results = _run(groups, job, run_child, started)
    for group, (said, _) in zip(groups, results, strict=True):
        yield group.name, said


_DESCRIPTOR = Group("descriptor", lambda check: "")  # run_child knows this name


def _is_wanted(group: Group, job: Job) -> bool:
    if job.groups is not None:
        return group.name in job.groups
    return group.is_quick or not job.quick


def _run(
    groups: Sequence[Group], job: Job, run_child: _RunChild, started: _Started
) -> Iterator[tuple[list[Said], bool]]:
    """Gives the messages of each group, and whether others can follow, in the order of the
    groups.  A group that was late is repeated once, alone: that result counts."""
    done: dict[str, tuple[list[Said], bool]] = {}
    repeated = set[str]()
    # Groups that need all cores come first; then the others keep all cores busy to the end.
    waiting = sorted(groups, key=lambda group: not group.is_alone)
    running: list[GroupProcess] = []
    is_alone, most = False, len(os.sched_getaffinity(0))
    try:
        for group in groups:
            while group.name not in done:
                while waiting and _may_start(waiting[0], len(running), is_alone, most):
                    next_one = waiting.pop(0)
                    is_alone = next_one.is_alone
                    started(next_one.name)
                    own = replace(job, folder=_folder_of(next_one, job))
                    running.append(GroupProcess(own, next_one.name, run_child))
                for ended in _wait(running):
                    running.remove(ended)
                    result, name = ended.close(), ended.group
                    if ended.was_late and name not in repeated:
                        repeated.add(name)
                        again = next(one for one in groups if one.name == name)
                        waiting.append(replace(again, is_alone=True))
                    else:
                        done[name] = result
            yield done.pop(group.name)
    finally:
        for one in running:
            one.kill()
            one.close()


def _may_start(group: Group, num_running: int, is_alone: bool, most: int) -> bool:
    if num_running == 0:
        return True
    return num_running < most and not is_alone and not group.is_alone


def _wait(running: Sequence[GroupProcess]) -> list[GroupProcess]:
    """The groups that have ended, or were stopped.  A group writes for each of its cases, while a
    look at its time takes longer than many cases."""
    pipes = {one.pipe: one for one in running}
    end, ended = time.monotonic() + _LOOK, list[GroupProcess]()
    while (left := end - time.monotonic()) > 0:
        ready = [pipes[pipe] for pipe in select.select(list(pipes), [], [], left)[0]]
        if ended := [one for one in ready if not one.read()]:
            return ended
    for one in running:
        if one.has_ended():
            ended.append(one)
        elif one.is_late():
            one.stop()
            ended.append(one)
    return ended


def _folder_of(group: Group, job: Job) -> str:
    """A folder of its own, so that no group meets the files of another."""
    folder = os.path.join(job.folder, re.sub("[^a-z0-9]+", "-", group.name))
    os.makedirs(folder, exist_ok=True)
    return folder
