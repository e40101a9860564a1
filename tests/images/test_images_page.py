"""docs/how-to/images.md: what it shows is printed, and its tables have every op on images."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.nodes import registered_ops

TEXT = (ROOT / "docs" / "how-to" / "images.md").read_text()


@pytest.mark.slow
def test_the_page_is_true(tmp_path):
    code, printed = (re.findall(rf"^```{each}\n(.*?)^```$", TEXT, re.S | re.M)
                     for each in ("python", "text"))  # fmt: skip
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + "\n".join(code)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("".join(printed), "")
    (command,) = re.findall(r"^ +pyflowdata (convert .*)$", TEXT, re.M)
    command = [sys.executable, "-m", "pyflowdata", *command.split(), "--quiet"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True)
    record = flow.TFRecordReader(files=tmp_path / "train.tfrecord", batch_size=20)
    files = flow.ExampleDecoder(record, features=["image/encoded:bytes"])
    with flow.DataLoader(flow.ImageSize(files)) as loader:
        assert np.concatenate(list(loader)).tolist() == [[256, 341]] * 12


def test_every_op_is_in_a_table():
    files = [path.read_text() for path in (ROOT / "csrc" / "image_ops").glob("*.c")]
    names = {name for text in files for name in re.findall(r'^    \.name = "(\w+)",', text, re.M)}
    assert {"ImageDecoder", "Resize"} < names <= {op.name for op in registered_ops()}
    listed = re.findall(r"^\| `(\w+)` \| \S", TEXT, re.M)
    assert sorted(listed) == sorted(names)
