"""docs/images.md: what it shows is printed, and its tables have every op on images."""

from __future__ import annotations

import re
import subprocess
import sys

from support.paths import ROOT

from pyflowdata.graph import registered_ops

TEXT = (ROOT / "docs" / "images.md").read_text()


def test_the_page_is_true(tmp_path):
    code, printed = (re.findall(rf"^```{each}\n(.*?)^```$", TEXT, re.S | re.M)
                     for each in ("python", "text"))  # fmt: skip
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + "\n".join(code)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("".join(printed), "")


def test_every_op_is_in_a_table():
    files = [path.read_text() for path in (ROOT / "csrc" / "image_ops").glob("*.c")]
    names = {name for text in files for name in re.findall(r'^    \.name = "(\w+)",', text, re.M)}
    assert {"ImageDecoder", "Resize"} < names <= {op.name for op in registered_ops()}
    listed = re.findall(r"^\| `(\w+)` \| \S", TEXT, re.M)
    assert sorted(listed) == sorted(names)
