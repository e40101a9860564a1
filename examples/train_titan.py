"""Trains in torchtitan's manner: a mesh of data and tensor parallel ranks, and checkpoints by DCP.

    torchrun --standalone --nproc-per-node 4 examples/train_titan.py --tp 2 [--steps 20]
                      [--checkpoint folder] [--save-every STEPS] [--losses losses] [--data-dir data]

Tensor parallel peers get the same rows.  The state of the loader is the same on all ranks, and has
no rank in it: what one mesh has saved, another one goes on with, in the middle of an epoch.
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
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a checkout works without being installed

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader, rank_and_world_size


def open_loader(args: argparse.Namespace, mesh: DeviceMesh) -> TorchLoader[Any]:
    """Batches (x, y, ids), equally many rows on every data parallel rank."""
    rank, world_size = rank_and_world_size(mesh["dp"])
    record, ids = flow.MiniReader(
        args.data_dir,
        batch_size=args.batch_size,
        last_batch="even",
        shuffle=True,
        seed=args.seed,
        rank=rank,
        world_size=world_size,
        with_id=True,
    )
    x, y = flow.MiniDecoder(record)
    return TorchLoader(flow.DataLoader(x, y, ids, num_threads=args.threads), mesh=mesh["dp"])


def make_model(seed: int, mesh: DeviceMesh) -> torch.nn.Module:
    """Two layers, split over "tp" by columns and by rows, and sharded over "dp"."""
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)]
    model = torch.nn.Sequential(*layers).double()
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    return model


class TrainState:
    """Model, optimizer and step, as torch.distributed.checkpoint asks for them."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        self.step = 0

    def state_dict(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.step = state["step"]


def train_step(state: TrainState, x: torch.Tensor, y: torch.Tensor, mesh: DeviceMesh) -> float:
    """One step; returns the loss of the whole batch."""
    loss = (state.model(x) - y).square().mean()
    state.optimizer.zero_grad()
    loss.backward()  # gradients are averaged over "dp", whose ranks have equally many rows
    state.optimizer.step()
    state.step += 1
    value = loss.detach()
    dist.all_reduce(value, group=mesh.get_group("dp"))
    return float(value) / mesh["dp"].size()


def train(args: argparse.Namespace) -> None:
    tp = args.tp
    mesh = init_device_mesh(
        "cpu", (dist.get_world_size() // tp, tp), mesh_dim_names=("dp", "tp")
    )
    state = TrainState(make_model(args.seed, mesh))
    with open_loader(args, mesh) as loader:
        saved = {"train": state, "dataloader": loader}  # a loader is Stateful by itself
        if args.checkpoint and (args.checkpoint / ".metadata").exists():
            dcp.load(saved, checkpoint_id=args.checkpoint)
        for x, y, ids in loader.repeat():
            if state.step == args.steps:
                break
            loss = train_step(state, x, y, mesh)
            report(args, state.step, loss, ids, mesh)
            if args.checkpoint and state.step % args.save_every == 0:
                dcp.save(saved, checkpoint_id=args.checkpoint)


def report(
    args: argparse.Namespace, step: int, loss: float, ids: torch.Tensor, mesh: DeviceMesh
) -> None:
    dp, tp = mesh.get_local_rank("dp"), mesh.get_local_rank("tp")
    if dist.get_rank() == 0 and step % 10 == 1:
        print(f"step {step}: loss {loss:.6f}", flush=True)
    if args.losses:
        entry = {"step": step, "loss": loss, "dp": dp, "tp": tp, "ids": ids[:, 1].tolist()}
        with open(f"{args.losses}-{dist.get_rank()}", "a") as file:
            print(json.dumps(entry), file=file)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains in torchtitan's manner, on CPUs.")
    parser.add_argument("--data-dir", default=str(ROOT / "data"))
    parser.add_argument("--batch-size", type=int, default=8, help="of all processes together")
    parser.add_argument("--tp", type=int, default=1, help="tensor parallel ranks")
    parser.add_argument("--steps", type=int, default=20, help="after which training is over")
    parser.add_argument("--seed", type=int, default=0, help="of the order and of the first weights")
    parser.add_argument("--threads", type=int, default=1, help="of the loader, in each process")
    parser.add_argument("--checkpoint", type=Path, help="folder; is gone on from, if it is there")
    parser.add_argument("--save-every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--losses", help="files LOSSES-<rank> get a line of JSON a step")
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
    sys.stdout.flush()
    os._exit(0)  # gloo's threads sometimes abort when they meet the end of the interpreter
