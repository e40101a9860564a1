"""`pyflowdata verify`: checks every frame and checksum of files, and lists the damaged places."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import Any

from ..errors import (
    CorruptDataError,
    Error,
    FileError,
    InvalidArgumentError,
    OutOfMemoryError,
    UnsupportedError,
)
from ..formats import (
    FORMATS,
    Damage,
    Scan,
    Source,
    damage_of,
    decoded_image,
    end_problem,
    image_fields,
    read_all,
    read_seal,
    seal_damage,
    seal_path,
)
from ..insight.sheet import has_images
from ..loader import DataLoader
from ..loader.open_loader import open_loader_of
from .bars import command_bar
from .sources import (
    about,
    add_memory_argument,
    add_source_arguments,
    expand,
    load_plugins,
    source_of,
)
from .usage import is_wrong_call, say, say_json


# ---- Images that cannot be decoded --------------------------------------------------------------

_ROWS = 64  # images in a batch
_FIRST = 16  # records that tell whether bytes are files of images


def _image_field(source: Source) -> tuple[Source, str] | None:
    """A source with a field of image files, and the name of the field; None: it has no images."""
    format = FORMATS[source.format.name]
    source = format.with_images(source)
    found = image_fields(source.fields)
    types = {field.name: field.type for field in source.fields}
    if found is None or types[found.image] != "bytes":
        return None
    if format.is_image_name(found.image):
        return source, found.image
    with contextlib.suppress(Error):
        rows = source.batches([found.image], batch_size=_FIRST, on_error="skip", max_skipped=-1)
        if has_images(next(rows, {found.image: []})[found.image]):
            return source, found.image
    return None


def _damaged_images(source: Source, name: str, known: list[Damage], scan: Scan) -> list[Damage]:
    """Decodes all images of the source's only file, which are in the field `name`; returns the
    damage that was not known before.  The scan then counts only records with whole images."""

    def opener(**attrs: Any) -> DataLoader[Any]:
        file = source.blobs(**attrs)[name]
        blobs = {name: decoded_image(file)}
        return DataLoader(blobs, memory_budget=source.memory_budget, ledger="")

    decoded = Scan()
    found = read_all(source.files[0], opener, source.compression is not None, decoded)
    places = {_place(one) for one in found}
    ends = [one for one in _damaged_ends(source, name) if _place(one) not in places]
    decoded.good -= len(ends)
    places = {_place(one) for one in known}
    new = [one for one in found + ends if _place(one) not in places]
    scan.good = max(scan.good - len(new), decoded.good)
    if scan.good > decoded.good:
        scan.notes.append(
            f"{scan.good - decoded.good} images were not decoded: readers stop at that damage"
        )
    return new


def _damaged_ends(source: Source, name: str) -> list[Damage]:
    """The images whose end is missing, or that are followed by other bytes."""
    attrs = {"batch_size": _ROWS, "with_id": True, "on_error": "skip", "max_skipped": -1}
    file = source.blobs(**attrs)[name]
    reader = file.node
    while reader.inputs:
        reader = reader.inputs[0].node
    blobs = {"file": file, "id": reader.outputs[-1]}
    found = list[Damage]()
    with (
        contextlib.suppress(CorruptDataError),  # which is known from decoding
        DataLoader(blobs, memory_budget=source.memory_budget, ledger="") as loader,
    ):
        opened = open_loader_of(loader)
        batch: Any
        for batch in loader:
            for data, (at, record) in zip(batch["file"].to_bytes_list(), batch["id"].tolist()):
                problem = end_problem(data)
                if problem is None:
                    continue
                is_stream = source.compression is not None
                path = source.files[0] if is_stream else opened.file_of_record(at, record)
                found.append(Damage(path, record, None, problem))
    return found


def _place(damage: Damage) -> tuple[str, int | None]:
    return damage.file, damage.byte if damage.record is None else damage.record


# ---- The command --------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="data files, of any formats")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each file")
    parser.add_argument("--images", action="store_true", help="decode all images, too")
    parser.epilog = (
        "Exit status: 0 where all files are whole, 1 where one is damaged, not there, cannot be "
        "read, or has only hashes that cannot be computed here, 2 for a wrong call."
    )
    add_source_arguments(parser)
    add_memory_argument(parser)


_NOT_DECODED = "images were not decoded"


def _print(path: str, title: str, scan: Scan, damage: list[Damage]) -> None:
    for one in damage:
        say(str(one))
    for note in scan.notes:
        if note != _NOT_DECODED:
            say(f"{path}: {note}")
    said = f"{len(damage)} damaged places" if len(damage) != 1 else "1 damaged place"
    if not damage and scan.is_unchecked:
        said = "not checked: none of the hashes can be computed here"
    say(f"{path}: {title or 'unreadable'}: {scan.good} records whole, "
        f"{said if damage or scan.is_unchecked else 'no damage'}"
        f"{f'; {_NOT_DECODED} (--images does)' if _NOT_DECODED in scan.notes else ''}")  # fmt: skip


def _print_json(path: str, title: str, scan: Scan, damage: list[Damage]) -> None:
    places = [{"record": one.record, "byte": one.byte, "line": one.line,
               "message": one.message} for one in damage]  # fmt: skip
    say_json({"file": path, "format": title, "good": scan.good, "damage": places,
              "notes": scan.notes})  # fmt: skip


def _check_images(args: argparse.Namespace, path: str, damage: list[Damage], scan: Scan) -> None:
    """Decodes the images if that is wanted; adds to the damage and the notes."""
    try:
        images = _image_field(source_of(args, [path]))
    except Error as failure:
        if args.images:
            scan.notes.append(f"no images were decoded, since the fields are not known: {failure}")
        return
    if images is not None and args.images:
        damage += _damaged_images(*images, damage, scan)
    elif images is not None:
        scan.notes.append(_NOT_DECODED)
    elif args.images:
        scan.notes.append("no field of images is known in it")


def _seal_damage(
    path: str, known: list[Damage], scan: Scan, is_read: bool = True
) -> list[Damage]:
    """The damage that the seal of the file shows; none without a seal.

    Args:
        known: Damage that was found before.
        is_read: Whether the scan has counted the records.
    """
    try:
        seal = read_seal(path)
        if seal is None:
            return []
        found = seal_damage(path)
    except (CorruptDataError, FileError) as failure:
        return [damage_of(os.fspath(seal_path(path)), failure)]
    if is_read and seal.records not in (None, scan.good) and not known and not found:
        said = f"{scan.good} records are read, and the seal has {seal.records}"
        return [Damage(path, None, None, said)]
    if not found:
        scan.notes.append(f"all {seal.bytes} bytes agree with the seal")
    return found


def _is_whole(args: argparse.Namespace, path: str) -> bool:
    """Checks a file, and prints what was found."""
    scan, title = Scan(), ""
    try:
        source = source_of(args, [path], only_records=True)
        title = about(source)
        with command_bar(f"checking {os.path.basename(path)}", -1) as bar:
            scan.progress = bar.update
            damage = FORMATS[source.format.name].damage(source, scan)
            _check_images(args, path, damage, scan)
            damage += _seal_damage(path, damage, scan)
    except (UnsupportedError, InvalidArgumentError, OutOfMemoryError) as failure:
        if is_wrong_call(failure, args):
            raise
        said = failure.message if failure.file == path and failure.op is None else failure
        say(f"{path}: not checked: {said}", sys.stderr)
        for one in _seal_damage(path, [], scan, is_read=False):
            say(str(one))
        for note in scan.notes:
            say(f"{path}: {note}")
        return False
    except (CorruptDataError, FileError) as failure:
        damage = [damage_of(path, failure)]
    (_print_json if args.json else _print)(path, title, scan, damage)
    return not damage and not scan.is_unchecked


def run(args: argparse.Namespace) -> int:
    """Checks file after file; a name without a file does not stop the check of the others."""
    load_plugins(args)
    files, is_whole = list[str](), True
    for path in args.files:
        try:
            files += expand([path], args.format)
        except FileError as failure:
            is_whole = False
            say(f"pyflowdata: error: {failure}", sys.stderr)
    return 0 if all([_is_whole(args, path) for path in files]) and is_whole else 1
