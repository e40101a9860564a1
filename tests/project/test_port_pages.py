"""Runs docs/coming-from/port-*.md: the ported readers give what the old ones or NumPy give."""

import re
import shutil
import subprocess
import textwrap

import numpy as np
import pytest
from support import programs
from support.paths import ROOT
from tools.page_blocks import blocks_of

import pyflowdata as flow

EXAMPLE = ROOT / "examples" / "custom_reader"


def blocks(page, language):
    return [block.text for block in blocks_of(f"docs/{page}") if block.language == language]


def run(code, folder):
    return programs.run(code, cwd=folder, check=True).stdout


def compile_plugin(source, library):
    command = ["cc", "-std=c11", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, "-I", flow.include_dir(), "-o", library, source], check=True)


# ---- OneFlow ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """A folder with points.so and points/part-0, part-1; the points are in the third value."""
    folder = tmp_path_factory.mktemp("oneflow")
    (source,) = blocks("coming-from/port-oneflow-loader.md", "c")
    (folder / "points.c").write_text(source)
    compile_plugin(folder / "points.c", folder / "points.so")
    table = np.zeros(11, [("values", "<f4", 4), ("label", "<i4")])
    table["label"] = np.arange(11)
    table["values"] = np.random.default_rng(1).random((11, 4))
    (folder / "points").mkdir()
    (folder / "points" / "part-0").write_bytes(table[:5].tobytes())
    (folder / "points" / "part-1").write_bytes(table[5:].tobytes())
    return folder, table


def test_oneflow_chain(points):
    folder, table = points
    (script,) = blocks("coming-from/port-oneflow-loader.md", "python")
    rows = [line.rpartition(" ") for line in run(script, folder).splitlines()]
    batches = [eval(labels) for labels, _, _ in rows]
    assert [len(batch) for batch in batches] == [4, 4, 3]
    labels = sum(batches, [])
    assert labels != sorted(labels) and sorted(labels) == list(range(11))
    for batch, (_, _, total) in zip(batches, rows):
        assert float(total) == pytest.approx(table["values"][batch].sum(), rel=1e-6)


def test_oneflow_attrs_are_all_there(points):
    (old,) = blocks("coming-from/port-oneflow-loader.md", "cpp")
    attrs = re.findall(r"\.Attr<[\w:]+>\(\"(\w+)\", ", old)
    script = """
        import inspect
        import pyflowdata as flow

        print(*inspect.signature(flow.load_library("./points.so").PointReader).parameters)
    """
    have = run(textwrap.dedent(script), points[0]).split()
    assert len(attrs) == 10 and set(attrs) <= set(have)


def test_oneflow_points_are_those_of_numpy(points):
    folder, table = points
    script = """
        import numpy as np
        import pyflowdata as flow

        blobs = flow.load_library("./points.so").PointReader("points", batch_size=3)
        values, label = map(np.concatenate, zip(*flow.DataLoader(*blobs)))
        np.savez("read.npz", values=values, label=label)
    """
    run(textwrap.dedent(script), folder)
    read = np.load(folder / "read.npz")
    np.testing.assert_array_equal(read["values"], table["values"], strict=True)
    np.testing.assert_array_equal(read["label"], table["label"], strict=True)


# ---- PyTorch ----------------------------------------------------------------------------------

COMPARE = """
from pathlib import Path

paths = sorted(Path("clips").iterdir())
everything = {}
for samples, label in before(paths, 0, 1, epoch=0):
    everything |= dict(zip(label.tolist(), samples.tolist()))
assert len(everything) == 12
for world_size in (1, 2):
    found = {}
    for rank in range(world_size):
        loader = after("clips", rank, world_size)
        assert len(loader) == len(before(paths, rank, world_size, epoch=0)) == 3
        for samples, label in loader:
            assert samples.shape == (4 // world_size, 8) and label.dtype == torch.int32
            found |= dict(zip(label.tolist(), samples.tolist()))
    assert found == everything and list(found) != list(everything)
print("same", len(found))
"""


def test_pytorch_dataset(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
    compile_plugin(EXAMPLE / "clip_reader.c", tmp_path / "clip_reader.so")
    shutil.copy(EXAMPLE / "make_clips.py", tmp_path)
    run("exec(open('make_clips.py').read(), {'__name__': '__main__', '__file__': 'make_clips.py'})",
        tmp_path)  # fmt: skip
    before, after = blocks("coming-from/port-pytorch-dataset.md", "python")
    assert run(before + after + COMPARE, tmp_path) == "same 12\n"


def test_pytorch_arguments_are_all_attrs():
    """What the second column names as an attr is one."""
    text = (ROOT / "docs" / "coming-from" / "port-pytorch-dataset.md").read_text()
    table = text[text.index("## What becomes of the arguments") : text.index("## What differs")]
    cells = [row.split("|")[2] for row in table.splitlines() if row.startswith("| ")]
    named = set(re.findall(r"`(?:DataLoader\()?(?:\w+=\w+, )?(\w+)=", " ".join(cells)))
    source = (ROOT / "pyflowdata" / "ops.pyi").read_text()
    loader = (ROOT / "pyflowdata" / "loader" / "data_loader.py").read_text()
    torch_loader = (ROOT / "pyflowdata" / "integrations" / "torch" / "loader.py").read_text()
    assert {"batch_size", "last_batch", "seed", "num_threads", "prefetch"} <= named
    for name in named:
        assert re.search(rf"\b{name}: ", source + loader + torch_loader), name

PHOTOS = """
import numpy as np, pathlib, sys
from PIL import Image

rng = np.random.default_rng(0)
for name, n in (("cat", 60), ("dog", 20), ("emu", 10)):
    pathlib.Path("photos", name).mkdir(parents=True)
    for i in range(n):
        pixels = rng.integers(1, 256, (*rng.integers(4, 9, 2), 3), np.uint8)
        Image.fromarray(pixels).save(f"photos/{name}/{i:02d}.png")
"""

DISTRIBUTIONS = """
def counts(loader, epochs):
    found = np.zeros(3, np.int64)
    for _ in range(epochs):
        for images, labels in loader:
            dense = images.dense if hasattr(images, "dense") else images.numpy()
            assert len(dense) == len(labels) and dense.shape[3] == 3
            found += np.bincount(np.asarray(labels), minlength=3)
    return found

torch.manual_seed(0)
for make in (before, after):
    train, val = make("photos", 8)
    drawn = counts(train, 30)
    # The classes are drawn equally often: chi-square with 2 degrees of freedom, 1 in 10,000.
    expected = drawn.sum() / 3
    assert ((drawn - expected) ** 2 / expected).sum() < 18.4, (make.__name__, drawn)
    assert counts(val, 1).sum() * 2 < drawn.sum() / 30
"""


def test_pytorch_script(tmp_path):
    """The script before and after draws each class equally often; the one after is shorter."""
    pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
    pytest.importorskip("PIL", reason="Pillow is not installed: pip install pillow")
    run(PHOTOS, tmp_path)
    before, after = blocks("coming-from/port-pytorch-script.md", "python")
    assert len(after.splitlines()) < len(before.splitlines()) / 2
    run(before + after + DISTRIBUTIONS, tmp_path)
