"""One process's part of a conversion: consecutive shards, whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from ...errors import CorruptDataError, Error
from ...formats import Source
from ...io import Writer
from ...loader import DataLoader
from .target import Target

LeftOut = Callable[[int, list[Error]], None]

_ENCODED = "__encoded__"  # the name of a blob of what the file has of each record


@dataclasses.dataclass(frozen=True)
class Task:
    """Consecutive shards that one process writes.

    Attributes:
        shards: (number, first record, record after the last; -1 for the end).
        folder: Where they are made.
        batch_size: Records that are read at a time.
        threads: How many threads the loader has; None: its default.
    """

    source: Source
    target: Target
    folder: str
    shards: tuple[tuple[int, int, int], ...]
    batch_size: int
    threads: int | None = None


def _batches(
    task: Task, begin: int, left_out: LeftOut | None
) -> Generator[tuple[int, int, Any], None, None]:
    """(first record, record after the last, batch) from there on."""
    attrs: dict[str, Any] = {"on_error": "skip"} if task.target.skip else {}
    batch_size = task.batch_size
    blobs = task.target.blobs(task.source, batch_size=batch_size, **attrs)
    encoded = task.target.encoded(task.source, blobs)
    if encoded is not None:
        blobs = {_ENCODED: encoded}
    budget = task.source.memory_budget
    with DataLoader(blobs, num_threads=task.threads, memory_budget=budget) as loader:
        loader.seek(begin // batch_size)
        at = begin // batch_size * batch_size
        for batch in loader:
            rows = len(next(iter(batch.values())))
            yield at, at + rows, batch
            at += rows
        if left_out is not None:
            left_out(int(loader.stats()["skipped"]), loader.skipped)


def _slice(batch: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    rows = len(next(iter(batch.values())))
    if begin <= 0 and end >= rows:
        return batch
    return {name: column[max(begin, 0) : min(end, rows)] for name, column in batch.items()}


def write_shards(
    task: Task,
    count: Callable[[int], None],
    done: Callable[[int, int], None] | None = None,
    left_out: LeftOut | None = None,
) -> list[int]:
    """Writes the shards of a task, whole or not at all; returns how many records each has.

    Args:
        task: What to do.
        count: Called with the records of each batch that is written.
        done: Called with the number of each shard and its records.
        left_out: Called at the end of the source with how many damaged records were left out, and
            errors that name the latest.
    """
    with contextlib.closing(_batches(task, task.shards[0][1], left_out)) as batches:
        return _write_from(task, batches, count, done)


def _write(writer: Writer, part: dict[str, Any], task: Task, shapes: dict[str, Any]) -> None:
    if _ENCODED not in part:
        writer.write_batch(task.target.adapted(part, task.source))
        return
    if shapes:
        writer.expect(shapes)
    writer.write_encoded(part[_ENCODED])


def _write_from(
    task: Task,
    batches: Iterator[tuple[int, int, Any]],
    count: Callable[[int], None],
    done: Callable[[int, int], None] | None,
) -> list[int]:
    counts = []
    shapes = {
        field.name: () if None in field.shape else field.shape
        for field in task.target.fields(task.source)
    }
    held: tuple[int, int, Any] | None = None
    for number, begin, end in task.shards:
        path = Path(task.folder) / f"{number:05d}"
        options = task.target.options(task.source)
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
                    _write(writer, part, task, shapes)
                    count(rows)
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
