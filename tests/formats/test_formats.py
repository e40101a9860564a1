"""What a file is, by its content and its name."""

import os
import struct

import pytest
from support.cli_files import RNG, S, X, Y, damage, write
from support.command import here
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.formats import detect, open_source
from pyflowdata.io import (
    CSVWriter,
    IDXWriter,
    JSONLinesWriter,
    MegatronWriter,
    NpyWriter,
    OFRecordWriter,
    TFRecordWriter,
    TarWriter,
    TextLineWriter,
)

FILES = {
    "tfrecord": (TFRecordWriter, {"x": X, "y": Y}, {}),
    "ofrecord": (OFRecordWriter, {"x": X, "y": Y}, {}),
    "csv": (CSVWriter, {"y": Y, "s": S}, {}),
    "json": (JSONLinesWriter, {"y": Y}, {}),
    "text": (TextLineWriter, S, {}),
    "npy": (NpyWriter, X, {}),
    "idx": (IDXWriter, X, {}),
    "tar": (TarWriter, {"txt": S}, {}),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [None, "gzip", "zlib"])
def test_formats_are_known_by_content(name, packed, tmp_path):
    writer, batch, options = FILES[name]
    if packed and not writer.compressions:
        pytest.skip("the format has no compression")
    write(writer, tmp_path / "data", batch, compression=packed, **options)
    found = detect(tmp_path / "data")
    assert (found.format, found.compression) == (name, packed)


@pytest.mark.parametrize("packed", ["gzip", "zlib", "zstd"])
def test_the_head_of_a_file_that_is_damaged_behind(packed, tmp_path):
    """What comes before the damage says what the file is; whoever reads it all is told of it."""
    path = tmp_path / "a"
    lines = [b"line %d" % one for one in RNG.integers(0, 1 << 40, 50_000)]
    try:
        write(TextLineWriter, path, lines, compression=packed)
    except flow.InvalidArgumentError as failure:
        pytest.skip(str(failure))
    text = b"".join(line + b"\n" for line in lines)
    found = detect(path)
    assert (found.format, found.compression, found.size) == ("text", packed, path.stat().st_size)
    assert len(found.head) == 1 << 16 and text.startswith(found.head)
    damage(path, cut=path.stat().st_size // 2)
    found = detect(path)
    assert found.head and text.startswith(found.head) and found.format == "text"


def test_a_file_that_is_none(tmp_path):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(flow.FileError, match="FIFO"):  # and does not wait for its writer
        detect(tmp_path / "a")


def test_a_long_length_is_no_mindrecord(tmp_path):
    (tmp_path / "a").write_bytes(b"\xff" * 8 + b'{"header_size"\0')
    with pytest.raises(flow.InvalidArgumentError, match="none of the supported formats"):
        detect(tmp_path / "a")


def test_megatron_is_known_by_either_file(tmp_path):
    write(MegatronWriter, tmp_path / "a", [[1, 2]])
    assert detect(tmp_path / "a.bin").format == detect(tmp_path / "a.idx").format == "megatron"


@pytest.mark.parametrize(
    "content, name, format",
    [
        (b"^ONEREC$" + bytes(24), "a", "onerec"),
        (struct.pack("<Q", 90) + b'{"header_size":16777216,"shard_addresses":[]}', "a",
         "mindrecord"),
        (b'{"shards": [{"format": "mds"}], "version": 2}', "index.json", "mds"),
        (struct.pack("<III", 1, 20, 30) + b'{"a": 1}' + bytes(10), "shard.00000.mds", "mds"),
        (b"", "a.tfrecord", "tfrecord"),
        (b"", "a", "text"),
        (b'{"a": 1, "b": 2}\n{"a": 1, "b": 2}\n', "a", "json"),
        (b'{"a": 1, "b": 2}\n{"a": 1,\n', "a.jsonl", "json"),
        (b'{"a": 1, "b": 2}\n', "a.json", "json"),
        (b"a, b\nc, d\n", "a.txt", "text"),
        (b"a\tb\n1\t2\n", "a", "csv"),
        (b"1\n2\n", "a.csv", "csv"),
        (b"\x78\x01 text that begins like zlib\n", "a.bin2", None),
        (b"\0\1\2\3" * 20, "a", None),
    ],
)  # fmt: skip
def test_formats_of_other_files(content, name, format, tmp_path):
    (tmp_path / name).write_bytes(content)
    if format is None:
        with pytest.raises(flow.InvalidArgumentError, match="has none of the supported formats"):
            detect(tmp_path / name)
    else:
        assert detect(tmp_path / name).format == format


def test_a_file_that_is_not_there(here, tmp_path):
    with pytest.raises(flow.FileError, match="No such file"):
        detect(tmp_path / "no")
    assert here("head", tmp_path / "no")[0] == 1


def test_a_column_without_a_type_leaves_the_choice_to_the_user():
    folder = ROOT / "tests/fixtures/streaming/arrays"
    source = open_source([folder])
    assert source.fields == () and "'dynamic' is ndarray" in source.left_out[0]
    with pytest.raises(flow.UnsupportedError, match="list the columns"):
        source.loader()
    with source.choose(["fixed:int16[2,3]"]).loader(batch_size=4) as loader:
        assert next(iter(loader))["fixed"].shape[1:] == (2, 3)
