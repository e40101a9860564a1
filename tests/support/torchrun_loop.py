"""A plain training loop, for torchrun to start: writes what each rank has seen to files.

    torchrun ... torchrun_loop.py job.json

The job has "folder" (the data), "out", "epochs", "batch_size", "runs" (for each a name, and the
state to start from or null), "accumulate" (batches of an optimizer step) and perhaps "checkpoint",
a file to save to every 2 steps and to go on from, and "dies_at": the step at which the last rank is
killed, in the first of torchrun's attempts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def open_loader(job: dict[str, Any], **attrs: Any) -> TorchLoader[Any]:
    given = {"last_batch": "even", "shuffle": True, "seed": 3, **attrs}
    reader = flow.MiniReader(job["folder"], batch_size=job["batch_size"], with_id=True, **given)
    return TorchLoader(flow.DataLoader(reader, num_threads=1))


def save(path: Path, content: Any) -> None:
    temporary = path.with_suffix(".new")
    torch.save(content, temporary)
    os.replace(temporary, path)


class Run:
    """One training from a state on."""

    def __init__(self, job: dict[str, Any], name: str, state: Any) -> None:
        self.job, self.name = job, name
        self.checkpoint = Path(job["checkpoint"]) if "checkpoint" in job else None
        self.model = DistributedDataParallel(torch.nn.Linear(2, 1).double())
        self.loader = open_loader(job)
        if self.checkpoint and self.checkpoint.exists():
            state = torch.load(self.checkpoint, weights_only=True)
        if state is not None:
            self.loader.load_state_dict(state)
        self.seen: list[Any] = []  # epoch, step, ids and the state after each step
        self.updates: list[int] = []  # batches in each optimizer step

    def go(self) -> dict[str, Any]:
        while self.loader.state_dict()["epoch"] < self.job["epochs"]:
            waiting = 0
            for x, *_, ids in self.loader:
                waiting += 1
                epoch, position = self.loader.place()
                is_due = waiting == self.job["accumulate"] or position == 0
                self.step(x, is_due)
                if is_due:
                    self.updates.append(waiting)
                    waiting = 0
                state = self.loader.state_dict()
                self.seen.append([ids[:, 1].tolist(), state])
                self.keep(state)
        return {"seen": self.seen, "updates": self.updates}

    def step(self, x: torch.Tensor, is_due: bool) -> None:
        self.model.require_backward_grad_sync = is_due
        self.model(x).square().mean().backward()
        if is_due:
            self.model.zero_grad()

    def keep(self, state: Any) -> None:
        if self.checkpoint is None:
            return
        steps = len(self.seen)
        if dist.get_rank() == 0 and steps % 2 == 0:
            save(self.checkpoint, state)
        dist.barrier()  # all have a checkpoint of the same step, or none has
        is_last = dist.get_rank() == dist.get_world_size() - 1
        if ATTEMPT == 0 and is_last and steps == self.job.get("dies_at"):
            self.write({"seen": self.seen})
            os.kill(os.getpid(), signal.SIGKILL)
        self.write({"seen": self.seen})

    def write(self, found: Any) -> None:
        out = Path(self.job["out"]) / f"{self.name}-{ATTEMPT}-{dist.get_rank()}.json"
        out.write_text(json.dumps(found))


def count_rows(job: dict[str, Any]) -> dict[str, int]:
    """What an evaluation over all ranks sees, with equal batches and with a short one."""
    counts = {}
    for rule in ("pad", "short"):
        total = torch.zeros((), dtype=torch.int64)
        for _, mask, _ids in open_loader(job, last_batch=rule, with_mask=True, shuffle=False):
            total += mask.sum()
        dist.all_reduce(total)
        counts[rule] = int(total)
    return counts


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    dist.init_process_group("gloo")
    for name, state in job["runs"].items():
        run = Run(job, name, state)
        run.write({**run.go(), "counts": count_rows(job)})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    os._exit(0)  # gloo's threads sometimes abort when they meet the end of the interpreter
