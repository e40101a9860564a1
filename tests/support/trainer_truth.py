"""Numbered records for tests of trainers, and which of them each step has: by a loader alone, which
no trainer moves.  Its own oracle is support/oracle.py.
"""

import operator

import numpy as np

import pyflowdata as flow

from .files import lines, write_parts


def numbered_blob(records, batch_size, *, shuffle=True, seed=3, **attrs):
    """The numbers from 0 on, in batches."""
    data = flow.from_arrays({"i": np.arange(records)})
    if shuffle:
        data = data.shuffle(seed=seed)
    return data.batch(batch_size, **attrs)["i"]


def numbered_parts(folder, records):
    """Files for MiniReader, whose record i has i first; returns the folder as data_dir."""
    return write_parts(folder, lines(0, records // 3), lines(records // 3, records))


def epochs_of(loader, epochs, records_of=operator.methodcaller("tolist")):
    """The records of each step of each epoch; the loader is closed."""
    with loader:
        return [[records_of(batch) for batch in loader] for _ in range(epochs)]


def steps_of(loader, epochs, records_of=operator.methodcaller("tolist")):
    """The same, epoch after epoch in one list."""
    return [step for epoch in epochs_of(loader, epochs, records_of) for step in epoch]


def steps_of_parts(folder, batch_size, seed, *, epochs):
    """The records of each step, of numbered_parts() in a shuffled order."""
    record = flow.MiniReader(folder, batch_size=batch_size, shuffle=True, seed=seed)
    return steps_of(flow.DataLoader(record), epochs, lambda x: x[:, 0].astype(int).tolist())
