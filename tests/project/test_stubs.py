"""The types of the op functions: true to the registry, and fit for a type checker."""

import subprocess
import sys

import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.graph import registered_ops
from tools import write_stubs


BUILT_IN = [op.name for op in registered_ops() if op.origin == "built in"]  # no plugins

USE = """
from typing import Any

import numpy as np
import numpy.typing as npt
import pyflowdata as flow

rows: flow.Blob = flow.MiniReader("data", batch_size=4, random_shuffle=True)
out, mask, ids = flow.MiniReader("data", with_mask=True, with_id=True)
x, y = flow.MiniDecoder(rows)
z: flow.Blob = flow.Affine(x, scale=2, dtype=np.float32)
column: npt.NDArray[Any]
for column, _ in flow.DataLoader(x, y):
    print(column.shape)
for column in flow.DataLoader(x, num_threads=2).repeat():
    break
if isinstance(column, flow.Ragged):  # a checker sees arrays, and narrows
    padded, real = column.to_padded(value=-1)
    texts: list[bytes] = column.to_bytes_list()
    last: npt.NDArray[Any] = flow.Ragged(np.zeros(3), np.array([0, 1, 3]))[1:][-1]
by_name: dict[str, npt.NDArray[Any]] = next(iter(flow.DataLoader({"x": x})))
flow.MiniReader("data", batch_sise=4)  # an error
flow.MiniDecoder("data")  # an error
flow.MiniReader("data", 4)  # an error
flow.Affine(x, 2.0)  # an error
flow.DataLoader(x, zip="longest")  # an error
wrong: int = flow.Affine(x)  # an error
"""


def test_stubs_are_current():
    current = write_stubs.PATH.read_text(encoding="utf-8")
    assert current == write_stubs.make_stubs(), "run `make stubs`"


def test_stubs_name_what_the_module_has():
    text = write_stubs.PATH.read_text(encoding="utf-8")
    for name in BUILT_IN:
        assert f"def {name}(" in text
        assert getattr(flow, name) is getattr(flow.ops, name)


def run_mypy(*arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_package_is_strictly_typed():
    run = run_mypy("pyflowdata", "tools/write_stubs.py")
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
def test_use_is_typed(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    run = run_mypy("--config-file", "pyproject.toml", str(tmp_path / "use.py"))
    found = {int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line}
    expected = {n for n, line in enumerate(USE.splitlines(), 1) if line.endswith("# an error")}
    assert found == expected, run.stdout


def test_command(tmp_path, monkeypatch, capsys):
    assert write_stubs.main(["--check"]) == 0
    monkeypatch.setattr(write_stubs, "PATH", tmp_path / "ops.pyi")
    assert write_stubs.main(["--check"]) == 1
    assert "run `make stubs`" in capsys.readouterr().err
    assert write_stubs.main([]) == 0
    assert write_stubs.main(["--check"]) == 0
    assert write_stubs.main(["--help"]) == 2
