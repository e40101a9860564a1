"""Trains a small network on the rows of data/part-000 and data/part-001, in which y is about 2 x.

    python tests/test_mini_dataloader.py [--steps 1000] [--batch-size 10] [--seed 0]
                                         [--threads N] [--data-dir data]

The network is written out in NumPy, so that the way of the data is all there is to see: a reader
finds the records, a decoder says what they mean, a DataLoader gives batches.  The same seed prints
the same losses at any number of threads.  pytest runs this file as well.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # a checkout works without being installed

import pyflowdata as flow

HIDDEN = 500
HELD_OUT = np.array([[2.5], [5.5], [8.5]])  # x that are in no row


def open_loader(args: argparse.Namespace) -> flow.DataLoader:
    """Batches (x, y) of the rows of both files, each epoch in another order."""
    record = flow.MiniReader(
        args.data_dir,
        batch_size=args.batch_size,
        data_part_num=2,
        part_name_suffix_length=3,
        random_shuffle=True,
        shuffle_after_epoch=True,
        seed=args.seed,
    )
    x, y = flow.MiniDecoder(record)
    return flow.DataLoader(x, y, num_threads=args.threads)


class Model:
    """dense(500, relu), then dense(1)."""

    def __init__(self, rng: np.random.Generator) -> None:
        first, second = 1 / 28, np.sqrt(1 / HIDDEN)
        self.weights = [
            rng.uniform(-first, first, (1, HIDDEN)),
            rng.uniform(-first, first, HIDDEN),
            rng.uniform(-second, second, (HIDDEN, 1)),
            np.zeros(1),
        ]

    def predict(self, x: np.ndarray) -> np.ndarray:
        kernel1, bias1, kernel2, bias2 = self.weights
        return np.maximum(x @ kernel1 + bias1, 0) @ kernel2 + bias2

    def loss_and_gradients(self, x: np.ndarray, y: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """The mean squared error over the rows, and its gradient for each of the weights."""
        kernel1, bias1, kernel2, bias2 = self.weights
        hidden = np.maximum(x @ kernel1 + bias1, 0)
        error = hidden @ kernel2 + bias2 - y
        d_output = 2 * error / len(x)
        d_hidden = (d_output @ kernel2.T) * (hidden > 0)
        gradients = [x.T @ d_hidden, d_hidden.sum(0), hidden.T @ d_output, d_output.sum(0)]
        return float(np.mean(error**2)), gradients


class Adam:
    def __init__(self, weights: list[np.ndarray], rate: float = 1e-3) -> None:
        self.weights, self.rate, self.steps = weights, rate, 0
        self.mean = [np.zeros_like(w) for w in weights]
        self.square = [np.zeros_like(w) for w in weights]

    def step(self, gradients: list[np.ndarray]) -> None:
        self.steps += 1
        scale = self.rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for w, g, m, s in zip(self.weights, gradients, self.mean, self.square):
            m += (1 - 0.9) * (g - m)
            s += (1 - 0.999) * (g * g - s)
            w -= scale * m / (np.sqrt(s) + 1e-8)


def train(args: argparse.Namespace) -> Model:
    model = Model(np.random.default_rng(args.seed))
    adam = Adam(model.weights)
    loss = float("nan")
    with open_loader(args) as loader:
        for step, (x, y) in enumerate(itertools.islice(loader.repeat(), args.steps)):
            loss, gradients = model.loss_and_gradients(x, y)
            adam.step(gradients)
            if step % 100 == 0:
                print(f"{step}/{args.steps}: {loss:.6f}")
    for x, y in zip(HELD_OUT, model.predict(HELD_OUT)):
        print(f"x = {x[0]}: predicted {y[0]:.3f}, expected about {2 * x[0]}")
    print(f"final loss: {loss:.6f}")
    return model


def has_learned(model: Model) -> bool:
    return bool(np.all(np.abs(model.predict(HELD_OUT) - 2 * HELD_OUT) < 0.3))


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small network on y = 2 x.")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the order and of the first weights")
    parser.add_argument("--threads", type=int, help="left out: as many as this process may use")
    parser.add_argument("--data-dir", default=str(ROOT / "data"))
    return parser.parse_args(argv)


def test_the_model_learns_that_y_is_two_x(capsys):
    model = train(parse_arguments([]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:10]] == [f"{i}/1000" for i in range(0, 1000, 100)]
    assert lines[-1].startswith("final loss: ")
    assert float(lines[-1].split()[-1]) < 0.1 < float(lines[0].split()[-1])
    assert has_learned(model)


def test_a_seed_prints_the_same_losses_at_any_number_of_threads(tmp_path, capsys):
    """In a separate process as in this one."""
    given = ["--steps", "300", "--seed", "7"]

    def output(*options: str) -> str:
        train(parse_arguments([*given, *options]))
        return capsys.readouterr().out

    command = [sys.executable, __file__, *given, "--threads", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    one = done.stdout
    assert one.startswith("0/300: ")
    assert output("--threads", "2") == one
    assert output("--threads", "7") == one
    assert output("--threads", "2", "--seed", "8") != one


if __name__ == "__main__":
    arguments = parse_arguments()
    if not has_learned(train(arguments)) and arguments.steps >= 1000:
        raise SystemExit("the predictions are far from 2 x")
