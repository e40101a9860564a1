"""A report as text: the sentence, what to change, and tables under it."""

from __future__ import annotations

from collections.abc import Sequence

from ..plain_text import counted, number, percent, seconds, size
from .counters import Counters, HandOver, Work
from .measures import Measures, ratio
from .verdict import Verdict

TABLE_HEAD = ("work", "rows", "CPU", "rows/s a core", "of CPU", "waits", "threads in it")


def table_rows(counters: Counters) -> list[tuple[str, ...]]:
    """A row for each op and stage that did something, in the order of TABLE_HEAD, as texts."""
    m = Measures(counters)
    return [_table_row(m, one) for one in counters.work if one.rows]


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
    """What there is to say of steps, threads, memory and so on: (subject, sentence)."""
    m, stats = Measures(counters), counters.stats
    found = [
        ("steps", _steps(m)),
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
    if stats["read_bytes"] or stats["major_faults"]:
        found.append(("files", _files(m)))
    found += [("tuning" if line == 0 else "", said) for line, said in enumerate(counters.tuning)]
    if counters.last_stall:
        found.append(("stalls", counters.last_stall))
    if counters.hand_over is not None:
        found.append(("hand-over", _copies(counters.hand_over)))
    if counters.ahead is not None:
        found.append(("copied ahead", f"{_copies(counters.ahead)}, in a thread of its own"))
    found += [
        ("index", f"{reader.name}: {'built' if reader.is_new_index else 'found'} in "
                  f"{seconds(reader.index_seconds)}")
        for reader in counters.readers
        if reader.index_seconds >= 0.01
    ]  # fmt: skip
    return found


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
    busy = ""
    if m.is_crowded:
        share = percent(m.runnable_share)
        busy = f"; the machine is busy: threads waited {share} of their time for one"
    return f"{m.processors} allowed, this process uses {used}{throttled}{busy}"


def _memory(m: Measures) -> str:
    stats = m.counters.stats
    waited = f", used up {percent(m.no_memory_share)} of the time" if m.no_memory_share else ""
    return (
        f"{size(stats['slot_bytes'])} in {int(stats['slots'])} batches, of which "
        f"{int(stats['slots_held'])} are held and {int(stats['slots_ready'])} ready; prefetch "
        f"{m.counters.prefetch}; memory_budget {size(m.counters.memory_budget)}{waited}"
    )


def _files(m: Measures) -> str:
    stats = m.counters.stats
    found = []
    if stats["read_bytes"]:
        rate = size(ratio(stats["read_bytes"], m.loop_seconds))
        found.append(f"{size(stats['read_bytes'])} read, {rate}/s")
    if stats["major_faults"]:
        found.append(f"{number(int(stats['major_faults']))} pages of mapped files waited for")
    return ", ".join(found)


def _copies(copies: HandOver) -> str:
    return (
        f"{number(copies.batches)} batches to {copies.device}, {size(copies.bytes)} in "
        f"{seconds(copies.seconds)}, {size(ratio(copies.bytes, copies.seconds))}/s"
    )


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
    rows = table_rows(counters)
    if rows:
        lines += ["", *aligned([TABLE_HEAD, *rows])]
    below = lines_below(counters)
    width = max(len(subject) for subject, _ in below)
    lines += ["", *(f"{subject.ljust(width)}  {said}" for subject, said in below)]
    return "\n".join(lines)
