"""The verdict: numbers in, what was slow and what to change out.

The rules are in `causes.py` and `other_causes.py`; here is which of them are asked, and how a
verdict reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..plain_text import counted, number, percent, seconds
from .causes import LOADER_CAUSES
from .counters import Counters
from .findings import FELT, MOST, TOO_SHORT, Finding
from .measures import Measures
from .other_causes import copying, holding_the_lock, long_steps, starting

# As TensorFlow's profiler: it calls a program input-bound from 5 % of the time of its steps on, and
# highly so from 20 % on.
BOUND = 0.05
HIGHLY_BOUND = 0.20
# Of fewer steps nothing is said: one slow step would be a tenth of them.
FEW_STEPS = 10
# First batches, of the loop's time: epochs then are too short for what they cost to start.
LONG_STARTS = 0.10


@dataclass(frozen=True)
class Verdict:
    """What limited a training loop.

    Attributes:
        limit: "training": the loader kept up; "loader"; "hand-over": copying batches to a device;
            "starts": the first batches of epochs; "unknown": there were too few steps.
        cause: What of the loader, as docs/speed/slow.md lists them, such as "op", "storage"; "" for
            none.
        sentence: In words, with the numbers that show it.
        remedies: What to change, the most promising first; may be empty.
        evidence: The numbers that decided.
    """

    limit: str
    cause: str
    sentence: str
    remedies: tuple[str, ...] = ()
    evidence: dict[str, float] = field(default_factory=dict)


def judge(counters: Counters) -> Verdict:
    """The verdict on what a loader counted."""
    measures = Measures(counters)
    limit, finding = _find(measures)
    head = _head(measures, limit)
    sentence = head
    if finding is not None:
        remedy = f"; {finding.remedies[0]}" if finding.remedies else ""
        sentence = f"{head}; {finding.said}{remedy}"
    return Verdict(
        limit=limit,
        cause=finding.cause if finding else "",
        sentence=sentence,
        remedies=finding.remedies if finding else (),
        evidence={**_evidence(measures), **(finding.evidence if finding else {})},
    )


def _find(measures: Measures) -> tuple[str, Finding | None]:
    if _is_unknown(measures):
        return "unknown", None
    if _is_held_up_by_copies(measures):
        return "hand-over", copying(measures.counters.hand_over, is_ahead=False)
    if measures.wait_share >= BOUND and measures.steps >= FEW_STEPS:
        if measures.ahead_share >= MOST:  # so it takes batches for less time
            return "hand-over", copying(measures.counters.ahead, is_ahead=True)
        for rule in LOADER_CAUSES:
            finding = rule(measures)
            if finding is not None:
                return "loader", finding
        return "loader", None
    start_seconds = measures.counters.stats["start_seconds"]
    if measures.start_share >= LONG_STARTS and start_seconds >= FELT:
        return "starts", starting(measures)
    return "training", holding_the_lock(measures) or long_steps(measures)


def _is_unknown(measures: Measures) -> bool:
    """There were too few steps, or too little time was waited."""
    if max(measures.steps, measures.starts) < FEW_STEPS:
        return True
    share = max(measures.wait_share, measures.copy_share)
    return share >= BOUND and measures.wait_seconds + measures.copy_seconds < TOO_SHORT


def _too_little(measures: Measures) -> str:
    """What an unknown limit is due to."""
    steps = measures.steps
    if max(steps, measures.starts) < FEW_STEPS:
        are = "is" if steps == 1 else "are"
        return f"{counted(steps, 'step')} {are} too few to judge; {FEW_STEPS} are needed"
    waited = f"{_waited(measures)}, {seconds(measures.wait_seconds)} in all"
    return f"{waited}, which is too short to judge"


def _waited(measures: Measures) -> str:
    """Of the steps, how many waited, and for how much of their time."""
    steps = counted(measures.steps, "step")
    if not measures.steps:
        return f"each of {number(measures.starts)} epochs has one batch"
    if not measures.waited_steps:
        return f"none of {steps} waited"
    share = percent(measures.waited_share)
    return f"training waited {percent(measures.wait_share)} of the time (in {share} of {steps})"


def _is_held_up_by_copies(measures: Measures) -> bool:
    """The thread of the training loop copies longer than it waits."""
    return measures.copy_share >= max(BOUND, measures.wait_share)


def _head(measures: Measures, limit: str) -> str:
    """How much the program waited."""
    if limit == "unknown":
        return f"unknown: {_too_little(measures)}"
    waited = _waited(measures)
    if limit == "hand-over" and not _is_held_up_by_copies(measures):
        return f"bound by the hand-over: {waited}"
    if limit == "hand-over":
        steps = f"of {counted(measures.steps, 'step')}"
        copied = f"{percent(measures.copy_share)} of the time {steps} went into copying batches"
        return f"bound by the hand-over: {copied}"
    if limit == "training":
        return f"not loader-bound, training is the limit: {waited}"
    if limit == "starts":
        return f"bound by the starts of epochs: {waited}"
    word = "loader-bound" if measures.wait_share >= HIGHLY_BOUND else "slightly loader-bound"
    apart = f" (first batch {seconds(measures.mean_start_seconds)} apart)"
    return f"{word}: {waited}{apart if measures.mean_start_seconds >= FELT else ''}"


def _evidence(measures: Measures) -> dict[str, float]:
    return {
        "steps": measures.steps,
        "waited_steps": measures.waited_steps,
        "wait_share": measures.wait_share,
        "copy_share": measures.copy_share,
        "ahead_share": measures.ahead_share,
        "start_share": measures.start_share,
        "threads": measures.threads,
        "busy_threads": measures.busy_threads,
        "processors": measures.processors,
        "process_rate": measures.process_rate,
        "blocked_share": measures.blocked_share,
        "runnable_share": measures.runnable_share,
        "no_memory_share": measures.no_memory_share,
    }
