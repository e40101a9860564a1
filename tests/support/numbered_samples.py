"""Datasets of numbered samples for torch's DataLoader, and what its batches hold."""

import json
import os
import random
import signal
import time

import numpy as np
import pytest
import torch
import torch.utils.data as torch_data

SAMPLES, BATCH, STEPS = 22, 4, 6
NEW = {"num_workers": 1, "multiprocessing_context": "forkserver"}  # a process that is no fork
WAYS = [
    {},
    {"num_workers": 2},
    pytest.param(NEW, marks=pytest.mark.slow),
    {"num_workers": 2, "workers": "threads"},
]
PROCESSES = WAYS[:3]


class Numbers(torch_data.Dataset):
    """Sample i has i, an array that is large enough for shared memory, and draws."""

    def __init__(self, samples=SAMPLES, *, draws=False, bad=None, end=None, slow=None):
        self.samples, self.draws = samples, draws
        self.bad, self.end, self.slow = bad, end, slow

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        if index == self.bad:
            raise KeyError(f"no sample {index}")
        if index == self.end:
            os.kill(os.getpid(), signal.SIGKILL)
        if index == self.slow:
            time.sleep(60)
        drawn = (random.random(), np.random.rand(), torch.rand(2)) if self.draws else ()
        return index, np.full((300,), index, np.float32), *drawn


class Counting(torch_data.IterableDataset):
    """Numbers, of which each worker has its part."""

    def __init__(self, samples=SAMPLES):
        self.samples = samples

    def __iter__(self):
        info = torch_data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.samples, step))


class Placed(Counting):
    """The same, with a state; it counts the samples that it gave, so that reading again shows."""

    def __init__(self, samples=SAMPLES):
        super().__init__(samples)
        self.at = None

    def __iter__(self):
        info = torch_data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        self.at = first if self.at is None else self.at
        while self.at < self.samples:
            self.at += step
            yield self.at - step
        self.at = None

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def ids(batches):
    return [batch[0].tolist() for batch in batches]


def values(batches):
    return [[part.tolist() for part in batch] for batch in batches]


def taken(loader, count):
    batches = iter(loader)
    return [next(batches) for _ in range(count)]


def over_json(state):
    return json.loads(json.dumps(state))
