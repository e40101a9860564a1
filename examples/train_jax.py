"""Trains a small network with jax on the rows of data/, in which y is about 2 x.

    python examples/train_jax.py [--steps 200] [--batch-size 6] [--seed 0] [--data-dir data]

The batch is spread over all devices; on a CPU XLA_FLAGS=--xla_force_host_platform_device_count=2
makes two of it.  Several processes share the work when each is told who it is:

    python examples/train_jax.py --coordinator HOST:PORT --processes 2 --process 0
    python examples/train_jax.py --coordinator HOST:PORT --processes 2 --process 1

Every number of devices and processes prints the same losses, up to rounding in float32, since a
batch has the same rows everywhere.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a checkout works without being installed

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.jax import JaxLoader, rank_and_world_size  # noqa: E402

HIDDEN = 32
RATE = 0.003

Weights = dict[str, jax.Array]


def open_loader(args: argparse.Namespace, sharding: NamedSharding) -> JaxLoader:
    """Batches (x, y) in float32, each epoch in another order; every process reads its rows."""
    rank, world_size = rank_and_world_size(sharding, args.batch_size)
    record = flow.MiniReader(
        args.data_dir,
        batch_size=args.batch_size,
        last_batch="wrap",
        shuffle=True,
        seed=args.seed,
        rank=rank,
        world_size=world_size,
    )
    x, y = (flow.Affine(column, dtype="float32") for column in flow.MiniDecoder(record))
    return JaxLoader(flow.DataLoader(x, y), sharding)


def first_weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "kernel1": rng.uniform(-1, 1, (1, HIDDEN)).astype(np.float32),
        "bias1": np.zeros(HIDDEN, np.float32),
        "kernel2": rng.uniform(-0.3, 0.3, (HIDDEN, 1)).astype(np.float32),
        "bias2": np.zeros(1, np.float32),
    }


def mean_squared_error(weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(x @ weights["kernel1"] + weights["bias1"])
    return jnp.mean((hidden @ weights["kernel2"] + weights["bias2"] - y) ** 2)


@jax.jit
def train_step(weights: Weights, x: jax.Array, y: jax.Array) -> tuple[Weights, jax.Array]:
    """One step of gradient descent; jax adds up the gradients of all devices."""
    loss, gradients = jax.value_and_grad(mean_squared_error)(weights, x, y)
    return jax.tree.map(lambda weight, slope: weight - RATE * slope, weights, gradients), loss


def train(args: argparse.Namespace) -> list[float]:
    mesh = Mesh(np.array(jax.devices()), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))  # the first dimension of a batch
    everywhere = NamedSharding(mesh, PartitionSpec())
    weights = {
        name: jax.make_array_from_process_local_data(everywhere, value)
        for name, value in first_weights(args.seed).items()
    }
    losses = []
    with open_loader(args, rows) as loader:
        for x, y in itertools.islice(loader.repeat(), args.steps):
            weights, loss = train_step(weights, x, y)
            losses.append(loss)  # not float(loss), which would wait for the devices
    return [float(loss) for loss in losses]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network on y = 2 x with jax.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=6, help="of all processes together")
    parser.add_argument("--seed", type=int, default=0, help="of the order and the first weights")
    parser.add_argument("--data-dir", default=str(ROOT / "data"))
    parser.add_argument("--coordinator", help="HOST:PORT of process 0, for several processes")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    if args.coordinator:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")  # later the default
        jax.distributed.initialize(args.coordinator, args.processes, args.process)
    for step, loss in enumerate(train(args)):
        if jax.process_index() == 0:
            print(f"{step}: {loss:.6f}")


if __name__ == "__main__":
    main()
