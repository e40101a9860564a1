"""What an op returns must agree with what it reports; where it does not, the op is told so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scratch_tree import build_scratch_tree

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """
import sys
import pyflowdata as flow
for on_error in ("raise", "skip", "pad"):
    try:
        op = flow.CarelessReader("data", fault=sys.argv[1], on_error=on_error)
        with flow.DataLoader(op) as loader:
            next(iter(loader))
    except flow.InternalError as error:
        print(error.op, error)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    source = ROOT / "tests" / "ops" / "careless_reader.c"
    return build_scratch_tree(tmp_path_factory.mktemp("careless"), [source])


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("open", "open() returned status -2 and reported: nothing"),
        ("nothing", "open() returned no source"),
        ("compute", "compute() returned status -2 and reported: nothing"),
        ("end", "compute() returned status 1"),
        ("forgotten", "compute() returned status 0 and reported: a failure that is not returned"),
    ],
)
def test_it_is_an_internal_error_whatever_the_policy(library, fault, says):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, fault],
        cwd=ROOT,
        env={**os.environ, "PYFLOWDATA_LIBRARY": str(library), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    told = run.stdout.splitlines()
    assert len(told) == 3 and all(one.startswith("CarelessReader ") and says in one for one in told)
