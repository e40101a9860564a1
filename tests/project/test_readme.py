"""Runs what README.md shows, and compares with what it says is printed."""

import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT

README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.S | re.M)


def run(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_ten_lines(tmp_path):
    (code,), (printed,) = blocks("python"), blocks("text")
    assert run(code, tmp_path) == printed


def test_it_is_short():
    assert len(README.splitlines()) <= 115


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
