"""Runs the examples that train on images, and takes the accuracy that they print."""

import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT

pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")


def accuracies(example):
    """Of each epoch, in percent, and the number of images."""
    run = subprocess.run([sys.executable, str(ROOT / "examples" / example)], capture_output=True,
                         text=True, timeout=170)  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    found = re.findall(r"^epoch \d+: (\d+\.\d+)% of (\d+) \w+$", run.stdout, re.M)
    assert len(found) == run.stdout.count("\n") > 1
    return [float(percent) for percent, _ in found], {int(number) for _, number in found}


def test_lenet_on_digits():
    pytest.importorskip("sklearn", reason="scikit-learn is not here: "
                                          "pip install -r requirements-examples.txt")  # fmt: skip
    percents, numbers = accuracies("train_lenet.py")
    assert numbers == {360}, "every digit that is held out, once"
    assert percents[-1] > 97


def test_lenet_in_sink_mode_has_the_losses_of_plain_steps():
    pytest.importorskip("sklearn", reason="scikit-learn is not here: "
                                          "pip install -r requirements-examples.txt")  # fmt: skip
    path = ROOT / "examples/train_lenet_sink.py"
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=170,
                         env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert (run.returncode, run.stderr) == (0, ""), run.stdout + run.stderr
    *epochs, last = run.stdout.rstrip("\n").split("\n")
    losses = [
        re.fullmatch(r"epoch \d: loss (\d\.\d{6}), with sink (\d\.\d{6})", line).groups()
        for line in epochs
    ]
    assert len(losses) == 5 and all(plain == sunk for plain, sunk in losses)
    assert float(losses[-1][0]) < 0.2 < 1.5 < float(losses[0][0])
    assert last == "280 steps, largest difference of their losses: 0"
    assert len(path.read_text().splitlines()) < 60


def test_folder_of_jpeg_files():
    percents, numbers = accuracies("train_images.py")
    assert numbers == {180}
    assert percents[-1] > 95
