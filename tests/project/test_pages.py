"""The code of README.md and of docs/ runs, and prints what the pages show; see CONTRIBUTING.md."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from formats import flat_files
from formats.mds import mds_files
from formats.mindrecord import mindrecord_files
from support.installed import is_installed
from support.page_runner import PageProcess, run_page
from support.paths import ROOT
from tools.page_blocks import Block, blocks_of, pages

from pyflowdata.io import IDXWriter, ImageFolderWriter, MegatronWriter, TFRecordWriter

BLOCKS = {page: blocks_of(page) for page in pages()}


# ---- Files that a page presupposes ---------------------------------------------------------------


def make_files(page: str, folder: Path) -> None:
    """In the page's folder: data/ of this tree, and what MADE says of the page."""
    folder.mkdir()
    (folder / "data").symlink_to(ROOT / "data")
    if page in MADE:
        MADE[page](folder)


def _samplers(folder: Path) -> None:
    rows = [f"{i},{i % 4},{i / 200}" for i in range(200)]
    (folder / "train.csv").write_text("\n".join(["x,label,score", *rows]) + "\n")


def _mix(folder: Path) -> None:
    for name, numbers in (("web", range(50)), ("books", range(1000, 1020))):
        (folder / f"{name}.csv").write_text("x\n" + "".join(f"{i}\n" for i in numbers))


def _packs(folder: Path) -> None:
    lengths = np.random.default_rng(0).integers(1, 900, 60)
    for name in ("corpus", "web", "books"):
        with TFRecordWriter(folder / f"{name}.tfrecord") as writer:
            for length in lengths.tolist():
                writer.write({"ids": np.arange(1, length + 1)})


def _formats(folder: Path) -> None:
    with MegatronWriter(folder / "corpus.bin") as writer:
        for length in (3, 1, 4):
            writer.write({"tokens": np.arange(length, dtype=np.uint16)})
    np.save(folder / "shard-0.npy", np.zeros((2, 3), np.float32))
    with ImageFolderWriter(folder / "train", classes=["cat", "dog"]) as images:
        images.write({"image": np.zeros((8, 8, 3), np.uint8), "label": 1})
    for name, shape in (("images-idx3", (2, 28, 28)), ("labels-idx1", (2,))):
        with IDXWriter(folder / f"train-{name}-ubyte") as digits:
            digits.write_batch(np.zeros(shape, np.uint8))
    pixels, classes = np.zeros((2, 3, 32, 32), np.uint8), np.arange(2, dtype=np.uint8)
    (folder / "data_batch_1.bin").write_bytes(flat_files.cifar(pixels, classes))
    (folder / "train.bin").write_bytes(flat_files.cifar(pixels, classes, classes))
    columns = {"image": ("jpeg", None), "label": ("int", 8), "x": ("ndarray:float32:2,3", 24)}
    sample = [b"image", bytes(8), bytes(24)]
    mds_files.write(folder / "dataset", columns, [[sample, sample]])
    shutil.copytree(ROOT / "tests/fixtures/arrow/hf", folder / "saved")
    schema = {"image": {"type": "bytes"}, "label": {"type": "int32"},
              "ids": {"type": "int64", "shape": [-1]}}  # fmt: skip
    row = {"image": b"image", "label": 1, "ids": np.arange(3)}
    (folder / "train.mindrecord0").write_bytes(mindrecord_files.shard_bytes(schema, [[row, row]]))
    lines = [{"source": f"images/{i + 1}.jpg", "usage": usage, "annotation": [{"name": name}]}
             for i, (usage, name) in enumerate([("train", "cat"), ("eval", "dog")])]  # fmt: skip
    (folder / "all.manifest").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "annotations").mkdir()
    coco: dict[str, list[object]] = {"images": [], "annotations": [], "categories": []}
    (folder / "annotations/instances_train2017.json").write_text(json.dumps(coco))


MADE: dict[str, Callable[[Path], None]] = {
    "docs/how-to/mix.md": _mix,
    "docs/how-to/packs.md": _packs,
    "docs/how-to/samplers.md": _samplers,
    "docs/reference/formats.md": _formats,
}


# ---- Tests ---------------------------------------------------------------------------------------


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
    make_files(page, tmp_path / "page")
    run_page(process, selected(needs=False)[page], tmp_path)


def _with_needs(page: str) -> str:
    """The page and the packages that it needs, by which targets choose it: `-k numba`."""
    return " ".join([page, *sorted({name for block in BLOCKS[page] for name in block.needs})])


@pytest.mark.parametrize("page", selected(needs=True), ids=_with_needs)
def test_page_with_libraries(page, process, tmp_path):
    """Blocks whose packages are missing are left out, here and in `make test`."""
    make_files(page, tmp_path / "page")
    run_page(process, selected(needs=True)[page], tmp_path)
    missing = {name for block in BLOCKS[page] for name in block.needs
               if not is_installed(name)}  # fmt: skip
    if missing:
        pytest.skip(f"blocks that need {', '.join(sorted(missing))}, which is not installed")


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
