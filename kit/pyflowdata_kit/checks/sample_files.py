"""Copies of the sample's files."""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from .check import Check

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


def copy_files(paths: list[Path], folder: Path) -> None:
    """Makes the folder, with these files alone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in paths:
        shutil.copyfile(path, folder / path.name)


class SampleCopy:
    """The sample's files in a folder of their own.

    Attributes:
        paths: Of the files of the sample, in the reader's order.
        folder: Of the copies, which have the same names.
        kit: Over the copies.
    """

    def __init__(self, check: Check, name: str) -> None:
        """Args: the check of the sample; a name for the folder."""
        self.paths = [Path(path) for path in check.kit.files() if Path(path).is_file()]
        self.folder = Path(check.job.folder, name)
        copy_files(self.paths, self.folder)
        self.kit = check.make_kit(check.job.spec.in_folder(str(self.folder)))

    def names(self) -> set[str]:
        """Of the copies that the kit reads: a path of an attr of its own leads to the sample
        still."""
        found = [Path(path) for path in self.kit.files()]
        return {path.name for path in found if path.parent.resolve() == self.folder.resolve()}

    def last_file(self) -> Path | None:
        """The last file of the sample with bytes in it."""
        return next((path for path in reversed(self.paths) if path.stat().st_size > 0), None)

    @contextlib.contextmanager
    def changed(self, path: Path) -> Iterator[Callable[[bytes], None]]:
        """A function that replaces what is in the copy of a file, which is as before at the end."""
        try:
            yield functools.partial(overwrite, self.folder / path.name)
        finally:
            overwrite(self.folder / path.name, path.read_bytes())
