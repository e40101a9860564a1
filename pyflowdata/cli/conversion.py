"""Records of a source in files of another format: shard by shard, resumable, all or nothing.

The shards are made in a folder beside the target, `.NAME.convert`, with a manifest of the finished
shards and of their source.  The same command resumes from this folder.  When all shards are
complete they get their names, and the folder is removed.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pickle
import shutil
import stat
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CorruptDataError, Error, FileError, UserFunctionError
from ..formats import (
    Names,
    Source,
    Target,
    Upload,
    damage_of,
    image_fields,
    put_in_place,
    remove,
    remove_seal,
    rows_of_batch,
    sync_folder,
    upload_of,
    write_seal,
)
from ..io import TextLineWriter
from ..loader import DataLoader
from ..native.lock_files import open_lock
from ..plugins import load_library
from ..workers.inside import Send
from ..workers.pool import Pool, Worker, WorkerEnded, answered
from ..workers.remote_errors import RemoteError, RemoteTraceback, raised_there, remote_error
from ..workers.shared_memory import SharedMemory
from ..words.plain_text import size
from .bars import command_bar
from .sources import load_plugins
from .usage import UsageError, say


# ---- One process --------------------------------------------------------------------------------

_LeftOut = Callable[[int, list[Error]], None]


class Written(NamedTuple):
    """The contents of a shard.

    Attributes:
        records: The records of the source.
        sums: The sums of `Target.counts` over their batches.
    """

    records: int
    sums: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Task:
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
    task: _Task, begin: int, left_out: _LeftOut | None
) -> Generator[tuple[int, int, Any], None, None]:
    """Yields (first record, record after the last, batch) from there on."""
    attrs: dict[str, Any] = {"on_error": "skip", "max_skipped": -1} if task.target.skip else {}
    batch_size = task.batch_size
    blobs = task.target.columns(task.source, task.source.blobs(batch_size=batch_size, **attrs))
    budget = task.source.memory_budget
    with DataLoader(blobs, num_threads=task.threads, memory_budget=budget, ledger="") as loader:
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


def _write_shards(
    task: _Task,
    count: Callable[[int], None],
    done: Callable[[int, Written], None] | None = None,
    left_out: _LeftOut | None = None,
) -> list[Written]:
    """Writes the shards of a task, each as a whole or not at all; returns their contents.

    Args:
        count: Called with the records of each batch that is written.
        done: Called with the number and the contents of each shard.
        left_out: Called at the end of the source with how many damaged records were left out, and
            errors that name the latest.
    """
    with contextlib.closing(_batches(task, task.shards[0][1], left_out)) as batches:
        return _write_from(task, batches, count, done)


def _write_from(
    task: _Task,
    batches: Iterator[tuple[int, int, Any]],
    count: Callable[[int], None],
    done: Callable[[int, Written], None] | None,
) -> list[Written]:
    counts = []
    held: tuple[int, int, Any] | None = None
    for number, begin, end in task.shards:
        path = Path(task.folder) / f"{number:05d}"
        options = task.target.options(task.source)
        records, sums = 0, task.target.counts({})
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
                    task.target.write(writer, part, task.source)
                    records += rows
                    sums = tuple(map(sum, zip(sums, task.target.counts(part), strict=True)))
                    count(rows)
                if 0 <= end <= last:
                    break  # what is left of the batch belongs to the next shard
                held = None
        counts.append(Written(records, sums))
        if 0 <= end != begin + records and not task.target.skip:
            raise CorruptDataError(
                f"records {begin} to {end} were to come, and there were {records}",
                file=task.source.files[0],
            )
        if done is not None:
            done(number, counts[-1])
    return counts


# ---- The plan -----------------------------------------------------------------------------------

_VERSION = 2
_NAMED = 5  # damaged records that are named
_MANIFEST, _LOCK = "manifest.json", "lock"
_CHECKED = "checked"
_SAMPLE = "sample"  # the folder of the first records as a file


def _folder(target: Target) -> Path:
    path = Path(target.path)
    return path.parent / f".{path.name}.convert"


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; empty if it cannot be read."""
    try:
        found = json.loads((folder / _MANIFEST).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def are_types_of_all(target: Target) -> bool:
    """Whether a stopped conversion needed the types of all records."""
    return _manifest(_folder(target)).get(_CHECKED) is False


class Conversion:
    """A conversion, from the beginning or from the place where a former one was stopped.

    Attributes:
        bounds: The first record of each shard, and the end of the last one; -1 where that is not
            known.
        names: The names of the files.
        done: Number of a finished shard -> its records.
        sums: Number of a finished shard -> the sums of `Target.counts`.
        says: A message for the user about the start; "" for none.
        left_out: How many damaged records were left out.
        left_out_first: Errors that name some of these records, the first ones if there are not too
            many.
    """

    def __init__(
        self, source: Source, target: Target, bounds: list[int], data: str, is_checked: bool = False
    ) -> None:
        """Looks for files of the target.

        Args:
            data: Fingerprint of the source's content.
            is_checked: Whether the reader refuses records that the types of fields do not hold:
                the types may fit the first records only.

        Raises:
            FileError: The target exists already, or another process is working on it.
        """
        self.source, self.target, self.bounds = source, target, bounds
        self._is_checked = is_checked
        self.done: dict[int, int] = {}
        self.sums: dict[int, tuple[int, ...]] = {}
        self.says = ""
        self.left_out = 0
        self.left_out_first: list[Error] = []
        self.path = Path(target.path)
        self._suffixes = target.writer.suffixes
        base = self.path
        if base.suffix in self._suffixes:  # Megatron's names have a suffix put after
            base = base.with_suffix("")
        self.names = Names(base, len(self) > 1, self._suffixes)
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
        for path in self.names.present():
            if said := self.target.writer.obstacle(path):
                raise FileError(said, file=str(path))
            if not self.target.overwrite:
                raise FileError(
                    "it is there already; remove it, or say --overwrite", file=str(path)
                )

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Locks the folder against other processes, and reads which shards are finished."""
        try:
            self.folder.mkdir(exist_ok=True)
            self._refuse_foreign()
            lock = open(open_lock(self.folder / _LOCK), "rb")  # noqa: SIM115  (closed below)
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

    def _refuse_foreign(self) -> None:
        about = os.lstat(self.folder)
        said = "it is no folder" if not stat.S_ISDIR(about.st_mode) else ""
        if about.st_uid != os.geteuid():
            said = "it belongs to another user"
        if said:
            raise FileError(
                f"shards are made in this folder, and {said}; remove it, or convert to another "
                "name", file=str(self.folder),
            )  # fmt: skip

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
                    self.sums[int(number)] = tuple(about["sums"])
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

    def note(self, number: int, written: Written) -> None:
        """Notes in the manifest that a shard is finished."""
        self.done[number], self.sums[number] = written
        done = {
            str(one): {
                "records": count,
                "sums": self.sums[one],
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
        """Notes how many damaged records were left out, and the errors of some."""
        self.left_out, self.left_out_first = records, errors[:_NAMED]

    def tasks(self, is_stream: bool, batch_size: int, jobs: int) -> list[_Task]:
        """The tasks that are left; one process reads a whole stream.

        Args:
            is_stream: Whether the source is a stream.
            batch_size: Records that are read at a time.
            jobs: How many processes there are at most; if their threads have much to do, they share
                the cores.
        """
        left = [
            (number, self.bounds[number], self.bounds[number + 1])
            for number in range(len(self))
            if number not in self.done
        ]
        groups = [left] if is_stream and left else [[one] for one in left]
        threads = None
        if self.target.is_work:
            cores = len(os.sched_getaffinity(0))
            threads = max(cores // max(min(jobs, len(groups)), 1), 1)
        source = self.source.checked() if self._is_checked else self.source
        return [
            _Task(source, self.target, str(self.folder), tuple(group), batch_size, threads)
            for group in groups
        ]

    def bytes_left(self, records: int, batch_size: int) -> int:
        """An estimate of the bytes of the shards that are not made yet: the size of the first batch
        as a file, scaled to all records.

        Args:
            records: The records of all shards; they are known, and more than a batch.
            batch_size: Records that are read at a time.

        Returns:
            The size; -1: the first batch has no record that is not damaged.
        """
        folder = self.folder / _SAMPLE
        folder.mkdir()
        try:
            source = self.source.checked() if self._is_checked else self.source
            task = _Task(source, self.target, str(folder), ((0, 0, batch_size),), batch_size)
            (written,) = _write_shards(task, lambda _: None)
            files = (path.lstat() for path in folder.rglob("*"))
            taken = sum(one.st_size for one in files if stat.S_ISREG(one.st_mode))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        left = records - sum(self.done.values())
        return left * taken // written.records if written.records else -1

    def publish(self) -> list[Path]:
        """Gives all shards their names; if that fails, none gets its name."""
        self._refuse_present()
        old = set(self.names.present())
        moved: list[tuple[Path, Path]] = []
        self.target.writer.name_set(
            [[self.folder / name for name in self._staged(number)] for number in range(len(self))],
            [self.names.of(number, len(self)) for number in range(len(self))],
        )
        try:
            for number in range(len(self)):
                targets = self.names.of(number, len(self))
                for name, path in zip(self._staged(number), targets, strict=True):
                    remove_seal(path)
                    put_in_place(self.folder / name, path)
                    moved.append((self.folder / name, path))
        except OSError as failure:
            for staged, path in moved:
                os.replace(path, staged)
            raise FileError(failure.strerror or str(failure), file=self.target.path) from None
        for path in old - {path for _, path in moved}:
            path.unlink(missing_ok=True)
            remove_seal(path)
        if self.target.seal:
            self._write_seals()
        sync_folder(self.path.parent)
        shutil.rmtree(self.folder, ignore_errors=True)
        return [path for _, path in moved]

    def _write_seals(self) -> None:
        for number in range(len(self)):
            for path in self.names.of(number, len(self)):
                write_seal(path, self.done[number])


# ---- The processes ------------------------------------------------------------------------------

_LOOK_MS = 200  # between two looks at the progress


def run_tasks(
    conversion: Conversion, tasks: list[_Task], jobs: int, progress: Callable[[int], None]
) -> None:
    """Runs tasks in this process, or in several.

    Args:
        conversion: Notes the finished shards.
        tasks: The tasks.
        jobs: The most processes.
        progress: Called now and then with the number of written records.
    """
    if jobs == 1 or len(tasks) <= 1:
        add = _counter(progress)
        for task in tasks:
            _write_shards(task, add, conversion.note, conversion.note_left_out)
        return
    origin = conversion.source.format.origin
    plugins = [origin] if os.path.isfile(origin) else []  # "built in" for most
    count = min(jobs, len(tasks))
    pool = Pool(__name__, lambda: pickle.dumps(plugins), count, has_session=False)
    pool.acquire()
    try:
        _run_in(pool, conversion, tasks, progress)
    finally:
        pool.release()


def _counter(told: Callable[[int], None]) -> Callable[[int], None]:
    """A function that adds up records, and reports the sum."""
    total = 0

    def count(records: int) -> None:
        nonlocal total
        total += records
        told(total)

    return count


def _run_in(
    pool: Pool, conversion: Conversion, tasks: list[_Task], progress: Callable[[int], None]
) -> None:
    waiting, busy = deque(tasks), dict[Worker, _Task]()
    while waiting or busy:
        while waiting and (one := pool.take(0)) is not None:
            busy[one] = waiting.popleft()
            with _told_of_death(one):
                one.give(pickle.dumps(busy[one]))
        ready = answered(busy, _LOOK_MS)
        progress(sum(one.memory.place[0] for one in pool.workers))
        for one in ready:
            counts = _take(one)
            pool.give_back(one)
            for (number, _, _), written in zip(busy.pop(one).shards, counts, strict=True):
                conversion.note(number, written)


def _take(one: Worker) -> list[Written]:
    """The contents of each shard of a task."""
    with _told_of_death(one):
        answer: list[Written] | RemoteError = pickle.loads(one.take())
    if isinstance(answer, RemoteError):
        failure = raised_there(answer) or UserFunctionError(answer.said)
        raise failure from RemoteTraceback(answer.trace)
    return answer


@contextlib.contextmanager
def _told_of_death(one: Worker) -> Iterator[None]:
    try:
        yield
    except WorkerEnded:
        raise UserFunctionError(
            f"a process of the conversion (pid {one.pid}) {one.how_it_ended()}"
        ) from None


def begin(content: bytes, memory: SharedMemory, send: Send) -> Callable[[bytes], None]:
    """The function of a worker that answers pickled tasks.

    Args:
        content: The files of plugins, pickled.
        memory: Its number counts the records that this worker has written.
    """
    for library in pickle.loads(content):
        load_library(library)
    place = memory.place

    def count(total: int) -> None:
        place[0] = total

    add = _counter(count)

    def answer(message: bytes) -> None:
        found: list[Written] | RemoteError
        try:
            found = _write_shards(pickle.loads(message), add)
        except BaseException as failure:  # noqa: BLE001  (the program raises it)
            found = remote_error(failure, failure.__traceback__)
        send(pickle.dumps(found))

    return answer


# ---- The command --------------------------------------------------------------------------------

_IMAGES = 64  # records that are read at a time, where they are large


def add_shard_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that `carry_out` takes."""
    add = parser.add_argument
    add("--shards", type=int, metavar="N", help="how many files to make")
    add("--shard-records", type=int, metavar="N", help="how many records a file has")
    add("--jobs", type=int, metavar="N", help="processes at most (default: one for each core)")
    add("--skip-damaged", action="store_true", help="leave damaged records out (one shard only)")
    add("--overwrite", action="store_true", help="replace what is there")
    add("--ignore-space", action="store_true", help="begin even where space seems too little")
    add("--quiet", action="store_true", help="no progress")


def given_paths(args: argparse.Namespace) -> tuple[list[str], str, Upload | None]:
    """The paths to read, as they are given; the path to write to; and, where the files are for a
    store, what puts them there."""
    if len(args.paths) < 2:
        raise UsageError("name the files to read, and the file to make")
    *given, path = args.paths
    load_plugins(args)
    upload = upload_of(path, goes_on=True)
    return given, upload.path_as(path) if upload else path, upload


def _bounds(args: argparse.Namespace, records: int) -> list[int]:
    """The first record of each shard, and the end of the last shard."""
    for name, value in (("--shards", args.shards), ("--shard-records", args.shard_records)):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: it must be 1 or more")
    if args.shards is not None and args.shard_records is not None:
        raise UsageError("give --shards or --shard-records, not both")
    if records == 0:
        return [0, 0]
    if args.shards in (None, 1) and args.shard_records is None:
        return [0, -1 if args.skip_damaged else records]
    if args.skip_damaged:
        raise UsageError("--skip-damaged leaves open which records a shard gets: make one only")
    if args.shard_records is not None:
        return [*range(0, records, args.shard_records), records]
    shards = min(args.shards, max(records, 1))
    return [records * one // shards for one in range(shards + 1)]


class _Size(NamedTuple):
    """The size of a source.

    Attributes:
        records: The number of records; -1: not counted.
        is_stream: Whether the records can only be read in sequence.
        data: A fingerprint of the data.
        batch_size: Records to read at a time.
    """

    records: int
    is_stream: bool
    data: str
    batch_size: int


def _size_of(source: Source, is_needed: bool) -> _Size:
    """The size of a source; a stream is read once to count its records, if shards need the number.
    """
    none = _Size(0, False, "no records", 1)
    if source.is_empty:
        return none
    try:
        with source.loader(batch_size=1024) as loader:
            reader = loader.readers[0]
            stats = [os.stat(path) for path in source.files if os.path.exists(path)]
            data = f"{reader.data} {[(one.st_size, one.st_mtime_ns) for one in stats]}"
            rows = rows_of_batch(reader.records, reader.bytes, source.compression)
            rows = min(rows, _IMAGES) if image_fields(source.fields) else rows
            if reader.records >= 0:
                return _Size(reader.records, False, data, rows)
            if not is_needed:
                return _Size(-1, True, data, rows)
            records = sum(len(next(iter(batch.values()))) for batch in loader)
            return _Size(records, True, data, rows)
    except CorruptDataError as failure:
        if failure.reason != "no-records":
            raise
        return none


def _check_space(conversion: Conversion, found: _Size, args: argparse.Namespace) -> None:
    """A text about the expected size of the files; records of one batch are written at once.

    Raises:
        FileError: There is less free space.
    """
    if 0 <= found.records <= found.batch_size or len(conversion.done) == len(conversion):
        return
    about = os.statvfs(conversion.folder)
    free = about.f_bavail * about.f_frsize
    left = conversion.bytes_left(found.records, found.batch_size) if found.records >= 0 else -1
    is_too_little = left > free
    said = "a size that is not known yet" if left < 0 else f"about {size(left)}"
    said = f"{said} to write, and {size(free)} free"
    if is_too_little and not args.ignore_space:
        raise FileError(
            f"{said}: make room, convert to another place, or say --ignore-space",
            file=conversion.target.path,
        )
    if is_too_little or not args.quiet:
        say(f"{conversion.target.path}: {said}", sys.stderr)


def _say_left_out(conversion: Conversion) -> None:
    count, first = conversion.left_out, conversion.left_out_first
    if not count:
        return
    for failure in first:
        say(str(damage_of(conversion.source.files[0], failure)), sys.stderr)
    if count > len(first):
        say(f"... and {count - len(first)} more", sys.stderr)
    say("1 damaged record left out" if count == 1 else f"{count} damaged records left out",
        sys.stderr)  # fmt: skip


class Made(NamedTuple):
    """The result of a conversion.

    Attributes:
        records: The number of converted records.
        sums: The sums of `Target.counts` over these records.
        names: A text about the files.
    """

    records: int
    sums: tuple[int, ...]
    names: str


def carry_out(
    doing: str,
    args: argparse.Namespace,
    source: Source,
    target: Target,
    *,
    is_checked: bool = False,
    upload: Upload | None = None,
) -> Made:
    """Makes the files of a target, or resumes a stopped conversion.

    Args:
        doing: A word for the work, for the bar.
        args: The arguments that `add_shard_arguments` adds.
        source: The source; its types hold all records, or are checked during reading.
        target: The target, which can hold the source's fields.
        is_checked: Whether types are checked.
        upload: Puts the files of the target into a store.

    Raises:
        UsageError: The options do not fit each other.
        Error: A file cannot be read or written, or the space that is free is too little.
    """
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: it must be 1 or more")
    is_sharded = args.shard_records is not None or args.shards not in (None, 1)
    if is_sharded and not target.writer.is_sharded:
        raise UsageError(f"--to {target.format} makes one, and no shards")
    found = _size_of(source, is_sharded)
    bounds = _bounds(args, found.records)
    conversion = Conversion(source, target, bounds, found.data, is_checked)
    replaced: list[str] = []
    if upload:
        replaced = upload.refuse_present(conversion.names, target.overwrite, "--overwrite")
    with conversion.at_work():
        if conversion.says:
            say(f"{target.path}: {conversion.says}", sys.stderr)
        for note in target.notes(source):
            say(f"{target.path}: {note}", sys.stderr)
        _check_space(conversion, found, args)
        jobs = args.jobs or len(os.sched_getaffinity(0))
        before = sum(conversion.done.values())
        with command_bar(doing, found.records, done=before, quiet=args.quiet) as bar:
            tasks = conversion.tasks(found.is_stream, found.batch_size, jobs)
            run_tasks(conversion, tasks, jobs, lambda written: bar.update(before + written))
        records = sum(conversion.done.values())
        sums = tuple(map(sum, zip(*conversion.sums.values(), strict=True)))
        made: Sequence[Path | str] = conversion.publish()
    if upload:
        made = upload.send(replaced)
    _say_left_out(conversion)
    names = str(made[0]) if len(made) == 1 else f"{made[0]} ... {made[-1]}"
    return Made(records, sums, names)
