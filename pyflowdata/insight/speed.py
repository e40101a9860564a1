"""Measures a loader without training, and training without a loader.

A loader in this module is a DataLoader, or an object that takes one over and has its repeat() and
keep_place().
"""

from __future__ import annotations

import contextlib
import copy
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..nodes.batch_forms import arrays_of, map_arrays, rows_of
from ..errors import InvalidArgumentError, shown
from ..ragged import Ragged
from ..words.plain_text import counted, number, percent, seconds as seconds_text, size
from .measures import ratio


# ---- Devices of torch and jax, which work asynchronously ----------------------------------------


def _cuda() -> Any:
    """torch.cuda, if it is in use."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def wait_for_devices() -> None:
    """Waits until devices have done the work that torch and jax, if they are loaded, gave them."""
    cuda = _cuda()
    if cuda is not None:
        cuda.synchronize()
    jax: Any = sys.modules.get("jax")
    if hasattr(jax, "live_arrays"):
        jax.block_until_ready(jax.live_arrays())


# ---- Noise --------------------------------------------------------------------------------------

# Other programs on the processors and short measurements make a measurement doubtful.

_SHORT_SECONDS = 0.05  # less than that is noise
_FEW_STEPS, _FEW_SECONDS = 10, 2.0  # so few are enough if they take long
_MUCH = 0.1  # a share of the processors


@dataclass(frozen=True)
class Usage:
    """The use of processors up to a moment, in processor seconds.

    Attributes:
        at: The moment.
        processors: How many processors this process may run on.
        busy: The time used by all programs, on these processors.
        own: The time used by this process and its descendants, on any processor.
    """

    at: float
    processors: int
    busy: float
    own: float

    @classmethod
    def now(cls) -> Usage | None:
        """The usage up to now; None if the system does not tell it."""
        try:
            allowed = os.sched_getaffinity(0)
            busy = _busy_ticks(allowed)
            own = _own_ticks()
        except (OSError, ValueError, AttributeError, IndexError):
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        return cls(time.monotonic(), len(allowed), busy / ticks, own / ticks)


def _busy_ticks(allowed: set[int]) -> int:
    names = {f"cpu{number}" for number in allowed}
    with open("/proc/stat", encoding="ascii") as file:
        lines = [line.split() for line in file]
    found = [list(map(int, words[1:9])) for words in lines if words and words[0] in names]
    return sum(sum(times) - times[3] - times[4] for times in found)  # idle, and waiting for files


def _own_ticks() -> int:
    """The ticks of this process and of all its descendants."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    words = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # the process has ended
            parents[int(name)] = int(words[1])
            used[int(name)] = sum(map(int, words[11:15]))  # also of children that have ended
    own = {os.getpid()}
    while True:
        more = {process for process, parent in parents.items() if parent in own} - own
        if not more:
            return sum(used[process] for process in own)
        own |= more


def other_programs(before: Usage | None) -> str | None:
    """A note that other programs took processors from this one since then; None: they did not."""
    now = Usage.now()
    if before is None or now is None or now.at <= before.at:
        return None
    seconds = now.at - before.at
    busy = (now.busy - before.busy) / seconds
    others = busy - (now.own - before.own) / seconds
    count = now.processors
    if seconds < _SHORT_SECONDS or others < _MUCH * count or busy < (1 - _MUCH) * count:
        return None  # the counts are of 10 ms; or no processor was missing
    return (
        f"other programs used {min(others, count):.1f} of "
        f"{counted(count, 'processor')}: measure again when it is quiet"
    )


def too_short(steps: int, seconds: float, remedy: str) -> str | None:
    """A note that this number of steps in this time means little; None: they suffice."""
    if seconds >= _SHORT_SECONDS and (steps >= _FEW_STEPS or seconds >= _FEW_SECONDS):
        return None
    return f"{counted(steps, 'step')} in {seconds_text(seconds)} tell little: {remedy}"


def disturbed(mean: float, median: float) -> str | None:
    """A note that a few steps took most of the time; None: they did not."""
    if mean <= 2 * median or median <= 0:
        return None
    return f"a few steps were disturbed: the mean is {mean / median:.1f} times the median"


def notes_of(*notes: str | None) -> tuple[str, ...]:
    return tuple(note for note in notes if note is not None)


# ---- Results ------------------------------------------------------------------------------------

_FEW_PERCENT = 5.0  # a smaller gain is not worth a change
_FEW_WAITS = 0.05  # a smaller share of the time is no reason to name the loader
_FITS = 1.2  # how much faster than the loader alone both together may seem to be
_CAUSES = {
    "training": "The training loop is the limit",
    "loader": "The loader is the limit",
    "shared": "Each alone is faster; they take the processor from each other",
    "unclear": "No limit can be named, as the measurements do not fit together",
}
_REMEDIES = {
    "shared": "leave processors to each: fewer threads of the loader, DataLoader(num_threads=1), "
    "or of training, such as torch.set_num_threads(1) or OMP_NUM_THREADS=1",
    "unclear": "measure again, when the machine is quiet, and longer",
}


class _Printed:
    """Printed as a table, also in notebooks."""

    notes: tuple[str, ...] = ()

    def _table(self, title: str, rows: Sequence[tuple[str, str]]) -> str:
        shown = [*rows, *(("doubtful", note) for note in self.notes)]
        return "\n".join([title, *(f"  {name:<10}{text}" for name, text in shown)])

    def _repr_html_(self) -> str:
        from ..words.html_text import lines

        return lines(str(self))


@dataclass(frozen=True)
class Speed(_Printed):
    """The speed of a loader whose batches are not used.

    Attributes:
        batches, records, bytes: The amounts in the measured time; bytes are those of the arrays.
        seconds: The measured time.
        first_batch_seconds: The time of the first batch, before the measured time; for a loader in
            use, whose next batch is complete, the time of the first batches of its epochs so far.
        notes: Reasons for doubt in the numbers, such as other programs on the processors.
    """

    batches: int
    records: int
    bytes: int
    seconds: float
    first_batch_seconds: float
    notes: tuple[str, ...] = ()

    @property
    def batches_per_second(self) -> float:
        """Batches of this rank."""
        return ratio(self.batches, self.seconds)

    @property
    def records_per_second(self) -> float:
        """Records of this rank."""
        return ratio(self.records, self.seconds)

    @property
    def bytes_per_second(self) -> float:
        """Bytes of the arrays of batches per second; 1 MB/s is 1e6 bytes."""
        return ratio(self.bytes, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        rates = ("batches_per_second", "records_per_second", "bytes_per_second")
        return {**asdict(self), **{name: getattr(self, name) for name in rates}}

    def __str__(self) -> str:
        first = f"the first one before them after {seconds_text(self.first_batch_seconds)}"
        return self._table("loader alone", [
            ("records", f"{number(self.records_per_second)}/s"),
            ("batches", f"{number(self.batches_per_second)}/s"),
            ("bytes", f"{size(self.bytes_per_second)}/s"),
            ("measured", f"{self.batches} batches in {seconds_text(self.seconds)}, {first}"),
        ])  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """Steps of a training loop, and their time.

    Attributes:
        steps, records: The measured numbers.
        seconds: The time of all these steps.
        wait_seconds: The part of `seconds` in next() of the loader.
    """

    steps: int
    records: int
    seconds: float
    wait_seconds: float = 0.0

    @property
    def steps_per_second(self) -> float:
        """Steps of this rank."""
        return ratio(self.steps, self.seconds)

    @property
    def records_per_second(self) -> float:
        """Records of this rank."""
        return ratio(self.records, self.seconds)

    @property
    def wait_share(self) -> float:
        """The share of the time in next(), from 0 to 1."""
        return ratio(self.wait_seconds, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        rates = ("steps_per_second", "records_per_second", "wait_share")
        return {**asdict(self), **{name: getattr(self, name) for name in rates}}


@dataclass(frozen=True)
class Ceiling(_Printed, Steps):
    """The speed of a training loop with an infinitely fast loader: steps with one batch.

    Attributes:
        median_seconds, p95_seconds: The time of a call of the step.  On a device that works
            asynchronously a call returns before its work is done; `seconds` has all of it.
        warm_up_steps, warm_up_seconds: Calls before the measured ones.
        is_copied: Whether the step changes its batch: then each call got a copy, made before the
            time was taken, and was completed before the next.
        notes: Reasons for doubt in the numbers, such as other programs on the processors.
    """

    median_seconds: float = 0.0
    p95_seconds: float = 0.0
    warm_up_steps: int = 0
    warm_up_seconds: float = 0.0
    is_copied: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        before = f"{self.warm_up_steps} before them took {seconds_text(self.warm_up_seconds)}"
        rows = [
            ("steps", f"{number(self.steps_per_second)}/s"),
            ("records", f"{number(self.records_per_second)}/s"),
            ("a step", f"median {seconds_text(self.median_seconds)}, p95 "
                       f"{seconds_text(self.p95_seconds)}"),
            ("measured", f"{self.steps} steps with one batch of {self.records // self.steps}, "
                         f"{before}"),
        ]  # fmt: skip
        if self.is_copied:
            rows.append(("copied", "the step changes its batch, so each call got a copy"))
        return self._table("ceiling", rows)


def median_and_p95(durations: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile of one or more durations; the latter is one of them."""
    ordered = sorted(durations)
    return statistics.median(ordered), ordered[-(-len(ordered) * 95 // 100) - 1]


@dataclass(frozen=True)
class Limits:
    """A loader alone, training alone, and both together; a part that was not measured is None.

    Attributes:
        notes: Reasons for doubt in the numbers, such as other programs on the processors.
    """

    loader: Speed | None = None
    training: Steps | None = None
    both: Steps | None = None
    notes: tuple[str, ...] = ()

    @property
    def gain_percent(self) -> float | None:
        """The gain in steps, in percent, of an infinitely fast loader; at least 0."""
        if self.training is None or self.both is None or not self.both.steps_per_second:
            return None
        ratio = self.training.steps_per_second / self.both.steps_per_second
        return max(0.0, 100 * (ratio - 1))

    @property
    def limit(self) -> str | None:
        """"training", "loader", "shared": each is faster alone, and they share processors; or
        "unclear": both together seem to be faster than the loader alone, or steps do not wait for
        a loader that seems to be too slow."""
        if self.gain_percent is None or self.loader is None:
            return None
        assert self.training is not None and self.both is not None
        if self.gain_percent < _FEW_PERCENT:
            return "training"
        alone = self.loader.batches_per_second
        if self.both.steps_per_second > _FITS * alone:
            return "unclear"
        if alone >= self.training.steps_per_second:
            return "shared"
        return "loader" if self.both.wait_share >= _FEW_WAITS else "unclear"

    @property
    def remedy(self) -> str | None:
        """A change to try, where one follows from the numbers."""
        return _REMEDIES.get(self.limit or "")

    @property
    def sentence(self) -> str:
        """A sentence about which of the two is the limit, and what a faster loader would gain."""
        gain = self.gain_percent
        if self.limit is None or self.both is None or gain is None:
            missing = [
                name
                for name, found in (
                    ("the loader alone", self.loader), ("training alone", self.training),
                    ("both together", self.both),
                )
                if found is None
            ]  # fmt: skip
            verb = "was" if len(missing) == 1 else "were"
            return f"Which one is the limit is not known: {', '.join(missing)} {verb} not measured."
        could = f": an infinitely fast loader would gain {percent(gain / 100)}"
        return (
            f"{_CAUSES[self.limit]}{'' if self.limit == 'unclear' else could}; steps waited for "
            f"batches {percent(self.both.wait_share)} of the time."
        )

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return {
            "loader_alone": self.loader.to_dict() if self.loader else None,
            "training_alone": self.training.to_dict() if self.training else None,
            "both_together": self.both.to_dict() if self.both else None,
            "limit": self.limit,
            "gain_percent": self.gain_percent,
            "sentence": self.sentence,
            "remedy": self.remedy,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        rows: list[tuple[str, float, float, str]] = []
        if self.loader:
            alone = self.loader
            after = f"first batch after {seconds_text(alone.first_batch_seconds)}"
            rows.append(("loader alone", alone.records_per_second, alone.batches_per_second, after))
        for name, found in (("training alone", self.training), ("both together", self.both)):
            if found:
                waited = f"{found.steps} steps, waited {percent(found.wait_share)} of the time"
                rows.append((
                    name, found.records_per_second, found.steps_per_second,
                    waited if found is self.both else f"{found.steps} steps with one batch",
                ))  # fmt: skip
        lines = [
            f"{name:<16}{number(records):>12} records/s{number(steps):>10} steps/s   {note}"
            for name, records, steps, note in rows
        ]
        remedy = [f"To try: {self.remedy}."] if self.remedy else []
        notes = [f"Doubtful: {note}." for note in self.notes]
        return "\n".join([*lines, self.sentence, *remedy, *notes])


# ---- Batches that are replayed ------------------------------------------------------------------


class Replay:
    """Gives one batch again and again.

    A step may change the arrays of its batch.  A copy for each call would be right, but it costs
    time and warms caches; so all calls get the same arrays, unless check() finds them changed.

    Attributes:
        is_copied: Whether each take() makes a copy.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._original = map_arrays(batch, _copy)
        self.is_copied = False

    def take(self) -> Any:
        """The batch; a tuple or a dict of its own each time."""
        if self.is_copied:
            return map_arrays(self._original, _copy)
        return map_arrays(self._batch, lambda array: array)

    def check(self) -> None:
        """Checks whether a step has changed the batch; if so, take() makes copies from then on."""
        if not self.is_copied:
            pairs = zip(arrays_of(self._batch), arrays_of(self._original), strict=True)
            self.is_copied = not all(_is_same(now, before) for now, before in pairs)


def _copy(array: Any) -> Any:
    """A copy, in the same place, of an array of NumPy, torch or jax, or of a Ragged."""
    if isinstance(array, Ragged):
        return copy.deepcopy(array)
    return array.clone() if hasattr(array, "detach") else array.copy()  # a tensor has no copy()


def _is_same(now: Any, before: Any) -> bool:
    if isinstance(now, Ragged):
        return _is_same(now.values, before.values) and _is_same(now.row_splits, before.row_splits)
    if hasattr(now, "is_deleted"):  # arrays of jax never change, but may be given away
        return not bool(now.is_deleted())
    if hasattr(now, "detach"):
        now, before = now.detach().cpu().numpy(), before.cpu().numpy()
    now, before = np.asarray(now), np.asarray(before)
    return bool(now.shape == before.shape and now.tobytes() == before.tobytes())  # also of NaNs


# ---- Measuring ----------------------------------------------------------------------------------

_clock = time.perf_counter
_IDLE_SECONDS = 10.0  # the longest wait for a loader that makes batches ahead
_LOOK_SECONDS = 0.005
_AHEAD_SECONDS = 3.0  # the longest for batches that are taken before the measured ones


def _check_count(name: str, value: object, least: int) -> int:
    if type(value) is not int or value < least:
        raise InvalidArgumentError(f"{name} = {shown(value)}; it must be an int from {least} on")
    return value


def check_seconds(seconds: object) -> float:
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
        with contextlib.suppress(OverflowError):
            found = float(seconds)
            if 0 < found < math.inf:
                return found
    raise InvalidArgumentError(f"seconds = {shown(seconds)}; it must be a number above 0")


def wait_until_idle(loader: Any) -> None:
    """Waits until the threads of a loader rest, since nobody takes the batches that they make
    ahead.
    """
    inner = loader.data_loader
    end = _clock() + _IDLE_SECONDS
    before = inner.stats()
    while _clock() < end:
        time.sleep(_LOOK_SECONDS)
        now = inner.stats()
        there = now["thread_seconds"] - before["thread_seconds"]
        if now["idle_seconds"] - before["idle_seconds"] >= 0.99 * there:  # both 0 once it is closed
            return
        before = now


# ---- The loader alone ---------------------------------------------------------------------------


def _row_bytes(inner: Any) -> int | None:
    """The bytes of a record in the arrays of a batch; None where records differ."""
    if any(blob.is_ragged for blob in inner.blobs):
        return None
    return int(sum(math.prod(blob.dense_row_shape) * blob.dtype.itemsize for blob in inner.blobs))


def measure_speed(loader: Any, seconds: float, steps: int | None) -> Speed:
    if steps is not None:
        _check_count("steps", steps, 1)
    seconds = check_seconds(seconds)
    limit = math.inf if steps is not None else seconds
    inner = loader.data_loader
    row_bytes = _row_bytes(inner)
    before = inner.stats()
    with loader.keep_place():
        batches = loader.repeat()
        begin = _clock()
        next(batches)
        wait_for_devices()
        first = ratio(before["start_seconds"], before["starts"]) or _clock() - begin
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
        cursor = inner._opened.cursor
        if 1 < cursor.num_batches == cursor.next()[1] + 1:
            inner.seek(0)
        return next(loader.repeat())


def measure_ceiling(
    loader: Any, step: Callable[[Any], object], steps: int, warm_up: int
) -> Ceiling:
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
    # Else a call may return before its work is done.
    is_at_once = replay.is_copied or (_cuda() is None and "jax" not in sys.modules)
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
    """The seconds of all calls, and of each; the copy for a call is made before its time."""
    durations = []
    for _ in range(steps):
        batch = replay.take()
        wait_for_devices()
        begin = _clock()
        step(batch)
        wait_for_devices()
        durations.append(_clock() - begin)
    return sum(durations), durations
