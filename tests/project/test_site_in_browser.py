"""The site in Chromium, opened as files, without a network: `make test-pages` makes and opens it.

Every page fits a phone, asks for nothing from elsewhere, and says what it is; pictures have the
colours of the page, and the search finds pages.
"""

import shutil

import pytest
from support.paths import ROOT

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SITE = ROOT / "build" / "site"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed: make test-pages"),
    pytest.mark.skipif(not SITE.exists(), reason="there is no site: make docs"),
]

# Boxes that leave the page, other than in what scrolls by itself.
OUTSIDE = """width => [...document.querySelectorAll(".md-content *")]
  .filter(one => !one.closest(".picture,pre,.highlight,.md-typeset__scrollwrap"))
  .filter(one => one.getBoundingClientRect().right > width + 1 && one.offsetWidth)
  .map(one => one.tagName + " " + one.textContent.slice(0, 60))"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_tab(browser, width, scheme):
    """A tab without a network, and what it complained of or asked for elsewhere."""
    size = {"width": width, "height": 800}
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    tab, said = context.new_page(), []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda one: one.url.startswith("http") and said.append(one.url))
    return tab, said


def test_every_page_fits_a_phone_and_is_described(browser):
    tab, said = open_tab(browser, 375, "light")
    titles = {}
    pages = [one for one in SITE.rglob("*.html") if one.name != "404.html"]
    pages = [one for one in pages if one.relative_to(SITE).parts[0] != "source"]
    assert len(pages) > 80
    for page in pages:
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375, page
        assert tab.evaluate(OUTSIDE, 375) == [], page
        assert tab.locator("h1").count() == 1, page
        described = tab.locator("meta[name=description]").get_attribute("content")
        assert len(described) > 15 and "](" not in described, page
        assert titles.setdefault(tab.title(), page) == page
    assert said == []


# Of each block of code: its widest line in columns, what does not fit, and what its button covers.
CODE = """() => [...document.querySelectorAll(".md-content pre > code")].map(code => {
  const button = code.parentElement.querySelector("button").getBoundingClientRect();
  return [Math.max(...code.textContent.split("\\n").map(line => line.length)),
          code.scrollWidth - code.clientWidth, code.getBoundingClientRect().right - button.left];
})"""


def test_code_is_not_cut_or_covered_by_its_button(browser):
    tab, _ = open_tab(browser, 1280, "light")
    seen = 0
    for page in SITE.glob("how-to/*.html"):
        tab.goto(page.as_uri())
        for columns, cut, covered in tab.evaluate(CODE):
            assert covered <= 0 and (cut <= 0 or columns > 100), (page, columns, cut, covered)
            seen += columns > 90
    assert seen > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_have_the_colours_of_the_page(browser, scheme):
    tab, _ = open_tab(browser, 1280, scheme)
    tab.goto((SITE / "index.html").as_uri())
    panels = tab.locator("svg.pfd .panel")
    assert panels.count() == 1
    is_dark = panels.first.evaluate("one => getComputedStyle(one).fill") == "rgb(20, 24, 29)"
    assert is_dark == (scheme == "dark")


def test_the_search_finds_pages_without_a_server(browser):
    tab, said = open_tab(browser, 1280, "light")
    tab.goto((SITE / "index.html").as_uri())
    tab.locator("input.md-search__input").click()
    tab.keyboard.type("RandomResizedCrop")
    found = tab.locator(".md-search-result__item a").first
    found.wait_for(timeout=20_000)
    links = tab.locator(".md-search-result__item a").evaluate_all("all => all.map(a => a.href)")
    assert any("images-geometry.html" in link for link in links)
    assert not any("/source/" in link for link in links) and said == []
