"""docs/how-to/images.md: what it shows is printed, and its tables have every op on images."""

from __future__ import annotations

import re

from support.paths import ROOT

from pyflowdata.nodes import registered_ops

TEXT = (ROOT / "docs" / "how-to" / "images.md").read_text()


def test_every_op_is_in_a_table():
    files = [path.read_text() for path in (ROOT / "csrc" / "images" / "ops").glob("*.c")]
    names = {name for text in files for name in re.findall(r'^    \.name = "(\w+)",', text, re.M)}
    assert {"ImageDecoder", "Resize"} < names <= {op.name for op in registered_ops()}
    listed = re.findall(r"^\| `(\w+)` \| \S", TEXT, re.M)
    assert sorted(listed) == sorted(names)
