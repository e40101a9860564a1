"""Files, whole and cut, packed and renamed, and what is recorded of what each is taken for.

The table is fixtures/detection.json: for each sample what `pyflowdata.formats.detect` says of its
variants, and what readers of other formats say that it looks like.  To record it with the version
that should be pinned, from the root of the tree:

    PYTHONPATH=/where/that/version/is .venv/bin/python tests/formats/detection_cases.py

Record it again where a change of what is detected is meant, and read the difference.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from formats import format_samples
from formats.megatron import token_files
from formats.ofrecord import ofrecord_files
from formats.tfrecord import tfrecords
from support import stored

import pyflowdata as flow
from pyflowdata.formats import detect

HERE = Path(__file__).resolve().parents[1]
FIXTURES = HERE / "fixtures"
DATA = HERE.parent / "data"
TABLE = FIXTURES / "detection.json"


class Sample(NamedTuple):
    """A file.

    Attributes:
        key: The key in the table.
        name: The name of the file.
        content: The bytes of the file.
        path: The path, if other files lie beside it; None if the sample is content alone.
    """

    key: str
    name: str
    content: bytes
    path: Path | None = None


# ---- Samples -------------------------------------------------------------------------------------


def _of_tree() -> Iterator[Sample]:
    """Files that other libraries have written, and those of the example."""
    for root in (FIXTURES, DATA):
        for path in sorted(root.rglob("*")):
            beside = path.relative_to(root)
            is_ours = beside.parts[0] == "states" or path == TABLE or "__pycache__" in beside.parts
            is_program = path.suffix == ".py" or path.name.startswith("requirements")
            if path.is_file() and not is_ours and not is_program:
                yield Sample(f"{root.name}/{beside}", path.name, path.read_bytes(), path)


def _of_tests(folder: Path) -> Iterator[Sample]:
    """Files that the tests make for every reader."""
    seen = set()
    for number, (reader, form) in enumerate(format_samples.FORMATS.items()):
        (own := folder / str(number)).mkdir()
        form.make(own)
        for path in sorted(own.rglob("*")):
            content = path.read_bytes()
            if (path.name, content) not in seen:
                seen.add((path.name, content))
                yield Sample(f"{reader}: {path.relative_to(own)}", path.name, content, path)
    legacy = token_files.write_legacy(folder / "legacy", token_files.documents(1, 20))
    for path in (legacy, legacy.with_suffix(".idx")):
        yield Sample(f"Megatron legacy: {path.name}", path.name, path.read_bytes(), path)


def _tar_head(magic: bytes, checksum: int | None = None, name: bytes = b"member.txt") -> bytes:
    head = bytearray(name.ljust(100, b"\0") + b"0000644\0" * 3 + b"00000000005\0" * 2)
    head = head.ljust(512, b"\0")
    head[148:156], head[156:157] = b" " * 8, b"0"
    head[257 : 257 + len(magic)] = magic
    head[148:156] = b"%06o\0 " % (sum(head) if checksum is None else checksum)
    return bytes(head) + b"hello".ljust(512, b"\0") + bytes(1024)


def _mds(count: int, offsets: list[int], after: bytes) -> bytes:
    return struct.pack(f"<{len(offsets) + 1}I", count, *offsets) + after


def _mindrecord(length: int, text: bytes) -> bytes:
    return struct.pack("<Q", length) + text.ljust(1000, b"\0")


UTF_16 = "key,value\n1,2\n3,4\n"
LINES = "".join(f"line {i}, of {i * i}\n" for i in range(5000)).encode()
NUMBERS = "".join(f"{i},{i * i}\n" for i in range(9000)).encode()
MDS_JSON = b'{"column_names": ["a"], "column_encodings": ["int"], "column_sizes": [8]}'
LONG_MDS = _mds(40_000, [*range(200_000, 240_001)], MDS_JSON.ljust(79_992))

# Heads that are near to several formats, or to none: name -> content.
CONFUSABLE = {
    "tar, ustar.tar": _tar_head(b"ustar\0" b"00"),
    "tar, gnu.tar": _tar_head(b"ustar  \0"),
    "tar, without ustar.tar": _tar_head(b""),
    "tar, wrong sum.tar": _tar_head(b"ustar\0" b"00", 77),
    "tar, wrong sum without ustar.tar": _tar_head(b"", 77),
    "tar, no name.tar": _tar_head(b"ustar\0" b"00", name=b""),
    "tar, zeros.tar": bytes(10_240),
    "text with ustar.txt": b"words " * 42 + b"here ustar and more\n" * 20,
    "tfrecord, empty record.tfrecord": tfrecords.framed(b""),
    "tfrecord, head alone.tfrecord": tfrecords.framed(b"abc")[:12],
    "tfrecord, wrong sum.tfrecord": bytes(8) + b"\1\2\3\4" + bytes(20),
    "tfrecord, 31 bytes.tfrecord": tfrecords.framed(b"fifteen bytes.."),
    "tfrecord, length like gzip.tfrecord": tfrecords.framed(b"x" * 0x8B1F),
    "ofrecord, vector.ofrecord": ofrecord_files.frame(ofrecord_files.VECTOR),
    "ofrecord, empty message.ofrecord": ofrecord_files.frame(b""),
    "ofrecord, longer than its head.ofrecord": struct.pack("<q", 90_000)
    + (b"\x0a\x20\x0a\x02ab\x12\x1a" + bytes(60)).ljust(90_000, b"\1"),
    "ofrecord, longer than its file.ofrecord": struct.pack("<q", 900) + ofrecord_files.VECTOR,
    "ofrecord, negative length.ofrecord": struct.pack("<q", -5) + ofrecord_files.VECTOR,
    "ofrecord, length alone.ofrecord": struct.pack("<q", 52),
    "onerec, magic alone.onerec": b"^ONEREC$",
    "onerec, wrong magic.onerec": b"^ONEREC?" + bytes(40),
    "npy, magic alone.npy": b"\x93NUMPY",
    "npy, wrong magic.npy": b"\x93NUMPX\1\0" + bytes(120),
    "idx, right size.idx": b"\0\0\x08\1" + struct.pack(">I", 30) + bytes(range(30)),
    "idx, short by one.idx": b"\0\0\x08\1" + struct.pack(">I", 30) + bytes(range(29)),
    "idx, long by one.idx": b"\0\0\x08\1" + struct.pack(">I", 30) + bytes(range(31)),
    "idx, wrong size, as text.txt": b"\0\0\x08\1" + struct.pack(">I", 30) + bytes(range(29)),
    "idx, float64.idx3-ubyte": b"\0\0\x0e\2" + struct.pack(">II", 3, 2) + bytes(48),
    "idx, unknown dtype.idx": b"\0\0\x0a\1" + struct.pack(">I", 30) + bytes(30),
    "idx, no dimensions.idx": b"\0\0\x08\0" + bytes(30),
    "idx, no rows.idx1-ubyte": b"\0\0\x08\1" + bytes(4),
    "megatron, magic alone.idx": b"MMIDIDX\0\0",
    "megatron, legacy magic alone.idx": b"TNTIDX\0\0",
    "megatron, legacy magic cut.idx": b"TNTIDX\0\1" + bytes(40),
    "megatron, magic as binary.bin": b"MMIDIDX\0\0" + bytes(40),
    "megatron, wrong magic.idx": b"MMIDIDY\0\0" + bytes(40),
    "mds, two samples.mds": _mds(2, [89, 97, 105], MDS_JSON + bytes(16)),
    "mds, no samples.mds": _mds(0, [81], MDS_JSON),
    "mds, offsets fall.mds": _mds(2, [89, 107, 105], MDS_JSON + bytes(16)),
    "mds, without its json.mds": _mds(2, [89, 97, 105], b"[" + MDS_JSON[1:] + bytes(16)),
    "mds, longer than said.mds": _mds(2, [89, 97, 105], MDS_JSON + bytes(17)),
    "mds, first offset early.mds": _mds(2, [16, 97, 105], MDS_JSON + bytes(16)),
    "mds, offsets longer than a head.mds": LONG_MDS,
    "mds, long and cut.mds": LONG_MDS[:-1],
    "mds, index.json": b'{"shards": [{"format": "mds"}], "version": 2}',
    "mds, index of other shards.json": b'{"shards": [{"format": "csv"}], "version": 2}',
    "mds, index of a list.json": b'[{"shards": [{"format": "mds"}]}]',
    "mindrecord, 3.0.mindrecord": _mindrecord(90, b'{"header_size":1024,"shard_addresses":[]}'),
    "mindrecord, addresses alone.mindrecord": _mindrecord(90, b'{"a":0,"shard_addresses":["b"]}'),
    "mindrecord, neither.mindrecord": _mindrecord(90, b'{"a": 0}'),
    "mindrecord, long header.mindrecord": _mindrecord(1 << 27, b'{"header_size":16}'),
    "text.txt": LINES,
    "text, one word": b"word",
    "text, one newline.txt": b"\n",
    "text, blank lines.txt": b"\n\n\n",
    "text, one NUL.txt": b"some\0text\n",
    "text, NUL far inside.txt": LINES[:60_000] + b"\0" + LINES[:9000],
    "text, NUL after its head.txt": LINES[:66_000] + b"\0" + LINES[:9000],
    "text, control bytes.log": b"\x1b[31mred\x1b[0m\n" * 50,
    "text, a bell.log": b"\x07 rings\n" * 50,
    "text, latin-1.txt": b"caf\xe9, na\xefve\n" * 20,
    "text, utf-8.txt": "café, naïve\n".encode() * 20,
    "text, byte order mark.csv": b"\xef\xbb\xbfa,b\n1,2\n",
    "text, CRLF.csv": b"a,b\r\n1,2\r\n3,4\r\n",
    "text, lone CR.csv": b"a,b\r1,2\r3,4\r",
    "text, lone CR.txt": b"one\rtwo\rthree\r",
    "text, xml.xml": b"<?xml version='1.0'?>\n<a b='1,2'>3,4</a>\n",
    "json.json": b'{"a": 1, "b": 2}\n',
    "jsonl.jsonl": b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n',
    "jsonl, byte order mark.ndjson": b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}',
    "jsonl, no newline.jsonl": b'{"a": 1}',
    "jsonl, damaged.jsonl": b'{"a": 1}\n{"a": 2\n',
    "jsonl, one long line.jsonl": b'{"a": "' + b"x" * 70_000 + b'"}\n',
    "jsonl as text.txt": b'{"a": 1}\n{"a": 2}\n',
    "jsonl without a name": b'{"a": 1}\n{"a": 2}\n',
    "jsonl of lists.jsonl": b"[1, 2]\n[3, 4]\n",
    "jsonl as csv.csv": b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n',
    "json list.json": b"[1, 2, 3]\n[4, 5, 6]\n",
    "csv.csv": b"a,b\n1,2\n3,4\n",
    "csv, long.csv": NUMBERS,
    "csv, tabs.tsv": b"a\tb\n1\t2\n",
    "csv, semicolons.csv": b"a;b\n1;2\n",
    "csv, semicolons and commas.csv": b"a;b,c\n1;2\n3;4,5,6\n",
    "csv, bars.csv": b"a|b\n1|2\n",
    "csv, one column.csv": b"a\n1\n2\n",
    "csv, uneven.csv": b"a,b\n1,2,3\n4\n",
    "csv, quotes.csv": b'a,b\n"1,2",3\n',
    "csv, blank lines.csv": b"a,b\n\n1,2\n\n",
    "csv, no newline.csv": b"a,b",
    "csv, open quote.csv": b'key,"name\n' + NUMBERS[:5000],
    "csv as text.txt": b"a,b\n1,2\n3,4\n",
    "csv without a name": b"a,b\n1,2\n3,4\n",
    "csv, one NUL.csv": b"a,b\n1,\0\n3,4\n",
    "csv, upper case.CSV": b"a\n1\n",
    "utf-16, little.csv": b"\xff\xfe" + UTF_16.encode("utf-16-le"),
    "utf-16, big.txt": b"\xfe\xff" + UTF_16.encode("utf-16-be"),
    "utf-16, unmarked.csv": UTF_16.encode("utf-16-le"),
    "utf-16, as tfrecord.tfrecord": b"\xff\xfe" + UTF_16.encode("utf-16-le"),
    "utf-32.csv": b"\xff\xfe\0\0" + UTF_16.encode("utf-32-le"),
    "box.box": bytes.fromhex(  # of a format that is not built in
        "424f5831070000005d5a5a5a0900000041db6606616c70686106000000dd5abdbd62650a000000316e08"
        "0b67616d6d612114000000a2c338b43031323334353637383961626364656605000000316f6c51780f00"
        "00006526c53764656c74612d64656c74610d0000005a1181ab6c617374206f662030"
    ),
    "zeros.raw": bytes(600),
    "counter.dat": np.arange(300, dtype="<i4").tobytes(),
    "doubles.raw": (np.arange(300) / 7).tobytes(),
    "bytes.bin": bytes(range(256)) * 3,
    "like zlib.txt": b"\x78\x01 text that begins like zlib\n" * 9,
    "like zlib.dat": b"\x78\x9c" + bytes(range(100)),
    "like gzip.dat": b"\x1f\x8b" + bytes(range(9, 100)),
    "like gzip, method.dat": b"\x1f\x8b\x08" + bytes(range(100)),
    "like zstd.dat": b"\x28\xb5\x2f\xfd" + bytes(range(100)),
    "gzip of nothing.gz": stored.gzip(b""),
    "gzip of gzip.txt.gz": stored.gzip(stored.gzip(LINES)),
    "gzip, two members.txt.gz": stored.gzip(LINES[:7000]) + stored.gzip(LINES),
    "zstd of nothing.zst": stored.zstd(b""),
    "bzip2.bz2": b"BZh91AY&SY" + bytes(range(100)),
    "xz.xz": b"\xfd7zXZ\0\0\4" + bytes(range(100)),
    "zip.zip": b"PK\3\4\x14\0\0\0\x08\0" + bytes(range(100)),
    "zip, empty.npz": b"PK\5\6" + bytes(18),
    "parquet.parquet": b"PAR1\x15\4\x15\x10" + bytes(range(100)),
    "arrow.arrow": b"ARROW1\0\0" + bytes(range(100)),
    "hdf5.h5": b"\x89HDF\r\n\x1a\n" + bytes(range(100)),
    "sqlite.db": b"SQLite format 3\0\x10\0" + bytes(range(100)),
    "png.png": b"\x89PNG\r\n\x1a\n" + bytes(range(100)),
    "jpeg.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(100)),
    "snappy.sz": b"\xff\6\0\0sNaPpY" + bytes(range(100)),
}


def samples(folder: Path) -> Iterator[Sample]:
    """All of them; the folder takes those that are made."""
    yield from _of_tree()
    yield from _of_tests(folder)
    for key, content in CONFUSABLE.items():
        yield Sample(f"near: {key}", key.split(", ")[-1].replace(" ", "-"), content)


# ---- Variants ------------------------------------------------------------------------------------

CUTS = (0, 1, 8, 64, 511, 512)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": stored.gzip,
    "zlib": stored.zlib_stream,
    "zst": stored.zstd,
}
SAME = "="  # in place of what is not there: a cut after the end


def _is_packed(content: bytes) -> bool:
    """What is left of a cut stream depends on the library that inflates it."""
    return content[:3] == b"\x1f\x8b\x08" or content[:4] == b"\x28\xb5\x2f\xfd"


def variants(sample: Sample) -> dict[str, tuple[str, bytes] | None]:
    """Name and content of files made of a sample; None where there is no such file."""
    name, content = sample.name, sample.content
    found: dict[str, tuple[str, bytes] | None] = {
        "alone": (name, content),
        "dat": ("sample.dat", content),
        "named-gz": (f"{name}.gz", content),
        "named-zst": (f"{name}.zst", content),
    }
    for cut in CUTS:
        is_there = cut < len(content) and not _is_packed(content)
        found[f"cut-{cut}"] = (name, content[:cut]) if is_there else None
        found[f"cut-{cut}-dat"] = ("sample.dat", content[:cut]) if is_there else None
    for suffix, pack in PACKERS.items():
        packed = pack(content)
        found[suffix] = (f"{name}.{suffix}", packed)
        found[f"{suffix}-dat"] = ("sample.dat", packed)
    found["gz-cut-64"] = (f"{name}.gz", stored.gzip(content)[:64])
    return found


def detected(path: Path) -> str:
    """Format and compression that are detected, or why none is."""
    try:
        found = detect(path)
    except flow.CorruptDataError:
        return "!damaged"
    except flow.InvalidArgumentError as error:
        return next((f"!utf-{n}" for n in (16, 32) if f"UTF-{n}" in str(error)), "!unknown")
    parts = [found.format, *([found.compression] if found.compression else ())]
    return "+".join(parts) + ("+empty" if found.is_empty else "")


def _in_folder(folder: Path, name: str, content: bytes, look: Callable[[Path], str]) -> str:
    """What `look` says of a file with this name and content; nothing of the file is left there.

    The file moves in and out again, and is never empty.  Thousands of files that are removed and
    made take ext4 twice as long, and one that was emptied is written to the disk when it is closed.
    """
    path, beside = folder / name, folder.with_name(f"{folder.name}.file")
    with open(beside, "r+b" if beside.exists() else "wb") as file:
        file.write(content)
        file.truncate()
    beside.rename(path)
    try:
        return look(path)
    finally:
        path.rename(beside)


def detections(sample: Sample, folder: Path) -> dict[str, str]:
    """What is detected of each variant, in a folder where nothing else is."""
    found = {"in-place": detected(sample.path) if sample.path else SAME}
    for variant, made in variants(sample).items():
        found[variant] = _in_folder(folder, *made, detected) if made else SAME
    return found


# ---- What a reader of another format says of a file ----------------------------------------------

READERS: dict[str, Callable[[str], flow.Blob | tuple[flow.Blob, ...]]] = {
    "TFRecordReader": lambda file: flow.TFRecordReader(files=file),
    "OFRecordReader": lambda file: flow.OFRecordReader(files=file),
    "OneRecReader": lambda file: flow.OneRecReader(files=file),
    "NpyReader": lambda file: flow.NpyReader(files=file),
    "IDXReader": lambda file: flow.IDXReader(files=file),
    "MDSReader": lambda file: flow.MDSReader(files=file),
    "MindRecordReader": lambda file: flow.MindRecordReader(files=file),
    "CIFARReader": lambda file: flow.CIFARReader(files=file, version=10),
    "MegatronReader": lambda file: flow.MegatronReader(files=file),
}
_ADVICE = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_HINT = re.compile(rf"it looks like ([^;:(]+?)(?: \((\w+) reads it\)| {_ADVICE})?(?:[;:,]|$)")


def hint(reader: str, path: Path) -> str:
    """The format that an error names, or its reader; "-": it names none; "read": no error."""
    try:
        blobs = READERS[reader](str(path))
        with flow.DataLoader(blobs) as loader:
            next(iter(loader), None)
    except flow.Error as error:
        found = _HINT.search(str(error))
        return (found[2] or found[1]).replace(" ", "-") if found else "-"
    return "read"


def hints(sample: Sample, folder: Path) -> dict[str, str]:
    """What each reader says of the file, and one reader of its cuts."""
    found = {}
    (folder / "sample.bin").touch()
    for reader in READERS:
        name = "sample.idx" if reader == "MegatronReader" else "sample"
        found[reader] = _in_folder(folder, name, sample.content, lambda one: hint(reader, one))
    for cut in CUTS[1:]:
        made = variants(sample)[f"cut-{cut}"]
        found[f"IDXReader-cut-{cut}"] = (
            _in_folder(folder, "sample", made[1], lambda one: hint("IDXReader", one))
            if made
            else SAME
        )
    (folder / "sample.bin").unlink()
    return found


# ---- The table -----------------------------------------------------------------------------------


def digest(sample: Sample) -> str:
    """What differs in a sample from the sample that was recorded."""
    content = sample.content
    if content[:3] == b"\x1f\x8b\x08" and sample.key.startswith(tuple(format_samples.FORMATS)):
        content = gzip.decompress(content)  # compressors differ
    return hashlib.sha256(content).hexdigest()[:8]


def record(folder: Path) -> str:
    """The table, two lines for each sample."""
    made, empty = folder / "made", folder / "empty"
    made.mkdir()
    empty.mkdir()
    lines: list[str] = []
    for sample in samples(made):
        seen, said = detections(sample, empty), hints(sample, empty)
        if not lines:
            lines = [f'"variants": "{" ".join(seen)}"', f'"readers": "{" ".join(said)}"']
        row = [digest(sample), " ".join(seen.values()), " ".join(said.values())]
        lines.append(json.dumps(sample.key) + ": " + json.dumps(row).replace('", "', '",\n "'))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")
    with tempfile.TemporaryDirectory() as folder:
        TABLE.write_text(record(Path(folder)))
    print(f"recorded with {Path(flow.__file__).parent}")


if __name__ == "__main__":
    sys.exit(main())
