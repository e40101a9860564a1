"""Runs what README.md shows, and compares with what it says is printed."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from support.paths import ROOT
from support.scratch_tree import build_scratch_tree

README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.S | re.M)


QUICK_START, RESUME, FILES, DATASETS, IMAGES, SLOW, OWN_READER = blocks("python")
QUICK_START_PRINTS, FILES_PRINT, DATASETS_PRINT, IMAGES_PRINT, OWN_READER_PRINTS = blocks("text")


def run(code, folder, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quick_start_and_resume():
    assert run(QUICK_START + RESUME, ROOT) == QUICK_START_PRINTS


def test_files(tmp_path):
    assert run(FILES, tmp_path) == FILES_PRINT
    commands = re.findall(r"^    pyflowdata (\w+ .*train-\*.*)$", README, re.M)
    assert [line.split()[0] for line in commands] == ["head", "verify", "convert"]
    for line in commands:
        program = f"{shlex.quote(sys.executable)} -m pyflowdata {line}"
        subprocess.run(
            program, shell=True, check=True, cwd=tmp_path, capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert (tmp_path / "train.csv").read_text().count("\n") == 1001


def test_datasets(tmp_path):
    assert run(DATASETS, tmp_path) == DATASETS_PRINT


def test_images(tmp_path):
    assert run(IMAGES, tmp_path) == IMAGES_PRINT
    assert (tmp_path / "sheet.png").read_bytes()[1:4] == b"PNG"


def test_slow(tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    printed = run(SLOW, tmp_path)
    for part in ("-bound", "loader alone:", "ceiling:", "MiniReader(", "x: float64[1]"):
        assert part in printed
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "</html>" in (tmp_path / "report.html").read_text()


def test_own_reader(tmp_path):
    """Under another name: whoever follows the page has an op of that name in this tree."""
    source = tmp_path / "readme_number_reader.c"
    renamed = blocks("c")[0].replace("number_reader", "readme_number_reader")
    source.write_text(renamed.replace("NumberReader", "ReadmeNumberReader"))
    script = OWN_READER.replace("NumberReader", "ReadmeNumberReader")
    library = build_scratch_tree(tmp_path / "tree", [source])
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "part-0").write_text("1\n2.5\n4")
    assert run(script, tmp_path, PYFLOWDATA_LIBRARY=str(library)) == OWN_READER_PRINTS


PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_targets_and_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for target in re.findall(r"(?:^    |&& |`)make ([a-z]+)", text, re.M):
        assert target in targets
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", prose):
        assert (ROOT / page).parent.joinpath(link).exists(), link
    for path in re.findall(r"`((?:tests|csrc|pyflowdata)/[\w/.]*)`", text):
        exists = (ROOT / path).exists() or (ROOT / "csrc" / "include" / path).exists()
        assert exists or "number_reader." in path, path
