"""The shuffles that are measured, and how well each mixes: the variance and labels of
docs/concepts/shuffle.md, for sorted labels, the worst case.  What they cost is W11.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyflowdata as flow

RECORDS, CLASSES, BATCH = 1_280_000, 1000, 256
EPOCHS = 8


def window(block_size: int, blocks: int) -> dict[str, Any]:
    return {"shuffle": "window", "shuffle_block_size": block_size, "shuffle_window": blocks}


def buffer(size: int) -> dict[str, Any]:
    return {"shuffle": "buffer", "shuffle_buffer_size": size}


SHUFFLES = {
    "none": {"shuffle": "none"},
    "global": {"shuffle": "global"},
    "window": window(256, 1024),  # the default
    "window-256-of-256": window(256, 256),
    "window-64-of-256": window(256, 64),
    "window-64-of-1024": window(1024, 64),
    "buffer-1024": buffer(1024),
    "buffer-65536": buffer(65536),
    "buffer-262144": buffer(262144),
}


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
    print("| shuffle | variance | labels |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "part-0").write_text("1,1\n" * RECORDS)
        for shuffle, attrs in SHUFFLES.items():
            reshuffled = {"shuffle_after_epoch": shuffle != "none"}
            variance, labels = mixing(folder, {**attrs, **reshuffled})
            print(f"| {shuffle} | {variance:.2f} | {labels:.0f} |")


if __name__ == "__main__":
    main()
