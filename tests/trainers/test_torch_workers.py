"""A loader in worker processes of torch.utils.data.DataLoader: together they give its batches."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402
from support.files import lines, write_parts  # noqa: E402

RECORDS, BATCH = 29, 4


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 11), lines(11, RECORDS))


def blob_of(folder, **attrs):
    return flow.MiniReader(folder, batch_size=BATCH, shuffle=True, seed=3, with_id=True, **attrs)[1]


def open_loader(blob, **options):
    return flow.DataLoader(blob, num_threads=1, prefetch=2, **options)


def records(batches):
    return [batch[:, 1].tolist() for batch in batches]


class Reading(IterableDataset):
    """Makes a graph of its own in each worker, or takes one that was made before."""

    def __init__(self, folder, *, blob=None, options=None, **attrs):
        self.folder, self.blob, self.options, self.attrs = folder, blob, options or {}, attrs

    def __iter__(self):
        blob = blob_of(self.folder, **self.attrs) if self.blob is None else self.blob
        with open_loader(blob, **self.options) as loader:
            for batch in loader:
                yield torch.from_numpy(batch)


class ReadingRows(Reading):
    def __iter__(self):
        return itertools.chain.from_iterable(super().__iter__())


def of_workers(dataset, count, **options):
    return [*DataLoader(dataset, batch_size=None, num_workers=count, **options)]


def plain(folder, **attrs):
    with open_loader(blob_of(folder, **attrs)) as loader:
        return records(loader)


@pytest.mark.parametrize("made", ["in the worker", "before"])
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_any_number_of_workers_gives_the_same_batches(folder, count, made):
    blob = blob_of(folder) if made == "before" else None
    assert records(of_workers(Reading(folder, blob=blob), count)) == plain(folder)


@pytest.mark.slow
def test_workers_that_are_spawned_give_the_same_batches(folder):
    dataset = Reading(folder, blob=blob_of(folder))
    assert records(of_workers(dataset, 2, multiprocessing_context="spawn")) == plain(folder)


def test_rows_that_torch_puts_together_come_once(folder):
    batches = [*DataLoader(ReadingRows(folder), batch_size=5, num_workers=2)]
    assert sorted(sum(records(batches), [])) == list(range(RECORDS))


def test_ranks_and_workers_share_the_records(folder, monkeypatch):
    even = {"last_batch": "even"}
    expected = [plain(folder, rank=rank, world_size=2, **even) for rank in range(2)]
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        assert records(of_workers(Reading(folder, **even), 2)) == expected[rank]


def test_ranks_by_hand_may_count_the_workers_and_are_asked_for(folder):
    with pytest.raises(flow.InvalidArgumentError, match=r"worker 0 of 2 .* share=\(0, 2\)"):
        of_workers(Reading(folder, rank=0, world_size=2), 2)
    dataset = Reading(folder, rank=0, world_size=2, options={"share": (0, 1)})
    assert len(of_workers(dataset, 2)) == 2 * len(plain(folder, rank=0, world_size=2))
    assert len(of_workers(Reading(folder, rank=0, world_size=1), 2)) == 2 * len(plain(folder))


class Tensors(Reading):
    """With state, as torchdata's StatefulDataLoader asks for; in batches of a TorchLoader."""

    loader = None

    def _opened(self):
        if self.loader is None:
            self.loader = TorchLoader(open_loader(blob_of(self.folder)))
        return self.loader

    def __iter__(self):
        yield from self._opened()

    def state_dict(self):
        return self._opened().state_dict()

    def load_state_dict(self, state):
        self._opened().load_state_dict(state)


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
@pytest.mark.parametrize("taken", [1, 4, 7, 8])
def test_torchdata_resumes_workers(folder, taken):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    whole = plain(folder)

    def opened():
        return stateful(Tensors(folder), batch_size=None, num_workers=2)

    first = opened()
    batches = iter(first)
    done = records(itertools.islice(batches, taken))
    state = first.state_dict()
    del batches
    second = opened()
    second.load_state_dict(state)
    assert done + records(second) == whole
