"""MDSWriter: shards as Mosaic's Streaming has them, the encodings, and what MDS cannot hold."""

import gzip
import hashlib
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command import here  # noqa: F401  (a fixture)
from support.written import ragged, row_of

import pyflowdata as flow
from pyflowdata.formats import open_source
from pyflowdata.io import MDSWriter

STREAMING = Path(__file__).parents[2] / "fixtures" / "streaming"


def index_of(folder):
    return json.loads((folder / "index.json").read_text())["shards"]


def samples_of(folder):
    """The samples of all plain shards, as bytes, with the offsets checked."""
    found = []
    for shard in index_of(folder):
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        (count,) = struct.unpack_from("<I", data)
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        config = json.loads(data[4 * (count + 2) : offsets[0]])
        assert offsets[-1] == len(data) == shard["raw_data"]["bytes"] and count == shard["samples"]
        assert config == {key: shard[key] for key in config}
        found += [data[a:b] for a, b in zip(offsets, offsets[1:])]
    return found


def test_shards_are_those_that_streaming_makes_of_the_same_values(tmp_path):
    expected = json.loads((STREAMING / "expected.json").read_text())["arrays"]
    (theirs,) = index_of(STREAMING / "arrays")
    columns = dict(zip(theirs["column_names"], theirs["column_encodings"]))
    with MDSWriter(tmp_path / "a", columns=columns, hashes=()) as writer:
        for row in expected:
            writer.write({
                name: np.array(values, dtype).reshape(shape)
                for name, (dtype, shape, values) in row.items()
            })  # fmt: skip
    assert index_of(tmp_path / "a") == [theirs]
    name = theirs["raw_data"]["basename"]
    assert (tmp_path / "a" / name).read_bytes() == (STREAMING / "arrays" / name).read_bytes()


def test_samples_are_those_that_streaming_makes_of_the_same_values(tmp_path):
    """Numbers and bytes, in shards of 400 bytes, of which "gz:9" takes 2 more than null does."""
    rows = json.loads((STREAMING / "expected.json").read_text())["gz"]
    theirs = index_of(STREAMING / "gz")
    columns = dict(zip(theirs[0]["column_names"], theirs[0]["column_encodings"]))
    with MDSWriter(tmp_path / "a", columns=columns, shard_bytes=398, hashes=()) as writer:
        for row in rows:
            number = np.float32(float.fromhex(row["n_float32"]))
            writer.write({**row, "b_bytes": bytes.fromhex(row["b_bytes"]), "n_float32": number})
    samples = samples_of(tmp_path / "a")
    for shard in theirs:
        data = gzip.decompress((STREAMING / "gz" / shard["zip_data"]["basename"]).read_bytes())
        (first,) = struct.unpack_from("<I", data, 4)
        assert b"".join(samples[: shard["samples"]]) == data[first:]
        del samples[: shard["samples"]]
    assert samples == []


def test_encodings_of_the_first_rows(tmp_path):
    batch = {
        "i": np.arange(-1, 2), "f": np.array([0.5, 1, 2], np.float16), "b": [b"x", b"", b"\xff"],
        "t": ["é", "", "z"], "m": np.arange(12, dtype=np.int8).reshape(3, 2, 2),
        "v": ragged([1], [2, 3], [4], dtype=np.float32), "ok": np.array([True, False, True]),
        "raw": ragged(b"ab", b"", b"c"), "n": [1, 2**62, 3],
    }  # fmt: skip
    with MDSWriter(tmp_path / "a") as writer:
        writer.write_batch(batch)
        writer.write(row_of(batch, 1))
    (shard,) = index_of(tmp_path / "a")
    data = (tmp_path / "a" / "shard.00000.mds").read_bytes()
    assert shard["raw_data"]["hashes"] == {"sha1": hashlib.sha1(data).hexdigest()}
    assert dict(zip(shard["column_names"], shard["column_encodings"])) == {
        "b": "bytes", "f": "float16", "i": "int64", "m": "ndarray:int8:2,2", "n": "int64",
        "ok": "uint8", "raw": "bytes", "t": "str", "v": "ndarray:float32",
    }  # fmt: skip
    assert shard["column_sizes"] == [None, 2, 8, 4, 8, 1, None, None, None]
    first, second, _, again = samples_of(tmp_path / "a")
    assert again == second
    sizes = struct.pack("<4I", 1, 2, 2, 6)  # of b, raw, t and v
    fixed = struct.pack("<eq", 0.5, -1) + bytes([0, 1, 2, 3]) + struct.pack("<q", 1) + b"\1"
    assert first == sizes + b"x" + fixed + b"ab" + "é".encode() + b"\4\1" + struct.pack("<f", 1)
    reader = flow.MDSReader(
        files=str(tmp_path / "a"), columns=["n:int64", "v:float32[?]", "t:bytes"], batch_size=4
    )
    (found,) = flow.DataLoader(reader)
    assert found[0].tolist() == [1, 2**62, 3, 2**62] and found[2].to_bytes_list()[0] == b"\xc3\xa9"
    assert found[1].to_list() == [[1], [2, 3], [4], [2, 3]]


def test_images_json_and_integers_of_python(tmp_path):
    pixels = np.full((4, 5, 3), 7, np.uint8)
    columns = {"p": "png", "j": "json", "n": "int", "u": "uint16"}
    with MDSWriter(tmp_path / "a", columns=columns) as writer:
        writer.write({"p": pixels, "j": {"a": [1, None]}, "n": -1, "u": 2**16 - 1})
    (sample,) = samples_of(tmp_path / "a")
    assert sample[8:].startswith(b'{"a": [1, null]}' + struct.pack("<q", -1) + b"\x89PNG")
    with open_source([tmp_path / "a"]).loader(["p"], batch_size=1) as loader:
        (batch,) = loader
    found = Image.open(io.BytesIO(batch["p"].to_bytes_list()[0]))
    assert found.format == "PNG" and np.array_equal(np.asarray(found), pixels)


@pytest.mark.parametrize("compression, name", [(None, ""), ("gzip", ".gz"), ("zstd", ".zstd")])
def test_shards_have_a_size_and_hashes(compression, name, tmp_path, here):  # noqa: F811
    with MDSWriter(
        tmp_path / "a", shard_bytes=1000, compression=compression, hashes=["sha1", "crc32"]
    ) as writer:
        writer.write_batch({"x": np.arange(200)})
        writer.write_batch({"x": np.arange(200, 300)})
    shards = index_of(tmp_path / "a")
    assert len(shards) == 5 and sum(one["samples"] for one in shards) == 300
    assert all(1000 - 12 < one["raw_data"]["bytes"] <= 1000 for one in shards[:-1])
    part = "zip_data" if compression else "raw_data"
    for one in shards:
        data = (tmp_path / "a" / one[part]["basename"]).read_bytes()
        assert one[part]["basename"].endswith(".mds" + name) and one[part]["bytes"] == len(data)
        assert one[part]["hashes"] == {
            "crc32": f"{zlib.crc32(data):08x}", "sha1": hashlib.sha1(data).hexdigest(),
        }  # fmt: skip
    with open_source([tmp_path / "a"]).loader(batch_size=300) as loader:
        (batch,) = loader
    assert batch["x"].tolist() == [*range(300)]
    assert here("verify", tmp_path / "a")[0] == 0


def test_a_folder_is_whole_or_not_there(tmp_path):
    with pytest.raises(KeyError), MDSWriter(tmp_path / "a", shard_records=1) as writer:
        writer.write_batch({"x": np.arange(3)})
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        with MDSWriter(tmp_path / "a", shard_records=2, overwrite=True) as writer:
            writer.write_batch({"x": np.arange(3)})
    assert len(index_of(tmp_path / "a")) == 2 and writer.paths == (tmp_path / "a",)
    with pytest.raises(flow.FileError, match="it is there already"):
        MDSWriter(tmp_path / "a")
    (tmp_path / "a" / "notes.txt").write_text("mine")
    with pytest.raises(flow.FileError, match="it has notes.txt, which is no file of an MDS"):
        MDSWriter(tmp_path / "a", overwrite=True)


@pytest.mark.parametrize(
    "columns, sample, message",
    [
        ({"x": "int9"}, {}, r"columns\['x'\] = 'int9'; the encodings are bytes, str"),
        ({"x": "ndarray:bool"}, {}, r"columns\['x'\] = 'ndarray:bool'; the encodings are"),
        ({"x": "int8"}, {"x": 300}, "values of int64 do not fit into int8"),
        ({"x": "float16"}, {"x": 1e9}, r"x has 1000000000.0, which is too large for float16"),
        ({"x": "str"}, {"x": b"\xff"}, "is not text in UTF-8 at its byte 0; say columns="),
        ({"x": "ndarray:int8:2"}, {"x": [1]}, "say columns={'x': 'ndarray:int8'} where shapes"),
        ({"x": "ndarray"}, {"x": np.zeros((2, 0))}, "x has an array without elements"),
        ({"x": "ndarray"}, {"x": 1}, "x has rows that are no arrays of numbers"),
        ({"x": "jpeg"}, {"x": b"\x89PNG\r\n\x1a\n"}, "is no file of JPEG"),
        ({"x": "json"}, {"x": {1, 2}}, r"x = \{1, 2\}: Object of type set"),
        ({"x": "int"}, {"y": 1}, "the fields are y; the columns are x"),
        (None, {"x": None}, "x = None"),
    ],
)  # fmt: skip
def test_refused(columns, sample, message, tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=message):
        with MDSWriter(tmp_path / "a", columns=columns) as writer:
            writer.write(sample)


def test_convert_to_mds(tmp_path, here):  # noqa: F811
    lines = [{"i": i, "t": "é" * (i % 3), "x": [i, 0.5], "ok": i > 3} for i in range(9)]
    text = "".join(f"{json.dumps(one)}\n" for one in lines)
    (tmp_path / "a.jsonl").write_text(text)
    fields = "i,t,x:float64[2],ok"
    status, out, err = here("convert", tmp_path / "a.jsonl", tmp_path / "b.mds", "--fields", fields)
    assert status == 0, err
    assert here("convert", tmp_path / "b.mds", tmp_path / "c.jsonl")[0] == 0
    again = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert again == lines
    status, _, err = here("convert", tmp_path / "a.jsonl", tmp_path / "d.mds", "--shards", 2)
    assert status == 2 and "--to mds makes one, and no shards" in err
