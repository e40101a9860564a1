"""How fast a loader is without training, and training without a loader; what that says of both."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..plain_text import number, percent, seconds, size

_FEW_PERCENT = 5.0  # of a gain: less than that is not worth a change
_FEW_WAITS = 0.05  # of the time: so little is no reason to name the loader
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


def _doubts(notes: Sequence[str]) -> str:
    """For the end of a line."""
    return f"; doubtful: {'; '.join(notes)}" if notes else ""


def _per_second(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


@dataclass(frozen=True)
class Speed:
    """What a loader does when nothing else is done with its batches.

    Attributes:
        batches, records, bytes: That were taken in the measured time; bytes are those of the
            batches' arrays.
        seconds: The measured time.
        first_batch_seconds: What the first batch took, which is before the measured time.
        notes: What makes the numbers doubtful, such as other programs on the processors.
    """

    batches: int
    records: int
    bytes: int
    seconds: float
    first_batch_seconds: float
    notes: tuple[str, ...] = ()

    @property
    def batches_per_second(self) -> float:
        """Of this rank."""
        return _per_second(self.batches, self.seconds)

    @property
    def records_per_second(self) -> float:
        """Of this rank."""
        return _per_second(self.records, self.seconds)

    @property
    def bytes_per_second(self) -> float:
        """Of the batches' arrays; MB/s are 1e6 of them."""
        return _per_second(self.bytes, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        rates = ("batches_per_second", "records_per_second", "bytes_per_second")
        return {**asdict(self), **{name: getattr(self, name) for name in rates}}

    def __str__(self) -> str:
        return (
            f"loader alone: {number(self.records_per_second)} records/s "
            f"({number(self.batches_per_second)} batches/s, "
            f"{size(self.bytes_per_second)}/s; {self.batches} batches in "
            f"{seconds(self.seconds)}, the first one before them after "
            f"{seconds(self.first_batch_seconds)}){_doubts(self.notes)}"
        )


@dataclass(frozen=True)
class Steps:
    """Steps of a training loop, and how long they took.

    Attributes:
        steps, records: That were measured.
        seconds: Of all of them.
        wait_seconds: Of `seconds`, what next() of the loader took.
    """

    steps: int
    records: int
    seconds: float
    wait_seconds: float = 0.0

    @property
    def steps_per_second(self) -> float:
        """`steps` in `seconds`."""
        return _per_second(self.steps, self.seconds)

    @property
    def records_per_second(self) -> float:
        """Of this rank."""
        return _per_second(self.records, self.seconds)

    @property
    def wait_share(self) -> float:
        """Of the time, from 0 to 1."""
        return _per_second(self.wait_seconds, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        rates = ("steps_per_second", "records_per_second", "wait_share")
        return {**asdict(self), **{name: getattr(self, name) for name in rates}}


@dataclass(frozen=True)
class Ceiling(Steps):
    """What a training loop could do with an infinitely fast loader: steps with one batch.

    Attributes:
        median_seconds, p95_seconds: Of a call of the step.  On a device that works
            asynchronously a call returns before its work is done; `seconds` has all of it.
        warm_up_steps, warm_up_seconds: Calls before the measured ones.
        is_copied: The step changes its batch, so each call got a copy, made before its time was
            taken, and was waited for.
        notes: What makes the numbers doubtful, such as other programs on the processors.
    """

    median_seconds: float = 0.0
    p95_seconds: float = 0.0
    warm_up_steps: int = 0
    warm_up_seconds: float = 0.0
    is_copied: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        copied = "; it changes its batch, so each call got a copy" if self.is_copied else ""
        return (
            f"ceiling: {number(self.steps_per_second)} steps/s, "
            f"{number(self.records_per_second)} records/s ({self.steps} steps with one batch of "
            f"{self.records // self.steps}, median {seconds(self.median_seconds)}, p95 "
            f"{seconds(self.p95_seconds)}; {self.warm_up_steps} before them took "
            f"{seconds(self.warm_up_seconds)}{copied}){_doubts(self.notes)}"
        )


def median_and_p95(durations: Sequence[float]) -> tuple[float, float]:
    """Of durations, at least one; the second is one of them."""
    ordered = sorted(durations)
    return statistics.median(ordered), ordered[-(-len(ordered) * 95 // 100) - 1]


@dataclass(frozen=True)
class Limits:
    """A loader alone, training alone and both together; what was not measured is None.

    Attributes:
        notes: What makes the numbers doubtful, such as other programs on the processors.
    """

    loader: Speed | None = None
    training: Steps | None = None
    both: Steps | None = None
    notes: tuple[str, ...] = ()

    @property
    def gain_percent(self) -> float | None:
        """How many percent more steps an infinitely fast loader would give, at least 0."""
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
        """What to change or to try, where that follows from the numbers."""
        return _REMEDIES.get(self.limit or "")

    @property
    def sentence(self) -> str:
        """Which of the two is the limit, and what a faster loader would gain."""
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
            after = f"first batch after {seconds(alone.first_batch_seconds)}"
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
