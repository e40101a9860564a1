"""docs/speed/graph.md: what it shows runs, prints what it says, and writes files that are there."""

import re
import subprocess
import sys

from support.oracle import python_environment
from support.paths import ROOT

PAGE = (ROOT / "docs/speed/graph.md").read_text()


def test_the_page_is_true(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```$)?", PAGE, re.S | re.M)
    assert len(blocks) == 5 and sum(bool(printed) for _, printed in blocks) == 4
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code for code, _ in blocks)], cwd=tmp_path,
        env=python_environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(printed for _, printed in blocks)
    assert {path.suffix for path in tmp_path.glob("graph.*")} == {".svg", ".html", ".mmd", ".txt"}
    line = r"pyflowdata: epoch 0: 1 of 1 steps \(100 %\).*, loss=[\d.-]+\n"
    assert re.fullmatch(line, done.stderr)
