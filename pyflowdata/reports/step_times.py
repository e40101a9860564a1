"""Steps of a training loop, timed in the loop itself: for one that takes batches from a queue."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from ..native import lib
from .counters import Counters

Times = npt.NDArray[np.float64]


class StepTimes:
    """How long steps waited for their batches, and how long they trained.

    A loader counts this of the thread that calls next().  Where that thread fills a queue, the
    steps of the loop are others, and the loop counts them here.  Used by one thread at a time.
    """

    def __init__(self, batches: int) -> None:
        """Args: batches of the loader in each step; a step here counts as so many."""
        self._batches = batches
        self._starts = self._steps = self._waited = 0
        self._start_seconds = self._wait_seconds = self._train_seconds = 0.0
        self._waits, self._trains = [0] * lib.PFD_DURATIONS, [0] * lib.PFD_DURATIONS

    def add_start(self, wait: float) -> None:
        """The first step of an epoch: seconds until it had its batch."""
        self._starts += 1
        self._start_seconds += wait

    def add(self, wait: float, train: float, has_waited: bool) -> None:
        """Another step, in seconds; has_waited: its batch was not there when it was asked for."""
        batches = self._batches
        self._steps += batches
        self._wait_seconds += wait
        self._train_seconds += train
        self._trains[_power(train / batches)] += batches
        if has_waited:
            self._waited += batches
            self._waits[_power(wait / batches)] += batches

    def add_many(self, waits: Times, trains: Times, has_waited: npt.NDArray[np.bool_]) -> None:
        """Several steps: their times in seconds, float64, and which of them waited."""
        batches, waited = self._batches, waits[has_waited]
        self._steps += batches * len(waits)
        self._wait_seconds += float(waits.sum())
        self._train_seconds += float(trains.sum())
        self._waited += batches * len(waited)
        for counts, times in ((self._trains, trains), (self._waits, waited)):
            for power in _powers(times / batches):
                counts[power] += batches

    def stats(self) -> dict[str, float]:
        """These steps, by the names of DataLoader.stats()."""
        return {
            "starts": self._starts,
            "start_seconds": self._start_seconds,
            "steps": self._steps,
            "waited_steps": self._waited,
            "step_wait_seconds": self._wait_seconds,
            "step_train_seconds": self._train_seconds,
        }

    def put_into(self, counters: Counters) -> Counters:
        """What a loader counted, with these steps in place of its own."""
        history = dataclasses.replace(
            counters.history, waits=tuple(self._waits), trains=tuple(self._trains)
        )
        stats = {**counters.stats, **self.stats()}
        return dataclasses.replace(counters, stats=stats, history=history)


def _power(seconds: float) -> int:
    """i for a duration of 2**i ns up to twice that, as in History."""
    power = max(int(seconds * 1e9), 1).bit_length() - 1
    return int(min(power, lib.PFD_DURATIONS - 1))


def _powers(seconds: Times) -> list[int]:
    """_power() of each."""
    _, powers = np.frexp(np.maximum(np.floor(seconds * 1e9), 1.0))
    found: list[int] = np.minimum(powers - 1, lib.PFD_DURATIONS - 1).tolist()
    return found
