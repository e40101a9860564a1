"""The process in which ops are checked: `python -m pyflowdata.conformance.worker`, jobs on stdin.

Each group of checks runs in a fork of its own, so that an op which crashes or does not end costs
that group alone, and nothing of a job remains for the next one.  Lines of JSON go to stdout; an
empty one ends a job.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

from ..errors import Error
from .checks import GROUPS, Check
from .driver import driver_job
from .job import Job
from .spec import libraries_of

_GRACE = 10  # a group may take so many times the limit of one pass, by the clock
_STOP = 3  # exit status of a group after which no other can run


class _Child:
    """What a group runs with, in its own process: checks.Teller."""

    def __init__(self, job: Job, pipe: int) -> None:
        self.job, self.report_fd = job, pipe
        self._case = ""

    def write(self, **said: object) -> None:
        os.write(self.report_fd, (json.dumps(said) + "\n").encode())

    def begin(self, case: str) -> None:
        self._case = case
        self.write(case=case)

    def tell(
        self, id: str, text: str, likely: Sequence[str] = (), case: str | None = None
    ) -> None:
        self._say(id=id, text=text, likely=list(likely), case=case)

    def warn(
        self, id: str, text: str, likely: Sequence[str] = (), case: str | None = None
    ) -> None:
        self._say(id=id, text=text, likely=list(likely), case=case, warning=True)

    def _say(self, *, case: str | None, **said: object) -> None:
        self.write(case=self._case if case is None else case, **said)

    def note(self, text: str) -> None:
        self.write(note=text)

    def check(self) -> Check:
        self.job.load()
        return Check(self.job, self)


class _StopError(Exception):
    """No other group can run."""


def _descriptor(child: _Child) -> str:
    try:
        child.job.load()
    except Error as failure:
        child.tell("descriptor", f"the plugin cannot be loaded: {failure}")
        raise _StopError from failure
    if 5e-324 * float("1") == 0.0:
        child.tell(
            "fast-math",
            "loading the plugin made this process treat small numbers as 0: link without "
            "-ffast-math, which sets the processor's mode for all code",
        )
    try:
        one, two = child.job.spec.make(), child.job.spec.make()
    except Error as failure:
        child.tell("attrs", f"the op cannot be used with these attrs: {failure}")
        raise _StopError from failure
    types = [[(blob.shape, blob.dtype) for blob in node.outputs] for node in (one, two)]
    if types[0] != types[1]:
        child.tell(
            "infer-not-repeatable",
            f"infer() gave {types[0]} and then {types[1]} for the same attrs: it must depend on "
            "attrs and inputs alone",
        )
    return f"{one.op.name}, {len(one.op.attrs)} attrs, {len(one.op.outputs)} outputs"


def _list_groups(child: _Child) -> str:
    said = _descriptor(child)
    try:
        files = child.check().kit.files()
    except Error as failure:
        child.tell("no-sample", f"there is no sample to check with: {failure}")
        raise _StopError from failure
    names, reasons = [], []
    for group in GROUPS:
        if group.needs_corpus and child.job.corpus is None:
            continue
        why = group.left_out(child.job.spec)
        if why is None:
            names.append(group.name)
        elif why and (said_of := f"{group.title}: {why}") not in reasons:
            reasons.append(said_of)
    node = child.job.spec.with_reader(rank=0, world_size=1).make()
    child.write(groups=names, op=node.op.name, job=driver_job(node), files=files,
                origin=node.op.origin, libraries=libraries_of(child.job.spec))  # fmt: skip
    for reason in reasons:
        child.note(reason)
    return said


def _run_child(job: Job, group: str, pipe: int) -> int:
    child = _Child(job, pipe)
    try:
        if group == "descriptor":
            said = _list_groups(child)
        else:
            said = next(one for one in GROUPS if one.name == group).run(child.check())
        child.write(done=said)
    except _StopError:
        return _STOP
    except Error as failure:
        child.tell("call-fails", f"{type(failure).__name__}: {failure}")
    except Exception:  # noqa: BLE001  (told to who reads the report, not lost with the process)
        child.tell("kit-fails", traceback.format_exc())
    return 0


def _fork(job: Job, group: str) -> tuple[int, int]:
    """Process and pipe of a group."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # which has the next jobs
        os.dup2(2, 1)  # the op's output is not part of the report
        status = _run_child(job, group, writing)
    finally:
        os._exit(status)  # no more than this: threads of the op may hang


def _read_lines(pipe: int, seconds: float) -> tuple[list[str], bool]:
    """What the group wrote, and whether it ended in time."""
    parts: list[bytes] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not select.select([pipe], [], [], left)[0]:
            break
        part = os.read(pipe, 65536)
        if not part:
            return b"".join(parts).decode("utf-8", "replace").splitlines(), True
        parts.append(part)
    return b"".join(parts).decode("utf-8", "replace").splitlines(), False


def _understand(line: str) -> dict[str, Any]:
    """A line of JSON, or a crash as the C part tells it."""
    if line.startswith("{"):
        said: dict[str, Any] = json.loads(line)
        return said
    id, _, text = line.partition("\t")
    return {"id": id, "text": text}


def _with_cases(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said but for the cases that began, which go to the crashes in them."""
    case, kept = "", []
    for one in said:
        if one.keys() == {"case"}:
            case = one["case"]
        else:
            kept.append({"case": case, **one} if "id" in one else one)
    return kept


def _run_group(job: Job, group: str) -> tuple[list[dict[str, Any]], bool]:
    """What a group said, and whether others can follow."""
    process, pipe = _fork(job, group)
    lines, in_time = _read_lines(pipe, job.limit * _GRACE)
    if not in_time:
        os.kill(process, signal.SIGPROF)  # a run of the kit tells what it was doing
        lines += _read_lines(pipe, 1.0)[0]
        os.kill(process, signal.SIGKILL)
    os.close(pipe)
    _, status = os.waitpid(process, 0)
    said = [_understand(line) for line in lines]
    code = os.waitstatus_to_exitcode(status)
    ended = any("done" in one for one in said) or code == _STOP
    told = any("id" in one for one in said)
    if not in_time and not any(one.get("id") == "hang" for one in said):
        said.append({"id": "hang", "text": f"the group '{group}' did not end within "
                     f"{job.limit * _GRACE:.0f} s: look for a loop or a lock that waits for ever"})
    elif code < 0 and not told:
        said.append({"id": "crash", "text": f"the op crashed the process ({_name(-code)}): run "
                     "with --asan to see where"})
    elif not ended and not told:
        said.append({"id": "exit", "text": f"the op ended the process (exit status {code}): an op "
                     "must never call exit(), return host->fail() instead"})
    return _with_cases(said), code != _STOP


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _run(job: Job) -> None:
    """Runs the groups of a job's checks, and prints their results as JSON lines."""
    said, goes_on = _run_group(job, "descriptor")
    groups: list[str] = next((one["groups"] for one in said if "groups" in one), [])
    _print("descriptor", said)
    for group in groups if goes_on else []:
        if job.groups is None or group in job.groups:
            said, _ = _run_group(job, group)
            _print(group, said)


def main() -> None:
    """Does the jobs that come by stdin, until it ends; an empty line ends the results of each."""
    gc.freeze()  # forks need not look through the objects that exist now
    with contextlib.suppress(EOFError):
        while True:
            _run(pickle.load(sys.stdin.buffer))
            print(flush=True)


def _print(group: str, said: list[dict[str, Any]]) -> None:
    for one in said:
        print(json.dumps({"group": group, **one}), flush=True)


if __name__ == "__main__":
    main()
