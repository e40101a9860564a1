"""What a record costs more through views than through its reader: W-views.

    python -m bench.views [--rounds 40] [--rows 1000000] [--parts 10]

Rows of 8 and of 256 bytes (.npy, float32), batches of 1024, one core: so little is done with a
record that what the views do shows.  The same records come through each contender; a view is held
against the reader in the same order, that of the files or a random one, as random reads cost by
themselves.
Rounds are interleaved, and of each contender the fastest pass counts: others use the machine.
`turns.cc`, the limit, copies the same rows in order and in turns.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Mapping

import numpy as np

import pyflowdata as flow
from bench import programs

BATCH = 1024
Loader = flow.DataLoader[np.ndarray]


def files_of(rows: int, width: int, parts: int) -> list[str]:
    """Files of rows that tell their number, together `rows` of them."""
    folder = programs.BUILD / "data" / f"views-{rows}-{width}-{parts}"
    folder.mkdir(parents=True, exist_ok=True)
    numbers = np.arange(rows, dtype=np.float32).reshape(parts, -1)
    paths = [folder / f"part-{i:03}.npy" for i in range(parts)]
    for path, part in zip(paths, numbers, strict=True):
        if not path.exists():
            np.save(path, np.repeat(part[:, None], width, 1))
    return list(map(str, paths))


def contenders(files: list[str]) -> dict[str, tuple[str, Callable[[], Loader]]]:
    """By name: what it is held against, and what opens its loader."""

    def data(some: list[str]) -> flow.Dataset:
        return flow.Dataset({"x": flow.NpyReader(files=some)})

    def opened(views: flow.Dataset) -> Loader:
        (x,) = views.batch(BATCH, seed=1)
        return flow.DataLoader(x, num_threads=1)

    def reader(**attrs: object) -> Loader:
        return flow.DataLoader(
            flow.NpyReader(files=files, batch_size=BATCH, seed=1, **attrs), num_threads=1
        )

    half, size, mix = len(files) // 2, len(data(files)), f"mix of {len(files)}"
    halves = data(files[:half]), data(files[half:])
    ones = [data([file]) for file in files]
    return {
        "reader": ("reader", reader),
        "take": ("reader", lambda: opened(data(files).take(size))),
        "take(slice(skip))": ("reader", lambda: opened(data(files).skip(0)[:].take(size))),
        "concat of 2": ("reader", lambda: opened(halves[0].concat(halves[1]))),
        mix: ("reader", lambda: opened(flow.mix(ones))),
        f"take(repeat({mix}))": (
            "reader", lambda: opened(flow.mix(ones).repeat(1).take(size)),
        ),
        "reader, shuffled": ("reader, shuffled", lambda: reader(random_shuffle=True)),
        "shuffle": ("reader, shuffled", lambda: opened(data(files).shuffle().take(size))),
        "take(shuffle(concat of 2))": (
            "reader, shuffled", lambda: opened(halves[0].concat(halves[1]).shuffle().take(size)),
        ),
        f"take(shuffle({mix}))": (
            "reader, shuffled", lambda: opened(flow.mix(ones).shuffle().take(size)),
        ),
    }  # fmt: skip


def check(loaders: Mapping[str, Loader], rows: int) -> None:
    """Each has every record once."""
    for name, loader in loaders.items():
        numbers = np.concatenate([batch[:, 0] for batch in loader])
        assert np.array_equal(np.sort(numbers), np.arange(rows, dtype=np.float32)), name


def passes(loaders: Mapping[str, Loader], rows: int, rounds: int) -> dict[str, tuple[float, float]]:
    """The least wall and CPU ns of a record."""
    least = {name: (np.inf, np.inf) for name in loaders}
    for _ in range(rounds):
        for name, loader in loaders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for _batch in loader:
                pass
            spent = time.perf_counter() - wall, time.process_time() - cpu
            least[name] = tuple(min(a, b / rows * 1e9) for a, b in zip(least[name], spent))
    return least


def limit(files: list[str], width: int, rounds: int) -> str:
    """The CPU ns of a row in each order, by the limit; "" without a compiler."""
    programs.build("turns")
    if not programs.exists("turns"):
        return ""
    numbers = [4 * width, BATCH, 16, rounds]
    command = [programs.path("turns"), *map(str, numbers), *files]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return "; ".join(line.replace("\t", " ") for line in ran.stdout.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description="What a record costs more through views.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=10, help="files; rows must divide by them")
    parser.add_argument("--only", default="", help="names of contenders, by commas; all")
    arguments = parser.parse_args()
    for width in (2, 64):
        files = files_of(arguments.rows, width, arguments.parts)
        opens = contenders(files)
        names = [one for one in arguments.only.split(",") if one] or list(opens)
        loaders = {name: opens[name][1]() for name in names}
        check(loaders, arguments.rows)
        least = passes(loaders, arguments.rows, arguments.rounds)
        for loader in loaders.values():
            loader.close()
        print(f"\n**Rows of {4 * width} bytes**\n")
        print("| contender | ns a record | CPU ns | more than its reader, ns | CPU ns |")
        print("| --- | --- | --- | --- | --- |")
        for name, (wall, cpu) in least.items():
            more = [a - b for a, b in zip((wall, cpu), least[opens[name][0]])]
            print(f"| {name} | {wall:.1f} | {cpu:.1f} | {more[0]:.1f} | {more[1]:.1f} |")
        print("\nThe limit, CPU ns:", limit(files, width, arguments.rounds))


if __name__ == "__main__":
    with programs.pinned(1):
        main()
