"""examples/train_jax.py on one device, on two, and in two processes, against NumPy."""

import os
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

pytest.importorskip("jax", reason="jax is not here: pip install pyflowdata[jax]")

EXAMPLE = ROOT / "examples" / "train_jax.py"
STEPS = 60
RATE, HIDDEN = 0.003, 32

pytestmark = pytest.mark.slow


def start(*options, devices=1):
    """The example as a process, on this number of CPU devices."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, EXAMPLE, "--steps", str(STEPS), *options],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def losses(process):
    try:
        printed, problems = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, problems
    found = re.findall(r"^(\d+): (\S+)$", printed, re.M)
    assert [int(step) for step, _ in found] == list(range(len(found)))
    return np.array([float(loss) for _, loss in found])


@pytest.fixture(scope="module")
def truth():
    """The same training in NumPy and float64, with the gradients worked out by hand."""
    rng = np.random.default_rng(0)
    kernel1 = rng.uniform(-1, 1, (1, HIDDEN)).astype(np.float32).astype(np.float64)
    kernel2 = rng.uniform(-0.3, 0.3, (HIDDEN, 1)).astype(np.float32).astype(np.float64)
    bias1, bias2 = np.zeros(HIDDEN), np.zeros(1)
    order = flow.MiniReader(
        str(ROOT / "data"), batch_size=6, random_shuffle=True, shuffle_after_epoch=True, seed=0
    )
    found = []
    with flow.DataLoader(order) as loader:
        for rows, _ in zip(loader.repeat(), range(STEPS)):
            x, y = rows[:, :1], rows[:, 1:]
            hidden = np.maximum(x @ kernel1 + bias1, 0)
            error = hidden @ kernel2 + bias2 - y
            found.append(np.mean(error**2))
            slope = 2 * error / len(x)
            inner = slope @ kernel2.T * (hidden > 0)
            kernel2 = kernel2 - RATE * hidden.T @ slope
            bias2 = bias2 - RATE * slope.sum(0)
            kernel1 = kernel1 - RATE * x.T @ inner
            bias1 = bias1 - RATE * inner.sum(0)
    assert found[-1] < 1 < found[0]  # it learns, and no loss is like another
    return np.array(found)


@pytest.mark.parametrize("devices", [1, 2])
def test_one_process(truth, devices):
    np.testing.assert_allclose(losses(start(devices=devices)), truth, rtol=1e-3)


def test_two_processes(truth):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    shared = ["--coordinator", coordinator, "--processes", "2", "--process"]
    first, second = (start(*shared, str(process)) for process in range(2))
    try:
        np.testing.assert_allclose(losses(first), truth, rtol=1e-3)
        assert losses(second).size == 0
    finally:
        second.kill()
