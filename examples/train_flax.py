"""Trains a small Flax network, saves it with Orbax, and goes on from the latest checkpoint.

    python examples/train_flax.py --checkpoints /tmp/run [--epochs 20] [--save-every 5]
                      [--batch-size 6] [--accumulate 1] [--seed 0] [--data-dir data]

A checkpoint holds the model, the optimizer and the state of the loader, so a run that was killed in
the middle of an epoch goes on with the next batch when it is started again: the steps have the
same records and losses as those of a run that was never interrupted.  The batch is spread over all
devices; several processes share the work when each is told who it is:

    python examples/train_flax.py --coordinator HOST:PORT --processes 2 --process 0 ...
    python examples/train_flax.py --coordinator HOST:PORT --processes 2 --process 1 ...

A checkpoint of any number of processes and devices is one for any other.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a checkout works without being installed

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.jax import JaxLoader, rank_and_world_size  # noqa: E402

HIDDEN = 32
RATE = 0.01


def open_loader(args: argparse.Namespace, sharding: NamedSharding, train: bool) -> JaxLoader[Any]:
    """Batches (x, y, mask); the mask is False for rows that only fill the last batch."""
    rank, world_size = rank_and_world_size(sharding, args.batch_size)
    record, mask = flow.MiniReader(
        args.data_dir,
        batch_size=args.batch_size,
        last_batch="pad",
        with_mask=True,
        shuffle=train,
        seed=args.seed,
        rank=rank,
        world_size=world_size,
    )
    x, y = (flow.Affine(column, dtype="float32") for column in flow.MiniDecoder(record))
    return JaxLoader(flow.DataLoader(x, y, mask), sharding)


class Model(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(1, HIDDEN, rngs=rngs)
        self.out = nnx.Linear(HIDDEN, 1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.out(nnx.relu(self.hidden(x)))


def make_training(args: argparse.Namespace, mesh: Mesh) -> tuple[Model, nnx.Optimizer[Model]]:
    """The model and its optimizer, the same on every device."""
    model = Model(nnx.Rngs(args.seed))
    adam = optax.MultiSteps(optax.adam(RATE), args.accumulate).gradient_transformation()
    training = model, nnx.Optimizer(model, adam, wrt=nnx.Param)
    everywhere = NamedSharding(mesh, PartitionSpec())
    nnx.update(training, jax.device_put(nnx.state(training), everywhere))
    return training


def squared_errors(model: Model, x: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
    """The sum of squared errors over the rows that the mask counts."""
    return jnp.sum(jnp.where(mask[:, None], (model(x) - y) ** 2, 0))


@nnx.jit
def train_step(
    model: Model, optimizer: nnx.Optimizer[Model], x: jax.Array, y: jax.Array, mask: jax.Array
) -> jax.Array:
    def loss_of(model: Model) -> jax.Array:
        return squared_errors(model, x, y, mask) / jnp.sum(mask)

    loss, gradients = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, gradients)
    return loss


@nnx.jit
def eval_step(
    model: Model, x: jax.Array, y: jax.Array, mask: jax.Array
) -> tuple[jax.Array, jax.Array]:
    return jnp.sum(mask), squared_errors(model, x, y, mask)


def evaluate(model: Model, loader: JaxLoader[Any]) -> tuple[int, float]:
    """How many records there are, each counted once, and their mean squared error."""
    found = [eval_step(model, *batch) for batch in loader]
    count = sum(int(rows) for rows, _ in found)
    return count, sum(float(errors) for _, errors in found) / count


def open_checkpoints(folder: str) -> ocp.CheckpointManager:
    options = ocp.CheckpointManagerOptions(max_to_keep=2)
    return ocp.CheckpointManager(Path(folder).resolve(), options=options)


def save(manager: ocp.CheckpointManager, step: int, training: Any, loader: JaxLoader[Any]) -> None:
    """Saves in the background; a process that is killed meanwhile leaves the previous one."""
    content = ocp.args.Composite(
        training=ocp.args.StandardSave(nnx.state(training)),
        loader=ocp.args.JsonSave(loader.state_dict()),  # the same in all processes
    )
    manager.save(step, args=content)


def restore(manager: ocp.CheckpointManager, training: Any, loader: JaxLoader[Any]) -> int:
    """The step of the latest checkpoint, and everything as it was then; 0 without one."""
    step = manager.latest_step()
    if step is None:
        return 0
    content = ocp.args.Composite(
        training=ocp.args.StandardRestore(nnx.state(training)),
        loader=ocp.args.JsonRestore(),
    )
    found = manager.restore(step, args=content)
    nnx.update(training, found.training)
    loader.load_state_dict(found.loader)
    return int(step)


def train(args: argparse.Namespace) -> Model:
    mesh = Mesh(np.array(jax.devices()), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))  # the first dimension of a batch
    model, optimizer = training = make_training(args, mesh)
    with (
        open_loader(args, rows, train=True) as loader,
        open_loader(args, rows, train=False) as test_loader,
        open_checkpoints(args.checkpoints) as manager,  # waits at the end until all is written
    ):
        step = restore(manager, training, loader)
        while loader.state_dict()["epoch"] < args.epochs:
            losses = []
            for batch in loader:
                step += 1
                losses.append((step, train_step(model, optimizer, *batch)))
                if step % args.save_every == 0:
                    say(losses)  # waits for the devices, and so not in every step
                    losses = []
                    save(manager, step, training, loader)
            say(losses)
            count, error = evaluate(model, test_loader)
            say_once(f"epoch {loader.epoch}: mean squared error {error:.6f} of {count} records")
    return model


def say(losses: list[tuple[int, jax.Array]]) -> None:
    for step, loss in losses:
        say_once(f"{step}: {float(loss):.6f}")


def say_once(line: str) -> None:
    if jax.process_index() == 0:
        print(line, flush=True)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network with Flax and Orbax.")
    parser.add_argument("--data-dir", default=str(ROOT / "data"))
    parser.add_argument("--batch-size", type=int, default=6, help="of all processes together")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the order and the first weights")
    parser.add_argument("--accumulate", type=int, default=1, help="batches of an update")
    parser.add_argument("--checkpoints", required=True, help="a folder that all processes see")
    parser.add_argument("--save-every", type=int, default=5, help="steps between checkpoints")
    parser.add_argument("--coordinator", help="HOST:PORT of process 0, for several processes")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> Model:
    args = parse_arguments(arguments)
    if args.coordinator:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")  # later the default
        jax.distributed.initialize(args.coordinator, args.processes, args.process)
    return train(args)


if __name__ == "__main__":
    main()
