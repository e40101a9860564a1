"""The commands that look into data files, check them, and convert them."""

import io
import json
import os
import signal
import struct
import subprocess
import sys
import tarfile
import time

import mds_files
import numpy as np
import pytest
from conftest import ROOT

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.cli import conversion
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
    TFRecordWriter,
    encode_examples,
)

N = 300
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 4)).astype(np.float32)
Y = RNG.integers(-5, 1000, N)
S = [f"s{i}".encode() for i in range(N)]
V = flow.Ragged(np.arange(2 * N), np.sort(np.r_[0, RNG.integers(0, 2 * N, N - 1), 2 * N]))
COLUMNS = {"x": X, "y": Y, "s": S}


@pytest.fixture
def run(capsys):
    """Runs a command in this process: (exit status, what it printed, what it said of errors)."""

    def call(*arguments):
        try:
            status = cli.main([str(one) for one in arguments])
        except SystemExit as leave:
            status = leave.code
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def write(writer, path, batch, **options):
    with writer(path, **options) as one:
        one.write_batch(batch)
    return path


def examples(folder, columns=COLUMNS, name="a.tfrecord", **options):
    return write(TFRecordWriter, folder / name, columns, **options)


def read(path, *fields):
    """The columns of a file: arrays, and lists of bytes or arrays."""
    source = open_source([path])
    names = fields or [field.name for field in source.fields]
    batches = []
    with source.loader(names, batch_size=1000) as loader:
        batches = list(loader)
    found = {}
    for name in names:
        columns = [batch[name] for batch in batches]
        if isinstance(columns[0], flow.Ragged):
            is_bytes = columns[0].dtype == np.uint8
            rows = [one.to_bytes_list() if is_bytes else one.to_list() for one in columns]
            found[name] = [row for one in rows for row in one]
        else:
            found[name] = np.concatenate(columns)
    return found


# ---- What a file is -----------------------------------------------------------------------------

FILES = {
    "tfrecord": (TFRecordWriter, {"x": X, "y": Y}, {}),
    "ofrecord": (OFRecordWriter, {"x": X, "y": Y}, {}),
    "csv": (CSVWriter, {"y": Y, "s": S}, {}),
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


def test_a_long_length_is_no_mindrecord(tmp_path):
    (tmp_path / "a").write_bytes(b"\xff" * 8 + b'{"header_size"\0')
    with pytest.raises(flow.InvalidArgumentError, match="no format that is known"):
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
        (b'{"a": 1, "b": 2}\n{"a": 1, "b": 2}\n', "a", "text"),
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
        with pytest.raises(flow.InvalidArgumentError, match="of no format that is known here"):
            detect(tmp_path / name)
    else:
        assert detect(tmp_path / name).format == format


def test_a_file_that_is_not_there(run, tmp_path):
    with pytest.raises(flow.FileError, match="No such file"):
        detect(tmp_path / "no")
    assert run("head", tmp_path / "no")[0] == 2


# ---- head ---------------------------------------------------------------------------------------


def test_head_shows_examples(run, tmp_path):
    status, out, _ = run("head", "-n", 2, examples(tmp_path, {**COLUMNS, "v": V}))
    assert status == 0
    first, header, *rows = out.splitlines()
    assert first.endswith("a.tfrecord: TFRecord, 300 records")
    assert header.split() == ["#", "s:bytes", "v:int64[?]", "x:float32[4]", "y:int64"]
    assert len(rows) == 2 and rows[0].split()[:2] == ["0", "s0"]
    assert rows[1].endswith(str(Y[1]))


def test_head_as_json_of_chosen_fields(run, tmp_path):
    path = examples(tmp_path)
    status, out, _ = run("head", path, "--json", "-n", 400, "--fields", "y,x:float32[4]")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and len(rows) == N
    assert [row["y"] for row in rows] == Y.tolist() and rows[3]["x"] == X[3].tolist()
    status, _, err = run("head", path, "--fields", "z")
    assert status == 2 and "there is no field 'z'; there are s, x, y" in err
    assert run("head", path, "-n", 0)[0] == 2


def test_head_shows_what_is_no_example_as_bytes(run, tmp_path):
    status, out, _ = run("head", examples(tmp_path, [b"abc", b"\xff\0"]))
    assert status == 0 and out.splitlines()[1:] == [
        "#  record:bytes", "0  abc", "1  <2 bytes ff 00>",
    ]  # fmt: skip


def test_head_finds_the_types_of_csv_columns(run, tmp_path):
    (tmp_path / "a.csv").write_text('n,f,t,"q"\n1,2,a,"x,\ny"\n-3,4.5,7x,z\n')
    status, out, _ = run("head", tmp_path / "a.csv", "--json")
    assert status == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"n": 1, "f": 2.0, "t": "a", "q": "x,\ny"},
        {"n": -3, "f": 4.5, "t": "7x", "q": "z"},
    ]


def test_files_of_several_formats_are_refused(run, tmp_path):
    write(NpyWriter, tmp_path / "a.npy", X)
    status, _, err = run("stats", examples(tmp_path), tmp_path / "a.npy")
    assert status == 2 and "are not of one format" in err


def test_what_is_no_field_is_named_and_never_lost(run, tmp_path):
    words = [["a", "b"], ["c"]]
    path = examples(tmp_path, {"y": Y[:2], "w": words, "s": [b"1", None]})
    status, out, err = run("head", "--json", path)
    assert status == 0 and "left out: w, which has 2 byte strings in a record" in err
    assert [json.loads(line) for line in out.splitlines()] == [
        {"s": "1", "y": int(Y[0])}, {"s": "", "y": int(Y[1])},
    ]  # fmt: skip
    status, _, err = run("convert", path, tmp_path / "b.csv")
    assert status == 2 and "would be lost; say with --fields" in err
    assert run("convert", path, tmp_path / "b.csv", "--fields", "y", "--quiet")[0] == 0


def test_a_type_says_how_a_varying_feature_is_read(run, tmp_path):
    rows = [np.int64([1, 2]), np.int64([3, 4, 5])]
    write(OFRecordWriter, tmp_path / "a", {"v": rows, "y": Y[:2]})
    status, _, err = run("head", tmp_path / "a")
    assert status == 0 and "left out: v, which has a varying number of values" in err
    status, out, err = run("head", "--json", tmp_path / "a", "--fields", "v:int64[2]", "-n", 1)
    assert status == 0 and "left out" not in err and json.loads(out) == {"v": [1, 2]}
    status, _, err = run("head", tmp_path / "a", "--fields", "v:int64[2]")
    assert status == 1 and "'v'" in err and "3" in err  # the second record has three


def test_a_folder_in_a_tar_file_is_no_field(run, tmp_path):
    folder = tmp_path / "data.v1"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "__c.txt"):
        (folder / name).write_text(name)
    (folder / "__meta__.txt").write_text("a file of a sample: only the first part of a path is meta")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(folder, "data.v1")
        archive.add(folder / "a.txt", "__c.txt")
        archive.add(folder / "a.txt", "__d__/a.jpg")
    status, out, _ = run("head", "--json", tmp_path / "a.tar")
    rows = {row.pop("__key__"): row for row in map(json.loads, out.splitlines())}
    assert status == 0 and rows["data.v1/a"] == {"txt": "a.txt"} and rows["__c"] == {"txt": "a.txt"}
    assert set(rows) == {f"data.v1/{one}" for one in ("a", "b", "__c", "__meta__")} | {"__c"}


@pytest.mark.parametrize("packed", [None, "gzip", "zstd"])
def test_classes_and_arrays_of_a_tar_file(packed, run, tmp_path):
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
    status, out, _ = run("stats", "--json", path, *fields)
    found = json.loads(out)["fields"]
    assert status == 0 and found["cls"]["mean"] == pytest.approx(Y.mean())
    assert found["a.npy"]["max"] == X.max() and found["v.npy"]["length"]["max"] == 2
    status, _, err = run("stats", path)
    assert status == 1 and "one decimal integer" in err
    convert(run, path, tmp_path / "b.npy", "--fields", "a.npy")
    assert np.array_equal(np.load(tmp_path / "b.npy"), X)
    status, _, err = run("head", path, "--fields", "cls:float32")
    assert status == 1 and "class numbers, which are int64; this asks for float32" in err


def test_an_mds_shard_of_many_samples(run, tmp_path):
    data = mds_files.shard_bytes({"y": ("int", 8)}, [[struct.pack("<q", i)] for i in range(20_500)])
    (tmp_path / "shard.00000.mds").write_bytes(data)
    status, out, err = run("head", "-n", 1, "--json", tmp_path / "shard.00000.mds")
    assert (status, out, err) == (0, '{"y": 0}\n', "")
    convert(run, tmp_path / "shard.00000.mds", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.arange(20_500))


def test_samples_of_a_tar_file_may_lack_a_file(run, tmp_path):
    with TarWriter(tmp_path / "a.tar") as writer:
        writer.write({"txt": "a", "bin": b"x"})
        writer.write({"txt": "b"})
    status, out, _ = run("head", "--json", tmp_path / "a.tar")
    assert status == 0 and [json.loads(line)["bin"] for line in out.splitlines()] == ["x", ""]
    status, out, _ = run("verify", tmp_path / "a.tar")
    assert status == 0 and "2 records whole, no damage" in out


@pytest.mark.parametrize(
    "content, name", [(struct.pack("<Q", 1 << 26) + b'{"header_size": ', "a"), (b"\x93NUMPY", "b")]
)
def test_a_head_that_is_damaged(content, name, run, tmp_path):
    (tmp_path / name).write_bytes(content)
    for command in ("head", "stats", "verify"):
        status, out, err = run(command, tmp_path / name)
        assert status in (1, 2) and str(tmp_path / name) in out + err


# ---- stats --------------------------------------------------------------------------------------


def test_stats_are_those_of_numpy(run, tmp_path):
    x = X.copy()
    x[3, 1] = np.nan
    path = examples(tmp_path, {"x": x, "y": Y, "s": S, "v": V})
    status, out, _ = run("stats", "--json", path)
    found = json.loads(out)
    assert status == 0 and (found["format"], found["records"]) == ("tfrecord", N)
    assert found["bytes"] == path.stat().st_size
    about = found["fields"]["x"]
    assert (about["min"], about["max"]) == (np.nanmin(x), np.nanmax(x))
    assert about["mean"] == pytest.approx(np.nanmean(x, dtype=np.float64)) and about["nan"] == 1
    assert found["fields"]["y"]["mean"] == pytest.approx(Y.mean())
    lengths = found["fields"]["v"]["length"]
    assert (lengths["min"], lengths["max"]) == (V.lengths.min(), V.lengths.max())
    assert found["fields"]["s"]["type"] == "bytes"
    sizes = [len(one) for one in encode_examples({"x": x, "y": Y, "s": S, "v": V})]
    assert sum(count for _, _, count in found["record_bytes"]) == N
    assert found["record_bytes"][0][0] == min(sizes) and found["record_bytes"][-1][1] == max(sizes)
    status, out, _ = run("stats", path)
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


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_files_have_0_records(kind, run, tmp_path):
    path = EMPTY[kind](tmp_path)
    status, out, err = run("head", path)
    assert (status, err) == (0, "") and out.endswith(", 0 records\n")
    assert run("head", path, "--json") == (0, "", "")
    status, out, _ = run("stats", path)
    assert status == 0 and out.endswith(", 0 records\n")
    assert json.loads(run("stats", path, "--json")[1])["records"] == 0
    assert run("verify", path)[:2] == (0, f"{path}: {out.split(':')[0]}: 0 records whole, no damage\n")


def test_empty_files_are_converted_where_their_fields_are_known(run, tmp_path):
    npy, record = EMPTY["npy"](tmp_path), EMPTY["tfrecord"](tmp_path)
    convert(run, npy, tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").shape == (0, 4)
    out = convert(run, record, tmp_path / "b.tfrecord", "--shards", 3)
    assert "0 records" in out and (tmp_path / "b.tfrecord").read_bytes() == b""
    status, _, err = run("convert", record, tmp_path / "b.csv")
    assert status == 2 and "has no records, so that their fields are not known" in err


# ---- verify -------------------------------------------------------------------------------------


def starts(columns):
    """Where each record begins in the file of examples()."""
    sizes = [len(one) + 16 for one in encode_examples(columns)]
    return np.cumsum([0, *sizes])


def damage(path, *places, cut=0):
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= 0x10
    path.write_bytes(data[: len(data) - cut])


def test_verify_finds_no_damage(run, tmp_path):
    paths = [examples(tmp_path), examples(tmp_path, name="b.gz", compression="gzip")]
    status, out, _ = run("verify", *paths)
    assert status == 0 and out.splitlines() == [
        f"{paths[0]}: TFRecord: 300 records whole, no damage",
        f"{paths[1]}: TFRecord (gzip): 300 records whole, no damage",
    ]


def test_verify_names_each_damaged_record_and_goes_on(run, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, at[3] + 20, at[250] - 1, at[299] + 30)
    status, out, _ = run("verify", path, "--json")
    found = json.loads(out)
    assert status == 1 and found["good"] == N - 3
    assert [(one["record"], one["byte"]) for one in found["damage"]] == [
        (3, at[3]), (249, at[249]), (299, at[299]),
    ]  # fmt: skip


def test_verify_finds_the_next_record_behind_a_broken_length(run, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, at[0], at[100] + 4, at[101] + 40, at[200] + 9, cut=5)
    status, out, _ = run("verify", path)
    *places, last = out.splitlines()
    assert status == 1 and len(places) == 4
    assert f"(record 0, byte 0): the checksum of the length is wrong; the next whole record is " \
        f"{at[1]} bytes on" in places[0]  # fmt: skip
    assert f"byte {at[100]})" in places[1] and f"{at[102] - at[100]} bytes on" in places[1]
    assert f"byte {at[200]})" in places[2]
    assert f"byte {at[299]}): the record of" in places[3] and "runs 5 bytes past" in places[3]
    assert "295 records whole, 4 damaged places" in last


@pytest.mark.parametrize("left", [1, 11])
def test_verify_finds_a_tail_that_readers_pass_over(left, run, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, cut=at[-1] - at[-2] - left)
    status, out, _ = run("verify", path)
    assert status == 1 and f"(record 299, byte {at[-2]}): {left} bytes are left" in out


def test_verify_finds_what_shows_in_an_ofrecord_file(run, tmp_path):
    path = write(OFRecordWriter, tmp_path / "a.ofrecord", COLUMNS)
    assert run("verify", path)[0] == 0
    size = struct.unpack("<q", path.read_bytes()[:8])[0]
    damage(path, 9, cut=2)
    status, out, _ = run("verify", path)
    assert status == 1 and "(record 0, byte 8): the message is damaged" in out
    assert "298 records whole, 2 damaged places" in out and size < 100


def test_verify_walks_messages_that_no_decoder_tells_of(run, tmp_path):
    """A feature with a varying number of values: its records are looked at one by one."""
    rows = [np.int64([1, 2]), np.int64([3, 4, 5])]
    path = write(OFRecordWriter, tmp_path / "a.ofrecord", {"v": rows})
    assert "2 records whole, no damage" in run("verify", path)[1]
    damage(path, 9)
    assert "1 records whole, 1 damaged place" in run("verify", path)[1]


def test_verify_names_the_lines_of_a_csv_file(run, tmp_path):
    lines = [f"{i},{i}.5" for i in range(700)]
    lines[600] = "600,x"
    lines[650] = "650"
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    status, out, _ = run("verify", tmp_path / "a.csv", "--fields", "a:int64,b:float64")
    assert status == 1 and "698 records whole, 2 damaged places" in out
    assert "a.csv:602" in out and "a.csv:652" in out


@pytest.mark.parametrize("writer", [NpyWriter, IDXWriter])
def test_verify_finds_a_file_that_is_cut_off(writer, run, tmp_path):
    path = write(writer, tmp_path / "a.npy", X)
    assert run("verify", path)[0] == 0
    damage(path, cut=1)
    status, out, _ = run("verify", path)
    assert status == 1 and str(path) in out and "1 damaged place" in out


def test_verify_of_compressed_streams(run, tmp_path):
    path = examples(tmp_path, compression="gzip")
    damage(path, cut=30)
    status, out, _ = run("verify", path)
    assert status == 1 and "1 damaged place" in out


def test_an_empty_file_is_whole(run, tmp_path):
    path = examples(tmp_path, [])
    status, out, _ = run("verify", path)
    assert status == 0 and out == f"{path}: TFRecord: 0 records whole, no damage\n"


def test_verify_exits_2_where_the_call_is_wrong(run, tmp_path):
    assert run("verify")[0] == 2
    assert run("verify", tmp_path / "no")[0] == 2
    assert run("verify", examples(tmp_path), "--format", "jpeg")[0] == 2


# ---- convert ------------------------------------------------------------------------------------


def convert(run, *arguments):
    jobs = () if "--jobs" in arguments else ("--jobs", 1)
    status, out, err = run("convert", *arguments, "--quiet", *jobs)
    assert status == 0, err
    return out


def test_tfrecord_to_csv_and_back(run, tmp_path):
    path = examples(tmp_path)
    out = convert(run, path, tmp_path / "b.csv")
    assert out == f"TFRecord to CSV: 300 records in {tmp_path / 'b.csv'}\n"
    convert(run, tmp_path / "b.csv", tmp_path / "c.tfrecord", "--float32")
    found = read(tmp_path / "c.tfrecord")
    assert np.array_equal(found["x"], X) and np.array_equal(found["y"], Y) and found["s"] == S
    convert(run, tmp_path / "c.tfrecord", tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_records_are_the_same_bytes_again(run, tmp_path):
    columns = dict(sorted({**COLUMNS, "v": V}.items()))
    path = examples(tmp_path, columns)
    convert(run, path, tmp_path / "b.tfrecord.gz")
    convert(run, tmp_path / "b.tfrecord.gz", tmp_path / "c.tfrecord")
    assert (tmp_path / "c.tfrecord").read_bytes() == path.read_bytes()
    plain = examples(tmp_path, [b"no", b"examples"], name="p")
    convert(run, plain, tmp_path / "q.tfrecord")
    assert (tmp_path / "q.tfrecord").read_bytes() == plain.read_bytes()


def test_tfrecord_to_ofrecord_and_back(run, tmp_path):
    convert(run, examples(tmp_path), tmp_path / "b", "--to", "ofrecord")
    convert(run, tmp_path / "b", tmp_path / "c.tfrecord")
    found = read(tmp_path / "c.tfrecord")
    assert np.array_equal(found["x"], X) and np.array_equal(found["y"], Y) and found["s"] == S


def test_one_field_to_arrays(run, tmp_path):
    path = examples(tmp_path)
    convert(run, path, tmp_path / "x.npy", "--fields", "x")
    assert np.array_equal(np.load(tmp_path / "x.npy"), X)
    convert(run, path, tmp_path / "x.raw", "--fields", "x")
    assert (tmp_path / "x.raw").read_bytes() == X.tobytes()
    convert(run, path, tmp_path / "y", "--to", "idx", "--fields", "y")
    assert (tmp_path / "y").read_bytes() == struct.pack(">II", 0xC01, N) + Y.astype(">i4").tobytes()
    convert(run, tmp_path / "x.npy", tmp_path / "x.idx", "--to", "idx")
    convert(run, tmp_path / "x.idx", tmp_path / "again.npy", "--format", "idx")
    assert (tmp_path / "again.npy").read_bytes() == (tmp_path / "x.npy").read_bytes()


def test_raw_files_by_attrs(run, tmp_path):
    write(RawWriter, tmp_path / "a", X)
    attrs = ["--format", "raw", "--attr", "dtype=float32", "--attr", "shape=4"]
    convert(run, tmp_path / "a", tmp_path / "b.npy", *attrs)
    assert np.array_equal(np.load(tmp_path / "b.npy"), X)


def test_tokens_to_megatron_and_back(run, tmp_path):
    path = examples(tmp_path, {"v": V})
    convert(run, path, tmp_path / "m.bin", "--to", "megatron")
    assert (tmp_path / "m.bin").read_bytes() == np.arange(2 * N, dtype="<i8").tobytes()
    convert(run, tmp_path / "m.idx", tmp_path / "b.tfrecord")
    assert read(tmp_path / "b.tfrecord")["tokens"] == V.to_list()


def test_samples_to_tar_and_back(run, tmp_path):
    convert(run, examples(tmp_path), tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert archive.getnames()[:3] == ["000000000.s", "000000000.x.npy", "000000000.y.cls"]
        assert archive.extractfile("000000007.y.cls").read() == str(Y[7]).encode()
        files = [archive.extractfile(f"{i:09d}.x.npy").read() for i in range(N)]
        x = [np.load(io.BytesIO(one)) for one in files]
    assert np.array_equal(x, X)
    convert(run, tmp_path / "a.tar", tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_bytes() == (tmp_path / "a.tar").read_bytes()


def test_lines_from_one_file_to_several(run, tmp_path):
    path = write(TextLineWriter, tmp_path / "a.txt", S)
    convert(run, path, tmp_path / "part-{shard:03d}", "--to", "text", "--shard-records", 130)
    texts = [(tmp_path / f"part-00{i}").read_bytes().split() for i in range(3)]
    assert [len(one) for one in texts] == [130, 130, 40] and sum(texts, []) == S


@pytest.mark.parametrize("jobs, packed", [(1, None), (2, None), (1, "gzip")])
def test_shards_hold_what_one_file_holds(jobs, packed, run, tmp_path, monkeypatch):
    """Also where shards do not begin with a batch; a stream is read by one process."""
    monkeypatch.setattr(conversion, "_BATCH", 64)
    path = examples(tmp_path, compression=packed)
    out = convert(run, path, tmp_path / "b.npy", "--fields", "x", "--shards", 7, "--jobs", jobs)
    parts = [np.load(tmp_path / f"b-0000{i}-of-00007.npy") for i in range(7)]
    assert {len(part) for part in parts} == {42, 43} and np.array_equal(np.concatenate(parts), X)
    assert "300 records in" in out and "b-00006-of-00007.npy" in out
    assert not [one for one in os.listdir(tmp_path) if one.startswith(".")]


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["b.jpg"], "does not say the format; say --to FORMAT"),
        (["b.npy"], "--to npy takes one field, and there are s, x, y"),
        (["b.npy", "--fields", "s"], "s is bytes, which npy cannot hold"),
        (["b.txt", "--fields", "x"], "x is float32[4], which text cannot hold"),
        (["b.csv", "--shards", "0"], "--shards 0: it must be 1 or more"),
        (["b.csv", "--shards", "2", "--shard-records", "2"], "not both"),
        (["b.csv", "--shards", "2", "--skip-damaged"], "make one only"),
        (["b.csv", "--to", "mds"], "invalid choice"),
    ],
)
def test_calls_that_make_no_sense(arguments, says, run, tmp_path):
    target, *options = arguments
    status, _, err = run("convert", examples(tmp_path), tmp_path / target, *options)
    assert status == 2 and says in err
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    assert run("convert", tmp_path / "a.tfrecord")[0] == 2


def test_what_is_there_stays_unless_asked(run, tmp_path):
    path = examples(tmp_path)
    (tmp_path / "b.csv").write_text("mine")
    status, _, err = run("convert", path, tmp_path / "b.csv")
    assert status == 1 and "b.csv: it is there already; remove it, or say --overwrite" in err
    assert (tmp_path / "b.csv").read_text() == "mine"
    convert(run, path, tmp_path / "b.csv", "--overwrite")
    assert (tmp_path / "b.csv").read_text() != "mine"


def test_damage_stops_a_conversion_or_is_left_out(run, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, at[270] + 20)
    status, _, err = run("convert", path, tmp_path / "b.npy", "--fields", "x", "--quiet")
    assert status == 1 and "record 270" in err
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    convert(run, path, tmp_path / "b.npy", "--fields", "x", "--skip-damaged")
    assert np.array_equal(np.load(tmp_path / "b.npy"), np.delete(X, 270, axis=0))


def background(*arguments):
    command = [sys.executable, "-m", "pyflowdata", *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)


def test_a_conversion_that_is_killed_goes_on(run, tmp_path):
    """Its workers end with it: one that lived on would keep the pipe of stderr open."""
    path = examples(tmp_path, {"x": np.tile(X, (50, 1))})
    manifest = tmp_path / ".b.csv.convert" / "manifest.json"
    arguments = ["convert", path, tmp_path / "b.csv", "--shards", 30, "--jobs", 2]
    process = background(*arguments)
    give_up = time.monotonic() + 60
    while not manifest.exists() and process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == [".b.csv.convert", "a.tfrecord"]
    done = json.loads(manifest.read_text())["done"]
    assert 0 < len(done) < 30
    times = {one: (manifest.parent / f"{int(one):05d}").stat().st_mtime_ns for one in done}
    status, out, err = run(*arguments[:-2], "--jobs", 1)
    assert status == 0 and f"{len(done)} of 30 shards are there already" in err
    made = [tmp_path / f"b-{i:05d}-of-00030.csv" for i in range(30)]
    assert sorted(tmp_path.iterdir()) == sorted([path, *made])
    assert all(made[int(one)].stat().st_mtime_ns == when for one, when in times.items())
    convert(run, path, tmp_path / "whole.csv")
    lines = [one.read_text().split("\n", 1) for one in made]
    assert {head for head, _ in lines} == {"x[0],x[1],x[2],x[3]"}
    body = "".join(text for _, text in lines)
    assert body == (tmp_path / "whole.csv").read_text().split("\n", 1)[1]


def test_a_source_that_has_changed_is_begun_anew(run, tmp_path, monkeypatch):
    path, target = examples(tmp_path), tmp_path / "b.csv"
    arguments = ["convert", path, target, "--shards", 3, "--jobs", 1, "--quiet"]
    original = conversion.Conversion.note

    def fail(self, number, records):
        original(self, number, records)
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(conversion.Conversion, "note", fail)
    status, _, err = run(*arguments)
    assert status == 1 and "b.csv: No space left on device" in err
    assert sorted(os.listdir(tmp_path)) == [".b.csv.convert", "a.tfrecord"]
    monkeypatch.setattr(conversion.Conversion, "note", original)
    write(TFRecordWriter, path, {**COLUMNS, "y": Y + 1}, overwrite=True)
    status, _, err = run(*arguments)
    assert status == 0 and "have changed: beginning anew" in err
    parts = [tmp_path / f"b-0000{i}-of-00003.csv" for i in range(3)]
    body = [one.split(",")[-1] for part in parts for one in part.read_text().split("\n")[1:-1]]
    assert [int(one) for one in body] == (Y + 1).tolist()


def test_two_conversions_to_one_name(run, tmp_path):
    path = examples(tmp_path)
    source = open_source([path])
    target = conversion.Target(str(tmp_path / "b.csv"), "csv")
    first = conversion.Conversion(source, target, [0, N], "data")
    with first.at_work():
        status, _, err = run("convert", path, tmp_path / "b.csv")
        assert status == 1 and "another process is converting to this name" in err
    assert os.listdir(tmp_path) == ["a.tfrecord"]
