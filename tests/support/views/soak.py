"""Random pipelines of views, killed anywhere and resumed with other world sizes: every batch of
every rank is held against the model in view_model.py, bit for bit.

    python tests/support/views/soak.py [--pipelines 1000] [--first 0] [--seconds 0]
    python tests/support/views/soak.py --killed 7   # one pipeline, in processes that get SIGKILL

A run of a pipeline has some parts.  Each opens a loader for every rank, with its own threads and
prefetch, loads the state, which went through JSON, takes some steps over the ends of epochs, and
leaves the loaders in the middle of their work.  Where the outermost view is a mix, some parts
change its weights from a row on that was not delivered yet.  Where records are damaged, they are
left out, padded, or an error of their batch that names the file.  In some parts a file is cut,
replaced, overwritten, prolonged or removed on the way: each batch is right, or the error of a file
that changed; and the state is refused until the files are as they were.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # a checkout works without being installed
    os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")

import numpy as np

import pyflowdata as flow
from support import programs
from support.views.pipelines import WORLD_SIZES, Pipeline, make_pipeline

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


def text_of(state: Any) -> str:
    text = json.dumps(state)
    assert len(text) < MOST_STATE_BYTES, f"a state of {len(text)} bytes: {text}"
    return text


# ---- Files that change --------------------------------------------------------------------------

OTHER_VALUES = bytes(byte if byte in b",.-\n" else byte ^ 1 for byte in range(256))


def cut(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size))


def replace(path: Path, rng: random.Random) -> None:
    new = path.with_name("new")
    new.write_bytes(path.read_bytes().translate(OTHER_VALUES))
    new.rename(path)


def overwrite(path: Path, rng: random.Random) -> None:
    with path.open("r+b") as file:
        file.write(path.read_bytes().translate(OTHER_VALUES))


def prolong(path: Path, rng: random.Random) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes())


def remove(path: Path, rng: random.Random) -> None:
    path.unlink()


def change_a_file(folder: Path, rng: random.Random) -> str:
    """Changes a file that has bytes; what was done to which."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path, change = rng.choice(files), rng.choice((cut, replace, overwrite, prolong, remove))
    time.sleep(0.01)  # a tick of the file system's clock, without which a change has no other time
    change(path, rng)
    return f"{change.__name__} {path.relative_to(folder)}"


class Run:
    """A pipeline on its way through several world sizes."""

    def __init__(self, seed: int, folder: Path, most_steps: int = 12) -> None:
        self.seed, self.folder, self.most_steps = seed, folder, most_steps
        self.rng = random.Random(-1 - seed)
        self.batches = self.file_changes = self.noticed = 0
        self.state: Any = None
        self.changes: dict[int, int] | None = {} if seed % 4 == 0 else None
        self.place = [0, 0]
        self.file_change = ""  # what was done to a file, and to which
        self.folders = itertools.count()
        self.begin()

    def begin(self) -> None:
        """Writes the files, in a folder of their own."""
        self.files = self.folder / str(next(self.folders))
        self.files.mkdir()
        self.pipeline: Pipeline = make_pipeline(self.seed, self.files, self.changes)

    def world_size(self) -> int:
        batch_size = self.pipeline.batching.batch_size
        return self.rng.choice([w for w in WORLD_SIZES if batch_size % w == 0])

    def part(self) -> None:
        """Opens the ranks, takes some steps, and leaves."""
        begin, world_size = list(self.place), self.world_size()
        loaders: list[flow.DataLoader[Any]] = []
        try:
            for rank in range(world_size):
                loaders.append(self.open_rank(rank, world_size))
            if not self.take_steps(loaders):
                self.place = begin
        except flow.FileError as error:
            assert self.file_change and error.reason is None, f"nothing changed, but {error!r}"
            assert self.files in Path(error.file or "").parents, error
            self.noticed += 1
            self.place = begin
        finally:
            for loader in loaders:
                loader.close()
        if self.file_change:
            self.file_changes += 1
            if ".cache/" not in self.file_change:  # that is made again
                if "cache" not in self.pipeline.text:  # whose records may be the same
                    self.expect_refusal()
                self.begin()
            self.file_change = ""

    def take_steps(self, loaders: list[flow.DataLoader[Any]]) -> bool:
        """Some steps of all ranks, and the state after them; whether there is one."""
        rng, model, world_size = self.rng, self.pipeline.model, len(loaders)
        assert {len(loader) for loader in loaders} == {model.num_batches}
        if model.num_batches == 0:
            return False
        iterators = {rank: loader.repeat() for rank, loader in enumerate(loaders)}
        steps = rng.randint(1, self.most_steps)
        moment = rng.randint(1, steps) if rng.random() < 0.3 else None
        is_whole = False
        while steps > 0 or (not is_whole and steps > -self.most_steps):
            if steps == moment:
                self.file_change = change_a_file(self.files, rng)
            is_whole = self.step(iterators, world_size)
            steps -= 1
        if not is_whole:  # each rank is where its last batch without damage ended
            return False
        if rng.random() < 0.3 and world_size > 1 and not self.pipeline.raises:
            next(iterators[world_size - 1])  # a rank that is ahead is not the one to be asked
            ahead = loaders.pop()
            ahead.close()
            state = ahead.state_dict()
            assert [state["epoch"], state["position"]] == self.following(self.place), state
        states = [loader.state_dict() for loader in loaders]
        assert all(one == states[0] for one in states), states
        assert [states[0]["epoch"], states[0]["position"]] == self.place, states[0]
        self.state = json.loads(text_of(states[0]))
        return True

    def expect_refusal(self) -> None:
        """The state is not one of the files as they are now."""
        if self.state is None:
            return
        try:
            self.open_rank(0, 1).close()
        except flow.InternalError:
            raise
        except flow.Error:
            return
        raise AssertionError("a state is taken for one of other files")

    def open_rank(self, rank: int, world_size: int) -> flow.DataLoader[Any]:
        """A loader at the place of the state."""
        threads, prefetch = self.rng.choice((1, 2, 3)), self.rng.randint(1, 5)
        blobs = self.pipeline.blobs(rank, world_size)
        loader = flow.DataLoader(blobs, num_threads=threads, prefetch=prefetch)
        if self.state is not None:
            loader.load_state_dict(self.state)
        return loader

    def following(self, place: list[int]) -> list[int]:
        """The place after a step."""
        epoch, step = place
        is_last = step + 1 == self.pipeline.model.num_batches
        return [epoch + 1, 0] if is_last else [epoch, step + 1]

    def step(self, iterators: dict[int, Any], world_size: int) -> bool:
        """One batch of each of these ranks; whether there was one, or damage was raised."""
        epoch, step = self.place
        is_whole = True
        for rank, iterator in iterators.items():
            try:
                is_whole = self.batch_of(rank, iterator, world_size) and is_whole
            except AssertionError as error:
                raise AssertionError(
                    f"epoch {epoch}, batch {step}, rank {rank} of {world_size}: {error}"
                ) from None
        self.batches += is_whole
        self.place = self.following(self.place)
        return is_whole

    def batch_of(self, rank: int, iterator: Any, world_size: int) -> bool:
        pipeline, (epoch, step) = self.pipeline, self.place
        damage = frozenset()
        if pipeline.raises:
            damage = pipeline.model.damage(epoch, step, rank, world_size)
        try:
            batch = next(iterator)
        except flow.CorruptDataError as error:
            name = Path(error.file or "").name
            assert name in damage, f"{error}; damaged files are {sorted(damage)}"
            return False
        assert not damage, f"a damaged record of {sorted(damage)} was delivered"
        expected = pipeline.model.batch(epoch, step, rank, world_size)
        compare(batch, expected, dict(pipeline.schema))
        return True

    def change_weights(self, changes: dict[int, int]) -> None:
        """From a row on that no batch had yet; with wrap the last batch had rows of the next epoch,
        which come again."""
        model = self.pipeline.model
        epoch, step = self.place
        row = epoch * model.data.size + min(
            model.data.size, step * self.pipeline.batching.batch_size
        )
        row += self.rng.randint(0, 30)
        if row > max(changes, default=0):
            changes[row] = self.rng.getrandbits(30)
            self.begin()


def run_pipeline(seed: int, folder: Path, parts: int = 3, most_steps: int = 12) -> Run:
    """The run, whose logical batches were right; AssertionError: one was not."""
    run = Run(seed, folder, most_steps)
    try:
        for _ in range(parts):
            if run.changes is not None and run.batches:
                run.change_weights(run.changes)
            run.part()
    except Exception as error:
        raise AssertionError(
            f"pipeline {seed} ({run.pipeline.text}; {run.pipeline.batching}; weights "
            f"{run.changes}; {run.file_change}) after {run.batches} batches: {error!r}"
        ) from error
    return run


# ---- Killed processes ----------------------------------------------------------------------------


def run_rank(seed: int, out: Path, rank: int, world_size: int) -> None:
    """Steps until it is killed; the state after each step is a file that a rename makes."""
    own = out / f"rank-{rank}"
    own.mkdir()
    run = Run(seed, own)
    given = out / "state"
    if given.exists():
        run.state = json.loads(given.read_text())
        run.place = [run.state["epoch"], run.state["position"]]
    with run.open_rank(rank, world_size) as loader:
        iterators = {rank: loader.repeat()}
        while True:
            run.step(iterators, world_size)
            (own / "new").write_text(text_of(loader.state_dict()))
            (own / "new").rename(out / f"{run.batches}.{rank}")


def run_killed(seed: int, folder: Path, parts: int = 3) -> int:
    """How many steps all ranks saved; AssertionError: a batch was wrong."""
    rng, state, steps = random.Random(seed), "", 0
    pipeline = make_pipeline(seed, folder, {} if seed % 4 == 0 else None)
    if pipeline.raises or pipeline.model.num_batches == 0:
        return 0
    batching = pipeline.batching
    for part in range(parts):
        out = folder / f"part-{part}"
        out.mkdir()
        if state:
            (out / "state").write_text(state)
        world_size = rng.choice([w for w in WORLD_SIZES[:2] if batching.batch_size % w == 0])
        ranks = [
            programs.start(Path(__file__), "--rank", seed, out, rank, world_size)
            for rank in range(world_size)
        ]
        try:
            awaited = [out / f"{rng.randint(1, 3)}.{rank}" for rank in range(world_size)]
            while not all(path.exists() for path in awaited):
                assert all(rank.poll() is None for rank in ranks), "a rank has ended"
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.01))
            assert all(rank.poll() is None for rank in ranks), "a rank has ended"
        finally:
            for process in rng.sample(ranks, world_size):
                process.kill()
            for process in ranks:
                process.wait()
        saved = [step for step in (int(path.stem) for path in out.glob("*.0"))
                 if all((out / f"{step}.{rank}").exists() for rank in range(world_size))]
        if saved:
            state = (out / f"{max(saved)}.{rng.randrange(world_size)}").read_text()
            steps += max(saved)
    return steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--pipelines", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long; 0: never")
    parser.add_argument("--killed", type=int, help="a pipeline in processes that are killed")
    parser.add_argument("--rank", nargs=4, help=argparse.SUPPRESS)  # one of these processes
    args = parser.parse_args()
    if args.rank:
        seed, out, rank, world_size = args.rank
        run_rank(int(seed), Path(out), int(rank), int(world_size))
    if args.killed is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{run_killed(args.killed, Path(folder))} steps")
        return 0
    began, done, failed, counts = time.monotonic(), 0, 0, Counter[str]()
    for seed in range(args.first, args.first + args.pipelines):
        if args.seconds and time.monotonic() - began > args.seconds:
            break
        with tempfile.TemporaryDirectory() as folder:
            try:
                run = run_pipeline(seed, Path(folder))
                counts.update(batches=run.batches, changed=run.file_changes, noticed=run.noticed)
            except AssertionError as error:
                failed += 1
                traceback.print_exception(error)
        done += 1
    seconds = time.monotonic() - began
    print(f"{done} pipelines killed and resumed in {seconds:.0f} s: {counts['batches']} batches as "
          f"the model has them; {counts['changed']} files changed on the way, of which "
          f"{counts['noticed']} ended a run; {failed} pipelines failed")  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
