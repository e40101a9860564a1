"""`pyflowdata verify`: every frame and checksum of files, and the places where they are wrong."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from ..errors import CorruptDataError, Error, FileError, InvalidArgumentError, UnsupportedError
from ..formats import (
    Damage,
    Scan,
    Source,
    check_mds_hashes,
    open_source,
    scan_ofrecord,
    scan_tfrecord,
)
from ..formats.source import RECORD
from .file_arguments import about, add_source_arguments, expand, opened
from .usage import UsageError

_BATCH = 64  # below the number of skipped records that a loader keeps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="data files, of any formats")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each file")
    parser.epilog = (
        "Exit status: 0 where all files are whole, 1 where one is damaged or cannot be read, 2 for "
        "a wrong call."
    )
    add_source_arguments(parser)


def _damage(path: str, failure: Error) -> Damage:
    return Damage(
        failure.file or path, failure.ordinal, failure.byte, failure.message, failure.line
    )


def _read(source: Source, scan: Scan) -> Iterator[Damage]:
    """All records by the reader, which leaves damaged ones out and names them."""
    path = source.files[0]
    names = [RECORD] if source.has_records or not source.fields else None
    try:
        # One thread delivers, so that what was skipped is asked for batch by batch.
        with source.loader(names, batch_size=_BATCH, on_error="skip") as loader:
            told = 0
            batches = iter(loader)
            while True:
                try:
                    batch = next(batches, None)
                except CorruptDataError as failure:
                    if source.compression is not None:
                        scan.good += _whole_behind(source, names, scan.good + told)
                    yield _damage(path, failure)
                    return
                total = int(loader.stats()["skipped"])
                new = loader.skipped[-(total - told) :] if total > told else []
                yield from (_damage(path, failure) for failure in new)
                told = total
                if batch is None:
                    return
                scan.good += len(next(iter(batch.values())))
    except (CorruptDataError, FileError) as failure:
        if scan.good == 0 and failure.records is not None:
            scan.good = failure.records  # the reader found so many, and takes none of them
        yield _damage(path, failure)


def _whole_behind(source: Source, names: list[str] | None, begin: int) -> int:
    """How many records of a stream come before its damage, behind whole batches of them."""
    records = 0
    try:
        with source.loader(names, batch_size=1, on_error="skip") as loader:
            loader.seek(begin)
            for _ in loader:
                records += 1
    except (CorruptDataError, FileError):
        pass
    return records


_SCANS = {"tfrecord": scan_tfrecord, "ofrecord": scan_ofrecord}


def _check(source: Source, scan: Scan) -> list[Damage]:
    """The damage of one file.  Where a frame is damaged the reader takes nothing of it: then the
    file is walked over once more, for what is whole, and for what else is damaged."""
    if source.is_empty:
        return []  # no records, none of them damaged
    found = list(_read(source, scan))
    if found and source.format.name == "csv":
        found = _without_breaks(source, scan, found)
    if source.format.name == "mds" and source.files[0].endswith(".json"):
        found += check_mds_hashes(source.files[0], scan)
    walk = _SCANS.get(source.format.name)
    if walk is None or source.compression is not None:
        return found
    if found or (walk is scan_ofrecord and not _are_messages(source, scan.good)):
        scan.good = 0
        return list(walk(source.files[0], scan)) or found
    return found


def _without_breaks(source: Source, scan: Scan, found: list[Damage]) -> list[Damage]:
    """The damage where cells have line breaks or not, whichever leaves more of the file whole: a
    quote that is not closed takes everything up to the next one with it."""
    has_breaks = bool(dict(source.attrs).get("multiline", False))
    other = dataclasses.replace(source, attrs=(*source.attrs, ("multiline", not has_breaks)))
    again = Scan()
    places = list(_read(other, again))
    if again.good <= scan.good:
        return found
    scan.good = again.good
    return places


def _are_messages(source: Source, records: int) -> bool:
    """Whether decoders take all records of an OFRecord file, whose reader looks at frames only.

    False, too, where they cannot tell: a varying number of values is of no decoder here.
    """
    try:
        source = replace(open_source(source.files, "ofrecord"), attrs=source.attrs)
        if source.left_out or not source.fields:
            return False
        with source.loader(batch_size=_BATCH) as loader:
            return sum(len(next(iter(batch.values()))) for batch in loader) == records
    except (CorruptDataError, InvalidArgumentError):
        return False


def run(args: argparse.Namespace) -> int:
    """Checks file after file."""
    is_damaged = False
    for path in expand(args.files):
        scan, title = Scan(), ""
        try:
            source = opened(args, [path], only_records=True)
            source = source.with_defaults() if source.format.name == "tar" else source
            title = about(source)
            damage = _check(source, scan)
        except (UnsupportedError, InvalidArgumentError) as failure:
            is_call = isinstance(failure, InvalidArgumentError) and failure.file is None
            if is_call and (args.fields or args.attr):
                raise UsageError(str(failure), failure.attr) from None
            print(f"{path}: not checked: {failure}", file=sys.stderr)
            is_damaged = True
            continue
        except (CorruptDataError, FileError) as failure:
            damage = [_damage(path, failure)]
        is_damaged |= bool(damage)
        if args.json:
            places = [{"record": one.record, "byte": one.byte, "line": one.line,
                       "message": one.message} for one in damage]  # fmt: skip
            print(json.dumps({"file": path, "format": title, "good": scan.good,
                              "damage": places, "notes": scan.notes}))  # fmt: skip
            continue
        for one in damage:
            print(one)
        for note in scan.notes:
            print(f"{path}: {note}")
        said = f"{len(damage)} damaged places" if len(damage) != 1 else "1 damaged place"
        print(f"{path}: {title or 'unreadable'}: {scan.good} records whole, "
              f"{said if damage else 'no damage'}")  # fmt: skip
    return 1 if is_damaged else 0
