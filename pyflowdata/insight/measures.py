"""Shares and rates, from the counters of a loader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .counters import Counters, History, Work
from .stats import IN_NEXT

# Blocked threads: locks and waking up take less.
BLOCKED = 0.3
# Times the threads, or the batches ahead: to so many a remedy raises them.
MANY = 4
# Of the CPU time of work, which is estimated from samples.
_ERROR = 0.25
# Of the time of all processors: when fewer compute, a thread that waits for one is waking up.
_FULL = 0.85


# ---- Rates over time ----------------------------------------------------------------------------


class Course(NamedTuple):
    """The work between two moments.

    Attributes:
        begin, end: Seconds since the first batch was asked for.
        rate: Delivered records per second.
        waiting: The share of the time in which next() waited or worked, from 0 to 1.
        ready: The mean number of complete batches that were ready before each delivered batch;
            None: no batch was delivered.
    """

    begin: float
    end: float
    rate: float
    waiting: float
    ready: float | None


def course_of(history: History, delivered: float) -> list[Course]:
    """The periods of a history, as rates.

    Args:
        delivered: The moment of its last batch, at which the last period ends.  A short last period
            is joined with the one before, since its rate means little.
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
    """Waits are counted in the period in which they end; the part that exceeds this period moves to
    earlier periods.
    """
    found = list(waits)
    for place in range(len(found) - 1, 0, -1):
        over = found[place] - (ends[place] - ends[place - 1])
        if over > 0:
            found[place] -= over
            found[place - 1] += over
    return found


# ---- Measures -----------------------------------------------------------------------------------

def ratio(part: float, whole: float) -> float:
    """part / whole; 0 if whole is 0."""
    return part / whole if whole > 0 else 0.0


class Measures:
    """Shares and rates of a loader.

    Time means the time of the training loop: training, and the waits for batches, including first
    batches of epochs.  The work of the program between epochs, such as a validation, is not
    included if it can be separated from training: after the last batch of an epoch, the mean time
    of a step counts as training.  If each epoch has one batch, the two cannot be separated; then
    all time since the first batch was asked for counts.

    Attributes:
        waited_share: The share of steps whose batch was not complete when next() was called.
        wait_share, copy_share: The shares of the time of steps that the training loop spent waiting
            for their batch, and copying batches.
        next_share: The share of the time of steps that it spent in next(), for whatever reason.
        next_parts: What the time in next() was spent on: seconds by the names of `IN_NEXT`, of
            steps and of first batches.
        ahead_share: The time of copies ahead, in another thread, as a share of the time of steps.
        start_share: The share of the loop's time spent waiting for the first batches of epochs.
        mean_start_seconds: How long next() took for the first batch of an epoch.
        train_seconds: The seconds of a step, without the wait for its batch.
        busy_threads: The threads of the pool with work, on average.
        worked_share: The share of time with work, for the pool and for the program's thread while
            it waits.
        runnable_share: The share of the time of busy threads spent waiting for a processor; 0 where
            the machine has idle ones: then it is the time until a thread is awake.
        others_rate: Processors that other programs kept busy, on average.
        loop_runnable_seconds: How long the thread of the training loop stood in line for a
            processor.
        loop_part: Of the time in which that thread could compute, the part in which it did.
        lock_share: The share of the time of Python in the loader's threads in which its calls
            waited to take the interpreter's lock.
        own_lock_share: The share of the threads in Python for a loader that waited for a lock of
            the program when this was counted.
        blocked_share: The share of the time of busy threads spent waiting for files, locks or
            Python; 0 where the system does not say how long they computed.
        throttled_share: The share of processor time lost to the cgroup's quota.
        process_rate: Processors that this process kept busy in the time of the loop, on average.
        worker_rate: Processors that its worker processes kept busy.
        wanted_processors: Processors that this process used or waited for, on average.
        wall_seconds, cpu_seconds: Seconds of all work, in all threads.
        own_cpu_share: The loader's share of the CPU time of the process and its workers.  Work of
            the program's thread while it waits is measured by the clock, and taken to have the CPU
            share of other work, up to all that the kernel counted for that thread.
        have_others: Whether other programs use processors that this one could use.
        is_crowded: Whether other programs use the processors that this program waits for.
        program_cpu_seconds: The CPU time of this process and its workers.
        unknown_cpu_seconds: CPU time of the loader's threads, by the kernel's count, that no work
            in the table explains.
        processes_start_seconds: How long the first calls of ops waited until processes had started.
        no_memory_share: The share of the loop's time in which memory_budget let no batch start.
    """

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        stats = counters.stats
        self.steps, self.starts = int(stats["steps"]), int(stats["starts"])
        self.threads, self.processors = counters.num_threads, int(stats["processors"])
        self.processes_start_seconds = sum(one.start_seconds for one in counters.work)
        self.wall_seconds = sum(one.wall_seconds for one in counters.work)
        self.cpu_seconds = sum(one.cpu_seconds for one in counters.work)
        self._measure_loop()
        self._measure_threads()

    def _measure_loop(self) -> None:
        counters, stats = self.counters, self.counters.stats
        self.copy_seconds = counters.hand_over.seconds if counters.hand_over else 0.0
        self.ahead_seconds = counters.ahead.seconds if counters.ahead else 0.0
        self.waited_steps = int(stats["waited_steps"])
        self.wait_seconds = stats["step_wait_seconds"]
        # Reports of earlier versions have neither of the next two.
        self.next_seconds = max(stats.get("step_next_seconds", 0.0), self.wait_seconds)
        self.next_parts = {name: stats.get(f"{name}_seconds", 0.0) for name in IN_NEXT}
        self.step_seconds = self.next_seconds + stats["step_train_seconds"]
        self.loop_seconds = self._loop_seconds()
        self.waited_share = ratio(self.waited_steps, self.steps)
        self.wait_share = ratio(self.wait_seconds, self.step_seconds)
        self.next_share = ratio(self.next_seconds, self.step_seconds)
        self.copy_share = ratio(self.copy_seconds, self.step_seconds)
        self.ahead_share = ratio(self.ahead_seconds, self.step_seconds)
        self.start_share = ratio(stats["start_seconds"], self.loop_seconds)
        self.mean_start_seconds = ratio(stats["start_seconds"], stats["starts"])
        self.train_seconds = ratio(stats["step_train_seconds"], self.steps)
        self.no_memory_share = min(ratio(stats["no_memory_seconds"], self.loop_seconds), 1.0)

    def _loop_seconds(self) -> float:
        stats, history = self.counters.stats, self.counters.history
        if not self.steps:
            begin = max(stats["opened_seconds"], history.begin)
            return float(max(stats["delivered_seconds"] - begin, stats["start_seconds"]))
        lasts = self.starts * ratio(stats["step_train_seconds"], self.steps)
        return float(self.step_seconds + stats["start_seconds"] + lasts)

    def _measure_threads(self) -> None:
        stats, loop, processors = self.counters.stats, self.loop_seconds, float(self.processors)
        self.elapsed = stats["now_seconds"] - stats["opened_seconds"]
        machine = stats.get("machine_cpu_seconds", 0.0)
        has_idle = machine > 0 and ratio(machine, self.elapsed) < _FULL * processors
        computed, runnable = stats["cpu_seconds"], stats["runnable_seconds"]
        in_line = 0.0 if has_idle else runnable
        self.busy_seconds = max(stats["thread_seconds"] - stats["idle_seconds"], 0.0)
        self.busy_threads = min(ratio(self.busy_seconds, loop), float(self.threads))
        worked = self.busy_threads * loop + stats["help_seconds"]
        self.worked_share = min(ratio(worked, self.threads * loop + self.wait_seconds), 1.0)
        self._in_line_seconds = in_line
        self.runnable_share = min(ratio(in_line, self.busy_seconds), 1.0)
        blocked = ratio(self.busy_seconds - computed - runnable, self.busy_seconds)
        self.blocked_share = max(blocked, 0.0) if computed else 0.0
        self.throttled_share = ratio(stats["throttled_seconds"], self.elapsed * processors)
        self.process_rate = min(ratio(stats["process_cpu_seconds"], loop), processors)
        self.wanted_processors = self.process_rate + ratio(in_line, loop)
        helped = stats["help_seconds"] * min(ratio(self.cpu_seconds, self.wall_seconds), 1.0)
        loop_cpu = stats.get("loop_cpu_seconds", 0.0)
        if loop_cpu > 0:  # the thread may have stood in line while it helped
            helped = min(helped, loop_cpu)
        workers = stats.get("worker_cpu_seconds", 0.0)
        self.worker_rate = min(ratio(workers, self.elapsed), processors)
        self.program_cpu_seconds = stats["process_cpu_seconds"] + workers
        own = computed + helped + workers
        self.own_cpu_share = min(ratio(own, self.program_cpu_seconds), 1.0)
        unknown = computed + helped - self.cpu_seconds
        self.unknown_cpu_seconds = unknown if unknown > _ERROR * self.cpu_seconds else 0.0
        others = max(machine - self.program_cpu_seconds, 0.0)
        self.others_rate = min(ratio(others, self.elapsed), processors)
        have_others = self.process_rate + self.worker_rate <= processors * (1 - BLOCKED)
        if machine > 0:
            pressure = ratio(stats.get("pressure_seconds", 0.0), self.elapsed)
            have_others = self.others_rate >= BLOCKED and (pressure == 0 or pressure >= BLOCKED)
        self.have_others = have_others
        self.is_crowded = self.runnable_share >= BLOCKED and have_others
        self.loop_runnable_seconds = stats.get("loop_runnable_seconds", 0.0)
        self.loop_part = 1.0 - ratio(
            self.loop_runnable_seconds, self.loop_runnable_seconds + loop_cpu
        )
        python = [one for one in self.counters.work if one.language == "Python"]
        # All waits for the lock are counted, and the time of work is estimated.
        locked = sum(one.lock_seconds for one in python)
        self.lock_share = min(ratio(locked, sum(one.wall_seconds for one in python)), 1.0)
        asked = self.counters.python_threads
        self.own_lock_share = ratio(self.counters.lock_waiters, asked) if asked > 1 else 0.0
        # Of the time when busy threads do not compute, what they wait for a processor, or wake up.
        self._runnable_part = min(ratio(runnable, self.busy_seconds - computed), 1.0)

    # ---- Work ----

    def top(self, work: Sequence[Work] | None = None) -> Work:
        """The work that takes the most time of threads; there must be work."""
        return max(self.counters.work if work is None else work, key=lambda one: one.wall_seconds)

    def share(self, one: Work) -> float:
        """The share of an item of work in the CPU time of all work of the loader."""
        return ratio(one.cpu_seconds, self.cpu_seconds + self.unknown_cpu_seconds)

    def wall_share(self, one: Work) -> float:
        """The share of an item of work in the time of threads, waiting included."""
        return ratio(one.wall_seconds, self.wall_seconds)

    def waiting_share(self, one: Work) -> float:
        """The share of an item's time that is neither computing nor waiting for a processor or the
        interpreter's lock.
        """
        held = max(one.wall_seconds - one.cpu_seconds - one.lock_seconds, 0.0)
        return ratio(held, one.wall_seconds) * (1.0 - self._runnable_part)

    def source_share(self, one: Work) -> float:
        """The share of an item's time in which objects of the program were called for its records,
        waits for their turn included.
        """
        return min(ratio(one.call_seconds + one.turn_seconds, one.wall_seconds), 1.0)

    def call_waiting_share(self, one: Work) -> float:
        """The same of the calls of a source, without their waits for their turn."""
        called = one.call_seconds or one.wall_seconds
        in_line = self._in_line_seconds + self.loop_runnable_seconds
        held = called - one.cpu_seconds - one.lock_seconds - in_line
        return ratio(max(held, 0.0), called)

    def threads_in(self, one: Work) -> float:
        """The threads that do this work at the same time, on average."""
        return ratio(one.wall_seconds, self.loop_seconds)

    def rows_per_core(self, one: Work) -> float:
        """Rows that one core could do in a second."""
        return ratio(one.rows, one.cpu_seconds)

    # ---- What other settings would do ----

    @property
    def further_threads(self) -> int:
        """The num_threads that a remedy suggests for work that waits."""
        return MANY * self.threads

    @property
    def further_prefetch(self) -> int:
        """The prefetch that a remedy suggests if times of steps or batches vary."""
        return max(MANY * self.counters.prefetch, 8)

    def steps_gain(self, threads: int) -> float:
        """The gain in steps that this number of threads would give, as a share.  A step with `w`
        seconds of work and `t` seconds of training takes `t`, or (w + t) / (threads + 1), since the
        program's thread works, too, while it waits; and at least the CPU time of the whole process
        for it, spread over all processors.
        """
        now = ratio(self.step_seconds, self.steps)
        stats = self.counters.stats
        work = ratio(self.busy_seconds + stats["help_seconds"], stats["batches_made"])
        computed = ratio(self.program_cpu_seconds, stats["batches_made"])
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

        The other waits are known as powers of two; this wait is the rest of all waiting.
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
        """The seconds that this share of all steps waited at most; up to twice too large, since
        waits are counted by powers of two.
        """
        counts = self.counters.history.waits
        left = q * self.steps - (self.steps - sum(counts))  # the others did not wait
        if left <= 0:
            return 0.0
        for power, count in enumerate(counts):
            left -= count
            if left <= 0:
                return float(2 ** (power + 1)) / 1e9
        return 0.0
