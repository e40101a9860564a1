"""What a DataLoader counts of its steps and workers, for stats() and report()."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from typing import Any

import numpy as np

from ....native import version
from ....insight.counters import Counters, ReaderFacts, StepTimes, Work
from ....insight.report import Report
from ....insight.stats import empty_stats

_WAITED = 0.0002  # seconds: a batch that is there is handed out in less
_MOST_NEW = 3 * 512  # numbers that are added up at once, which takes a tenth of one by one


class Counts:
    """Counts of a loader, from its first batch on."""

    def __init__(self) -> None:
        self._opened = time.monotonic()
        self._offset = self._opened - time.perf_counter()
        self._lock = threading.Lock()  # threads that fetch count, too
        self._steps = StepTimes(1)
        self._has_begun = False
        self._asked = self._delivered = 0.0
        self._last: float | None = None
        self._new: list[float] = []  # of each batch when it was asked for, delivered, and its rows
        self._values = dict.fromkeys(
            ("batches", "records", "wait_seconds", "batches_made", "busy_seconds", "cpu_seconds",
             "process_cpu_seconds", "left_out"), 0.0,
        )  # fmt: skip
        self._cpu_at_start = time.process_time()

    # ---- Steps, in the thread that takes batches ----

    def begin(self, now: float) -> None:
        """The first batch of an epoch is asked for."""
        self._add_new()
        self._asked, self._last = now, None
        self._has_begun = True

    def ask(self, now: float) -> None:
        """Another batch is asked for."""
        self._asked = now

    def deliver(self, now: float, rows: int) -> None:
        """A batch is delivered."""
        self._new += (self._asked, now, rows)
        if len(self._new) >= _MOST_NEW:
            self._add_new()

    def _add_new(self) -> None:
        """Adds up the batches that were delivered since the last time."""
        new, self._new = self._new, []
        if not new:
            return
        asked, delivered, rows = np.array(new).reshape(-1, 3).T
        waits = delivered - asked
        values = self._values
        values["batches"] += len(rows)
        values["records"] += float(rows.sum())
        values["wait_seconds"] += float(waits.sum())
        if self._last is None:
            self._steps.add_start(float(waits[0]))
            trains, waits = asked[1:] - delivered[:-1], waits[1:]
        else:
            trains = asked - np.append(self._last, delivered[:-1])
        self._steps.add_many(waits, trains, waits >= _WAITED)
        self._last = self._delivered = float(delivered[-1])

    def end(self, left_out: int) -> None:
        """An epoch is at its end, without so many of its samples, of all ranks."""
        self._values["left_out"] += left_out

    # ---- Work ----

    def work(self, seconds: float, cpu_seconds: float, *, in_process: bool = False) -> None:
        """A batch was made by a worker."""
        with self._lock:
            self._values["batches_made"] += 1
            self._values["busy_seconds"] += seconds
            self._values["cpu_seconds"] += cpu_seconds
            if not in_process:
                self._values["process_cpu_seconds"] += cpu_seconds

    # ---- What it comes to ----

    def stats(self, loader: Any) -> dict[str, float]:
        """As DataLoader.stats() of this package."""
        self._add_new()
        with self._lock:
            values = self._values | self._steps.stats()
        now = time.monotonic()
        made, busy = values["batches_made"], values.pop("busy_seconds")
        if loader.num_workers == 0:
            made, busy = values["batches"], values["wait_seconds"]
            values["cpu_seconds"] = busy
        there = (now - self._opened) * max(1, loader.num_workers) if self._has_begun else 0.0
        cpu = time.process_time() - self._cpu_at_start
        pools = loader.slot_pools
        return {
            **empty_stats(),
            **values,
            "batches_made": made,
            "thread_seconds": there,
            "idle_seconds": max(0.0, there - busy),
            "process_cpu_seconds": values["process_cpu_seconds"] + cpu,
            "slots": sum(len(pool) for pool in pools),
            "slots_held": sum(pool.held for pool in pools),
            "slot_bytes": sum(pool.bytes for pool in pools),
            "processors": len(os.sched_getaffinity(0)),
            "now_seconds": now,
            "opened_seconds": self._opened,
            "asked_seconds": self._asked + self._offset if self._asked else 0.0,
            "delivered_seconds": self._delivered + self._offset if self._delivered else 0.0,
        }

    def report(self, loader: Any) -> Report:
        """The report of this moment."""
        stats = self.stats(loader)
        workers, dataset = loader.num_workers, loader.dataset
        processes = workers if loader.workers == "processes" else 0
        busy = stats["thread_seconds"] - stats["idle_seconds"]
        work = Work(
            kind="op",
            op=type(dataset).__name__,
            name="",
            fused_op="",
            language="processes" if processes else "Python",
            gives="samples",
            reader=0,
            is_whole=True,
            rows=int(stats["records"]),
            ranges=int(stats["batches_made"]),
            measured_ranges=int(stats["batches_made"]),
            wall_seconds=busy,
            cpu_seconds=stats["cpu_seconds"],
            is_by_row=not getattr(dataset, "__getitems__", None),
            processes=processes,
        )
        try:
            records = -1 if loader.is_iterable else len(dataset)
        except TypeError:
            records = -1
        reader = ReaderFacts(
            op="dataset", name=type(dataset).__name__, shuffle="", files=0, bytes=0,
            records=records, index_seconds=0.0, is_new_index=False,
        )  # fmt: skip
        counters = Counters(
            blobs=("batch",),
            num_threads=max(1, workers),
            prefetch=loader.most_ahead,
            memory_budget=0,
            rank=loader.rank,
            world_size=loader.world_size,
            host=socket.gethostname(),
            pid=os.getpid(),
            readers=(reader,),
            stats=stats,
            work=(work,),
            script=os.path.basename(sys.argv[0]) if sys.argv else "",
            version=version(),
            taken=time.time(),
        )
        return Report(self._steps.put_into(counters))
