"""A loader with a dashboard: the page on this machine, and its numbers for other systems."""

import gc
import http.client
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import numpy as np
import pytest
from reports.recorded import WAITING, recorded, work
from support import programs
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.insight.metrics import METRICS, NAMES, Meter, as_prometheus
from pyflowdata.insight.verdict import judge
from pyflowdata.integrations.opentelemetry import observe
from pyflowdata.integrations.tensorboard import LoaderCurves

# The grammar of the text format: https://prometheus.io/docs/instrumenting/exposition_formats/
VALUE = r'(?:[^"\\\n]|\\["\\n])*'
LABELS = rf'\{{(?:[a-z_]\w*="{VALUE}",?)*\}}'
SAMPLE = re.compile(rf"([a-z_:][\w:]*)({LABELS})? (-?[0-9.]+(?:e[+-]?\d+)?|\+Inf|NaN)")
COMMENT = re.compile(r"# (?:HELP ([a-z_:]+) [^\n]+|TYPE ([a-z_:]+) (counter|gauge))")


def parsed(text):
    """Metric -> (kind, {labels: value}); each is described before its values."""
    assert text.endswith("\n")
    found, helped, order = {}, set(), []
    for line in text.splitlines():
        comment = COMMENT.fullmatch(line)
        if comment and comment[1]:
            assert comment[1] not in helped, line
            helped.add(comment[1])
        elif comment:
            assert comment[2] in helped and comment[2] not in found, line
            found[comment[2]] = comment[3], {}
            order.append(comment[2])
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample and sample[1] == order[-1], line
            labels = tuple(re.findall(rf'(\w+)="({VALUE})"', sample[2] or ""))
            assert labels not in found[sample[1]][1], line
            found[sample[1]][1][labels] = float(sample[3])
    return found


def get(url, path="", method="GET", **headers):
    request = urllib.request.Request(url + path, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode(), answer.headers


def status(url, path="", method="GET", **headers):
    try:
        get(url, path, method, **headers)
    except urllib.error.HTTPError as failure:
        return failure.code
    return 200


@pytest.fixture
def loader():
    x = flow.from_arrays({"x": np.arange(1200.0)}).batch(10)["x"]
    with flow.DataLoader(x, num_threads=2) as loader:
        yield loader


# ---- The page -----------------------------------------------------------------------------------


def test_the_page_and_its_numbers(loader):
    with loader.dashboard() as live:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", live.url)
        assert "too few to judge" in get(live.url)[0]
        list(loader)
        while not live._course.seconds or not live._course.seconds[-1].records:
            time.sleep(0.05)
        page, headers = get(live.url)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy and headers["X-Content-Type-Options"] == "nosniff"
        assert not re.search(r"(src|href)=|@import|url\(", page)
        body, _ = get(live.url, "body")
        assert "records/s" in body and "Where the training thread is" in body and "<svg" in body
        numbers = json.loads(get(live.url, "numbers?x=1")[0])
        assert numbers["verdict"]["limit"] == loader.report().limit
        assert any(one["records"] > 0 for one in numbers["seconds"])
        values = {one["name"]: one["value"] for one in numbers["metrics"]}
        assert values["pyflowdata_records_total"] == loader.stats()["records"] == 1200
        text, headers = get(live.url, "metrics")
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        check_against(parsed(text), loader.stats())
        assert get(live.url, method="HEAD")[0] == ""
    assert repr(live).endswith(", closed)")
    with pytest.raises(urllib.error.URLError):
        get(live.url)
    assert len(list(loader)) == 120  # the loader goes on


def check_against(metrics, stats):
    assert {*metrics} <= {*NAMES}
    rank = (("rank", "0"),)
    for name, key in (("steps", "steps"), ("batches", "batches"), ("records", "records")):
        assert metrics[f"pyflowdata_{name}_total"] == ("counter", {rank: stats[key]})
    kind, loop = metrics["pyflowdata_loop_seconds_total"]
    assert kind == "counter" and len(loop) == 9
    for labels, value in loop.items():
        assert value == pytest.approx(stats[f"{dict(labels)['state']}_seconds"], abs=1e-3)
    assert metrics["pyflowdata_num_threads"] == ("gauge", {rank: 2})
    rows = {dict(one)["op"]: value for one, value in metrics["pyflowdata_op_rows_total"][1].items()}
    assert rows["ArrayReader"] > 0  # of measured ranges


def test_only_programs_of_this_machine(loader):
    with loader.dashboard() as live:
        port = urlsplit(live.url).port
        assert status(live.url, Host="evil.example") == 403
        assert status(live.url, Host=f"evil.example:{port}") == 403
        assert status(live.url, Host="localhost.evil.example") == 403
        assert status(live.url, Host="[") == 403
        assert status(live.url, Host="localhost:9999") == 200  # a tunnel of ssh
        assert status(live.url, "no") == 404 and status(live.url, "../etc/passwd") == 404
        assert status(live.url, method="POST") == 501
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        plain.putrequest("GET", "/", skip_host=True)
        plain.endheaders()
        assert plain.getresponse().status == 403
        plain.close()
        for junk in (b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 300 + b"\r\n", b""):
            with socket.create_connection(("127.0.0.1", port), 20) as one:
                one.sendall(junk)
        assert status(live.url) == 200
        with socket.socket() as other:
            other.settimeout(2)
            address = socket.gethostbyname(socket.gethostname())
            assert address.startswith("127.") or other.connect_ex((address, port)) != 0


def test_wrong_ports(loader):
    for wrong in (-1, 65536, True, "8123", None):
        with pytest.raises(flow.InvalidArgumentError, match=r"an int in \[0, 65535\]"):
            loader.dashboard(wrong)
    with loader.dashboard() as live:
        with pytest.raises(flow.InvalidArgumentError, match="in use; give another one, or 0"):
            loader.dashboard(urlsplit(live.url).port)


def test_it_ends_with_the_loader():
    x = flow.from_arrays({"x": np.arange(20.0)}).batch(10)["x"]
    loader = flow.DataLoader(x)
    live = [loader.dashboard(), loader.dashboard()]
    loader.close()
    assert all(repr(one).endswith("closed)") for one in live)
    with pytest.raises(flow.Error, match="closed"):
        loader.dashboard()
    loader = flow.DataLoader(x)
    live = loader.dashboard()
    list(loader)
    del loader
    gc.collect()
    assert repr(live).endswith("closed)")
    assert not [one for one in threading.enumerate() if one.name == "pyflowdata page"]


PROGRAM = """
import os, sys, urllib.request, warnings
import numpy as np
import pyflowdata as flow
warnings.simplefilter("ignore")
x = flow.from_arrays({"x": np.arange(20.0)}).batch(10)["x"]
loaders = [flow.DataLoader(x, ledger="") for _ in range(2)]
for loader in loaders:
    list(loader)
    list(loader)
if len(sys.argv) > 1:  # a forked child has no page, and closes none
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    for page in loaders[1]._opened.observation._pages:
        print(urllib.request.urlopen(page.url + "metrics").status)
"""


def test_without_a_change_of_the_program():
    def ran(value, *args):
        return programs.run(PROGRAM, *args, env=programs.environment(PYFLOWDATA_DASHBOARD=value))

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = ran(str(port), "fork")
    urls = re.findall(r"pyflowdata: DataLoader\(\w+/x\): http://127.0.0.1:(\d+)/\n", done.stderr)
    assert len(urls) == 2 and port < int(urls[0]) < int(urls[1]) <= port + 101, done.stderr
    assert (done.returncode, done.stdout) == (0, "200\n")
    assert "PYFLOWDATA_DASHBOARD = 'here'; it must be a port" in ran("here").stderr


# ---- The text format ----------------------------------------------------------------------------


def test_names_and_escapes():
    strange = recorded(work('a"b\\c\nd', 2.0, 1.0), work('a"b\\c\nd', 1.0, 0.5),
                       **{**BASE, **WAITING})  # fmt: skip
    assert not [one for one in Meter().read(strange) if one.metric.base == "verdict"]
    text = as_prometheus(Meter().read(strange, judge(strange)))
    op = parsed(text)["pyflowdata_op_seconds_total"][1]
    assert {one[2]: value for one, value in op.items()} == {
        ("state", "compute"): 1.5, ("state", "wait"): 1.5}  # fmt: skip
    assert next(iter(op))[1] == ("op", r"a\"b\\c\nd")
    assert 'pyflowdata_verdict{rank="0",limit="loader"' in text
    assert len(NAMES) == len({*NAMES})
    for metric in METRICS:
        assert metric.name.endswith("_total") == metric.is_sum, metric.name
        assert re.fullmatch(r"[a-z_]+", metric.base) and metric.doc


BASE = {f"{name}_seconds": 0.0 for name in
        ("lock", "check", "turn", "hand_out", "convert", "outside", "between")} | {
    "retries": 0}  # fmt: skip


def test_sums_never_fall():
    meter = Meter()
    seen = []
    for wall in (3.0, 2.0, 4.0):
        samples = meter.read(recorded(work("Decode", wall, 1.0), **BASE))
        (value,) = [one.value for one in samples if one.metric.base == "op"
                    and ("state", "wait") in one.labels]  # fmt: skip
        seen.append(value)
    assert seen == [2.0, 2.0, 3.0]


# ---- Other systems ------------------------------------------------------------------------------


def test_tensorboard(loader):
    written = []

    class Writer:
        def add_scalar(self, tag, value, step):
            written.append((tag, value, step))

    times = [time.monotonic()]
    curves = LoaderCurves(Writer(), loader)
    times.append(time.monotonic())
    list(loader)
    time.sleep(0.05)
    times.append(time.monotonic())
    curves.write(120)
    times.append(time.monotonic())
    first = {tag: value for tag, value, step in written if step == 120}
    most, least = 1200 / (times[2] - times[1]), 1200 / (times[3] - times[0])
    assert least <= first["pyflowdata/records_per_second"] <= most
    assert first["pyflowdata/num_threads"] == 2
    assert first["pyflowdata/memory_bytes"] == loader.stats()["slot_bytes"]
    loop = sum(value for tag, value in first.items() if tag.startswith("pyflowdata/loop/"))
    assert 0 < loop <= 1.05
    curves.write(121)
    assert ("pyflowdata/records_per_second", 0.0, 121) in written
    for wrong in (None, 5):
        with pytest.raises(flow.InvalidArgumentError, match="must have add_scalar"):
            LoaderCurves(wrong, loader)
        with pytest.raises(flow.InvalidArgumentError, match="must be a DataLoader"):
            LoaderCurves(Writer(), wrong)


class FakeMeter:
    def __init__(self):
        self.instruments = {}

    def create_observable_counter(self, name, callbacks, unit, description):
        self.instruments[name] = "counter", unit, callbacks

    def create_observable_gauge(self, name, callbacks, unit, description):
        self.instruments[name] = "gauge", unit, callbacks

    def values(self, name):
        (ask,) = self.instruments[name][2]
        return {tuple(one.attributes.items()): one.value for one in ask(None)}


def test_opentelemetry(loader):
    meter = FakeMeter()
    observe(meter, loader)
    assert {*meter.instruments} == {f"pyflowdata.{one.base}" for one in METRICS}
    assert meter.instruments["pyflowdata.loop"][:2] == ("counter", "s")
    assert meter.instruments["pyflowdata.memory"][:2] == ("gauge", "By")
    list(loader)
    assert meter.values("pyflowdata.records") == {(("rank", "0"),): 1200}
    assert len(meter.values("pyflowdata.loop")) == 9
    for wrong in (None, 5):
        with pytest.raises(flow.InvalidArgumentError, match="must be a Meter"):
            observe(wrong, loader)
        with pytest.raises(flow.InvalidArgumentError, match="must be a DataLoader"):
            observe(meter, wrong)
    other = flow.DataLoader(*loader.blobs)
    meter = FakeMeter()
    observe(meter, other)
    del other
    gc.collect()
    assert meter.values("pyflowdata.records") == {}


def test_opentelemetry_itself(loader):
    """The SDK, where it is installed, gives the values of the loader's counters."""
    metrics = pytest.importorskip("opentelemetry.sdk.metrics")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    observe(metrics.MeterProvider([reader]).get_meter("train"), loader)
    list(loader)
    (resource,) = reader.get_metrics_data().resource_metrics
    found = {one.name: one for one in resource.scope_metrics[0].metrics}
    (point,) = found["pyflowdata.records"].data.data_points
    assert (point.value, dict(point.attributes)) == (1200, {"rank": "0"})
    assert found["pyflowdata.records"].data.is_monotonic


def test_the_board_for_grafana():
    board = json.loads((ROOT / "docs/speed/grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked.append(board["templating"]["list"][1]["query"]["query"])
    names = {name for one in asked for name in re.findall(r"pyflowdata_\w+", one)}
    assert names <= {*NAMES} and len(names) > 12
    sums = {one.name for one in METRICS if one.is_sum}
    for one in asked:
        for name in sums & {*re.findall(r"pyflowdata_\w+", one)}:
            assert re.search(rf"(rate|increase)\({name}", one), one
    states = {state for one in asked for state in re.findall(r'state!?[=~]+"([\w|]+)"', one)}
    assert states <= {"outside|between", "busy"}
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in board["panels"]]
    assert len({*places}) == len(places)
