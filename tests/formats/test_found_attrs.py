"""Attrs that are left out, and found in the files."""

from __future__ import annotations

import gzip
import inspect
import json
import pickle
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from formats.flat_files import cifar, idx
from formats.mds import mds_files
from formats.megatron import token_files
from formats.mindrecord import mindrecord_files
from support import programs
from support.finder import FINDER, rows_of
from support.paths import ROOT
from support.plugin_sources import build

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures"
NUMPY = FIXTURES / "numpy"


def load(*blobs: flow.Blob) -> list[list[object]]:
    """All rows of each blob."""
    rows: list[list[object]] = [[] for _ in blobs]
    with flow.DataLoader(*blobs) as loader:
        for batch in loader:
            for place, column in enumerate(batch if len(blobs) > 1 else [batch]):
                rows[place] += list(column)
    return rows


def listed(blobs: flow.Blob | tuple[flow.Blob, ...]) -> tuple[flow.Blob, ...]:
    return blobs if isinstance(blobs, tuple) else (blobs,)


# ---- NumPy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(NUMPY.glob("*.npy")), ids=lambda path: path.stem)
def test_npy_as_numpy_reads_it(path: Path) -> None:
    truth = np.load(path, allow_pickle=True)
    if truth.dtype.kind not in "biuf" or truth.ndim == 0 or path.stem == "fortran":
        with pytest.raises(flow.CorruptDataError) as caught:
            flow.NpyReader(files=path)
        assert caught.value.file == str(path) and caught.value.op == "NpyReader"
        return
    blob = flow.NpyReader(files=path, batch_size=3)
    assert blob.dtype == truth.dtype.newbyteorder("=") and blob.shape[1:] == truth.shape[1:]
    assert blob.node.values["byte_order"] == ("big" if truth.dtype.str[0] == ">" else "little")
    if len(truth):
        assert np.array_equal(np.array(load(blob)[0]), truth)


def test_what_is_given_stays_and_is_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 2), np.float32))
    blob = flow.NpyReader(files=tmp_path / "x.npy", shape=(2,))
    assert blob.node.found == ("dtype", "byte_order") and blob.dtype == np.float32
    wrong = flow.NpyReader(files=tmp_path / "x.npy", dtype="float64")
    assert wrong.dtype == np.float64 and wrong.shape == (1, 2)
    with pytest.raises(flow.CorruptDataError, match=r"float32 \(2,\).*float64 \(2,\)"):
        load(wrong)
    assert flow.NpyReader(files=tmp_path / "x.npy", dtype=None, shape=None).dtype == np.float32
    typed = flow.NpyReader(files=tmp_path / "x.npy", dtype="float32", shape=(2,), byte_order="big")
    assert typed.node.found == ()


def test_files_that_disagree(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((4, 2), np.float32))
    np.save(tmp_path / "b.npy", np.ones((4, 3), np.float32))
    blob = flow.NpyReader(files=str(tmp_path / "*.npy"))
    assert blob.shape == (1, 2)
    with pytest.raises(flow.CorruptDataError, match=r"b.npy.*float32 \(3,\).*float32 \(2,\)"):
        load(blob)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(flow.FileError, match="nowhere.npy"):
        flow.NpyReader(files=tmp_path / "nowhere.npy")
    with pytest.raises(flow.FileError, match="no file matches"):
        flow.NpyReader(files=str(tmp_path / "*.npy"))
    with pytest.raises(flow.InvalidArgumentError, match="no files are given"):
        flow.NpyReader(files=[])
    with pytest.raises(flow.FileError, match="no part found"):
        flow.NpyReader(tmp_path)
    with pytest.raises(flow.InvalidArgumentError, match="batch_size"):  # which needs no file
        flow.NpyReader(files=tmp_path / "nowhere.npy", batch_size=0)


def test_a_state_does_not_tell_what_was_typed(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(40.0).reshape(10, 4))
    given = {"files": path, "batch_size": 3, "random_shuffle": True, "seed": 7}
    found = flow.NpyReader(**given)
    typed = flow.NpyReader(**given, dtype="float64", shape=(4,), byte_order="little")
    for one, other in ((typed, found), (found, typed)):
        with flow.DataLoader(one) as saved, flow.DataLoader(other) as resumed:
            batches = iter(saved)
            next(batches)
            state = saved.state_dict()
            resumed.load_state_dict(state)
            assert resumed.state_dict() == state
            assert np.array_equal(next(iter(resumed)), next(batches))


def test_two_nodes_and_a_pickle(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4, dtype=np.int8))
    np.save(tmp_path / "b.npy", np.ones((4, 2), np.float16))
    a, b = (flow.NpyReader(files=tmp_path / f"{name}.npy") for name in "ab")
    assert (a.dtype, a.shape, b.dtype, b.shape) == (np.int8, (1,), np.float16, (1, 2))
    assert [len(rows) for rows in load(a, b)] == [4, 4]
    assert "dtype='int8'" in repr(a.node)
    (tmp_path / "a.npy").unlink()  # what was found travels along
    again = pickle.loads(pickle.dumps(a))
    assert (again.dtype, again.shape, again.node.values) == (a.dtype, a.shape, a.node.values)


def test_compressed_arrays(tmp_path: Path) -> None:
    truth = np.arange(60_000, dtype=np.int16).reshape(20_000, 3)
    for rows in (truth, truth[:5]):
        np.save(tmp_path / "x.npy", rows)
        packed = tmp_path / "x.npy.gz"
        packed.write_bytes(gzip.compress((tmp_path / "x.npy").read_bytes()))
        blob = flow.NpyReader(files=packed, batch_size=1000)
        assert np.array_equal(np.array(load(blob)[0]), rows)
    packed.write_bytes(packed.read_bytes()[:40])
    with pytest.raises(flow.CorruptDataError, match="x.npy.gz"):
        flow.NpyReader(files=packed)
    packed.write_bytes(gzip.compress(b"\x93NUMPY\1\0"))
    with pytest.raises(flow.CorruptDataError, match="x.npy.gz.*ends after 8 bytes of 10"):
        flow.NpyReader(files=packed)


def test_help_and_signature_say_so() -> None:
    parameter = inspect.signature(flow.NpyReader).parameters["dtype"]
    assert parameter.default is None
    assert "dtype (dtype, found in the files if left out): " in (flow.NpyReader.__doc__ or "")


def test_the_builder_finds_too(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 2), np.uint16))
    op = flow.user_op_builder("x").Op("NpyReader").Output("out")
    (blob,) = op.Attr("files", [str(tmp_path / "x.npy")]).Build().RemoteBlobList()
    assert (blob.dtype, blob.shape) == (np.uint16, (1, 2))


# ---- Other files of arrays -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_of_every_dtype(tmp_path: Path, dtype: str, pack: Callable[[bytes], bytes]) -> None:
    images, labels = np.arange(24).reshape(4, 3, 2).astype(dtype), np.arange(8).reshape(4, 2)
    (tmp_path / "images").write_bytes(pack(idx(images)))
    (tmp_path / "labels").write_bytes(pack(idx(labels.astype(np.int32))))
    alone = flow.IDXReader(files=tmp_path / "images")
    assert isinstance(alone, flow.Blob) and alone.node.values["label_dtype"] == "uint8"
    assert np.array_equal(np.array(load(alone)[0]), images)
    pair = flow.IDXReader(files=tmp_path / "images", labels=tmp_path / "labels")
    found = load(*listed(pair))
    assert np.array_equal(np.array(found[0]), images) and np.array_equal(np.array(found[1]), labels)
    assert listed(pair)[1].dtype == np.int32


def test_labels_with_a_damaged_header(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(idx(np.zeros((4, 3), np.uint8)))
    (tmp_path / "labels").write_bytes(b"\0\0\x08\1\0\0")
    with pytest.raises(flow.CorruptDataError, match="labels.*ends inside its header"):
        flow.IDXReader(files=tmp_path / "images", labels=tmp_path / "labels")


def test_cifar_by_the_size_of_the_file(tmp_path: Path) -> None:
    images = np.random.default_rng(3).integers(0, 256, (3, 3, 32, 32), np.uint8)
    (tmp_path / "100").write_bytes(cifar(images, np.arange(3), np.arange(3) * 30))
    image, _, coarse = listed(flow.CIFARReader(files=tmp_path / "100", with_coarse_label=True))
    assert image.node.values["version"] == 100
    assert np.array_equal(np.array(load(image, coarse)[1]), np.arange(3))
    (tmp_path / "10").write_bytes(cifar(images, np.arange(3)))
    assert listed(flow.CIFARReader(files=tmp_path / "10"))[0].node.values["version"] == 10


@pytest.mark.parametrize("name", ["uint16", "int32"])
def test_tokens_have_the_dtype_of_their_index(name: str) -> None:
    for ending in (".bin", ".idx"):
        blob = flow.MegatronReader(files=FIXTURES / "megatron" / f"{name}{ending}")
        assert blob.dtype == np.dtype(name)
    wide = flow.MegatronReader(files=FIXTURES / "megatron" / f"{name}.bin", dtype="int64")
    assert [row.tolist() for row in load(blob)[0]] == [row.tolist() for row in load(wide)[0]]


def test_an_index_that_is_damaged(tmp_path: Path) -> None:
    path = token_files.write(tmp_path / "a", token_files.documents(1, 5))
    path.with_suffix(".idx").write_bytes(b"MMIDIDX")
    with pytest.raises(flow.CorruptDataError, match="a.idx"):
        flow.MegatronReader(files=path)


# ---- Columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "zstd", "gz"])
def test_mds_datasets_of_the_library(name: str) -> None:
    folder = FIXTURES / "streaming" / name
    found = listed(flow.MDSReader(folder, batch_size=4))
    columns = found[0].node.values["columns"]
    typed = flow.MDSReader(files=folder / "index.json", columns=columns, batch_size=4)
    assert [blob.name for blob in found] == [blob.name for blob in listed(typed)]
    for one, other in zip(load(*found), load(*listed(typed)), strict=True):
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def test_types_of_columns() -> None:
    blobs = listed(flow.MDSReader(FIXTURES / "streaming" / "plain"))
    types = {blob.name.partition("/")[2]: (blob.dtype.name, blob.shape[1:]) for blob in blobs}
    assert types["a_int"] == types["e_str_int"] == ("int64", ())
    assert types["f_str_float"] == ("float64", ()) and types["n_float16"] == ("float16", ())
    assert types["k_pkl"] == types["g_str_decimal"] == types["b_bytes"] == ("uint8", (None,))
    assert list(types) == sorted(types) and len(types) == 23


def test_a_column_without_a_type_is_named() -> None:
    folder = FIXTURES / "streaming" / "arrays"
    with pytest.raises(flow.UnsupportedError, match="'dynamic' is ndarray.*list the columns") as e:
        flow.MDSReader(folder)
    assert e.value.file == str(folder / "index.json")


SAMPLES = [[struct.pack("<q", i), struct.pack("<b", -i), b"x" * i, b"y"] for i in range(3)]


def test_names_that_every_reader_has(tmp_path: Path) -> None:
    columns: mds_files.Columns = {
        "id": ("int", 8), "mask": ("int8", 1), "id_": ("bytes", None), "a:b": ("str", None)
    }  # fmt: skip
    mds_files.write(tmp_path, columns, [SAMPLES])
    blobs = listed(flow.MDSReader(tmp_path, with_id=True))
    assert blobs[0].node.values["columns"] == [
        "id__=id:int64", "mask_=mask:int8", "id_:bytes", "a:b:bytes"
    ]
    assert [blob.name.partition("/")[2] for blob in blobs] == ["id__", "mask_", "id_", "a:b", "id"]
    rows = load(*blobs)
    assert rows[0] == [0, 1, 2] and rows[1] == [0, -1, -2] and rows[4][2].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["a=b", "", "a\0b"])
def test_names_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    mds_files.write(tmp_path, {name: ("int", 8)}, [[[bytes(8)]]])
    with pytest.raises(flow.UnsupportedError, match="cannot be written in a list.*'columns'"):
        flow.MDSReader(tmp_path)


def test_a_folder_stands_for_its_index(tmp_path: Path) -> None:
    mds_files.write(tmp_path, mds_files.SMALL, [mds_files.small_samples()])
    for given in ({"data_dir": tmp_path}, {"files": tmp_path}, {"files": [f"{tmp_path}/"]}):
        blobs = listed(flow.MDSReader(**given))
        assert [blob.name.partition("/")[2] for blob in blobs] == ["data", "label", "text", "x"]
        assert len(load(*blobs)[0]) == 12
    shard = listed(flow.MDSReader(files=tmp_path / "shard.00000.mds"))
    assert shard[3].shape == (1, 2) and len(load(*shard)[0]) == 12
    (tmp_path / "index.json").unlink()
    with pytest.raises(flow.FileError, match="no part found.*shard.00000.mds"):
        flow.MDSReader(tmp_path)
    with pytest.raises(flow.FileError, match="this is a folder"):
        flow.MDSReader(files=tmp_path)


def test_indexes_without_shards(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    mds_files.write(tmp_path / "a", mds_files.SMALL, [])
    with pytest.raises(flow.CorruptDataError, match="lists no shards"):
        flow.MDSReader(tmp_path / "a")
    mds_files.write(tmp_path / "b", mds_files.SMALL, [mds_files.small_samples()])
    both = [tmp_path / "a" / "index.json", tmp_path / "b" / "index.json"]
    assert len(listed(flow.MDSReader(files=both))) == 4


def test_an_index_that_is_cut(tmp_path: Path) -> None:
    path = mds_files.write(tmp_path, mds_files.SMALL, [mds_files.small_samples()])
    text = path.read_bytes()
    for size in range(0, len(text), 7):
        path.write_bytes(text[:size])
        with pytest.raises(flow.CorruptDataError, match="index.json"):
            flow.MDSReader(tmp_path)


def as_json(row: np.ndarray, like: object) -> object:
    """A value as expected.json has it."""
    if isinstance(like, int):
        return int(row) if row.dtype.kind == "i" else row
    if isinstance(like, list):
        flat = [each.hex() if row.dtype.kind == "f" else each for each in row.ravel().tolist()]
        return [row.dtype.name, list(row.shape), flat]
    if row.ndim == 0:
        return float(row).hex() if row.dtype.kind == "f" else row
    data = row.tobytes()
    texts = data.decode(errors="replace"), data.hex(), f"{len(data)} x {data[:1].hex()}"
    return like if row.dtype == np.uint8 and like in texts else row


@pytest.mark.parametrize("name", ["all", "scalars", "blobs", "many1"])
def test_mindrecord_files_of_mindspore(tmp_path: Path, name: str) -> None:
    for packed in (FIXTURES / "mindspore").glob("*.gz"):
        with gzip.open(packed) as source, open(tmp_path / packed.stem, "wb") as target:
            shutil.copyfileobj(source, target)
    found = listed(flow.MindRecordReader(files=tmp_path / name))
    expected = json.loads((FIXTURES / "mindspore" / "expected.json").read_text())
    truth = expected["many" if name == "many1" else name]  # a shard stands for its set
    keys = [blob.name.partition("/")[2].removesuffix("_") for blob in found]
    assert sorted(keys) == sorted(truth[0])
    columns = dict(zip(keys, load(*found), strict=True))
    numbers = {"i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64",
               "label": "int32", "id": "int64"}  # fmt: skip
    for blob, (key, rows) in zip(found, columns.items(), strict=True):
        assert blob.dtype == numbers.get(key, blob.dtype)
        values = [as_json(np.array(row), want[key]) for row, want in zip(rows, truth, strict=True)]
        assert values == [row[key] for row in truth], key


def test_a_mindrecord_header_that_is_damaged(tmp_path: Path) -> None:
    path = mindrecord_files.small_file(tmp_path, "3.0")
    data = path.read_bytes()
    assert len(listed(flow.MindRecordReader(files=path))) >= 4
    for size in (0, 3, 8, 20, data.index(b"schema")):
        path.write_bytes(data[:size])
        with pytest.raises(flow.CorruptDataError) as caught:
            flow.MindRecordReader(files=path)
        assert caught.value.file == str(path)
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(flow.UnsupportedError, match="decompress it"):
        flow.MindRecordReader(files=path)


# ---- A plugin ------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def finder(tmp_path_factory: pytest.TempPathFactory) -> flow.Plugin:
    return flow.load_library(build(tmp_path_factory.mktemp("finder"), FINDER))


def test_a_plugin_finds_attrs_of_every_type(finder: flow.Plugin, tmp_path: Path) -> None:
    path, rows = rows_of(tmp_path, 3)
    blobs = finder.FinderReader(files=path)
    assert [blob.name for blob in blobs] == ["FinderReader/first", "FinderReader/second"]
    values = {name: blobs[0].node.values[name] for name in blobs[0].node.found}
    assert values == {"width": 3, "unit": "metre", "how": "odd", "flag": True, "dtype": "int8",
                      "shape": [3], "names": ["first", "second"], "rate": 0.5,
                      "rates": [3.0]}  # fmt: skip
    assert all(np.array_equal(np.array(found), rows) for found in load(*blobs))
    path, rows = rows_of(tmp_path, 4)
    (blob,) = listed(finder.FinderReader(files=path))
    values = {name: blob.node.values[name] for name in blob.node.found}
    assert values == {"width": 4, "unit": "none", "how": "plain", "flag": False, "dtype": "uint8",
                      "shape": [], "names": ["out"], "rate": 0.5, "rates": [1.0, 2.5]}  # fmt: skip
    assert np.array_equal(np.array(load(blob)[0]), rows)


def test_what_a_plugin_finds_is_checked(finder: flow.Plugin, tmp_path: Path) -> None:
    for width in (0, -1, 65):
        path = tmp_path / "wrong"
        path.write_bytes(struct.pack("<i", width))
        with pytest.raises(flow.InvalidArgumentError, match=rf"'width' = {width};.*\[1, 64\]"):
            finder.FinderReader(files=path)


@pytest.mark.parametrize(
    ("kind", "error", "says"),
    [
        (1, flow.InternalError, "sets 'bogus', which is not an attr"),
        (2, flow.InternalError, "opens path 1, but the op has 1 paths"),
        (3, flow.InternalError, "'how' to 2, which is not a choice"),
        (4, flow.InvalidArgumentError, "'width' is required .*the files do not state it"),
        (5, flow.InternalError, "propose.. returned status"),
        (6, flow.InvalidArgumentError, "attr 'width' = '7'"),
    ],
)
def test_a_plugin_at_fault(
    finder: flow.Plugin, tmp_path: Path, kind: int, error: type[flow.Error], says: str
) -> None:
    path, _ = rows_of(tmp_path, 4)
    with pytest.raises(error, match=says):
        finder.FinderReader(files=path, kind=kind)


@pytest.mark.slow
def test_a_program_that_imports_nothing_else(tmp_path):
    """What looks into files is imported when it is needed."""
    (tmp_path / "a.csv").write_text("area,label\n1.5,2\n3,4\n")
    code = """
import pyflowdata as flow

blobs = flow.CSVReader(files="a.csv", batch_size=2)
print([(blob.name, str(blob.dtype)) for blob in blobs])
try:
    flow.CSVReader(files="a.csv", columns=["lable:int64"])
except flow.InvalidArgumentError as error:
    print(error.attr)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=programs.environment(),
        capture_output=True, text=True,
    )  # fmt: skip
    wanted = "[('CSVReader/area', 'float64'), ('CSVReader/label', 'int64')]\ncolumns\n"
    assert run.stdout == wanted, run.stderr
