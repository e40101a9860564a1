"""Charts: well-formed SVG with the marks that the numbers ask for, where they belong."""

import math
import random
import re
from xml.etree import ElementTree

import pytest

from pyflowdata.words.plain_text import short_count
from pyflowdata.insight import drawing
from pyflowdata.insight.drawing import Axis, Bar, Panel, Segment

HOSTILE = "<b onload=\"x\">&'\x00\x1b\ud800\uffff]]>"


def drawn(svg):
    """The element, in no namespace: charts are part of a page."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg" and root.get("role") == "img"
    return root


def share(text):
    assert text.endswith("%")
    return float(text[:-1]) / 100


def texts(root, kind):
    return [one.text for one in root.iter("text") if one.get("class") == kind]


def test_bars_of_a_histogram_are_as_high_as_their_values():
    values = [0, 1, 7, 50, 100]
    up, across = Axis(100, [(0, "0"), (100, "100")], "steps"), Axis(5, [(0, "1 ms"), (5, "32 ms")])
    root = drawn(drawing.histogram([Bar(one, f"{one} &") for one in values], up, across, HOSTILE,
                                  height=200))
    bars = root.findall("rect")
    assert [float(bar.get("height")) for bar in bars] == [0, 2, 14, 100, 200]  # 1 is seen, too
    bottoms = {float(bar.get("y")) + float(bar.get("height")) for bar in bars}
    assert len(bottoms) == 1
    assert [bar.find("title").text for bar in bars] == [f"{one} &" for one in values]
    for place, bar in enumerate(bars):  # side by side, each in its fifth
        left, right = share(bar.get("x")), share(bar.get("x")) + share(bar.get("width"))
        assert place / 5 < left < right < (place + 1) / 5
    assert texts(root, "tick") == ["0", "100", "1 ms", "32 ms"]
    assert texts(root, "title") == ["steps"]


def test_a_timeline_steps_from_period_to_period():
    ends = [1.0, 2.0, 4.0]
    panels = [Panel(Axis(10, [(0, "0")], "rate"), [10, 0, 5], "a"),
              Panel(Axis(1, [(1, "1")], "waits"), [0.25, 2.0, 1.0], "b")]  # fmt: skip
    hovers = ["first", HOSTILE, "last"]
    root = drawn(drawing.timeline(panels, ends, Axis(4, [(0, "0"), (2, "2 s")]), hovers, "said",
                                 height=100))
    paths = [one.get("d") for one in root.iter("path")]
    assert paths == ["M0 100V0H250V100H500V50H1000V100Z", "M0 100V75H250V0H500V0H1000V100Z"]
    rects = root.findall("rect")
    spans = [(share(one.get("x")), share(one.get("width"))) for one in rects]
    assert spans == [(0, 0.25), (0.25, 0.25), (0.5, 0.5)]
    assert rects[1].find("title").text == r"<b onload=\"x\">&'\x00\x1b\xd800\xffff]]>".replace(
        '\\"', '"'
    )
    assert texts(root, "title") == ["rate", "waits"]


def test_segments_of_a_lying_bar_follow_each_other_and_end_with_it():
    segments = [
        Segment(0.5, "a", "half"), Segment(0.25, "b", "quarter"), Segment(0.75, "c", "too much"),
    ]  # fmt: skip
    rest, *bars = drawn(drawing.stacked(segments, "said")).findall("rect")
    assert rest.get("width") == "100%"
    found = [(share(bar.get("x")), share(bar.get("width"))) for bar in bars]
    assert found == [(0, 0.5), (0.5, 0.25), (0.75, 0.25)]


def test_every_point_is_a_dot_in_its_place():
    draw = random.Random(1)
    points = [(draw.uniform(0, 50), draw.uniform(0, 8)) for _ in range(500)]
    up, across = Axis(8, [(0, "0"), (8, "8")]), Axis(50, [(50, "50")])
    root = drawn(drawing.scatter(points, up, across, "said", lines=[2, 4], height=160))
    (path,) = root.iter("path")
    dots = re.findall(r"M([\d.]+) ([\d.]+)h0", path.get("d"))
    assert len(dots) == 500
    for (x, y), (left, top) in zip(points, dots, strict=True):
        assert abs(float(left) - 1000 * x / 50) <= 0.5
        assert abs(float(top) - 160 * (1 - y / 8)) <= 0.01
    marks = [float(one.get("y1")) for one in root.iter("line") if one.get("class") == "mark"]
    bottom = max(float(one.get("y1")) for one in root.iter("line") if one.get("class") == "grid")
    assert [bottom - one for one in marks] == [40, 80]


def test_cells_of_strips_are_shaded_by_their_shares():
    shares = [[0, 0.01, 1.0], [0.5, 0.49, 0]]
    root = drawn(drawing.strips(["one", "a long name"], shares, Axis(3, []), "said", height=20))
    found = {
        (float(x), float(y)): float(path.get("fill-opacity"))
        for path in root.iter("path")
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.get("d"))
    }
    third = pytest.approx(333.33, abs=0.01)
    assert found == {
        (333.33, 0): 0.12, (666.67, 0): 1, (0, 20): 0.62, (333.33, 20): 0.5,
    } and next(iter(found))[0] == third  # fmt: skip
    assert texts(root, "tick") == ["one", "a long name"] and root.get("class") == "chart wide"


def test_ticks_are_round_and_few_and_cover_the_axis():
    draw = random.Random(2)
    cases = [10 ** draw.uniform(-9, 12) for _ in range(300)] + [1, 2, 4, 5, 10, 100]
    for most in cases:
        for count in (3, 4, 5):
            found = drawing.ticks(most, count)
            step = found[1]
            digits = step / 10 ** math.floor(math.log10(step) + 1e-9)
            assert round(digits, 6) in (1, 2, 5), (most, step)
            assert found[0] == 0 and 2 <= len(found) <= count + 1
            assert found[-1] <= most * (1 + 1e-9) < found[-1] + step * (1 + 1e-6)
            assert all(one == int(one) for one in drawing.whole_ticks(most, count))
            moments = drawing.time_ticks(most, count)
            assert len(moments) <= count + 1 and moments[-1] <= most * (1 + 1e-9)
            assert most < 1e-6 or len(moments) >= 2, (most, moments)
    assert drawing.ticks(0) == drawing.whole_ticks(0) == [0.0]
    moments = {100: "0, 30 s, 60 s, 90 s", 9000: "0, 30 min, 1 h, 90 min, 2 h, 150 min"}
    for most, said in moments.items():
        assert ", ".join(map(drawing.moment_text, drawing.time_ticks(most))) == said


def test_ticks_in_words():
    for power, said in ((0, "1 ns"), (10, "1 us"), (18, "260 us"), (24, "17 ms"), (31, "2.1 s")):
        assert drawing.edge_text(power) == said
    for count, said in ((0, "0"), (17, "17"), (1200, "1.2k"), (3e6, "3M"), (0.5, "0.5")):
        assert short_count(count) == said
