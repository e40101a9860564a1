"""The forms of a graph: read back, and compared with the vertices and edges that they show."""

import html.parser
import io
import random
import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.insight.graph_drawing import Layout, lines_of
from support.decoder_rows import bytes_of

SVG = "{http://www.w3.org/2000/svg}"
LETTER = 0.6025 * 12  # the width of a letter of DejaVu Sans Mono, the widest of the fonts


def diamond():
    data = flow.from_arrays({"x <b>&'\"": np.zeros((40, 3), np.float32), "y": np.arange(40)})
    batch = data.take(30).concat(data.skip(3)).batch(6)
    x = batch["x <b>&'\""]
    half = flow.Cast(x, dtype="float16", name="</text><script>alert(1)</script>")
    both = {"sum": flow.Cast(half, dtype="float64"), "`x` #1; %%": half, "y": batch["y"], "x": x}
    return flow.graph(both)


def image_graph():
    image = flow.ImageDecoder(bytes_of([b""] * 8, seed=1))
    crop = flow.RandomResizedCrop(image, size=(32, 32))
    x = flow.Normalize(crop, mean=[0.5], std=[0.2])
    return flow.graph({"x": x, "raw": bytes_of([b""] * 8)})


def wide_graph():
    batch = flow.from_arrays({name: np.arange(40) for name in "abc"}).batch(8)
    names = [f"{'a long name that goes on and on ' * 3}日本語 \x1b[31m {k}" for k in range(30)]
    casts = [flow.Cast(batch["abc"[k % 3]], dtype="float32", name=names[k]) for k in range(30)]
    return flow.graph(casts + [flow.Cast(one, dtype="int64") for one in casts[::7]])


def deep_graph():
    batch = flow.from_arrays({"x": np.arange(40), "y": np.arange(40)}).batch(8)
    blobs = [batch["x"]]
    for number in range(15):
        blobs.append(flow.Cast(blobs[-1], dtype=("float32", "int64")[number % 2]))
    return flow.graph(*blobs[1::4], batch["y"])


def mixed_graph():
    sources = [flow.from_arrays({"x": np.arange(9)}).take(number + 1) for number in range(9)]
    return flow.graph(flow.mix([*sources, sources[0].repeat(2)], weights=[1.0] * 10))


GRAPHS = [diamond(), image_graph(), wide_graph(), deep_graph(), mixed_graph()]


def pairs(graph):
    return {(edge.source, edge.target) for edge in graph.edges}


DRAWN_AS = {"○": "o", "●": "*", "◆": "#", "│": "|", "─": "-"} | dict.fromkeys("├┤┼┴╰╯", "+`")


# ---- Text ---------------------------------------------------------------------------------------


def read_lanes(text):
    """The titles of a drawing in text, and the edges that its lines draw."""
    owners, titles, edges = {}, [], set()
    before = ""
    for line in text.splitlines():
        marks = re.match("[│├┤┼┴╰╯─ ]*?[○●◆]", line)
        if marks is None:
            before = line
            continue
        lane, number = marks.end() - 1, len(titles)
        run = re.match(r"[─│├┤┼┴╰╯ ]*", line[lane + 1 :])[0]
        run = run if run[:1] == "─" else ""
        left = re.search(r"(?:[│├┼┴╰]─[│─]?)*$", line[:lane])[0]
        ends = [column for column in range(lane - len(left), lane + 1 + len(run))
                if column != lane and line[column] in "├┤┼┴╰╯"]  # fmt: skip
        if before[lane : lane + 1] in ("│", "○", "●", "◆") and before[lane : lane + 1]:
            ends.append(lane)
        edges |= {(owners[column], number) for column in ends}
        owners[lane] = number
        titles.append(line[lane:].lstrip("○●◆─│├┤┼┴╰╯ "))
        before = line
    return titles, edges


def test_text_has_each_vertex_once_and_draws_each_edge():
    for graph in GRAPHS:
        text = str(graph)
        assert text == repr(graph)
        titles, edges = read_lanes(text)
        assert len(titles) == len(graph.vertices)
        for title, vertex in zip(titles, graph.vertices, strict=True):
            named = vertex.name and vertex.kind not in ("files", "more")
            assert title.startswith(vertex.name[:20] if named else vertex.title[:20])
            assert named or vertex.name in title
        assert edges == pairs(graph)
        assert "\x1b" not in text
        widest = max(map(len, text.splitlines()))
        assert widest <= 100 or graph is GRAPHS[2]
        lanes = max(line.count("│") for line in text.splitlines())
        assert widest <= max(100, 2 * lanes + 60)


def test_stdout_gets_the_characters_that_it_has(monkeypatch, tmp_path):
    for graph in GRAPHS:
        whole = str(graph)
        for encoding in ("ascii", "iso-8859-1", "utf-8"):
            monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
            print(graph, flush=True)
            text = sys.stdout.buffer.getvalue().decode(encoding)
            graph.save(tmp_path / "a.txt")
            monkeypatch.undo()
            assert (tmp_path / "a.txt").read_text("utf-8") == f"{whole}\n"
            if encoding == "utf-8":
                assert text == f"{whole}\n"
                continue
            pairs = list(zip(text.splitlines(), whole.splitlines(), strict=True))
            for said, drawn in pairs:
                drawn = drawn.replace("→", "->").replace("日本語", r"\u65e5\u672c\u8a9e")
                assert len(said) == len(drawn)
                for in_ascii, of_unicode in zip(said, drawn, strict=True):
                    assert in_ascii in DRAWN_AS.get(of_unicode, of_unicode)
    monkeypatch.setattr(sys, "stdout", None)
    assert str(GRAPHS[0])


# ---- SVG ----------------------------------------------------------------------------------------


def number_of(element, name):
    return float(element.get(name))


def boxes_of(svg):
    """left, top, right, bottom of each vertex, a pile of boxes as one."""
    found = []
    for group in svg.iter(f"{SVG}g"):
        if (group.get("id") or "").startswith("pfd-vertex-"):
            sides = [(number_of(one, "x"), number_of(one, "y"), number_of(one, "width"),
                      number_of(one, "height")) for one in group.iter(f"{SVG}rect")]  # fmt: skip
            found.append((min(s[0] for s in sides), min(s[1] for s in sides),
                          max(s[0] + s[2] for s in sides), max(s[1] + s[3] for s in sides)))
    return found


def points_of(path):
    """Points along a path of the commands M, V and C, close to each other."""
    points = []
    for command, numbers in re.findall("([MVC])([^MVC]*)", path):
        values = [float(one) for one in re.findall(r"-?[\d.]+", numbers)]
        if command == "M":
            points.append(tuple(values))
            continue
        x, y = points[-1]
        if command == "V":
            values = [x, y, x, values[0], x, values[0]]
        for step in range(1, 41):
            t = step / 40
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            points.append(tuple(
                sum(w * v for w, v in zip(weights, (start, *values[at::2]), strict=True))
                for at, start in enumerate((x, y))
            ))  # fmt: skip
    return points



def test_svg_has_each_vertex_and_edge_and_all_their_text():
    for graph in GRAPHS:
        svg = ET.fromstring(graph.to_svg())
        assert svg.tag == f"{SVG}svg"
        groups = [g for g in svg.iter(f"{SVG}g") if (g.get("id") or "").startswith("pfd-vertex")]
        for place, group in enumerate(groups):
            texts = [element.text for element in group.iter(f"{SVG}text")]
            lines = [line.text for line in lines_of(graph, place)]
            counts = [line for line in lines_of(graph, place) if line.role == "count"]
            assert texts[0].startswith(graph.vertices[place].title[:90])
            assert texts[1:] == lines[1 + len(counts) :]
        assert len(groups) == len(graph.vertices)
        ids = [path.get("id") for path in svg.iter(f"{SVG}path")]
        assert sorted(ids) == sorted(f"pfd-edge-{a}-{b}" for a, b in pairs(graph))
        fused = [path.get("id") for path in svg.iter(f"{SVG}path") if path.get("class") == "fused"]
        assert len(fused) == sum(edge.is_fused for edge in graph.edges)
        assert not list(svg.iter(f"{SVG}script"))
    assert any(edge.is_fused for edge in GRAPHS[1].edges)


def test_nothing_overlaps_in_a_picture():
    for graph in GRAPHS:
        svg = ET.fromstring(graph.to_svg())
        boxes = boxes_of(svg)
        width, height = number_of(svg, "width"), number_of(svg, "height")
        assert width < 4000
        for number, (left, top, right, bottom) in enumerate(boxes):
            assert -7 <= left < right <= width - 9 and -7 <= top < bottom <= height - 9
            for other in boxes[number + 1 :]:
                assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top
        groups = [g for g in svg.iter(f"{SVG}g") if (g.get("id") or "").startswith("pfd-vertex")]
        for group, (left, top, right, bottom) in zip(groups, boxes, strict=True):
            texts = group.iter(f"{SVG}text")
            rows = [(number_of(t, "x"), number_of(t, "y"), t.text) for t in texts]
            for x, y, text in rows:
                columns = len(text) + sum(ord(one) > 0x2E80 for one in text)
                assert left < x and x + columns * LETTER < right and top + 9 < y < bottom - 3
            assert all(below[1] - above[1] >= 15 for above, below in zip(rows, rows[1:]))
        for path in svg.iter(f"{SVG}path"):
            ends = [int(one) for one in re.findall(r"\d+", path.get("id"))]
            for x, y in points_of(path.get("d")):
                for number, (left, top, right, bottom) in enumerate(boxes):
                    inside = left + 1 < x < right - 1 and top + 7 < y < bottom - 1
                    assert not inside or number in ends


def test_layouts_of_random_graphs():
    chance = random.Random(7)
    for _ in range(30):
        count = chance.randint(1, 25)
        sizes = [(chance.uniform(60, 500), chance.uniform(20, 200)) for _ in range(count)]
        edges = sorted({
            (a, b) for b in range(1, count)
            for a in chance.sample(range(b), min(b, chance.randint(1, 3)))
        })  # fmt: skip
        layout = Layout(sizes, edges)
        boxes = [
            (p.x - p.width / 2, p.y, p.x + p.width / 2, p.y + p.height) for p in layout.places
        ]
        for number, (left, top, right, bottom) in enumerate(boxes):
            assert left >= -1e-6 and right <= layout.width + 1e-6 and bottom <= layout.height + 1e-6
            for other in boxes[number + 1 :]:
                assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top
        assert [p.vertex for p in layout.places[:count]] == list(range(count))
        for (source, target), path in zip(edges, layout.paths, strict=True):
            assert (path[0], path[-1]) == (source, target)
            layers = [layout.places[one].layer for one in path]
            assert layers == list(range(layers[0], layers[0] + len(path)))


# ---- Mermaid ------------------------------------------------------------------------------------

LABEL = r'"((?:[\w ,.:/=()+-]|#\d+;|<br/>)*)"'
NODE = re.compile(rf"    n(\d+)(?:\[{LABEL}\]|\[\({LABEL}\)\]|\({LABEL}\)):::([a-z]+)")
LINE = re.compile(rf"    n(\d+) (-->|==>)(?:\|{LABEL}\|)? n(\d+)")


def said(label):
    """The text that Mermaid shows for a label."""
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label)


def test_mermaid_is_of_its_grammar_and_says_the_same():
    for graph in GRAPHS:
        first, second, *lines = graph.to_mermaid().splitlines()
        assert (first[:8], second) == ("%%{init:", "flowchart TD")
        nodes = [NODE.fullmatch(line) for line in lines[: len(graph.vertices)]]
        for place, node in enumerate(nodes):
            assert node and int(node[1]) == place and node[5] == graph.vertices[place].kind
            label = next(one for one in node.groups()[1:4] if one is not None)
            expected = [line.text for line in lines_of(graph, place)]
            assert [said(part) for part in label.split("<br/>")] == expected
        rest = lines[len(nodes) :]
        drawn = [LINE.fullmatch(line) for line in rest[: len(graph.edges)]]
        assert {(int(one[1]), int(one[4])) for one in drawn} == pairs(graph)
        for edge, one in zip(graph.edges, drawn, strict=True):
            assert (one[2] == "==>") == edge.is_fused
            assert one[3] is None or said(one[3]) == ", ".join(edge.outputs)
        kinds = {vertex.kind for vertex in graph.vertices}
        defined = [re.fullmatch(r"    classDef ([a-z]+) .*", line)[1]
                   for line in rest[len(graph.edges) :]]  # fmt: skip
        assert sorted(defined) == sorted(kinds)


# ---- Pages and files ----------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Collects what a page has, and checks that elements are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.links = [], set(), "", []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_pages_need_nothing_else_and_escape_all_text():
    for graph in GRAPHS:
        for text in (graph.to_html(), graph._repr_html_()):
            page = Page(text)
            assert not page.links and "script" not in page.tags
            assert {"svg", "rect", "text"} <= page.tags
    page = Page(GRAPHS[0].to_html())
    assert "</text><script>alert(1)</script>" in page.text and "x <b>&'\"" in page.text
    assert "@media" not in GRAPHS[0]._repr_html_() and "@media" in GRAPHS[0].to_svg()


def test_save_takes_the_form_from_the_name(tmp_path):
    graph = GRAPHS[0]
    forms = {"svg": graph.to_svg(), "html": graph.to_html(), "mmd": graph.to_mermaid(),
             "txt": f"{graph}\n"}  # fmt: skip
    for suffix, text in forms.items():
        graph.save(tmp_path / f"g.{suffix.upper()}")
        assert (tmp_path / f"g.{suffix.upper()}").read_text(encoding="utf-8") == text
    for name in ("g.png", "g", "g.svg.gz"):
        with pytest.raises(flow.InvalidArgumentError, match=r"\.svg, \.html, \.mmd or \.txt"):
            graph.save(tmp_path / name)
        assert not (tmp_path / name).exists()
