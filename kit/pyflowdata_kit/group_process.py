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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .checks import GROUPS, Group
from .spec import Job


Said = dict[str, Any]
_RunChild = Callable[[Job, str, int], int]  # (job, group, pipe to write to) -> exit status

STOP = 3  # exit status of a group after which no other can run
_GRACE = 10  # by the clock, a group may take so many times the limit of one pass
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
        self._started = self._moved = time.monotonic()
        self._work = -1  # ticks of processor time at the last look
        self._late, self._late_id = "", ""  # the reason for which the group was stopped

    def read(self) -> bool:
        """Reads what is in the pipe; False: the group has ended."""
        part = os.read(self.pipe, 65536)
        self._parts.append(part)
        self._moved = time.monotonic()
        return bool(part)

    def is_late(self) -> bool:
        """Whether the group takes too long, or waits without doing anything."""
        now, limit = time.monotonic(), self._job.limit
        work = _work_of(self._process)
        if work != self._work:  # None: one of its threads could run
            self._work, self._moved = -1 if work is None else work, now
        if now - self._started > limit * _GRACE:
            self._late_id, self._late = "hang", f"did not end within {limit * _GRACE:.0f} s"
        elif now - self._moved > max(limit, _LEAST_STALL):
            seconds = f"{now - self._moved:.0f} s"
            self._late_id, self._late = "waits", f"waited for {seconds} and did nothing"
        return bool(self._late)

    def stop(self) -> None:
        """Ends the group; a run of the kit first reports what it was doing."""
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
    groups."""
    done: dict[str, tuple[list[Said], bool]] = {}
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
                    done[ended.group] = ended.close()
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
