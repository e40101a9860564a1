"""Trains LeNet on digits in IDX files, the format of MNIST: python examples/train_lenet.py

The digits are the 1797 of scikit-learn, 8 x 8 pixels each.  A fifth of them is held out; more than
97 % of these are told in the end, after some seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader
from pyflowdata.io import IDXWriter

folder = tempfile.TemporaryDirectory()
digits = load_digits()
is_test = np.random.default_rng(0).permutation(len(digits.target)) % 5 == 0
for part, rows in (("train", ~is_test), ("test", is_test)):
    for name, array in (("images", digits.images * 255 / 16), ("labels", digits.target)):
        with IDXWriter(f"{folder.name}/{part}-{name}", dtype="uint8") as writer:
            writer.write_batch(array[rows].astype(np.uint8))


def open_loader(part: str, is_training: bool) -> TorchLoader[tuple[torch.Tensor, ...]]:
    image, label = flow.IDXReader(
        files=f"{folder.name}/{part}-images", labels=f"{folder.name}/{part}-labels",
        batch_size=32, seed=0, shuffle=is_training,
    )  # fmt: skip
    image = flow.Resize(image, size=(32, 32))
    if is_training:
        image = flow.RandomAffine(image, degrees=10, translate=[0.1, 0.1])
    x = flow.Normalize(image, mean=0.3, std=0.35)
    return TorchLoader(flow.DataLoader(x, flow.Cast(label, dtype="int64")))


torch.manual_seed(0)
torch.set_num_threads(1)
lenet = nn.Sequential(
    nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
)  # fmt: skip
optimizer = torch.optim.Adam(lenet.parameters(), lr=0.003)
slower = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.75)
with open_loader("train", True) as train, open_loader("test", False) as test:
    for epoch in range(10):
        for x, y in train:
            optimizer.zero_grad()
            nn.functional.cross_entropy(lenet(x), y).backward()
            optimizer.step()
        slower.step()
        with torch.no_grad():
            is_told = torch.cat([lenet(x).argmax(1) == y for x, y in test])
        print(f"epoch {epoch}: {is_told.double().mean():.2%} of {len(is_told)} digits")
