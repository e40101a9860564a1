"""Threads that share an iterator of a TorchLoader or DataLoader: each batch goes to one of them.
Threads with an iterator each: each has the batches that it has alone."""

import functools
import itertools
import os
import random
import re
import signal
import sys
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader, TorchLoader  # noqa: E402
from pyflowdata.integrations.torch.data_loader.progress import EpochProgress  # noqa: E402

from torch.utils.data import RandomSampler  # noqa: E402

from support.trainer_truth import numbered_blob  # noqa: E402

RECORDS, BATCH = 60, 2


class Slow(torch.utils.data.Dataset):
    """Other threads may run in the middle of a sample."""

    def __len__(self):
        return RECORDS

    def __getitem__(self, i):
        sum(range(300))
        return i


class Noisy(Slow):
    """Samples draw from the generators of the process, which all threads share."""

    def __getitem__(self, i):
        drawn = random.random()
        return super().__getitem__(i), drawn, np.random.random(), torch.rand(()).item()


class Stream(torch.utils.data.IterableDataset):
    samples = Slow

    def __iter__(self):
        samples = self.samples()
        return (samples[i] for i in range(RECORDS))


class NoisyStream(Stream):
    samples = Noisy


LOADERS = {
    "TorchLoader": lambda: TorchLoader(flow.DataLoader(numbered_blob(RECORDS, BATCH))),
    "inline": lambda: DataLoader(Slow(), BATCH, shuffle=True, seed=3),
    "sampler": lambda: DataLoader(Slow(), BATCH, sampler=[*range(RECORDS)]),
    "threads": lambda: DataLoader(Slow(), BATCH, num_workers=2, workers="threads"),
    "iterable": lambda: DataLoader(Stream(), BATCH),
}
SEEDED = {
    "order": lambda: DataLoader(Noisy(), BATCH, shuffle=True, seed=3),
    "sampler": lambda: DataLoader(Noisy(), BATCH, sampler=RandomSampler(range(RECORDS)), seed=3),
    "iterable": lambda: DataLoader(NoisyStream(), BATCH, seed=3),
    "workers": lambda: DataLoader(Slow(), BATCH, sampler=RandomSampler(range(RECORDS)), seed=3,
                                  num_workers=2, workers="threads"),
}  # fmt: skip


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(calls):
    """Makes the calls at once, each in a thread; raises the first failure."""
    start, failures = threading.Barrier(len(calls)), []

    def run(call):
        start.wait()
        try:
            call()
        except Exception as failure:  # noqa: BLE001  (whatever it is, the test shows it)
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("name", LOADERS)
def test_each_batch_goes_to_one_thread(name, quick_switches):
    loader = LOADERS[name]()
    for _ in range(5):
        batches, found = iter(loader), []
        in_threads([lambda: found.extend(batch.tolist() for batch in batches)] * 3)  # noqa: B023
        assert sorted(i for batch in found for i in batch) == [*range(RECORDS)]


def rows_of(batches):
    return [row for batch in batches for row in zip(*map(torch.Tensor.tolist, as_fields(batch)))]


def as_fields(batch):
    return [batch] if isinstance(batch, torch.Tensor) else batch


def states():
    """The state of the program's generators."""
    numpy = np.random.get_state()
    return random.getstate(), numpy[1].tolist(), numpy[2], torch.get_rng_state().tolist()


@pytest.mark.parametrize("has_one_loader", [True, False], ids=["one loader", "a loader each"])
@pytest.mark.parametrize("name", SEEDED)
def test_each_iterator_has_its_own_batches_beside_others(name, has_one_loader, quick_switches):
    loader = SEEDED[name]()
    expected = [rows_of(loader) for _ in range(3)]  # iter() in a thread may begin another epoch
    for _ in range(5):
        loader, found, before = SEEDED[name](), [], states()
        loaders = [loader if has_one_loader else SEEDED[name]() for _ in range(3)]
        in_threads([lambda one=one: found.append(rows_of(one)) for one in loaders])  # noqa: B023
        assert len(found) == 3 and all(rows in expected for rows in found)
        assert states() == before
        assert sum(one.stats()["records"] for one in {*loaders}) == 3 * RECORDS


def test_an_iterator_has_no_place_of_one_that_starts_while_it_is_made(monkeypatch):
    loader = LOADERS["sampler"]()
    first = iter(loader)
    copied = EpochProgress.unstarted

    def started_before_the_copy(progress):
        next(first, None)  # as another thread does
        return copied(progress)

    monkeypatch.setattr(EpochProgress, "unstarted", started_before_the_copy)
    assert len([*loader]) == RECORDS // BATCH
    assert len([*first]) == RECORDS // BATCH - 1


def test_a_fork_has_batches_while_a_thread_of_its_parent_takes_one():
    is_in_sample, may_end = threading.Event(), threading.Event()

    class Waiting(Slow):
        def __getitem__(self, i):
            is_in_sample.set()
            may_end.wait()
            return i

    taker = threading.Thread(target=lambda: next(iter(DataLoader(Waiting()))))
    taker.start()
    is_in_sample.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(len([*LOADERS["inline"]()]))
    may_end.set()
    taker.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == RECORDS // BATCH


# ---- Every public call beside every other --------------------------------------------------------

REFUSED = re.compile(r"the (Data)?[Ll]oader is closed|this iterator is over|is used once")
NAMES = ("__iter__", "state_dict", "load_state_dict", "__repr__", "__len__", "stats", "report",
         "epoch", "set_epoch", "close", "repeat", "real_rows", "place")  # fmt: skip


def torch_loader():
    return TorchLoader(flow.DataLoader(numbered_blob(RECORDS, 5, shuffle=True, seed=1)))


KINDS = {
    "TorchLoader": torch_loader,
    "drop-in": lambda: DataLoader(range(RECORDS), 5, shuffle=True, seed=1),
    "threads": lambda: DataLoader(
        range(RECORDS), 5, shuffle=True, seed=1, num_workers=2, workers="threads"
    ),
}


def calls_of(loader):
    """The calls of a loader by name."""
    state = loader.state_dict()
    own = {
        "__iter__": lambda: [*loader],
        "load_state_dict": lambda: loader.load_state_dict(state),
        "set_epoch": lambda: loader.set_epoch(3),
        "repeat": lambda: next(iter(loader.repeat())),
    }

    def get(name):
        found = getattr(loader, name)
        return found() if callable(found) else found

    return {
        name: own.get(name, functools.partial(get, name))
        for name in NAMES if hasattr(loader, name)
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_beside_every_other(kind):
    """No crash, no waiting for ever, and no error but of what another thread closed or moved."""
    failures = []

    def make(name, call, beside):
        for _ in range(3):
            try:
                call()
            except flow.Error as failure:
                if not REFUSED.search(str(failure)):
                    failures.append((name, beside, failure))
            except BaseException as failure:  # noqa: BLE001  (told below)
                failures.append((name, beside, failure))

    names = [*calls_of(KINDS[kind]())]
    assert len(names) >= 11
    for one, other in itertools.combinations_with_replacement(names, 2):
        loader = KINDS[kind]()
        calls = calls_of(loader)
        threads = [
            threading.Thread(target=make, args=(a, calls[a], b), daemon=True)
            for a, b in ((one, other), (other, one))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), f"{one} and {other} wait for ever"
        loader.close()
    assert not failures
