"""Files of every format, damaged at random, and how much of the damage `pyflowdata verify` sees.

The table of docs/reference/verify.md is made here, from the root of the tree:

    PYTHONPATH=.:tests .venv/bin/python tests/formats/mutations.py 3000

damages 3,000 copies and prints the rows of the table.  Each damaged copy is also compared with the
seal of the whole file, which must see every one.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from formats import format_samples
from formats.megatron import token_files
from support.paths import ROOT

from pyflowdata import cli, io as writers
from pyflowdata.formats import seal_damage, seal_path, write_seal
from pyflowdata.formats.base.output import _COMPRESSORS

FIXTURES = ROOT / "tests/fixtures"
ROWS = 40


@dataclass(frozen=True)
class Variant:
    """A kind of file.

    Attributes:
        name: The file to damage, below the folder.
        make: Writes it, and what belongs to it, into a folder.
        args: What `verify` needs to know besides its name.
        checked: What is given to `verify`, below the folder; "": the file itself.
    """

    name: str
    make: Callable[[Path], object]
    args: tuple[str, ...] = ()
    checked: str = ""


# ---- Whole files ---------------------------------------------------------------------------------


def _numbers() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(ROWS, 4)).astype(np.float32)


def _columns() -> dict[str, object]:
    return {"x": _numbers(), "label": np.arange(ROWS, dtype=np.int64)}


def _objects() -> dict[str, object]:
    return {"x": _numbers(), "text": [one.decode() for one in _texts()]}


def _texts() -> list[bytes]:
    return [f"line {i} of a text, {i * 7919 % 1009}".encode() for i in range(ROWS)]


def _written(writer: str, batch: Callable[[], object], **options: object) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with getattr(writers, writer)(path, **options) as opened:
            opened.write_batch(batch())

    return make


def _copied(name: str) -> Callable[[Path], None]:
    return lambda path: path.write_bytes((FIXTURES / name).read_bytes()) and None


def _packed(make: Callable[[Path], object], compression: str) -> Callable[[Path], None]:
    """A file that is compressed after it was made."""

    def packed(path: Path) -> None:
        plain = path.with_name("plain" + Path(path.stem).suffix)
        make(plain)
        data = plain.read_bytes()
        plain.unlink()
        packer = _COMPRESSORS[compression](None)
        path.write_bytes(packer.compress(data) + packer.flush())

    return packed


def _mindrecord(version: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        (made,) = format_samples.mindrecord(path.parent, version)
        made.rename(path)

    return make


def _tokens(path: Path) -> None:
    token_files.write(path.with_suffix(""), token_files.documents(1, 20))


def _in_folder(make: Callable[[Path], object]) -> Callable[[Path], None]:
    return lambda path: make(path.parent) and None


def _images(format: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        pixels = np.random.default_rng(2).integers(0, 256, (4, 9, 11, 3), np.uint8)
        with writers.ImageFolderWriter(path.parents[1], format=format) as writer:
            writer.write_batch({"image": pixels, "label": np.zeros(4, np.int64)})

    return make


def _image_bytes() -> dict[str, object]:
    return {"txt": _texts(), "cls": np.arange(ROWS)}


_MDS = _in_folder(format_samples.mds_index)
_IDX = _written("IDXWriter", _numbers)
_LINES = _written("TextLineWriter", _texts)
_RAW = ("--format", "raw", "--attr", "dtype=float32", "--attr", "shape=4")
_TAR = _written("TarWriter", _image_bytes)
_TABLE = _written("CSVWriter", _columns)
_EXAMPLES = _written("TFRecordWriter", _columns)
_OFRECORDS = _written("OFRecordWriter", _columns)

VARIANTS = {
    "text lines": Variant("a.txt", _LINES),
    "text lines (gzip)": Variant("a.txt.gz", _packed(_LINES, "gzip")),
    "text lines (zlib)": Variant("a.txt.zlib", _packed(_LINES, "zlib")),
    "text lines (zstd)": Variant("a.txt.zst", _packed(_LINES, "zstd")),
    "JSON lines": Variant("a.jsonl", _written("JSONLinesWriter", _objects)),
    "JSON document": Variant("a.json", lambda path: (
        path.write_text(json.dumps(["a text", {"x": [1.5, 2]}] * ROWS, indent=1)))),
    "CSV": Variant("a.csv", _TABLE),
    "CSV (gzip)": Variant("a.csv.gz", _packed(_TABLE, "gzip")),
    "CSV (zlib)": Variant("a.csv.zlib", _packed(_TABLE, "zlib")),
    "CSV (zstd)": Variant("a.csv.zst", _packed(_TABLE, "zstd")),
    "TFRecord": Variant("a.tfrecord", _EXAMPLES),
    "TFRecord (gzip)": Variant("a.tfrecord.gz", _packed(_EXAMPLES, "gzip")),
    "TFRecord (zlib)": Variant("a.tfrecord.zlib", _packed(_EXAMPLES, "zlib")),
    "TFRecord (zstd)": Variant("a.tfrecord.zst", _packed(_EXAMPLES, "zstd")),
    "OFRecord": Variant("a.ofrecord", _OFRECORDS),
    "OFRecord (gzip)": Variant("a.ofrecord.gz", _packed(_OFRECORDS, "gzip")),
    "OFRecord (zlib)": Variant("a.ofrecord.zlib", _packed(_OFRECORDS, "zlib")),
    "OFRecord (zstd)": Variant("a.ofrecord.zst", _packed(_OFRECORDS, "zstd")),
    "OneRec": Variant("a.onerec", _copied("flatbuffers/features.onerec")),
    "NumPy .npy": Variant("a.npy", _written("NpyWriter", _numbers)),
    "NumPy .npy, version 2": Variant("a.npy", _copied("numpy/float32-version-2.npy")),
    "flat binary": Variant("a.raw", _written("RawWriter", _numbers), _RAW),
    "IDX": Variant("a.idx-ubyte", _IDX),
    "IDX (gzip)": Variant("a.idx-ubyte.gz", _packed(_IDX, "gzip")),
    "CIFAR binary": Variant("train.bin", _in_folder(format_samples.cifar_100)),
    "tar": Variant("a.tar", _TAR),
    "tar (gzip)": Variant("a.tar.gz", _packed(_TAR, "gzip")),
    "tar (zstd)": Variant("a.tar.zst", _packed(_TAR, "zstd")),
    "Mosaic MDS, by MDSWriter": Variant("shard.00000.mds", lambda path: (
        _written("MDSWriter", _columns, overwrite=True)(path.parent)), checked="index.json"),
    "Mosaic MDS, a shard": Variant("shard.00000.mds", _MDS, checked="index.json"),
    "Mosaic MDS, the index": Variant("index.json", _MDS),
    "Mosaic MDS, a shard of zstd": Variant(
        "shard.00000.mds.zstd", _in_folder(format_samples.mds_zstd), checked="index.json"
    ),
    "Mosaic MDS, a shard alone": Variant(
        "shard.00000.mds", _in_folder(format_samples.mds_alone), checked="shard.00000.mds"
    ),
    "Arrow, a file": Variant("types.arrow", _copied("arrow/types.arrow")),
    "Arrow, a stream": Variant("types.arrows", _copied("arrow/types.arrows")),
    "Arrow, a stream of zstd": Variant("types-zstd.arrows", _copied("arrow/types-zstd.arrows")),
    "MindRecord 3.0": Variant("a.mindrecord", _mindrecord("3.0")),
    "MindRecord 2.0": Variant("a.mindrecord", _mindrecord("2.0")),
    "Megatron .bin": Variant("tokens.bin", _tokens),
    "Megatron .idx": Variant("tokens.idx", _tokens, checked="tokens.bin"),
    "COCO": Variant("instances.json", _in_folder(format_samples.coco)),
    "manifest": Variant("all.manifest", _in_folder(format_samples.manifest)),
    "lines of two numbers": Variant("part-0.mini", lambda path: (
        format_samples.mini(path.parent)[0].rename(path))),
    "image folder, PNG": Variant(
        "images/0/000000001.png", _images("png"), ("--images",), checked="images"
    ),
    "image folder, JPEG": Variant(
        "images/0/000000001.jpg", _images("jpeg"), ("--images",), checked="images"
    ),
}

# ---- Damage --------------------------------------------------------------------------------------


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def _flip(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def _zero(data: bytes, draw: random.Random) -> bytes:
    size = min(draw.choice((16, 64, 512)), len(data))
    at = draw.randrange(len(data) - size + 1)
    return data[:at] + bytes(size) + data[at + size :]


def _append(data: bytes, draw: random.Random) -> bytes:
    first = bytes([draw.randrange(1, 256)])  # zeros after gzip and tar are padding
    return data + first + draw.randbytes(draw.choice((0, 6, 63, 511)))


def _swap(data: bytes, draw: random.Random) -> bytes:
    size = min(draw.choice((4, 32, 256)), len(data) // 2)
    one = draw.randrange(len(data) - 2 * size + 1)
    two = draw.randrange(one + size, len(data) - size + 1)
    return b"".join((
        data[:one], data[two : two + size], data[one + size : two], data[one : one + size],
        data[two + size :],
    ))  # fmt: skip


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": _cut, "flipped bit": _flip, "zeroed block": _zero, "appended bytes": _append,
    "swapped parts": _swap,
}  # fmt: skip


def is_whole(path: Path, args: Iterable[str] = ()) -> bool:
    """What `pyflowdata verify` says."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1]:
        return cli.main(["verify", *args, str(path)]) == 0


@dataclass(frozen=True)
class Trial:
    """A damaged file.

    Attributes:
        variant, damage: Keys of VARIANTS and DAMAGES.
        is_seen: Whether `verify` saw the damage without a seal.
        is_seen_by_seal: Whether the seal of the whole file did.
    """

    variant: str
    damage: str
    is_seen: bool
    is_seen_by_seal: bool


def trials(name: str, count: int, seed: int, folder: Path) -> Iterator[Trial]:
    """Damages one variant `count` times with each damage."""
    variant = VARIANTS[name]
    shutil.rmtree(folder, ignore_errors=True)
    file = folder / "data" / variant.name
    file.parent.mkdir(parents=True)
    if "images" in variant.name:
        shutil.rmtree(folder / "data" / "images")
    variant.make(file)
    data = file.read_bytes()
    checked = folder / "data" / (variant.checked or variant.name)
    assert is_whole(checked, variant.args), f"{name}: the whole file is said to be damaged"
    write_seal(file)
    seal = seal_path(file).read_bytes()
    seal_path(file).unlink()
    draw = random.Random(f"{seed} {name}")
    for damage, apply in DAMAGES.items():
        for _ in range(count):
            damaged = apply(data, draw)
            if damaged == data:
                continue
            file.write_bytes(damaged)
            is_seen = not is_whole(checked, variant.args)
            seal_path(file).write_bytes(seal)
            yield Trial(name, damage, is_seen, bool(seal_damage(file)))
            seal_path(file).unlink()


def _main(count: int) -> None:
    each = max(count // (len(VARIANTS) * len(DAMAGES)), 1)
    seen, tried, unsealed = Counter[tuple[str, str]](), Counter[tuple[str, str]](), 0
    with tempfile.TemporaryDirectory() as folder:
        for name in VARIANTS:
            for one in trials(name, each, 1, Path(folder) / "one"):
                tried[name, one.damage] += 1
                seen[name, one.damage] += one.is_seen
                unsealed += not one.is_seen_by_seal
            cells = [f"{seen[name, damage]}/{tried[name, damage]}" for damage in DAMAGES]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"{sum(tried.values())} damaged files; {unsealed} of them agree with their seals")


if __name__ == "__main__":
    _main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
