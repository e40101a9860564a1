"""The command that checks data files."""

import gzip
import hashlib
import json
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.cli_files import COLUMNS, N, X, damage, examples, starts, write
from support.command import here
from support.paths import ROOT

from pyflowdata.io import IDXWriter, NpyWriter, OFRecordWriter

STREAMING = ROOT / "tests/fixtures/streaming"


def test_verify_finds_no_damage(here, tmp_path):
    paths = [examples(tmp_path), examples(tmp_path, name="b.gz", compression="gzip")]
    status, out, _ = here("verify", *paths)
    assert status == 0 and out.splitlines() == [
        f"{paths[0]}: TFRecord: 300 records whole, no damage",
        f"{paths[1]}: TFRecord (gzip): 300 records whole, no damage",
    ]


def test_verify_names_each_damaged_record_and_goes_on(here, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, at[3] + 20, at[250] - 1, at[299] + 30)
    status, out, _ = here("verify", path, "--json")
    found = json.loads(out)
    assert status == 1 and found["good"] == N - 3
    assert [(one["record"], one["byte"]) for one in found["damage"]] == [
        (3, at[3]), (249, at[249]), (299, at[299]),
    ]  # fmt: skip


def test_verify_finds_the_next_record_behind_a_broken_length(here, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, at[0], at[100] + 4, at[101] + 40, at[200] + 9, cut=5)
    status, out, _ = here("verify", path)
    *places, last = out.splitlines()
    assert status == 1 and len(places) == 4
    assert f"(record 0, byte 0): the checksum of the length is wrong; the next whole record is " \
        f"{at[1]} bytes on" in places[0]  # fmt: skip
    assert f"byte {at[100]})" in places[1] and f"{at[102] - at[100]} bytes on" in places[1]
    assert f"byte {at[200]})" in places[2]
    assert f"byte {at[299]}): the record of" in places[3] and "runs 5 bytes past" in places[3]
    assert "295 records whole, 4 damaged places" in last


@pytest.mark.parametrize("left", [1, 11])
def test_verify_finds_a_tail_that_readers_pass_over(left, here, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, cut=at[-1] - at[-2] - left)
    status, out, _ = here("verify", path)
    assert status == 1 and f"(record 299, byte {at[-2]}): {left} bytes are left" in out


def test_verify_finds_what_shows_in_an_ofrecord_file(here, tmp_path):
    path = write(OFRecordWriter, tmp_path / "a.ofrecord", COLUMNS)
    assert here("verify", path)[0] == 0
    size = struct.unpack("<q", path.read_bytes()[:8])[0]
    damage(path, 9, cut=2)
    status, out, _ = here("verify", path)
    assert status == 1 and "(record 0, byte 8): the message is damaged" in out
    assert "298 records whole, 2 damaged places" in out and size < 100


def test_verify_walks_messages_that_no_decoder_tells_of(here, tmp_path):
    """A feature with a varying number of values: its records are looked at one by one."""
    rows = [np.int64([1, 2]), np.int64([3, 4, 5])]
    path = write(OFRecordWriter, tmp_path / "a.ofrecord", {"v": rows})
    assert "2 records whole, no damage" in here("verify", path)[1]
    damage(path, 9)
    assert "1 records whole, 1 damaged place" in here("verify", path)[1]


def test_verify_names_the_lines_of_a_csv_file(here, tmp_path):
    lines = [f"{i},{i}.5" for i in range(700)]
    lines[600] = "600,x"
    lines[650] = "650"
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    status, out, _ = here("verify", tmp_path / "a.csv", "--fields", "a:int64,b:float64")
    assert status == 1 and "698 records whole, 2 damaged places" in out
    assert "a.csv:602" in out and "a.csv:652" in out


@pytest.mark.parametrize("writer", [NpyWriter, IDXWriter])
def test_verify_finds_a_file_that_is_cut_off(writer, here, tmp_path):
    path = write(writer, tmp_path / "a.npy", X)
    assert here("verify", path)[0] == 0
    damage(path, cut=1)
    status, out, _ = here("verify", path)
    assert status == 1 and str(path) in out and "1 damaged place" in out


def test_verify_of_compressed_streams(here, tmp_path):
    path = examples(tmp_path, compression="gzip")
    damage(path, cut=30)
    status, out, _ = here("verify", path)
    assert status == 1 and "1 damaged place" in out


@pytest.mark.parametrize("part", [0.1, 0.6])
def test_verify_counts_all_rows_before_a_cut(here, tmp_path, part):
    path = tmp_path / "a.csv.gz"
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,5\n" % (i % 7) for i in range(50_000)))
    path.write_bytes(data[: int(len(data) * part)])
    there = zlib.decompressobj(31).decompress(path.read_bytes())
    status, out, _ = here("verify", path, "--json")
    found = json.loads(out)
    assert status == 1 and found["good"] == there.count(b"\n") - 1 and len(found["damage"]) == 1
    assert "ends here, in its middle" in found["damage"][0]["message"]


def test_an_empty_file_is_whole(here, tmp_path):
    path = examples(tmp_path, [])
    status, out, _ = here("verify", path)
    assert status == 0 and out == f"{path}: TFRecord: 0 records whole, no damage\n"


def test_verify_exits_2_where_the_call_is_wrong(here, tmp_path):
    assert here("verify")[0] == 2
    status, _, err = here("verify", examples(tmp_path), "--format", "jpeg")
    assert status == 2 and err.startswith("usage: ") and "--format jpeg: it must be one of " in err
    status, _, err = here("verify", tmp_path / "no")
    assert status == 1 and "usage: " not in err


def test_headers_of_odd_types_leave_the_others_to_be_checked(here, tmp_path):
    paths = []
    for number, kind in enumerate((b"3", b'["q"]', b'"int33"')):
        head = b'{"header_size":5,"shard_addresses":3,"schema":[{"schema":{"a":{"type":'
        head += kind + b"}}}]}"
        paths.append(tmp_path / f"{number}.mindrecord")
        paths[-1].write_bytes(struct.pack("<Q", len(head)) + head + bytes(500))
    status, out, err = here("verify", *paths, examples(tmp_path))
    assert status == 1 and "300 records whole, no damage" in out
    assert all(str(path) in out + err for path in paths)


def copied(tmp_path, name="plain"):
    return Path(shutil.copytree(STREAMING / name, tmp_path / name)) / "index.json"


def test_verify_compares_the_hashes_of_mds_shards(here, tmp_path):
    path = copied(tmp_path)
    assert here("verify", path)[1] == f"{path}: Mosaic MDS: 9 records whole, no damage\n"
    shard = path.parent / "shard.00001.mds"
    damage(shard, shard.stat().st_size - 30)
    status, out, _ = here("verify", path, "--json")
    found = json.loads(out)
    assert status == 1 and [one["message"].split()[1] for one in found["damage"]] == [
        "sha1", "xxh64"]  # fmt: skip
    assert hashlib.sha1(shard.read_bytes()).hexdigest() in found["damage"][0]["message"]


def test_verify_compares_hashes_of_compressed_shards_and_names_those_it_cannot(here, tmp_path):
    path = copied(tmp_path, "gz")
    about = json.loads(path.read_text())
    for shard in about["shards"]:
        data = (path.parent / shard["zip_data"]["basename"]).read_bytes()
        shard["raw_data"]["hashes"] = {"md5": "of the decompressed shard"}
        shard["zip_data"]["hashes"] = {
            "md5": hashlib.md5(data).hexdigest(), "crc32": f"{zlib.crc32(data):08X}",
            "blake2b": hashlib.blake2b(data).hexdigest(), "xxh128": "0", "shake_128": "0",
        }  # fmt: skip
    path.write_text(json.dumps(about))
    status, out, _ = here("verify", path)
    assert status == 0 and out.splitlines() == [
        f"{path}: shake_128 of 2 shards not checked: it cannot be computed here",
        f"{path}: xxh128 of 2 shards not checked: it cannot be computed here",
        f"{path}: Mosaic MDS: 11 records whole, no damage",
    ]
    about["shards"][1]["zip_data"]["hashes"]["crc32"] = "00000000"
    path.write_text(json.dumps(about))
    status, out, _ = here("verify", path)
    assert status == 1 and "shard.00001.mds.gz: its crc32 is " in out
