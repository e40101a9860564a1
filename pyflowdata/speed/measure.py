"""Measures a loader without training, and training without a loader.

A loader here is a DataLoader, or what takes one over and has its repeat() and keep_place().
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

from ..batch_forms import arrays_of, rows_of
from ..errors import InvalidArgumentError, shown
from .devices import has_devices, wait_for_devices
from .replay import Replay
from .noise import Usage, disturbed, notes_of, other_programs, too_short
from .results import Ceiling, Speed, median_and_p95

_clock = time.perf_counter
_IDLE_SECONDS = 10.0  # the longest wait for a loader that makes batches ahead
_LOOK_SECONDS = 0.005
_AHEAD_SECONDS = 3.0  # the longest for batches that are taken before the measured ones


def _check_count(name: str, value: object, least: int) -> int:
    if type(value) is not int or value < least:
        raise InvalidArgumentError(f"{name} = {shown(value)}; it must be an int from {least} on")
    return value


def _check_seconds(seconds: object) -> float:
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        with contextlib.suppress(OverflowError):
            found = float(seconds)
            if 0 < found < math.inf:
                return found
    raise InvalidArgumentError(f"seconds = {shown(seconds)}; it must be a number above 0")


def wait_until_idle(loader: Any) -> None:
    """Waits until the threads of a loader rest, as nobody takes the batches that it makes ahead."""
    inner = loader.data_loader
    end = _clock() + _IDLE_SECONDS
    before = inner.stats()
    while _clock() < end:
        time.sleep(_LOOK_SECONDS)
        now = inner.stats()
        there = now["thread_seconds"] - before["thread_seconds"]
        if now["idle_seconds"] - before["idle_seconds"] > 0.99 * there:
            return
        before = now


# ---- The loader alone ---------------------------------------------------------------------------


def _row_bytes(inner: Any) -> int | None:
    """Of the arrays of a batch, per record; None where records differ."""
    if any(blob.is_ragged for blob in inner.blobs):
        return None
    return int(sum(math.prod(blob.dense_row_shape) * blob.dtype.itemsize for blob in inner.blobs))


def measure_speed(loader: Any, seconds: float, steps: int | None) -> Speed:
    """As DataLoader.speed()."""
    if steps is not None:
        _check_count("steps", steps, 1)
    seconds = _check_seconds(seconds)
    limit = math.inf if steps is not None else seconds
    inner = loader.data_loader
    row_bytes = _row_bytes(inner)
    with loader.keep_place():
        batches = loader.repeat()
        begin = _clock()
        next(batches)
        wait_for_devices()
        first = _clock() - begin
        for _ in range(inner.prefetch):  # those that were made while the first one was awaited
            if _clock() - begin > min(limit, _AHEAD_SECONDS):
                break
            next(batches)
        wait_for_devices()
        taken = records = ragged_bytes = 0
        usage = Usage.now()
        begin = _clock()
        elapsed = 0.0
        while taken < (steps or math.inf) and elapsed < limit:
            batch = next(batches)
            taken += 1
            records += rows_of(batch)
            if row_bytes is None:
                ragged_bytes += sum(array.nbytes for array in arrays_of(batch))
            elapsed = _clock() - begin
        wait_for_devices()
        elapsed = _clock() - begin
    nbytes = ragged_bytes if row_bytes is None else records * row_bytes
    notes = notes_of(too_short(taken, elapsed, "give more seconds="), other_programs(usage))
    return Speed(taken, records, nbytes, elapsed, first, notes)


# ---- Training alone -----------------------------------------------------------------------------


def _take_one(loader: Any) -> Any:
    """The next batch, or the first of an epoch in place of its last one, which may be short."""
    inner = loader.data_loader
    with loader.keep_place():
        if 1 < inner._core.cursor.num_batches == inner._core.cursor.next()[1] + 1:
            inner.seek(0)
        return next(loader.repeat())


def measure_ceiling(
    loader: Any, step: Callable[[Any], object], steps: int, warm_up: int
) -> Ceiling:
    """As DataLoader.ceiling()."""
    _check_count("steps", steps, 1)
    _check_count("warm_up", warm_up, 0)
    if not callable(step):
        raise InvalidArgumentError(f"step = {shown(step)}; it must be a function of a batch")
    replay = Replay(_take_one(loader))
    records = rows_of(replay.take())
    wait_until_idle(loader)
    begin = _clock()
    for _ in range(warm_up):
        step(replay.take())
    wait_for_devices()
    warm_up_seconds = _clock() - begin
    replay.check()
    run = _run_copied if replay.is_copied else _run_shared
    usage = Usage.now()
    seconds, durations = run(replay, step, steps)
    median, p95 = median_and_p95(durations)
    is_at_once = replay.is_copied or not has_devices()  # else a call may return before its work
    notes = notes_of(
        too_short(steps, seconds, "give more steps="),
        disturbed(seconds / steps, median) if is_at_once else None, other_programs(usage),
    )  # fmt: skip
    return Ceiling(
        steps, steps * records, seconds, notes=notes, median_seconds=median, p95_seconds=p95,
        warm_up_steps=warm_up, warm_up_seconds=warm_up_seconds, is_copied=replay.is_copied,
    )  # fmt: skip


def _run_shared(
    replay: Replay, step: Callable[[Any], object], steps: int
) -> tuple[float, list[float]]:
    """The seconds of all calls, and of each."""
    durations = []
    begin = before = _clock()
    for _ in range(steps):
        step(replay.take())
        now = _clock()
        durations.append(now - before)
        before = now
    wait_for_devices()
    return _clock() - begin, durations


def _run_copied(
    replay: Replay, step: Callable[[Any], object], steps: int
) -> tuple[float, list[float]]:
    """The same, where each call has a copy that was made before its time is taken."""
    durations = []
    for _ in range(steps):
        batch = replay.take()
        wait_for_devices()
        begin = _clock()
        step(batch)
        wait_for_devices()
        durations.append(_clock() - begin)
    return sum(durations), durations
