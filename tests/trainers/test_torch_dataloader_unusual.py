"""DataLoader with datasets and samplers that keep, use again or wait for what they work with."""

import queue

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402

from pyflowdata.integrations.torch import DataLoader  # noqa: E402
from pyflowdata.native import calling_line  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
WAYS = [{}, {"num_workers": 1}, {"num_workers": 2, "workers": "threads"}]


class Cached(torch_data.Dataset):
    """Keeps what default_collate gave, and gives it for several samples."""

    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 20

    def __getitem__(self, index):
        kind = index % 3
        if kind not in self.cache:
            value = torch.full((1000,), float(kind))
            self.cache[kind] = torch_data.default_collate([value.numpy(), value.numpy()])
        return self.cache[kind]


def test_what_a_dataset_keeps_is_not_overwritten():
    batches = [[int(one[0, 0]) for one in b] for b in DataLoader(Cached(), 2, num_workers=1)]
    assert batches == [[i % 3, (i + 1) % 3] for i in range(0, 20, 2)]


class LastToo:
    """A collate_fn that gives its last batch, too."""

    last = None

    def __call__(self, samples):
        batch = torch_data.default_collate(samples)
        last, self.last = self.last, batch
        return batch, batch if last is None else last


def test_what_collate_fn_keeps_is_not_overwritten():
    dataset = torch.arange(24.0)[:, None].expand(24, 1000)
    loader = DataLoader(dataset, 2, num_workers=1, collate_fn=LastToo())
    found = [(int(batch[0, 0]), int(last[0, 0])) for batch, last in loader]
    assert found == [(i, max(0, i - 2)) for i in range(0, 24, 2)]


class CollatesItself(torch_data.IterableDataset):
    def __iter__(self):
        for i in range(6):
            yield torch_data.default_collate([torch.full((1000,), i)] * 2)


def test_a_dataset_that_collates_itself_is_resumed():
    made = {"batch_size": None, "num_workers": 1}
    loader = DataLoader(CollatesItself(), **made)
    batches = iter(loader)
    assert [int(next(batches)[0, 0]) for _ in range(2)] == [0, 1]
    state = loader.state_dict()
    resumed = DataLoader(CollatesItself(), **made)
    resumed.load_state_dict(state)
    assert [int(batch[0, 0]) for batch in resumed] == [2, 3, 4, 5]


def _of_generator(way):
    sampler = torch_data.RandomSampler(range(22), generator=torch.Generator().manual_seed(3))
    return DataLoader(range(22), 4, sampler=sampler, **way)


def _listed(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("taken", ["before a batch", "after the last", "stopped"])
def test_a_state_between_epochs_has_the_generator_of_the_sampler(way, taken):
    loader = _of_generator(way)
    if taken == "stopped":  # the iterator is left after the last batch, before its end
        batches = iter(loader)
        for _ in range(len(loader)):
            next(batches)
    else:
        list(loader)
    state = loader.state_dict()
    rest = iter(loader)
    if taken == "before a batch":
        state = loader.state_dict()
    is_at_end = taken == "stopped"
    assert (state["epoch"], state["position"]) == ((0, len(loader)) if is_at_end else (1, 0))
    expected = _listed(rest)
    resumed = _of_generator(way)
    resumed.load_state_dict(state)
    assert not is_at_end or not _listed(resumed)
    assert _listed(resumed) == expected
    assert expected != _listed(_of_generator(way))


class OneList:
    """A batch sampler that fills one list for all of its batches."""

    def __iter__(self):
        batch = []
        for i in range(8):
            batch.append(i)
            if len(batch) == 2:
                yield batch
                batch.clear()


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_sampler_may_use_its_list_again(way):
    loader = DataLoader(range(8), batch_sampler=OneList(), **way)
    assert _listed(loader) == [[0, 1], [2, 3], [4, 5], [6, 7]]


class Estimated:
    """A batch sampler whose len() is an estimate."""

    def __init__(self, said):
        self.said = said

    def __iter__(self):
        return iter([[i, i + 1] for i in range(0, 12, 2)])

    def __len__(self):
        return self.said


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("said", [3, 6, 9])
def test_the_end_of_an_epoch_is_that_of_the_sampler(way, said):
    everything = [[i, i + 1] for i in range(0, 12, 2)]
    for taken in (0, 3, 4, 6):
        loader = DataLoader(range(12), batch_sampler=Estimated(said), **way)
        batches = iter(loader)
        assert _listed(next(batches) for _ in range(taken)) == everything[:taken]
        state = loader.state_dict()
        assert _listed(batches) == everything[taken:]
        resumed = DataLoader(range(12), batch_sampler=Estimated(said), **way)
        resumed.load_state_dict(state)
        assert [_listed(resumed), _listed(resumed)] == [everything[taken:], everything]


class Fed:
    """A sampler that gives what the training loop says."""

    def __init__(self):
        self.next = queue.SimpleQueue()

    def __iter__(self):
        while (index := self.next.get(timeout=1)) is not None:
            yield index


def test_a_sampler_that_the_training_loop_feeds_is_not_taken_ahead():
    sampler = Fed()
    loader = DataLoader(range(20), sampler=sampler, batch_size=None)
    sampler.next.put(0)
    found = []
    for index in loader:
        found.append(index)
        assert loader.state_dict()["position"] == len(found)
        sampler.next.put(index + 2 if index < 10 else None)
    assert found == [0, 2, 4, 6, 8, 10]


def listed_of_nested(samples):
    return [sample.clone() for sample in samples]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_nested_tensors_come_from_workers(context):
    """Nested tensors without jagged layout have no shape; torch refuses to stack them."""
    dataset = [torch.nested.nested_tensor([torch.full((3,), float(i))]) for i in range(4)]
    way = {"batch_size": 2, "num_workers": 1, "multiprocessing_context": context}
    batches = [*DataLoader(dataset, collate_fn=listed_of_nested, **way)]
    assert [one.unbind()[0].tolist() for batch in batches for one in batch] == [
        [float(i)] * 3 for i in range(4)
    ]
    with pytest.raises(RuntimeError, match="Batches of nested tensors are not"):
        next(iter(DataLoader(dataset, **way)))


def test_a_ledger_that_it_does_not_write_is_told_once(monkeypatch, tmp_path, recwarn):
    monkeypatch.setattr(calling_line, "_given", {})
    for directory, said in (("", 0), (str(tmp_path), 1), (str(tmp_path), 0)):
        monkeypatch.setenv("PYFLOWDATA_LEDGER", directory)
        recwarn.clear()
        assert len([*DataLoader(range(6), 2)]) == 3
        found = [str(one.message) for one in recwarn if one.filename == __file__]
        assert len(found) == said and all("writes no ledger" in one for one in found)
    assert not [*tmp_path.iterdir()]
