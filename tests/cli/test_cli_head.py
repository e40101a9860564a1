"""The commands that show what data files hold: head and stats."""

import json
import struct
import tarfile

import numpy as np
import pytest
from formats.mds import mds_files
from support.cli_files import COLUMNS, N, S, V, X, Y, convert, damage, examples, write
from support.command import here

import pyflowdata as flow
from pyflowdata.formats import detect, open_source
from pyflowdata.io import (
    CSVWriter,
    IDXWriter,
    MegatronWriter,
    NpyWriter,
    OFRecordWriter,
    RawWriter,
    TarWriter,
    TextLineWriter,
    encode_examples,
)


def test_head_shows_examples(here, tmp_path):
    status, out, _ = here("head", "-n", 2, examples(tmp_path, {**COLUMNS, "v": V}))
    assert status == 0
    first, header, *rows = out.splitlines()
    assert first.endswith("a.tfrecord: TFRecord, 300 records")
    assert header.split() == ["#", "s:bytes", "v:int64[?]", "x:float32[4]", "y:int64"]
    assert len(rows) == 2 and rows[0].split()[:2] == ["0", "s0"]
    assert rows[1].endswith(str(Y[1]))


def test_head_as_json_of_chosen_fields(here, tmp_path):
    path = examples(tmp_path)
    status, out, _ = here("head", path, "--json", "-n", 400, "--fields", "y,x:float32[4]")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and len(rows) == N
    assert [row["y"] for row in rows] == Y.tolist() and rows[3]["x"] == X[3].tolist()
    status, _, err = here("head", path, "--fields", "z")
    assert status == 1 and "there is no field 'z'; there are s, x, y" in err
    assert here("head", path, "-n", 0)[0] == 2
    status, _, err = here("head", path, "--fields", "x,x")
    assert status == 2 and "--fields names x twice" in err
    status, _, err = here("head", path, "--memory-budget", 1)
    assert status == 1 and "--memory-budget" in err


def test_head_shows_what_is_no_example_as_bytes(here, tmp_path):
    status, out, _ = here("head", examples(tmp_path, [b"abc", b"\xff\0"]))
    assert status == 0 and out.splitlines()[1:] == [
        "#  record:bytes", "0  abc", "1  <2 bytes ff 00>",
    ]  # fmt: skip


def test_head_finds_the_types_of_csv_columns(here, tmp_path):
    (tmp_path / "a.csv").write_text('n,f,t,"q"\n1,2,a,"x,\ny"\n-3,4.5,7x,z\n')
    status, out, _ = here("head", tmp_path / "a.csv", "--json")
    assert status == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"n": 1, "f": 2.0, "t": "a", "q": "x,\ny"},
        {"n": -3, "f": 4.5, "t": "7x", "q": "z"},
    ]


def test_files_of_several_formats_are_refused(here, tmp_path):
    write(NpyWriter, tmp_path / "a.npy", X)
    status, _, err = here("stats", examples(tmp_path), tmp_path / "a.npy")
    assert status == 1 and "are not of one format" in err


def test_what_is_no_field_is_named_and_never_lost(here, tmp_path):
    words = [["a", "b"], ["c"]]
    path = examples(tmp_path, {"y": Y[:2], "w": words, "s": [b"1", None]})
    status, out, err = here("head", "--json", path)
    assert status == 0 and "left out: w, which has 2 byte strings in a record" in err
    assert [json.loads(line) for line in out.splitlines()] == [
        {"s": "1", "y": int(Y[0])}, {"s": "", "y": int(Y[1])},
    ]  # fmt: skip
    status, _, err = here("convert", path, tmp_path / "b.csv")
    assert status == 1 and "would be lost; choose the fields by data.project" in err
    assert here("convert", path, tmp_path / "b.csv", "--fields", "y", "--quiet")[0] == 0


def test_a_late_record_of_another_length(here, tmp_path):
    path = examples(tmp_path, {"v": [np.int64([1])] * 300 + [np.int64([1, 2])]})
    status, _, err = here("stats", path)
    assert status == 1 and "--fields 'x:int64[?]' for any number of values" in err
    assert here("stats", path, "--fields", "v:int64[?]")[0] == 0


def test_a_type_says_how_a_varying_feature_is_read(here, tmp_path):
    rows = [np.int64([1, 2]), np.int64([3, 4, 5])]
    write(OFRecordWriter, tmp_path / "a", {"v": rows, "y": Y[:2]})
    status, _, err = here("head", tmp_path / "a")
    assert status == 0 and "left out: v, which has a varying number of values" in err
    status, out, err = here("head", "--json", tmp_path / "a", "--fields", "v:int64[2]", "-n", 1)
    assert status == 0 and "left out" not in err and json.loads(out) == {"v": [1, 2]}
    status, _, err = here("head", tmp_path / "a", "--fields", "v:int64[2]")
    assert status == 1 and "'v'" in err and "3" in err  # the second record has three


def test_a_folder_in_a_tar_file_is_no_field(here, tmp_path):
    folder = tmp_path / "data.v1"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "__c.txt"):
        (folder / name).write_text(name)
    (folder / "__meta__.txt").write_text("only the first part of a path makes it no sample's")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(folder, "data.v1")
        archive.add(folder / "a.txt", "__c.txt")
        archive.add(folder / "a.txt", "__d__/a.jpg")
    status, out, _ = here("head", "--json", tmp_path / "a.tar")
    rows = {row.pop("__key__"): row for row in map(json.loads, out.splitlines())}
    assert status == 0 and rows["data.v1/a"] == {"txt": "a.txt"} and rows["__c"] == {"txt": "a.txt"}
    assert set(rows) == {f"data.v1/{one}" for one in ("a", "b", "__c", "__meta__")} | {"__c"}


@pytest.mark.parametrize("packed", [None, "gzip", "zstd"])
def test_classes_and_arrays_of_a_tar_file(packed, here, tmp_path):
    path = tmp_path / "a.tar"
    v = [np.arange(i % 3, dtype=">i2").reshape(1, -1) for i in range(N)]
    members = {"cls": Y, "a.npy": list(X), "v.npy": v, "b.cls": [b"1"] * (N - 1) + [b"x"]}
    try:
        write(TarWriter, path, members, compression=packed)
    except flow.UnsupportedError as failure:
        pytest.skip(str(failure))
    source = open_source([path])
    assert [one.type for one in source.fields] == [
        "bytes", "int64", "float32[4]", "int16[1,?]", "int64",
    ]  # fmt: skip
    fields = ["--fields", "cls,a.npy,v.npy,b.cls:bytes"]
    status, out, _ = here("stats", "--json", path, *fields)
    found = json.loads(out)["fields"]
    assert status == 0 and found["cls"]["mean"] == pytest.approx(Y.mean())
    assert found["a.npy"]["max"] == X.max() and found["v.npy"]["length"]["max"] == 2
    status, _, err = here("stats", path)
    assert status == 1 and "one decimal integer" in err
    convert(here, path, tmp_path / "b.npy", "--fields", "a.npy")
    assert np.array_equal(np.load(tmp_path / "b.npy"), X)
    status, _, err = here("head", path, "--fields", "cls:float32")
    assert status == 1 and "class numbers, which are int64; this asks for float32" in err


def test_an_mds_shard_of_many_samples(here, tmp_path):
    samples = [[struct.pack("<q", i)] for i in range(20_500)]
    data = mds_files.shard_bytes({"y": ("int", 8)}, samples)
    (tmp_path / "shard.00000.mds").write_bytes(data)
    status, out, err = here("head", "-n", 1, "--json", tmp_path / "shard.00000.mds")
    assert (status, out, err) == (0, '{"y": 0}\n', "")
    convert(here, tmp_path / "shard.00000.mds", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.arange(20_500))


def test_samples_of_a_tar_file_may_lack_a_file(here, tmp_path):
    with TarWriter(tmp_path / "a.tar") as writer:
        writer.write({"txt": "a", "bin": b"x"})
        writer.write({"txt": "b"})
    status, out, _ = here("head", "--json", tmp_path / "a.tar")
    assert status == 0 and [json.loads(line)["bin"] for line in out.splitlines()] == ["x", ""]
    status, out, _ = here("verify", tmp_path / "a.tar")
    assert status == 0 and "2 records whole, no damage" in out


@pytest.mark.parametrize(
    "content, name", [(struct.pack("<Q", 1 << 26) + b'{"header_size": ', "a"), (b"\x93NUMPY", "b")]
)
def test_a_head_that_is_damaged(content, name, here, tmp_path):
    (tmp_path / name).write_bytes(content)
    for command in ("head", "stats", "verify"):
        status, out, err = here(command, tmp_path / name)
        assert status in (1, 2) and str(tmp_path / name) in out + err


# ---- stats ---------------------------------------------------------------------------------------


def test_stats_are_those_of_numpy(here, tmp_path):
    x = X.copy()
    x[3, 1] = np.nan
    path = examples(tmp_path, {"x": x, "y": Y, "s": S, "v": V})
    status, out, _ = here("stats", "--json", path)
    found = json.loads(out)
    assert status == 0 and (found["format"], found["records"]) == ("tfrecord", N)
    assert found["bytes"] == path.stat().st_size
    about = found["fields"]["x"]
    assert (about["min"], about["max"]) == (np.nanmin(x), np.nanmax(x))
    assert about["mean"] == pytest.approx(np.nanmean(x, dtype=np.float64)) and about["nan"] == 1
    assert about["std"] == pytest.approx(np.nanstd(x, dtype=np.float64))
    assert found["fields"]["y"]["mean"] == pytest.approx(Y.mean())
    assert found["fields"]["y"]["std"] == pytest.approx(Y.std())
    lengths = found["fields"]["v"]["length"]
    assert (lengths["min"], lengths["max"]) == (V.lengths.min(), V.lengths.max())
    assert found["fields"]["s"]["type"] == "bytes"
    sizes = [len(one) for one in encode_examples({"x": x, "y": Y, "s": S, "v": V})]
    assert sum(count for _, _, count in found["record_bytes"]) == N
    assert found["record_bytes"][0][0] == min(sizes) and found["record_bytes"][-1][1] == max(sizes)
    status, out, _ = here("stats", path)
    assert "300 records" in out and "####" in out


EMPTY = {
    "tfrecord": lambda folder: examples(folder, [], name="a.tfrecord"),
    "tfrecord.gz": lambda folder: examples(folder, [], name="a.tfrecord.gz", compression="gzip"),
    "ofrecord": lambda folder: write(OFRecordWriter, folder / "a.ofrecord", []),
    "npy": lambda folder: write(NpyWriter, folder / "a.npy", X[:0]),
    "idx": lambda folder: write(IDXWriter, folder / "a", X[:0]),
    "text": lambda folder: write(TextLineWriter, folder / "a.txt", []),
    "csv": lambda folder: write(CSVWriter, folder / "a.csv", {"y": Y[:0], "z": Y[:0]}),
    "tar": lambda folder: write(TarWriter, folder / "a.tar", {"txt": []}),
    "megatron": lambda folder: write(MegatronWriter, folder / "a", []) and folder / "a.bin",
}


def test_stats_of_an_image_folder_count_its_images(here, tmp_path):
    for number in range(12):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(bytes(100 + number))
    (folder / "notes.txt").write_bytes(bytes(5000))
    size = sum(100 + number for number in range(12))
    status, out, _ = here("stats", tmp_path / "photos")
    assert status == 0 and out.startswith("image folder: 12 files, 1.27 KB, 12 records\n")
    for fields in ([], ["--fields", "label"]):
        status, out, _ = here("stats", "--json", tmp_path / "photos", *fields)
        found = json.loads(out)
        assert (found["files"], found["bytes"], found["records"]) == (12, size, 12)
        assert ("image" in found["fields"]) == (not fields)


def test_a_compressed_file_that_is_damaged_at_its_beginning_is_not_empty(here, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\3")
    status, _, err = here("head", tmp_path / "a.txt")
    assert status == 1 and "ends here, in its middle" in err


def test_an_empty_file_beside_others(here, tmp_path):
    empty, path = examples(tmp_path, [], name="0.tfrecord"), examples(tmp_path)
    status, out, _ = here("stats", "--json", empty, path)
    assert status == 0 and json.loads(out)["records"] == N
    assert set(json.loads(out)["fields"]) == set(COLUMNS)
    write(NpyWriter, tmp_path / "0.npy", X[:0])
    write(NpyWriter, tmp_path / "1.npy", X)
    status, out, _ = here("stats", "--json", tmp_path / "0.npy", tmp_path / "1.npy")
    assert status == 0 and json.loads(out)["records"] == N


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_files_have_0_records(kind, here, tmp_path):
    path = EMPTY[kind](tmp_path)
    status, out, err = here("head", path)
    assert (status, err) == (0, "") and out.endswith(", 0 records\n")
    assert here("head", path, "--json") == (0, "", "")
    status, out, _ = here("stats", path)
    assert status == 0 and out.endswith(", 0 records\n")
    assert json.loads(here("stats", path, "--json")[1])["records"] == 0
    said = f"{path}: {out.split(':')[0]}: 0 records whole, no damage\n"
    assert here("verify", path)[:2] == (0, said)


@pytest.mark.parametrize("shards", ["[5]", "[" * 9999 + "]" * 9999, "[{}]"])
def test_an_index_json_of_another_kind(shards, here, tmp_path):
    text = '{"version": 2, "format": "mds", "shards": ' + shards + "}"
    (tmp_path / "index.json").write_text(text)
    status, _, err = here("head", tmp_path)
    assert status in (1, 2) and "index.json" in err


def test_a_format_that_it_is_not(here, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n" * 9)
    status, _, err = here("head", "--format", "mindrecord", tmp_path / "a.csv")
    assert status == 1 and "the length of the header is" in err


def test_random_bytes_are_of_no_format(tmp_path):
    path = tmp_path / "a"
    for number in range(200):
        data = np.random.default_rng(number).integers(0, 256, 5000, np.uint8)
        data[1:4] = 0  # as a small number
        path.write_bytes(data.tobytes())
        with pytest.raises(flow.InvalidArgumentError, match="none of the supported formats"):
            detect(path)
    path.write_bytes(struct.pack("<Q", 0x03080000) + bytes(100))
    with pytest.raises(flow.InvalidArgumentError, match="none of the supported formats"):
        detect(path)


def test_index_of_a_file_that_needs_attrs(here, tmp_path):
    write(RawWriter, tmp_path / "a.bin", X)
    attrs = ("--attr", "dtype=float32", "--attr", "shape=4")
    status, out, _ = here("index", tmp_path / "a.bin", "--format", "raw", *attrs)
    assert status == 0 and "300 records" in out
