"""Copies of the sample's files."""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..file_layout import Layout, Span, kind_of
from ..kit import MOST_RECORDS, Run
from .check import Check


_LARGE = 1 << 28  # of a sample with more bytes, only the first and the last record are read


def is_large(folder: str) -> bool:
    """The files of a folder have too many bytes to read all of them."""
    files = (path for path in Path(folder).iterdir() if path.is_file())
    return sum(path.stat().st_size for path in files) > _LARGE


def overwrite(path: Path, data: bytes) -> None:
    """Writes without truncating first, since some file systems would then wait for the disk at each
    close."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def copy_files(paths: list[Path], folder: Path) -> None:
    """Makes the folder contain only these files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in paths:
        shutil.copyfile(path, folder / path.name)


class SampleCopy:
    """The sample's files in a separate folder.

    Attributes:
        paths: The files of the sample, in the reader's order.
        folder: The folder of the copies, which have the same names.
        kit: A kit over the copies.
    """

    def __init__(self, check: Check, name: str) -> None:
        """Args: the check of the sample; a name for the folder."""
        self.paths = [Path(path) for path in check.kit.files() if Path(path).is_file()]
        self.folder = Path(check.job.folder, name)
        copy_files(self.paths, self.folder)
        self.kit = check.make_kit(check.job.spec.in_folder(str(self.folder)))

    def names(self) -> set[str]:
        """The names of the copies that the kit reads; paths in other attrs still lead to the
        sample."""
        found = [Path(path) for path in self.kit.files()]
        return {path.name for path in found if path.parent.resolve() == self.folder.resolve()}

    def last_file(self) -> Path | None:
        """The last file of the sample with bytes in it."""
        return next((path for path in reversed(self.paths) if path.stat().st_size > 0), None)

    @contextlib.contextmanager
    def changed(self, path: Path) -> Iterator[Callable[[bytes], None]]:
        """A context manager with a function that replaces the content of the copy of a file;
        restores the copy at the end.
        """
        try:
            yield functools.partial(overwrite, self.folder / path.name)
        finally:
            overwrite(self.folder / path.name, path.read_bytes())


# ---- Files that are damaged: the first and the last of each kind --------------------------------

_SHARE = 4  # a kind's first file gets one place for so many places of its last file


@dataclass(frozen=True)
class Victim:
    """A file of the sample.

    Attributes:
        path: The file.
        layout: The places of its records.
        is_companion: Whether no record is in it, as in an index.
        is_last: Whether it is the last of its kind; else it is the first.
    """

    path: Path
    layout: Layout
    is_companion: bool
    is_last: bool


def victims(paths: Sequence[Path], base: Run) -> list[Victim]:
    """Yields the last and then the first file of each kind, among files with records and non-empty
    companions; for a sample without records, among non-empty files.

    Args:
        paths: The files of the reader, in its order.
        base: A run over the intact files.
    """
    companions = set(companion_files(paths, base))
    with_records = {int(file) for file in base.spans["file"]}
    kinds: dict[tuple[bool, str], list[int]] = {}
    for i, path in enumerate(paths):
        is_wanted = i in with_records or i in companions or not base.num_records
        if path.stat().st_size > 0 and is_wanted:
            kinds.setdefault((i in companions, kind_of(path)), []).append(i)
    chosen = [(files[-1], True) for files in kinds.values()]
    chosen += [(files[0], False) for files in kinds.values() if len(files) > 1]
    return [
        Victim(paths[i], layout_of(base, i, 1 if is_last else _SHARE), i in companions, is_last)
        for i, is_last in chosen
    ]


def companion_files(paths: Sequence[Path], base: Run) -> list[int]:
    """The companions, which the host puts last: files after the last file with records, and of
    another kind than any file with records."""
    with_records = {int(file) for file in base.spans["file"] if file >= 0}
    kinds = {kind_of(paths[i]) for i in with_records if i < len(paths)}
    first = max(with_records, default=len(paths)) + 1
    return [i for i in range(first, len(paths)) if kind_of(paths[i]) not in kinds]


def why_not_grown(base: Run) -> str:
    """Why no larger copy of a sample can be made, judged from a run over the sample; "": a copy can
    be tried.
    """
    if base.size < 0:
        return "the reader is a stream"
    if base.num_records >= MOST_RECORDS or not base.succeeded or base.num_records < 1:
        return "the sample has too many records, or some that fail"
    return ""


def layout_of(base: Run, file: int, share: int = 1) -> Layout:
    """The records of the file with this index."""
    if base.num_records >= MOST_RECORDS:  # not all records are known
        return Layout(share=share)
    spans = [
        Span(ordinal, int(one["offset"]), int(one["size"]))
        for ordinal, one in enumerate(base.spans)
        if one["file"] == file
    ]
    return Layout(tuple(sorted(spans, key=lambda span: (span.offset, span.size))), share)
