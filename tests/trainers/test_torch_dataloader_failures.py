"""DataLoader when workers, samplers and datasets fail: what is raised, and what is lost."""

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402

from support.programs import environment  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader  # noqa: E402

FORK = {"num_workers": 1, "multiprocessing_context": "fork"}
WAYS = [{}, FORK]


class Numbers(torch_data.Dataset):
    def __init__(self, samples=20, get=lambda index: index):
        self.samples, self.get = samples, get

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        return self.get(index)


class Stream(torch_data.IterableDataset):
    def __init__(self, samples, bad=None):
        self.samples, self.bad = samples, bad

    def __iter__(self):
        return self.Reader(self)

    class Reader:
        """An iterator that goes on after it raised."""

        def __init__(self, stream):
            self.stream, self.at = stream, 0

        def __iter__(self):
            return self

        def __next__(self):
            at, self.at = self.at, self.at + 1
            if at == self.stream.bad:
                raise ValueError(f"bad record {at}")
            if at >= self.stream.samples:
                raise StopIteration
            return at


def rest(batches):
    return [batch.tolist() for batch in batches]


# ---- A worker that dies --------------------------------------------------------------------------


@pytest.mark.parametrize("is_kept", [False, True])
def test_after_a_workers_death_the_state_is_where_it_was_and_new_workers_follow(tmp_path, is_kept):
    once = tmp_path / "once"
    once.touch()

    def get(index):
        if index == 10 and once.exists():
            once.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return index

    options = {**FORK, "prefetch_factor": 1, "persistent_workers": is_kept}
    loader = DataLoader(Numbers(get=get), 2, **options)
    batches, delivered = iter(loader), []
    with pytest.raises(RuntimeError, match="sample 10"):
        delivered += [batch.tolist() for batch in batches]
    assert next(batches, None) is None
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == (0, 5)
    resumed = DataLoader(Numbers(), 2)
    resumed.load_state_dict(state)
    assert rest(resumed) == [[i, i + 1] for i in range(10, 20, 2)]
    assert rest(loader) == [[i, i + 1] for i in range(0, 20, 2)]  # the next epoch
    loader.close()


def test_a_fork_of_the_program_starts_workers_of_its_own():
    with DataLoader(Numbers(), 5, persistent_workers=True, **FORK) as loader:
        whole = rest(loader)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if rest(loader) == whole else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert rest(loader) == whole


def test_busy_workers_are_ended_together(monkeypatch):
    from pyflowdata.integrations.torch.data_loader import workers

    monkeypatch.setattr(workers, "_CLOSE_SECONDS", 1.0)
    loader = DataLoader(Numbers(get=lambda i: i if i < 4 else time.sleep(60)), 1, num_workers=4,
                        prefetch_factor=3, multiprocessing_context="fork")  # fmt: skip
    batches = iter(loader)
    next(batches)
    begin = time.monotonic()
    del batches
    assert time.monotonic() - begin < 3.5  # one after the other they take 4 seconds


PROGRAM = """
import multiprocessing, os, sys, time
import torch.utils.data
from pyflowdata.integrations.torch import DataLoader

class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        return "x" * 3500

loader = DataLoader(
    Texts(), 1, num_workers=2, prefetch_factor=200, multiprocessing_context=sys.argv[1]
)
if __name__ == "__main__":
    batches = iter(loader)
    next(batches)
    time.sleep(1)  # the connections are full
    child = os.fork()  # it outlives the program, and has its ends of the connections
    if child == 0:
        time.sleep(60)
    workers = [one.pid for one in multiprocessing.active_children()]
    with open(sys.argv[2], "w") as file:
        print(child, *workers, file=file)
    os.kill(os.getpid(), 9)
"""


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_end_with_a_program_that_was_killed(tmp_path, way):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    pids = tmp_path / "pids"
    done = subprocess.run(
        [sys.executable, script, way, pids], env=environment(), check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    child, *workers = pids.read_text().split()
    try:
        assert len(workers) == 2
        until = time.monotonic() + 40
        while any(map(is_there, workers)) and time.monotonic() < until:
            time.sleep(0.2)
        assert [one for one in workers if is_there(one)] == []
    finally:
        os.kill(int(child), signal.SIGKILL)


# ---- Messages ------------------------------------------------------------------------------------


def test_a_prefetch_factor_that_fills_the_connection_does_not_block():
    loader = DataLoader(Numbers(1500), 1, prefetch_factor=1500, timeout=60, **FORK)
    assert rest(loader) == [[i] for i in range(1500)]


def test_indices_that_cannot_be_sent_fail_for_their_batch_alone():
    batches = [[0, 1], [2, lambda: 0], [4, 5]]
    loader = DataLoader(Numbers(), batch_sampler=batches, timeout=60, **FORK)
    steps = iter(loader)
    assert next(steps).tolist() == [0, 1]
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        next(steps)
    assert rest(steps) == [[4, 5]]


@pytest.mark.parametrize("way", WAYS)
def test_arrays_without_elements(way):
    loader = DataLoader(
        Numbers(2, lambda i: np.empty((0, 4), np.float32)), 2, collate_fn=list, **way
    )
    (batch,) = loader
    assert [(one.shape, one.dtype) for one in batch] == [((0, 4), np.float32)] * 2


class Collating(Stream):
    """Collates by itself, and sums, so that what was made before must stay."""

    def __iter__(self):
        for at in range(self.samples):
            yield torch_data.default_collate([torch.full((600,), float(at))] * 2)


@pytest.mark.parametrize("way", WAYS)
def test_an_iterable_dataset_that_collates_is_resumed(way):
    loader = DataLoader(Collating(6), None, **way)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    resumed = DataLoader(Collating(6), None, **way)
    resumed.load_state_dict(loader.state_dict())
    assert [float(batch[0, 0]) for batch in resumed] == [3, 4, 5]


def test_worker_init_fn_may_collate():
    def init(_):
        assert torch_data.default_collate([torch.ones(600)] * 2).sum() == 1200

    assert rest(DataLoader(Numbers(4), 2, worker_init_fn=init, **FORK)) == [[0, 1], [2, 3]]


# ---- Iterable datasets ---------------------------------------------------------------------------


def taken(batches, count):
    found = []
    for _ in range(count):
        try:
            found.append(next(batches).tolist())
        except ValueError:
            found.append("bad")
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_record_that_failed_before_the_state_does_not_fail_again(way):
    loader = DataLoader(Stream(12, bad=3), 2, **way)
    batches = iter(loader)
    before = taken(batches, 4)
    assert before.count("bad") == 1
    state = loader.state_dict()
    resumed = DataLoader(Stream(12, bad=3), 2, **way)
    resumed.load_state_dict(state)
    assert rest(resumed) == rest(batches)


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_that_has_become_shorter_is_named(way):
    loader = DataLoader(Stream(12), 2, **way)
    taken(iter(loader), 5)
    resumed = DataLoader(Stream(6), 2, **way)
    resumed.load_state_dict(loader.state_dict())
    with pytest.raises(flow.InvalidArgumentError, match="after 5 batches .* now has 3"):
        next(iter(resumed))


class BadState(Stream):
    def __init__(self, state):
        super().__init__(12)
        self.state = state

    def state_dict(self):
        return self.state()

    def load_state_dict(self, state):
        pass


def no_state():
    raise KeyError("no state")


@pytest.mark.parametrize("state, failure", [
    (no_state, KeyError), (lambda: lambda: 0, (AttributeError, TypeError, pickle.PicklingError)),
])  # fmt: skip
def test_a_state_that_cannot_be_had_is_an_error_of_its_own_type(state, failure):
    with pytest.raises(failure):
        list(DataLoader(BadState(state), 2, **FORK))


# ---- Arguments -----------------------------------------------------------------------------------


def test_a_seed_of_numpy():
    loader = DataLoader(Numbers(), 4, shuffle=True, seed=np.int64(3))
    assert rest(loader) == rest(DataLoader(Numbers(), 4, shuffle=True, seed=3))
    assert type(loader.state_dict()["seed"]) is int


def test_a_dataset_without_a_length_fails_as_torchs_when_it_is_iterated():
    class Endless:
        def __getitem__(self, index):
            return index

    loader = DataLoader(Endless(), 2)
    with pytest.raises(TypeError, match="len()"):
        next(iter(loader))


@pytest.mark.parametrize("arguments, said", [
    ({"timeout": 1}, "timeout = 1 with num_workers=0"),
    ({"timeout": float("nan"), "num_workers": 1}, "timeout = nan"),
    ({"generator": 5}, "generator = 5"),
    ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor = 0"),
    ({"prefetch_factor": 1.5, "num_workers": 1}, "prefetch_factor = 1.5"),
    ({"num_workers": 1.5}, "num_workers = 1.5"),
])  # fmt: skip
def test_arguments_that_torch_refuses_later_are_refused_and_named(arguments, said):
    with pytest.raises(flow.InvalidArgumentError, match=said):
        DataLoader(Numbers(), 2, **arguments)
