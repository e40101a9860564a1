"""Plain loops, in one process and under torchrun: what every rank sees, and restarts."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this torch has no gloo", allow_module_level=True)

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402
from support.trainer_truth import epochs_of, numbered_parts  # noqa: E402

RECORDS, BATCH, EPOCHS = 22, 8, 3
STEPS = 3  # of an epoch; the last one has 6 rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    parts = tmp_path_factory.mktemp("loop") / "parts"
    return numbered_parts(parts, RECORDS)


@pytest.fixture(scope="module")
def orders(folder):
    """The records of each epoch, by the NumPy loader, one at a time."""
    _, ids = flow.MiniReader(folder, batch_size=1, shuffle=True, seed=3, with_id=True)
    return epochs_of(flow.DataLoader(ids), EPOCHS, lambda batch: int(batch[0, 1]))


def steps_of(orders, rank=0, size=1):
    """What a rank sees, step after step; what does not divide is left out."""
    cut = RECORDS - RECORDS % BATCH % size
    steps = [order[i:cut][:BATCH] for order in orders for i in range(0, cut, BATCH)]
    return [np.array_split(step, size)[rank].tolist() for step in steps]


# ---- One process ---------------------------------------------------------------------------------


def open_loader(folder, **attrs):
    attrs = {"shuffle": True, "seed": 3, "rank": 0, "world_size": 1, **attrs}
    blobs = flow.MiniReader(folder, batch_size=BATCH, with_id=True, **attrs)
    return TorchLoader(flow.DataLoader(*blobs))


def train(loader, epochs=EPOCHS):
    """What is seen, and the state after each step."""
    seen = []
    while loader.state_dict()["epoch"] < epochs:
        for *_, ids in loader:
            seen.append((ids[:, 1].tolist(), json.loads(json.dumps(loader.state_dict()))))
    return seen


@pytest.mark.cell("torch", "fit")
@pytest.mark.cell("torch", "mid-epoch resume")
@pytest.mark.cell("torch", "epoch-end resume")
def test_a_loop_resumes_after_any_step(folder, orders):
    whole = train(open_loader(folder))
    assert [ids for ids, _ in whole] == steps_of(orders)
    for done, (_, state) in enumerate(whole, 1):
        loader = open_loader(folder, seed=8)
        loader.load_state_dict(state)
        assert [ids for ids, _ in train(loader)] == steps_of(orders)[done:]


@pytest.mark.cell("torch", "other world size")
@pytest.mark.parametrize("before, after", [(1, 2), (2, 4), (4, 2), (4, 1)])
def test_a_loop_goes_on_in_another_world(folder, orders, before, after):
    saved = train(open_loader(folder, last_batch="even", rank=before - 1, world_size=before))
    for done, (_, state) in enumerate(saved, 1):
        for rank in range(after):
            loader = open_loader(folder, last_batch="even", rank=rank, world_size=after)
            loader.load_state_dict(state)
            assert [ids for ids, _ in train(loader)] == steps_of(orders, rank, after)[done:]


@pytest.mark.cell("torch", "evaluation counts")
@pytest.mark.filterwarnings("ignore:MiniReader_0. the last batch")
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_an_evaluation_counts_each_record_once(folder, size):
    """By the mask where all batches are full; by the rows where the last one is short."""
    for rule in ("pad", "short"):
        seen = []
        for rank in range(size):
            loader = open_loader(
                folder, shuffle=False, last_batch=rule, with_mask=True, rank=rank, world_size=size
            )  # with 8 ranks and "short" two of them get 0 rows
            seen += [i for _, mask, ids in loader for i in ids[mask, 1].tolist()]
        assert sorted(seen) == list(range(RECORDS))


@pytest.mark.cell("torch", "accumulation")
def test_accumulation_ends_with_the_epoch(folder, orders):
    loader, updates = open_loader(folder), []
    for _ in range(EPOCHS):
        held = []
        for step, (*_, ids) in enumerate(loader, 1):
            held += ids[:, 1].tolist()
            if step % 2 == 0 or step == len(loader):
                updates.append(held)
                held = []
    whole = steps_of(orders)
    pairs = itertools.chain.from_iterable(
        (whole[i] + whole[i + 1], whole[i + 2]) for i in range(0, EPOCHS * STEPS, STEPS)
    )
    assert updates == [*pairs]


# ---- torchrun ------------------------------------------------------------------------------------

LOOP = ROOT / "tests/support/torchrun_loop.py"


def torchrun(out, processes, job, *options, **environment):
    """What each rank has written, by run, attempt and rank."""
    out.mkdir()
    (out / "job").write_text(json.dumps({"out": str(out), "accumulate": 2, **job}))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", *options]
    command += ["--nproc-per-node", str(processes), str(LOOP), str(out / "job")]
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    files = out.glob("*.json")
    return {tuple(file.stem.split("-")): json.loads(file.read_text()) for file in files}


@pytest.fixture(scope="module")
def of_two(folder, tmp_path_factory):
    job = {"folder": folder, "batch_size": BATCH, "epochs": EPOCHS, "runs": {"whole": None}}
    return torchrun(tmp_path_factory.mktemp("two") / "out", 2, job)


def ids_of(found):
    return [ids for ids, _ in found["seen"]]


@pytest.mark.slow
@pytest.mark.cell("torchrun", "fit")
@pytest.mark.cell("torchrun", "evaluation counts")
@pytest.mark.cell("torchrun", "accumulation")
def test_two_processes_share_every_step(orders, of_two):
    for rank in range(2):
        found = of_two["whole", "0", str(rank)]
        assert ids_of(found) == steps_of(orders, rank, 2)
        assert found["counts"] == {"pad": RECORDS, "short": RECORDS}
        assert found["updates"] == [2, 1] * EPOCHS
        assert [state for _, state in found["seen"]] == [
            state for _, state in of_two["whole", "0", "0"]["seen"]
        ]


@pytest.mark.slow
@pytest.mark.cell("torchrun", "mid-epoch resume")
@pytest.mark.cell("torchrun", "epoch-end resume")
@pytest.mark.cell("torchrun", "other world size")
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_any_number_of_processes_goes_on(folder, orders, of_two, tmp_path, processes):
    states = [state for _, state in of_two["whole", "0", "1"]["seen"]]
    runs = {str(done): states[done - 1] for done in (2, STEPS, STEPS + 1, 2 * STEPS)}
    job = {"folder": folder, "batch_size": BATCH, "epochs": EPOCHS, "runs": runs}
    found = torchrun(tmp_path / "out", processes, job)
    for rank, done in itertools.product(range(processes), runs):
        rest = steps_of(orders, rank, processes)[int(done) :]
        assert ids_of(found[done, "0", str(rank)]) == rest


@pytest.mark.slow
@pytest.mark.cell("torchrun", "mid-epoch resume")
def test_a_killed_worker_is_restarted_where_the_checkpoint_is(folder, orders, tmp_path):
    """Rank 1 dies after step 5; the checkpoint is that of step 4, in the middle of an epoch."""
    job = {"folder": folder, "batch_size": BATCH, "epochs": EPOCHS, "runs": {"run": None},
           "checkpoint": str(tmp_path / "saved"), "dies_at": 5}  # fmt: skip
    found = torchrun(
        tmp_path / "out", 2, job, "--max-restarts", "1", TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1"
    )
    for rank in range(2):
        whole = steps_of(orders, rank, 2)
        first, second = (ids_of(found["run", attempt, str(rank)]) for attempt in "01")
        assert first == whole[:5] and second == whole[4:]
