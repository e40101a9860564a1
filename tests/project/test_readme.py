"""The op that README.md shows is built and run; commands and links of all pages lead somewhere."""

import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT
from support.scratch_tree import build_scratch_tree
from tools.page_blocks import blocks_of


def test_own_reader(tmp_path):
    """Under another name: whoever follows the page has an op of that name in this tree."""
    source, script = (block for block in blocks_of("README.md") if "NumberReader" in block.text)
    file = tmp_path / "readme_number_reader.c"
    renamed = source.text.replace("number_reader", "readme_number_reader")
    file.write_text(renamed.replace("NumberReader", "ReadmeNumberReader"))
    library = build_scratch_tree(tmp_path / "tree", [file])
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "part-0").write_text("1\n2.5\n4")
    done = subprocess.run(
        [sys.executable, "-c", script.text.replace("NumberReader", "ReadmeNumberReader")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYFLOWDATA_LIBRARY": str(library)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert script.prints and (done.stdout, done.stderr) == (script.prints.text, "")


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
