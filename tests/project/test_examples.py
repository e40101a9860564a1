"""Runs what is in examples/."""

import contextlib
import json
import math
import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.rank_processes import start_torchrun

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


def ddp(data_dir, losses):
    """The example and its arguments."""
    return [str(ROOT / "examples" / "train_ddp.py"), "--data-dir", str(data_dir), "--batch-size",
            str(BATCH_SIZE), "--epochs", str(EPOCHS), "--losses", str(losses)]  # fmt: skip


def steps_in(losses):
    return [json.loads(line) for line in losses.read_text().splitlines()]


def train_ddp(data_dir, out, processes, *options):
    """The losses, step after step, that a run adds to those in `out`."""
    losses, output = out / "losses.jsonl", out / f"output-{processes}"
    before = len(steps_in(losses)) if losses.exists() else 0
    words = [*ddp(data_dir, losses), *options]
    with ending(start_torchrun(processes, *words, output=output)) as launcher:
        launcher.join(170)
    assert launcher.exitcode == 0, output.read_text()
    return steps_in(losses)[before:]


@contextlib.contextmanager
def ending(launcher):
    """Ends a launcher and its ranks, which have sessions of their own, and outlive it alone."""
    try:
        yield launcher
    finally:
        if launcher.is_alive():
            children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
            for process in (launcher.pid, *map(int, children.read_text().split())):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            launcher.join()


@pytest.fixture(scope="module")
def one_process(data_dir, tmp_path_factory):
    """By the command that users give."""
    losses = tmp_path_factory.mktemp("one") / "losses.jsonl"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    run = subprocess.run(
        [*command, *ddp(data_dir, losses)], env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=170,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    curve = steps_in(losses)
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


def tokens_of(folder):
    """For each rank, a checksum of the tokens of each step, in the order of the steps taken."""
    logs = [folder / f"tokens-of-rank-{rank}.txt" for rank in (0, 1)]
    return [log.read_text().splitlines() if log.exists() else [] for log in logs]


def losses_of_two_ranks(script, folder, output):
    """The steps and the losses that are printed."""
    with ending(start_torchrun(2, script, "--folder", folder, output=output)) as launcher:
        launcher.join(170)
    said = output.read_text()
    assert launcher.exitcode == 0, said
    return re.findall(r"step (\d+): loss ([\d.]+)", said)


# Runs the example, whose process is killed before it notes the tokens of step 20.
DYING = """
import itertools, os, runpy, signal, zlib, numpy
crc32, steps = zlib.crc32, itertools.count(1)

def killed(data, *rest):
    if isinstance(data, numpy.ndarray) and next(steps) == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return crc32(data, *rest)

zlib.crc32 = killed
runpy.run_path({script!r}, run_name="__main__")
"""


def test_a_language_model_is_killed_and_goes_on_with_the_same_tokens_and_bits(
    tmp_path, monkeypatch, capsys
):
    """Two ranks share the batches, so the losses are those of one rank, up to rounding."""
    pytest.importorskip("tokenizers", reason="the package tokenizers is not here")
    script, whole, killed = str(ROOT / "examples" / "train_lm.py"), tmp_path / "w", tmp_path / "k"
    losses = losses_of_two_ranks(script, whole, tmp_path / "whole.txt")
    dying = tmp_path / "dying.py"
    dying.write_text(DYING.format(script=script))
    output = tmp_path / "dying.txt"
    with ending(start_torchrun(2, dying, "--folder", killed, output=output)) as launcher:
        launcher.join(170)
    before = tokens_of(killed)
    done = torch.load(killed / "newest.pt")["step"]
    assert done == 15 and [*map(len, before)] == [19, 19], "killed between two checkpoints"
    assert losses_of_two_ranks(script, killed, tmp_path / "rest.txt") == losses[done // 15 :]
    for uninterrupted, first, both in zip(
        tokens_of(whole), before, tokens_of(killed), strict=True
    ):
        assert len(uninterrupted) == len(set(uninterrupted)) == 60
        assert both == uninterrupted[: len(first)] + uninterrupted[done:]
    one, other = (torch.load(folder / "newest.pt") for folder in (whole, killed))
    assert one["step"] == 60 and one.pop("loader") == other.pop("loader")
    torch.testing.assert_close(one, other, rtol=0, atol=0)

    monkeypatch.setattr(sys, "argv", [script])
    runpy.run_path(script)
    alone = re.findall(r"step (\d+): loss ([\d.]+)", capsys.readouterr().out)
    assert [step for step, _ in alone] == [step for step, _ in losses]
    assert [float(x) for _, x in losses] == pytest.approx([float(x) for _, x in alone], abs=0.02)
