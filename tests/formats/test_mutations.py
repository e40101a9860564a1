"""What `pyflowdata verify` sees of damage at random, by format: mutations.py has the files."""

from __future__ import annotations

import os
from collections import defaultdict

import pytest
from formats.mutations import DAMAGES, VARIANTS, is_whole, trials
from support.oracle import SANITIZED
from support.paths import ROOT

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
])  # fmt: skip
def test_a_damaged_file_is_not_text_lines(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    assert not is_whole(path)


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
    path.write_bytes(data + bytes(-len(data) % 512))
    assert not is_whole(path)
