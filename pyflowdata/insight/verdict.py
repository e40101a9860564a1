"""The verdict over the ranks of a job.

Ranks that train together take each step at the pace of the slowest: while the loader of one is
waited for, the others wait in their training step for its gradients, and their loaders look fast.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..words.plain_text import counted, joined, number, percent, seconds, size
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
from .counters import Counters, CopyCounts, SlowRange, Work
from .measures import Measures, ratio
from .stats import SAID_OF_NEXT, FirstWork


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
_UNBOUND = 100.0  # where training takes next to no time


def _most_gain(measures: Measures, limit: str, finding: Finding | None) -> float:
    """How many times as many steps there would be at most, if the cause took no time."""
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
    """What was done once took longer than all that steps and first batches have lost."""
    lost = measures.next_seconds + measures.copy_seconds + measures.counters.stats["start_seconds"]
    lost -= measures.processes_start_seconds  # which next() waited for
    found = opening(measures)
    return found if found is not None and found.evidence["first_work_seconds"] > lost else None


def _has_long_starts(measures: Measures) -> bool:
    seconds_in_all = measures.counters.stats["start_seconds"]
    return measures.start_share >= _LONG_STARTS and seconds_in_all >= FELT


def _is_held_up_by_next(measures: Measures) -> bool:
    """Most of the time in next() is not spent waiting for batches."""
    parts = measures.next_parts
    waited = sum(parts[name] for name in WAITING)
    rest = sum(parts.values()) - waited
    share = measures.next_share * ratio(rest, rest + waited)
    if measures.have_others:  # handing out takes long where the thread stands in line
        share *= measures.caller_part
    return rest > waited and share >= _HANDED_OUT and measures.steps >= _FEW_STEPS


def _is_unknown(measures: Measures) -> bool:
    """There were too few steps, or too little time was waited."""
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
    return f"training waited {percent(measures.wait_share)} of the time (in {share} of {steps})"


def _is_held_up_by_copies(measures: Measures) -> bool:
    """The thread of the training loop copies longer than it waits."""
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


# ---- The verdict and its numbers as text --------------------------------------------------------

TABLE_HEAD = ("work", "rows", "CPU", "rows/s a core", "of CPU", "waits", "threads in it")


def table_rows(counters: Counters) -> list[tuple[str, ...]]:
    """A row for each op and stage that did something, in the order of TABLE_HEAD, as texts."""
    m = Measures(counters)
    rows = [_table_row(m, one) for one in counters.work if one.rows]
    cpu = m.unknown_cpu_seconds
    if cpu >= TOO_SHORT:
        share = percent(ratio(cpu, m.cpu_seconds + cpu))
        rows.append(("not accounted for", "", seconds(cpu), "", share, "", ""))
    return rows


def _table_row(m: Measures, one: Work) -> tuple[str, ...]:
    return (
        one.title + {"C": "", "Python": " (Python)", "processes": " (processes)"}[one.language],
        number(float(f"{one.rows:.3g}")),
        seconds(one.cpu_seconds),
        number(m.rows_per_core(one)),
        percent(m.share(one)),
        percent(m.waiting_share(one)),
        number(round(m.threads_in(one), 2)),
    )


def lines_below(counters: Counters) -> list[tuple[str, str]]:
    """Pairs of a subject, such as steps, threads or memory, and a sentence about it."""
    m, stats = Measures(counters), counters.stats
    found = [
        ("steps", _steps(m)),
        ("next()", _in_next(m)),
        ("starts", _starts(m)),
        ("threads", _threads(m)),
        ("processors", _processors(m)),
        ("memory", _memory(m)),
    ]
    records = f"{number(int(stats['records']))} in {number(int(stats['batches']))} batches"
    rate = ratio(stats["records"], m.loop_seconds)
    left_out = ""
    if stats.get("left_out"):  # reports that an earlier version has saved lack it
        left_out = f", {number(int(stats['left_out']))} left out by last_batch"
    skipped = f"{int(stats['skipped'])} skipped"
    found.append(("records", f"{records}, {number(rate)}/s, {skipped}{left_out}"))
    found += [("slowest" if line == 0 else "", said) for line, said in enumerate(_slowest(m))]
    found += [("largest" if line == 0 else "", said) for line, said in enumerate(_largest(m))]
    found += [
        ("padding", f"{percent(ratio(one.padded, one.elements))} of the "
                    f"{number(float(f'{one.elements:.3g}'))} elements that {one.title} made")
        for one in counters.work if one.elements
    ]  # fmt: skip
    if stats["read_bytes"] or stats["major_faults"]:
        found.append(("files", _files(m)))
    if stats.get("retries"):  # earlier versions have not counted them
        found.append(("retries", f"{number(int(stats['retries']))} calls of the system failed for "
                                 "a moment"))
    found += [("tuning" if line == 0 else "", said) for line, said in enumerate(counters.tuning)]
    if counters.last_stall:
        found.append(("stalls", counters.last_stall))
    if counters.hand_over is not None:
        found.append(("hand-over", _copies(counters.hand_over)))
    if counters.ahead is not None:
        found.append(("copied ahead", f"{_copies(counters.ahead)}, in a separate thread"))
    found += [
        ("first" if line == 0 else "", f"{one.said}: {seconds(one.seconds)}, once for all epochs")
        for line, one in enumerate(_first_work(counters))
    ]
    found += [
        ("index", f"{reader.name}: {'built' if reader.is_new_index else 'found'} in "
                  f"{seconds(reader.index_seconds)}")
        for reader in counters.readers
        if reader.index_seconds >= 0.01
    ]  # fmt: skip
    return found


def _first_work(counters: Counters) -> list[FirstWork]:
    return [one for one in counters.first_work if one.seconds >= TOO_SHORT]


def _steps(m: Measures) -> str:
    waits = "none waited"
    if m.waited_steps:
        mean = ratio(m.wait_seconds, m.waited_steps)
        waits = (
            f"{number(m.waited_steps)} waited, {seconds(mean)} on average; of all, "
            f"{_quantile(m, 'median', 0.5)}, {_quantile(m, '95th percentile', 0.95)}"
        )
    if not m.steps:
        return "none"
    return f"{number(m.steps)} of {seconds(ratio(m.step_seconds, m.steps))}; {waits}"


def _in_next(m: Measures) -> str:
    """What the time in next() was spent on, the longest first; helping by op."""
    parts = sorted(m.next_parts.items(), key=lambda part: -part[1])
    helped = max(m.counters.work, key=lambda one: one.help_seconds, default=None)
    most = f" (most of it {helped.doing})" if helped is not None and helped.help_seconds > 0 else ""
    said = [
        f"{SAID_OF_NEXT[name]} {seconds(time)}{most if name == 'help' else ''}"
        for name, time in parts if time >= 0.0005
    ]  # fmt: skip
    return f"{seconds(sum(m.next_parts.values()))}: {', '.join(said)}" if said else "no time"


def _quantile(m: Measures, name: str, q: float) -> str:
    value = m.wait_quantile(q)
    return f"{name} under {seconds(value)}" if value else f"{name} 0"


def _starts(m: Measures) -> str:
    if not m.starts:
        return "none"
    firsts = counted(m.starts, "first batch of an epoch", "first batches of epochs")
    return f"{firsts}, {seconds(m.mean_start_seconds)}{' each' if m.starts > 1 else ''}"


def _threads(m: Measures) -> str:
    stats = m.counters.stats
    return (
        f"{m.threads}, {number(round(m.busy_threads, 1))} busy on average; they computed "
        f"{seconds(stats['cpu_seconds'])}, waited {seconds(stats['runnable_seconds'])} for a "
        f"processor and {seconds(m.blocked_share * m.busy_seconds)} for files and locks"
    )


def _processors(m: Measures) -> str:
    throttled = f", throttled {percent(m.throttled_share)}" if m.throttled_share else ""
    used = number(round(m.process_rate, 1))
    if m.worker_rate >= 0.05:
        used += f", its workers {number(round(m.worker_rate, 1))}"
    busy = ""
    if m.is_crowded:
        share = percent(m.runnable_share)
        busy = f"; the machine is busy: threads waited {share} of their time for one"
    if m.others_rate >= 0.05:
        busy = f", other programs {number(round(m.others_rate, 1))}{busy}"
    return f"{m.processors} allowed, this process uses {used}{throttled}{busy}"


def _memory(m: Measures) -> str:
    stats = m.counters.stats
    waited = f", used up {percent(m.no_memory_share)} of the time" if m.no_memory_share else ""
    return (
        f"{size(stats['slot_bytes'])} in {int(stats['slots'])} batches, of which "
        f"{int(stats['slots_held'])} are held and {int(stats['slots_ready'])} ready; prefetch "
        f"{m.counters.prefetch}; memory_budget {size(m.counters.memory_budget)}{waited}"
    )


_OUTLIER = 4  # times as long as a range of the same op on average


def _slowest(m: Measures) -> list[str]:
    """The ops that took much longer for a few records than for others."""
    found = []
    for one in m.counters.work:
        mean = ratio(one.wall_seconds, one.ranges)
        slow = [each for each in one.slowest if 0 < _OUTLIER * mean <= each.seconds]
        if not slow or sum(each.seconds for each in slow) < TOO_SHORT:
            continue
        said = [
            f"{seconds(each.seconds)} {_record(each)}{_with_others(each)}" for each in slow
        ]
        found.append(f"{one.title}, {seconds(mean)} on average: {', '.join(said)}")
    return found


def _record(one: SlowRange) -> str:
    return f"record {one.record} of {os.path.basename(one.file)}"


def _with_others(one: SlowRange) -> str:
    return f" (or one of {one.rows - 1} with it)" if one.rows > 1 else ""


def _largest(m: Measures) -> list[str]:
    """Records that have many times the bytes of others."""
    stats, readers = m.counters.stats, len(m.counters.readers)
    made = stats["records"] * ratio(stats["batches_made"], stats["batches"])
    mean = ratio(stats["bytes"], made * readers)
    return [
        f"{_record(one.largest)}, {size(one.largest.bytes)}; {size(mean)} on average"
        for one in m.counters.work
        if one.largest is not None and 0 < _OUTLIER * mean <= one.largest.bytes
    ]


def _files(m: Measures) -> str:
    stats = m.counters.stats
    found = []
    if stats["read_bytes"]:
        rate = size(ratio(stats["read_bytes"], m.loop_seconds))
        found.append(f"{size(stats['read_bytes'])} read, {rate}/s")
    if stats["major_faults"]:
        found.append(f"{number(int(stats['major_faults']))} pages of mapped files waited for")
    return ", ".join(found)


def _copies(copies: CopyCounts) -> str:
    return (
        f"{number(copies.batches)} batches to {copies.device}, {size(copies.bytes)} in "
        f"{seconds(copies.seconds)}, {size(ratio(copies.bytes, copies.seconds))}/s"
    )


def times(gain: float) -> str:
    """A factor, as x 1.4."""
    return f"x {gain:.2f}" if gain < 10 else f"x {gain:,.0f}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: its first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def as_text(counters: Counters, verdict: Verdict) -> str:
    """The report of a loader, for a terminal."""
    lines = [verdict.sentence]
    lines += [f"  - {remedy}" for remedy in verdict.remedies[1:]]
    most = verdict.evidence.get("most_gain", 1.0)
    if most > 1.0 and verdict.remedies:
        bound = f"at most {times(most)}" if most < _UNBOUND else f"up to {times(_UNBOUND)} or more"
        lines.append(
            f"  expected: {bound} the steps, were the cause gone; report.try_remedies() measures "
            "what each remedy gives"
        )
    rows = table_rows(counters)
    if rows:
        lines += ["", *aligned([TABLE_HEAD, *rows])]
    below = lines_below(counters)
    width = max(len(subject) for subject, _ in below)
    lines += ["", *(f"{subject.ljust(width)}  {said}" for subject, said in below)]
    return "\n".join(lines)


# ---- The verdict over ranks ---------------------------------------------------------------------

_RANK_HEAD = ("rank", "host", "steps", "waited", "of time", "a step", "busy threads", "verdict")


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


def ranks_as_text(counters: Sequence[Counters], verdict: Verdict) -> str:
    rows = [_RANK_HEAD]
    for one in counters:
        m, own = Measures(one), judge(one)
        rows.append((
            str(one.rank),
            one.host,
            number(m.steps),
            percent(m.waited_share),
            percent(m.wait_share),
            seconds(m.step_seconds / m.steps if m.steps else 0.0),
            f"{number(round(m.busy_threads, 1))} of {m.threads}",
            own.cause or own.limit,
        ))  # fmt: skip
    remedies = [f"  - {remedy}" for remedy in verdict.remedies[1:]]
    return "\n".join([verdict.sentence, *remedies, "", *aligned(rows)])
