"""Trains a small network under Ray Train, and goes on where a worker was killed.

    python examples/train_ray.py --storage /tmp/runs [--name run] [--workers 2] [--epochs 20]
                     [--save-every 5] [--batch-size 6] [--accumulate 1] [--data-dir data]

A checkpoint of Ray Train holds the model, the optimizer and the state of the loader.  If a worker
dies, Ray Train starts all of them again, and they go on with the batch after the latest checkpoint,
in the middle of an epoch.  A run of the same name goes on as well, with any number of workers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import ray.train
import ray.train.torch
import torch
from torch import distributed

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a checkout works without being installed

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

Batches = TorchLoader[tuple[torch.Tensor, ...]]


def open_loader(config: dict[str, Any], train: bool) -> Batches:
    """Batches (x, y, mask) of this worker; the mask is False for rows that fill the last batch."""
    record, mask = flow.MiniReader(
        config["data_dir"],
        batch_size=config["batch_size"],
        last_batch="pad",
        with_mask=True,
        shuffle=train,
        seed=config["seed"],  # rank and world size are found out
    )
    x, y = flow.MiniDecoder(record)
    return TorchLoader(flow.DataLoader(x, y, mask), device=ray.train.torch.get_device())


def make_model(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    layers = (torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    return torch.nn.Sequential(*layers).double()


def squared_errors(
    model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of squared errors over this worker's rows, and the number of rows of all workers."""
    rows = mask.sum()
    if distributed.is_initialized():
        distributed.all_reduce(rows)
    return (model(x) - y)[mask].square().sum(), rows


@torch.no_grad()
def evaluate(model: torch.nn.Module, loader: Batches) -> dict[str, float]:
    """How many records there are, each counted once, and their mean squared error."""
    count, total = 0, torch.zeros((), dtype=torch.float64)
    for batch in loader:
        error, rows = squared_errors(model, *batch)
        count, total = count + int(rows), total + error
    if distributed.is_initialized():
        distributed.all_reduce(total)
    return {"records": count, "error": float(total) / count}


class Training:
    """What a checkpoint holds: the model, its optimizer and the place in the data."""

    def __init__(self, config: dict[str, Any], loader: Batches) -> None:
        self.model = ray.train.torch.prepare_model(make_model(config["seed"]))
        self.bare = getattr(self.model, "module", self.model)  # without DistributedDataParallel
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.loader = loader
        self.updates = 0

    def save(self, metrics: dict[str, Any]) -> None:
        """All workers call this method; the data of rank 0 are the checkpoint."""
        content = {
            "model": self.bare.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "loader": self.loader.state_dict(),
            "updates": self.updates,
        }
        metrics = {"epoch": self.loader.epoch, "updates": self.updates, **metrics}
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if ray.train.get_context().get_world_rank() == 0:
                torch.save(content, f"{folder}/training.pt")
                checkpoint = ray.train.Checkpoint.from_directory(folder)
            ray.train.report(metrics, checkpoint=checkpoint)

    def restore(self, checkpoint: ray.train.Checkpoint) -> None:
        with checkpoint.as_directory() as folder:
            saved = torch.load(f"{folder}/training.pt", weights_only=True)
        self.bare.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.loader.load_state_dict(saved["loader"])  # of rank 0, for every worker
        self.updates = saved["updates"]

    def run_epoch(self, config: dict[str, Any]) -> None:
        """The rest of an epoch."""
        workers = ray.train.get_context().get_world_size()
        for batch in self.loader:
            error, rows = squared_errors(self.model, *batch)
            loss = error * workers / rows  # DistributedDataParallel divides by the workers
            (loss / config["accumulate"]).backward()
            place = self.loader.state_dict()["position"]  # 0 after the last batch of an epoch
            if place % config["accumulate"] == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.updates += 1
                if self.updates % config["save_every"] == 0 and place:
                    self.save({})


def train(config: dict[str, Any]) -> None:
    with open_loader(config, True) as loader, open_loader(config, False) as test_loader:
        training = Training(config, loader)
        checkpoint = ray.train.get_checkpoint()
        if checkpoint:
            training.restore(checkpoint)
        while loader.state_dict()["epoch"] < config["epochs"]:
            training.run_epoch(config)
            training.save(evaluate(training.bare, test_loader))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network under Ray Train.")
    parser.add_argument("--storage", required=True, help="a folder that all workers see")
    parser.add_argument("--name", default="run", help="one that is there goes on")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--failures", type=int, default=3, help="after which Ray Train gives up")
    parser.add_argument("--data-dir", default=str(ROOT / "data"))
    parser.add_argument("--batch-size", type=int, default=6, help="of all workers together")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--accumulate", type=int, default=1, help="batches of an update")
    parser.add_argument("--save-every", type=int, default=5, help="updates between checkpoints")
    parser.add_argument("--seed", type=int, default=0, help="of the order and the first weights")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> ray.train.Result:
    args = parse_arguments(arguments)
    trainer = ray.train.torch.TorchTrainer(
        train,
        train_loop_config=vars(args),
        scaling_config=ray.train.ScalingConfig(num_workers=args.workers),
        run_config=ray.train.RunConfig(
            name=args.name,
            storage_path=str(Path(args.storage).resolve()),
            failure_config=ray.train.FailureConfig(max_failures=args.failures),
        ),
    )
    return trainer.fit()


if __name__ == "__main__":
    print(main().metrics)
