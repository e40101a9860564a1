"""Trains on digits in IDX files, is killed, and goes on: python examples/train_digits.py

It draws them.  Each epoch turns and moves every digit in another way.  The model is one layer, in
NumPy.  Killed in the middle of an epoch or not, a run ends with the same weights, bit for bit.
"""

import pickle
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.io import IDXWriter

FONT = "75557 22222 71747 71717 55711 74717 74757 71111 75757 75717".split()  # octal, 3 x 5 pixels
folder, chance = Path((temporary := tempfile.TemporaryDirectory()).name), np.random.default_rng(0)
for part, count in (("train", 3000), ("test", 500)):
    digits = chance.integers(0, 10, count).astype(np.uint8)
    images = chance.integers(0, 130, (count, 16, 16), np.uint8)
    for image, digit in zip(images, digits):
        pixels = [[int(row) >> bit & 1 for bit in (2, 1, 0)] for row in FONT[digit]]
        image[3:13, 5:11] += np.kron(pixels, [[100, 100], [100, 100]]).astype(np.uint8)
    for name, array in {"images": images, "labels": digits}.items():
        with IDXWriter(folder / f"{part}-{name}", dtype="uint8") as writer:
            writer.write_batch(array)


def open_loader(part: str) -> flow.DataLoader:
    data = flow.open(folder / f"{part}-images", labels=folder / f"{part}-labels")
    image, label = data.shuffle(seed=1).batch(100)
    image = flow.RandomAffine(image, degrees=10, translate=[0.1, 0.1]) if part == "train" else image
    return flow.DataLoader(flow.Affine(image, scale=1 / 255, shift=-0.3, dtype="float32"), label)


def train(checkpoint: Path, steps: int) -> np.ndarray:
    step, weights = 0, np.zeros((256, 10))
    with open_loader("train") as loader, open_loader("test") as test:
        if checkpoint.exists():
            step, weights, state = pickle.loads(checkpoint.read_bytes())
            loader.load_state_dict(state)
            print(f"goes on after step {step}")
        for image, label in islice(loader.repeat(), steps - step):
            share = np.exp((x := image.reshape(-1, 256)) @ weights)
            weights -= 0.003 * x.T @ (share / share.sum(1, keepdims=True) - np.eye(10)[label])
            if (step := step + 1) % 25 == 0:
                checkpoint.write_bytes(pickle.dumps((step, weights, loader.state_dict())))
            if step % len(loader) == 0:
                told = sum(((x.reshape(-1, 256) @ weights).argmax(1) == y).sum() for x, y in test)
                print(f"step {step}: {told} of 500 digits told")
    return weights


whole = train(folder / "whole", steps=180)
train(folder / "killed", steps=70)  # in the middle of an epoch, and 20 after the checkpoint
print("the same weights:", (train(folder / "killed", steps=180) == whole).all())
