"""Trains on a folder of JPEG files for each class: python examples/train_images.py

The script draws them: discs, squares and triangles of any colour and size, on noise.  More than
95 % of those held out are told in the end, after some seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader
from pyflowdata.io import ImageFolderWriter

folder = tempfile.TemporaryDirectory()
chance = np.random.default_rng(0)
for part, count in (("train", 200), ("test", 60)):
    with ImageFolderWriter(f"{folder.name}/{part}") as writer:
        for _ in range(count):
            y, x = (np.mgrid[:64, :72] - chance.uniform(28, 36, (2, 1, 1))) / chance.uniform(16, 24)
            shapes = {"disc": y**2 + x**2 < 1, "square": np.maximum(abs(y), abs(x)) < 0.9,
                      "triangle": (y < 0.8) & (2 * abs(x) < y + 1)}  # fmt: skip
            for name, is_inside in shapes.items():
                image = chance.integers(0, 100, (64, 72, 3), np.uint8)
                image[is_inside] += chance.integers(50, 156, 3, np.uint8)
                writer.write({"image": image, "label": name})


def open_loader(part: str, is_training: bool) -> TorchLoader[tuple[torch.Tensor, ...]]:
    file, label = flow.ImageFolderReader(f"{folder.name}/{part}", batch_size=30, seed=0,
        shuffle=is_training)  # fmt: skip
    image = flow.ImageDecoder(file)
    if is_training:
        image = flow.RandomFlip(flow.RandomResizedCrop(image, size=(48, 48), area=(0.6, 1)))
    else:
        image = flow.CenterCrop(flow.Resize(image, shorter=52), size=(48, 48))
    x = flow.Normalize(image, mean=flow.IMAGENET_MEAN, std=flow.IMAGENET_STD)
    return TorchLoader(flow.DataLoader(x, label))


torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(3, 16, 5, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3),
                      nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 3))  # fmt: skip
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
with open_loader("train", True) as train, open_loader("test", False) as test:
    for epoch in range(6):
        for x, y in train:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            is_told = torch.cat([model(x).argmax(1) == y for x, y in test])
        print(f"epoch {epoch}: {is_told.double().mean():.2%} of {len(is_told)} images")
