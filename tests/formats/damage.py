"""Damaging small files in every way, and what a reader may then do.

It may raise one of the package's errors, or leave records out that it counts and names.  What it
delivers must be records of the undamaged file, in their places, where the format can tell; and a
file that was cut must not read as a shorter one, but where a record ended there.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.files import overwrite

import pyflowdata as flow

FLIPS = int(os.environ.get("FUZZ_FLIPS", "50" if "SOAK" in os.environ else "15"))
CUTS = FLIPS

Row = tuple[bytes, ...]


@dataclass(frozen=True)
class Format:
    """A reader and a way to make a small file for it.

    Attributes:
        make: Writes good files into a folder and returns them; the first one is damaged.
        read: Blobs from the paths and attrs of the reader.
        has_checksums: Whether no flipped bit may change what is delivered.
        may_be_cut: How many places there are, besides ends of records, at which a cut file is a
            whole one of fewer records (a text's, in which a number is as good as its beginning).
        end_mark: Bytes at the end that say nothing but that it is the end, which may be missing.
        ends: Places where a record ends: 2 where a newline may be missing.
    """

    make: Callable[[Path], Sequence[Path]]
    read: Callable[..., flow.Blob | tuple[flow.Blob, ...]]
    has_checksums: bool = False
    may_be_cut: float = 0
    end_mark: int = 0
    ends: int = 1


def _rows(batch: tuple[object, ...]) -> Iterator[Row]:
    for i in range(len(batch[0])):  # type: ignore[arg-type]
        yield tuple(np.ascontiguousarray(part[i]).tobytes() for part in batch)  # type: ignore


def read_rows(form: Format, paths: Sequence[Path], **attrs: object) -> tuple[dict[int, Row], int]:
    """All records by their number, and how many were left out."""
    blobs = form.read([str(path) for path in paths], with_id=True, batch_size=16, **attrs)
    rows: dict[int, Row] = {}
    with flow.DataLoader(*blobs, num_threads=1) as loader:
        for *parts, ids in loader:
            for number, row in zip(ids[:, 1].tolist(), _rows(tuple(parts)), strict=True):
                assert number not in rows, f"record {number} came twice"
                rows[number] = row
        return rows, len(loader.skipped)


def try_rows(form: Format, paths: Sequence[Path]) -> tuple[dict[int, Row], int] | None:
    """The same of damaged files, without damaged records; None: an error was raised."""
    try:
        return read_rows(form, paths, on_error="skip")
    except flow.InternalError:
        raise
    except flow.Error as error:
        assert str(error)
        return None


def check_cuts(form: Format, folder: Path, most: int = CUTS) -> None:
    """Cuts the file at every place (at `most` of them where it is longer)."""
    paths = list(form.make(folder))
    whole, left_out = read_rows(form, paths)
    assert whole and left_out == 0
    data = paths[0].read_bytes()
    near = max(1, most // 4)  # where headers and footers are, every place
    places = {*range(min(near, len(data))), *range(max(0, len(data) - near), len(data))}
    places |= {*range(0, len(data), max(1, len(data) // most))}
    unnoticed = []
    for size in sorted(places):
        overwrite(paths[0], data[:size])
        found = try_rows(form, paths)
        if size >= len(data) - form.end_mark:
            assert found == (whole, 0), f"cut at {size}, in the end mark"
            continue
        if found is None or found[1] > 0:
            continue
        unnoticed.append(size)
        if form.may_be_cut:
            continue
        for number, row in found[0].items():
            assert whole.get(number) == row, f"cut at {size}: record {number} is another one"
    assert len(unnoticed) <= form.ends * len(whole) + 1 + form.may_be_cut, unnoticed


def check_flips(form: Format, folder: Path, flips: int = FLIPS, seed: int = 1) -> None:
    """Changes bits, bytes and runs of bytes at random places."""
    paths = list(form.make(folder))
    whole, _ = read_rows(form, paths)
    data, draw = paths[0].read_bytes(), random.Random(seed)
    for _ in range(flips):
        damaged = bytearray(data)
        at = draw.randrange(len(data))
        if draw.random() < 0.5:
            damaged[at] ^= 1 << draw.randrange(8)
        else:
            run = draw.choice((1, 1, 2, 4, 8))
            damaged[at : at + run] = bytes(draw.choice((0, 255, draw.randrange(256)))
                                           for _ in range(min(run, len(data) - at)))
        overwrite(paths[0], bytes(damaged))
        found = try_rows(form, paths)
        if found is None or not form.has_checksums:
            continue
        rows, left_out = found
        assert len(rows) + left_out == len(whole), f"{len(rows)} rows, {left_out} left out"
        for number, row in rows.items():
            assert whole[number] == row, f"byte {at}: record {number} is another one"
