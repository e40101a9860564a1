"""Recipes of docs/how-to/trainer-recipes.md: evaluation that counts each record once; trials."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402
from support.paths import ROOT  # noqa: E402

N, BATCH = 100, 12  # the last batch has 4 records
X = np.random.default_rng(0).random((N, 3), np.float32)
Y = np.random.default_rng(1).integers(0, 3, N)
RIGHT = X.argmax(1) == Y  # the model is argmax


def validation(**attrs):
    data = flow.from_arrays({"i": np.arange(N), "x": X, "y": Y})
    return TorchLoader(flow.DataLoader(data.batch(BATCH, **attrs)))


def counted(batches):
    """Numbers of the records, and how many answers are right; of a mask, where there is one."""
    seen, right = [], 0
    for i, x, y, *mask in batches:
        real = mask[0] if mask else torch.ones(len(y), dtype=torch.bool)
        seen += i[real].tolist()
        right += int((x.argmax(1) == y)[real].sum())
    return seen, right


# ---- Evaluation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("world_size", [1, 3, 4])
def test_each_record_is_evaluated_once_over_all_ranks(world_size):
    ranks = [validation(rank=rank, world_size=world_size) for rank in range(world_size)]
    found = [counted(loader) for loader in ranks]
    assert sorted(itertools.chain(*(seen for seen, _ in found))) == [*range(N)]
    assert sum(right for _, right in found) == RIGHT.sum()
    assert len({len(loader) for loader in ranks}) == 1
    again = [counted(loader) for loader in ranks]  # every evaluation is the same
    assert again == found


@pytest.mark.parametrize("world_size", [1, 3, 4])
def test_padded_batches_have_one_shape_and_a_mask(world_size):
    seen, right = [], 0
    for rank in range(world_size):
        with validation(rank=rank, world_size=world_size, last="pad", with_mask=True) as loader:
            assert {len(x) for _, x, *_ in loader} == {BATCH // world_size}
            found = counted(loader)
        seen, right = seen + found[0], right + found[1]
    assert sorted(seen) == [*range(N)] and right == RIGHT.sum()


def test_an_evaluation_leaves_training_where_it_is():
    """Both of the same data, in the middle of an epoch of training."""
    data = flow.from_arrays({"i": np.arange(N)}).shuffle(seed=3)
    expected = [batch.tolist() for batch in flow.DataLoader(data.batch(10)["i"])]
    train, found = TorchLoader(flow.DataLoader(data.batch(10)["i"])), []
    for step, batch in enumerate(train):
        found.append(batch.tolist())
        if step % 4 == 0:
            assert counted(validation())[1] == RIGHT.sum()
    assert found == expected


SCRIPT = """
import json, sys
import numpy as np, torch, torch.distributed as dist
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

store, rank, arrays = sys.argv[1], int(sys.argv[2]), np.load(sys.argv[3])
dist.init_process_group("gloo", store=dist.FileStore(store, 2), rank=rank, world_size=2)
data = flow.from_arrays({"i": np.arange(len(arrays["y"])), "x": arrays["x"], "y": arrays["y"]})
sums, seen = torch.zeros(2, dtype=torch.float64), []
with TorchLoader(flow.DataLoader(data.batch(12))) as loader:      # of the process group's ranks
    for i, x, y in loader:
        seen += i.tolist()
        sums += torch.tensor([(x.argmax(1) == y).sum(), len(y)], dtype=torch.float64)
dist.all_reduce(sums)
gathered = [None, None]
dist.all_gather_object(gathered, seen)
print(json.dumps({"sums": sums.tolist(), "seen": gathered}))
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.cell("torchrun", "evaluation counts")
def test_two_processes_of_gloo_count_each_record_once(tmp_path):
    np.savez(tmp_path / "arrays.npz", x=X, y=Y)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "store"), str(rank),
             str(tmp_path / "arrays.npz")],
            stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        answers = [json.loads(process.communicate(timeout=240)[0]) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert answers[0] == answers[1]
    assert answers[0]["sums"] == [RIGHT.sum(), N]
    first, second = answers[0]["seen"]
    assert sorted(first + second) == [*range(N)] and first[:2] == [0, 1] and second[:1] == [6]


@pytest.mark.cell("torch", "evaluation counts")
@pytest.mark.parametrize("kind", ["TorchLoader", "DataLoader"])
def test_a_loop_of_torch_evaluates_each_record_once(kind):
    """The second is torch's own DataLoader over the rows of ours."""
    loader = validation()
    if kind == "DataLoader":
        loader = torch.utils.data.DataLoader(
            loader.dataset, batch_sampler=loader.batch_sampler, collate_fn=loader.collate_fn
        )
    seen, right = counted(loader)
    assert seen == [*range(N)] and right == RIGHT.sum()


# ---- Many short runs ----------------------------------------------------------------------------


def steps_of(batches, count):
    return [batch.tolist() for batch in itertools.islice(batches, count)]


@pytest.mark.parametrize("kind", ["DataLoader", "TorchLoader"])
def test_trials_that_share_a_loader_see_the_same_batches(kind):
    """Each is as of a separate loader, however the trial before ended."""
    data = flow.from_arrays({"i": np.arange(N)}).shuffle(seed=5)

    def opened():
        loader = flow.DataLoader(data.batch(16)["i"])
        return TorchLoader(loader) if kind == "TorchLoader" else loader

    with opened() as own:
        expected = steps_of(own.repeat(), 17)  # two epochs and a half
    with opened() as shared:
        for steps in (3, 17, 7, 0, 14, 17):
            if kind == "TorchLoader":
                shared.set_epoch(0)
            else:
                shared.seek(0, epoch=0)
            assert steps_of(shared.repeat(), steps) == expected[:steps]


def test_a_trial_goes_on_where_it_was_left():
    """As a scheduler does, which takes turns with trials: each has its state."""
    data = flow.from_arrays({"i": np.arange(N)}).shuffle(seed=5)
    with flow.DataLoader(data.batch(16)["i"]) as loader:
        expected = steps_of(loader.repeat(), 12)
        states, found = dict.fromkeys("ab"), {"a": [], "b": []}
        for turn in range(4):
            for trial in ("a", "b"):
                if states[trial] is None:
                    loader.seek(0, epoch=0)
                else:
                    loader.load_state_dict(states[trial])
                found[trial] += steps_of(loader.repeat(), 3)
                states[trial] = loader.state_dict()
        assert found == {"a": expected, "b": expected}
