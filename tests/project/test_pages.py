"""The code of README.md and of docs/ runs, and prints what the pages show; see CONTRIBUTING.md."""

from __future__ import annotations

import importlib.util

import pytest
from support.page_files import make_files
from support.pages import PageProcess, run_page
from support.paths import ROOT
from tools.page_blocks import Block, blocks_of, pages

BLOCKS = {page: blocks_of(page) for page in pages()}

# Blocks with other tests, which compare with more than the page: a page, words of the block ("" for
# all of the page), and the test.
ELSEWHERE = [
    ("docs/how-to/add-an-op.md", "NumberReader", "tests/project/test_add_an_op_page.py"),
    ("docs/gallery/index.md", "", "tests/project/test_gallery.py"),
    ("docs/learn/custom-reader.md", "", "tests/project/test_example_custom_reader.py"),
    ("docs/coming-from/equivalents-images.md", "", "tests/images/test_oneflow_chains.py"),
    ("docs/coming-from/equivalents-datasets.md", "", "tests/datasets/test_equivalents.py"),
    ("docs/coming-from/port-oneflow-loader.md", "", "tests/project/test_port_pages.py"),
    ("docs/coming-from/port-pytorch-dataset.md", "", "tests/project/test_port_pages.py"),
    ("docs/speed/speed.md", "", "tests/loader/test_speeds.py"),
    ("docs/speed/trace.md", "PYFLOWDATA_STALL_SECONDS", "tests/python/test_stalls.py"),
    ("docs/speed/trace.md", "torch.json", "tests/integrations/test_torch_trace.py"),
    ("docs/coming-from/port-pytorch-script.md", "", "tests/project/test_port_pages.py"),
]


def is_elsewhere(block: Block) -> bool:
    return any(page == block.page and words in block.text for page, words, _ in ELSEWHERE)


@pytest.fixture(scope="module")
def process():
    started = PageProcess()
    yield started
    started.close()


def selected(needs: bool) -> dict[str, list[Block]]:
    """The blocks of each page that runs any: of pages that need more packages, or of the others."""
    found = {}
    for page, blocks in BLOCKS.items():
        here = [block for block in blocks if not is_elsewhere(block)]
        if any(block.runs for block in here) and any(block.needs for block in here) == needs:
            found[page] = here
    return found


@pytest.mark.parametrize("page", selected(needs=False))
def test_page(page, process, tmp_path):
    make_files(page, tmp_path / "page")
    run_page(process, selected(needs=False)[page], tmp_path)


@pytest.mark.parametrize("page", selected(needs=True))
def test_page_with_libraries(page, process, tmp_path):
    """Blocks whose packages are missing are left out, here and in `make test`."""
    make_files(page, tmp_path / "page")
    run_page(process, selected(needs=True)[page], tmp_path)
    missing = {name for block in BLOCKS[page] for name in block.needs
               if not importlib.util.find_spec(name)}  # fmt: skip
    if missing:
        pytest.skip(f"blocks that need {', '.join(sorted(missing))}, which is not installed")


def test_no_block_is_forgotten():
    """A block of Python is run here, by a test that names its page, or says why it is not."""
    for page, words, test in ELSEWHERE:
        assert any(words in block.text for block in BLOCKS[page]), (page, words)
        name = page.removesuffix("/index.md").rpartition("/")[2].removesuffix(".md")
        assert name in (ROOT / test).read_text(), f"{test} does not name {page}"
    for block in sum(BLOCKS.values(), []):
        assert block.marks.get("not run", "why") != "", f"{block.where}: not run, and no reason"
        if block.title and block.language in ("python", "sh"):
            others = "".join(one.text for one in BLOCKS[block.page] if one is not block)
            imported = f"from {block.title.removesuffix('.py')} import"
            assert block.title in others or imported in others or is_elsewhere(block), (
                f"{block.where}: no other block runs or imports {block.title}"
            )
