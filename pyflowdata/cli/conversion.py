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
import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from .. import io
from ..errors import CorruptDataError, FileError, InvalidArgumentError
from ..formats import FORMATS, Field, Source
from ..formats.source import RECORD
from ..io.names import Names
from ..io.output import sync_folder
from ..ragged import Ragged

_BATCH = 1024
_VERSION = 1
_MANIFEST, _LOCK = "manifest.json", "lock"
_ONE_FIELD = ("npy", "idx", "raw", "megatron", "text")
_FEATURES = ("tfrecord", "ofrecord")


@dataclasses.dataclass(frozen=True)
class Target:
    """What is to be written.

    Attributes:
        path: As the user gave it.
        format: A key of FORMATS.
        compression: Of the files.
        float32: Whether float64 is stored as float32.
        skip: Whether damaged records are left out.
        overwrite: Whether files that are there are replaced.
    """

    path: str
    format: str
    compression: str | None = None
    float32: bool = False
    skip: bool = False
    overwrite: bool = False

    @property
    def writer(self) -> type[io.Writer]:
        """The class that writes it."""
        found: type[io.Writer] = getattr(io, FORMATS[self.format].writer)
        return found


# ---- Fields -------------------------------------------------------------------------------------


def check_fields(source: Source, target: Target) -> None:
    """Refuses what the target cannot hold, before anything is read.

    Raises:
        InvalidArgumentError: Says which field, and what to do.
    """
    fields, to = source.fields, target.format
    if source.left_out:
        raise InvalidArgumentError(
            f"{'; '.join(source.left_out)}: that is no field here, and would be lost; say with "
            "--fields what is to be converted"
        )
    if source.is_empty and not fields and source.format.name != to:
        raise InvalidArgumentError(
            f"{source.files[0]} has no records, so that their fields are not known: it can only be "
            f"written as {source.format.name} again"
        )
    if not fields and not source.is_empty and not (to in _FEATURES and source.format.name == to):
        raise InvalidArgumentError(
            f"the records of {source.files[0]} are of no fields that are known here, so that they "
            f"can only be written as {source.format.name} again"
        )
    if to in _ONE_FIELD and len(fields) != 1:
        names = ", ".join(field.name for field in fields)
        raise InvalidArgumentError(
            f"--to {to} takes one field, and there are {names}: choose one with --fields"
        )
    for field in fields:
        is_bytes = field.dtype == "bytes"
        if to == "tfrecord" and field.dtype == "float64" and not target.float32:
            raise InvalidArgumentError(
                f"{field.name} is float64, which an Example has not: --float32 stores float32"
            )
        if to == "csv" and not is_bytes and None in field.shape:
            raise InvalidArgumentError(
                f"{field.name} has rows of different lengths, which are no columns: choose others "
                "with --fields"
            )
        if (to == "text") != is_bytes and to in _ONE_FIELD:
            raise InvalidArgumentError(f"{field.name} is {field.type}, which {to} cannot hold")


def _tar_name(field: Field) -> str:
    """The extension that says how the content is to be read."""
    name = field.name.lower().replace("/", "_")
    if name.startswith("__"):
        return name
    if field.dtype == "bytes":
        return name
    is_class = not field.shape and np.dtype(field.dtype).kind in "iu"
    kind = "cls" if is_class else "npy"
    return name if name.rpartition(".")[2] == kind else f"{name}.{kind}"


def _adapted(batch: dict[str, Any], source: Source, target: Target) -> Any:
    """A batch as the writer takes it."""
    if not source.fields:
        return batch[RECORD]
    if target.float32:
        batch = {name: _narrow(column) for name, column in batch.items()}
    if target.format == "tar":
        return {_tar_name(field): _members(field, batch[field.name]) for field in source.fields}
    return batch


def _members(field: Field, column: Any) -> Any:
    return column.to_bytes_list() if field.dtype == "bytes" else list(column)


def _narrow(column: Any) -> Any:
    if column.dtype != np.float64:
        return column
    if isinstance(column, Ragged):
        return Ragged(
            column.values.astype(np.float32), column.row_splits, row_shape=column.row_shape,
            shapes=column.shapes if column.values.ndim == 1 else None,
        )  # fmt: skip
    return column.astype(np.float32)


def _options(source: Source, target: Target) -> dict[str, Any]:
    """What the writer needs to know of the rows, so that empty files are of their type too."""
    if not source.fields:
        return {}
    field = source.fields[0]
    dtype = "float32" if target.float32 and field.dtype == "float64" else field.dtype
    if target.format in ("npy", "raw", "idx") and None not in field.shape:
        if target.format == "idx" and dtype in ("int64", "uint16", "uint32", "bool"):
            dtype = "uint8" if dtype == "bool" else "int32"  # values that do not fit are an error
        return {"dtype": dtype, "shape": field.shape}
    if target.format == "megatron":
        return {"dtype": dtype if dtype in ("uint8", "uint16", "int64") else "int32"}
    if target.format == "csv":
        return {"columns": [one.name for one in source.fields]}
    return {}


# ---- One shard ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Task:
    """Consecutive shards that one process writes.

    Attributes:
        shards: (number, first record, record behind the last; -1 for the end).
        folder: Where they are made.
    """

    source: Source
    target: Target
    folder: str
    shards: tuple[tuple[int, int, int], ...]


_progress: Any = None  # in a worker: the counter that all share


def _share(counter: Any) -> None:
    global _progress
    _progress = counter


def _begin_worker(counter: Any) -> None:
    """A worker ends with the process that started it, also where that is killed, and says nothing
    of an interrupt, which was held back while it began."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    _share(counter)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _count(records: int) -> None:
    if _progress is not None:
        with _progress.get_lock():
            _progress.value += records


def _batches(task: Task, begin: int) -> Generator[tuple[int, int, Any], None, None]:
    """(first record, record behind the last, batch) from there on."""
    attrs: dict[str, Any] = {"on_error": "skip"} if task.target.skip else {}
    with task.source.loader(batch_size=_BATCH, **attrs) as loader:
        loader.seek(begin // _BATCH)
        at = begin // _BATCH * _BATCH
        for batch in loader:
            rows = len(next(iter(batch.values())))
            yield at, at + rows, batch
            at += rows


def _slice(batch: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    rows = len(next(iter(batch.values())))
    if begin <= 0 and end >= rows:
        return batch
    return {name: column[max(begin, 0) : min(end, rows)] for name, column in batch.items()}


def write_shards(task: Task, done: Callable[[int, int], None] | None = None) -> list[int]:
    """Writes the shards of a task, whole or not at all; returns how many records each has.

    Args:
        task: What to do.
        done: Called with the number of each shard and its records.
    """
    with contextlib.closing(_batches(task, task.shards[0][1])) as batches:
        return _write_from(task, batches, done)


def _write_from(
    task: Task,
    batches: Iterator[tuple[int, int, Any]],
    done: Callable[[int, int], None] | None,
) -> list[int]:
    counts = []
    held: tuple[int, int, Any] | None = None
    for number, begin, end in task.shards:
        path = Path(task.folder) / f"{number:05d}"
        options = _options(task.source, task.target)
        with task.target.writer(
            path, compression=task.target.compression, overwrite=True, **options
        ) as writer:
            while end != begin:
                held = held or next(batches, None)
                if held is None:
                    break
                first, last, batch = held
                part = _slice(batch, begin - first, end - first if end >= 0 else last - first)
                rows = len(next(iter(part.values())))
                if rows:
                    writer.write_batch(_adapted(part, task.source, task.target))
                    _count(rows)
                if 0 <= end <= last:
                    break  # what is left of the batch belongs to the next shard
                held = None
        counts.append(writer.records)
        if 0 <= end != begin + writer.records and not task.target.skip:
            raise CorruptDataError(
                f"records {begin} to {end} were to come, and there were {writer.records}",
                file=task.source.files[0],
            )
        if done is not None:
            done(number, writer.records)
    return counts


# ---- All shards ---------------------------------------------------------------------------------


class Conversion:
    """A conversion, from the beginning or from where a former one was stopped.

    Attributes:
        bounds: The first record of each shard, and the end of the last one; -1 where that is not
            known.
        done: Number of shard -> records, of those that are finished.
        says: What is to be told the user about where it begins.
    """

    def __init__(self, source: Source, target: Target, bounds: list[int], data: str) -> None:
        """Looks for what is there already.

        Args:
            source: What is read.
            target: What is written.
            bounds: As the attribute.
            data: Fingerprint of the source's content.

        Raises:
            FileError: The target is there, or another process is at work on it.
        """
        self.source, self.target, self.bounds = source, target, bounds
        self.done: dict[int, int] = {}
        self.says = ""
        self.path = Path(target.path)
        self._suffixes = target.writer.suffixes
        base = self.path
        if base.suffix in self._suffixes:  # Megatron's names have a suffix put behind
            base = base.with_suffix("")
        self._names = Names(base, len(self) > 1, self._suffixes)
        self.folder = self.path.parent / f".{self.path.name}.convert"
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
        manifest = self.folder / _MANIFEST
        found: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(manifest.read_text())
        if found.get("key") == self._key:
            for number, about in found["done"].items():
                files = [self.folder / name for name, _ in about["files"]]
                sizes = [size for _, size in about["files"]]
                if all(path.is_file() for path in files) and sizes == [
                    path.stat().st_size for path in files
                ]:
                    self.done[int(number)] = about["records"]
            if self.done:
                self.says = f"{len(self.done)} of {len(self)} shards are there already"
        elif found:
            self.says = "the source or the options have changed: beginning anew"
        keep = {name for number in self.done for name in self._staged(number)}
        for path in self.folder.iterdir():
            if path.name not in keep | {_LOCK, _MANIFEST}:
                path.unlink(missing_ok=True)

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
        text = json.dumps({"key": self._key, "shards": len(self), "done": done})
        with io.TextLineWriter(self.folder / _MANIFEST, overwrite=True) as writer:
            writer.write(text)

    def tasks(self, is_stream: bool) -> list[Task]:
        """What is left to do; of a stream one process reads all."""
        left = [
            (number, self.bounds[number], self.bounds[number + 1])
            for number in range(len(self))
            if number not in self.done
        ]
        groups = [left] if is_stream and left else [[one] for one in left]
        return [
            Task(self.source, self.target, str(self.folder), tuple(group)) for group in groups
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
                    os.replace(self.folder / name, path)
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


def run_tasks(
    conversion: Conversion, tasks: list[Task], jobs: int, told: Callable[[int], None]
) -> None:
    """Runs tasks in this process, or in several.

    Args:
        conversion: Is told what is finished.
        tasks: What to do.
        jobs: How many processes at most.
        told: Called now and then with the records that are written.
    """
    if jobs == 1 or len(tasks) <= 1:
        counter = _Counter(told)
        _share(counter)
        try:
            for task in tasks:
                write_shards(task, conversion.note)
        finally:
            _share(None)
        return
    spawn = multiprocessing.get_context("spawn")
    shared = spawn.Value("q", 0)
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=spawn, initializer=_begin_worker, initargs=(shared,)
    ) as pool:
        pending: dict[Future[list[int]], Task] = {}
        try:
            with _held_back(signal.SIGINT):  # processes begin here, and inherit that
                pending |= {pool.submit(write_shards, task): task for task in tasks}
            while pending:
                finished, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                told(shared.value)
                for one in finished:
                    task = pending.pop(one)
                    for (number, _, _), records in zip(task.shards, one.result(), strict=True):
                        conversion.note(number, records)
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.kill()  # whatever it is at: nothing of it is wanted, nor what it says
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _held_back(number: int) -> Iterator[None]:
    """A signal comes when this is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Counter:
    """Counts in this process, as the shared one does."""

    def __init__(self, told: Callable[[int], None]) -> None:
        self._told, self._value = told, 0

    def get_lock(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    @property
    def value(self) -> int:
        """Records so far."""
        return self._value

    @value.setter
    def value(self, value: int) -> None:
        self._value = value
        self._told(value)
