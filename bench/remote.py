"""Remote files: what the cache fetches beside the least that any could, and how near fetching comes
to the speed of the line.

    python -m bench.remote [cache] [line] [images] [ranks] [--data 160]

The server is that of tests/remote, on loopback, so that bytes and requests are counted where they
are sent.  Lines that each connection has for itself, as at most stores, are nginx's: the line is
what all requests at a time may have together.  Images are small objects that a manifest names.
Ranks have a cache for each, or for each node of two.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.remote_peers import serving as nginx

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import pyflowdata as flow
from remote.server import Server, serving

MB = 1 << 20
BLOCK = MB
RECORD = 256 << 10
BUDGETS = (10, 25, 50, 75, 100)
EPOCHS = 3


def least_fetched(uses: Sequence[int], room: int) -> int:
    """How many blocks the best cache of so many blocks fetches (Belady): it drops the block whose
    next use is last."""
    nexts, seen = [0] * len(uses), dict[int, int]()
    for place in range(len(uses) - 1, -1, -1):
        nexts[place] = seen.get(uses[place], len(uses))
        seen[uses[place]] = place
    there: dict[int, int] = {}  # next use, by block
    heap: list[tuple[int, int]] = []
    fetched = 0
    for place, block in enumerate(uses):
        if block not in there:
            fetched += 1
            while len(there) >= room:
                after, last = heapq.heappop(heap)
                if there.get(last) == -after:
                    del there[last]
        there[block] = nexts[place]
        heapq.heappush(heap, (-nexts[place], block))
    return fetched


def sent(server: Server) -> int:
    return sum(end - begin for _, begin, end in server.ranges.elements())


def open_records(server: Server, order: str) -> Any:
    data = flow.open(f"{server.url}/a", format="raw", shape=[RECORD // 4], dtype="int32")
    return data if order == "in order" else data.shuffle(kind=order, seed=1)


def measure_cache(size: int, order: str, budget: int) -> list[tuple[float, float]]:
    """(bytes fetched, the least that could be) per byte used, of each epoch."""
    rows = np.zeros((size // RECORD, RECORD // 4), np.int32)
    rows[:, 0] = np.arange(len(rows))
    uses: list[int] = []
    fetched = [0]
    with tempfile.TemporaryDirectory() as folder, serving({"a": rows.tobytes()}) as server:
        flow.remote.configure(cache_dir=folder, budget=budget)
        with flow.DataLoader(open_records(server, order).batch(4)) as loader:
            for _ in range(EPOCHS):
                for (batch,) in loader:
                    uses += [int(i) * RECORD // BLOCK for i in np.array(batch[:, 0])]
                fetched.append(sent(server))
    steps = len(uses) // EPOCHS
    least = [0, *(least_fetched(uses[: (i + 1) * steps], budget // BLOCK) * BLOCK
                  for i in range(EPOCHS))]  # fmt: skip
    return [
        ((fetched[i + 1] - fetched[i]) / size, (least[i + 1] - least[i]) / size)
        for i in range(EPOCHS)
    ]


def cache_table(size: int) -> None:
    print("| order | budget | epoch 1 | epoch 2 | epoch 3 | Belady, 3 epochs | ratio |")
    print("|---|---|---|---|---|---|---|")
    for order, part in itertools.product(("in order", "window", "global"), BUDGETS):
        found = measure_cache(size, order, max(size * part // 100, 16 * MB))
        total, least = (sum(one[i] for one in found) for i in (0, 1))
        epochs = " | ".join(f"{one:.2f} ({best:.2f})" for one, best in found)
        print(f"| {order} | {part} % | {epochs} | {least:.2f} | {total / least:.2f} |", flush=True)


def measure_line(size: int, rate: int, latency: float) -> None:
    """A cold epoch beside the speed of the line, and a warm one."""
    rows = np.zeros((size // 4096, 1024), np.int32)
    with tempfile.TemporaryDirectory() as folder, serving({"a": rows.tobytes()}) as server:
        server.rate, server.latency = rate, latency
        flow.remote.configure(cache_dir=folder, budget=2 * size)
        data = flow.open(f"{server.url}/a", format="raw", shape=[1024], dtype="int32")
        with flow.DataLoader(data.shuffle(kind="window", seed=1).batch(64)) as loader:
            for name in ("cold", "warm"):
                begin, cpu = time.monotonic(), time.process_time()
                count = sum(len(batch) for (batch,) in loader)
                took, cpu = time.monotonic() - begin, time.process_time() - cpu
                print(
                    f"| {latency * 1e3:.0f} ms | {rate / MB:.0f} MB/s | {name} | {took:.2f} s | "
                    f"{took * rate / size:.2f} | {count / took:.0f} | {server.gets} | "
                    f"{sent(server) / size:.2f} |", flush=True,
                )  # fmt: skip


def measure_connections(size: int, requests: int, rate: int) -> None:
    """A cold epoch from connections of `rate` MB/s each."""
    rows = np.zeros((size // 4096, 1024), np.int32)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        (root / "a").write_bytes(rows.tobytes())
        with nginx(Path(folder), root, rate) as (url, log):
            for order in ("in order", "window", "global"):
                flow.remote.configure(cache_dir=Path(folder, order), budget=2 * size,
                                      requests=requests)  # fmt: skip
                data = flow.open(f"{url}/a", format="raw", shape=[1024], dtype="int32")
                if order != "in order":
                    data = data.shuffle(kind=order, seed=1)
                with flow.DataLoader(data.batch(64)) as loader:
                    before = len(log.read_text().splitlines())
                    begin = time.monotonic()
                    count = sum(len(batch) for (batch,) in loader)
                    took = time.monotonic() - begin
                sent = len(log.read_text().splitlines()) - before
                print(
                    f"| {requests} of {rate} MB/s | {order} | {took:.2f} s | "
                    f"{took * requests * rate * MB / size:.2f} | {count / took:.0f} | {sent} |",
                    flush=True,
                )


def line_table(size: int) -> None:
    print("| connections | order | time | of the line's | records/s | requests |")
    print("|---|---|---|---|---|---|")
    for requests, rate in [(4, 10), (16, 2), (16, 5)]:  # threads become more, not fewer
        measure_connections(size, requests, rate)
    print()
    print("| latency | line | epoch | time | of the line's | records/s | requests | fetched/used |")
    print("|---|---|---|---|---|---|---|---|")
    for rate, latency in [(20 * MB, 0.001), (40 * MB, 0.02), (40 * MB, 0.1)]:
        measure_line(size, rate, latency)


IMAGE, IMAGES = 16 << 10, 768


def measure_images(latency: float, threads: int) -> None:
    """A cold epoch of images that a web server has, each with a look at it and a GET."""
    files = {f"{number}.jpg": bytes(IMAGE) for number in range(IMAGES)}
    with tempfile.TemporaryDirectory() as folder, serving(files) as server:
        lines = "".join(
            json.dumps({"source": f"{server.url}/{name}", "usage": "train",
                        "annotation": [{"name": "a"}]}) + "\n" for name in files
        )  # fmt: skip
        Path(folder, "a.manifest").write_text(lines)
        flow.remote.configure(cache_dir=Path(folder, "cache"), budget=1 << 30)
        data = flow.open(f"{folder}/a.manifest").shuffle(seed=1).batch(64)
        server.latency = latency
        with flow.DataLoader(data, num_threads=threads) as loader:
            for epoch in ("cold", "warm"):
                begin, cpu = time.monotonic(), time.process_time()
                for _ in loader:
                    pass
                took, cpu = time.monotonic() - begin, time.process_time() - cpu
                requests, server.gets, server.looks = server.gets + server.looks, 0, 0
                print(
                    f"| {latency * 1e3:.0f} ms | {threads} | {epoch} | {IMAGES / took:.0f} | "
                    f"{requests / IMAGES:.2f} | {server.most_at_once} | "
                    f"{cpu / IMAGES * 1e6:.0f} |", flush=True,
                )  # fmt: skip


def images_table(_size: int) -> None:
    print("| latency | threads | epoch | images/s | requests per image | most at a time | CPU us |")
    print("|---|---|---|---|---|---|---|")
    for latency, threads in itertools.product((0.02, 0.05), (1, 2, 4, 8)):
        measure_images(latency, threads)


ORDERS: dict[str, dict[str, Any]] = {
    "global": {}, "window": {"kind": "window"}, "lanes": {"kind": "window", "lanes": 4},
}  # fmt: skip


def measure_ranks(size: int, order: str, ranks: int, ranks_of_node: int) -> list[list[float]]:
    """Bytes that the store sends to each cache in each epoch, per byte of the data."""
    rows = np.zeros((size // (16 << 10), 4096), np.int32)
    with tempfile.TemporaryDirectory() as folder, serving({"a": rows.tobytes()}) as server:
        found = [[0.0] * EPOCHS for _ in range(ranks // ranks_of_node)]
        for rank in range(ranks):
            node = rank // ranks_of_node
            flow.remote.configure(cache_dir=Path(folder, f"{node}"), budget=4 * size)
            before = sent(server)  # an opening fetches, too
            data = flow.open(f"{server.url}/a", format="raw", shape=[4096], dtype="int32")
            data = data.shuffle(seed=1, **ORDERS[order])
            batches = data.batch(64, rank=rank, world_size=ranks)
            with flow.DataLoader(batches, prefetch=1) as loader:
                for epoch in range(EPOCHS):
                    for _ in loader:
                        pass
                    found[node][epoch] += (sent(server) - before) / size
                    before = sent(server)
    return found


def ranks_table(size: int) -> None:
    print("| ranks | a cache for | order | epoch 1 | all 3 epochs | all caches |")
    print("|---|---|---|---|---|---|")
    for (ranks, of_node), order in itertools.product([(2, 1), (4, 1), (4, 2)], ORDERS):
        found = measure_ranks(size, order, ranks, of_node)
        first, whole = max(one[0] for one in found), max(map(sum, found))
        cache = "each rank" if of_node == 1 else f"{of_node} ranks"
        print(f"| {ranks} | {cache} | {order} | {first:.2f} | {whole:.2f} | "
              f"{sum(map(sum, found)):.2f} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["cache", "line"])
    parser.add_argument("--data", type=int, default=160, help="MB")
    given = parser.parse_args()
    tables = {"cache": cache_table, "line": line_table, "images": images_table,
              "ranks": ranks_table}  # fmt: skip
    for table in given.tables:
        tables[table](given.data * MB)


if __name__ == "__main__":
    main()
