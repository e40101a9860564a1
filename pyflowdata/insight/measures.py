"""Shares and rates, from the counters of a loader."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from .counters import Counters, History, Work

# Blocked threads: locks and waking up take less.
BLOCKED = 0.3


# ---- Rates over time ----------------------------------------------------------------------------


class Course(NamedTuple):
    """The work between two moments.

    Attributes:
        begin, end: Seconds since the first batch was asked for.
        rate: Delivered records a second.
        waiting: The share of the time in which next() waited or worked, from 0 to 1.
        ready: Complete batches in front of each delivered one, on average; None: no batch came.
    """

    begin: float
    end: float
    rate: float
    waiting: float
    ready: float | None


def course_of(history: History, delivered: float) -> list[Course]:
    """The periods of a history, as rates.

    Args:
        delivered: The moment of its last batch, at which the last period ends.  A short rest is
            joined with the period before, as a rate over it says little.
    """
    length, count = history.period_seconds, len(history.periods)
    if not count or length <= 0:
        return []
    ends = [(place + 1) * length for place in range(count)]
    ends[-1] = min(max(delivered - history.begin, ends[-1] - 0.999 * length), ends[-1])
    waits = _spread([one.wait_seconds for one in history.periods], ends)
    sums = [
        [one.batches, one.rows, one.ready, wait]
        for one, wait in zip(history.periods, waits, strict=True)
    ]
    if count > 1 and ends[-1] - ends[-2] < length / 2:
        ends[-2:] = ends[-1:]
        sums[-2:] = [[a + b for a, b in zip(*sums[-2:], strict=True)]]
    found, begin = [], 0.0
    for end, (batches, rows, ready, wait) in zip(ends, sums, strict=True):
        found.append(
            Course(
                begin, end, rows / (end - begin), min(1.0, wait / (end - begin)),
                ready / batches if batches else None,
            )
        )  # fmt: skip
        begin = end
    return found


def _spread(waits: list[float], ends: list[float]) -> list[float]:
    """Waits count where they end; what does not fit into that period was before it."""
    found = list(waits)
    for place in range(len(found) - 1, 0, -1):
        over = found[place] - (ends[place] - ends[place - 1])
        if over > 0:
            found[place] -= over
            found[place - 1] += over
    return found


# ---- Measures -----------------------------------------------------------------------------------

def ratio(part: float, whole: float) -> float:
    """part / whole; 0 where there is no whole."""
    return part / whole if whole > 0 else 0.0


class Measures:
    """Shares and rates of a loader.

    Time is that of the training loop: the waits for batches, first ones of epochs included,
    and training.  What the program does between epochs, such as a validation, is not in it, as far
    as it can be told from training: after the last batch of an epoch, as long is taken for training
    as a step takes on average.  Where each epoch has one batch it cannot be told; then it is all
    time since the first batch was asked for.
    """

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        stats = counters.stats
        self.steps = int(stats["steps"])
        self.waited_steps = int(stats["waited_steps"])
        self.threads = counters.num_threads
        self.processors = int(stats["processors"])
        self.copy_seconds = counters.hand_over.seconds if counters.hand_over else 0.0
        self.ahead_seconds = counters.ahead.seconds if counters.ahead else 0.0
        self.wait_seconds = stats["step_wait_seconds"]
        self.step_seconds = self.wait_seconds + stats["step_train_seconds"]
        self.starts = int(stats["starts"])
        self.loop_seconds = self._loop_seconds()
        self.elapsed = stats["now_seconds"] - stats["opened_seconds"]
        self.busy_seconds = max(stats["thread_seconds"] - stats["idle_seconds"], 0.0)

    def _loop_seconds(self) -> float:
        stats, history = self.counters.stats, self.counters.history
        if not self.steps:
            begin = max(stats["opened_seconds"], history.begin)
            return float(max(stats["delivered_seconds"] - begin, stats["start_seconds"]))
        lasts = self.starts * ratio(stats["step_train_seconds"], self.steps)
        return float(self.step_seconds + stats["start_seconds"] + lasts)

    # ---- The training loop ----

    @property
    def waited_share(self) -> float:
        """The share of steps whose batch was not complete when next() was called."""
        return ratio(self.waited_steps, self.steps)

    @property
    def wait_share(self) -> float:
        """The share of the time of steps spent waiting for their batch."""
        return ratio(self.wait_seconds, self.step_seconds)

    @property
    def copy_share(self) -> float:
        """The share of the time of steps that the training loop spent copying batches."""
        return ratio(self.copy_seconds, self.step_seconds)

    @property
    def ahead_share(self) -> float:
        """The time of copies ahead, in another thread, as a share of the time of steps."""
        return ratio(self.ahead_seconds, self.step_seconds)

    @property
    def start_share(self) -> float:
        """The share of the loop's time spent waiting for the first batches of epochs."""
        return ratio(self.counters.stats["start_seconds"], self.loop_seconds)

    @property
    def mean_start_seconds(self) -> float:
        """How long next() took for the first batch of an epoch."""
        return ratio(self.counters.stats["start_seconds"], self.counters.stats["starts"])

    @property
    def train_seconds(self) -> float:
        """The seconds of a step, without the wait for its batch."""
        return ratio(self.step_seconds - self.wait_seconds, self.steps)

    # ---- Threads ----

    @property
    def busy_threads(self) -> float:
        """The threads of the pool with work, on average."""
        return min(ratio(self.busy_seconds, self.loop_seconds), float(self.threads))

    @property
    def worked_share(self) -> float:
        """The share of time with work: of the pool, and of the program's thread while it waits."""
        helped = self.counters.stats["help_seconds"]
        room = self.threads * self.loop_seconds + self.wait_seconds
        return min(ratio(self.busy_threads * self.loop_seconds + helped, room), 1.0)

    @property
    def runnable_share(self) -> float:
        """The share of the time of busy threads spent waiting for a processor; an upper bound, as
        the time until an idle thread runs again is part of it."""
        return min(ratio(self.counters.stats["runnable_seconds"], self.busy_seconds), 1.0)

    @property
    def blocked_share(self) -> float:
        """The share of the time of busy threads spent waiting for files, locks or Python."""
        stats = self.counters.stats
        if not stats["cpu_seconds"]:
            return 0.0  # the system does not say
        ran = stats["cpu_seconds"] + stats["runnable_seconds"]
        return max(ratio(self.busy_seconds - ran, self.busy_seconds), 0.0)

    @property
    def throttled_share(self) -> float:
        """The share of processor time lost to the cgroup's quota."""
        return ratio(self.counters.stats["throttled_seconds"], self.elapsed * self.processors)

    @property
    def process_rate(self) -> float:
        """Processors that this process kept busy in the time of the loop, on average."""
        seconds = self.counters.stats["process_cpu_seconds"]
        return min(ratio(seconds, self.loop_seconds), float(self.processors))

    @property
    def wanted_processors(self) -> float:
        """Processors that this process used or stood in line for, on average."""
        return self.process_rate + ratio(self.counters.stats["runnable_seconds"], self.loop_seconds)

    @property
    def own_cpu_share(self) -> float:
        """The loader's share of the CPU time of the process.  Work of the program's thread while it
        waits is measured by the clock, and taken to have the CPU share of other work."""
        stats = self.counters.stats
        helped = stats["help_seconds"] * min(ratio(self.cpu_seconds, self.wall_seconds), 1.0)
        return min(ratio(stats["cpu_seconds"] + helped, stats["process_cpu_seconds"]), 1.0)

    @property
    def is_crowded(self) -> bool:
        """Other programs have the processors that this one stands in line for."""
        return self.runnable_share >= BLOCKED and self.process_rate <= self.processors * (
            1 - BLOCKED
        )

    @property
    def no_memory_share(self) -> float:
        """The share of the loop's time in which memory_budget let no batch start."""
        return min(ratio(self.counters.stats["no_memory_seconds"], self.loop_seconds), 1.0)

    # ---- Work ----

    @cached_property
    def wall_seconds(self) -> float:
        """Seconds of all work, in all threads."""
        return sum(one.wall_seconds for one in self.counters.work)

    @cached_property
    def cpu_seconds(self) -> float:
        """Seconds of all work, in all threads."""
        return sum(one.cpu_seconds for one in self.counters.work)

    def top(self, work: Sequence[Work] | None = None) -> Work:
        """The work that takes threads the longest; there must be some."""
        return max(self.counters.work if work is None else work, key=lambda one: one.wall_seconds)

    def share(self, one: Work) -> float:
        """The share of the loader's CPU time, of all work."""
        return ratio(one.cpu_seconds, self.cpu_seconds)

    def wall_share(self, one: Work) -> float:
        """The share of the time of threads, waiting included."""
        return ratio(one.wall_seconds, self.wall_seconds)

    def waiting_share(self, one: Work) -> float:
        """The share of its time spent neither computing nor waiting for a processor."""
        held = max(one.wall_seconds - one.cpu_seconds, 0.0)
        return ratio(held, one.wall_seconds) * (1.0 - self._runnable_part)

    @property
    def _runnable_part(self) -> float:
        """The share of waiting for a processor in the time when busy threads do not compute."""
        stats = self.counters.stats
        return min(ratio(stats["runnable_seconds"], self.busy_seconds - stats["cpu_seconds"]), 1.0)

    def threads_in(self, one: Work) -> float:
        """The threads that do this work at the same time, on average."""
        return ratio(one.wall_seconds, self.loop_seconds)

    def rows_per_core(self, one: Work) -> float:
        """Rows that one core could do in a second."""
        return ratio(one.rows, one.cpu_seconds)

    # ---- What other settings would do ----

    def steps_gain(self, threads: int) -> float:
        """The share of further steps that so many threads would give.

        A step with `w` seconds of work takes as long as training does, `t`, or, as the program's
        thread works too while it waits, (w + t) / (threads + 1); and not less than what the whole
        process computes for it, spread over all processors.
        """
        now = ratio(self.step_seconds, self.steps)
        stats = self.counters.stats
        work = ratio(self.busy_seconds + stats["help_seconds"], stats["batches_made"])
        computed = ratio(stats["process_cpu_seconds"], stats["batches_made"])
        least = max(
            self.train_seconds,
            (work + self.train_seconds) / (threads + 1),
            ratio(computed, self.processors),
        )
        return max(ratio(now, least) - 1.0, 0.0)

    # ---- Durations ----

    @property
    def lone_wait_seconds(self) -> float:
        """The longest wait of a step, if no other is nearly as long; 0: there is none.

        The other waits are known by powers of two; this one is the rest of all waiting.
        """
        counts = self.counters.history.waits
        top = max((power for power, count in enumerate(counts) if count), default=-1)
        if top < 0 or counts[top] != 1:
            return 0.0
        others = sum(count * 1.5 * 2**power for power, count in enumerate(counts[:top])) / 1e9
        shortest = 2**top / 1e9
        longest = min(max(self.wait_seconds - others, shortest), 2 * shortest)
        return float(min(longest, self.wait_seconds))

    def wait_quantile(self, q: float) -> float:
        """That share of all steps waited for at most so long, in seconds; up to twice too long, as
        waits are counted by powers of two."""
        counts = self.counters.history.waits
        left = q * self.steps - (self.steps - sum(counts))  # the others did not wait
        if left <= 0:
            return 0.0
        for power, count in enumerate(counts):
            left -= count
            if left <= 0:
                return float(2 ** (power + 1)) / 1e9
        return 0.0
