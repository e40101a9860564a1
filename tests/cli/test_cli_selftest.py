"""`pyflowdata selftest`, as it is in an installed package."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.installing import environment
from support.paths import ROOT

from pyflowdata import native
from pyflowdata.cli.selftest import plugin, run_checks


def test_all_but_the_compiler_of_this_machine(tmp_path):
    """Runs without compiler and test tools, in an empty folder, and says what the build lacks."""
    hidden = "import sys; sys.modules['pytest'] = None; sys.argv[1:] = ['selftest']; " \
             "import runpy; runpy.run_module('pyflowdata', run_name='__main__')"  # fmt: skip
    without = {name: value for name, value in environment().items() if name not in ("CC", "PATH")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", hidden], cwd=tmp_path, capture_output=True, text=True,
        env={**without, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    passed, skipped = map(int, re.findall(r"(\d+) (?:passed|skipped)", last))
    assert passed + skipped == len(lines) == len({line[10:] for line in lines})
    lacking = [name for name, version in native.build_parts() if version is None]
    assert skipped == 1 + len(lacking), "the op in C, and the libraries that are not there"
    assert all(any(name in line for line in lines) for name in lacking)
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_the_op_that_it_compiles():
    lines = []
    assert run_checks(lines.append, [plugin]) and lines[0].startswith("passed"), lines


def test_a_failure_is_reported(monkeypatch):
    def wrong(folder):
        """What is wrong."""
        assert not folder, "found 1, not 2"

    def right(folder):
        """What is right."""

    lines = []
    assert not run_checks(lines.append, [wrong, right])
    assert lines[:2] == ["FAILED    What is wrong", "passed    What is right"]
    text = "\n".join(lines)
    for part in ("Please report", "found 1, not 2", "in wrong", "numpy", "library"):
        assert part in text
    assert re.match("selftest of pyflowdata: 1 passed, 0 skipped, 1 failed", lines[-1])
