"""Folders of classes for tests, and what torchvision's rules make of them."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from PIL import Image

EXTENSIONS = (
    ".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".webp", ".pbm"
)  # fmt: skip


def picture(value: int, form: str = "PNG", size: tuple[int, int] = (5, 4)) -> bytes:
    """A file of one colour, (height, width)."""
    out = io.BytesIO()
    Image.fromarray(np.full((*size, 3), value % 256, np.uint8)).save(out, form)
    return out.getvalue()


def write_tree(root: Path, files: dict[str, bytes]) -> Path:
    """Writes files, each below the folders that its name has."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def pictures(root: Path, *names: str) -> Path:
    """A picture for each name, all of them different."""
    return write_tree(root, {
        name: picture(number, "JPEG" if name.lower().endswith(("jpg", "jpeg")) else "PNG",
                      (4 + number % 5, 3 + number // 5))
        for number, name in enumerate(names)
    })  # fmt: skip


def by_torchvision(
    root: Path, classes: list[str] | None = None, extensions: tuple[str, ...] = EXTENSIONS
) -> list[tuple[str, int]]:
    """(path below the root, class) of each sample: DatasetFolder.make_dataset, without the names
    that begin with a period."""
    found = sorted(one.name for one in os.scandir(root) if one.is_dir())
    classes = classes or [name for name in found if not name.startswith(".")]
    numbers = {name: number for number, name in enumerate(classes)}
    samples = []
    for name in sorted(numbers):
        walk = os.walk(root / name, followlinks=True)
        for folder, _, files in sorted(walk):
            below = Path(folder).relative_to(root)
            if any(part.startswith(".") for part in below.parts):
                continue
            samples += [
                (str(below / file), numbers[name])
                for file in sorted(files)
                if file.lower().endswith(extensions) and not file.startswith(".")
            ]
    return samples
