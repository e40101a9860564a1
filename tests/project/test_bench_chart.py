"""The chart of speed is what bench/recorded.json gives; its bars are in the ratio of the rates."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from bench import chart, table

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_drawn_from_what_is_recorded():
    assert chart.PICTURE.read_text() == chart.draw(chart.recorded()), "python -m bench.chart"


def test_bars_and_labels_are_in_the_ratio_of_the_rates():
    records = chart.recorded()
    drawn = ElementTree.fromstring(chart.PICTURE.read_text())
    bars = [(each.get("class"), float(each.get("width"))) for each in drawn.iter(f"{SVG}rect")
            if each.get("class") in ("ours", "peer", "limit")]  # fmt: skip
    texts = [each.text for each in drawn.iter(f"{SVG}text") if each.get("class") is None]
    assert len(bars) == len(texts) > 20
    found = iter(zip(bars, texts))
    for panel in chart.PANELS:
        rates = records[panel.workload]["rates"]
        peers = {name.split(".")[0] for name in rates} - {"pyflowdata", "limits"}
        (kind, ours), _ = next(found)
        assert kind == "ours"
        for peer in sorted(peers, key=lambda peer: -max(
            rate for name, rate in rates.items() if name.startswith(peer + ".")
        )):  # fmt: skip
            best = max(rate for name, rate in rates.items() if name.startswith(peer + "."))
            (kind, width), text = next(found)
            ratio = best / rates[panel.ours]
            assert kind == "peer" and width / ours == pytest.approx(ratio, abs=5e-3)
            assert float(re.search(r", ([\d.]+) x$", text)[1]) == pytest.approx(ratio, rel=0.05)
        if panel.limit:
            (kind, width), _ = next(found)
            assert kind == "limit"
            assert width / ours == pytest.approx(rates[panel.limit] / rates[panel.ours], abs=0.08)
    assert not list(found)


def test_medians_of_a_run_are_recorded_and_drawn(tmp_path, monkeypatch):
    rounds = [{"bytes": 1e6 * megabytes, "seconds": 1.0} for megabytes in (700, 100, 300)]
    results = {"pyflowdata.default": rounds, "polars.read_csv": [rounds[1], None], "tf.csv": [None]}
    record = chart.measured(table.THROUGHPUT, results, "a day, a machine")
    assert record["unit"] == "MB/s"
    assert record["rates"] == {"pyflowdata.default": 300, "polars.read_csv": 100}
    monkeypatch.setattr(chart, "RECORDED", tmp_path / "recorded.json")
    monkeypatch.setattr(chart, "PICTURE", tmp_path / "speed.svg")
    chart.RECORDED.write_text("{}")
    chart.record({"W1a": record})
    drawn = chart.PICTURE.read_text()
    for part in ("300 MB/s", "100 MB/s, 0.33 x", "a day, a machine", "polars"):
        assert part in drawn
    assert "tf.data" not in drawn and chart.recorded() == {"W1a": record}
