"""Records of a source in files of another format: shard by shard, resumable, all or nothing.

The shards are made in a folder beside the target, `.NAME.convert`, which holds a manifest of what
is finished and of what it was made from.  The same command goes on there.  When all shards are
whole they get their names, and the folder goes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Error, FileError
from ...formats import Names, Source, put_in_place, remove, sync_folder
from ...io import TextLineWriter
from .shards import Task
from .target import Target

_VERSION = 1
_NAMED = 5  # of the damaged records
_MANIFEST, _LOCK = "manifest.json", "lock"
_CHECKED = "checked"


def _folder(target: Target) -> Path:
    path = Path(target.path)
    return path.parent / f".{path.name}.convert"


def _manifest(folder: Path) -> dict[str, Any]:
    """What is finished in a folder; nothing where none of it can be read."""
    try:
        found = json.loads((folder / _MANIFEST).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def are_types_of_all(target: Target) -> bool:
    """Whether a former conversion was stopped that needed the types of all records."""
    return _manifest(_folder(target)).get(_CHECKED) is False


class Conversion:
    """A conversion, from the beginning or from where a former one was stopped.

    Attributes:
        bounds: The first record of each shard, and the end of the last one; -1 where that is not
            known.
        done: Number of shard -> records, of those that are finished.
        says: What is to be told the user about where it begins.
        left_out: How many damaged records were left out.
        left_out_first: Errors that name some of them, the first where they are not too many.
    """

    def __init__(
        self, source: Source, target: Target, bounds: list[int], data: str, is_checked: bool = False
    ) -> None:
        """Looks for what is there already.

        Args:
            source: What is read.
            target: What is written.
            bounds: As the attribute.
            data: Fingerprint of the source's content.
            is_checked: Whether the reader refuses records that the types of fields do not hold:
                they may be those of the first records only.

        Raises:
            FileError: The target is there, or another process is at work on it.
        """
        self.source, self.target, self.bounds = source, target, bounds
        self._is_checked = is_checked
        self.done: dict[int, int] = {}
        self.says = ""
        self.left_out = 0
        self.left_out_first: list[Error] = []
        self.path = Path(target.path)
        self._suffixes = target.writer.suffixes
        base = self.path
        if base.suffix in self._suffixes:  # Megatron's names have a suffix put after
            base = base.with_suffix("")
        self._names = Names(base, len(self) > 1, self._suffixes)
        self.folder = _folder(target)
        about = [
            _VERSION, source.format.name, source.files, data, source.attrs,
            [dataclasses.astuple(field) for field in source.fields],
            dataclasses.astuple(dataclasses.replace(target, overwrite=False)), bounds,
        ]  # fmt: skip
        text = json.dumps(about, default=str)
        self._key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._refuse_present()

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def _refuse_present(self) -> None:
        for path in self._names.present():
            if said := self.target.writer.obstacle(path):
                raise FileError(said, file=str(path))
            if not self.target.overwrite:
                raise FileError(
                    "it is there already; remove it, or say --overwrite", file=str(path)
                )

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Holds the folder against other processes, and reads what is finished there."""
        try:
            self.folder.mkdir(exist_ok=True)
            lock = open(self.folder / _LOCK, "w")  # noqa: SIM115  (closed below)
        except OSError as failure:
            raise FileError(failure.strerror or str(failure), file=str(self.folder)) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FileError(
                    "another process is converting to this name", file=self.target.path
                ) from None
            self._resume()
            try:
                yield
            finally:
                if not self.done:  # nothing that a further try could go on from
                    shutil.rmtree(self.folder, ignore_errors=True)

    def _resume(self) -> None:
        found = _manifest(self.folder)
        if found.get("key") == self._key:
            for number, about in found["done"].items():
                files = [self.folder / name for name, _ in about["files"]]
                sizes = [size for _, size in about["files"]]
                if all(path.exists() for path in files) and sizes == [
                    path.stat().st_size for path in files
                ]:
                    self.done[int(number)] = about["records"]
            if self.done:
                self.says = f"{len(self.done)} of {len(self)} shards are there already"
        elif found and found.get(_CHECKED, False) == self._is_checked:
            self.says = "the source or the options have changed: starting again"
        keep = {name for number in self.done for name in self._staged(number)}
        for path in self.folder.iterdir():
            if path.name not in keep | {_LOCK, _MANIFEST}:
                remove(path)

    def _staged(self, number: int) -> list[str]:
        return [f"{number:05d}{suffix}" for suffix in self._suffixes]

    def note(self, number: int, records: int) -> None:
        """Takes down that a shard is finished."""
        self.done[number] = records
        done = {
            str(one): {
                "records": count,
                "files": [
                    [name, (self.folder / name).stat().st_size] for name in self._staged(one)
                ],
            }
            for one, count in sorted(self.done.items())
        }
        text = json.dumps({
            "key": self._key, "shards": len(self), "done": done, _CHECKED: self._is_checked,
        })  # fmt: skip
        with TextLineWriter(self.folder / _MANIFEST, overwrite=True) as writer:
            writer.write(text)

    def note_left_out(self, records: int, errors: list[Error]) -> None:
        """Takes down how many damaged records were left out, and some of them."""
        self.left_out, self.left_out_first = records, errors[:_NAMED]

    def tasks(self, is_stream: bool, batch_size: int, jobs: int) -> list[Task]:
        """What is left to do; of a stream one process reads all.

        Args:
            is_stream: Whether the source is one.
            batch_size: Records that are read at a time.
            jobs: How many processes there are at most; if they work at images, their threads share
                the cores.
        """
        left = [
            (number, self.bounds[number], self.bounds[number + 1])
            for number in range(len(self))
            if number not in self.done
        ]
        groups = [left] if is_stream and left else [[one] for one in left]
        threads = None
        if self.target.change is not None:
            cores = len(os.sched_getaffinity(0))
            threads = max(cores // max(min(jobs, len(groups)), 1), 1)
        source = self.source.checked() if self._is_checked else self.source
        return [
            Task(source, self.target, str(self.folder), tuple(group), batch_size, threads)
            for group in groups
        ]

    def publish(self) -> list[Path]:
        """Gives all shards their names; none where that fails."""
        self._refuse_present()
        old = set(self._names.present())
        moved: list[tuple[Path, Path]] = []
        try:
            for number in range(len(self)):
                targets = self._names.of(number, len(self))
                for name, path in zip(self._staged(number), targets, strict=True):
                    put_in_place(self.folder / name, path)
                    moved.append((self.folder / name, path))
        except OSError as failure:
            for staged, path in moved:
                os.replace(path, staged)
            raise FileError(failure.strerror or str(failure), file=self.target.path) from None
        for path in old - {path for _, path in moved}:
            path.unlink(missing_ok=True)
        sync_folder(self.path.parent)
        shutil.rmtree(self.folder, ignore_errors=True)
        return [path for _, path in moved]
