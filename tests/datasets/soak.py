"""Random pipelines of views, killed anywhere and resumed with other world sizes: every batch of every
rank is held against the model in view_model.py, bit for bit.

    python tests/datasets/soak.py [--pipelines 1000] [--first 0] [--seconds 0]

A run of a pipeline has some parts.  Each opens a loader for every rank, with its own threads and
prefetch, loads the state of a random rank, which went through JSON, takes some steps over the ends of
epochs, and leaves the loaders in the middle of their work.  Where the outermost view is a mix, some
parts change its weights from a row on that was not delivered yet.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # a checkout works without being installed
    os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")

import numpy as np

import pyflowdata as flow
from datasets.pipelines import WORLD_SIZES, Pipeline, make_pipeline

MOST_STATE_BYTES = 1000


def rows_of(values: Any) -> list[np.ndarray]:
    return [np.asarray(values[i]) for i in range(len(values))]


def same(got: np.ndarray, want: np.ndarray) -> bool:
    return (
        got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
    )


def compare(batch: dict[str, Any], expected: dict[str, list[Any]], types: dict[str, Any]) -> None:
    """Raises AssertionError where a batch differs from the model's in a bit."""
    assert set(batch) == set(expected), (set(batch), set(expected))
    for name, values in batch.items():
        want = expected[name]
        if name in types:
            dtype, shape = types[name]
            is_ragged = -1 in shape
            assert isinstance(values, flow.Ragged) == is_ragged, name
            if not is_ragged:
                whole = np.array(want, dtype).reshape(len(want), *shape)
                assert same(values, whole), f"{name}: {values.tolist()}, not {whole.tolist()}"
                continue
            got = rows_of(values)
            assert len(got) == len(want), f"{name}: {len(got)} rows, not {len(want)}"
            for i, (row, other) in enumerate(zip(got, want)):
                assert same(row, other), f"{name}[{i}]: {row.tolist()}, not {other.tolist()}"
        else:
            assert values.tolist() == [list(one) if name == "id" else one for one in want], (
                f"{name}: {values.tolist()}, not {want}"
            )


class Run:
    """A pipeline on its way through several world sizes."""

    def __init__(self, seed: int, folder: Path, most_steps: int = 12) -> None:
        self.seed, self.folder, self.most_steps = seed, folder, most_steps
        self.rng = random.Random(-1 - seed)
        self.batches = 0
        self.state: Any = None
        self.changes: dict[int, int] = {}
        self.place = [0, 0]
        self.begin()

    def begin(self) -> None:
        own = self.folder / f"{self.seed}-{len(self.changes)}"
        own.mkdir()
        self.pipeline: Pipeline = make_pipeline(self.seed, own, self.changes)

    def world_size(self) -> int:
        batch_size = self.pipeline.batching.batch_size
        return self.rng.choice([w for w in WORLD_SIZES if batch_size % w == 0])

    def part(self) -> None:
        """Opens the ranks, takes some steps, and leaves."""
        rng, model = self.rng, self.pipeline.model
        world_size = self.world_size()
        loaders = []
        try:
            for rank in range(world_size):
                blobs = self.pipeline.blobs(rank, world_size)
                loaders.append(flow.DataLoader(blobs, num_threads=rng.choice((1, 2, 3)),
                                               prefetch=rng.randint(1, 5)))  # fmt: skip
            if self.state is not None:
                for loader in loaders:
                    loader.load_state_dict(self.state)
            assert {len(loader) for loader in loaders} == {model.num_batches}
            if model.num_batches == 0:
                return
            iterators = [loader.repeat() for loader in loaders]
            for _ in range(rng.randint(1, self.most_steps)):
                self.step(iterators, world_size)
            if rng.random() < 0.3:
                next(rng.choice(iterators))  # one that is ahead is not the one to be asked
                states = [loader.state_dict() for loader in loaders]
                states = [one for one in states if one == min(states, key=self._when)]
            else:
                states = [loader.state_dict() for loader in loaders]
                assert all(one == states[0] for one in states), states
            text = json.dumps(rng.choice(states))
            assert len(text) < MOST_STATE_BYTES, f"a state of {len(text)} bytes: {text}"
            self.state = json.loads(text)
        finally:
            for loader in loaders:
                loader.close()

    @staticmethod
    def _when(state: Any) -> tuple[int, int]:
        return state["epoch"], state["position"]

    def step(self, iterators: list[Any], world_size: int) -> None:
        pipeline, (epoch, step) = self.pipeline, self.place
        for rank, iterator in enumerate(iterators):
            batch = next(iterator)
            expected = pipeline.model.batch(epoch, step, rank, world_size)
            try:
                compare(batch, expected, dict(pipeline.schema))
            except AssertionError as error:
                raise AssertionError(
                    f"epoch {epoch}, batch {step}, rank {rank} of {world_size}: {error}"
                ) from None
        self.batches += 1
        self.place = [epoch, step + 1]
        if self.place[1] == pipeline.model.num_batches:
            self.place = [epoch + 1, 0]

    def change_weights(self) -> None:
        """From a row on that no batch had yet; with wrap the last batch had rows of the next epoch,
        which come again."""
        model = self.pipeline.model
        epoch, step = self.place
        row = epoch * model.data.size + min(
            model.data.size, step * self.pipeline.batching.batch_size
        )
        row += self.rng.randint(0, 30)
        if row > max(self.changes, default=0):
            self.changes[row] = self.rng.getrandbits(30)
            self.begin()


def run_pipeline(seed: int, folder: Path, parts: int = 3, most_steps: int = 12) -> int:
    """How many logical batches were right; AssertionError: one was not."""
    run = Run(seed, folder, most_steps)
    try:
        changes = seed % 4 == 0
        for i in range(parts):
            if changes:
                run.change_weights()
            run.part()
    except Exception as error:
        raise AssertionError(
            f"pipeline {seed} ({run.pipeline.text}; {run.pipeline.batching}; weights "
            f"{run.changes}) after {run.batches} batches: {error!r}"
        ) from error
    return run.batches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--pipelines", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long; 0: never")
    args = parser.parse_args()
    began, done, batches, failed = time.monotonic(), 0, 0, 0
    for seed in range(args.first, args.first + args.pipelines):
        if args.seconds and time.monotonic() - began > args.seconds:
            break
        with tempfile.TemporaryDirectory() as folder:
            try:
                batches += run_pipeline(seed, Path(folder))
            except AssertionError as error:
                failed += 1
                traceback.print_exception(error)
        done += 1
    seconds = time.monotonic() - began
    print(f"{done} pipelines killed and resumed in {seconds:.0f} s: {batches} batches as the model "
          f"has them; {failed} pipelines failed")  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
