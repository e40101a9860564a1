"""A verdict and its numbers as text, for terminals and pages."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..words.plain_text import counted, number, percent, seconds, size, tenths
from .causes import TOO_SHORT
from .counters import Counters, CopyCounts, FirstWork, SlowRange, Work
from .measures import Measures, ratio
from .stats import SAID_OF_NEXT
from .verdict import UNBOUND, Verdict, judge

TABLE_HEAD = ("work", "rows", "CPU", "rows/s a core", "of CPU", "waits", "threads in it")


def table_rows(counters: Counters) -> list[tuple[str, ...]]:
    """A row of texts for each op and stage with work, in the order of TABLE_HEAD."""
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
    """The parts of the time in next(), the longest first, with the op of helping."""
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
        f"{m.threads}, {tenths(m.busy_threads)} busy on average; they computed "
        f"{seconds(stats['cpu_seconds'])}, waited {seconds(stats['runnable_seconds'])} for a "
        f"processor and {seconds(m.blocked_share * m.busy_seconds)} for files and locks"
    )


def _processors(m: Measures) -> str:
    throttled = f", throttled {percent(m.throttled_share)}" if m.throttled_share else ""
    used = tenths(m.process_rate)
    if m.worker_rate >= 0.05:
        used += f", its workers {tenths(m.worker_rate)}"
    busy = ""
    if m.is_crowded:
        share = percent(m.runnable_share)
        busy = f"; the machine is busy: threads waited {share} of their time for one"
    if m.others_rate >= 0.05:
        busy = f", other programs {tenths(m.others_rate)}{busy}"
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
    others = counted(one.rows - 1, "other record", "other records")
    return f" (or one of {others} timed with it)" if one.rows > 1 else ""


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
        bound = f"at most {times(most)} the steps, were the cause gone"
        if most >= UNBOUND:
            bound = "no bound is known, as next to no time is left without the cause"
        lines.append(
            f"  expected: {bound}; report.try_remedies() measures what each remedy gives"
        )
    rows = table_rows(counters)
    if rows:
        lines += ["", *aligned([TABLE_HEAD, *rows])]
    below = lines_below(counters)
    width = max(len(subject) for subject, _ in below)
    lines += ["", *(f"{subject.ljust(width)}  {said}" for subject, said in below)]
    return "\n".join(lines)


# ---- Ranks ---------------------------------------------------------------------------------------

_RANK_HEAD = ("rank", "host", "steps", "waited", "of time", "a step", "busy threads", "verdict")


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
            f"{tenths(m.busy_threads)} of {m.threads}",
            own.cause or own.limit,
        ))  # fmt: skip
    remedies = [f"  - {remedy}" for remedy in verdict.remedies[1:]]
    return "\n".join([verdict.sentence, *remedies, "", *aligned(rows)])
