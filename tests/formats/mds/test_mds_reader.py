"""MDSReader: what mosaicml-streaming wrote, read again; and what is no such dataset."""

from __future__ import annotations

import gzip
import json
import shutil
import struct

import numpy as np
import pytest
from formats.mds import mds_files
from support.paths import ROOT

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures/streaming"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
SCALARS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def read(files, *columns, **attrs):
    """The rows of each column, one list each."""
    blobs = flow.MDSReader(files=files, columns=list(columns), batch_size=4, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    rows = [[] for _ in blobs]
    with flow.DataLoader(*blobs) as loader:
        for batch in loader:
            for into, part in zip(rows, batch if len(blobs) > 1 else [batch], strict=True):
                into.extend(np.array(row) for row in part)
    return rows if len(rows) > 1 else rows[0]


def index(name):
    return FIXTURES / name / "index.json"


def column(name, key):
    return [sample[key] for sample in EXPECTED[name]]


# ---- What the library wrote ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SCALARS)
def test_integers(dtype):
    rows = read(index("plain"), f"n_{dtype}:{dtype}")
    assert {row.dtype.name for row in rows} == {dtype}
    assert [int(row) for row in rows] == column("plain", f"n_{dtype}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    rows = read(index("plain"), f"x=n_{dtype}:{dtype}")
    assert [float(row).hex() for row in rows] == column("plain", f"n_{dtype}")


def test_int_and_numbers_in_text():
    a, e, f, g = read(index("plain"), "a_int:int64", "e_str_int:int64", "f_str_float:float64",
                      "g_str_decimal:float64")
    assert [int(row) for row in a] == column("plain", "a_int")
    assert [int(row) for row in e] == column("plain", "e_str_int")
    assert [float(row).hex() for row in f] == column("plain", "f_str_float")
    assert [float(row).hex() for row in g] == column("plain", "g_str_decimal")


def test_all_that_is_bytes():
    keys = ["b_bytes", "c_str", "d_json", "h_jpeg", "i_png", "j_pil", "l_list"]
    for key, rows in zip(keys, read(index("plain"), *keys), strict=True):
        assert [row.tobytes().hex() for row in rows] == column("plain", key)


def test_pickles_are_given_raw_or_not_at_all():
    rows = read(index("plain"), "k_pkl:bytes")
    assert [row.tobytes().hex() for row in rows] == column("plain", "k_pkl")
    with pytest.raises(flow.UnsupportedError, match="k_pkl.*pickled.*write 'k_pkl:bytes'"):
        read(index("plain"), "k_pkl")


@pytest.mark.parametrize("field", [
    "dynamic:int32[?,2]", "dynamic:int32[?,?]", "fixed:int16[2,3]", "fixed:int16[?,3]",
    "typed:float32[2,?,?]", "vector:uint8[4]", "vector:uint8[?]", "wide:int64[?]",
])
def test_arrays(field):
    key = field.partition(":")[0]
    for row, (dtype, shape, values) in zip(
        read(index("arrays"), field), column("arrays", key), strict=True
    ):
        assert row.dtype.name == dtype and list(row.shape) == shape
        np.testing.assert_array_equal(row, np.array(values, dtype).reshape(shape))


@pytest.mark.parametrize("name", ["zstd", "gz"])
def test_compressed_shards_are_a_stream(name):
    a, b, x = read(index(name), "a_int:int64", "b_bytes", "n_float32:float32")
    assert [int(row) for row in a] == column(name, "a_int")
    assert [row.tobytes().hex() for row in b] == column(name, "b_bytes")
    assert [float(row).hex() for row in x] == column(name, "n_float32")


def test_a_stream_is_shuffled_by_a_buffer_and_resumed():
    def open_loader():
        blob = flow.MDSReader(files=index("zstd"), columns=["a_int:int64"], batch_size=2,
                              shuffle="buffer", shuffle_buffer_size=4, seed=3)
        return flow.DataLoader(blob)

    with open_loader() as loader:
        whole = [batch.tolist() for batch in loader]
    assert sorted(sum(whole, [])) == sorted(column("zstd", "a_int"))
    with open_loader() as loader:
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
    with open_loader() as loader:
        loader.load_state_dict(state)
        assert [batch.tolist() for batch in loader] == whole[2:]


def test_plain_shards_are_random_access():
    blob = flow.MDSReader(files=index("plain"), columns=["a_int:int64"], batch_size=4,
                          random_shuffle=True, seed=1)
    with flow.DataLoader(blob) as loader:
        assert len(loader) == 3
        rows = np.concatenate(list(loader)).tolist()
    assert rows != column("plain", "a_int") and sorted(rows) == sorted(column("plain", "a_int"))


def test_a_decompressed_shard_goes_first(tmp_path):
    shutil.copytree(FIXTURES / "zstd", tmp_path, dirs_exist_ok=True)
    for entry in json.loads((tmp_path / "index.json").read_text())["shards"]:
        (tmp_path / entry["zip_data"]["basename"]).unlink()
        name = entry["raw_data"]["basename"]
        columns = dict(zip(entry["column_names"],
                           zip(entry["column_encodings"], entry["column_sizes"], strict=True),
                           strict=True))
        first = 0 if name.endswith("00000.mds") else 11 - entry["samples"]
        samples = [[struct.pack("<q", s["a_int"]), bytes.fromhex(s["b_bytes"]),
                    struct.pack("<f", float.fromhex(s["n_float32"]))]
                   for s in EXPECTED["zstd"][first:first + entry["samples"]]]
        data = mds_files.shard_bytes(columns, samples, compression="zstd:7", size_limit=400)
        assert len(data) == entry["raw_data"]["bytes"]
        (tmp_path / name).write_bytes(data)
    assert [int(v) for v in read(tmp_path / "index.json", "a_int:int64")] == column("zstd", "a_int")


def test_shards_without_an_index():
    files = sorted((FIXTURES / "plain").glob("*.mds"))
    assert [int(v) for v in read(files, "a_int:int64")] == column("plain", "a_int")
    assert [int(v) for v in read(files[1], "a_int:int64")] == column("plain", "a_int")[
        struct.unpack("<I", files[0].read_bytes()[:4])[0]:][
            :struct.unpack("<I", files[1].read_bytes()[:4])[0]]


def test_a_number_of_samples_like_the_magic_of_gzip(tmp_path):
    n = 0x8B1F
    path = tmp_path / "shard.00000.mds"
    path.write_bytes(mds_files.shard_bytes({"x": ("int8", 1)}, [[b"\7"]] * n))
    with flow.DataLoader(flow.MDSReader(files=path, columns="x:int8", batch_size=n)) as loader:
        assert next(iter(loader)).tolist() == [7] * n


def test_a_pattern_that_finds_index_and_shards():
    rows = read(str(FIXTURES / "plain" / "*"), "a_int:int64")
    assert [int(v) for v in rows] == column("plain", "a_int")


def test_ids_name_the_shards():
    blobs = flow.MDSReader(files=index("plain"), columns=["a_int:int64"], batch_size=16,
                           with_id=True)
    with flow.DataLoader(*blobs) as loader:
        ((_, ids),) = list(loader)
    assert ids[:, 1].tolist() == list(range(9)) and set(ids[:, 0].tolist()) == {1, 2, 3}


# ---- Written by hand -----------------------------------------------------------------------------


def test_a_merged_dataset_has_subfolders(tmp_path):
    samples = mds_files.small_samples()
    names = ["a/shard.00000.mds", "b/c/shard.00000.mds"]
    path = mds_files.write(tmp_path, mds_files.SMALL, [samples[:5], samples[5:]], names)
    assert [int(v) for v in read(path, "label:int64")] == [-i for i in range(12)]


def test_several_indexes_follow_each_other(tmp_path):
    samples = mds_files.small_samples()
    paths = []
    for name, part in (("b", samples[:3]), ("a", samples[3:])):
        (tmp_path / name).mkdir()
        paths.append(mds_files.write(tmp_path / name, mds_files.SMALL, [part]))
    assert [int(v) for v in read(paths, "label:int64")] == [-i for i in range(12)]


def test_a_fixed_size_of_zero_has_no_size_word(tmp_path):
    columns = {"empty": ("mine", 0), "x": ("uint8", 1), "text": ("str", None)}
    path = mds_files.write(tmp_path, columns, [[[b"", bytes([i]), b"t" * i] for i in range(5)]])
    empty, x, text = read(path, "empty", "x:uint8", "text")
    assert [row.size for row in empty] == [0] * 5
    assert [int(row) for row in x] == list(range(5))
    assert [row.size for row in text] == list(range(5))


def test_no_samples_and_no_shards(tmp_path):
    path = mds_files.write(tmp_path, mds_files.SMALL, [[], mds_files.small_samples(2), []])
    assert [int(v) for v in read(path, "label:int64")] == [0, -1]
    path.write_text('{"version": 2, "shards": []}')
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        read(path, "label:int64")


def test_names_and_escapes(tmp_path):
    columns = {'a "q" \u00fc\U0001f600': ("uint8", 1)}
    path = mds_files.write(tmp_path, columns, [[[b"\7"]]])
    assert [int(v) for v in read(path, 'x=a "q" \u00fc\U0001f600:uint8')] == [7]


def test_bytes_of_one_size_may_be_dense(tmp_path):
    path = mds_files.write(tmp_path, {"image": ("bytes", None)}, [[[bytes(range(6))], [b"abcdef"]]])
    assert [row.shape for row in read(path, "image:uint8[2,3]")] == [(2, 3)] * 2
    with pytest.raises(flow.CorruptDataError, match="image.*has 6 bytes here, but the output 5"):
        read(path, "image:uint8[5]")


# ---- What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "message"), [
    ("a_int", "a_int.*is int in the shards.*write 'a_int:int64'"),
    ("a_int:int32", "cannot be read as int32.*write 'a_int:int64'"),
    ("none", "no column 'none'.*a_int, b_bytes"),
    ("b_bytes:int64", "b_bytes.*write 'b_bytes:bytes'"),
    ("e_str_int", "write 'e_str_int:int64'"),
    ("a_int:int64=3", "has a default"),
])
def test_fields_that_do_not_fit(field, message):
    with pytest.raises(flow.InvalidArgumentError, match=message):
        read(index("plain"), field)


def test_arrays_that_do_not_fit():
    with pytest.raises(flow.InvalidArgumentError, match=r"write 'fixed:int16\[2,3\]'"):
        read(index("arrays"), "fixed:int16[3,2]")
    with pytest.raises(flow.CorruptDataError, match="dynamic.*is int32 here.*output is int64"):
        read(index("arrays"), "dynamic:int64[?,2]")
    with pytest.raises(flow.CorruptDataError, match="typed.*has 3 dimensions.*output 2"):
        read(index("arrays"), "typed:float32[?,?]")


def test_a_compression_that_is_not_known():
    with pytest.raises(flow.UnsupportedError, match="bz2:9.*decompress it to 'shard.00000.mds'"):
        read(index("bz2"), "a_int:int64")


def test_a_compressed_shard_needs_its_index():
    with pytest.raises(flow.UnsupportedError, match="give the index.json"):
        read(FIXTURES / "zstd" / "shard.00000.mds.zstd", "a_int:int64")


def copy(tmp_path, name="plain"):
    shutil.copytree(FIXTURES / name, tmp_path / name)
    return tmp_path / name


def test_a_missing_shard_is_named(tmp_path):
    folder = copy(tmp_path)
    (folder / "shard.00001.mds").unlink()
    with pytest.raises(flow.FileError, match="lists a shard that does not exist.*shard.00001.mds"):
        read(folder / "index.json", "a_int:int64")


@pytest.mark.parametrize("again, name", [(0, "shard.00000.mds"), (2, "shard.00002.mds")])
def test_a_shard_that_is_listed_twice(tmp_path, again, name):
    samples = mds_files.small_samples()
    path = mds_files.write(tmp_path, mds_files.SMALL, [samples[:3], samples[3:7], samples[7:]])
    found = json.loads(path.read_text())
    found["shards"].append(found["shards"][again])
    path.write_text(json.dumps(found))
    says = rf"index\.json lists the shard .*{name} twice, as entries {again} and 3 of its shards"
    with pytest.raises(flow.CorruptDataError, match=says):
        read(path, "label:int64")


def test_a_shard_that_was_cut(tmp_path):
    folder = copy(tmp_path)
    path = folder / "shard.00001.mds"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(flow.CorruptDataError, match="shard.00001.mds.*but its index.json states"):
        read(folder / "index.json", "a_int:int64")
    with pytest.raises(flow.CorruptDataError, match="offset of the samples. end is"):
        read(path, "a_int:int64")


@pytest.mark.parametrize("name", ["../shard.mds", "/tmp/shard.mds", "a/../../shard.mds"])
def test_shards_lie_below_the_folder(tmp_path, name):
    path = mds_files.write(tmp_path, mds_files.SMALL, [mds_files.small_samples()])
    text = json.loads(path.read_text())
    text["shards"][0]["raw_data"]["basename"] = name
    path.write_text(json.dumps(text))
    with pytest.raises(flow.CorruptDataError, match="not in its folder"):
        read(path, "label:int64")


@pytest.mark.parametrize(("changes", "message"), [
    ({"version": 1}, "expected version 2"),
    ({"format": "jsonl"}, "CSVReader and TextLineReader"),
    ({"samples": 3}, "number of samples in the shard is 12; expected 3"),
    ({"column_sizes": [None, 8, None]}, "of one length"),
    ({"column_sizes": [None, 4, None, 8]}, "the size that the column's encoding has"),
    ({"column_encodings": ["bytes", "int", "str", "ndarray:float33:2"]}, "expected an encoding"),
    ({"column_names": [1, 2, 3, 4]}, "expected column_names"),
    ({"samples": "many"}, "expected a whole number"),
    ({"raw_data": None}, "samples and raw_data"),
])
def test_an_index_that_is_wrong(tmp_path, changes, message):
    samples = [mds_files.small_samples()]
    path = mds_files.write(tmp_path, mds_files.SMALL, samples, **changes)
    with pytest.raises(flow.CorruptDataError, match=message):
        read(path, "label:int64")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 2}', "nonsense", "[" * 1000])
def test_json_that_is_none(tmp_path, text):
    path = tmp_path / "index.json"
    path.write_text(text)
    with pytest.raises(flow.CorruptDataError, match="index.json.*byte.*expected"):
        read(path, "label:int64")


def test_a_damaged_sample_costs_one_record(tmp_path):
    path = mds_files.write(tmp_path, mds_files.SMALL, [mds_files.small_samples()])
    shard = tmp_path / "shard.00000.mds"
    data = bytearray(shard.read_bytes())
    begin = struct.unpack_from("<I", data, 4 + 4 * 5)[0]
    data[begin : begin + 4] = struct.pack("<I", 1 << 30)
    shard.write_bytes(data)
    blob = flow.MDSReader(files=path, columns=["label:int64"], batch_size=4, on_error="skip")
    with flow.DataLoader(blob) as loader:
        rows = np.concatenate(list(loader)).tolist()
        assert rows == [-i for i in range(12) if i != 5]
        (error,) = loader.skipped
    assert error.ordinal == 5 and error.file == str(shard) and "its columns need" in str(error)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_damaged_shard_under_a_buffer(tmp_path, on_error):
    """One batch fails, and the others come; nobody decompresses the shard once a record."""
    samples = mds_files.small_samples(200)
    shards = [samples[i : i + 50] for i in range(0, 200, 50)]
    path = mds_files.write(tmp_path, mds_files.SMALL, shards)
    entries = json.loads(path.read_text())
    num_bytes = 0
    for i, entry in enumerate(entries["shards"]):
        shard = tmp_path / entry["raw_data"]["basename"]
        data = bytearray(gzip.compress(shard.read_bytes()))
        data[-5] ^= i == 1  # the checksum
        shard.with_name(shard.name + ".gz").write_bytes(data)
        shard.unlink()
        num_bytes += len(data)
        entry["compression"] = "gz"
        entry["zip_data"] = {"basename": shard.name + ".gz", "bytes": len(data), "hashes": {}}
    path.write_text(json.dumps(entries))
    blob = flow.MDSReader(files=path, columns=["label:int64"], batch_size=5, on_error=on_error,
                          shuffle="buffer", shuffle_buffer_size=12, seed=2,
                          file_access="read")  # fmt: skip
    rows, failures = [], []
    with flow.DataLoader(blob, num_threads=1, prefetch=1) as loader:
        batches = iter(loader)
        for _ in range(40):
            try:
                rows += [-row for row in next(batches, [])]
            except flow.Error as failure:
                failures.append(failure)
        assert loader.stats()["read_bytes"] < 5 * num_bytes
    assert [type(one) for one in failures] == [flow.CorruptDataError]
    assert failures[0].file.endswith("shard.00001.mds.gz") and failures[0].reason is None
    assert len(rows) == 145  # of the batch that failed, 5 are lost
    assert set(rows) < {*range(50), *range(100, 200)}


def test_other_files_beside_an_index_are_refused(tmp_path):
    path = mds_files.write(tmp_path, mds_files.SMALL, [mds_files.small_samples()])
    (tmp_path / "more.mds").write_bytes(b"x")
    with pytest.raises(flow.InvalidArgumentError, match="give index.json alone"):
        read(str(tmp_path / "*"), "label:int64")
    assert len(read(path, "label:int64")) == 12


@pytest.mark.parametrize("shuffle", [False, True])
def test_files_that_are_not_mapped(shuffle):
    fields = ["a_int:int64", "b_bytes", "n_float64:float64"]
    mapped, unmapped = (
        read(index("plain"), *fields, random_shuffle=shuffle, seed=1, file_access=access)
        for access in ("map", "read")
    )
    for left, right in zip(mapped, unmapped, strict=True):
        assert [v.tobytes() for v in left] == [v.tobytes() for v in right]
