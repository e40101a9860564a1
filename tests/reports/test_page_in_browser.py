"""The report page in Chromium: `make test-pages`.  Without a network, on phones and screens, light
and dark, it shows its charts, and no text lies on another or leaves the page."""

import os
import re
import shutil

import numpy as np
import pytest
from support.report_pages import long_report, reports

import pyflowdata as flow

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed: make test-pages"),
]

WIDTHS = {"phone": 375, "desktop": 1280}

# Boxes of all texts that are shown: of lines of HTML, and of each <text> of a chart.
BOXES = """() => {
  const found = [];
  const add = (text, box, scrolled) => {
    const edges = [box.left, box.top, box.right, box.bottom];
    if (box.width && box.height) found.push([text, ...edges, scrolled]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script,style,title")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const scrolled = !!parent.closest(".scroll");
    for (const box of range.getClientRects()) add(node.data.trim(), box, scrolled);
  }
  return found;
}"""

# Colors of a text and of what is under it, as the page has them.
CONTRAST = """() => [...document.querySelectorAll(
    "h1,h2,h3,p,li,th,td>span,figcaption,.tile b,.tile span,text")]
  .filter(one => !one.closest(".scroll")).map(one => {
    const style = getComputedStyle(one);
    return [one.tagName === "text" ? style.fill : style.color,
            getComputedStyle(one.closest(".verdict") || document.body).backgroundColor];
  })"""


BARS = """svg => [...svg.querySelectorAll(".bar")].map(
    one => one.getBoundingClientRect().height)"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Paths of pages: of a small loader, and of a long run with much of everything."""
    folder = tmp_path_factory.mktemp("pages")
    data = flow.from_arrays({"x": np.arange(3000), "label": np.arange(3000) // 600})
    np.save(folder / "rows.npy", np.arange(3000) // 600)
    label = flow.open(folder / "rows.npy").shuffle(seed=1).batch(50)[0]
    x = flow.Affine(data.batch(50)["x"], scale=0.5, dtype="float32", name="half")
    with flow.DataLoader({"label": label, "x": x}) as loader:
        for _ in range(2):
            list(loader)
        reports = {"small": loader.report(), "long": long_report("a-name-without-any-blank" * 6)}
    for name, report in reports.items():
        report.save(folder / f"{name}.html")
    if "KEEP_PAGES" in os.environ:  # a folder, to look at them
        shutil.copytree(folder, os.environ["KEEP_PAGES"], dirs_exist_ok=True)
    return {name: (folder / f"{name}.html", report) for name, report in reports.items()}


@pytest.fixture(params=[(name, scheme) for name in WIDTHS for scheme in ("light", "dark")],
                ids=lambda given: "-".join(given))  # fmt: skip
def view(request, browser):
    """A tab without a network, and what it complained of or asked for."""
    width, scheme = request.param
    size = {"width": WIDTHS[width], "height": 800}
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    tab = context.new_page()
    said, asked = [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda wanted: asked.append(wanted.url))
    yield tab, said, asked
    context.close()


@pytest.mark.parametrize("name", ["small", "long"])
def test_texts_are_in_their_places(view, pages, name):
    tab, said, asked = view
    path, report = pages[name]
    tab.goto(path.as_uri())
    assert said == [] and asked == [path.as_uri()]
    width = tab.viewport_size["width"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    boxes = tab.evaluate(BOXES)
    assert len(boxes) > 100
    outside = [box for box in boxes if not box[5] and (box[1] < 0 or box[3] > width)]
    assert outside == []
    assert overlapping([box for box in boxes if not box[5]]) == []
    assert min(map(contrast, tab.evaluate(CONTRAST))) >= 4.5


def overlapping(boxes):
    """Pairs of texts that lie on each other by more than a pixel of their lines' height."""
    found = []
    boxes = sorted(boxes, key=lambda box: box[2])
    for place, (text, left, top, right, bottom, _) in enumerate(boxes):
        for other, left2, top2, right2, bottom2, _ in boxes[place + 1 :]:
            if top2 >= bottom - 3:
                break
            deep = min(bottom, bottom2) - max(top, top2)
            wide = min(right, right2) - max(left, left2)
            if deep > 3 and wide > 1:
                found.append((text, other, round(wide), round(deep)))
    return found


def luminance(color):
    parts = [int(one) / 255 for one in re.findall(r"\d+", color)[:3]]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colors):
    """The contrast of two colors by the guidelines for accessible pages: 4.5 is legible."""
    darker, lighter = sorted(map(luminance, colors))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Paths of the pages of a graph: of few boxes, and of a wide one."""
    folder = tmp_path_factory.mktemp("graphs")
    fields = flow.from_arrays({f"field_{one}": np.arange(64.0) for one in range(24)}).batch(4)
    wide = {name: flow.Affine(blob, scale=0.5) for name, blob in fields.blobs.items()}
    flow.graph(fields[0]).save(folder / "few.html")
    flow.graph(wide).save(folder / "wide.html")
    return [folder / "few.html", folder / "wide.html"]


def test_a_graph_fits_the_page(view, graphs):
    """A phone shows few boxes whole and scrolls a wide picture; a screen shows all of each."""
    tab, said, _ = view
    width = tab.viewport_size["width"]
    for path in graphs:
        tab.goto(path.as_uri())
        assert said == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        inside = tab.evaluate("(one => [one.scrollWidth, one.clientWidth])"
                              "(document.querySelector('.picture'))")  # fmt: skip
        if width >= 1280 or path.stem == "few":
            assert inside[0] <= inside[1], path.stem
        cut = tab.locator("svg.pfd-graph g.vertex").evaluate_all("""all => {
          const svg = document.querySelector("svg.pfd-graph").getBoundingClientRect();
          return all.filter(one => {
            const box = one.getBoundingClientRect();
            const [left, right] = [box.left - svg.left, svg.right - box.right];
            const [top, bottom] = [box.top - svg.top, svg.bottom - box.bottom];
            return Math.min(left, right, top, bottom) < -0.5;
          }).map(one => one.textContent);
        }""")
        assert cut == []
        families = tab.locator("table, svg text").evaluate_all(
            "all => [...new Set(all.map(one => getComputedStyle(one).fontFamily))]"
        )
        assert len(families) == 1 and families[0].endswith("monospace")


def test_charts_are_drawn_as_the_numbers_say(view, pages):
    tab, _, _ = view
    path, report = pages["long"]
    tab.goto(path.as_uri())
    numbers = tab.evaluate("JSON.parse(document.getElementById('numbers').textContent)")
    history = numbers["counters"]["history"]

    def count(selector):
        return tab.locator(selector).count()

    assert count("#course .hover") == len(history["periods"]) == 256
    assert count("#course .area") == 3
    assert count("#work .shares svg") == 12  # the longest, and a line for all others
    assert count("#work tbody tr") == len(numbers["counters"]["work"])
    assert count("#order .mark") == len(numbers["data"]["order"]["files"]) - 1
    # As high as they count: the drawn heights of the bars are in proportion.
    for place, kind in ((0, "waits"), (1, "trains")):
        chart = tab.locator("#steps svg.chart").nth(place)
        heights = chart.evaluate(BARS)
        counted = [one for one in history[kind] if one]
        drawn = [one for one in heights if one]
        assert len(drawn) == len(counted)
        for height, value in zip(drawn, counted, strict=True):
            expected = max(drawn) * value / max(counted)
            assert abs(height - max(expected, 2)) <= 0.6 or expected < 2
    # As wide as their shares: parts of the threads' bar cover it.
    parts = tab.locator("#resources svg.lying").first.evaluate(
        "svg => [svg.getBoundingClientRect().width, "
        "...[...svg.querySelectorAll('.bar')].map(one => one.getBoundingClientRect().width)]"
    )
    assert abs(parts[0] - sum(parts[1:])) <= 0.5
    cells = tab.locator("#work table tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    )
    assert cells == [list(row.values()) for row in report.table]


def test_a_printed_page_is_light_and_whole(browser, pages):
    path, _ = pages["long"]
    context = browser.new_context(color_scheme="dark", offline=True)
    tab = context.new_page()
    tab.goto(path.as_uri())
    tab.emulate_media(media="print")
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert luminance(paper) > 0.95
    assert len(tab.pdf(format="A4")) > 20_000
    context.close()


def fits(tab, least):
    """As test_texts_are_in_their_places."""
    width = tab.viewport_size["width"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    boxes = tab.evaluate(BOXES)
    assert len(boxes) > least and overlapping(boxes) == []
    assert [box for box in boxes if box[1] < 0 or box[3] > width] == []
    assert min(map(contrast, tab.evaluate(CONTRAST))) >= 4.5


def test_the_page_of_ranks(view, tmp_path):
    tab, said, asked = view
    path = tmp_path / "ranks.html"
    flow.RankReport(reports((0.002, 0.002, 0.004), (0, 0, 0), marks=True)).save(path)
    tab.goto(path.as_uri())
    assert said == [] and asked == [path.as_uri()]
    fits(tab, 30)
    assert tab.locator("#skew svg.chart").count() == 2 and tab.locator("tbody tr").count() == 3


@pytest.mark.parametrize("scheme", ("light", "dark"))
@pytest.mark.parametrize("width", WIDTHS.values())
def test_the_page_of_a_loader_that_works(browser, width, scheme):
    """The page loads from its own server only, moves, and says when the loader is gone."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab, said, asked = context.new_page(), [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda wanted: asked.append(wanted.url))
    x = flow.from_arrays({"x": np.arange(5000.0)}).batch(10)["x"]
    with flow.DataLoader(x) as loader:
        live = loader.dashboard()
        list(loader)
        tab.goto(live.url)
        tab.wait_for_selector("#lines svg")
        before = tab.locator(".tile b").all_text_contents()
        list(loader)
        tab.wait_for_function(
            "before => document.querySelectorAll('.tile b')[7].textContent !== before",
            arg=before[7],
        )
        fits(tab, 40)
        assert said == [] and {*asked} == {live.url, f"{live.url}body"}
        assert not tab.locator(".gone").is_visible()
    tab.wait_for_selector(".over .gone")
    assert tab.locator(".gone").is_visible()
    context.close()
