"""What files are taken for stays as in fixtures/detection.json; see detection_cases.py."""

from __future__ import annotations

import fnmatch
import json

import pytest

from formats.detection_cases import TABLE, detections, digest, hints, samples
from support.oracle import SANITIZED


@pytest.fixture(scope="module")
def table():
    return json.loads(TABLE.read_text())


@pytest.fixture(scope="module")
def recorded(table, tmp_path_factory):
    """The samples of which something is recorded; a new fixture is not among them."""
    folder = tmp_path_factory.mktemp("made")
    found = [sample for sample in samples(folder) if sample.key in table]
    assert {sample.key for sample in found} == table.keys() - {"variants", "readers"}
    return found


def differences(expected: list[str], sample: str, found: dict[str, str]) -> list[str]:
    assert len(expected) == len(found)
    return [
        f"{sample}, {what}: {now}, recorded is {then}"
        for then, (what, now) in zip(expected, found.items(), strict=True)
        if then != now
    ]


def test_samples_are_those_that_were_recorded(table, recorded):
    assert [one.key for one in recorded if digest(one) != table[one.key][0]] == []


# What is detected otherwise since then: sample, variant, what was recorded, what it says.
BETTER = (
    # The magic number is enough for an archive whose first header is cut or damaged.
    ("*.tar", "cut-511-dat", "!unknown", "tar"),
    ("near: tar, wrong sum.tar", "*", "!unknown*", "tar*"),
    ("near: tar, no name.tar", "*", "!unknown*", "tar*"),
    # Labels and size.
    ("CIFARReader: train.bin", "*", "!unknown", "cifar"),
    # A checksum of 32 bits that fits counts more than a suffix.
    ("near: tfrecord, length like gzip.tfrecord", "named-gz", "!damaged", "tfrecord"),
    # Offsets that go on after the end of a file are not those of a shard.
    ("near: like zlib.dat", "*", "mds+*", "!unknown"),
    ("near: like gzip, method.dat", "*", "mds+*", "!unknown"),
    # Text by its suffix, with NUL in every other byte.
    ("near: utf-16, unmarked.csv", "*", "csv*", "!utf-16"),
    # The byte order mark of UTF-32 begins with that of UTF-16.
    ("near: utf-32.csv", "*", "!utf-16", "!utf-32"),
    # The magic of a container counts more than what may be text.
    ("*.bz2", "cut-8*", "text", "!unknown"),
    ("near: hdf5.h5", "cut-8*", "text", "!unknown"),
    ("near: png.png", "cut-8*", "text", "!unknown"),
    # A suffix counts more than content that may be any text.
    ("*.npy", "cut-1*", "text", "npy"),
    ("*.tar", "cut-*", "text", "tar"),
    ("*.tfrecord", "cut-*", "text", "tfrecord"),
    ("*.ofrecord", "cut-*", "*", "ofrecord"),
    ("*.onerec", "cut-*", "text", "onerec"),
    ("*.mds", "cut-*", "text", "mds"),
    ("*.mindrecord", "cut-*", "text", "mindrecord"),
    ("*.tfrecord.zlib", "gz-cut-*", "text+gzip", "tfrecord+gzip"),
    ("*.zlib", "cut-*", "*", "!damaged"),
    ("*.idx", "cut-*", "text*", "idx*"),
    ("*.idx", "*", "!unknown", "idx*"),
    ("*-ubyte", "cut-*", "*", "idx*"),
    # Names of JSON, of which the content is none.
    ("*.json", "*", "text*", "json*"),
    ("near: jsonl*", "cut-*", "text", "json"),
    # The first bytes of a zip archive are missing.
    ("*.npz", "cut-*", "text*", "!damaged"),
    # A reader of it is newer than the table.
    ("near: arrow.arrow", "*", "*", "arrow*"),
    ("near: parquet.parquet", "*", "*", "parquet*"),
    # Lines of JSON were text before there was a reader of their fields.
    ("near: jsonl.jsonl", "*", "text*", "json*"),
    ("near: json*", "*dat", "text*", "json*"),
    ("near: mds, index of other shards.json", "*dat", "text*", "json*"),
    # The suffix of a compression, and content that is neither compressed nor of a known format.
    ("*", "named-*", "*", "!damaged"),
)


def test_formats_are_detected_as_recorded_or_better(table, recorded, tmp_path):
    found, used = [], set()
    for sample in recorded[:: 3 if SANITIZED else 1]:
        seen = detections(sample, tmp_path)
        assert [*seen] == table["variants"].split()
        for then, (variant, now) in zip(table[sample.key][1].split(), seen.items(), strict=True):
            row = (sample.key, variant, then, now)
            rules = [one for one in BETTER if all(map(fnmatch.fnmatchcase, row, one))]
            used.update(rules)
            if then != now and not rules:
                found.append(f"{sample.key}, {variant}: {now}, recorded is {then}")
    assert not found, "\n".join(found)
    assert used == set(BETTER) or SANITIZED


JSON_LINES = ("near: json.json", "near: jsonl.jsonl", "near: jsonl as csv.csv",
              "near: mds, index of other shards.json",
              "near: mds, index of a list.json")  # fmt: skip
# Readers that are newer than the table, and what it says in their place.
NEWER = {"near: arrow.arrow": ("ArrowReader", "Arrow-IPC"),
         "near: parquet.parquet": ("ParquetReader", "Parquet")}  # fmt: skip


def test_readers_name_other_formats_as_recorded(table, recorded, tmp_path):
    found: list[str] = []
    for sample in recorded[:: 3 if SANITIZED else 1]:
        said = hints(sample, tmp_path)
        assert [*said] == table["readers"].split()
        then = table[sample.key][2].split()
        if sample.key in JSON_LINES:  # their reader is newer than the table
            assert "JSONLinesReader" in said.values()
            said = {k: v.replace("JSONLinesReader", "TextLineReader") for k, v in said.items()}
        if newer := NEWER.get(sample.key):
            assert newer[0] in said.values()
            said |= {k: newer[1] for k, v in said.items() if v == newer[0]}
            then = ["-" if k == "CIFARReader" else one for k, one in zip(said, then, strict=True)]
        found += differences(then, sample.key, said)
    assert not found, "\n".join(found)
