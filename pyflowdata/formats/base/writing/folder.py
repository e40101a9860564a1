"""A folder of files that is written under a temporary name, and folders in the place of others."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .output import check_length, failed, not_made, sync_folder, temporary

_SYNCING = 8  # files that are synced at a time: a file system does several together


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class OutputFolder:
    """A new folder, with folders of files in it, beside the place it is meant for.

    Attributes:
        target: What it is to be called, for messages; the name itself is given later.
        path: What it is called until then.
    """

    def __init__(self, target: Path) -> None:
        """Makes the folder.

        Raises:
            FileError: The folder around it is not there, or nothing can be written into it.
        """
        self.target = target
        check_length(target)
        self._process = os.getpid()
        self.path = self._create()

    def _create(self) -> Path:
        while True:
            path = temporary(self.target)
            try:
                path.mkdir()
                return path
            except FileExistsError:
                continue
            except OSError as failure:
                raise not_made(failure, self.target, "folder") from failure

    def add_folder(self, name: str) -> None:
        """Makes a folder in it."""
        try:
            os.mkdir(self.path / name)
        except OSError as failure:
            raise failed(failure, self.target, f"making the folder {name}") from failure

    def rename_folder(self, name: str, new: str) -> None:
        """Gives a folder in it another name."""
        try:
            os.rename(self.path / name, self.path / new)
        except OSError as failure:
            raise failed(failure, self.target, f"renaming the folder {name}") from failure

    def add_file(self, folder: str, name: str, data: bytes) -> None:
        """Writes a file in one of its folders."""
        try:
            with open(f"{self.path}/{folder}/{name}", "xb", buffering=0) as file:
                rest = memoryview(data)
                while len(rest):
                    rest = rest[file.write(rest) :]
        except OSError as failure:
            raise failed(failure, self.target, f"writing {folder}/{name}") from failure

    def seal(self) -> None:
        """Makes all files last."""
        from concurrent.futures import ThreadPoolExecutor

        try:
            with ThreadPoolExecutor(_SYNCING) as pool:
                for folder, _, names in os.walk(self.path):
                    for _ in pool.map(_sync, (os.path.join(folder, name) for name in names)):
                        pass
                    sync_folder(Path(folder))
        except OSError as failure:
            raise failed(failure, self.target, "syncing") from failure

    def discard(self) -> None:
        """Removes it; nothing is raised.  A forked child leaves it alone."""
        import shutil

        if os.getpid() == self._process:
            shutil.rmtree(self.path, ignore_errors=True)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it."""
    import shutil  # for few programs

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put_in_place(made: Path, path: Path) -> None:
    """Renames a file or a folder; what has the name already goes.

    A folder with files is not replaced in one step: for a moment none has the name.

    Raises:
        OSError: It cannot be renamed; what had the name has it still.
    """
    if not made.is_dir() or not os.path.lexists(path):
        os.replace(made, path)
        return
    old = temporary(path)
    os.rename(path, old)
    try:
        os.rename(made, path)
    except OSError:
        os.rename(old, path)
        raise
    with contextlib.suppress(OSError):
        remove(old)
