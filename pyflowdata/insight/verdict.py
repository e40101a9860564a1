"""The verdict: what limited the training loop of a loader, and over the ranks of a job.

Ranks that train together take each step at the pace of the slowest rank.  While one rank waits for
its loader, the others wait in their training step for its gradients, and their loaders look fast.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..words.plain_text import counted, joined, number, percent, seconds
from .causes import (
    FELT,
    LOADER_CAUSES,
    MOST,
    TOO_SHORT,
    WAITING,
    Finding,
    beside_others,
    copying,
    holding_the_lock,
    in_next,
    long_steps,
    opening,
    padding,
    starting,
)
from .counters import Counters
from .measures import Measures, ratio


# ---- The verdict on one loader ------------------------------------------------------------------

# The rules are in `causes.py`; these functions choose among their findings.

# As TensorFlow's profiler: it calls a program input-bound from 5 % of the time of its steps on, and
# highly so from 20 % on.
_BOUND = 0.05
_HIGHLY_BOUND = 0.20
# The same of the time in next() that is not waiting: each step costs some.
_HANDED_OUT = 0.10
# Fewer steps give no verdict: one slow step would be a tenth of them.
_FEW_STEPS = 10
# Share of the loop's time for first batches: epochs are then too short for their start.
_LONG_STARTS = 0.10
_EVIDENCE = (  # measures that every verdict has
    "steps", "waited_steps", "wait_share", "next_share", "copy_share", "ahead_share", "start_share",
    "threads", "busy_threads", "processors", "process_rate", "blocked_share", "runnable_share",
    "no_memory_share",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What limited a training loop.

    Attributes:
        limit: "training": the loader kept up; "loader"; "hand-over": copying batches to a device;
            "starts": the first batches of epochs; "unknown": there were too few steps.
        cause: The cause in the loader, as docs/speed/slow.md lists them, such as "op" or "storage";
            "" for none.
        sentence: The verdict in words, with the numbers that show it.
        remedies: Changes to try, the most promising first; may be empty.
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
        finding = beside_others(measures, finding) if limit == "loader" else finding
        remedy = f"; {finding.remedies[0]}" if finding.remedies else ""
        sentence = f"{head}; {finding.said}{remedy}"
    return Verdict(
        limit=limit,
        cause=finding.cause if finding else "",
        sentence=sentence,
        remedies=finding.remedies if finding else (),
        evidence={
            **{name: getattr(measures, name) for name in _EVIDENCE},
            **(finding.evidence if finding else {}),
            "most_gain": _most_gain(measures, limit, finding),
        },
    )


_MOST_GAIN = 1000.0  # it stands for more
UNBOUND = 100.0  # where training takes next to no time


def _most_gain(measures: Measures, limit: str, finding: Finding | None) -> float:
    """The largest factor by which steps could increase if the cause took no time."""
    if finding is None or (limit == "training" and finding.cause != "padding"):
        return 1.0
    lost = {
        "training": 1.0,
        "loader": measures.next_share,
        "hand-over": max(measures.copy_share, measures.ahead_share),
        "starts": measures.start_share,
    }[limit]
    if "first_work_seconds" in finding.evidence:
        lost = 1.0
    return 1.0 / max(1.0 - min(lost, 1.0) * min(finding.part, 1.0), 1.0 / _MOST_GAIN)


def _find(measures: Measures) -> tuple[str, Finding | None]:
    if _is_unknown(measures):
        return "unknown", None
    if (built := _opened_long(measures)) is not None:
        return "starts", built
    if _is_held_up_by_copies(measures):
        return "hand-over", copying(measures.counters.hand_over, is_ahead=False)
    if _is_held_up_by_next(measures):
        return "loader", in_next(measures)
    has_long_starts = _has_long_starts(measures)
    start_seconds = measures.counters.stats["start_seconds"]
    is_lasting = measures.starts > 1 or measures.start_share >= MOST
    if has_long_starts and is_lasting and start_seconds > measures.wait_seconds:
        return "starts", starting(measures)
    if measures.wait_share >= _BOUND and measures.steps >= _FEW_STEPS:
        if measures.ahead_share >= MOST:  # so it takes batches for less time
            return "hand-over", copying(measures.counters.ahead, is_ahead=True)
        for rule in LOADER_CAUSES:
            finding = rule(measures)
            if finding is not None:
                return "loader", finding
        return "loader", None
    if has_long_starts:
        return "starts", starting(measures)
    return "training", holding_the_lock(measures) or long_steps(measures) or padding(measures)


def _opened_long(measures: Measures) -> Finding | None:
    """Whether work that is done once took longer than all the time that steps and first batches
    lost.
    """
    lost = measures.next_seconds + measures.copy_seconds + measures.counters.stats["start_seconds"]
    lost -= measures.processes_start_seconds  # which next() waited for
    found = opening(measures)
    return found if found is not None and found.evidence["first_work_seconds"] > lost else None


def _has_long_starts(measures: Measures) -> bool:
    seconds_in_all = measures.counters.stats["start_seconds"]
    return measures.start_share >= _LONG_STARTS and seconds_in_all >= FELT


def _is_held_up_by_next(measures: Measures) -> bool:
    """Whether most of the time in next() is not spent waiting for batches."""
    parts = measures.next_parts
    waited = sum(parts[name] for name in WAITING)
    rest = sum(parts.values()) - waited
    share = measures.next_share * ratio(rest, rest + waited)
    if measures.have_others:  # handing out takes long where the thread stands in line
        share *= measures.loop_part
    return rest > waited and share >= _HANDED_OUT and measures.steps >= _FEW_STEPS


def _is_unknown(measures: Measures) -> bool:
    """Whether there were too few steps, or too little time of waiting, for a verdict."""
    if max(measures.steps, measures.starts) < _FEW_STEPS:
        return True
    if _has_long_starts(measures):
        return False
    share = max(measures.next_share, measures.copy_share)
    return share >= _BOUND and measures.next_seconds + measures.copy_seconds < TOO_SHORT


def _too_little(measures: Measures) -> str:
    """The reason of an unknown limit."""
    steps = measures.steps
    if max(steps, measures.starts) < _FEW_STEPS:
        are = "is" if steps == 1 else "are"
        return f"{counted(steps, 'step')} {are} too few to judge; {_FEW_STEPS} are needed"
    waited = f"{_waited(measures)}, {seconds(measures.next_seconds)} in all"
    return f"{waited}, which is too short to judge"


def _waited(measures: Measures) -> str:
    """How many steps waited, and for how much of their time."""
    steps = counted(measures.steps, "step")
    if not measures.steps:
        return f"each of {number(measures.starts)} epochs has one batch"
    if _is_held_up_by_next(measures):
        return f"training was in next() {percent(measures.next_share)} of the time of {steps}"
    if not measures.waited_steps:
        return f"none of {steps} waited"
    share = percent(measures.waited_share)
    few = measures.waited_share < measures.wait_share / 2
    each = f", {seconds(ratio(measures.wait_seconds, measures.waited_steps))} each" if few else ""
    time = percent(measures.wait_share)
    return f"training waited {time} of the time (in {share} of {steps}{each})"


def _is_held_up_by_copies(measures: Measures) -> bool:
    """Whether the thread of the training loop copies longer than it waits."""
    return measures.copy_share >= max(_BOUND, measures.wait_share)


def _head(measures: Measures, limit: str) -> str:
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
    word = "loader-bound" if measures.next_share >= _HIGHLY_BOUND else "slightly loader-bound"
    first = f" (first batch after {seconds(measures.mean_start_seconds)}, not counted)"
    return f"{word}: {waited}{first if measures.mean_start_seconds >= FELT else ''}"


# ---- The verdict over ranks ---------------------------------------------------------------------

def judge_ranks(counters: Sequence[Counters]) -> Verdict:
    """The verdict over ranks; one or more, in their order."""
    ranks = [Measures(one) for one in counters]
    shares = [one.wait_share + one.copy_share for one in ranks]
    slowest = max(range(len(ranks)), key=lambda i: shares[i])
    own = judge(counters[slowest])
    evidence = {"ranks": len(ranks), "slowest_rank": counters[slowest].rank, **own.evidence}
    if len(ranks) == 1 or min(one.steps for one in ranks) < _FEW_STEPS:
        return Verdict(own.limit, own.cause, own.sentence, own.remedies, evidence)
    slow = [i for i, share in enumerate(shares) if share >= max(_BOUND, shares[slowest] / 2)]
    others = [share for i, share in enumerate(shares) if i not in slow]
    if slow and others and len(slow) <= len(ranks) / 2:
        return _of_slow(counters, ranks, slow, others, own, evidence)
    sentence = f"{len(ranks)} ranks, all alike; rank {counters[slowest].rank} is {own.sentence}"
    return Verdict(own.limit, own.cause, sentence, own.remedies, evidence)


def _of_slow(
    counters: Sequence[Counters],
    ranks: Sequence[Measures],
    slow: Sequence[int],
    others: Sequence[float],
    own: Verdict,
    evidence: dict[str, float],
) -> Verdict:
    worst = max(slow, key=lambda i: ranks[i].wait_share)
    names = joined([str(counters[i].rank) for i in slow], "and")
    subject = f"rank {names} is slow: its" if len(slow) == 1 else f"ranks {names} are slow: their"
    loader = "loader waits" if len(slow) == 1 else "loaders wait"
    rest = statistics.median(one.waited_share for i, one in enumerate(ranks) if i not in slow)
    said = own.sentence.partition("; ")[2]
    remedies = own.remedies
    hosts = {one.host for one in counters}
    if len(hosts) > 1:
        remedies = (*remedies, f"compare the machine {counters[worst].host} with the others")
    return Verdict(
        "rank",
        own.cause,
        f"{subject} {loader} in {percent(ranks[worst].waited_share)} of "
        f"{number(ranks[worst].steps)} steps, the others in {percent(rest)}"
        f"{'; ' if said else ''}{said}",
        remedies,
        {**evidence, "others_wait_share": statistics.median(others)},
    )
