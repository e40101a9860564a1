"""`with loader.dashboard() as page:` serves a page that shows a loader while it works.

The page is for this machine, and loads nothing from elsewhere.  One thread reads the counters once
a second, and answers requests: `/` is the page, `/body` the part that changes, `/numbers` JSON,
`/metrics` the text format of Prometheus.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import json
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import Error, InvalidArgumentError, shown
from ..words.html_text import Html, element, page as html_page, strung
from ..words.plain_text import number, percent, seconds, short_count, size, tenths
from .counters import CountedLoader, Counters
from .drawing import STYLE, Axis, Panel, Segment, moment_text, stacked, ticks, time_ticks, timeline
from .measures import Measures, ratio
from .metrics import Meter, as_prometheus
from .report_page import (
    count_axis, figure, legend, note, section, table, verdict_box, work_picture,
)  # fmt: skip
from .stats import IN_NEXT, SAID_OF_NEXT, TIMES
from .report_text import TABLE_HEAD, table_rows
from .verdict import Verdict, judge

VARIABLE = "PYFLOWDATA_DASHBOARD"  # a port, or 1 for any; "" or 0: no loader is shown
_WINDOW = 30  # seconds that the verdict of the moment is about
_KEPT = 300  # seconds that the lines show
_PATIENCE = 5.0  # seconds in which a request must have come
_MORE_PORTS = 100  # are tried after that of the variable, for other loaders and ranks


# ---- What is counted ----------------------------------------------------------------------------


class Second(NamedTuple):
    """What happened between two counts.

    Attributes:
        end: The end of the interval, on the monotonic clock.
        length: The length of the interval in seconds.
        records, batches, bytes: Rates per second.
        in_next: The share of the time that the training thread spent in next(), from 0 to 1.
        ready: Complete batches at the end.
        busy: Threads with work, on average.
        memory: Bytes of batches at the end.
    """

    end: float
    length: float
    records: float
    batches: float
    bytes: float
    in_next: float
    ready: int
    busy: float
    memory: int


def _in_next(stats: dict[str, float]) -> float:
    return ratio(
        sum(stats[f"{name}_seconds"] for name in IN_NEXT),
        sum(stats[f"{name}_seconds"] for name in TIMES),
    )


def _second(counters: Counters, before: Counters) -> Second:
    now, old = counters.stats, before.stats
    less = {name: value - old[name] for name, value in now.items()}
    length = max(less["now_seconds"], 1e-3)
    if sum(less[f"{name}_seconds"] for name in TIMES) > 0:
        in_next = _in_next(less)
    else:  # it is in one call all the time
        in_next = float(now["asked_seconds"] > now["delivered_seconds"])
    return Second(
        end=now["now_seconds"],
        length=length,
        records=less["records"] / length,
        batches=less["batches"] / length,
        bytes=less["bytes"] / length,
        in_next=in_next,
        ready=int(now["slots_ready"]),
        busy=max(less["thread_seconds"] - less["idle_seconds"], 0.0) / length,
        memory=int(now["slot_bytes"]),
    )


class _Course:
    """The counts of a loader, read once a second.  Used by one thread."""

    def __init__(self, counted: CountedLoader) -> None:
        self._counted = counted
        self._lately: deque[Counters] = deque([counted.count()], _WINDOW + 1)
        self.seconds: deque[Second] = deque(maxlen=_KEPT)
        self.meter = Meter()

    def count(self) -> None:
        now = self._counted.count()
        self.seconds.append(_second(now, self._lately[-1]))
        self._lately.append(now)

    def now(self) -> Counters:
        """The counters of this moment."""
        return self._counted.count()

    @property
    def total(self) -> Counters:
        """The counters since the loader was opened, at the last count."""
        return self._lately[-1]

    def lately(self) -> Counters:
        """The counters of the last seconds, which the current verdict is about."""
        return self.total.since(self._lately[0]) if len(self._lately) > 1 else self.total


# ---- The page -----------------------------------------------------------------------------------

_STYLE = """
h1 b{color:var(--text)}
.verdict .soft{font-size:13px;font-weight:400;margin-top:8px}
.gone{display:none;border:1px solid var(--bad);border-radius:6px;padding:8px 12px;margin:0 0 12px}
body.over .gone{display:block}
body.over #live{opacity:.75}
"""

_SCRIPT = """
const live = document.querySelector("#live");
let asks = false;
async function update() {
  if (document.hidden || asks) return;
  asks = true;
  try {
    const answer = await fetch("body", {cache: "no-store"});
    if (!answer.ok) throw answer.status;
    live.innerHTML = await answer.text();
    document.body.classList.remove("over");
  } catch {
    document.body.classList.add("over");
  }
  asks = false;
}
setInterval(update, 1000);
document.addEventListener("visibilitychange", update);
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_POLICY = (
    f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(STYLE + _STYLE)}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_REST = tuple(name for name in IN_NEXT if name not in ("wait", "help"))
# Colors of the segments of the training thread's time, and the states of each.
_PARTS = (
    ("c", "training, outside of next()", ("outside",)),
    ("b", "next() waits for threads", ("wait",)),
    ("a", "next() helps them", ("help",)),
    ("d", "the rest of next()", _REST),
    ("e", "between epochs", ("between",)),
)


def _title(total: Counters) -> str:
    rank = f", rank {total.rank} of {total.world_size}" if total.world_size > 1 else ""
    return f"{total.script or 'pyflowdata'}: {', '.join(total.blobs[:8])}{rank}"


def _page(course: _Course) -> str:
    gone = element(
        "p", "No answer: the loader was closed, or its program has ended. These are its last "
        "numbers.", class_="gone", role="status",
    )  # fmt: skip
    main = element("main", gone, element("div", _body(course), id="live"))
    return html_page(_title(course.total), STYLE + _STYLE, main, element("script", Html(_SCRIPT)))


def _body(course: _Course) -> Html:
    lately, total = course.lately(), course.total
    return strung((
        element("h1", "pyflowdata: ", element("b", _title(total))),
        _verdicts(judge(lately), judge(total), lately),
        _tiles(course, total),
        _thread(lately),
        _lines(course, total),
        _ops(lately),
        note(f"{total.host}, process {total.pid}, pyflowdata {total.version}; "
             "/numbers has the same as JSON, /metrics for Prometheus."),
    ))  # fmt: skip


def _verdicts(now: Verdict, whole: Verdict, lately: Counters) -> Html:
    """The verdict on the last seconds, or on the time since the open if these have too few steps.
    """
    length = lately.stats["now_seconds"] - lately.stats["opened_seconds"]
    shown, said = now, f"In the last {seconds(round(length))}. Since the loader was opened: "\
        f"{whole.sentence.partition('; ')[0]}."  # fmt: skip
    if now.limit == "unknown":
        shown, said = whole, f"Since the loader was opened; in the last {seconds(round(length))} "\
            f"there were {number(int(lately.stats['steps']))} steps."  # fmt: skip
    return verdict_box(shown, shown.sentence, element("p", said, class_="soft"))


def _tiles(course: _Course, total: Counters) -> Html:
    stats, last = total.stats, list(course.seconds)[-3:]
    length = sum(one.length for one in last)

    def mean(name: str) -> float:
        return ratio(sum(getattr(one, name) * one.length for one in last), length)

    shown = [
        ("records/s", short_count(mean("records"))),
        ("batches/s", short_count(mean("batches"))),
        ("parsed, a second", size(mean("bytes"))),
        ("of the time is next()", percent(mean("in_next"))),
        (f"of {total.prefetch} batches ready", number(int(stats["slots_ready"]))),
        (f"of {total.num_threads} threads busy", tenths(mean("busy"))),
        (f"of {size(total.memory_budget)} for batches", size(stats["slot_bytes"])),
        ("records in all", short_count(stats["records"])),
    ]
    if stats["skipped"]:
        shown.append(("records skipped", number(int(stats["skipped"]))))
    tiles = (
        element("div", element("b", value), element("span", said), class_="tile")
        for said, value in shown
    )
    return element("div", *tiles, class_="tiles")


def _thread(lately: Counters) -> Html:
    times = {name: lately.stats[f"{name}_seconds"] for name in TIMES}
    whole = sum(times.values())
    if whole <= 0:
        return Html("")
    shares = [(color, said, sum(times[one] for one in states) / whole)
              for color, said, states in _PARTS]  # fmt: skip
    bar = stacked(
        [Segment(share, color, f"{said}: {percent(share)}") for color, said, share in shares],
        "Time of the thread that calls next()",
    )
    marks = legend([(color, f"{said} {percent(share)}") for color, said, share in shares])
    rest = ", ".join(f"{SAID_OF_NEXT[name]} {percent(times[name] / whole)}" for name in _REST
                     if times[name] / whole >= 0.001)  # fmt: skip
    return section(
        "thread", "Where the training thread is",
        figure(strung((bar, marks)), f"The rest of next(): {rest}." if rest else ""),
    )  # fmt: skip


def _lines(course: _Course, total: Counters) -> Html:
    found = list(course.seconds)
    if not found:
        return Html("")
    begin = found[0].end - found[0].length
    whole = found[-1].end - begin
    rates = [one.records for one in found]
    rate = ticks(max(rates), 3)
    top = rate[-1] + (rate[1] if len(rate) > 1 else 1.0) * (rate[-1] < max(rates))
    ready, busy = [float(one.ready) for one in found], [one.busy for one in found]
    panels = [
        Panel(Axis(top, [(one, short_count(one)) for one in ticks(top, 4)],
                   "records a second"), rates, "a"),
        Panel(Axis(1.0, [(0, "0 %"), (0.5, "50 %"), (1, "100 %")], "share of the time in next()"),
              [one.in_next for one in found], "b"),
        Panel(count_axis(max(*ready, min(total.prefetch, 4), 1), "complete batches", 3), ready,
              "c"),
        Panel(count_axis(max(total.num_threads, 1), "busy threads", 3), busy, "d"),
    ]  # fmt: skip
    marks = [(whole - one, f"-{moment_text(one)}" if one else "now") for one in time_ticks(whole)]
    chart = timeline(
        panels, [one.end - begin for one in found], Axis(whole, marks), (),
        f"Rate, share in next(), complete batches and busy threads over {seconds(whole)}",
        height=64,
    )  # fmt: skip
    return section("lines", "The last minutes", figure(chart, ""))


def _ops(lately: Counters) -> Html:
    rows = table_rows(lately)
    if not rows or Measures(lately).wall_seconds <= 0:
        return Html("")
    return section("work", "Where the loader's time goes", work_picture(lately),
                   table(TABLE_HEAD, rows))  # fmt: skip


# ---- Answers ------------------------------------------------------------------------------------


def _numbers(course: _Course) -> str:
    lately, total = course.lately(), course.now()
    verdict = judge(total)
    return json.dumps({
        "blobs": total.blobs, "rank": total.rank, "world_size": total.world_size,
        "taken": total.taken,
        "verdict": dataclasses.asdict(verdict), "lately": dataclasses.asdict(judge(lately)),
        "seconds": [one._asdict() for one in course.seconds],
        "metrics": [{"name": one.metric.name, "labels": dict(one.labels), "value": one.value}
                    for one in course.meter.read(total, verdict)],
    })  # fmt: skip


def _metrics(course: _Course) -> str:
    return as_prometheus(course.meter.read(course.now(), judge(course.lately())))


_ANSWERS: dict[str, tuple[str, Callable[[_Course], str]]] = {
    "/": ("text/html", _page),
    "/body": ("text/html", _body),
    "/numbers": ("application/json", _numbers),
    "/metrics": ("text/plain; version=0.0.4", _metrics),
}
_HOSTS = ("127.0.0.1", "localhost")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "pyflowdata", ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        course = self.server.course
        kind, make = _ANSWERS.get(urlsplit(self.path).path, ("", None))
        # A name of another page's server that leads here is not this machine's (DNS rebinding).
        if _host(self.headers.get("Host", "")) not in _HOSTS:
            self._answer(403, "text/plain", "this page is for http://127.0.0.1 and localhost\n")
        elif make is None:
            self._answer(404, "text/plain", f"there are {', '.join(_ANSWERS)}\n")
        else:
            self._answer(200, kind, make(course))

    do_HEAD = do_GET

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"), ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Prints nothing: the terminal belongs to the program."""


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    with contextlib.suppress(ValueError):
        return urlsplit(f"//{header}").hostname or ""
    return ""


class _Server(HTTPServer):
    course: _Course
    allow_reuse_address = True

    def server_bind(self) -> None:
        """Binds without HTTPServer's look-up of this machine's name in the network."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def handle_error(self, *_args: object) -> None:
        """Ignores a browser that goes away or sends an incomplete request."""


# ---- The server ---------------------------------------------------------------------------------


class Dashboard:
    """A page on this machine, 127.0.0.1, that shows a loader while it works.

    It ends with close(), at the end of its `with` block, or with the loader.  All users of the
    machine can see the page; nothing can be changed with it.

    Attributes:
        url: The address of the page.
    """

    def __init__(self, counted: CountedLoader, port: int = 0, more: int = 0) -> None:
        """Starts to serve.

        Args:
            port: The port; 0: a free one.
            more: How many of the next ports to try if the port is in use.

        Raises:
            InvalidArgumentError: The port is not a valid number, or cannot be used.
        """
        if type(port) is not int or not 0 <= port <= 65535:
            raise InvalidArgumentError(f"port = {shown(port)}; it must be an int in [0, 65535]")
        self._server = _bound(port, more)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._server.course = self._course = _Course(counted)
        self._pid, self._ends = os.getpid(), threading.Event()
        self._thread = threading.Thread(target=self._serve, name="pyflowdata page", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        due = time.monotonic() + 1.0
        while not self._ends.is_set():
            self._server.timeout = max(due - time.monotonic(), 0.0)
            with contextlib.suppress(OSError, ValueError):  # its socket is closed
                self._server.handle_request()
            if time.monotonic() >= due and not self._ends.is_set():
                with contextlib.suppress(Error):  # forked
                    self._course.count()
                due = max(due + 1.0, time.monotonic())
        self._server.server_close()

    def close(self) -> None:
        """Stops serving the page."""
        if self._ends.is_set():
            return
        self._ends.set()
        if os.getpid() != self._pid:  # a forked child has the socket, and not the thread
            self._server.server_close()
            return
        with contextlib.suppress(OSError):  # wakes the thread, which closes the socket
            socket.create_connection(("127.0.0.1", self._server.server_port), 1.0).close()
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Dashboard({self.url}{', closed' if self._ends.is_set() else ''})"


def _bound(port: int, more: int) -> _Server:
    for one in range(port, min(port + more, 65535) + 1):
        try:
            return _Server(("127.0.0.1", one), _Handler)
        except OSError as failure:
            last = failure
    raise InvalidArgumentError(
        f"port = {port}: {last.strerror}; give another one, or 0 for a free one"
    )


# ---- Without a change of the program ------------------------------------------------------------


def wanted_port() -> int | None:
    """The port that PYFLOWDATA_DASHBOARD asks for; 0: any port; None: no page is wanted.

    Raises:
        InvalidArgumentError: The value is not a port.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted in ("", "0"):
        return None
    if not (wanted.isascii() and wanted.isdigit() and int(wanted) <= 65535):
        raise InvalidArgumentError(
            f"{VARIABLE} = {shown(wanted)}; it must be a port, 1 for any free one, or 0"
        )
    return 0 if wanted == "1" else int(wanted)


def dashboard_as_asked(counted: CountedLoader) -> Dashboard | None:
    """Serves a page of a loader if PYFLOWDATA_DASHBOARD says so, and prints its address.  If no
    port is free, it prints that, and the program goes on.
    """
    port = wanted_port()
    if port is None:
        return None
    try:
        page = Dashboard(counted, port, _MORE_PORTS if port else 0)
        said = page.url
    except InvalidArgumentError as failure:
        page, said = None, f"not shown: {failure}"
    if sys.stderr is not None and not sys.stderr.closed:
        names = ", ".join(blob.name for blob in counted.blobs[:8])
        reader = counted.readers[0]
        rank = f", rank {reader.rank}" if reader.world_size > 1 else ""
        print(f"pyflowdata: DataLoader({names}){rank}: {said}", file=sys.stderr, flush=True)
    return page
