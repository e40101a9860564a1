"""torch: DataLoader over rows, and over batches that pandas reads.

Without workers: for batches this cheap, worker processes make every form slower.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from bench import programs, reservoir, tokens
from bench.contender import Source, contender


class Stream(IterableDataset[Any]):
    """What a function yields, anew in each epoch."""

    def __init__(self, function: Any, source: Source) -> None:
        self._function, self._source = function, source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._function(self._source))


def rows(source: Source) -> Iterator[tuple[float, float]]:
    for path in source.files:
        with open(path) as lines:
            for line in lines:
                x, y = line.split(",")
                yield float(x), float(y)


def shuffled_rows(source: Source) -> Iterator[tuple[float, float]]:
    """A row enters the buffer, one leaves it."""
    chosen = random.Random(7)
    waiting: list[tuple[float, float]] = []
    for row in rows(source):
        if len(waiting) < reservoir.SIZE:
            waiting.append(row)
            continue
        place = int(chosen.random() * reservoir.SIZE)
        yield waiting[place]
        waiting[place] = row
    chosen.shuffle(waiting)
    yield from waiting


def collate(batch: list[tuple[float, float]]) -> Any:
    return torch.tensor(batch, dtype=torch.float64).unbind(1)


def tables(source: Source) -> Iterator[Any]:
    for path in source.files:
        frame = pandas.read_csv(path, header=None, names=["x", "y"], dtype=np.float64, engine="c")
        yield frame["x"].to_numpy(copy=True), frame["y"].to_numpy(copy=True)


def tensors(batches: Iterable[Any]) -> Iterator[Any]:
    for x, y in batches:
        yield torch.from_numpy(x), torch.from_numpy(y)


@contender("W1a", parts=1)
def lines(source: Source) -> Any:
    """Rows of an IterableDataset, collated 4096 at a time."""
    return DataLoader(Stream(rows, source), batch_size=source.batch_size, collate_fn=collate)


@contender("W1a")
def pandas_batches(source: Source) -> Any:
    """Batches of an IterableDataset that reads a part at a time with pandas."""

    def sliced(source: Source) -> Iterator[Any]:
        for x, y in tables(source):
            yield from tensors(reservoir.slices(x, y, source.batch_size))

    return DataLoader(Stream(sliced, source), batch_size=None)


@contender("W1b", parts=1)
def shuffled_lines(source: Source) -> Any:
    """Rows of an IterableDataset with a shuffle buffer, collated 4096 at a time."""
    dataset = Stream(shuffled_rows, source)
    return DataLoader(dataset, batch_size=source.batch_size, collate_fn=collate)


@contender("W1b")
def pandas_buffer(source: Source) -> Any:
    """Batches of an IterableDataset: pandas, then a shuffle buffer in NumPy."""

    def mixed(source: Source) -> Iterator[Any]:
        return tensors(reservoir.shuffled(tables(source), source.batch_size))

    return DataLoader(Stream(mixed, source), batch_size=None)


def clips(source: Source, **options: Any) -> Any:
    """The Dataset that docs/port-pytorch-dataset.md begins with; samples back to back."""
    page = (programs.ROOT / "docs" / "port-pytorch-dataset.md").read_text()
    shown: dict[str, Any] = {"__name__": "shown"}
    exec(re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)[0], shown)

    def join(batch: list[Any]) -> Any:
        samples, labels = zip(*batch)
        lengths = torch.tensor([len(each) for each in samples])
        return torch.cat(samples), torch.tensor(labels).repeat_interleave(lengths)

    dataset = shown["ClipDataset"](source.files)
    return DataLoader(dataset, batch_size=source.batch_size, collate_fn=join, **options)


contender("W10", name="Dataset", parts=1, text="A Dataset in Python, in order.")(clips)
contender("W10", name="Dataset-2-workers", parts=1, text="The same with num_workers=2.")(
    functools.partial(clips, num_workers=2)
)


class Windows(Dataset[Any]):
    """A window of tokens by its number."""

    def __init__(self, path: str) -> None:
        self._tokens = tokens.load(path)

    def __len__(self) -> int:
        return tokens.num_windows(self._tokens)

    def __getitem__(self, index: int) -> torch.Tensor:
        begin = index * tokens.SEQ_LENGTH
        window = self._tokens[begin : begin + tokens.SEQ_LENGTH + 1]
        return torch.from_numpy(window.astype(np.int64))


class WindowBatches(Windows):
    """The windows of a batch together, which DataLoader asks for where it can."""

    def __getitems__(self, indexes: list[int]) -> torch.Tensor:
        out = np.empty((len(indexes), tokens.SEQ_LENGTH + 1), np.int64)
        for row, index in enumerate(indexes):
            begin = index * tokens.SEQ_LENGTH
            out[row] = self._tokens[begin : begin + tokens.SEQ_LENGTH + 1]
        return torch.from_numpy(out)


class Flat:
    """Batches as the benchmark takes them."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return map(tokens.columns, self._loader)


@contender("W5")
def windows(source: Source) -> Any:
    """A Dataset of windows, shuffled, no workers."""
    dataset = Windows(source.files[0])
    return Flat(DataLoader(dataset, batch_size=source.batch_size, shuffle=True))


@contender("W5")
def window_batches(source: Source) -> Any:
    """A Dataset with __getitems__, which makes the batch itself; no workers."""
    dataset = WindowBatches(source.files[0])
    size = source.batch_size
    return Flat(DataLoader(dataset, batch_size=size, shuffle=True, collate_fn=lambda batch: batch))
