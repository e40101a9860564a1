"""Runs what is in examples/."""

import json
import math
import os
import subprocess
import sys

import pytest
from support.paths import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this torch has no gloo", allow_module_level=True)

RECORDS, BATCH_SIZE, EPOCHS = 93, 20, 4
STEPS = 5  # of an epoch; the last has 13 rows, which 2 and 4 ranks share unequally
TOLERANCE = 1e-9  # relative; float64 sums over the ranks are rounded in another order


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ddp")
    rows = [f"{i / RECORDS},{math.sin(5 * i / RECORDS)}\n" for i in range(RECORDS)]
    (folder / "part-0").write_text("".join(rows[:40]))
    (folder / "part-1").write_text("".join(rows[40:]))
    return folder


def train_ddp(data_dir, out, processes, *options):
    """The losses, step after step, that a run adds to those in `out`."""
    losses = out / "losses.jsonl"
    before = len(losses.read_text().splitlines()) if losses.exists() else 0
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), str(ROOT / "examples" / "train_ddp.py")]
    command += ["--data-dir", str(data_dir), "--batch-size", str(BATCH_SIZE)]
    command += ["--epochs", str(EPOCHS), "--losses", str(losses), *options]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    run = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=170,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    return [json.loads(line) for line in losses.read_text().splitlines()[before:]]


@pytest.fixture(scope="module")
def one_process(data_dir, tmp_path_factory):
    curve = train_ddp(data_dir, tmp_path_factory.mktemp("one"), 1)
    assert [entry["step"] for entry in curve] == list(range(1, EPOCHS * STEPS + 1))
    assert [entry["epoch"] for entry in curve] == [i // STEPS for i in range(EPOCHS * STEPS)]
    first, last = (sum(e["loss"] for e in curve if e["epoch"] == n) for n in (0, EPOCHS - 1))
    assert last < 0.8 * first, "it learns"
    return curve


def assert_same_curve(got, expected):
    assert [(e["step"], e["epoch"]) for e in got] == [(e["step"], e["epoch"]) for e in expected]
    for one, other in zip(got, expected, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=TOLERANCE), one


def test_2_processes_have_the_loss_curve_of_one_and_4_go_on_from_their_checkpoint(
    data_dir, tmp_path, one_process
):
    saves = ["--checkpoint", str(tmp_path / "run.pt"), "--save-every", "13"]
    assert_same_curve(train_ddp(data_dir, tmp_path, 2, *saves), one_process)
    assert 13 % STEPS and 2 * 13 > len(one_process), "the file is of the middle of an epoch"
    assert_same_curve(train_ddp(data_dir, tmp_path, 4, *saves), one_process[13:])


def test_two_ranks_train_a_language_model_as_one():
    """They share the batches, so the losses differ by rounding alone, also after the resume."""
    pytest.importorskip("tokenizers", reason="the package tokenizers is not here")
    script = str(ROOT / "examples" / "train_lm.py")
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
             "--local-ranks-filter", "0"]  # fmt: skip
    printed = [
        subprocess.run(
            [sys.executable, *launcher, script], stdout=subprocess.PIPE, text=True, timeout=170,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}, check=True,
        ).stdout.splitlines()
        for launcher in ([], ranks)
    ]  # fmt: skip
    one, two = ([float(line.split()[3]) for line in lines[:-1]] for lines in printed)
    assert two == pytest.approx(one, abs=0.02) and one[4:] == one[:4] and two[4:] == two[:4]
    assert printed[0][-1] == printed[1][-1] == "the same weights: True"
