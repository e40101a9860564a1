"""Random loaders: ours and torch's with the same arguments give the same batches."""

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
data = pytest.importorskip("torch.utils.data")
ours = pytest.importorskip("pyflowdata.integrations.torch")

CONFIGURATIONS = 45
KINDS = {
    "int": lambda i: i,
    "float": lambda i: i / 3,
    "text": lambda i: f"record {i}",
    "scalar": lambda i: np.float32(i),
    "array": lambda i: np.full((2, 3), i, np.int16),
    "tensor": lambda i: torch.full((3,), i, dtype=torch.bfloat16),
    "tuple": lambda i: (torch.tensor([i, -i]), i % 3),
    "dict": lambda i: {"id": i, "x": np.arange(i, i + 4.0), "name": [str(i), {"deep": i}]},
    "empty": lambda i: (torch.empty(0, 2), i),
}


class Rows(data.Dataset):
    """Map-style: row i is of the kind."""

    def __init__(self, count, kind):
        self.count, self.kind = count, kind

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return KINDS[self.kind](int(index))


class RowsAtOnce(Rows):
    """Gives the rows of a batch in one call."""

    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Stream(data.IterableDataset):
    """The same rows one after another, divided among workers."""

    def __init__(self, count, kind):
        self.count, self.kind = count, kind

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, self.count, step):
            yield KINDS[self.kind](index)


def as_they_are(rows):
    return ["as they are", rows]


def random_sampler(rng, rows, count, seed):
    """What a user may give as `sampler`."""
    generator = torch.Generator().manual_seed(seed)
    return [
        lambda: data.SequentialSampler(rows),
        lambda: data.RandomSampler(rows, generator=generator),
        lambda: data.RandomSampler(
            rows, replacement=True, num_samples=count + 3, generator=generator
        ),
        lambda: data.SubsetRandomSampler(range(count // 2), generator=generator),
        lambda: data.DistributedSampler(rows, num_replicas=2, rank=1, seed=seed),
        lambda: [int(each) for each in np.random.default_rng(seed).integers(0, count, count)],
        lambda: range(count - 1, -1, -1),
    ][rng]()


def random_arguments(number):
    """Arguments of a loader, without its sampler, and what makes that."""
    rng = np.random.default_rng(number)
    count = int(rng.integers(1, 30))
    kind = [*KINDS][number % len(KINDS)]
    rows = [Rows, RowsAtOnce, Stream][rng.integers(3)](count, kind)
    given = {"num_workers": int(rng.choice([0, 0, 0, 1, 2]))}
    if given["num_workers"]:
        given["prefetch_factor"] = int(rng.integers(1, 4))
        given["persistent_workers"] = bool(rng.integers(2))
    if rng.integers(4) == 0:
        given["collate_fn"] = as_they_are
    size = None if rng.integers(5) == 0 else int(rng.integers(1, 9))
    sampler = functools.partial(random_sampler, rng.integers(7), rows, count, number)
    drop_last = bool(size and rng.integers(2))
    if isinstance(rows, Stream):
        return rows, {**given, "batch_size": size, "drop_last": drop_last}, dict
    if size and rng.integers(3) == 0:
        return rows, given, lambda: {"batch_sampler": data.BatchSampler(sampler(), size, drop_last)}
    given |= {"batch_size": size, "drop_last": drop_last}
    return rows, given, dict if rng.integers(4) == 0 else lambda: {"sampler": sampler()}


def same(one, other):
    """True if both are of the same types, with the same values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return [*one] == [*other] and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("number", range(CONFIGURATIONS))
def test_batches_are_those_of_torch(number):
    """Two epochs, with the same sampler."""
    rows, given, sampler = random_arguments(number)
    torchs = data.DataLoader(rows, **given, **sampler())
    loader = ours.DataLoader(rows, **given, **sampler())
    for _ in range(2):
        expected, found = list(torchs), list(loader)
        assert same(found, expected), (given, found, expected)
    assert sized(loader) == sized(torchs)


def sized(loader):
    try:
        return len(loader)
    except TypeError:
        return None


@pytest.mark.parametrize("number", range(0, CONFIGURATIONS, 2))
def test_a_resumed_loader_goes_on(number):
    """A state from any batch of an epoch, with another number of workers for rows."""
    rows, given, sampler = random_arguments(number)
    whole = ours.DataLoader(rows, **given, **sampler(), seed=number)
    expected = [*whole, *whole]
    rng = np.random.default_rng(-number % 1000 + 1000)
    taken = int(rng.integers(0, len(expected) // 2 + 1))
    stopped = ours.DataLoader(rows, **given, **sampler(), seed=number)
    batches = iter(stopped)
    for _ in range(taken):
        next(batches)
    state = stopped.state_dict()
    del batches
    if not isinstance(rows, Stream):
        given = {**given, "num_workers": 0 if given["num_workers"] else 2}
        given.pop("prefetch_factor", None), given.pop("persistent_workers", None)
    resumed = ours.DataLoader(rows, **given, **sampler(), seed=number)
    resumed.load_state_dict(state)
    found = [*resumed, *resumed]
    assert same(found, expected[taken:]), (given, taken, found, expected)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("number", range(6))
def test_shuffled_rows_are_all_rows(number, workers):
    """The order of shuffle=True is ours: each epoch has each row once, in batches as torch's."""
    rng = np.random.default_rng(number)
    count, size = int(rng.integers(2, 50)), int(rng.integers(1, 9))
    given = dict(batch_size=size, shuffle=True, num_workers=workers, drop_last=number % 2 == 1)
    torchs = data.DataLoader(Rows(count, "int"), **given)
    loader = ours.DataLoader(Rows(count, "int"), **given)
    orders = []
    for _ in range(2):
        batches = [batch.tolist() for batch in loader]
        assert [len(each) for each in batches] == [len(each) for each in torchs]
        orders.append([each for batch in batches for each in batch])
        assert len(set(orders[-1])) == len(orders[-1])
        assert set(orders[-1]) <= set(range(count))
    assert count < 8 or orders[0] != orders[1]
