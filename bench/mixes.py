"""Mixes of sources by weights: records a second, and how far counts are from the weights.

    python -m bench.mixes
    python -m bench.mixes --peers grain tf --rounds 1

A source is a file of int64 numbers (.npy) that tell the source; batches of 1024.  Each figure is
the median of interleaved rounds, in processes of their own.  The clock of `first batch` begins
before the sources are opened; `k records/s` is of what follows it, until 3 seconds and 100,000
records are over.  `deviation` is the largest difference, over all of the first 100,000 prefixes and
all sources, between the records drawn of a source and its share of the prefix.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import own_process, programs
from bench.environments import OURS, interpreter, versions

ROWS, SECONDS, BATCH = 100_000, 3.0, 1024
Numbers = npt.NDArray[np.int64]

# Shares of the sources of LLaMA 1 (Touvron et al., 2023), and 60 of very different sizes.
WEIGHTS = {
    "7 sources, as LLaMA's": [67, 15, 4.5, 4.5, 4.5, 2.5, 2],
    "60 sources, log-normal": np.random.RandomState(60).lognormal(0, 1.5, 60).round(3).tolist(),
}


def records_of(sources: int) -> int:
    return 20_000_000 // sources


def files_of(sources: int) -> list[str]:
    folder = programs.BUILD / "data" / f"mix-{sources}"
    folder.mkdir(parents=True, exist_ok=True)
    paths, count = [folder / f"source-{i}.npy" for i in range(sources)], records_of(sources)
    for i, path in enumerate(paths):
        if not path.exists():
            np.save(path, np.arange(i * count, (i + 1) * count))
    return list(map(str, paths))


# ---- Contenders: functions of files and weights, which deliver batches -------------------------


def regular(files: list[str], weights: list[float], **options: Any) -> Iterable[Any]:
    """flow.mix, the defaults."""
    import pyflowdata as flow

    mix = flow.mix([flow.open(path) for path in files], weights=weights, **options)
    (numbers,) = mix.batch(BATCH)
    return flow.DataLoader(numbers)


def in_random_turns(files: list[str], weights: list[float]) -> Iterable[Any]:
    """flow.mix(interleave="random")."""
    return regular(files, weights, interleave="random")


def interleave_datasets(files: list[str], weights: list[float]) -> Iterable[Any]:
    """interleave_datasets of Arrow tables in memory, batches as NumPy arrays."""
    import datasets

    tables = [datasets.Dataset.from_dict({"x": np.load(path)}) for path in files]
    shares = (np.array(weights) / sum(weights)).tolist()
    mix = datasets.interleave_datasets(tables, probabilities=shares, seed=7)
    return (batch["x"] for batch in mix.with_format("numpy").iter(BATCH))


def interleave_iterables(files: list[str], weights: list[float]) -> Iterable[Any]:
    """The same of iterable data sets."""
    import datasets

    tables = [datasets.Dataset.from_dict({"x": np.load(path)}) for path in files]
    streams = [table.to_iterable_dataset() for table in tables]
    shares = (np.array(weights) / sum(weights)).tolist()
    mix = datasets.interleave_datasets(streams, probabilities=shares, seed=7)
    return (batch["x"] for batch in mix.iter(BATCH))


def map_dataset_mix(files: list[str], weights: list[float]) -> Iterable[Any]:
    """MapDataset.mix of arrays in memory, batch, read threads."""
    import grain

    sources = [grain.MapDataset.source(np.load(path)) for path in files]
    mix = grain.MapDataset.mix(sources, weights=weights)
    batches: Iterable[Any] = mix.batch(BATCH).to_iter_dataset(
        grain.ReadOptions(num_threads=programs.cores(), prefetch_buffer_size=8)
    )
    return batches


def sample_from_datasets(files: list[str], weights: list[float]) -> Iterable[Any]:
    """sample_from_datasets of tensors in memory, batch, prefetch."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    sources = [tf.data.Dataset.from_tensor_slices(np.load(path)) for path in files]
    shares = (np.array(weights) / sum(weights)).tolist()
    mix = tf.data.Dataset.sample_from_datasets(sources, shares, 7, stop_on_empty_dataset=True)
    batches: Iterable[Any] = mix.batch(BATCH).prefetch(2).as_numpy_iterator()
    return batches


Contender = Callable[[list[str], list[float]], Iterable[Any]]
CONTENDERS: dict[str, list[Contender]] = {
    OURS: [regular, in_random_turns],
    "datasets": [interleave_datasets, interleave_iterables],
    "grain": [map_dataset_mix],
    "tf": [sample_from_datasets],
}


# ---- Measuring, in the process of a contender ---------------------------------------------------


def deviation(sources: Numbers, weights: list[float]) -> float:
    rows, worst = np.arange(1, len(sources) + 1), 0.0
    for source, weight in enumerate(weights):
        counts = np.cumsum(sources == source)
        worst = max(worst, float(np.abs(counts - rows * (weight / sum(weights))).max()))
    return worst


def measure(contender: Contender, files: list[str], weights: list[float]) -> dict[str, float]:
    began = time.perf_counter()
    batches: Iterator[Any] = iter(contender(files, weights))
    kept, rows = [np.array(next(batches))], 0
    first = time.perf_counter()
    while rows < ROWS or time.perf_counter() - first < SECONDS:
        batch = next(batches, None)
        if batch is None:
            break
        rows += len(batch)
        if rows < ROWS + BATCH:
            kept.append(np.array(batch))
    seconds = time.perf_counter() - first
    numbers = np.concatenate(kept)[:ROWS]
    assert len(numbers) == ROWS, "the mix ended early"
    return {
        "first": first - began,
        "rate": rows / seconds,
        "deviation": deviation(numbers // records_of(len(files)), weights),
    }


def child(peer: str, name: str, title: str) -> None:
    weights = WEIGHTS[title]
    (contender,) = [each for each in CONTENDERS[peer] if each.__name__ == name]
    own_process.answer(lambda: measure(contender, files_of(len(weights)), weights))


# ---- The table ----------------------------------------------------------------------------------


def show(title: str, results: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    print(f"\n**{title}**\n")
    print("| contender | k records/s | first batch ms | deviation |\n|---|---|---|---|")
    for (peer, name), rounds in results.items():
        if rounds:
            rate, first, far = (
                median(each[key] for each in rounds) for key in ("rate", "first", "deviation")
            )
            print(f"| {peer}.{name} | {rate / 1e3:,.0f} | {first * 1e3:,.0f} | {far:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Mixes of sources by weights.")
    parser.add_argument("--peers", nargs="*", default=[peer for peer in CONTENDERS if peer != OURS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
    pythons = {peer: interpreter(peer)[0] for peer in [OURS, *arguments.peers]}
    print(versions(arguments.peers))
    for title, weights in WEIGHTS.items():
        files_of(len(weights))
        names = [(peer, each.__name__) for peer in pythons for each in CONTENDERS[peer]]
        results: dict[tuple[str, str], list[dict[str, float]]] = {name: [] for name in names}
        for _, (peer, name) in itertools.product(range(arguments.rounds), names):
            python, wanted = pythons[peer], (peer, name, title)
            found = own_process.run(python, "bench.mixes", *wanted) if python else None
            results[peer, name] += [found] if found else []
        show(title, results)


if __name__ == "__main__":
    main()
