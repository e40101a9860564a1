"""The page of a report: it needs nothing from elsewhere, and shows the report's own numbers."""

import json
import re
import time
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from support.paths import ROOT
from support.report_pages import HOSTILE, Page, long_counters, long_report
from tools.page_blocks import blocks_of

import pyflowdata as flow
from pyflowdata.insight.counters import History, Period
from pyflowdata.insight.measures import course_of
from pyflowdata.insight.report import Report


def page_of(report, folder):
    report.save(folder / "report.html")
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def check_needs_nothing(page):
    """The page has no address, no script that runs, and nothing that loads."""
    for tag, attrs in page.elements:
        for name, value in attrs.items():
            assert name not in ("src", "href", "srcset", "data", "action", "xlink:href"), tag
            assert not name.startswith("on"), (tag, name)
            assert name == "xmlns" or "//" not in (value or "") or tag == "td", (tag, name, value)
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "use")
        assert tag != "script" or attrs == {"type": "application/json", "id": "numbers"}
    assert "url(" not in page.style and "@import" not in page.style and "http" not in page.style
    assert len(page.all("script")) == 1
    page.charts()  # they are XML as well


def test_a_page_says_of_which_run_it_is(tmp_path):
    counters = replace(long_counters(), script="<slow>.py", version="1.2", taken=1.8e9)
    page = page_of(Report(counters), tmp_path)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(1.8e9))
    title, *_ = re.findall("<title>(.*)</title>", page.text)
    assert title.startswith("&lt;slow&gt;.py: ") and title.endswith(f" ({when})")
    assert page.paragraphs[1] == f"<slow>.py, node-17, {when}, pyflowdata 1.2"


def marks(page, kind, tag="rect"):
    return [one for one in page.all(tag, kind)]


def test_a_page_shows_the_numbers_of_its_loader(tmp_path):
    for file in range(3):
        lines = "".join(f"{one},{one % 3}\n" for one in range(200))
        (tmp_path / f"<b>&'{file}.csv").write_text(f"n,label\n{lines}")
    batch = flow.open(f"{tmp_path}/*.csv").shuffle(seed=1).batch(20)
    x = flow.Affine(batch["n"], scale=0.5, dtype="float32")
    with flow.DataLoader({"x": x, "y": batch["label"]}) as loader:
        for _ in range(3):
            list(loader)
        report = loader.report()
    page = page_of(report, tmp_path)
    report.save(tmp_path / "report.json")
    check_needs_nothing(page)
    assert page.numbers == json.loads((tmp_path / "report.json").read_text())
    assert page.numbers == json.loads(json.dumps(report.to_dict()))
    assert page.numbers["counters"]["stats"]["batches"] == 90
    # The verdict is the first thing on it.
    assert page.paragraphs[0] == report.verdict.sentence
    # The table is that of the report.
    head, *rows = page.tables[0]
    assert [dict(zip(head, row, strict=True)) for row in rows] == report.table and len(rows) >= 2
    # A bar of three parts for each of its rows; then threads and memory.
    assert len(marks(page, "rest")) == len(rows) + 2
    assert len(marks(page, "d")) == len(rows) + 1 + 2  # and two legends
    # Order and labels: 30 batches of 20.
    (dots,) = marks(page, "dots", "path")
    assert len(re.findall(r"M\d+ [\d.]+h0", dots["d"])) == 600
    order = page.numbers["data"]["order"]
    assert order["labels"]["values"] == [0, 1, 2] and len(order["labels"]["counts"]) == 30
    cells = sum(len(re.findall("M", one["d"])) for one in marks(page, "cell", "path"))
    assert cells == sum(count > 0 for batch in order["labels"]["counts"] for count in batch)
    assert [one["name"] for one in order["files"]] == [f"<b>&'{file}.csv" for file in range(3)]
    (reader,) = page.numbers["data"]["readers"]
    assert (reader["records"], reader["seed"], reader["shuffle"]) == (600, 1, "global")
    assert len(marks(page, "pfd-graph", "svg")) == 1
    # Read again, it is the same page, without the picture of the graph: no file brings its own.
    again = page_of(Report.load(tmp_path / "report.json"), tmp_path)
    assert (again.numbers, again.tables) == (page.numbers, page.tables)
    assert not marks(again, "pfd-graph", "svg") and len(page.charts()) - len(again.charts()) == 1


def test_bars_count_what_the_report_counts(tmp_path):
    report = long_report()
    page = page_of(report, tmp_path)
    check_needs_nothing(page)
    history = report.counters.history
    titles = [one.findtext("title") or "" for chart in page.charts() for one in chart.iter("rect")]
    counted = [int(one.split(":")[0].replace(",", "")) for one in titles
               if re.match(r"[\d,]+: .* to ", one)]  # fmt: skip
    assert sum(counted) == sum(history.waits) + sum(history.trains)
    assert sum(one > 0 for one in counted) == sum(one > 0 for one in history.waits + history.trains)
    assert len(marks(page, "hover")) == len(history.periods)
    assert len(marks(page, "area", "path")) == 3
    assert len(page.tables[0]) == 1 + len(report.counters.work)
    assert len(marks(page, "rest")) == 12 + 2 and "28 others" in page.text
    # 64 batches of 24 values, one of which is missing in each; 39 ends of files.
    assert sum(len(re.findall("M", one["d"])) for one in marks(page, "cell", "path")) == 64 * 23
    assert len(marks(page, "mark", "line")) == 39
    assert len(page.text.encode()) < 300_000


def test_hostile_names_stay_text(tmp_path):
    page = page_of(long_report(HOSTILE), tmp_path)
    check_needs_nothing(page)
    assert page.numbers["data"]["readers"][0]["name"] == HOSTILE
    shown = HOSTILE.replace("\x00", "\\x00").replace("\x1b", "\\x1b")
    assert any(shown in cell for table in page.tables for row in table for cell in row)
    assert "alert(1)</script>" not in page.text and "<img" not in page.text


def test_a_report_without_data_steps_or_batches_has_a_page(tmp_path):
    with flow.DataLoader(flow.from_arrays({"x": list(range(9))}).batch(3)["x"]) as loader:
        before = loader.report()
        check_needs_nothing(page_of(before, tmp_path))
        next(iter(loader))
        list(loader)
        check_needs_nothing(page_of(loader.report(since=before), tmp_path))

    def stream():
        yield from range(10)

    with flow.DataLoader(flow.GeneratorReader(stream, fields=["x:int64"], batch_size=2)) as loader:
        list(loader)
        page = page_of(loader.report(), tmp_path)
    assert "Not shown: the records are read in sequence" in page.text
    assert not marks(page, "dots", "path")
    bare = page_of(Report(long_counters()), tmp_path)  # as PYFLOWDATA_REPORT makes it
    check_needs_nothing(bare)
    assert "data" not in bare.numbers and not marks(bare, "dots", "path")


def test_a_loader_that_ends_writes_its_page(tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLOWDATA_REPORT", str(tmp_path / "end.html"))
    with flow.DataLoader(flow.from_arrays({"x": list(range(9))}).batch(3)["x"]) as loader:
        list(loader)
    page = Page((tmp_path / "end.html").read_text())
    assert page.numbers["counters"]["stats"]["batches"] == 3


def test_a_name_with_another_ending_is_refused(tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=r"\.html, \.json or \.txt"):
        long_report().save(tmp_path / "report.pdf")


# ---- The course ---------------------------------------------------------------------------------


def test_the_course_has_all_that_was_counted():
    counters = long_counters()
    history, delivered = counters.history, counters.stats["delivered_seconds"]
    course = course_of(history, delivered)
    assert len(course) == 256 and course[0].begin == 0
    assert [one.begin for one in course[1:]] == [one.end for one in course[:-1]]
    assert course[-1].end == pytest.approx(delivered - history.begin)
    rows = sum(one.rate * (one.end - one.begin) for one in course)
    assert rows == pytest.approx(sum(one.rows for one in history.periods))
    waited = sum(one.waiting * (one.end - one.begin) for one in course)
    assert waited == pytest.approx(sum(one.wait_seconds for one in history.periods), rel=1e-3)


def test_long_waits_count_in_the_periods_that_they_took():
    periods = (Period(1, 4, 0.0, 2), Period(0, 0, 0.0, 0), Period(0, 0, 0.0, 0),
               Period(1, 4, 2.5, 0), Period(2, 8, 0.1, 3))  # fmt: skip
    course = course_of(History(10.0, 1.0, periods), 14.8)
    assert [round(one.waiting, 3) for one in course] == [0, 0.5, 1, 1, 0.125]
    assert [one.ready for one in course] == [2, None, None, 0, 1.5]
    assert course[-1].end == pytest.approx(4.8)
    # A short rest says little by itself: it goes to the period before.
    joined = course_of(History(10.0, 1.0, periods), 14.2)
    assert [one.end for one in joined] == pytest.approx([1, 2, 3, 4.2])
    assert joined[-1].rate == pytest.approx(12 / 1.2) and joined[-1].ready == 1
    assert course_of(History(), 0.0) == []


def test_parts_of_a_page_are_xml_with_hostile_names(tmp_path):
    """As a viewer of XHTML, or a converter to other formats, reads them."""
    for chart in page_of(long_report(HOSTILE), tmp_path).charts():
        assert ElementTree.tostring(chart)


def test_the_docs_are_true(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/speed/report-page.md").read_text()
    (block,) = (one for one in blocks_of("docs/speed/report-page.md") if one.prints)
    exec(compile(block.text, "docs/speed/report-page.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == block.prints.text
    page = Page((tmp_path / "report.html").read_text())
    titles = re.findall(r"<h[23]>([^<]+)</h[23]>", page.text)
    for part in re.findall(r"^\| ([A-Z][\w' ]+) \|", text, re.M):
        assert part.replace("'", "&#39;") in titles, part
