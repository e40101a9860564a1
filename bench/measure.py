"""Measures one contender in this process: an epoch that is verified, then one that is timed."""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bench.contender import Batch, Contender, Source
from bench.data import Check, Truth

Measures = dict[str, Any]


def anonymous_bytes(pid: int | str = "self") -> int:
    """Anonymous and shared memory of a process now; 0 when it is gone."""
    kilobytes = 0
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith(("RssAnon:", "RssShmem:")):
                    kilobytes += int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return kilobytes * 1024


def cpu_seconds() -> float:
    """User and system time of this process and of its children, which may have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    ended = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    tasks = Path("/proc/self/task").iterdir()
    children = {child for task in tasks for child in _children_of(task)}
    return ended + sum(map(_seconds_of_child, children))


def _children_of(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:  # the thread has ended just now
        return []


def _seconds_of_child(pid: str) -> float:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended just now
        return 0
    fields = text.rpartition(")")[2].split()  # after the name, the third field is the first
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(contender: Contender, source: Source, latencies: bool) -> tuple[Measures, Truth]:
    """The measures of a timed epoch, and what an epoch before it delivered."""
    if contender.program:
        return _run_program(contender.open(source))
    began = time.perf_counter()
    epochs = contender.epochs(source)
    opened = {"open_seconds": time.perf_counter() - began, "open_anon": anonymous_bytes()}
    iterator = iter(epochs)
    batch = next(iterator)
    opened["first_seconds"] = time.perf_counter() - began
    check = Check()
    check.add(*batch)
    for batch in iterator:
        check.add(*batch)
    del batch, iterator
    gc.collect()
    return opened | (_time_stamps if latencies else _time_plain)(epochs), check.found()


def _time_plain(epochs: Iterable[Batch]) -> Measures:
    cpu, began = cpu_seconds(), time.perf_counter()
    iterator = iter(epochs)
    batches = rows = 0
    for x, _ in iterator:
        batches += 1
        rows += len(x)
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    return {"seconds": seconds, "cpu": cpu, "batches": batches, "rows": rows}


def _time_stamps(epochs: Iterable[Batch]) -> Measures:
    """As _time_plain, and the time of each batch, which costs about 0.1 us a batch.

    The clock stops when the iterator has ended; what its destruction takes is a measure of its own.
    """
    stamps: list[int] = []
    stamp, now = stamps.append, time.perf_counter_ns
    rows = 0
    cpu, began = cpu_seconds(), now()
    iterator = iter(epochs)
    for x, _ in iterator:
        stamp(now())
        rows += len(x)
    ended, cpu = now(), cpu_seconds() - cpu
    del x, _, iterator
    teardown = now() - ended
    each = np.diff([began, *stamps]) / 1e9
    return {
        "seconds": (ended - began) / 1e9,
        "cpu": cpu,
        "batches": len(stamps),
        "rows": rows,
        "p50": float(np.percentile(each, 50)),
        "p99": float(np.percentile(each, 99)),
        "teardown_seconds": teardown / 1e9,
    }


def _run_program(command: list[str]) -> tuple[Measures, Truth]:
    """Of a program's dict, the entries that Truth has are what it read."""
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    measures = json.loads(output)
    names = [name for name in Truth.__dataclass_fields__ if name in measures]
    return measures, Truth(**{name: measures[name] for name in names})
