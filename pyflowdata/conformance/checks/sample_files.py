"""Copies of the sample's files."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..kit import Kit


_LARGE = 1 << 28  # bytes of a sample of which only the first and the last record are read


def is_large(folder: str) -> bool:
    """The files of a folder have too many bytes for reading all of them."""
    files = (path for path in Path(folder).iterdir() if path.is_file())
    return sum(path.stat().st_size for path in files) > _LARGE


def overwrite(path: Path, data: bytes) -> None:
    """Write without truncating first: some file systems then wait for the disk at each close."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def copied_files(kit: Kit, folder: Path) -> set[str]:
    """The names of the files in the folder that a kit over its copies reads: a path of its own
    attr leads to the sample still."""
    found = [Path(path) for path in kit.files()]
    return {path.name for path in found if path.parent.resolve() == folder.resolve()}


def copy_files(paths: list[Path], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in paths:
        shutil.copyfile(path, folder / path.name)
