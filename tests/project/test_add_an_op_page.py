"""Builds the op that docs/how-to/add-an-op.md shows, and runs its script."""

import os
import re
import subprocess
import sys

from support.paths import ROOT
from support.scratch_tree import build_scratch_tree

PAGE = (ROOT / "docs" / "how-to" / "add-an-op.md").read_text()


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.S | re.M)
    return found


def test_the_op_is_built_and_read_with(tmp_path):
    """Under another name: whoever follows the page has an op of that name in this tree."""
    source = tmp_path / "page_number_reader.c"
    renamed = block("c").replace("number_reader", "page_number_reader")
    source.write_text(renamed.replace("NumberReader", "PageNumberReader"))
    library = build_scratch_tree(tmp_path / "tree", [source])
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "part-0").write_text("1\n2.5\n4")
    done = subprocess.run(
        [sys.executable, "-c", block("python").replace("NumberReader", "PageNumberReader")],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYFLOWDATA_LIBRARY": str(library)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, block("text")), done.stderr
