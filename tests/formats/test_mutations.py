"""What `pyflowdata verify` sees of damage at random, by format: mutations.py has the files."""

from __future__ import annotations

import gzip
import os
from collections import defaultdict

import numpy as np
import pytest
from formats.detection_cases import PACKERS, detected
from formats.mutations import DAMAGES, VARIANTS, is_whole, trials
from support.oracle import SANITIZED
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import cli, io

COUNT = int(os.environ.get("MUTATIONS", "0"))  # damaged copies for each variant and damage
ALWAYS, SOME, NEVER = "all", "some", "none"


def _table() -> dict[str, dict[str, str]]:
    """The table of the page: variant -> damage -> what is seen of it."""
    page = (ROOT / "docs/reference/verify.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {
        name: dict(zip(DAMAGES, cells, strict=True)) for name, *cells in rows if name in VARIANTS
    }


TABLE = _table()


def test_the_table_has_every_variant():
    assert TABLE.keys() == VARIANTS.keys()
    assert {cell for row in TABLE.values() for cell in row.values()} <= {ALWAYS, SOME, NEVER}


@pytest.mark.parametrize("name", [*VARIANTS][:: 4 if SANITIZED else 1])
def test_what_the_table_says_is_seen(name, tmp_path):
    missed, seen = defaultdict(int), defaultdict(int)
    for one in trials(name, COUNT or 1, 7 + COUNT, tmp_path / "one"):
        assert one.is_seen_by_seal, f"{one.damage}: the seal does not see it"
        missed[one.damage] += not one.is_seen
        seen[one.damage] += one.is_seen
    for damage, said in TABLE[name].items():
        assert said != ALWAYS or missed[damage] == 0, f"{damage}: {missed[damage]} not seen"
        assert said != NEVER or seen[damage] == 0, f"{damage}: {seen[damage]} seen"


# ---- A name binds the format ---------------------------------------------------------------------


@pytest.mark.parametrize("name, data", [
    ("a.txt.gz", b""), ("a.csv.zst", b""), ("a.txt.zlib", b""),
    ("a.txt.gz", b"\x1f\x8a\x08" + bytes(range(200))),
    ("a.txt.gz", bytes(200)),
    ("a.txt.zst", b"\x28\xb5\x2f\xff" + bytes(range(200))),
    ("a.txt.zst", b"\x28\xb5"), ("a.csv.zst", b"\x28\xb5\x2f"),
    ("a.txt.zst", b"\x50\x2a\x4d\x18\x03"), ("a.txt.zst", b"\x50\x2a\x4d\x18\x03\0\0\0abc\x28"),
    ("a.npy", b"\x13NUMPY and text\n"), ("a.npy", b"plain text\n" * 20),
    ("a.tfrecord", b"plain text\n" * 20), ("a.tar", b"plain text\n" * 100),
    *((name, b"plain text\n" * 20) for name in (
        "a.jsonl", "a.ndjson", "a.json", "a.idx", "t10k-images-idx3-ubyte", "a.npz", "a.npz.gz",
        "a.txt.gz", "a.csv.zst", "a.zlib", "a.tfrecord.gz")),
    ("a.json", b""), ("a.json", b'{"info": {"year": 1}, "images": [{"id"'), ("a.json", b"[1]\n[2"),
    ("a.json", b"[" + b"1,\n" * 40000 + b"1]x"), ("a.json", b"[" + b"1,\n" * 40000),
    ("a.json.gz", gzip.compress(b"[" + b"1,\n" * 40000 + b"1")), ("a.json", b'{"a": 1}\n{"a": 2'),
])  # fmt: skip
def test_a_damaged_file_is_not_text_lines(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    assert not is_whole(path)


@pytest.mark.parametrize("name, data, format", [
    ("a.json", b"", "json"), ("a.json", b'{"a": 1}\n{"a": 2}\n', "json"),
    ("a.json", b"\xef\xbb\xbf[1, 2]\n", "text"), ("a.json", b'{"a":\n[1]}\n', "json"),
    ("a.json", b"[" + b"\"\xc3\xa9\\u00e9 1.5e3\", true,\n" * 9000 + b"1]", "text"),
    ("a.json", b"[" * 90 + b"]" * 90, "text"), ("a.json.zst", b"plain text", "!damaged"),
    ("a.jsonl", b"[1]\n[2]\n", "text"), ("a.npz", b"PK\3\4" + bytes(90), "!unknown"),
])  # fmt: skip
def test_what_a_name_binds(name, data, format, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    assert detected(path).split("+")[0] == format
    if format == "text":
        assert is_whole(path)


def test_a_reader_of_texts_refuses_a_damaged_binary_file(tmp_path):
    path = tmp_path / "a.npy"
    VARIANTS["NumPy .npy"].make(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"NUMPY", b"NUMQY"))
    with pytest.raises(flow.InvalidArgumentError, match=r"a.npy.*NpyReader reads"):
        flow.DataLoader(flow.TextLineReader(files=str(path)))
    path.write_bytes(b"a text\nwith the name of an array\n")
    with flow.DataLoader(flow.TextLineReader(files=str(path))) as loader:
        assert len(list(loader)) == 2
    path.with_name("a.txt.gz").write_bytes(b"a text\nthat is not compressed\n")
    with pytest.raises(flow.CorruptDataError, match="name says gzip"):
        flow.DataLoader(flow.TextLineReader(files=str(tmp_path / "a.txt.gz")))
    plain = flow.TextLineReader(files=str(tmp_path / "a.txt.gz"), compression="none")
    with flow.DataLoader(plain) as loader:
        assert len(list(loader)) == 2


def test_a_damaged_mds_index_is_not_text_lines(tmp_path):
    VARIANTS["Mosaic MDS, the index"].make(tmp_path / "index.json")
    path = tmp_path / "index.json"
    path.write_bytes(path.read_bytes().replace(b'"shards"', b'"shbrds"'))
    assert not is_whole(path)


def test_a_damaged_coco_document_is_not_text_lines(tmp_path):
    VARIANTS["COCO"].make(tmp_path / "instances.json")
    path = tmp_path / "instances.json"
    for old, new in ((b'"images"', b'"imbges"'), (b'{"im', b';"im'), (b'"height"', b'"heighu"')):
        data = path.read_bytes()
        path.write_bytes(data.replace(old, new, 1))
        assert not is_whole(path), old
        path.write_bytes(data)


def test_a_tar_without_its_end_mark_is_damaged(tmp_path):
    path = tmp_path / "a.tar"
    VARIANTS["tar"].make(path)
    data = path.read_bytes().rstrip(b"\0")
    data += bytes(-len(data) % 512)
    path.write_bytes(data)
    assert not is_whole(path)
    for suffix, pack in PACKERS.items():
        packed = tmp_path / f"a.tar.{suffix}"
        for end, expected in ((0, False), (512, False), (1024, True), (10240, True)):
            packed.write_bytes(pack(data + bytes(end)))
            assert is_whole(packed) == expected, (suffix, end)


# ---- The ends of images --------------------------------------------------------------------------


def _image_files() -> list[bytes]:
    pixels = np.arange(9 * 11 * 3, dtype=np.uint8).reshape(9, 11, 3)
    return [bytes(flow.ImageEncoder(pixels, format=one)) for one in ("jpeg", "png")]


@pytest.mark.parametrize("writer, name", [("TFRecordWriter", "a.tfrecord"), ("TarWriter", "a.tar")])
def test_images_end_where_their_files_do(writer, name, tmp_path, capsys):
    jpeg, png = _image_files()
    damaged = [jpeg + b"x", jpeg[:-2], png + bytes(3), jpeg + bytes(2)]
    rows = [jpeg, *damaged, jpeg, jpeg + b"another picture" + jpeg]
    path = tmp_path / name
    for count in (len(rows), 1):
        with getattr(io, writer)(path, overwrite=True) as opened:
            opened.write_batch({"jpg": rows[:count], "cls": np.arange(count)})
        assert cli.main(["verify", str(path)]) == 0
        capsys.readouterr()
        assert cli.main(["verify", "--images", str(path)]) == (count > 1)
        said = capsys.readouterr().out
        assert said.count("the end of the image") == (3 if count > 1 else 0)
        assert said.count("mark of the image's end is missing") == (count > 1)
        assert f": {3 if count > 1 else 1} records whole" in said
