"""Runs two nodes of the op in one process: neither may get data of the other."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import own_children
from ..kit import FORWARD, Hashed, Run
from ..spec import Spec, Variant, over_other_files, with_other_attrs
from .check import Check


# ---- Calls in a fork of this process, which leave this process's memory as it is ----------------

_LAST_WORDS = 1.0  # seconds that a run of the kit has to tell what it was doing


def _in_fork(function: Callable[[], Any], limit: float) -> Any:
    """The pickled and unpickled result of the function, run in a fork; None if it raised or ended
    the process.

    Raises:
        TimeoutError: It did not return within `limit` seconds, and its process was ended.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(function(), pipe)
                own_children.end_all()  # they have the pipe, too
        finally:
            os._exit(0)  # without exit functions, which are the parent's
    os.close(writing)
    parts: list[bytes] = []
    try:
        is_done = _read(reading, parts, limit)
        if not is_done:
            os.kill(process, signal.SIGPROF)
            _read(reading, parts, _LAST_WORDS)
            os.kill(process, signal.SIGKILL)
    finally:
        os.close(reading)
        os.waitpid(process, 0)
    if not is_done:
        raise TimeoutError
    try:
        return pickle.loads(b"".join(parts))
    except (EOFError, pickle.UnpicklingError):
        return None


def _read(pipe: int, parts: list[bytes], limit: float) -> bool:
    """Whether the other end was closed in time."""
    end = time.monotonic() + limit
    while (left := end - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            return True
        parts.append(part)
    return False


# ---- The check ----------------------------------------------------------------------------------

_MOST_RECORDS = 64
_MOST_ATTRS = 4  # attrs whose other value changes something
_MOST_TRIED = 10
_OF_FILES = (
    "a thread_local or static cache that belongs to no source: keep it in the source, or compare "
    "the source that it was filled from before it is used",
    "a cache by the source's address alone, which a later source can have too",
)
_OF_ATTRS = (
    "a table that is made once from the attrs of the first node, and kept in a static or "
    "thread_local variable: make it in open() or in each call",
)


def sources(check: Check) -> str:
    """Reads two nodes of the op in one process, by turns, and one after the other."""
    try:
        return _sources(check)
    except TimeoutError:  # the run itself tells of this
        return "ended: a call does not return"


def _sources(check: Check) -> str:
    own, again = _alone(check, check.job.spec), _alone(check, check.job.spec)
    if own is None or again is None or not own.succeeded:
        return "left out: the sample fails"
    if own.first_difference(again) is not None:
        return "left out: rows are others in each process"
    files, attrs = _of_other_files(check, own), _of_other_attrs(check, own)
    for what, spec in files:
        _compare(check, own, f"over {what}", spec, _OF_FILES)
    for what, spec in attrs:
        _compare(check, own, f"with {what}", spec, _OF_ATTRS)
    return (
        f"by turns with {len(files)} source of other files and {len(attrs)} of other attrs"
        if files or attrs
        else "left out: no other files or attrs give other records"
    )


def _limit(check: Check) -> float:
    """Seconds after which a run counts as endless."""
    return max(2 * check.job.limit, 3.0)


def _options(check: Check) -> dict[str, Any]:
    size = 4 if check.whole_batches else 1
    return {"order": FORWARD, "range": size, "most_records": _MOST_RECORDS}


def _alone(check: Check, spec: Spec, output: int = 0) -> Run | None:
    """The result of the node in a separate process; None if it cannot be run."""

    def run() -> Run:
        kit = check.make_kit(spec)
        return kit.run(silent=True, only_output=output, **_options(check))

    found: Run | None = _in_fork(run, _limit(check))
    return found


# ---- Other nodes --------------------------------------------------------------------------------


def _of_other_files(check: Check, own: Run) -> list[Variant]:
    """The first variant with other records, if possible one without failures."""
    good: list[tuple[bool, Variant]] = []
    for what, spec in over_other_files(check.job.spec, check.kit.files(), check.job.also):
        found = _alone(check, spec)
        if found is None or found.first_difference(own) is None or not found.records.any():
            continue
        if found.succeeded:
            return [(what, spec)]
        good.append((found.succeeded, (what, spec)))
    return [variant for _, variant in good[:1]]


def _of_other_attrs(check: Check, own: Run) -> list[Variant]:
    """The variants with other attrs that give other rows."""
    found: list[Variant] = []
    others = with_other_attrs(check.job.spec, check.kit.own_attrs())
    for tried, (what, spec) in enumerate(others):
        if len(found) == _MOST_ATTRS or tried == _MOST_TRIED:
            break
        other = _alone(check, spec)
        if other is not None and other.succeeded and other.first_difference(own) is not None:
            found.append((what, spec))
    return found


# ---- Comparison ---------------------------------------------------------------------------------


def _by_turns(check: Check, spec: Spec, output: int) -> tuple[Hashed, Hashed]:
    return check.kit.run_with(
        check.make_kit(spec), doing="a second source by turns", only_output=output,
        **_options(check),
    )  # fmt: skip


def _after(check: Check, spec: Spec, output: int) -> tuple[Hashed, Hashed]:
    """Opens the second node after the first is closed."""
    first = check.kit.run(silent=True, only_output=output, **_options(check))
    second = check.make_kit(spec).run(silent=True, only_output=output, **_options(check))
    return first, second


_WAYS = {"by turns": _by_turns, "one after the other": _after}


@dataclass(frozen=True)
class _Pair:
    """Compares the node of the check with another node, in a process that has run neither
    before."""

    check: Check
    other: Spec
    way: str

    def run(self, output: int = 0) -> tuple[Hashed, Hashed] | None:
        together = _WAYS[self.way]
        found: tuple[Hashed, Hashed] | None = _in_fork(
            lambda: together(self.check, self.other, output), _limit(self.check)
        )
        return found

    def output_of(self, which: int, record: int) -> str:
        """The text that names the only output in which this record differs; "": several outputs
        differ.
        """
        for place, name in enumerate(self.check.outputs):
            alone = _alone(self.check, (self.check.job.spec, self.other)[which], place + 1)
            found = self.run(place + 1)
            if alone and found and alone.rows[record] != found[which].rows[record]:
                return f", output '{name}',"
        return ""


def _compare(check: Check, own: Run, what: str, spec: Spec, likely: tuple[str, ...]) -> None:
    alone = (own, _alone(check, spec))
    for way in _WAYS:
        if not check.case(f"a second source {what}, {way}"):
            continue
        pair = _Pair(check, spec, way)
        found = pair.run()
        if found is None:
            continue
        for which in (0, 1):
            truth, result = alone[which], found[which]
            record = truth.first_difference(result) if truth else None
            if record is None:
                continue
            whose = ("the sample", f"a source {what}")[which]
            return check.tell(
                "sources-mixed",
                f"record {record}{pair.output_of(which, record)} of {whose} is another one than in "
                f"a separate process, when two sources are read {way} on one thread, "
                f"{_options(check)['range']} at a time: the sample and one {what}; at() and "
                "compute() must give what belongs to their own source and attrs",
                likely=list(likely),
            )
    return None
