"""Builds the op that docs/how-to/add-an-op.md shows, and runs its script."""

import os
import subprocess
import sys

from support.paths import ROOT
from support.scratch_tree import build_scratch_tree
from tools.page_blocks import blocks_of


def test_the_op_is_built_and_read_with(tmp_path):
    """Under another name: whoever follows the page has an op of that name in this tree."""
    source, script = (
        block for block in blocks_of("docs/how-to/add-an-op.md") if "NumberReader" in block.text
    )
    file = tmp_path / "page_number_reader.c"
    renamed = source.text.replace("number_reader", "page_number_reader")
    file.write_text(renamed.replace("NumberReader", "PageNumberReader"))
    library = build_scratch_tree(tmp_path / "tree", [file])
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "part-0").write_text("1\n2.5\n4")
    done = subprocess.run(
        [sys.executable, "-c", script.text.replace("NumberReader", "PageNumberReader")],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYFLOWDATA_LIBRARY": str(library)},
    )  # fmt: skip
    assert script.prints and (done.stdout, done.stderr) == (script.prints.text, "")
