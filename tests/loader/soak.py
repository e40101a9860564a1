"""Kills the processes of a training run again and again, resumes it with other world sizes, and
counts the logical batches that were lost or repeated.

    python tests/loader/soak.py [--cycles 200] [--seed 0]

A cycle is a run of 1, 4, 2 or 3 processes, one per rank.  They step together, as ranks do that
average gradients.  Every few steps each rank saves a checkpoint: one file, made by a rename, that
has the loader's state and the rows of the steps since the checkpoint before.  A checkpoint counts
when all ranks have theirs.  At a random moment of a random step all processes get SIGKILL; the next
cycle begins with the last checkpoint that counts, and what was delivered behind it is rolled back,
as a trainer rolls back its model.

So the ledger of what the model has learned from is exactly the rows in checkpoints that count.  It
is held against a run of one process that nobody kills: the same logical batches, bit for bit, in
the same order; each record once an epoch.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # a checkout works without being installed

from support import programs

import pyflowdata as flow

WORLD_SIZES = (1, 4, 2, 3)
PARTS = (101, 0, 57, 120)
RECORDS = sum(PARTS)
BATCH_SIZE = 12  # every world size divides it; the last batch of an epoch has 2 records
STEPS = -(-RECORDS // BATCH_SIZE)


def write_data(folder: Path) -> None:
    """Record i is the line `i,i/7`."""
    first = 0
    for part, count in enumerate(PARTS):
        lines = [f"{i},{i / 7!r}\n" for i in range(first, first + count)]
        (folder / f"part-{part}").write_text("".join(lines))
        first += count


def open_loader(
    folder: Path, seed: int, rank: int = 0, world_size: int = 1, **options: Any
) -> flow.DataLoader[Any]:
    rows = flow.MiniReader(
        str(folder),
        batch_size=BATCH_SIZE,
        random_shuffle=True,
        shuffle_after_epoch=True,
        seed=seed,
        rank=rank,
        world_size=world_size,
    )
    return flow.DataLoader(rows, **options)


# ---- One rank -----------------------------------------------------------------------------------


def run_rank(folder: Path, out: Path, rank: int, job: dict[str, Any]) -> None:
    """Steps until it is killed.

    Says "taken" by a byte when it has a batch, and waits for a byte before it goes on: the meeting
    of the ranks in every step.
    """
    options = {"num_threads": job["num_threads"][rank], "prefetch": job["prefetch"][rank]}
    with open_loader(folder, job["seed"], rank, job["world_size"], **options) as loader:
        if job["state"] is not None:
            loader.load_state_dict(job["state"])
        done, rows = 0, []
        for batch in itertools.chain.from_iterable(itertools.repeat(loader)):
            rows.append(batch.tobytes().hex())
            os.write(1, b".")
            if not os.read(0, 1):
                return
            done += 1
            if done % job["save_every"] == 0:
                text = json.dumps({"state": loader.state_dict(), "rows": rows})
                temporary = out / f"{rank}.new"
                temporary.write_text(text)
                temporary.rename(out / f"{done}.{rank}")
                rows = []


# ---- All of them --------------------------------------------------------------------------------


@dataclasses.dataclass
class Report:
    """What a soak found.

    Attributes:
        cycles: Runs that were killed.
        batches: Logical batches in the ledger.
        rolled_back: Logical batches that ranks took, but no checkpoint that counts has.
        torn: Checkpoints that some ranks had saved, others not.
        lost, repeated: Logical batches that an epoch of the ledger has too few or too many.
        wrong: Places of the ledger whose batch is another than without kills.
        seconds: Time of all.
    """

    cycles: int = 0
    batches: int = 0
    rolled_back: int = 0
    torn: int = 0
    lost: int = 0
    repeated: int = 0
    wrong: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.cycles} runs killed and resumed in {self.seconds:.0f} s: {self.batches} "
            f"logical batches of {self.batches / STEPS:.1f} epochs, {self.rolled_back} more rolled "
            f"back, {self.torn} checkpoints half saved; {self.lost} lost, {self.repeated} "
            f"repeated, {self.wrong} in the wrong place or other in a bit"
        )


class Ranks:
    """The processes of one run."""

    def __init__(self, folder: Path, out: Path, job: dict[str, Any]) -> None:
        self._processes = [
            programs.start(
                Path(__file__), "--rank", rank, folder, out, stdin=programs.PIPE,
                stdout=programs.PIPE, env=programs.environment(SOAK_JOB=json.dumps(job)),
            )  # fmt: skip
            for rank in range(job["world_size"])
        ]

    def wait_until_taken(self) -> None:
        """Until each rank has its part of the next batch."""
        for rank, process in enumerate(self._processes):
            assert process.stdout is not None
            if process.stdout.read(1) != ".":
                raise RuntimeError(f"rank {rank} ended with status {process.wait()}")

    def go_on(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(".")
            process.stdin.flush()

    def kill(self, rng: random.Random) -> None:
        """In any order, with moments in between in which those that are left go on."""
        for process in rng.sample(self._processes, len(self._processes)):
            process.kill()
            time.sleep(rng.choice((0.0, rng.uniform(0.0, 0.001))))
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def run_and_kill(
    folder: Path, out: Path, job: dict[str, Any], steps: int, rng: random.Random
) -> int:
    """Lets the ranks take `steps` steps, kills them in the last; how many they took."""
    ranks = Ranks(folder, out, job)
    try:
        for _ in range(steps - 1):
            ranks.wait_until_taken()
            ranks.go_on()
        if rng.random() < 0.3:  # while they make a batch, or start
            time.sleep(rng.uniform(0.0, 0.002))
            return steps - 1
        ranks.wait_until_taken()
        if rng.random() < 0.7:  # while they save, or take the next one
            ranks.go_on()
            time.sleep(rng.uniform(0.0, 0.001))
        return steps
    finally:
        ranks.kill(rng)


def read_checkpoints(
    out: Path, job: dict[str, Any], report: Report, rng: random.Random
) -> tuple[list[bytes], Any]:
    """The logical batches in checkpoints that count, and the state in the last of them."""
    saved = collections.Counter(int(path.stem) for path in out.glob("*.[0-9]"))
    batches: list[bytes] = []
    state = job["state"]
    for step in sorted(saved):
        if saved[step] < job["world_size"]:
            report.torn += 1
            continue
        files = [out / f"{step}.{rank}" for rank in range(job["world_size"])]
        contents = [json.loads(path.read_text()) for path in files]
        parts = zip(*[content["rows"] for content in contents], strict=True)
        batches += [bytes.fromhex("".join(rows)) for rows in parts]
        if len({json.dumps(content["state"]) for content in contents}) != 1:
            raise RuntimeError(f"ranks have different states at step {step} of {job}")
        state = rng.choice(contents)["state"]
    return batches, state


def compare(ledger: list[bytes], expected: list[bytes], report: Report) -> None:
    """Counts what differs between the ledger and what a run without kills delivers."""
    report.batches = len(ledger)
    report.wrong += sum(got != want for got, want in zip(ledger, expected, strict=False))
    for begin in range(0, len(ledger), STEPS):
        got = collections.Counter(ledger[begin : begin + STEPS])
        want = collections.Counter(expected[begin : begin + STEPS][: got.total()])
        report.lost += (want - got).total()
        report.repeated += (got - want).total()


def without_kills(folder: Path, seed: int, count: int) -> list[bytes]:
    """The first `count` logical batches, each epoch checked to have every record once."""
    truth = np.array([(float(i), i / 7) for i in range(RECORDS)])
    batches: list[bytes] = []
    with open_loader(folder, seed) as loader:
        while len(batches) < count:
            epoch = list(loader)
            rows = np.concatenate(epoch)
            assert len(epoch) == STEPS and np.array_equal(rows[rows[:, 0].argsort()], truth)
            batches += [batch.tobytes() for batch in epoch]
    return batches


def soak(cycles: int, seed: int, most_steps: int = 60) -> Report:
    """Runs so many cycles; the same seed makes the same choices, but the moments vary."""
    rng, report, began = random.Random(seed), Report(cycles), time.monotonic()
    ledger: list[bytes] = []
    state = None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "data")
        folder.mkdir()
        write_data(folder)
        for cycle in range(cycles):
            out = Path(temporary, f"cycle-{cycle}")
            out.mkdir()
            world_size = WORLD_SIZES[cycle % len(WORLD_SIZES)]
            job = {
                "seed": seed,
                "world_size": world_size,
                "state": state,
                "save_every": rng.choice((1, 1, 2, 5)),
                "num_threads": [rng.choice((1, 2, 3)) for _ in range(world_size)],
                "prefetch": [rng.randint(1, 8) for _ in range(world_size)],
            }
            taken = run_and_kill(folder, out, job, rng.randint(1, most_steps), rng)
            batches, state = read_checkpoints(out, job, report, rng)
            report.rolled_back += taken - len(batches)
            ledger += batches
        compare(ledger, without_kills(folder, seed, len(ledger)), report)
    report.seconds = time.monotonic() - began
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)  # a process of a run
    args = parser.parse_args()
    if args.rank:
        rank, folder, out = args.rank
        run_rank(Path(folder), Path(out), int(rank), json.loads(os.environ["SOAK_JOB"]))
        return 0
    report = soak(args.cycles, args.seed)
    print(report)
    return int(report.lost + report.repeated + report.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
