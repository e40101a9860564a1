"""`pyflowdata selftest`: does this installation work on this machine?"""

from __future__ import annotations

import argparse
import base64
import gzip
import struct
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ops
from ..errors import CorruptDataError, UnsupportedError
from ..loader import DataLoader
from ..native import build_parts
from ..nodes import Blob
from ..plugins.compiler import compile as compile_plugin
from ..pyops.decoders import register_decoder
from .about import in_lines
from .usage import say


# ---- Checks ----------------------------------------------------------------------------

Check = Callable[[Path], None]  # is given an empty folder; raises what it finds


class Skipped(Exception):
    """The machine or the build lacks what a check needs."""


def need(library: str) -> None:
    """Skips the check if the build lacks the library."""
    if dict(build_parts())[library] is None:
        raise Skipped(f"{library} is not in this build")


def same(found: Any, wanted: Any) -> None:
    """Raises AssertionError, with both values, if two arrays or lists differ, also in their dtypes.
    """
    if isinstance(wanted, np.ndarray):
        is_same = found.dtype == wanted.dtype and np.array_equal(found, wanted)
    else:
        is_same = found == wanted
    if not is_same:
        raise AssertionError(f"found {found!r}, not {wanted!r}")


def rows(*blobs: Blob, **options: Any) -> list[list[Any]]:
    """One epoch: for each blob its rows as Python values."""
    with DataLoader(*blobs, **options) as loader:
        batches = [batch if len(blobs) > 1 else (batch,) for batch in loader]
    return [[row for batch in batches for row in in_python(batch[i])] for i in range(len(blobs))]


def in_python(batch: Iterable[Any]) -> list[Any]:
    """The rows of a batch; rows of bytes of varying length as bytes."""
    if isinstance(batch, np.ndarray):
        return list(batch.tolist())
    return [row.tobytes() for row in batch]


# ---- Formats ------------------------------------------------------------------------------------

# Files that Python writes, as they are read.

LINES = [f"line {i} of a text".encode() * (i % 5 + 1) for i in range(500)]


def text_and_csv(folder: Path) -> None:
    """Lines, and numbers of CSV to the last bit."""
    (folder / "lines.txt").write_bytes(b"\n".join(LINES) + b"\n")
    lines = rows(ops.TextLineReader(files=[folder / "lines.txt"], batch_size=64))
    same(lines, [LINES])
    numbers = [0.1, 2.5e-320, 1.7976931348623157e308, -1e23, 9007199254740993.0, 0.3, 1 / 3]
    text = "a,b\n" + "".join(f"{number!r},{i}\n" for i, number in enumerate(numbers))
    (folder / "table.csv").write_text(text)
    columns = ["a:float64", "b:int32"]
    found = rows(*ops.CSVReader(files=[folder / "table.csv"], columns=columns, batch_size=3))
    same(found, [numbers, list(range(len(numbers)))])


def npy(folder: Path) -> None:
    """A file of numpy.save()."""
    array = np.arange(4000, dtype=np.float32).reshape(1000, 2, 2) / 7
    np.save(folder / "array.npy", array)
    (found,) = rows(ops.NpyReader(files=[folder / "array.npy"], batch_size=128))
    same(np.array(found, np.float32), array)


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)


def tfrecord(folder: Path) -> None:
    """TFRecord with its checksums; a damaged byte is noticed, and named."""
    records = [bytes([i]) * (i % 7 * 40) for i in range(40)]
    framed = bytearray()
    for record in records:
        length = struct.pack("<Q", len(record))
        framed += length + _masked(length) + record + _masked(record)
    path = folder / "records.tfrecord"
    path.write_bytes(framed)
    same(rows(ops.TFRecordReader(files=[path], batch_size=8)), [records])
    at = framed.index(bytes([5]) * 200)
    framed[at + 100] ^= 1
    path.write_bytes(framed)
    try:
        rows(ops.TFRecordReader(files=[path], batch_size=8))
    except CorruptDataError as failure:
        same((failure.file, failure.ordinal), (str(path), 5))
    else:
        raise AssertionError("the damaged byte was not noticed")
    (found,) = rows(ops.TFRecordReader(files=[path], batch_size=8, on_error="skip", max_skipped=-1))
    same(found, records[:5] + records[6:])


def gzipped(folder: Path) -> None:
    """A file of Python's gzip."""
    need("zlib")
    (folder / "lines.gz").write_bytes(gzip.compress(b"\n".join(LINES)))
    same(rows(ops.TextLineReader(files=[folder / "lines.gz"], batch_size=64)), [LINES])


def zstd(folder: Path) -> None:
    """A frame of zstd: a block that repeats a byte, and one that is stored."""
    need("libzstd")
    repeated, stored = b"a" * 100, b"\nsecond line"
    frame = struct.pack("<IBB", 0xFD2FB528, 0x20, len(repeated) + len(stored))
    frame += (len(repeated) << 3 | 2).to_bytes(3, "little") + repeated[:1]
    frame += (len(stored) << 3 | 1).to_bytes(3, "little") + stored
    (folder / "lines.zst").write_bytes(frame)
    lines = rows(ops.TextLineReader(files=[folder / "lines.zst"], batch_size=4))
    same(lines, [[repeated, stored[1:]]])


# ---- Images -------------------------------------------------------------------------------------

# Small images, and loops over pixels and numbers.

# The picture below, as Pillow wrote it: JPEG with quality 90, and WebP without loss.
_JPEG = """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4R
DgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU
FBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAMABADAREAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAA
BgQH/8QAGxAAAQQDAAAAAAAAAAAAAAAAAAMEBSIGITH/xAAWAQEBAQAAAAAAAAAAAAAAAAAIBQf/xAAeEQABAgcB
AAAAAAAAAAAAAAAAAwYBAgQFIjJSYv/aAAwDAQACEQMRAD8AmkMc7Uy1Nq+Q7NlPUNyGO9qVE2r5Fk2U9TaJBiju
okErfT8hdbMsMQ3IMUd1Kqdup+RZNmWGJ//Z
"""
_WEBP = """
UklGRjQAAABXRUJQVlA4TCcAAAAvD8ACALmM6H/sIqL/ASJtm/lXNklzcHassG0bFJaGQxETIPRW6l0A
"""


def _picture() -> npt.NDArray[np.uint8]:
    y, x = np.mgrid[0:12, 0:16]
    return np.stack([10 * x + 5 * y, 200 - 8 * x, 20 * y], -1).astype(np.uint8)


def _decoded(data: bytes) -> npt.NDArray[np.uint8]:
    found = ops.ImageDecoder(np.frombuffer(data, np.uint8))
    assert isinstance(found, np.ndarray)
    return found


def jpeg(folder: Path) -> None:
    """A JPEG file, as near as its quality allows."""
    need("libjpeg-turbo")
    off = np.abs(_decoded(base64.b64decode(_JPEG)).astype(int) - _picture())
    same(bool(off.max() <= 6), True)


def webp(folder: Path) -> None:
    """A WebP file without loss."""
    need("libwebp")
    same(_decoded(base64.b64decode(_WEBP)), _picture())


def png(folder: Path) -> None:
    """A PNG file that Python's zlib compresses."""
    need("libpng")
    height, width, _ = (picture := _picture()).shape
    scanlines = b"".join(b"\0" + line.tobytes() for line in picture)
    data = b"\x89PNG\r\n\x1a\n"
    for kind, content in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(scanlines)),
        (b"IEND", b""),
    ):
        check = zlib.crc32(kind + content)
        data += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
    same(_decoded(data), picture)


def arithmetic(folder: Path) -> None:
    """Scaling, rounding to float16, and flipping: every bit as in NumPy."""
    pixels = (np.arange(3 * 1031) * 7919 % 256).astype(np.uint8).reshape(3, 1031)
    wanted = pixels.astype(np.float32) * np.float32(0.25) + np.float32(-3)
    same(ops.Affine(pixels, scale=0.25, shift=-3.0, dtype="float32"), wanted)
    numbers = (np.arange(2000, dtype=np.float32) / 9) ** 2
    same(ops.Cast(numbers[None], dtype="float16"), numbers[None].astype(np.float16))
    flip = ops.ImageFlip(_picture(), flip_code=np.int8(1))
    same(flip, _picture()[:, ::-1])


# ---- Loaders ------------------------------------------------------------------------------------

# What loaders promise: each record once, the same batches however they are made, and resuming.

RECORDS = 1000


def _numbers(folder: Path, **attrs: Any) -> Blob:
    """0 to 999, in four files."""
    for part in range(4):
        path = folder / f"part-{part}"
        if not path.exists():
            np.arange(part * 250, part * 250 + 250, dtype=np.int64).tofile(path)
    shuffled = {"shuffle": "global", "shuffle_after_epoch": True, "seed": 7}
    order = {} if attrs.pop("in_order", False) else shuffled
    made = ops.RawReader(folder, dtype="int64", shape=[], **{"batch_size": 32, **order, **attrs})
    assert isinstance(made, Blob)
    return made


def shuffled(folder: Path) -> None:
    """A shuffle gives each record once, and each epoch another order."""
    with DataLoader(_numbers(folder)) as loader:
        first, second = ([n for batch in loader for n in batch.tolist()] for _ in range(2))
    for order in (first, second):
        same(sorted(order), list(range(RECORDS)))
    same(first != list(range(RECORDS)) and first != second, True)


def threads(folder: Path) -> None:
    """Four threads give the batches of one."""
    one, four = (rows(_numbers(folder), num_threads=n)[0] for n in (1, 4))
    same(four, one)


def ranks(folder: Path) -> None:
    """Two ranks give the batches of one process, each its half of every batch."""
    whole = rows(_numbers(folder, batch_size=20, rank=0, world_size=1))[0]
    halves = [rows(_numbers(folder, batch_size=20, rank=n, world_size=2))[0] for n in (0, 1)]
    joined = [half[i : i + 10] for i in range(0, RECORDS // 2, 10) for half in halves]
    same([n for part in joined for n in part], whole)


def resumed(folder: Path) -> None:
    """A loader goes on where the state of another one was taken, in the middle of an epoch."""
    with DataLoader(_numbers(folder)) as loader:
        batches = loader.repeat()
        for _ in range(40):
            next(batches)
        state = loader.state_dict()
        wanted = [next(batches).tolist() for _ in range(40)]
    with DataLoader(_numbers(folder), num_threads=1) as loader:
        loader.load_state_dict(state)
        batches = loader.repeat()
        same([next(batches).tolist() for _ in range(40)], wanted)


def python_function(folder: Path) -> None:
    """A function of the user's, called by the threads of a loader."""

    @register_decoder(outputs={"out": ("int64", ())}, name="SelftestSquare", replace=True)
    def square(numbers: Any) -> Any:
        return numbers * numbers

    (found,) = rows(square(_numbers(folder, in_order=True)))
    same(found, [n * n for n in range(RECORDS)])


def plugin(folder: Path) -> None:
    """An op in C, with this machine's compiler."""
    source = Path(__file__).with_name("selftest_plugin.c")
    try:
        made = compile_plugin(source)
    except UnsupportedError:
        raise Skipped("there is no C compiler, which only ops of one's own in C need") from None
    (found,) = rows(made.SelftestTwice(_numbers(folder, in_order=True)))
    same(found, [2 * n for n in range(RECORDS)])


# ---- Running the checks -------------------------------------------------------------------------

CHECKS: list[Check] = [
    text_and_csv,
    npy,
    tfrecord,
    gzipped,
    zstd,
    jpeg,
    png,
    webp,
    arithmetic,
    shuffled,
    threads,
    ranks,
    resumed,
    python_function,
    plugin,
]


def _title(check: Check) -> str:
    return (check.__doc__ or "").rstrip(".")


def _report(failures: list[str], say: Callable[[str], None]) -> None:
    say("")
    say("Please report this, with all that follows:")
    for line in "\n".join([*failures, in_lines()]).split("\n"):
        say(line)


def run_checks(say: Callable[[str], None], checks: list[Check] | None = None) -> bool:
    """Runs all checks, also after a failure.

    Args:
        say: Prints a line.
        checks: The checks to run; None: all.

    Returns:
        Whether no check has failed.
    """
    failures, skipped = [], 0
    wanted = CHECKS if checks is None else checks
    start = time.monotonic()
    for check in wanted:
        with tempfile.TemporaryDirectory(prefix="pyflowdata-selftest-") as folder:
            try:
                check(Path(folder))
            except Skipped as reason:
                skipped += 1
                say(f"skipped   {_title(check)}: {reason}")
            except Exception:  # the other checks are still useful
                failures.append(traceback.format_exc())
                say(f"FAILED    {_title(check)}")
            else:
                say(f"passed    {_title(check)}")
    if failures:
        _report(failures, say)
    passed = len(wanted) - len(failures) - skipped
    seconds = time.monotonic() - start
    said = f"{passed} passed, {skipped} skipped, {len(failures)} failed in {seconds:.1f} s"
    say(f"selftest of pyflowdata: {said}")
    return not failures


# ---- The command --------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares no options."""


def run(args: argparse.Namespace) -> int:
    """Prints a line for each check, and what to report if one fails."""
    return 0 if run_checks(say) else 1
