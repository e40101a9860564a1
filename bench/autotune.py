"""num_threads="auto" and prefetch="auto" beside the defaults: what the search costs and finds.

    python -m bench.autotune [--rounds 5] [--seconds 10] [--scale 0.1] [--only W1a waits]

The workloads of bench/README.md, and one whose op waits 5 ms for each batch of 64, as for a server.
Bare: nothing is done with batches.  Trained: the loop computes for as long as the loader by default
takes for a batch, so that neither waits long for the other.  Each figure is of a new loader, with
the first batch left out: the trials of the search are in it.  Rounds are interleaved; a ratio is
the median of those within the rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pyflowdata as flow
from bench.columns import VALUES
from bench.contender import Source
from bench.data import Data
from bench.digits import SCALE, Images
from bench.examples import Examples
from bench.peers import pyflowdata as ours
from bench.text import Text

WAIT_SECONDS = 0.005


@flow.register_decoder(outputs={"out": lambda row: row})
def served(row: Any) -> Any:
    """Waits, as for a server."""
    time.sleep(WAIT_SECONDS)
    return row


def _examples(source: Source) -> Any:
    records = flow.TFRecordReader(files=source.files, batch_size=source.batch_size)
    return flow.ExampleDecoder(records, features=[f"x:float32[{VALUES}]", "y:int64"])


def _images(source: Source) -> Any:
    pixels, labels = ours.idx(source, random_shuffle=True)
    return flow.Affine(pixels, scale=SCALE, dtype="float32"), labels


def _served(source: Source) -> Any:
    x, y = ours.lines(source)
    return served(x), y


# By name: data, batch size, and the blobs that are read.
WORKLOADS: dict[str, tuple[Data, int, Callable[[Source], Any]]] = {
    "W0, batches of 10": (Text(16, short=1.0), 10, ours.lines),
    "W0, batches of 256": (Text(16, short=1.0), 256, ours.lines),
    "W1a": (Text(1000), 4096, ours.lines),
    "W2a": (Examples(606), 1024, _examples),
    "W3": (Images(), 64, _images),
    "waits": (Text(16, short=1.0), 64, _served),
}
AUTO = {"num_threads": "auto", "prefetch": "auto"}


def compute(seconds: float) -> None:
    """Keeps this thread busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def rate(blobs: Any, seconds: float, train: float, **options: Any) -> tuple[float, str]:
    """Batches a second of a new loader, and what became of its settings."""
    with flow.DataLoader(*blobs, **options) as loader:
        batches, count = loader.repeat(), 0
        next(batches)
        begin = now = time.perf_counter()
        while now - begin < seconds:
            next(batches)
            if train:
                compute(train)
            count += 1
            now = time.perf_counter()
        return count / (now - begin), f"{loader.num_threads} threads, prefetch {loader.prefetch}"


def measure(name: str, scale: float, rounds: int, seconds: float) -> None:
    data, batch_size, blobs_of = WORKLOADS[name]
    data = data.scaled(scale)
    data.prepare()
    blobs = blobs_of(Source(str(data.folder), data.files(), batch_size))
    bare, _ = rate(blobs, seconds / 4, 0.0)  # also brings the files into the page cache
    for kind, train in (("bare", 0.0), ("trained", 1 / bare)):
        found = []
        for turn in range(rounds):
            order = ({}, AUTO) if turn % 2 else (AUTO, {})
            rates = {bool(options): rate(blobs, seconds, train, **options) for options in order}
            found.append((rates[False][0], rates[True][0], rates[True][1]))
        usual, tuned = (median(one[i] for one in found) for i in (0, 1))
        ratios = sorted(one[1] / one[0] for one in found)
        print(
            f"| {name} | {kind} | {usual:,.0f} | {tuned:,.0f} | {median(ratios):.3f} "
            f"| {ratios[0]:.3f} to {ratios[-1]:.3f} | {found[-1][2]} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="The search beside the defaults.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--scale", type=float, default=0.1, help="of the data")
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    arguments = parser.parse_args()
    print("| workload | loop | default, batches/s | auto | ratio | of rounds | found |")
    print("| --- | --- | ---: | ---: | ---: | --- | --- |")
    for name in WORKLOADS:
        if not arguments.only or name.startswith(tuple(arguments.only)):
            measure(name, arguments.scale, arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
