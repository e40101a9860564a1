"""What trainers ask of a torch DataLoader, asked of a TorchLoader: rows, samplers, epochs."""

import copy
import itertools
import pickle
import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
from torch.utils.data import (  # noqa: E402
    DataLoader,
    DistributedSampler,
    IterableDataset,
    SequentialSampler,
)

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402
from pyflowdata.integrations.torch.meshes import LoaderOptions  # noqa: E402

from support.trainer_truth import epochs_of, numbered_blob  # noqa: E402

RECORDS, BATCH = 29, 6
STEPS = 5


def make_loader(*, last="short", rank=0, world_size=1, shuffle=True, seed=3):
    blob = numbered_blob(
        RECORDS, BATCH, shuffle=shuffle, seed=seed, last=last, rank=rank, world_size=world_size
    )
    return TorchLoader(flow.DataLoader(blob))


def orders(count, **attrs):
    """The rows of each epoch, by the NumPy loader in steps of one after another."""
    return epochs_of(make_loader(**attrs).loader, count)


def values(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("last", ["short", "drop", "pad", "even"])
@pytest.mark.parametrize("rank, world_size", [(0, 1), (0, 3), (2, 3)])
def test_its_parts_make_the_same_batches(last, rank, world_size):
    (whole,) = orders(1, last=last, rank=rank, world_size=world_size)
    loader = make_loader(last=last, rank=rank, world_size=world_size)
    dataset, sampler, batches = loader.dataset, loader.sampler, loader.batch_sampler
    assert isinstance(loader, DataLoader) and len(loader) == len(batches) == len(whole)
    assert isinstance(sampler, DistributedSampler) and isinstance(sampler, SequentialSampler)
    assert (sampler.rank, sampler.num_replicas) == (rank, world_size)
    assert loader.batch_size == BATCH // world_size and loader.drop_last == (last == "drop")
    left_out = {"drop": RECORDS % BATCH, "even": RECORDS % BATCH % world_size}.get(last, 0)
    assert len(dataset) == RECORDS - left_out
    assert [*itertools.chain(*batches)] == [*sampler] and len(sampler) == len([*sampler])
    rebuilt = DataLoader(dataset, batch_sampler=batches, collate_fn=loader.collate_fn)
    assert values(rebuilt) == whole
    assert loader.place() == (1, 0)


def test_rows_have_positions_in_the_epoch():
    first, second = ([*itertools.chain(*epoch)] for epoch in orders(2))
    loader = make_loader()
    dataset = loader.dataset
    assert [dataset[p].item() for p in range(RECORDS)] == first
    assert dataset[-1].item() == first[-1] and dataset.__getitems__([4, 2]).tolist() == [
        first[4],
        first[2],
    ]
    loader.set_epoch(1)
    assert [dataset[p].item() for p in (0, 7)] == [second[0], second[7]]
    with pytest.raises(IndexError):
        dataset[RECORDS]


def test_set_epoch_is_of_the_next_iterator_and_of_one_that_has_not_begun():
    whole = orders(4)
    loader = make_loader()
    loader.set_epoch(2)
    assert values(loader) == whole[2] and values(loader) == whole[3]
    batches = iter(loader)
    loader.set_epoch(1)
    assert values(batches) == whole[1]
    batches = iter(loader)
    seen = values(itertools.islice(batches, 2))
    loader.sampler.set_epoch(0)  # a started iterator continues
    assert loader.state_dict()["position"] == 2 and loader.place() == (2, 2)
    assert seen + values(batches) == whole[2]
    loader.set_epoch(0)
    assert values(loader) == whole[0]
    loader.set_epoch(0)
    assert values(loader) == whole[0]


def test_a_stream_at_its_end_has_no_other_batch_of_a_named_epoch():
    def make(seed=1):
        ids = flow.GeneratorReader(
            lambda: iter(range(6)), fields=["i:int64"], batch_size=2, random_shuffle=True,
            shuffle_buffer_size=6, shuffle_after_epoch=True, seed=seed,
        )  # fmt: skip
        return TorchLoader(flow.DataLoader(ids))

    with make() as loader:
        whole = [[batch.tolist() for batch in loader] for _ in range(3)]
    with make() as loader:
        states = [loader.state_dict() for _ in loader]
    for position, state in enumerate(states, 1):
        for set_epoch in (TorchLoader.set_epoch, lambda loader, e: loader.sampler.set_epoch(e)):
            with make(9) as loader:
                loader.load_state_dict(state)
                found = []
                for epoch in range(3):
                    set_epoch(loader, epoch)
                    found.append([batch.tolist() for batch in loader])
                assert found == [whole[0][position:], *whole[1:]]
    with make(9) as loader:
        loader.load_state_dict(states[-1])
        assert [[batch.tolist() for batch in loader] for _ in range(2)] == [[], whole[1]]


def test_set_epoch_keeps_a_loaded_place():
    whole = orders(3)
    loader = make_loader()
    loader.set_epoch(1)
    values(itertools.islice(loader, 2))
    state = loader.state_dict()
    for epoch, rest in ((1, whole[1][2:]), (2, whole[2])):
        resumed = make_loader(seed=8)
        resumed.load_state_dict(state)
        resumed.set_epoch(epoch)
        assert values(resumed) == rest
    for wrong in (-1, 1.5, "1", 2**63):
        with pytest.raises(flow.InvalidArgumentError, match="epoch"):
            loader.set_epoch(wrong)


def test_a_trainer_that_counts_from_its_resumption_goes_on():
    """As Fabric does; set_epoch() of the loader means what it says."""
    whole = orders(4)
    loader = make_loader()
    loader.set_epoch(2)
    values(itertools.islice(loader, 3))
    state = loader.state_dict()
    resumed = make_loader(seed=8)
    resumed.load_state_dict(state)
    for epoch, rest in enumerate((whole[2][3:], whole[3])):
        resumed.sampler.set_epoch(epoch)
        resumed.batch_sampler.sampler.set_epoch(epoch)
        assert values(resumed) == rest
    resumed.load_state_dict(state)
    resumed.set_epoch(0)
    assert values(resumed) == whole[0]


def test_an_epoch_that_was_told_while_it_ran_does_not_come_again():
    whole = orders(3)
    loader = make_loader()
    for epoch in range(3):
        batches = iter(loader)
        first = next(batches).tolist()
        loader.set_epoch(epoch)
        assert [first, *values(batches)] == whole[epoch]
        loader.set_epoch(epoch + 1)


class Seen:
    """As Lightning puts around a batch sampler to see the positions that it gives."""

    def __init__(self, batch_sampler):
        self.sampler, self._batches, self.seen = batch_sampler.sampler, batch_sampler, []

    def __iter__(self):
        for positions in self._batches:
            self.seen.append(list(positions))
            yield positions


def test_a_loader_is_made_again_around_its_batch_sampler():
    loader = make_loader()
    (whole,) = orders(1)
    again = type(loader.batch_sampler)(loader.sampler, batch_size=1, drop_last=False)
    torchs = {"sampler": None, "shuffle": False, "batch_size": 1, "drop_last": False}
    made = TorchLoader(loader.loader, batch_sampler=Seen(again), **torchs)
    assert values(made) == whole
    assert [*itertools.chain(*made.batch_sampler.seen)] == [*range(RECORDS)]
    for name, other in (("batch_sampler", [[1, 2]]), ("shuffle", True), ("batch_size", 4)):
        with pytest.raises(flow.InvalidArgumentError, match=f"no argument '{name}'"):
            TorchLoader(loader.loader, **{name: other})


def test_steps_of_a_batch_sampler_may_be_skipped():
    whole = orders(2)
    loader = make_loader()
    for epoch in range(2):
        rest = [*loader.batch_sampler][3:]
        loader.set_epoch(epoch)
        skips = DataLoader(loader.dataset, batch_sampler=rest, collate_fn=loader.collate_fn)
        assert values(skips) == whole[epoch][3:]
    assert loader.place() == (2, 0)


def test_a_stream_is_an_iterable_dataset_of_batches():
    def numbers():
        return iter(range(RECORDS))

    x = flow.GeneratorReader(numbers, fields=["x:int64"], batch_size=BATCH)
    loader = TorchLoader(flow.DataLoader(x))
    assert isinstance(loader.dataset, IterableDataset)
    assert loader.batch_size is None and loader.batch_sampler is None
    for ask in (loader, loader.sampler):
        with pytest.raises(TypeError):
            len(ask)
    plain = DataLoader(loader.dataset, batch_size=loader.batch_size)
    assert sum(values(plain), []) == [*range(RECORDS)]


def test_an_epoch_of_a_stream_comes_once_after_a_state_of_its_last_batch():
    def make():
        x = flow.GeneratorReader(
            lambda: iter(range(RECORDS)), fields=["x:int64"], batch_size=BATCH, shuffle="buffer",
            shuffle_after_epoch=True, seed=3,
        )  # fmt: skip
        return TorchLoader(flow.DataLoader(x))

    loader = make()
    whole = [values(loader) for _ in range(3)]
    for count in (STEPS - 1, STEPS):
        loader = make()
        batches = iter(loader)
        for _ in range(count):
            next(batches)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (0, count)
        for tell in (TorchLoader.set_epoch, lambda each, epoch: each.sampler.set_epoch(epoch)):
            resumed = make()
            resumed.load_state_dict(state)
            for epoch in range(3):
                tell(resumed, epoch)
                assert values(resumed) == (whole[epoch] if epoch else whole[0][count:])
        resumed = make()
        resumed.load_state_dict(state)
        assert [values(resumed), values(resumed)] == [whole[0][count:], whole[1]]


def test_what_is_no_row_or_device_is_refused():
    loader = make_loader()
    for wrong in ("a", slice(0, 2), 1.5):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            loader.dataset[wrong]
    with pytest.raises(IndexError, match="row 29 of 29"):
        loader.dataset[RECORDS]
    with pytest.raises(flow.InvalidArgumentError, match="there is one device 'cpu'"):
        TorchLoader(loader.loader, device="cpu:7")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_loader_is_one(duplicate):
    with pytest.raises(TypeError, match="a TorchLoader cannot be copied or pickled"):
        duplicate(make_loader())


def test_the_docstring_describes_each_option():
    arguments = TorchLoader.__init__.__doc__.split("Raises:")[0]
    described = re.findall(r"^ {12}(\w+): ", arguments, re.M)
    assert described == ["loader", *LoaderOptions.__annotations__]


def test_public_names_say_where_they_are_imported_from():
    import pyflowdata.integrations.torch as face

    assert {getattr(face, name).__module__ for name in face.__all__} == {face.__name__}
