"""examples/custom_reader, docs/learn/custom-reader.md: what they show is built, checked and run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT
from tools.page_blocks import blocks_of

EXAMPLE = ROOT / "examples" / "custom_reader"
PAGE = (ROOT / "docs" / "learn" / "custom-reader.md").read_text()
SOURCES = "Makefile clip_reader.c make_clips.py read_clips.py test_clip_reader.py".split()


def blocks(language):
    found = blocks_of("docs/learn/custom-reader.md")
    return [block for block in found if block.language == language]


def flat(text):
    """Removes indentation, of which a block of a page may have less."""
    return "".join(f"{line.strip()}\n" for line in text.splitlines())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the example beside a PATH with `pyflowdata` and `python3`."""
    base = tmp_path_factory.mktemp("custom")
    (base / "bin").mkdir()
    for name, arguments in (("python3", ""), ("pyflowdata", "-m pyflowdata")):
        script = base / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)
    (base / "example").mkdir()
    for name in SOURCES:
        shutil.copy(EXAMPLE / name, base / "example")
    return base / "example"


def run(command, folder):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": path,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(folder):
    run("make", folder)
    return folder


def matches(shown, printed):
    """A line "…" of the page stands for any lines."""
    parts = map(re.escape, shown.split("…\n"))
    return re.fullmatch(".*".join(parts), printed, re.S)


# ---- The page ---------------------------------------------------------------------------------


def test_the_page_shows_the_files_of_the_example():
    shown = "".join(block.text for block in blocks("c")).split()
    assert shown == (EXAMPLE / "clip_reader.c").read_text().split(), "all of it, in its order"
    scripts = [flat((EXAMPLE / name).read_text()) for name in SOURCES if name.endswith(".py")]
    assert len(blocks("python")) == 4
    for block in blocks("python"):
        assert any(flat(block.text) in script for script in scripts), block.where
    assert {path.name for path in EXAMPLE.iterdir() if path.is_file()} >= set(SOURCES)


def test_the_number_of_lines():
    code = re.sub(r"/\*.*?\*/", "", (EXAMPLE / "clip_reader.c").read_text(), flags=re.S)
    lines = sum(1 for line in code.splitlines() if line.strip())
    texts = [PAGE] + [(ROOT / name).read_text() for name in ("README.md", "CHANGELOG.md")]
    said = [int(n) for text in texts for n in re.findall(r"(\d+) lines\s+of C", text)]
    assert len(said) == 4 and {*said} == {lines} and lines < 70
    assert sum(1 for line in (EXAMPLE / "Makefile").read_text().splitlines() if line) <= 12


def test_the_commands_of_the_page(folder):
    """Each `sh` block, in order, and what it prints.  `bench` measures too shortly for figures, and
    `check` is quick: `make test` makes all of the checks."""
    found = blocks("sh")
    assert len(found) == 6 and sum(1 for block in found if block.prints) == 2
    for block in found:
        is_bench = block.text.startswith("pyflowdata bench ")
        short = " --rounds 1 --seconds 0.002 --threads 1" if is_bench else ""
        if block.text.startswith("pyflowdata check ") and "--quick" not in block.text:
            short = " --quick"
        printed = run(block.text.strip() + short, folder)
        if block.prints:
            assert matches(block.prints.text, printed), f"{block.text} prints\n{printed}"
        if is_bench:
            assert re.search(r"^parse: ClipReader .* 0$", printed, re.M), "no allocations a record"
            assert "12 records in 2 files" in printed


def test_an_empty_file_that_nobody_notices_is_told(folder):
    """As without `has_header`."""
    source, size = folder / "clip_reader.c", (folder / "clips" / "part-1").stat().st_size
    (folder / "careless.c").write_text(source.read_text().replace(".has_header = 1, ", ""))
    found = {}
    for name in ("clip_reader.c", "careless.c"):
        case = f"damage: cut/part-1 cut to 0 of {size} bytes"
        command = f"pyflowdata check {name} --op ClipReader --attr data_dir=clips --json"
        found[name] = json.loads(run(f"{command} --only '{case}'", folder))["findings"]
    assert found["clip_reader.c"] == []
    (told,) = found["careless.c"]
    assert told["id"] == "cut-unnoticed" and "has_header = 1" in str(told["likely"])


# ---- The reader -------------------------------------------------------------------------------


def truth(folder):
    """The clips, as NumPy reads them: label -> samples."""
    found = {}
    for path in sorted((folder / "clips").iterdir()):
        data, at = path.read_bytes(), 8
        while at < len(data):
            size, label = np.frombuffer(data, "<i4", 3, at)[[0, 2]]
            found[int(label)] = np.frombuffer(data, "<f4", size // 4 - 1, at + 12).tolist()
            at += 8 + int(size)
    assert at == len(data) and len(found) == 12
    return found


READ = """
import json
import sys
import pyflowdata as flow

plugin = flow.load_library("./clip_reader.so")

def rows(loader, batches):
    return [[(int(n), row.tolist()) for row, n in zip(*next(loader))] for _ in range(batches)]

def open_loader(batch_size, last_batch, rank=0, world_size=1):
    return flow.DataLoader(*plugin.ClipReader(
        "clips", batch_size=batch_size, last_batch=last_batch, random_shuffle=True,
        shuffle_after_epoch=True, seed=3, rank=rank, world_size=world_size))
"""


def read(folder, code):
    return json.loads(run(f'python3 - <<"END"\n{READ}{code}\nEND', folder))


def test_batches_that_wrap_have_every_clip_once_an_epoch(built):
    found = read(built, "print(json.dumps(rows(open_loader(5, 'wrap').repeat(), 6)))")
    clips = truth(built)
    epochs = [sum(found[i : i + 3], []) for i in (0, 3)]
    for epoch in epochs:
        assert len(epoch) == 15 and all(clips[label] == samples for label, samples in epoch)
        assert sorted(label for label, _ in epoch[:12]) == sorted(clips)
    assert epochs[0][12:] == epochs[1][:3], "filled from the next epoch"


def test_two_ranks_share_the_batches_of_one_and_go_on(built):
    code = """
def make(rank, world_size):
    return open_loader(4, "short", rank, world_size)

answer = {"one": rows(make(0, 1).repeat(), 7)}
loaders = [make(rank, 2) for rank in range(2)]
iterators = [loader.repeat() for loader in loaders]
answer["two"] = [rows(each, 4) for each in iterators]
states = [loader.state_dict() for loader in loaders]
answer["same"] = states[0] == states[1]
alone = make(0, 1)
alone.load_state_dict(json.loads(json.dumps(states[1])))
answer["rest"] = rows(alone.repeat(), 3)
print(json.dumps(answer))
"""
    found = read(built, code)
    clips = truth(built)
    for batch in found["one"]:
        assert all(clips[label] == samples for label, samples in batch)
    epochs = [[n for batch in found["one"][i : i + 3] for n, _ in batch] for i in (0, 3)]
    assert epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == sorted(clips)
    assert [a + b for a, b in zip(*found["two"])] == found["one"][:4]
    assert found["same"] and found["rest"] == found["one"][4:]
