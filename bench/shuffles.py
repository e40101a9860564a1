"""What each shuffle costs and how well it mixes: the tables of docs/shuffle.md.

`python -m bench.shuffles [MEGABYTES [ROUNDS]]`, 200 and 5 unless given.  Costs are the least of
interleaved rounds over text in the page cache; the mixing is that of sorted labels, the worst case.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyflowdata as flow

from bench.data import Text

PARTS = 4
RECORDS, CLASSES, BATCH = 1_280_000, 1000, 256
EPOCHS = 8


def window(block_size: int, blocks: int) -> dict[str, Any]:
    return {"shuffle": "window", "shuffle_block_size": block_size, "shuffle_window": blocks}


def buffer(size: int) -> dict[str, Any]:
    return {"shuffle": "buffer", "shuffle_buffer_size": size}


SHUFFLES = {
    "none": {"shuffle": "none"},
    "global": {"shuffle": "global"},
    "window 256 x 1024": window(256, 1024),
    "window 256 x 256": window(256, 256),
    "window 256 x 64": window(256, 64),
    "window 1024 x 64": window(1024, 64),
    "buffer 1024": buffer(1024),
    "buffer 65536": buffer(65536),
    "buffer 262144": buffer(262144),
}


def costs(megabytes: float, rounds: int) -> dict[str, tuple[float, float]]:
    """Wall and CPU nanoseconds per record, each the least of all rounds."""
    text = Text(megabytes, parts=PARTS)
    text.prepare()
    loaders = {}
    for name, attrs in SHUFFLES.items():
        rows = flow.MiniReader(
            text.folder, data_part_num=PARTS, part_name_suffix_length=3, batch_size=4096, seed=1,
            **attrs,
        )  # fmt: skip
        loaders[name] = flow.DataLoader(*flow.MiniDecoder(rows))
    found = {name: (float("inf"), float("inf")) for name in SHUFFLES}
    for _ in range(rounds):
        for name, loader in loaders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            records = sum(len(x) for x, _ in loader)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best = found[name]
            found[name] = (min(best[0], wall / records * 1e9), min(best[1], cpu / records * 1e9))
    return found


def mixing(folder: Path, attrs: dict[str, Any]) -> tuple[float, float]:
    """Variance of batch means over that of independent draws; distinct labels in a batch."""
    _, ids = flow.MiniReader(folder, batch_size=RECORDS, seed=1, with_id=True, **attrs)
    values = np.arange(RECORDS) // (RECORDS // CLASSES)
    ratios, labels = [], []
    with flow.DataLoader(ids, prefetch=1) as loader:
        for _ in range(EPOCHS):
            (order,) = loader
            batches = np.sort(values[order[:, 1]].reshape(-1, BATCH), axis=1)
            squares = (batches.mean(axis=1) - values.mean()) ** 2
            ratios.append(squares.mean() / (values.var() / BATCH))
            labels.append(1 + np.count_nonzero(np.diff(batches, axis=1), axis=1).mean())
    return float(np.mean(ratios)), float(np.mean(labels))


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 200
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    found = costs(megabytes, rounds)
    plain_wall, plain_cpu = found["none"]
    print("| shuffle | ns/record | ratio | CPU ns/record | ratio | variance | labels |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "part-0").write_text("1,1\n" * RECORDS)
        for shuffle, (wall, cpu) in found.items():
            attrs = {**SHUFFLES[shuffle], "shuffle_after_epoch": shuffle != "none"}
            variance, labels = mixing(folder, attrs)
            print(
                f"| {shuffle} | {wall:.1f} | {wall / plain_wall:.2f} | {cpu:.1f} | "
                f"{cpu / plain_cpu:.2f} | {variance:.2f} | {labels:.0f} |"
            )


if __name__ == "__main__":
    main()
