"""Tables of results: each column is a title and a function from the rounds of a contender."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

Measures = dict[str, Any]
Rounds = list[Measures]  # of one contender, a failed round left out
Results = dict[str, list[Measures | None]]  # contender -> its rounds


@dataclasses.dataclass(frozen=True)
class Column:
    title: str
    show: Callable[[Rounds], str]


def rate(measures: Measures) -> float:
    """MB/s of the text."""
    return float(measures["bytes"] / measures["seconds"] / 1e6)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _median(title: str, value: Callable[[Measures], float]) -> Column:
    """The median of the rounds that have the value."""

    def show(rounds: Rounds) -> str:
        values = []
        for measures in rounds:
            try:
                values.append(value(measures))
            except (KeyError, ZeroDivisionError):
                continue
        return _number(median(values)) if values else "-"

    return Column(title, show)


def _range(rounds: Rounds) -> str:
    rates = [rate(measures) for measures in rounds]
    return f"{_number(min(rates))}..{_number(max(rates))}"


def _check(rounds: Rounds) -> str:
    return ", ".join(sorted({measures["check"] for measures in rounds}))


MB = 1e6
RATE = _median("MB/s", rate)
RANGE = Column("min..max", _range)
MICROSECONDS = _median("us/batch", lambda m: 1e6 * m["seconds"] / m["batches"])
CPU_MICROSECONDS = _median("CPU us/batch", lambda m: 1e6 * m["cpu"] / m["batches"])
WINDOWS = _median("k windows/s", lambda m: 16e-3 * m["batches"] / m["seconds"])  # of W5
IMAGES = _median("M images/s", lambda m: 1e-6 * m["rows"] / m["seconds"])  # of W3
CPU = _median("CPU s/M rows", lambda m: 1e6 * m["cpu"] / m["rows"])
CORES = _median("cores busy", lambda m: m["cpu"] / m["seconds"])
OPEN = _median("open ms", lambda m: 1e3 * m["open_seconds"])
FIRST = _median("first batch ms", lambda m: 1e3 * m["first_seconds"])
OPEN_MEMORY = _median("MB when open", lambda m: (m["open_anon"] - m["base_anon"]) / MB)
MEMORY = _median("peak MB", lambda m: max(0, m["peak_anon"] - m["base_anon"]) / MB)
RSS = _median("max RSS MB", lambda m: m["max_rss"] / MB)
P50 = _median("p50 us", lambda m: 1e6 * m["p50"])
P99 = _median("p99 us", lambda m: 1e6 * m["p99"])
CHECK = Column("check", _check)

# Of workloads in which both the bytes and the batches count.
RATE_AND_BATCH = [RATE, RANGE, MICROSECONDS, CPU_MICROSECONDS, CORES, MEMORY, CHECK]
LIMITS = [RATE, RANGE, CORES, CHECK]
THROUGHPUT = [RATE, RANGE, CPU, CORES, MEMORY, RSS, FIRST, P50, P99, CHECK]


def ratio(rounds: Sequence[Measures | None], base: Sequence[Measures | None]) -> float | None:
    """The median of the rounds' ratios of rates; None where no round has both."""
    pairs = [(rate(a), rate(b)) for a, b in zip(rounds, base) if a and b]
    return median(mine / other for mine, other in pairs) if pairs else None


def ratio_column(title: str, results: Results, base: str | None) -> dict[str, str]:
    """For each contender its ratio to the base, by the title of the column."""
    column = {}
    for name, rounds in results.items():
        found = ratio(rounds, results[base]) if base in results else None
        column[name] = "-" if found is None else f"{found:.3g}"
    return {"": title, **column}


def best(results: Results, names: Iterable[str]) -> str | None:
    """The contender with the highest median rate."""
    rates = {
        name: median(rate(measures) for measures in results[name] if measures)
        for name in names
        if any(results[name])
    }
    return max(rates, key=lambda name: rates[name]) if rates else None


def render(
    results: Results,
    names: Sequence[str],
    columns: Sequence[Column],
    more: Sequence[dict[str, str]],
) -> str:
    """A table in Markdown; `more` are further columns, with their title under ""."""
    titles = ["contender", *(extra[""] for extra in more), *(column.title for column in columns)]
    lines = [titles, ["---"] * len(titles)]
    for name in names:
        rounds = [measures for measures in results[name] if measures]
        cells = [column.show(rounds) if rounds else "failed" for column in columns]
        lines.append([name, *(extra[name] for extra in more), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
