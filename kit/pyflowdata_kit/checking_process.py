"""Checks ops in a separate process, a worker of pyflowdata.workers, which gets jobs.

Each group of checks runs in a separate fork: if an op crashes or does not end, only that group is
lost, and a job does not influence the next job. As many groups run at a time as there are cores.
The process sends messages of JSON; an empty message ends a job.
"""

from __future__ import annotations

import errno
import gc
import importlib
import json
import os
import pickle
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from . import own_children
from .checks import GROUPS, Check, Group
from .group_process import STOP, Said, run_groups
from .spec import Job, Spec, flags_of, has_python, libraries_of
from pyflowdata.errors import Error
from pyflowdata.native import lib
from pyflowdata.workers.inside import Send
from pyflowdata.workers.shared_memory import SharedMemory
from pyflowdata.nodes.attr_values import Plain
from pyflowdata.nodes.node import Node
from pyflowdata.nodes.objects import Object
from pyflowdata.words.plain_text import counted


# ---- The part of a large sample that is checked -------------------------------------------------

_MOST_FILES = 64
_MOST_BYTES = 1 << 25


def _bytes_of(files: Sequence[str]) -> int:
    """The bytes of the files together."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))


def part_of(files: Sequence[str]) -> list[str]:
    """The first and the last files, as many as a check can read many times; [] if all files can be
    read, or if a part would be no smaller.

    Args:
        files: The reader's files, in its order, with companions, whose suffixes differ from the
            first file's.
    """
    if len(files) <= _MOST_FILES and _bytes_of(files) <= _MOST_BYTES:
        return []
    own = [file for file in files if _suffix(file) == _suffix(files[0])]
    for half in range(_MOST_FILES // 2, 0, -1):
        part = [*own[:half], *own[-half:]]
        if len(part) < len(own) and (half == 1 or _bytes_of(part) <= _MOST_BYTES):
            return part
    return []


def _can_be_checked(spec: Spec, part: Sequence[str]) -> bool:
    """Whether the reader accepts these files alone."""
    try:
        spec.with_files(list(part)).make()
    except Error:
        return False
    return True


def _in_words(files: Sequence[str], part: Sequence[str]) -> str:
    """A text about the part of the sample that is checked."""
    half = len(part) // 2
    return (
        f"most of the sample, which has {counted(len(files), 'file')}: the checks look at the "
        f"first {half} and the last {half}, and do not count all records"
    )


def _suffix(file: str) -> str:
    """The suffixes of a name, with 0 for each number, so that numbered parts are of one kind."""
    return re.sub(r"\d+", "0", "".join(Path(file).suffixes))


# ---- The job that drivers/job.h reads: a graph as lines of text ---------------------------------


def _driver_job(node: Node, *, whole_batches: bool) -> str:
    """The graph of a node as drivers/job.h reads it, without the plugins.

    whole_batches: A row may depend on the other rows of its batch.
    """
    order: list[Node] = []
    _collect(node, order)
    lines = ["whole"] if whole_batches else []
    for one in order:
        lines.append(f"node {one.op.name}")
        lines += [_attr_line(name, value) for name, value in one.values.items()]
        lines += [f"input {order.index(blob.node)} {blob.index}" for blob in one.inputs]
    return "".join(f"{line}\n" for line in lines)


def _collect(node: Node, order: list[Node]) -> None:
    for blob in node.inputs:
        _collect(blob.node, order)
    if node not in order:
        order.append(node)


def _hex(said: str) -> str:
    return said.encode("utf-8", "surrogateescape").hex() or "-"


def _attr_line(name: str, value: Plain) -> str:
    kind: int
    if isinstance(value, bool):
        kind, words = lib.PFD_VALUE_BOOL, [str(int(value))]
    elif isinstance(value, int):
        kind, words = lib.PFD_VALUE_INT, [str(value)]
    elif isinstance(value, float):
        kind, words = lib.PFD_VALUE_FLOAT, [repr(value)]
    elif isinstance(value, Object):  # an object exists in this process alone
        kind, words = lib.PFD_VALUE_INT, [str(value.number)]
    elif isinstance(value, str):
        kind, words = lib.PFD_VALUE_STRING, [_hex(value)]
    elif value and isinstance(value[0], str):
        kind, words = lib.PFD_VALUE_LIST_STRING, [_hex(str(one)) for one in value]
    elif value and isinstance(value[0], float):
        kind, words = lib.PFD_VALUE_LIST_FLOAT, [repr(one) for one in value]
    else:
        kind, words = lib.PFD_VALUE_LIST_INT, [str(one) for one in value]
    size = [str(len(words))] if isinstance(value, list) else []
    return " ".join(["attr", name, str(kind), *size, *words])


# ---- The groups ---------------------------------------------------------------------------------

_LINE = 100  # bytes of the first line that an op prints
_PRINT_THEMSELVES = ("loader",)  # groups in which more than the op runs


class _Child:
    """A checks.Teller for a group in its own process."""

    def __init__(self, job: Job, pipe: int) -> None:
        self.job, self.report_fd = job, pipe
        self.watches_output = False
        self._case = ""
        self._has_told = False  # of processes that were left

    def write(self, **said: object) -> None:
        os.write(self.report_fd, (json.dumps(said) + "\n").encode())

    def look_for_output(self) -> None:
        """Reports once what the op has written to descriptors 1 and 2, which both lead to a file.
        """
        if not self.watches_output or not os.fstat(2).st_size:
            return
        self.watches_output = False
        line = os.pread(2, _LINE, 0).split(b"\n")[0].decode("ascii", "replace")
        self.tell(
            "prints",
            f'the op wrote "{"".join(c if c.isprintable() and c.isascii() else "?" for c in line)}"'
            " to standard output or standard error: they are the program's, whose output may be "
            "data, and many threads would write at once; report a failure with host->fail() and "
            "the others, and leave out anything else",
        )

    def begin(self, case: str) -> None:
        self.look_for_output()
        self._case = case
        self.write(case=case)

    def look_for_processes(self) -> None:
        """Ends processes that the op left running in the current case, and reports them once."""
        if not own_children.has_some():
            return
        own_children.end_all()
        if not self._has_told:
            self._has_told = True
            self.tell(
                "leaves-process",
                "the op started a process, which is there after close(): it has copies of all "
                "descriptors, locks and memory of the program, and each epoch leaves one more; "
                "start none, or end it and wait for it in close(), and where open() fails",
            )

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

    def check(self, every: int = 1) -> Check:
        self.job.load()
        return Check(self.job, self, every)


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
        child.tell("attrs", f"the op cannot be made: {failure}")
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
    before = {*sys.modules}
    said = _descriptor(child)
    try:
        files = child.check().kit.files()
    except Error as failure:
        child.tell("no-sample", f"there is no sample to check with: {failure}")
        raise _StopError from failure
    files = _limit_sample(child, files)
    names, left_out, too_slow = [], {}, list[str]()
    for group in GROUPS:
        if group.needs_corpus and child.job.corpus is None:
            continue
        why = group.left_out(child.job.spec)
        if why is None and child.job.is_large and not group.large_every:
            too_slow.append(group.name)
        elif why is None:
            names.append(group.name)
        else:
            left_out[group.name] = why
    node = child.job.spec.with_reader(rank=0, world_size=1).make()
    not_for_it = {**left_out, **dict.fromkeys(too_slow, _TOO_LARGE)}
    child.write(
        groups=names, not_for_it=not_for_it, op=node.op.name, files=files, origin=node.op.origin,
        job=_driver_job(node, whole_batches=child.job.spec.needs_whole_batches()),
        libraries=libraries_of(child.job.spec),
        modules=[name for name in sys.modules if name not in before and name.startswith(_OWN)],
    )  # fmt: skip
    if too_slow:
        child.note(
            f"{', '.join(too_slow)}, and most cases of others: the sample has "
            f"{_bytes_of(files) >> 20:,} MB, which these checks would read hundreds of times; give "
            f"a sample of less than {_MOST_BYTES >> 20} MB, best below 10 KB"
        )
    titles = {group.name: group.title for group in GROUPS}
    for reason in dict.fromkeys(f"{titles[name]}: {why}" for name, why in left_out.items() if why):
        child.note(reason)
    if child.job.quick:
        child.note(_not_quick([group for group in GROUPS if group.name in names]))
    return said


_OWN = "pyflowdata."
_TOO_LARGE = "the sample has too many bytes for it"


def _limit_sample(child: _Child, files: list[str]) -> list[str]:
    """The files that are looked at, of these."""
    part = part_of(files) if flags_of(child.job.spec.reader().op) & lib.PFD_READS_FILES else []
    if part and not _can_be_checked(child.job.spec, part):
        part = []
    kept = child.job.of_sample(part, False)
    if part:
        child.note(_in_words(files, part))
        child.job = kept
        files = child.check().kit.files()
    is_large = _bytes_of(files) > _MOST_BYTES
    child.job = replace(kept, is_large=is_large)
    child.write(part=part, is_large=is_large)
    return files


def _not_quick(groups: Sequence[Group]) -> str:
    """A text about what --quick leaves out."""
    gone = ", ".join(group.name for group in groups if not group.is_quick)
    some = ", ".join(group.name for group in groups if group.is_quick and group.quick_every > 1)
    return f"with --quick: all of {gone}" + (f"; most cases of {some}" if some else "")


def _run_child(job: Job, group: str, pipe: int) -> int:
    gc.freeze()  # this fork need not look through the objects of the other process
    child = _Child(job, pipe)
    own_children.adopt()
    try:
        if group == "descriptor":
            said = _list_groups(child)
        else:
            one = next(one for one in GROUPS if one.name == group)
            every = one.large_every if job.is_large else 1
            check = child.check(max(every, one.quick_every if job.quick else 1))
            child.watches_output = group not in _PRINT_THEMSELVES and not has_python(job.spec)
            said = one.run(check)
            child.look_for_output()
            child.look_for_processes()
            if job.case is not None:
                child.write(has_case=check.has_run, cases=check.passed_over)
        child.write(done=said)
    except _StopError:
        return STOP
    except Error as failure:
        child.tell("call-fails", f"{type(failure).__name__}: {failure}")
    except OSError as failure:
        if failure.errno not in (errno.ENOSPC, errno.EDQUOT):
            child.tell("kit-fails", traceback.format_exc())
        else:
            child.write(no_space=tempfile.gettempdir())
    except Exception:  # noqa: BLE001  (told to who reads the report, not lost with the process)
        child.tell("kit-fails", traceback.format_exc())
    finally:
        own_children.end_all()
    return 0


def run(job: Job, say: Callable[[Said], None]) -> None:
    """Runs the groups of a job's checks in forks of this process.

    Args:
        say: Gets a message for each group that starts, and then the messages of the groups, in the
            order of GROUPS.
    """
    begins = lambda group: say({"group": group, "starts": True})  # noqa: E731
    for group, said in run_groups(job, _run_child, begins):
        for one in said:
            for name in one.pop("modules", ()):  # once here, not in the fork of every group
                importlib.import_module(name)
            say({"group": group, **one})


def begin(_content: bytes, _memory: SharedMemory, send: Send) -> Callable[[bytes], None]:
    """Does a pickled job, for pyflowdata.workers."""
    from pyflowdata.insight import counters, stalls, tuning  # noqa: F401  (here, not in each fork)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))  # and ends its forks

    def answer(job: bytes) -> None:
        run(pickle.loads(job), lambda said: send(json.dumps(said).encode()))
        send(b"")

    return answer
