"""pyflowdata.integrations.torch.DataLoader: torch's by another import, with exact resume."""

import time

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402
from support.numbered_samples import (  # noqa: E402
    BATCH,
    SAMPLES,
    STEPS,
    WAYS,
    Counting,
    Numbers,
    ids,
    taken,
)
from support.trainer_truth import epochs_of, numbered_blob  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


# ---- Order --------------------------------------------------------------------------------------


@pytest.mark.cell("DataLoader", "fit")
@pytest.mark.parametrize("way", WAYS)
def test_samples_and_their_order_are_torchs(way):
    own = ids(DataLoader(Numbers(), BATCH, **way))
    assert own == ids(torch_data.DataLoader(Numbers(), BATCH))
    assert own == [list(range(at, min(at + BATCH, SAMPLES))) for at in range(0, SAMPLES, BATCH)]


def test_the_order_needs_no_memory_for_each_sample():
    """10^12 samples: their numbers alone would have 8 TB."""
    many = range(10**12)
    loader = DataLoader(many, BATCH, shuffle=True, seed=3)
    first = next(iter(loader))
    assert len({*first.tolist()}) == BATCH and max(first) < len(many)
    state = {**loader.state_dict(), "position": len(loader) - 2, "version": 1}
    del state["sum"]  # which this version does not have
    loader.load_state_dict(state)
    last = [batch.tolist() for batch in loader]
    assert len(last) == 2 and not {*last[0]} & {*last[1]}


def test_shuffle_is_the_global_one_of_a_flow_loader_and_new_in_each_epoch():
    epochs = epochs_of(flow.DataLoader(numbered_blob(SAMPLES, BATCH)), 2)
    own = DataLoader(Numbers(), BATCH, shuffle=True, seed=3)
    assert [ids(own), ids(own)] == epochs
    assert epochs[0] != epochs[1]
    own.set_epoch(0)
    assert ids(own) == epochs[0]


def test_torch_manual_seed_decides_the_order_and_is_not_used_up():
    torch.manual_seed(5)
    first = ids(DataLoader(Numbers(), BATCH, shuffle=True))
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert ids(DataLoader(Numbers(), BATCH, shuffle=True)) == first
    torch.manual_seed(5)
    assert torch.rand(1) == drawn
    torch.manual_seed(6)
    assert ids(DataLoader(Numbers(), BATCH, shuffle=True)) != first


@pytest.mark.cell("DataLoader", "accumulation")
def test_an_iterator_that_gave_nothing_is_no_epoch_and_a_broken_off_one_is():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=1)
    expected = [ids(loader) for _ in range(3)]
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=1)
    assert len(loader) == STEPS == len(expected[0])
    iter(loader)
    assert ids(taken(loader, 2)) == expected[0][:2]
    late = iter(loader)
    loader.set_epoch(2)
    assert ids(late) == expected[2]


def test_it_is_torchs_class_and_keeps_its_attributes():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, drop_last=True, num_workers=2)
    assert isinstance(loader, torch_data.DataLoader)
    assert loader.batch_size == BATCH and loader.drop_last and loader.prefetch_factor == 2
    assert isinstance(loader.sampler, torch_data.RandomSampler)
    assert isinstance(loader.sampler, torch_data.DistributedSampler)
    assert isinstance(loader.batch_sampler, torch_data.BatchSampler)
    assert len(loader) == SAMPLES // BATCH == len([*loader])
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        loader.batch_size = 3


def test_its_names_are_torchs_and_those_that_its_pages_describe():
    def public(one):
        return {name for name in dir(one) if not name.startswith("_")}

    own = public(DataLoader(Numbers())) - public(torch_data.DataLoader(Numbers()))
    assert own == {
        "close", "epoch", "load_state_dict", "order", "rank", "real_rows", "report", "seed",
        "seed_samples", "set_epoch", "snapshot_every_n_steps", "state_dict", "stats",
        "use_stateful_dataloader", "workers", "world_size",
    }  # fmt: skip


def test_print_says_what_it_is():
    said = {
        "Numbers of 22 samples; batch_size=4; shuffle=False, seed=1; no workers; steps=6": {},
        "Numbers of 22 samples; batch_size=4, last='pad'; shuffle=True, seed=1; rank=1/2; "
        "2 worker threads; steps=3": {
            "last": "pad", "shuffle": True, "rank": 1, "world_size": 2, "num_workers": 2,
            "workers": "threads",
        },
        "Numbers of 22 samples; batch_size=4; sampler=RandomSampler; no workers; steps=6": {
            "sampler": torch_data.RandomSampler(Numbers()),
        },
        "Numbers of 22 samples; batch_sampler=list; no workers; steps=2": {
            "batch_sampler": [[1, 2], [3]], "batch_size": 1,
        },
        "Numbers of 22 samples; single samples; shuffle=False, seed=1; no workers; steps=22": {
            "batch_size": None,
        },
        "Counting; batch_size=4; 2 worker processes; steps=unknown": {
            "dataset": Counting(), "num_workers": 2,
        },
    }  # fmt: skip
    for expected, given in said.items():
        loader = DataLoader(**{"dataset": Numbers(), "batch_size": BATCH, "seed": 1, **given})
        assert str(loader) == f"DataLoader({expected}, epoch=0)"


def test_samples_of_the_samplers_are_those_of_the_batches():
    loader = DataLoader(Numbers(), BATCH, shuffle=True, seed=2, rank=1, world_size=2)
    batches = [*loader.batch_sampler]
    assert batches == ids(loader)
    assert [*loader.sampler] == sum(batches, [])
    assert len(loader.sampler) == SAMPLES // 2


def test_collating_is_torchs():
    class Mixed(torch_data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return {
                "a": np.arange(3, dtype=np.int16) + index, "f": 0.5 * index, "t": f"text {index}",
                "n": (np.float64(index), torch.ones(2, 2, dtype=torch.bfloat16), [index, True]),
            }  # fmt: skip

    for count in (0, 2):
        own = [*DataLoader(Mixed(), 2, num_workers=count)]
        for batch, other in zip(own, torch_data.DataLoader(Mixed(), 2), strict=True):
            torch.testing.assert_close(batch.pop("a"), other.pop("a"))
            assert repr(batch) == repr(other)
            assert batch["n"][1].dtype == torch.bfloat16


# ---- Arguments ----------------------------------------------------------------------------------


def test_own_arguments_are_checked():
    for wrong, said in (
        ({"workers": "fibers"}, "'processes' or 'threads'"),
        ({"rank": 0}, "both rank and world_size"),
        ({"rank": 2, "world_size": 2}, "rank must be in"),
        ({"global_batch_size": 5, "rank": 0, "world_size": 2}, "a multiple of world_size"),
        ({"global_batch_size": 4, "batch_size": 2}, "in the place of batch_size|takes the place"),
        ({"seed": -1}, "seed = -1"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=said):
            DataLoader(Numbers(), **wrong)
    with pytest.raises(flow.UnsupportedError, match="an IterableDataset"):
        DataLoader(Counting(), num_workers=1, workers="threads")


# ---- Reports ------------------------------------------------------------------------------------


def test_report_says_that_training_waits_for_the_dataset():
    class Slow(Numbers):
        def __getitem__(self, index):
            time.sleep(0.002)
            return index, index

    loader = DataLoader(Slow(60), 2, num_workers=1)
    assert len(ids(loader)) == 30
    report = loader.report()
    assert report.limit == "loader"
    assert report.counters.stats["records"] == 60
    assert "Slow" in str(report)
    assert any("num_workers" in one or "__getitems__" in one for one in report.remedies)
    assert loader.report(since=report).counters.stats["steps"] == 0


def test_whole_batches_of_getitems_are_not_collated():
    class Columns(Numbers):
        def __getitems__(self, indices):
            return {"i": np.array(indices), "x": np.ones((len(indices), 300), np.float32)}

    for count in (0, 1):
        batches = [*DataLoader(Columns(), BATCH, num_workers=count)]
        assert [batch["i"].tolist() for batch in batches] == ids(DataLoader(Numbers(), BATCH))
        assert batches[0]["x"].dtype == torch.float32
