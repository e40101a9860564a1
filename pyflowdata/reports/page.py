"""The report as one page, which needs nothing from elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..html_text import Html, element, strung
from ..html_text import page as html_page
from ..native import version
from ..plain_text import counted, number, percent, seconds, short_count, size
from . import pictures
from .counters import Counters
from .rates_over_time import course_of
from .data_facts import DataFacts
from .measures import Measures
from .page_style import STYLE
from .report_text import TABLE_HEAD, lines_below, table_rows
from .verdict import Verdict

_MOST_READERS = 8
_LIMITS = {"training": "good", "unknown": "unsure"}  # any other is bad


@dataclass(frozen=True)
class PageFacts:
    """What a page shows.

    Attributes:
        verdict: On the training loop.
        counters: What was counted.
        numbers: The report's, as values of JSON; the page has them in its element `numbers`.
        data: What is known of the data; None: nothing.
    """

    verdict: Verdict
    counters: Counters
    numbers: Mapping[str, Any]
    data: DataFacts | None


def report_page(facts: PageFacts) -> str:
    """The page of a report: HTML of one file, without scripts."""
    counters, data = facts.counters, facts.data
    sections = [
        _verdict(facts), _tiles(counters), _work(counters), _course(counters), _steps(counters),
        _resources(counters),
        *([] if data is None else [_order(data.order), _data(data.readers), _graph(data.graph)]),
        _details(counters),
    ]  # fmt: skip
    return html_page(
        _title(facts), STYLE, element("main", *sections), "\n",
        element("script", _embedded(facts.numbers), type="application/json", id="numbers"),
    )  # fmt: skip


def _embedded(numbers: Mapping[str, Any]) -> Html:
    """JSON without what would end the element that it is in."""
    text = json.dumps(numbers, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _section(name: str, title: str, *content: object) -> Html:
    return element("section", element("h2", title), *content, "\n", id=name)


def _note(text: str) -> Html:
    return element("p", text, class_="soft")


# ---- In short -----------------------------------------------------------------------------------


def _title(facts: PageFacts) -> str:
    """Short, as tabs and lists of files show it: the script, what limits it, and when."""
    verdict, taken = facts.verdict, _taken(facts.counters)
    limit = ", ".join(filter(None, [verdict.sentence.partition(":")[0], verdict.cause]))
    return f"{facts.counters.script or 'report'}: {limit}{f' ({taken})' if taken else ''}"


def _taken(counters: Counters) -> str:
    moment = counters.taken
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment)) if moment else ""


def _origin(counters: Counters) -> Html:
    """Which run it is of."""
    version = f"pyflowdata {counters.version}" if counters.version else ""
    known = [counters.script, counters.host, _taken(counters), version]
    return _note(", ".join(filter(None, known)))


def _verdict(facts: PageFacts) -> Html:
    """The sentence, which has the first remedy, and the others."""
    verdict, blobs = facts.verdict, ", ".join(facts.counters.blobs)
    others = [element("li", one) for one in verdict.remedies[1:]]
    return strung((
        element("h1", f"pyflowdata report: {blobs}"),
        element(
            "div", element("p", verdict.sentence), element("ul", *others) if others else "",
            class_=f"verdict {_LIMITS.get(verdict.limit, 'bad')}",
        ),
        _origin(facts.counters),
    ))  # fmt: skip


def _count(count: float) -> str:
    return number(int(count)) if count < 10**6 else short_count(count)


def _tiles(counters: Counters) -> Html:
    stats, m = counters.stats, Measures(counters)
    shown = [("records", _count(stats["records"])), ("steps", _count(m.steps))]
    if m.steps:
        shown += [
            ("of the steps waited", percent(m.waited_share)),
            ("of the time was waiting", percent(m.wait_share)),
            ("waiting, a step", seconds(m.wait_seconds / m.steps)),
            ("training, a step", seconds(m.train_seconds)),
        ]
    if stats["starts"]:
        shown.append(("a start of an epoch", seconds(m.mean_start_seconds)))
    shown.append((f"of {counted(m.threads, 'thread')} busy", number(round(m.busy_threads, 1))))
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
    return _section(
        "work", "Where the loader's time goes",
        _note("Time of all threads, estimated from row ranges that were measured."),
        pictures.work_picture(counters), _table(TABLE_HEAD, rows),
    )  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
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
    return _section("course", "Over time", pictures.course_picture(periods, counters.prefetch))


def _steps(counters: Counters) -> Html:
    history = counters.history
    if not sum(history.trains):
        return Html("")
    pair = (pictures.waits_picture(counters), pictures.steps_picture(history))
    return _section(
        "steps", "Waits and training steps", element("div", *pair, class_="pair"),
        _note("Without the first batch of each epoch, and the first one after open or a seek."),
    )  # fmt: skip


def _resources(counters: Counters) -> Html:
    parts = {
        "Threads": pictures.threads_picture(counters),
        "Memory of batches": pictures.memory_picture(counters),
    }
    drawn = (
        element("div", element("h3", title), picture) for title, picture in parts.items() if picture
    )
    return _section(
        "resources", "Threads and memory", element("div", *drawn, class_="pair"),
        _facts_table(lines_below(counters)),
    )  # fmt: skip


# ---- Data ---------------------------------------------------------------------------------------


def _order(order: Mapping[str, Any]) -> Html:
    title = "Order of the records"
    if order["missing"]:
        return _section("order", title, _note(f"Not shown: {order['missing']}."))
    labels = order["labels"]
    return _section(
        "order", title,
        _note(f"Of {order['reader']}, read again by a small loader of its own."),
        pictures.order_picture(order) if order["places"] else "",
        element("h3", "Labels"),
        _note(f"Not shown: {labels['missing']}.") if labels["missing"]
        else pictures.labels_picture(order),
    )  # fmt: skip


def _data(readers: Sequence[Mapping[str, Any]]) -> Html:
    tables = [_reader(reader) for reader in readers[:_MOST_READERS]]
    rest = len(readers) - len(tables)
    others = _note(f"And {counted(rest, 'reader')}.") if rest else ""
    return _section("data", "Data", *tables, others)


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
    rows = (
        element("tr", *(element("td", element("span", one)) for one in fact)) for fact in facts
    )
    return element("table", element("tbody", *rows), class_="words")


def _graph(graph: str) -> Html:
    if not graph:
        return Html("")
    return _section("graph", "Graph", element("div", Html(graph), class_="scroll"))


def _details(counters: Counters) -> Html:
    said = [
        f"{counters.host}, process {counters.pid}",
        f"rank {counters.rank} of {counters.world_size}",
    ]  # fmt: skip
    return element("footer", element("p", f"{'; '.join(said)}."), class_="soft")
