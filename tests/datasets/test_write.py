"""`data.write(path)`: files of a data set as NumPy, csv, json and pyarrow read them."""

import csv
import importlib
import json

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.errors import CorruptDataError, FileError, InvalidArgumentError, UserFunctionError

ROWS = 3000


@pytest.fixture
def columns():
    rng = np.random.default_rng(7)
    return {
        "x": rng.random((ROWS, 3), np.float32),
        "n": rng.integers(-(1 << 40), 1 << 40, ROWS),
        "t": [f"row {number}, ä" * (number % 4) for number in range(ROWS)],
    }


def of_others(path, columns):
    """The columns of a file as another program reads them."""
    if path.suffix == ".jsonl":
        rows = list(map(json.loads, path.read_text().splitlines()))
        return {name: [row[name] for row in rows] for name in columns}
    if path.suffix == ".csv":
        rows = list(csv.DictReader(path.open(newline="")))
        return {"n": [int(row["n"]) for row in rows], "t": [row["t"] for row in rows]}
    pyarrow = pytest.importorskip("pyarrow")
    if path.suffix == ".parquet":
        parquet = importlib.import_module("pyarrow.parquet")
        table = parquet.ParquetFile(path, page_checksum_verification=True).read()
    else:
        table = pyarrow.ipc.open_file(path).read_all()
    return {name: table[name].to_pylist() for name in columns}


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv", "all.arrow", "all.parquet"])
def test_other_programs_read_the_records_in_their_order(tmp_path, columns, name):
    order = np.random.default_rng(3).permutation(ROWS)[:1000]
    data = flow.from_arrays(columns).select(order)
    if name == "all.csv":
        data = data.project(["n", "t"])
    is_table = name in ("all.arrow", "all.parquet")
    options = {"columns": {"t": "str"}, "compression": "zstd"} if is_table else {}
    assert data.write(tmp_path / name, **options) == (tmp_path / name,)
    found = of_others(tmp_path / name, columns)
    assert found["n"] == columns["n"][order].tolist()
    assert found["t"] == [columns["t"][at] for at in order]
    if "x" in found:
        assert np.array_equal(np.array(found["x"], np.float32), columns["x"][order])
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_views_functions_and_ops_are_written_as_a_loop_gives_them(tmp_path, columns):
    data = flow.from_arrays(columns).where("n > 0").shuffle(seed=5)
    data = data.map(lambda r: {"n": r["n"] // 2}).map(flow.Affine, "x", scale=2.0).project("n")
    data.write(tmp_path / "n.npy")
    found = np.load(tmp_path / "n.npy")
    assert found.tolist() == [record["n"] for record in data]
    assert sorted(found) == sorted(columns["n"][columns["n"] > 0] // 2)


def test_shards_hold_all_records_in_turn(tmp_path, columns):
    data = flow.from_arrays(columns).project("n")
    files = data.write(tmp_path / "n.npy", shard_records=1300)
    assert [path.name for path in files] == [f"n-{i:05d}-of-00003.npy" for i in range(3)]
    shards = [np.load(path) for path in files]
    assert list(map(len, shards)) == [1300, 1300, 400]
    assert np.array_equal(np.concatenate(shards), columns["n"])
    for path in files:
        path.unlink()
    data.write(tmp_path / "n.npy")
    (tmp_path / "part").mkdir()  # neither a shard nor one file
    data.write(tmp_path / "part", format="npy", shard_records=2000)
    with pytest.raises(FileError, match=r"n.npy: it is there already.*overwrite=True"):
        data.write(tmp_path / "n.npy", shard_records=1000)
    data.write(tmp_path / "n.npy", shard_records=2000, overwrite=True)
    assert sorted(path.name for path in tmp_path.glob("n*")) == [
        "n-00000-of-00002.npy", "n-00001-of-00002.npy"
    ]  # fmt: skip


def test_images_become_a_folder_of_classes(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (6, 5, 4, 3)).astype(np.uint8)
    data = flow.from_arrays({"image": pixels, "label": [2, 0, 1, 0, 2, 1], "score": np.ones(6)})
    with pytest.raises(InvalidArgumentError, match=r"score has no place .*data\.project"):
        data.write(tmp_path / "folder", format="imagefolder")
    data.project(["image", "label"]).write(tmp_path / "folder", format="imagefolder")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["0", "1", "2"]
    assert len(list((tmp_path / "folder").glob("*/*.jpg"))) == 6


def test_classes_keep_the_names_that_their_files_have(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (4, 5, 4, 3)).astype(np.uint8)
    own = flow.from_arrays({"image": pixels, "label": [0, 1, 2, 1]})
    for names in (["cat", "dog", "emu"], ["ant", "bee", "cat"]):
        own.write(tmp_path / names[0], format="imagefolder", classes=names)
    cats, ants = flow.open(tmp_path / "cat"), flow.open(tmp_path / "ant")
    numbered = ["0", "1", "2"]
    made = {
        "same": (cats.shuffle(seed=1).where("label != 1").concat(cats), ["cat", "dog", "emu"]),
        "others": (cats.concat(ants), numbered),  # a number has no one name
        "changed": (cats.map(lambda r: {"label": 2 - r["label"]}), numbered),
    }
    for name, (data, classes) in made.items():
        data.write(tmp_path / name, format="imagefolder")
        assert sorted(one.name for one in (tmp_path / name).iterdir()) == classes
    assert len(list((tmp_path / "same/dog").iterdir())) == 2
    cats.write(tmp_path / "given", format="imagefolder", classes=["x", "y", "z"])
    assert len(list((tmp_path / "given/y").iterdir())) == 2


def test_an_mds_folder_without_records_is_one(tmp_path):
    flow.from_arrays({"x": [1, 2]}).where("x > 2").write(tmp_path / "none", format="mds")
    with pytest.raises(InvalidArgumentError, match="as there are no records; give them"):
        flow.open(tmp_path / "none")
    data = flow.open(tmp_path / "none", fields=["x:int64"])
    assert list(data) == [] and "Mosaic MDS" in repr(data)


def test_a_data_set_without_records_keeps_its_types(tmp_path, columns):
    data = flow.from_arrays(columns).where("n > 1e15").project("x")
    data.write(tmp_path / "x.npy")
    found = np.load(tmp_path / "x.npy")
    assert (found.shape, found.dtype) == ((0, 3), np.float32)


def test_a_failure_leaves_no_file_and_a_file_is_not_replaced(tmp_path, columns):
    data = flow.from_arrays(columns)
    failing = data.map(lambda r: {"n": 1 // int(r["n"] - columns["n"][2500])})
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        failing.write(tmp_path / "n.arrow")
    assert list(tmp_path.iterdir()) == []
    data.write(tmp_path / "n.arrow")
    with pytest.raises(FileError, match="overwrite=True"):
        data.take(3).write(tmp_path / "n.arrow")
    assert len(flow.open(tmp_path / "n.arrow")) == ROWS
    data.take(3).write(tmp_path / "n.arrow", overwrite=True)
    assert len(flow.open(tmp_path / "n.arrow")) == 3


def test_a_file_can_be_replaced_by_its_own_records(tmp_path, columns):
    path = tmp_path / "n.jsonl"
    flow.from_arrays(columns).write(path)
    flow.open(path).where("n < 0").write(path, overwrite=True)
    assert [json.loads(line)["n"] for line in path.open()] == [n for n in columns["n"] if n < 0]


def test_damaged_records_are_left_out_where_the_data_set_says_so(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "".join(f"{'x' if n == 700 else n}\n" for n in range(1000)))
    data = flow.open(path, fields=["n:int64"])
    with pytest.raises(CorruptDataError, match=r"a\.csv:702.*skip_damaged"):
        data.write(tmp_path / "n.npy")
    data.skip_damaged().write(tmp_path / "n.npy")
    assert np.load(tmp_path / "n.npy").tolist() == [n for n in range(1000) if n != 700]


@pytest.mark.parametrize(
    "make, options, says",
    [
        (lambda data: data, {"path": "a.xyz"}, "does not say the format; say format=, one of"),
        (lambda data: data, {"path": "a.parquet", "compresion": "zstd"}, "mean 'compression'"),
        (lambda data: data, {"path": "a.parquet", "level": 40}, "level = 40"),
        (lambda data: data, {"path": "a.onerec"}, "OneRec is read and not written"),
        (lambda data: data, {"path": "a.npy"}, r"one field, and there are x, n, t.*data\.project"),
        (lambda data: data, {"path": "a", "format": "jsn"}, "format = 'jsn'; it must be one of"),
        (lambda data: data, {"path": 3}, r"write\(3\): give the name"),
        (lambda data: data.repeat(), {"path": "a.arrow"}, r"repeat\(\) has no end"),
        (lambda data: data.map(flow.Cast, "x", dtype="float64"), {"path": "a.tfrecord"},
         r"x is float64.*data\.map\(flow\.Cast"),
        (lambda data: data.project("x"), {"path": "a/", "format": "imagefolder",
                                          "shard_records": 3}, "image"),
        (lambda data: data.project("n"), {"path": "a.npy", "shard_records": 0}, "shard_records"),
        (lambda data: data, {"path": "a.arrow", "compression": "zip"}, "compression = 'zip'"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_said_before_anything_is_read(
    tmp_path, monkeypatch, columns, make, options, says
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=says):
        make(flow.from_arrays(columns)).write(**options)
    assert list(tmp_path.iterdir()) == []


def test_what_is_text_in_the_files_stays_text(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = importlib.import_module("pyarrow.parquet")
    rows = [
        {"id": i, "text": f"row {i}, ä", "meta": {"lang": "de"}, "tags": ["a"] * i}
        for i in range(4)
    ]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = flow.open(source)
    data.where("id > 0").shuffle(seed=1).write(tmp_path / "a.parquet")
    types = {one.name: str(one.type) for one in pq.read_schema(tmp_path / "a.parquet")}
    assert types == {"id": "int64", "text": "string", "meta.lang": "string", "tags": "string"}

    data.write(tmp_path / "again.jsonl")
    assert [json.loads(line) for line in (tmp_path / "again.jsonl").open()] == rows

    (tmp_path / "a.csv").write_text("word,n\nbœuf,1\nä,2\n")
    (tmp_path / "a.txt").write_text("é" * 3000 + "\n")
    (tmp_path / "latin.csv").write_bytes(b"word,n\nb\xe9,1\n")
    for name, kind in (("a.csv", "string"), ("a.txt", "string"), ("latin.csv", "binary")):
        flow.open(tmp_path / name).shuffle(seed=1).write(tmp_path / f"{name}.parquet")
        assert str(pq.read_schema(tmp_path / f"{name}.parquet").types[0]) == kind
    later = tmp_path / "later.csv"
    later.write_bytes(b"word,n\n" + b"a,1\n" * 30_000 + b"b\xe9,2\n")
    with pytest.raises(InvalidArgumentError, match=r"30000.*say columns=\{'word': 'bytes'\}"):
        flow.open(later).write(tmp_path / "later.parquet")

    table = pa.table({
        "t": ["x", "y"], "b": [b"\xff", b""], "s": [{"t": "u", "b": b"\xfe"}] * 2,
        "d": pa.array(["k", "l"]).dictionary_encode(), "l": pa.array(["m", "n"], pa.large_string()),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    flow.open(tmp_path / "t.parquet").concat(flow.open(tmp_path / "t.parquet")).write(
        tmp_path / "t.arrow"
    )
    written = pa.ipc.open_file(tmp_path / "t.arrow").read_all()
    assert {one.name: str(one.type) for one in written.schema} == {
        "t": "string", "b": "binary", "s.t": "string", "s.b": "binary", "d": "string",
        "l": "string",
    }  # fmt: skip
    assert written["b"].to_pylist() == [b"\xff", b""] * 2
    flow.open(tmp_path / "t.arrow").write(tmp_path / "b.parquet", columns={"t": "bytes"})
    assert str(pq.read_schema(tmp_path / "b.parquet").field("t").type) == "binary"


def test_columns_that_no_row_can_have_are_told(tmp_path):
    pa = pytest.importorskip("pyarrow")
    importlib.import_module("pyarrow.parquet").write_table(
        pa.table({"x": [1, 2], "none": pa.nulls(2)}), tmp_path / "t.parquet"
    )
    with pytest.warns(UserWarning, match="Left out: none"):
        flow.open(tmp_path / "t.parquet").write(tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").tolist() == [1, 2]


def test_options_of_a_writer_have_their_effect(tmp_path):
    data = flow.from_arrays({"a": [1, 2], "b": [3, 4]})
    data.write(tmp_path / "x.csv", delimiter=";", columns=["b", "a"])
    assert (tmp_path / "x.csv").read_text() == "b;a\n3;1\n4;2\n"
    data.write(tmp_path / "y.csv", header=False)
    assert (tmp_path / "y.csv").read_text() == "1,3\n2,4\n"
    data.write(tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_text() == "a\tb\n1\t3\n2\t4\n"
    for name, options, says in (
        ("z.csv", {"header": "no"}, "header = 'no'; it must be True or False"),
        ("z.csv", {"columns": ["a"]}, "the fields are a, b; those of this file are a"),
        ("z.parquet", {"columns": {"c": "int64"}}, "there is no field 'c'"),
        ("z.parquet", {"batch_records": 3}, "has no option 'batch_records'"),
    ):
        with pytest.raises(InvalidArgumentError, match=says):
            data.write(tmp_path / name, **options)

    pixels = np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)
    images = flow.from_arrays({"image": pixels, "label": [0, 1]})
    images.write(tmp_path / "i.tfrecord", images={"image": "png"})
    found = flow.ImageDecoder(flow.open(tmp_path / "i.tfrecord").batch(2)["image"])
    with flow.DataLoader(found) as loader:
        assert np.array_equal(np.asarray(next(iter(loader))), pixels)


def test_names_in_quotes_stay_as_they_are(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = importlib.import_module("pyarrow.parquet")
    path = tmp_path / "q.parquet"
    names = ["a.b", "it's", "", "plain", "x[0]"]
    pq.write_table(pa.table({name: [1, 2] for name in names}), path)
    for _ in range(3):
        flow.open(path).write(path, overwrite=True)
        assert pq.read_schema(path).names == names


def test_an_integer_that_a_float_cannot_hold_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    for number in (2**53 + 1, 2**63 - 1, -(2**53) - 1):
        with pytest.raises(InvalidArgumentError, match="int64 do not fit into float64"):
            flow.from_arrays({"n": [number]}).write(tmp_path / "n.arrow", columns={"n": "float64"})
    flow.from_arrays({"n": [2**53, -(2**63)]}).write(
        tmp_path / "n.arrow", columns={"n": "float64"}
    )
