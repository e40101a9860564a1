"""examples/train_flax.py: which records each step has, also after Orbax has restored a run."""

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT
from support.trainer_truth import numbered_parts, steps_of_parts
from tools.page_blocks import blocks_of


jax = pytest.importorskip("jax", reason="jax is not installed: pip install pyflowdata[jax]")
for package in ("flax", "optax", "orbax.checkpoint"):
    reason = f"{package} is not installed: `make test-jax` installs it"
    pytest.importorskip(package, reason=reason)
jax.config.update("jax_platforms", "cpu")
with pytest.MonkeyPatch.context() as patch:
    patch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    assert len(jax.devices()) == 2

RECORDS, BATCH, SEED = 50, 8, 3
STEPS = 7  # of an epoch; the last one has 2 records
EXAMPLE = ROOT / "examples/train_flax.py"
spec = importlib.util.spec_from_file_location("train_flax", EXAMPLE)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


class Interrupted(Exception):
    pass


class Run:
    """Runs the example in this process, and keeps what each of its steps had."""

    def __init__(self, folder, checkpoints):
        self.options = [
            "--data-dir", folder, "--checkpoints", str(checkpoints), "--seed", str(SEED),
            "--batch-size", str(BATCH),
        ]  # fmt: skip
        self.steps = []  # the ids of each
        self.losses = []
        self.counts = []  # of each evaluation

    def __call__(self, *options, stop=None):
        """Returns the trained model; None if it was interrupted in step `stop` of this call."""
        step, evaluate, first = example.train_step, example.evaluate, len(self.steps)

        def train_step(model, optimizer, x, y, mask):
            if len(self.steps) - first == stop:
                raise Interrupted
            loss = step(model, optimizer, x, y, mask)
            self.steps.append(np.asarray(x)[np.asarray(mask), 0].astype(int).tolist())
            self.losses.append(float(loss))
            return loss

        def counting(*arguments):
            self.counts.append(evaluate(*arguments))
            return self.counts[-1]

        example.train_step, example.evaluate = train_step, counting
        try:
            return example.main([*self.options, *map(str, options)])
        except Interrupted:
            return None
        finally:
            example.train_step, example.evaluate = step, evaluate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The record i has x = i."""
    return numbered_parts(tmp_path_factory.mktemp("flax") / "in", RECORDS)


@pytest.fixture(scope="module")
def expected(folder):
    """The ids of 3 epochs' steps, by a loader without jax."""
    return steps_of_parts(folder, BATCH, SEED, epochs=3)


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """3 epochs that nothing interrupted."""
    run = Run(folder, tmp_path_factory.mktemp("whole"))
    run.model = run("--epochs", 3)
    return run


def weights(model):
    from flax import nnx

    return jax.tree.map(np.asarray, nnx.to_pure_dict(nnx.state(model)))


def assert_same_weights(model, other):
    jax.tree.map(np.testing.assert_array_equal, weights(model), weights(other))


@pytest.mark.cell("JAX", "fit")
def test_every_record_once_an_epoch(whole, expected):
    assert whole.steps == expected
    for epoch in range(3):
        ids = sum(whole.steps[STEPS * epoch : STEPS * (epoch + 1)], [])
        assert sorted(ids) == list(range(RECORDS))


@pytest.mark.cell("JAX", "evaluation counts")
def test_evaluation_counts_each_record_once(whole):
    assert [count for count, _ in whole.counts] == [RECORDS] * 3
    found = weights(whole.model)
    x = np.arange(RECORDS, dtype=np.float64)[:, None]
    hidden = np.maximum(x @ found["hidden"]["kernel"] + found["hidden"]["bias"], 0)
    y = hidden @ found["out"]["kernel"] + found["out"]["bias"]
    error = np.mean((y - 10 * x) ** 2)
    np.testing.assert_allclose(whole.counts[-1][1], error, rtol=1e-5)


@pytest.mark.cell("JAX", "mid-epoch resume")
@pytest.mark.parametrize(("stop", "saved"), [(9, 8), (12, 12)])  # 1 and 5 steps into epoch 1
def test_resume_in_the_middle_of_an_epoch(folder, whole, expected, tmp_path, stop, saved):
    run = Run(folder, tmp_path)
    assert run("--epochs", 3, "--save-every", 4, stop=stop) is None
    assert run.steps == expected[:stop]
    model = run("--epochs", 3, "--save-every", 4)
    assert run.steps == expected[:stop] + expected[saved:]
    assert run.losses == whole.losses[:stop] + whole.losses[saved:]
    assert run.counts == whole.counts
    assert_same_weights(model, whole.model)


@pytest.mark.cell("JAX", "epoch-end resume")
def test_resume_at_the_end_of_an_epoch(folder, whole, expected, tmp_path):
    run = Run(folder, tmp_path)
    run("--epochs", 1, "--save-every", STEPS)
    assert run.steps == expected[:STEPS]
    model = run("--epochs", 3, "--save-every", STEPS)
    assert run.steps == expected and run.losses == whole.losses and run.counts == whole.counts
    assert_same_weights(model, whole.model)
    run("--epochs", 3)  # nothing is left to do
    assert len(run.steps) == len(expected)


@pytest.mark.cell("JAX", "accumulation")
def test_resume_between_two_batches_of_an_update(folder, expected, tmp_path):
    whole = Run(folder, tmp_path / "whole")
    model = whole("--epochs", 2, "--accumulate", 2)
    assert whole.steps == expected[: 2 * STEPS]
    run = Run(folder, tmp_path / "run")
    assert run("--epochs", 2, "--accumulate", 2, "--save-every", 3, stop=10) is None
    found = run("--epochs", 2, "--accumulate", 2, "--save-every", 3)
    assert run.steps == expected[:10] + expected[9 : 2 * STEPS]
    assert run.losses == whole.losses[:10] + whole.losses[9:]
    assert_same_weights(found, model)


def test_the_page_about_jax(tmp_path, monkeypatch):
    """Its assertions hold."""
    monkeypatch.chdir(tmp_path)
    [block] = blocks_of("docs/how-to/jax.md")
    exec(compile(block.at_its_line(), block.page, "exec"), {})
    assert (tmp_path / "run/8").is_dir()


# ---- Processes ----------------------------------------------------------------------------------

# Runs the example as __main__ would, and prints the ids of this process's rows in each step.
DRIVER = f"""
import sys
sys.path.insert(0, {str(EXAMPLE.parent)!r})
import numpy as np
import train_flax

step, count = train_flax.train_step, 0

def train_step(model, optimizer, x, y, mask):
    global count
    count += 1
    rows = [np.asarray(one.data)[:, 0].astype(int).tolist() for one in x.addressable_shards]
    print("ids", count, sum(rows, []), flush=True)
    return step(model, optimizer, x, y, mask)

train_flax.train_step = train_step
train_flax.main()
"""


def start(run, *options, devices=2):
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {
        **os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *run.options, *options],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def losses_in(printed):
    return dict(re.findall(r"^(\d+): (\S+)$", printed, re.M))


@pytest.mark.slow
@pytest.mark.cell("JAX", "mid-epoch resume")
def test_a_killed_process_goes_on_where_it_was(folder, whole, expected, tmp_path):
    """Step 10 is printed when the checkpoint of step 5 is whole, and epoch 1 begins with step 8."""
    run = Run(folder, tmp_path)
    process = start(run, "--epochs", "3", "--save-every", "5")
    try:
        printed = ""
        for line in process.stdout:
            printed += line
            if line.startswith("ids 12 "):
                process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    finally:
        process.kill()
        process.stdout.close()
    truth = [f"{loss:.6f}" for loss in whole.losses]
    for step, loss in losses_in(printed).items():
        assert loss == truth[int(step) - 1]
    model = run("--epochs", "3", "--save-every", "5")
    saved = len(expected) - len(run.steps)
    assert saved in (5, 10), "either in the middle of an epoch"
    assert run.steps == expected[saved:] and run.losses == whole.losses[saved:]
    assert_same_weights(model, whole.model)


@pytest.mark.slow
@pytest.mark.cell("JAX", "other world size")
def test_two_processes_then_one(folder, whole, expected, tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    run = Run(folder, tmp_path)
    shared = ["--epochs", "2", "--save-every", "4", "--coordinator", coordinator]
    shared += ["--processes", "2", "--process"]
    both = [start(run, *shared, str(number), devices=1) for number in range(2)]
    try:
        printed = [process.communicate(timeout=120)[0] for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0]
    halves = [
        [json.loads(ids) for ids in re.findall(r"^ids \d+ (.*)$", text, re.M)] for text in printed
    ]  # the last step of an epoch is filled up with its last record
    together = [first + second for first, second in zip(*halves, strict=True)]
    padded = [ids + ids[-1:] * (BATCH - len(ids)) for ids in expected]
    assert together == padded[: 2 * STEPS]
    losses = [float(loss) for loss in losses_in(printed[0]).values()]
    np.testing.assert_allclose(losses, whole.losses[: 2 * STEPS], rtol=1e-4)
    assert f"of {RECORDS} records" in printed[0] and not losses_in(printed[1])

    run("--epochs", 3)  # in one process, from step 12, which is in the middle of epoch 1
    assert run.steps == expected[12:]
    np.testing.assert_allclose(run.losses, whole.losses[12:], rtol=1e-4)
