"""torchtitan's data loaders: its base class with a TorchLoader in it, its own wrapper around one,
and training in its manner on a mesh, with checkpoints of torch.distributed.checkpoint."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from support.paths import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.distributed.checkpoint as dcp  # noqa: E402
from torch.utils.data import IterableDataset  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402
from support.trainer_truth import epochs_of, numbered_parts  # noqa: E402

RECORDS, BATCH = 22, 8
STEPS = 3  # of an epoch: 8, 8 and 6 rows
EPOCHS = 3

alone = pytest.mark.filterwarnings("ignore:torch.distributed is:UserWarning")


@pytest.fixture
def folder(tmp_path):
    return numbered_parts(tmp_path / "parts", RECORDS)


def blobs_of(folder, batch_size=BATCH, **attrs):
    x, ids = flow.MiniReader(
        folder, batch_size=batch_size, last_batch="even", shuffle=True, seed=3, with_id=True,
        **attrs,
    )  # fmt: skip
    return {"x": x, "ids": ids}


def expected(folder):
    """The records of each step, of all ranks; the order is that of the NumPy loader."""
    loader = flow.DataLoader(blobs_of(folder, batch_size=1)["ids"])
    orders = epochs_of(loader, EPOCHS, lambda batch: int(batch[0, 1]))
    return [order[i : i + BATCH] for order in orders for i in range(0, RECORDS, BATCH)]


def part(steps, rank, size):
    return [np.array_split(step, size)[rank].tolist() for step in steps]


# ---- torchtitan's classes ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def titan():
    return pytest.importorskip("torchtitan.components.dataloader")


class OfALoader:
    """Batches and state of `self.loader`, as torchtitan's trainer takes them."""

    def __iter__(self):
        for batch in self.loader.repeat():
            yield {"input": batch["ids"][:, 1]}, batch["x"]

    def state_dict(self):
        return self.loader.state_dict()

    def load_state_dict(self, state):
        self.loader.load_state_dict(state)


@pytest.fixture(scope="module")
def flow_loader(titan):
    """A data loader as torchtitan's trainer builds it, of its config."""

    class FlowDataLoader(OfALoader, titan.BaseDataLoader):
        @dataclass(kw_only=True, slots=True)
        class Config(titan.BaseDataLoader.Config):
            seed: int = 3

        def __init__(self, config, *, dp_rank, dp_world_size, local_batch_size, **_others):
            size = local_batch_size * dp_world_size
            blobs = blobs_of(config.dataset_path, size, rank=dp_rank, world_size=dp_world_size)
            self.loader = TorchLoader(flow.DataLoader(blobs))

    return FlowDataLoader


def built(flow_loader, folder, rank, size):
    config = flow_loader.Config(dataset_path=str(folder))
    return config.build(
        dp_rank=rank, dp_world_size=size, local_batch_size=BATCH // size, seq_len=1, tokenizer=None,
        snapshot_every_n_steps=None,
    )  # fmt: skip


def taken(loader, count):
    return [batch["input"].tolist() for batch, _ in itertools.islice(loader, count)]


@pytest.mark.cell("torchtitan", "fit")
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_loader_of_a_config_gives_each_rank_its_rows(flow_loader, folder, size):
    for rank in range(size):
        loader = built(flow_loader, folder, rank, size)
        steps = [step[: len(step) // size * size] for step in expected(folder)]
        assert taken(loader, EPOCHS * STEPS) == part(steps, rank, size)


@alone
@pytest.mark.cell("torchtitan", "mid-epoch resume")
@pytest.mark.cell("torchtitan", "epoch-end resume")
@pytest.mark.cell("torchtitan", "other world size")
@pytest.mark.parametrize("before, after", [(2, 2), (2, 4), (4, 1)])
@pytest.mark.parametrize("done", [2, STEPS, STEPS + 1])
def test_a_checkpoint_goes_on_in_any_world(flow_loader, folder, tmp_path, done, before, after):
    loader = built(flow_loader, folder, before - 1, before)
    taken(loader, done)
    dcp.save({"dataloader": loader}, checkpoint_id=tmp_path / "saved")
    for rank in range(after):
        loader = built(flow_loader, folder, rank, after)
        dcp.load({"dataloader": loader}, checkpoint_id=tmp_path / "saved")
        rest = [step[: len(step) // after * after] for step in expected(folder)[done:]]
        assert taken(loader, len(rest)) == part(rest, rank, after)


class Stream(OfALoader, IterableDataset):
    """Batches of a TorchLoader for torchtitan's own wrapper, which keeps a state for each rank."""

    def __init__(self, folder, rank, size):
        self.loader = TorchLoader(flow.DataLoader(blobs_of(folder, rank=rank, world_size=size)))


@alone
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("done", [2, STEPS, STEPS + 1])
def test_its_own_wrapper_resumes_each_rank(titan, folder, tmp_path, done):
    def wrapped(rank):
        dataset = Stream(folder, rank, 2)
        return titan.ParallelAwareDataloader(dataset, rank, 2, batch_size=None)

    whole = expected(folder)
    saved = {}
    for rank in range(2):
        loader = wrapped(rank)
        assert taken(loader, done) == part(whole[:done], rank, 2)
        saved |= loader.state_dict()
    assert set(saved) == {"dp_rank_0", "dp_rank_1", "world_size"}
    dcp.save({"dataloader": saved}, checkpoint_id=tmp_path / "saved")
    for rank in range(2):
        loader = wrapped(rank)
        state = {"dataloader": loader.state_dict()}
        dcp.load(state, checkpoint_id=tmp_path / "saved")
        loader.load_state_dict(state["dataloader"])
        assert taken(loader, 4) == part(whole[done : done + 4], rank, 2)


# ---- The example ---------------------------------------------------------------------------------


def run_example(folder, out, processes, *options):
    """What each rank has written, step after step."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), str(ROOT / "examples" / "train_titan.py")]
    command += ["--data-dir", str(folder), "--tp", "2", "--checkpoint", str(out / "saved")]
    command += ["--seed", "3", "--losses", str(out / f"of-{processes}"), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=500,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    files = [out / f"of-{processes}-{rank}" for rank in range(processes)]
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


@pytest.mark.slow
def test_a_mesh_of_two_goes_on_where_one_of_four_was(folder, tmp_path):
    whole = expected(folder)
    four = run_example(folder, tmp_path, 4, "--steps", "7", "--save-every", "4")
    for rank, log in enumerate(four):
        assert [entry["ids"] for entry in log] == part(whole[:7], rank // 2, 2)
    two = run_example(folder, tmp_path, 2, "--steps", "7", "--save-every", "9")
    for log in two:
        assert [entry["ids"] for entry in log] == whole[4:7]
        for entry, before in zip(log, four[0][4:], strict=True):
            assert entry["loss"] == pytest.approx(before["loss"], rel=1e-9)
