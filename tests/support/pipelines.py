"""Random graphs of data sets with Python functions, ops and views that draw random numbers.

As a program: prints what graphs deliver that are built one after another, in the given order.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np

import pyflowdata as flow

RECORDS = 12


def files(folder: Path) -> Path:
    path = folder / "numbers.csv"
    rows = [f"{i},{i + 100},{i % 3}\n" for i in range(RECORDS)]
    path.write_text("a,b,label\n" + "".join(rows))
    return path


def records(path: Path) -> flow.Dataset:
    columns = ["a:float64", "b:float64", "label:int64"]
    return flow.Dataset(flow.CSVReader(files=path, columns=columns))


def jitter(x, *, rng, scale=1.0):
    return x + scale * rng.normal()


def halve(x):
    return x / 2


def mapped(data: flow.Dataset, draw: random.Random) -> flow.Dataset:
    """The same records, perhaps with other fields."""
    field, scale = draw.choice("ab"), draw.random()
    if draw.random() < 0.3:
        return data.map(lambda x, *, rng: x * rng.random(), field)
    if draw.random() < 0.3:
        return data.map(jitter, field, scale=scale, outputs={field: "float64"})
    return data.map(draw.choice([jitter, halve]), field)


def ordered(data: flow.Dataset, draw: random.Random) -> flow.Dataset:
    """The records in another order."""
    seed = draw.choice([None, 5, 6])
    return draw.choice([
        lambda: data.sample(np.arange(1, len(data) + 1), seed=seed),
        lambda: data.balance("label", seed=seed),
        lambda: data.repeat_by(np.arange(len(data)) % 3 + 0.5, seed=seed),
        lambda: data.shuffle(seed=seed),
    ])()  # fmt: skip


def random_graph(path: Path, number: int) -> flow.Dataset:
    """The graph of a number: the same in every process."""
    draw = random.Random(number)
    parts = []
    for part in range(draw.randint(1, 3)):
        data = mapped(records(path).skip(part), draw)
        parts.append(mapped(ordered(mapped(data, draw), draw), draw))
    seed, interleave = draw.randint(0, 9), draw.choice(["random", "regular"])
    data = flow.mix(parts, seed=seed, interleave=interleave) if len(parts) > 1 else parts[0]
    return mapped(data, draw).map(flow.CoinFlip, "a", outputs="flip")


def delivered(data: flow.Dataset, **attrs: object) -> list[list[float]]:
    """The columns of an epoch."""
    with flow.DataLoader(data.batch(5, seed=3, **attrs).blobs) as loader:
        batches = list(loader)
    return [np.concatenate([batch[name] for batch in batches]).tolist() for name in data.fields]


def state_after(data: flow.Dataset, steps: int = 1) -> dict[str, object]:
    """The state after some batches, through JSON."""
    with flow.DataLoader(data.batch(5, seed=3).blobs) as loader:
        batches = iter(loader)
        for _ in range(steps):
            next(batches)
        return json.loads(json.dumps(loader.state_dict()))


if __name__ == "__main__":
    found = {}
    for each in map(int, sys.argv[2:]):
        graph = random_graph(Path(sys.argv[1]), each)
        found[each] = [delivered(graph), state_after(graph)]
    print(json.dumps(found))
