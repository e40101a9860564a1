"""Which files of the sample are damaged: the first and the last one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..file_kinds import kind_of
from ..file_layout import Layout, Span
from ..kit import MOST_RECORDS, Run

_SHARE = 4  # of the places in a kind's last file, one in so many is tried in its first


@dataclass(frozen=True)
class Victim:
    """A file of the sample.

    Attributes:
        path: Of the file.
        layout: Where its records are.
        is_companion: No record is in it: an index or the like.
        is_last: The last one of its kind; else the first.
    """

    path: Path
    layout: Layout
    is_companion: bool
    is_last: bool


def victims(paths: Sequence[Path], base: Run) -> list[Victim]:
    """Of each kind of files the last one, and then the first, of those with records or companions
    with bytes; of a sample without records, those with bytes.

    Args:
        paths: The files of the reader, in its order.
        base: A run over them as they are.
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
    """The files after the last one with records, which are of other kinds than those with some:
    the host puts companions last."""
    with_records = {int(file) for file in base.spans["file"] if file >= 0}
    kinds = {kind_of(paths[i]) for i in with_records if i < len(paths)}
    first = max(with_records, default=len(paths)) + 1
    return [i for i in range(first, len(paths)) if kind_of(paths[i]) not in kinds]


def layout_of(base: Run, file: int, share: int = 1) -> Layout:
    """The records of the file with this index."""
    if base.num_records >= MOST_RECORDS:  # some are not looked at: which they are is not known
        return Layout(share=share)
    spans = [
        Span(ordinal, int(one["offset"]), int(one["size"]))
        for ordinal, one in enumerate(base.spans)
        if one["file"] == file
    ]
    return Layout(tuple(sorted(spans, key=lambda span: (span.offset, span.size))), share)
