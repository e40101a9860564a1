"""Map-style datasets as programs for torch have them, for bench.torch_dataloader.

They are in a module of their own, which worker processes can import.  Sample i has i as its label,
so that the sum over an epoch tells whether each came once.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

SIZE, CROP = 256, 224
FEATURES = 64


# ---- Images -------------------------------------------------------------------------------------


def made_images(folder: Path, count: int, form: str) -> Path:
    """A folder with a subfolder of files for each class, in the order of their numbers."""
    target = folder / f"{form}-{count}"
    if target.exists():
        return target
    new, rng = folder / f"{form}-{count}.new", np.random.default_rng(3)
    for number in range(count):
        file = new / f"{number * 4 // count}" / f"{number:06}.{form}"
        file.parent.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(rng.integers(0, 256, (24, 24, 3), np.uint8))
        smooth = np.asarray(coarse.resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.int16)
        noisy = np.clip(smooth + rng.integers(-9, 10, smooth.shape), 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save(file, **({"quality": 90} if form == "jpg" else {}))
    new.rename(target)
    return target


class Images(Dataset[Any]):
    """Decodes a file with Pillow, and takes a random part of it, which may be flipped."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(map(str, folder.glob("*/*")))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        with Image.open(self.files[index]) as opened:
            image = opened.convert("RGB")
        size = int(SIZE * random.uniform(0.5, 1))
        left, top = random.randint(0, SIZE - size), random.randint(0, SIZE - size)
        box = (left, top, left + size, top + size)
        image = image.resize((CROP, CROP), Image.Resampling.BILINEAR, box)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())
        return pixels.float().div_(255), index


# ---- Rows of arrays -----------------------------------------------------------------------------


class Rows(Dataset[Any]):
    """One sample for an index."""

    def __init__(self, count: int) -> None:
        self.x = np.random.default_rng(5).random((count, FEATURES), np.float32)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.x[index], index


class ManyRows(Rows):
    """A list of samples for a list of indices."""

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, int]]:
        return list(zip(self.x[indices], indices, strict=True))


class WholeBatches(Rows):
    """The arrays of a batch for a list of indices, with as_tensors() as the collate_fn."""

    def __getitems__(self, indices: list[int]) -> Any:
        return self.x[indices], np.array(indices)


def as_tensors(batch: Any) -> tuple[torch.Tensor, ...]:
    return tuple(map(torch.from_numpy, batch))


# ---- What takes memory --------------------------------------------------------------------------


class Megabytes(Rows):
    """One array."""

    def __init__(self, megabytes: int) -> None:
        self.x = np.ones((megabytes * 1_000_000 // (4 * FEATURES), FEATURES), np.float32)


class Objects(Dataset[Any]):
    """A list of texts of Python, whose counts of references change where one is looked at."""

    def __init__(self, count: int) -> None:
        self.texts = [f"sample number {index}" for index in range(count)]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> tuple[int, int]:
        return len(self.texts[index]), index
