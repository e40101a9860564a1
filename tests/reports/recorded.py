"""Counters as a loader gives them, written down: one that keeps up, to be changed by each test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyflowdata.insight.counters import Counters, CopyCounts, History, ReaderFacts, Work

# 400 steps of 10 ms in 4 s, of 4 threads on 8 processors, which are busy a quarter of the time.
STATS: dict[str, float] = {
    "slots": 10, "slots_held": 1, "slots_ready": 6, "batches": 401, "records": 12832,
    "bytes": 64_000_000, "skipped": 0, "wait_seconds": 0.0, "help_seconds": 0.0,
    "thread_seconds": 16.0, "idle_seconds": 12.0, "slot_bytes": 10_000_000, "read_bytes": 0,
    "cpu_seconds": 3.9,
    "runnable_seconds": 0.05, "major_faults": 0, "now_seconds": 104.0, "opened_seconds": 100.0,
    "asked_seconds": 104.0, "delivered_seconds": 104.0, "batches_made": 407, "starts": 1,
    "start_seconds": 0.01, "steps": 400, "waited_steps": 0, "step_wait_seconds": 0.0,
    "step_train_seconds": 4.0, "no_memory_seconds": 0.0, "processors": 8,
    "process_cpu_seconds": 5.0, "throttled_seconds": 0.0,
}  # fmt: skip


def work(op: str, wall: float, cpu: float, **changes: Any) -> Work:
    """An item of work."""
    one = Work(
        kind="op", op=op, name="", fused_op="", language="C", gives="", reader=0, is_whole=False,
        rows=12832, ranges=3208, measured_ranges=100, wall_seconds=wall, cpu_seconds=cpu,
    )  # fmt: skip
    return replace(one, **changes)


TUNED = "num_threads=4 (auto, 1 to 8), prefetch=8 (auto, 1 to 99): a change is being tried"


def recorded(
    *items: Work, hand_over: CopyCounts | None = None, ahead: CopyCounts | None = None,
    rank: int = 0, world_size: int = 1,
    num_threads: int = 4, prefetch: int = 8, memory_budget: int = 10**9, files: int = 12,
    file_bytes: int = 10**9, trains: dict[int, int] | None = None,
    automatic: tuple[str, ...] = (), **stats: float,
) -> Counters:  # fmt: skip
    """The counters, with other numbers."""
    waits = [0] * 48
    waits[21] = int(stats.get("waited_steps", 0))  # of 2.1 to 4.2 ms
    steps = {23: 400} if trains is None else trains  # of 8.4 to 16.8 ms
    return Counters(
        blobs=("ImageDecoder/out", "Reader/label"), num_threads=num_threads, prefetch=prefetch,
        memory_budget=memory_budget, rank=rank, world_size=world_size, host="here", pid=1,
        readers=(ReaderFacts("Reader", "Reader_0", "", files, file_bytes, 10**6, 0.0, False),),
        stats={**STATS, **stats}, hand_over=hand_over, ahead=ahead,
        automatic=automatic, tuning=(TUNED,) if automatic else (),
        work=items or (work("Decode", 3.2, 3.1), work("Reader", 0.8, 0.8, kind="records")),
        history=History(100.0, 0.05, (), tuple(waits),
                        tuple(steps.get(power, 0) for power in range(48))),
    )  # fmt: skip


# 400 steps of 10 ms, of which 4 ms are waits, with all threads busy.
WAITING: dict[str, float] = {
    "waited_steps": 300, "step_wait_seconds": 1.6, "step_train_seconds": 2.4, "idle_seconds": 0.1,
    "cpu_seconds": 15.4, "help_seconds": 1.4, "process_cpu_seconds": 17.0,
}  # fmt: skip
