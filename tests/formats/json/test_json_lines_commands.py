"""JSON lines in commands: fields of the first records, conversions, and odd names."""

import gzip
import json

import numpy as np
import pytest
from support.cli_files import convert, read
from support.command import here

import pyflowdata as flow
from pyflowdata.formats import open_source
from pyflowdata.io import JSONLinesWriter

RECORDS = [
    {"text": "né", "n": 1, "x": 1, "ok": True, "meta": {"lang": "en", "a": {"b": 2}}, "ids": [1]},
    {"text": "", "n": -2, "x": 2.5, "ok": False, "meta": {"lang": "de", "a": {"b": 3}}, "ids": []},
    {"text": 'q"\n', "n": 3, "x": 1e3, "ok": True, "meta": {"lang": "", "a": {"b": 4}},
     "ids": [2, 3]},
]  # fmt: skip
SPECS = ["text:bytes", "n:int64", "x:float64=nan", "ok:bool", "meta.lang:bytes",
         "meta.a.b:int64", "ids:int64[?]"]  # fmt: skip


@pytest.fixture
def lines(tmp_path):
    """Writes records, or lines as they are, as a file."""

    def make(records, name="a.jsonl"):
        texts = [one if isinstance(one, str) else json.dumps(one) for one in records]
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
        return tmp_path / name

    return make


def specs_of(path):
    source = open_source([path])
    return [field.spec(field.name) for field in source.fields], list(source.left_out)


def test_fields_of_the_first_records(lines):
    path = lines(RECORDS)
    assert specs_of(path) == (SPECS, [])
    blobs = flow.JSONLinesReader(files=path, batch_size=3)
    assert blobs[0].node.values["fields"] == SPECS
    data = flow.open(path)
    assert list(data.fields) == [one.split(":")[0] for one in SPECS]
    assert [bytes(data[row]["text"]).decode() for row in range(3)] == [
        one["text"] for one in RECORDS
    ]
    assert data[2]["ids"].tolist() == [2, 3] and data[1]["meta.a.b"] == 3


def test_types_that_numbers_need(lines):
    first = {"u": 2**64 - 1, "i": -(2**63), "e": 1e2, "f": 1, "b": [[1, 2]], "bools": [True]}
    second = {"u": 0, "i": 5, "e": 1, "f": None, "b": [], "bools": []}
    wanted = ["u:uint64", "i:int64", "e:float64=nan", "f:float64=nan", "b:int64[?,2]",
              "bools:bool[?]"]  # fmt: skip
    path = lines([first, second])
    assert specs_of(path) == (wanted, [])
    found = read(path)
    assert found["u"].tolist() == [2**64 - 1, 0] and found["i"].tolist() == [-(2**63), 5]
    assert found["f"][0] == 1 and np.isnan(found["f"][1])
    assert found["b"] == [[[1, 2]], []] and found["bools"] == [[True], []]


@pytest.mark.parametrize(
    "record, other, said",
    [
        ({"a": 1}, {"a": "x"}, "a, which is an integer and a string"),
        ({"a": [1]}, {"a": 1}, "a, which is an array of integers and an integer"),
        ({"a": {"b": 1}}, {"a": 2}, "a, which is an object and an integer"),
        ({"a": None}, {"a": None}, "a, which is null"),
        ({"a": []}, {"a": []}, "a, which is an array without elements"),
        ({"a": 2**64}, {"a": 0}, "a, which is an integer from 0 to 18446744073709551616"),
        ({"a": -1}, {"a": 2**63}, "a, which is an integer from -1 to 9223372036854775808"),
        ({"a": True}, {}, 'a, which 1 of 2 records lack: say what they get, as in "a:bool=false"'),
        ({"a": 2**60 + 1}, {}, 'a, which 1 of 2 records lack: .* "a:int64=0"'),
    ],
)
def test_values_that_are_no_fields(record, other, said, lines, here):
    path = lines([{"k": 1, **record}, {"k": 2, **other}])
    status, out, err = here("head", "--json", path)
    assert status == 0 and [json.loads(one)["k"] for one in out.splitlines()] == [1, 2]
    assert f"left out: {said.partition('.*')[0]}" in err
    with pytest.raises(flow.InvalidArgumentError, match=f"left out, and {said.split(',')[0]}, wh"):
        flow.JSONLinesReader(files=path, batch_size=1)
    status, _, err = here("convert", path, path.with_suffix(".tfrecord"), "--quiet")
    assert status != 0 and "would be lost; choose the fields by data.project" in err


def test_arrays_of_anything_are_texts_of_json(lines, here, tmp_path):
    tags = {"s": ["x", 'é"'], "o": [{"b": 1}], "mixed": [1, "a", None], "uneven": [[1], [2, 3]]}
    records = [{"k": 1, "m": tags}, {"k": 2, "m": {"s": [], "o": None}}]
    path = lines(records)
    assert specs_of(path) == (
        ["k:int64", "m.s:json", "m.o:json=null", "m.mixed:json=null", "m.uneven:json=null"], [],
    )  # fmt: skip
    found = read(path)
    assert [*map(json.loads, found["m.s"])] == [["x", 'é"'], []]
    assert [*map(json.loads, found["m.mixed"])] == [[1, "a", None], None]
    with flow.DataLoader(flow.open(path).batch(2)) as loader:
        (batch,) = loader
    assert batch[2].to_bytes_list() == [b'[{"b": 1}]', b"null"]
    for name in ("b.jsonl", "b.mds"):
        convert(here, path, tmp_path / name)
    again = [*map(json.loads, (tmp_path / "b.jsonl").read_text().splitlines())]
    assert again == [records[0], {"k": 2, "m": {"s": [], "o": None, "mixed": None, "uneven": None}}]
    (shard,) = json.loads((tmp_path / "b.mds" / "index.json").read_text())["shards"]
    assert shard["column_encodings"] == ["int64", "json", "json", "json", "json"]
    with pytest.raises(flow.InvalidArgumentError, match="t = b'{' is no JSON"):
        with JSONLinesWriter(tmp_path / "c.jsonl", texts=["t"]) as writer:
            writer.write({"t": "{"})


def test_texts_and_arrays_that_some_records_lack_are_empty(lines):
    path = lines([{"a": [1], "b": [[1.5, 2]]}, {"a": None}], "arrays.jsonl")
    assert specs_of(path)[0] == ["a:int64[?]=", "b:float64[?,2]="]
    assert read(path) == {"a": [[1], []], "b": [[[1.5, 2]], []]}
    path = lines([{"t": "a", "m": {"n": "x"}}, {"m": None}, {"t": None, "m": {}}])
    assert specs_of(path)[0] == ["t:bytes=", "m.n:bytes="]
    assert read(path) == {"t": [b"a", b"", b""], "m.n": [b"x", b"", b""]}


def test_types_of_named_fields(lines):
    path = lines(RECORDS)
    fields = ["meta.lang", "first=ids[0]:int64=-1", "x", "b=meta.a.b"]
    lang, first, x, b = flow.JSONLinesReader(files=path, fields=fields, batch_size=3)
    assert lang.node.values["fields"] == [
        "meta.lang:bytes", "first=ids[0]:int64=-1", "x:float64=nan", "b=meta.a.b:int64",
    ]  # fmt: skip
    with flow.DataLoader({"first": first, "b": b, "x": x}) as loader:
        batch = next(iter(loader))
    assert batch["first"].tolist() == [1, -1, 2] and batch["b"].tolist() == [2, 3, 4]
    assert batch["x"].tolist() == [1, 2.5, 1000]
    with pytest.raises(flow.InvalidArgumentError, match="'nope': no record of the first 3 has"):
        flow.JSONLinesReader(files=path, fields=["text", "nope"], batch_size=1)
    with pytest.raises(flow.InvalidArgumentError, match="meta, which is an object"):
        flow.JSONLinesReader(files=path, fields=["meta"], batch_size=1)
    for wrong in ([1], ["text", 1], 1):
        with pytest.raises(flow.InvalidArgumentError, match="'fields' = .*; it must be a list of"):
            flow.JSONLinesReader(files=path, fields=wrong, batch_size=1)


def test_odd_names(lines, here, tmp_path):
    record = {"a.b": 1, "a": {"b": 2}, "it's": 3, "x[0]": 4, "k:l": 5, "id": 6, "": 7, "a b": 8}
    path = lines([record, record])
    names = ["'a.b'", "a.b", "'it''s'", "'x[0]'", "'k:l'", "id", "''", "a b"]
    assert [field.name for field in open_source([path]).fields] == names
    more = lines([record | {"a=b": 1, "\0": 2}], "more.jsonl")
    said = [f"{name!r}, whose name no list of fields can have" for name in ("'a=b'", "\0")]
    assert list(open_source([more]).left_out) == said
    found = read(path)
    assert [found[name].tolist() for name in names] == [[n, n] for n in range(1, 9)]
    convert(here, path, tmp_path / "b.jsonl")
    assert [*map(json.loads, (tmp_path / "b.jsonl").read_text().splitlines())] == [record] * 2


def test_conversions_there_and_back(lines, here, tmp_path):
    path = lines(RECORDS)
    convert(here, path, tmp_path / "b.jsonl.gz")
    with gzip.open(tmp_path / "b.jsonl.gz", "rt") as file:
        assert [*map(json.loads, file)] == RECORDS
    flat = [{k: v for k, v in one.items() if k in ("text", "n", "x")} for one in RECORDS]
    flat[1]["text"] = "empty"
    path = lines(flat, "flat.jsonl")
    convert(here, path, tmp_path / "c.csv")
    convert(here, tmp_path / "c.csv", tmp_path / "d.jsonl")
    assert [*map(json.loads, (tmp_path / "d.jsonl").read_text().splitlines())] == flat
    convert(here, lines(RECORDS), tmp_path / "e.tfrecord", "--float32", "--fields",
            "text,n,x,meta.lang,ids")  # fmt: skip
    convert(here, tmp_path / "e.tfrecord", tmp_path / "f.jsonl")
    again = [*map(json.loads, (tmp_path / "f.jsonl").read_text().splitlines())]
    assert [one["meta.lang"] for one in again] == ["en", "de", ""]  # a name, and no path
    assert [(one["text"], one["n"], one["x"], one["ids"]) for one in again] == [
        (one["text"], one["n"], one["x"], one["ids"]) for one in RECORDS
    ]


def test_types_of_later_records(lines, here, tmp_path):
    path = lines([*[{"n": 1, "pad": "x" * 50}] * 2000, {"n": 1.5, "pad": ""}])
    with pytest.raises(flow.CorruptDataError, match=r"a.jsonl:2001.*expected an integer"):
        for _ in flow.DataLoader(flow.JSONLinesReader(files=path, batch_size=512)):
            pass
    convert(here, path, tmp_path / "b.csv", "--fields", "n")
    assert (tmp_path / "b.csv").read_text().split()[-2:] == ["1.0", "1.5"]
    assert json.loads(here("stats", "--json", path)[1])["fields"]["n"]["max"] == 1.5


def test_damage_and_empty_files(lines, here, tmp_path):
    assert here("verify", lines(RECORDS))[0] == 0
    status, out, _ = here("verify", lines([*['{"a": 1}'] * 5, '{"a": '], "bad.jsonl"))
    assert status == 1 and "bad.jsonl:6" in out
    assert here("verify", lines(["", "  "], "none.jsonl"))[0] == 0
    status, out, err = here("head", "--format", "json", lines(["no", "[1]"], "no.jsonl"))
    assert status != 0 and "no.jsonl: no line of the first ones is JSON" in err
    with pytest.raises(flow.InvalidArgumentError, match="no record to find the fields in"):
        flow.JSONLinesReader(files=tmp_path / "none.jsonl", batch_size=1)


def test_a_first_record_that_is_longer_than_the_sample(lines):
    path = lines([{"text": "x" * 200_000, "n": 1}, {"text": "", "n": 2}])
    assert specs_of(path) == (["text:bytes", "n:int64"], [])
    assert read(path)["n"].tolist() == [1, 2]


@pytest.mark.parametrize("field, rows", [
    ("t=tags[0]:bytes=", [b"a", b""]), ("tags:json", [b'["a", 1]', b"[]"]),
    ("w=v:json", [b"[1, 2]", b"[3, 4]"]), ("v:int8", [[1, 2], [3, 4]]),
    ("d=no:str=1:2", [b"1:2"] * 2),
])  # fmt: skip
def test_fields_are_opened_as_the_reader_takes_them(lines, field: str, rows: list[object]) -> None:
    path = lines(['{"tags": ["a", 1], "v": [1, 2]}', '{"tags": [], "v": [3, 4]}'])
    data = flow.open(path, fields=[field])
    (name,) = data.fields
    found = [data[row][name] for row in range(2)]
    assert found == rows if isinstance(rows[0], bytes) else np.array_equal(found, rows)
    with pytest.raises(flow.InvalidArgumentError, match=r"tags:str\[\?\]"):
        flow.open(path, fields=["tags:str[?]"])
    assert flow.open(path, fields=["n=v"])[1]["n"].tolist() == [3, 4]
