"""Copies of the sample's files."""

from __future__ import annotations

import shutil
from pathlib import Path


def overwrite(path: Path, data: bytes) -> None:
    """Write without truncating first: some file systems then wait for the disk at each close."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def copy_files(paths: list[Path], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in paths:
        shutil.copyfile(path, folder / path.name)
