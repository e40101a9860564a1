"""The short form of tests/loader/fault_runs.py: failing calls are never taken for damage."""

import subprocess
import sys

import pytest
from support.oracle import SANITIZED, fewer
from support.session import PRELOADED

from loader import fault_runs


pytestmark = pytest.mark.skipif(SANITIZED or PRELOADED, reason="a sanitizer has its own malloc()")

# Each call by which the files of a set are found fails once: no part of the set goes missing.
SETS = """
import ctypes, errno, pathlib, sys
import numpy as np
from loader.fault_runs import Fault, arm, write_images
import pyflowdata as flow
folder = pathlib.Path(sys.argv[1])
images = folder / "images"
write_images(images)
(folder / "mind").mkdir()
with flow.io.MindRecordWriter(folder / "mind" / "a.mindrecord", shard_records=50) as writer:
    writer.write_batch({"x": np.arange(150)})
with flow.io.MDSWriter(folder / "mds") as writer:
    writer.write_batch({"x": np.arange(150)})
shard = min((folder / "mind").glob("*"))
(folder / "text").mkdir()
for name in "ab":
    (folder / "text" / f"{name}.csv").write_text("n\\n1\\n")
for path in (shard, folder / "mds", images, folder / "text", folder / "text" / "*.csv"):
    whole = len(flow.open(path))
    for kind in ("stat", "open", "readdir"):
        said = set()
        for number in range(16):
            arm(Fault(kind, number, 1, errno.EACCES, False))
            try:
                said.add(len(flow.open(path)) == whole)
            except flow.FileError as failure:
                said.add(failure.reason)
        ctypes.CDLL(None).faults_arm(-1, 0, 0, 0, 0)
        print(path.name, kind, said - {True, "environment"})
"""


def test_a_part_of_a_set_never_goes_missing(tmp_path):
    library = fault_runs.build(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SETS, str(tmp_path)], capture_output=True, text=True, timeout=60,
        env=fault_runs.environment_with(library),
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == 15 and all(line.endswith("set()") for line in lines), done


@pytest.mark.slow
def test_each_failure_is_an_error_of_its_class_or_nothing_at_all():
    done = fault_runs.start(runs=fewer(300), seed=1)
    assert done.returncode == 0, done.stdout + done.stderr
    for outcome in (" rows\n", " rows, after a retry\n", " error\n"):
        assert outcome in done.stdout
