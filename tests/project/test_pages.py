"""The code of README.md and of docs/ runs, and prints what the pages show; see CONTRIBUTING.md."""

from __future__ import annotations

import pytest
from support.installed import is_installed
from support.page_runner import PageProcess, run_page
from support.paths import ROOT
from tools.page_blocks import Block, blocks_of, pages

BLOCKS = {page: blocks_of(page) for page in pages()}


@pytest.fixture(scope="module")
def process():
    started = PageProcess()
    yield started
    started.close()


def selected(needs: bool) -> dict[str, list[Block]]:
    """The blocks of each page that runs any: of pages that need more packages, or of the others."""
    found = {}
    for page, blocks in BLOCKS.items():
        here = [block for block in blocks if "tested by" not in block.marks]
        if any(block.runs for block in here) and any(block.needs for block in here) == needs:
            found[page] = here
    return found


@pytest.mark.parametrize("page", selected(needs=False))
def test_page(page, process, tmp_path):
    run_page(process, selected(needs=False)[page], tmp_path)


def _with_needs(page: str) -> str:
    """The page and the packages that it needs, by which targets choose it: `-k numba`."""
    return " ".join([page, *sorted({name for block in BLOCKS[page] for name in block.needs})])


@pytest.mark.parametrize("page", selected(needs=True), ids=_with_needs)
def test_page_with_libraries(page, process, tmp_path):
    """Blocks whose packages are missing are left out, here and in `make test`."""
    run_page(process, selected(needs=True)[page], tmp_path)
    missing = {name for block in BLOCKS[page] for name in block.needs
               if not is_installed(name)}  # fmt: skip
    if missing:
        pytest.skip(f"blocks that need {', '.join(sorted(missing))}, which is not installed")


def test_code_fits_the_site():
    """Where a window has 1,280 pixels, so many columns fit beside the sidebars."""
    wide = [f"{page}:{block.line + i}" for page in BLOCKS if page != "README.md"
            for block in BLOCKS[page] if block.language not in ("", "text", "csv")
            for i, line in enumerate(block.text.splitlines()) if len(line) > 100]  # fmt: skip
    assert not wide, "lines of code with more than 100 columns"


def test_no_block_is_forgotten():
    """A block of Python is run here, by a test that names its page, or says why it is not."""
    for block in sum(BLOCKS.values(), []):
        for mark in ("not run", "not typed"):
            assert block.marks.get(mark, "why") != "", f"{block.where}: {mark}, and no reason"
        test = block.marks.get("tested by")
        name = block.page.removesuffix("/index.md").rpartition("/")[2].removesuffix(".md")
        if test and not (test.startswith("kit/") and not (ROOT / "kit").is_dir()):
            assert name in (ROOT / test).read_text(), f"{test} does not name {block.page}"
        if block.title and block.language in ("python", "sh"):
            others = "".join(one.text for one in BLOCKS[block.page] if one is not block)
            imported = f"from {block.title.removesuffix('.py')} import"
            assert block.title in others or imported in others or test, (
                f"{block.where}: no other block runs or imports {block.title}"
            )
