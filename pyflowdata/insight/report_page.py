"""The report as one page, which needs nothing from elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..words.html_text import Html, element, page as html_page, strung
from ..words.plain_text import (
    clipped, counted, number, percent, seconds, short_count, size, tenths,
)  # fmt: skip
from .counters import Counters, DataFacts, History
from .drawing import (
    STYLE,
    Axis,
    Bar,
    Panel,
    Segment,
    edge_text,
    histogram,
    moment_text,
    scatter,
    stacked,
    strips,
    ticks,
    time_ticks,
    timeline,
    whole_ticks,
)
from .measures import Course, Measures, course_of
from .report_text import TABLE_HEAD, lines_below, table_rows
from .verdict import Verdict


# ---- Pictures -----------------------------------------------------------------------------------

Numbers = Mapping[str, Any]

_MOST_BARS = 12
_STATES = (("a", "computes"), ("d", "waits for a processor"), ("b", "waits for a file or a lock"))


def figure(chart: Html, caption: object) -> Html:
    return element("figure", chart, element("figcaption", caption))


def legend(entries: Sequence[tuple[str, str]]) -> Html:
    """Colours and what they stand for."""
    items = []
    for color, said in entries:
        box = element("rect", class_=color, width=12, height=12)
        items.append(element("li", element("svg", box, aria_hidden="true"), said))
    return element("ul", *items, class_="legend")


def count_axis(most: float, title: str, count: int = 4) -> Axis:
    """An axis of whole numbers whose last tick is at its end, or above the largest value."""
    marks = whole_ticks(most, count)
    step = marks[1] if len(marks) > 1 else max(most, 1.0)
    end = marks[-1] if marks[-1] >= most else marks[-1] + step
    return Axis(end, [(one, short_count(one)) for one in whole_ticks(end, count + 1)], title)


# ---- Over time ----------------------------------------------------------------------------------


def _course_picture(periods: Sequence[Course], prefetch: int) -> Html:
    """Throughput, waiting and ready batches over time."""
    whole = periods[-1].end
    rates = [one.rate for one in periods]
    ready = [one.ready or 0.0 for one in periods]
    rate = ticks(max(rates), 3)
    step = rate[1] if len(rate) > 1 else 1.0
    top = rate[-1] if rate[-1] >= max(rates) else rate[-1] + step
    panels = [
        Panel(Axis(top, [(one, short_count(one)) for one in ticks(top, 4)],
                   "delivered, records a second"), rates, "a"),
        Panel(Axis(1.0, [(0, "0 %"), (0.5, "50 %"), (1, "100 %")],
                   "share of the time that training waits"),
              [one.waiting for one in periods], "b"),
        Panel(count_axis(max(max(ready), min(prefetch, 4), 1), "complete batches in front", 3),
              ready, "c"),
    ]  # fmt: skip
    hovers = [
        f"{seconds(one.begin)} to {seconds(one.end)}: "
        f"{number(one.rate)} records/s, waits {percent(one.waiting)}, "
        + ("no batch" if one.ready is None else f"{one.ready:.1f} batches ready")
        for one in periods
    ]
    across = Axis(
        whole, [(one, moment_text(one)) for one in time_ticks(whole)],
        "since the first batch was asked for",
    )  # fmt: skip
    said = f"Throughput, waiting and ready batches over {seconds(whole)}"
    return figure(
        timeline(panels, [one.end for one in periods], across, hovers, said),
        f"{counted(len(periods), 'period')} of {seconds(periods[0].end)}. Where training waits, "
        f"no complete batch is in front of it. At most {prefetch} are made ahead.",
    )


# ---- Histograms ---------------------------------------------------------------------------------


def _range(history: History) -> tuple[int, int]:
    """The powers of two that waits or steps have; of eight at least."""
    used = [
        power
        for counts in (history.waits, history.trains)
        for power, count in enumerate(counts)
        if count
    ]
    least, most = min(used, default=20), max(used, default=20)
    while most - least < 7:
        least, most = max(0, least - 1), most + 1
    return least, most


def _durations(history: History, kind: str, title: str, color: str, said: str) -> Html:
    least, most = _range(history)
    counts = getattr(history, kind)[least : most + 1]
    every = -(-len(counts) // 4)
    marks = [(place, edge_text(least + place)) for place in range(0, len(counts), every)]
    bars = [
        Bar(count, f"{count:,}: {edge_text(power)} to {edge_text(power + 1)}")
        for power, count in enumerate(counts, least)
    ]
    up = count_axis(max(max(counts), 1), title)
    return histogram(bars, up, Axis(len(counts), marks), said, color=color)


def _waits_picture(counters: Counters) -> Html:
    """How long the steps waited that did."""
    steps, waited = int(counters.stats["steps"]), int(counters.stats["waited_steps"])
    if not waited:
        return figure(Html(""), f"None of {counted(steps, 'step')} waited: a batch was ready.")
    chart = _durations(
        counters.history, "waits", "steps that waited, by duration", "b", "Histogram of waits"
    )
    return figure(
        chart,
        f"{waited:,} of {counted(steps, 'step')} waited; for the others a batch was ready. Each "
        "bar counts waits from its left edge to twice as long.",
    )


# ---- Shares -------------------------------------------------------------------------------------


def work_picture(counters: Counters) -> Html:
    """A bar for each op and stage: computing and waiting; the longest first."""
    m = Measures(counters)
    work = sorted((one for one in counters.work if one.rows), key=lambda one: -one.wall_seconds)
    if m.wall_seconds <= 0:
        return Html("")
    lines = []
    for one in work[:_MOST_BARS]:
        held = m.waiting_share(one) * one.wall_seconds
        cpu = min(one.cpu_seconds, one.wall_seconds)
        took = (cpu, one.wall_seconds - cpu - held, held)
        named = [(*state, each) for state, each in zip(_STATES, took, strict=True)]
        share = percent(m.wall_share(one))
        said = f"{one.title}: {share} of the threads' work"
        bar = stacked(_segments(named, m.wall_seconds), said)
        lines.append(element("li", element("span", one.title), bar, element("span", share)))
    rest = work[_MOST_BARS:]
    if rest:
        share = percent(sum(map(m.wall_share, rest)))
        spans = (f"{len(rest)} others", "", share)
        lines.append(element("li", *(element("span", one) for one in spans)))
    return strung((element("ul", *lines, class_="shares"), legend(_STATES)))


def _segments(named: Sequence[tuple[str, str, float]], whole: float) -> list[Segment]:
    """The segments of a bar, of colours, their meanings, and seconds."""
    return [Segment(took / whole, color, f"{said}: {seconds(took)}") for color, said, took in named]


def _threads_picture(counters: Counters) -> Html:
    stats = counters.stats
    elapsed = stats["now_seconds"] - stats["opened_seconds"]
    idle, cpu, runnable = (stats[f"{one}_seconds"] for one in ("idle", "cpu", "runnable"))
    total = max(stats["thread_seconds"], idle + cpu + runnable)
    if total <= 0:
        return Html("")
    named = [
        ("a", "compute", cpu), ("d", "wait for a processor", runnable),
        ("b", "wait for a file or a lock", total - idle - cpu - runnable),
        ("e", "have no work", idle),
    ]  # fmt: skip
    marks = legend([(color, f"{said} {percent(one / total)}") for color, said, one in named])
    segments = _segments(named, total)
    said = f"{counted(counters.num_threads, 'thread')} in {seconds(elapsed)}"
    return figure(Html(stacked(segments, said) + marks), f"{said}, from open to close or to now.")


def _memory_picture(counters: Counters) -> Html:
    """The memory of batches, and what of the budget is left."""
    stats = counters.stats
    slots = max(1, int(stats["slots"]))
    one = stats["slot_bytes"] / slots
    held, ready = int(stats["slots_held"]), int(stats["slots_ready"])
    named = [
        ("b", "held by the program", held), ("c", "complete", ready),
        ("a", "being made, or free", max(0, slots - held - ready)),
    ]  # fmt: skip
    whole = max(counters.memory_budget, stats["slot_bytes"], 1)
    segments = [
        Segment(count * one / whole, color, f"{said}: {size(count * one)}")
        for color, said, count in named
    ]
    marks = legend([(color, f"{count:,} {said}") for color, said, count in named])
    short = stats["no_memory_seconds"]
    lacking = (
        f" For {seconds(short)} no batch could be started: the budget was used up."
        if short else ""
    )  # fmt: skip
    said = f"{size(stats['slot_bytes'])} of a memory_budget of {size(counters.memory_budget)}"
    return figure(
        Html(stacked(segments, said) + marks),
        f"Room for {slots:,} batches of {size(one)} each: {said}.{lacking}",
    )


# ---- Order --------------------------------------------------------------------------------------


def _order_picture(order: Numbers) -> Html:
    """The places in the files of the records of the first batches."""
    rows, files = sum(order["rows"]), order["files"]
    starts = [one["first"] for one in files[1:]] if len(files) <= 60 else []
    extent = max(order["extent"], 1)
    up = Axis(extent, [(one, short_count(one)) for one in whole_ticks(extent, 5)],
              "place in the files, records")  # fmt: skip
    across = Axis(max(rows, 1), [(one, short_count(one)) for one in whole_ticks(rows, 5)],
                  f"position in epoch {order['epoch']}, records")  # fmt: skip
    points = zip(order["positions"], order["places"], strict=True)
    said = f"Order of the first {counted(rows, 'record')} of epoch {order['epoch']}"
    every = f"one of {-(-rows // len(order['places']))}" if order["places"] else "none"
    dots = "Each dot is a record" if len(order["places"]) == rows else f"A dot is {every} records"
    lines = f"; lines are where files begin ({len(files):,} files)" if starts else ""
    return figure(
        scatter(points, up, across, said, lines=starts, radius=1.5 if rows > 1500 else 2.5),
        f"{dots} of the first {len(order['rows'])} batches of all ranks{lines}. A line from "
        "corner to corner is the order of the files, an even cloud a good shuffle; bands or steps "
        "mean that only near records are mixed.",
    )


def _labels_picture(order: Numbers) -> Html:
    labels = order["labels"]
    sizes = [max(1, sum(one)) for one in labels["counts"]]
    shares = [
        [one[place] / size for one, size in zip(labels["counts"], sizes, strict=True)]
        for place in range(len(labels["values"]))
    ]
    most = max(max(row) for row in shares)
    batches = len(labels["counts"])
    across = Axis(
        batches, [(one, short_count(one)) for one in whole_ticks(batches, 5)],
        f"batch of epoch {order['epoch']}",
    )  # fmt: skip
    names = [clipped(str(one), 12) for one in labels["values"]]
    scaled = [[share / most for share in row] for row in shares]
    seen = sum(sum(1 for one in counts if one) for counts in labels["counts"]) / batches
    said = f"Shares of the values of {labels['name']} in each batch"
    return figure(
        strips(names, scaled, across, said),
        f"Values of {labels['name']}; the darker, the larger the share of the batch: "
        f"{percent(most)} at most. A batch has {number(round(seen, 1))} of the "
        f"{len(names)} values on average. Well mixed batches are alike.",
    )


# ---- The page -----------------------------------------------------------------------------------

_MOST_READERS = 8


def report_page(
    verdict: Verdict, counters: Counters, numbers: Numbers, data: DataFacts | None
) -> str:
    """The page of a report: HTML of one file, without scripts.

    Args:
        verdict: The verdict on the training loop.
        counters: The counters that it judges.
        numbers: The report as values of JSON, which the page has in its element `numbers`.
        data: Facts about the data, if known.
    """
    sections = [
        _verdict(verdict, counters), _tiles(counters), _work(counters), _course(counters),
        _steps(counters), _resources(counters),
        *([] if data is None else [_order(data.order), _data(data.readers), _graph(data.graph)]),
        _details(counters),
    ]  # fmt: skip
    return html_page(
        _title(verdict, counters), STYLE, element("main", *sections), "\n",
        element("script", _embedded(numbers), type="application/json", id="numbers"),
    )  # fmt: skip


def _embedded(numbers: Numbers) -> Html:
    """JSON without what would end the element that it is in."""
    text = json.dumps(numbers, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def section(name: str, title: str, *content: object) -> Html:
    return element("section", element("h2", title), *content, "\n", id=name)


def note(text: str) -> Html:
    return element("p", text, class_="soft")


# ---- In short -----------------------------------------------------------------------------------


def _title(verdict: Verdict, counters: Counters) -> str:
    """Short, as tabs and lists of files show it: the script, what limits it, and when."""
    taken = _taken(counters)
    limit = ", ".join(filter(None, [verdict.sentence.partition(":")[0], verdict.cause]))
    return f"{counters.script or 'report'}: {limit}{f' ({taken})' if taken else ''}"


def _taken(counters: Counters) -> str:
    moment = counters.taken
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment)) if moment else ""


def _origin(counters: Counters) -> Html:
    version = f"pyflowdata {counters.version}" if counters.version else ""
    known = [counters.script, counters.host, _taken(counters), version]
    return note(", ".join(filter(None, known)))


_LIMITS = {"training": "good", "unknown": "unsure"}  # any other is bad


def verdict_box(verdict: Verdict, sentence: str, *below: Html) -> Html:
    """A sentence in the color of a verdict, the remedies that are not in it, and what else is said
    of it."""
    others = [element("li", one) for one in verdict.remedies[1:]]
    return element(
        "div", element("p", sentence), element("ul", *others) if others else "", *below,
        class_=f"verdict {_LIMITS.get(verdict.limit, 'bad')}",
    )  # fmt: skip


def _verdict(verdict: Verdict, counters: Counters) -> Html:
    blobs = ", ".join(counters.blobs)
    heading = element("h1", f"pyflowdata report: {blobs}")
    return strung((heading, verdict_box(verdict, verdict.sentence), _origin(counters)))


def short(count: float) -> str:
    return number(int(count)) if count < 10**6 else short_count(count)


def _tiles(counters: Counters) -> Html:
    stats, m = counters.stats, Measures(counters)
    shown = [("records", short(stats["records"])), ("steps", short(m.steps))]
    if m.steps:
        shown += [
            ("of the steps waited", percent(m.waited_share)),
            ("of the time was waiting", percent(m.wait_share)),
            ("waiting, a step", seconds(m.wait_seconds / m.steps)),
            ("training, a step", seconds(m.train_seconds)),
        ]
    if stats["starts"]:
        shown.append(("a start of an epoch", seconds(m.mean_start_seconds)))
    shown.append((f"of {counted(m.threads, 'thread')} busy", tenths(m.busy_threads)))
    tiles = (
        element("div", element("b", value), element("span", said), class_="tile")
        for said, value in shown
    )
    return element("div", *tiles, class_="tiles")


# ---- Ops and stages -----------------------------------------------------------------------------


def _work(counters: Counters) -> Html:
    rows = table_rows(counters)
    if not rows:
        return Html("")
    return section(
        "work", "Where the loader's time goes",
        note("Time of all threads, estimated from row ranges that were measured."),
        work_picture(counters), table(TABLE_HEAD, rows),
    )  # fmt: skip


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table; on a phone each row is a list of what it has."""
    head = element("tr", *(element("th", one) for one in columns))
    body = (
        element("tr", *(
            element("td", element("span", cell), **({"data_of": name} if place else {}))
            for place, (name, cell) in enumerate(zip(columns, row, strict=True))
        ))
        for row in rows
    )  # fmt: skip
    return element("table", element("thead", head), element("tbody", *body))


# ---- Over time ----------------------------------------------------------------------------------


def _course(counters: Counters) -> Html:
    periods = course_of(counters.history, counters.stats["delivered_seconds"])
    if not periods:
        return Html("")
    return section("course", "Over time", _course_picture(periods, counters.prefetch))


def _steps(counters: Counters) -> Html:
    history = counters.history
    if not sum(history.trains):
        return Html("")
    steps = figure(
        _durations(
            history, "trains", "training steps, by duration", "a", "Histogram of training steps"
        ),
        "The time from a batch to the question for the next one, on the same scale as waits.",
    )
    pair = (_waits_picture(counters), steps)
    return section(
        "steps", "Waits and training steps", element("div", *pair, class_="pair"),
        note("Without the first batch of each epoch, and the first one after open or a seek."),
    )  # fmt: skip


def _resources(counters: Counters) -> Html:
    pictures = {
        "Threads": _threads_picture(counters),
        "Memory of batches": _memory_picture(counters),
    }
    drawn = (
        element("div", element("h3", title), picture)
        for title, picture in pictures.items()
        if picture
    )
    return section(
        "resources", "Threads and memory", element("div", *drawn, class_="pair"),
        _facts_table(lines_below(counters)),
    )  # fmt: skip


# ---- Data ---------------------------------------------------------------------------------------


def _order(order: Mapping[str, Any]) -> Html:
    title = "Order of the records"
    if order["missing"]:
        return section("order", title, note(f"Not shown: {order['missing']}."))
    labels = order["labels"]
    return section(
        "order", title,
        note(f"Of {order['reader']}, read again by a separate small loader."),
        _order_picture(order) if order["places"] else "",
        element("h3", "Labels"),
        note(f"Not shown: {labels['missing']}.") if labels["missing"]
        else _labels_picture(order),
    )  # fmt: skip


def _data(readers: Sequence[Mapping[str, Any]]) -> Html:
    tables = [_reader(reader) for reader in readers[:_MOST_READERS]]
    rest = len(readers) - len(tables)
    others = note(f"And {counted(rest, 'reader')}.") if rest else ""
    return section("data", "Data", *tables, others)


def _reader(reader: Mapping[str, Any]) -> Html:
    records = f"{reader['records']:,}" if reader["records"] >= 0 else "known at the end of an epoch"
    index = reader["index"]
    seed = str(reader["seed"]) + (" (none was given)" if reader["seed_is_default"] else "")
    facts: list[tuple[str, object]] = [
        ("op", reader["op"]), ("records", records),
        ("files", f"{counted(reader['files'], 'file')}, {size(reader['bytes'])}"),
        ("shuffle", reader["shuffle"]), ("seed", seed),
        ("batch", f"{counted(reader['batch_size'], 'record')} of all ranks"),
        ("rank", f"{reader['rank']} of {reader['world_size']}"),
    ]  # fmt: skip
    if index["bytes"]:
        made = "built" if index["is_new"] else "found"
        where = f": {index['path']}" if index["path"] else ""
        took = f"{made} in {seconds(index['seconds'])}"
        facts.append(("index", f"{size(index['bytes'])}, {took}{where}"))
    spec = ", ".join(f"{name}={value}" for name, value in reader["spec"].items())
    facts += [("fingerprint", reader["data"]), ("attrs of the order", spec)]
    return strung((element("h3", reader["name"]), _facts_table(facts)))


def _facts_table(facts: Sequence[tuple[str, object]]) -> Html:
    rows = (element("tr", *(element("td", element("span", one)) for one in fact)) for fact in facts)
    return element("table", element("tbody", *rows), class_="words")


def _graph(graph: str) -> Html:
    if not graph:
        return Html("")
    return section("graph", "Graph", element("div", Html(graph), class_="scroll"))


def _details(counters: Counters) -> Html:
    said = [
        f"{counters.host}, process {counters.pid}",
        f"rank {counters.rank} of {counters.world_size}",
    ]  # fmt: skip
    return element("footer", element("p", f"{'; '.join(said)}."), class_="soft")
