"""Trains a small network with DistributedDataParallel, on CPUs, and resumes from a checkpoint.

    torchrun --standalone --nproc-per-node 4 examples/train_ddp.py [--data-dir data] [--epochs 20]
                      [--checkpoint run.pt] [--save-every STEPS] [--losses losses.jsonl]

batch_size is the size of the batch of all ranks together, and a batch holds the same records at any
number of processes.  So 1, 2 and 4 processes have the same loss curve, up to the rounding of sums
that are added in another order; and a checkpoint of 4 processes goes on with 2, in the middle of an
epoch.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a checkout works without being installed

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader


def open_loader(args: argparse.Namespace) -> TorchLoader[tuple[torch.Tensor, ...]]:
    """Batches (x, y): this rank's rows of each."""
    record = flow.MiniReader(
        args.data_dir,
        batch_size=args.batch_size,
        shuffle=True,
        seed=args.seed,  # rank and world size are those of torch.distributed
    )
    x, y = flow.MiniDecoder(record)
    return TorchLoader(flow.DataLoader(x, y, num_threads=args.threads))


def make_model(seed: int) -> DistributedDataParallel:
    torch.manual_seed(seed)
    layers = (torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    return DistributedDataParallel(torch.nn.Sequential(*layers).double())


def mean_squared_error(
    model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, float]:
    """The loss for backward(), and the loss of the complete batch.

    The last batch of an epoch is short, and a rank may have fewer rows of it than another, or none.
    So each rank divides by the rows of all; DDP's mean over the ranks is undone here.
    """
    error = (model(x) - y).square().sum()
    sums = torch.stack([error.detach(), torch.tensor(float(len(x)), dtype=torch.float64)])
    dist.all_reduce(sums)
    return error * dist.get_world_size() / sums[1], float(sums[0] / sums[1])


def save(path: Path, content: dict[str, Any]) -> None:
    """Writes all or nothing: a process that is killed here leaves the previous checkpoint."""
    temporary = path.with_suffix(".new")
    torch.save(content, temporary)
    os.replace(temporary, path)


def train(args: argparse.Namespace) -> None:
    model = make_model(args.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step = 0
    with open_loader(args) as loader:
        if args.checkpoint and args.checkpoint.exists():
            saved = torch.load(args.checkpoint, weights_only=True)
            model.module.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            loader.load_state_dict(saved["loader"])  # of rank 0, for every rank
            step = saved["step"]
        while loader.state_dict()["epoch"] < args.epochs:
            for x, y in loader:
                loss, value = mean_squared_error(model, x, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                if dist.get_rank() == 0:
                    report(args, step, loader.epoch, value)
                    if args.checkpoint and step % args.save_every == 0:
                        content = {
                            "model": model.module.state_dict(),
                            "optimizer": optimizer.state_dict(),
                            "loader": loader.state_dict(),
                            "step": step,
                        }
                        save(args.checkpoint, content)


def report(args: argparse.Namespace, step: int, epoch: int, loss: float) -> None:
    if step % 10 == 1:
        print(f"epoch {epoch}, step {step}: loss {loss:.6f}", flush=True)
    if args.losses:
        with args.losses.open("a") as file:
            print(json.dumps({"step": step, "epoch": epoch, "loss": loss}), file=file)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network with DDP on CPUs.")
    parser.add_argument("--data-dir", default=str(ROOT / "data"))
    parser.add_argument("--batch-size", type=int, default=8, help="of all processes together")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the order and of the first weights")
    parser.add_argument("--threads", type=int, default=1, help="of the loader, in each process")
    parser.add_argument("--checkpoint", type=Path, help="is gone on from, if it is there")
    parser.add_argument("--save-every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument("--losses", type=Path, help="file that gets a line of JSON a step")
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    dist.init_process_group("gloo")
    try:
        train(args)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # DDP keeps the process group's threads alive though it is destroyed, and torch sometimes aborts
    # when they meet the end of the interpreter.  All is written by now: end without that.
    sys.stdout.flush()
    os._exit(0)
