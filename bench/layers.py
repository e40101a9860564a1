"""Where the time of a small batch goes: loops that each do one layer more than the one before.

    python -m bench.layers [BATCH_SIZE [ROUNDS]]                10 and 20 unless given

Every loop takes an epoch of W0's data, on one core, so that CPU time is all there is, and other
programs hardly count.  Rounds are interleaved; a layer is the median of what its loop takes more
than the one before it in the same round.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from pyflowdata.loader import batches
from pyflowdata.native import check, lib, new_error

from bench import programs
from bench.contender import Source
from bench.peers.pyflowdata import engine, loader
from bench.text import Text

PARTS = 8
NEVER = 2**62


class Layers:
    """Methods that each take an epoch, and say in their docstrings what they add."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loader = loader(source)
        self._batches = sum(1 for _ in self._loader)
        self._arrays = self._loader._opened.arrays
        self._epoch = 0

    def time(self, layer: Callable[[Layers], float | None]) -> float:
        """CPU microseconds a batch."""
        began = time.process_time()
        seconds = layer(self)
        return 1e6 * (seconds or time.process_time() - began) / self._batches

    def program(self) -> float:
        """the engine from C: batches made, next(), release"""
        output = subprocess.check_output(engine(self._source))
        return float(json.loads(output)["cpu"])

    def _each(self, take: Callable[[], Any]) -> None:
        self._epoch += 1
        handle, batch, err = self._loader._opened.handle, self._arrays.batch, new_error()
        next_batch = lib.pfd_loader_next
        while (status := lib.pfd_loader_seek(handle, self._epoch, 0, err)) == lib.PFD_PENDING:
            pass
        check(status, err)
        while next_batch(handle, NEVER, batch, err) == 0:
            take()

    def calls(self) -> None:
        """these two called from Python"""
        batch, release = self._arrays.batch, lib.pfd_batch_release
        self._each(lambda: release(batch.memory))

    def owner(self) -> None:
        """fields read; an owner that releases the batch when it is collected"""
        batch, fields = self._arrays.batch, self._arrays._bytes

        def take() -> None:
            batches._read_batch(fields)
            memory, batch.memory = batch.memory, batches._NULL
            batches._buffer(batches._gc(memory, batches._release), 64)

        self._each(take)

    def arrays(self) -> None:
        """two arrays"""
        self._each(self._arrays.take)

    def iterate(self) -> None:
        """the iterator: lock, signals, position, tuple"""
        for _ in self._loader:
            pass


LAYERS = (Layers.program, Layers.calls, Layers.owner, Layers.arrays, Layers.iterate)


def main(batch_size: int = 10, rounds: int = 20) -> None:
    text = Text(16, short=1.0)
    text.prepare()
    programs.build()
    layers = Layers(Source(str(text.folder), text.files(PARTS), batch_size))
    times = [[layers.time(layer) for layer in LAYERS] for _ in range(rounds)]
    print(f"CPU us of a batch of {batch_size}, medians of {rounds} rounds\n")
    print("| layer | more | together |\n| --- | --- | --- |")
    for number, layer in enumerate(LAYERS):
        more = median(row[number] - (row[number - 1] if number else 0) for row in times)
        print(f"| {layer.__doc__} | {more:.2f} | {median(row[number] for row in times):.2f} |")


if __name__ == "__main__":
    with programs.pinned(1):
        main(*map(int, sys.argv[1:]))
