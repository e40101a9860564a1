"""Files that are one array of objects: records in any layout, against Python's json, and damage."""

import gzip
import json

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.formats import detect

RECORDS = [
    {"t": f'q"]}},{{[ü\\{i}', "n": i, "x": [i, {"a": "]"}], "m": {"k": i / 2}} for i in range(500)
]
LAYOUTS = {
    "plain.json": lambda: json.dumps(RECORDS),
    "indented.json": lambda: json.dumps(RECORDS, indent=2, ensure_ascii=False),
    "marked.json": lambda: "\ufeff\r\n [\n" + " ,\n".join(map(json.dumps, RECORDS)) + "\r\n]\n\n",
    "no-suffix": lambda: json.dumps(RECORDS, indent="\t", separators=("  ,", " : ")),
    "packed.json.gz": lambda: json.dumps(RECORDS, indent=1),
}


def written(path, text):
    data = text.encode(errors="surrogateescape")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_elements_of_an_array_are_the_records(tmp_path, name):
    path = written(tmp_path / name, LAYOUTS[name]())
    assert detect(path).format == "json"
    data = flow.open(path)
    assert [
        {"t": r["t"].decode(), "n": int(r["n"]), "x": json.loads(r["x"]), "m": {"k": r["m.k"]}}
        for r in data
    ] == RECORDS
    if path.suffix != ".gz":
        assert len(data) == 500 and data[377]["n"] == 377
        twin = written(tmp_path / f"twin-{name}", json.dumps(RECORDS, indent=3))
        few = flow.JSONLinesReader(files=[str(path), str(twin)], fields=["n:int64"], batch_size=8,
                                   shuffle=True, seed=4)  # fmt: skip
        with flow.DataLoader(few) as loader:
            assert sorted(np.concatenate(list(loader)).tolist()) == sorted([*range(500)] * 2)
    made = tmp_path / "made.jsonl"
    assert cli.main(["convert", str(path), str(made)]) == 0
    assert [json.loads(line) for line in made.read_text().splitlines()] == RECORDS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a":1},\n {"a":2},]', r":2 \(byte 19\): column 10: expected a value"),
        ('[{"a":1},\n {"a":2}', r":2 \(byte 11\): column 2: expected ',' or '\]' after"),
        ('[{"a":1},\n {"a":2}] x', r":2 \(byte 20\): column 11: expected the end of the file"),
        ('[{"a":1},,{"a":1}]', r":1 \(byte 9\): column 10: expected a value"),
        ('[{"a":1}}', r":1 \(byte 8\): column 9: expected ',' or '\]'"),
        ('[{"a":1},\n{"a":}]', r":2 \(byte 15\): byte 6 of the element: expected a value"),
        ('[{"a":1} {"a":2}]', r":1 \(byte 9\): byte 9 of the element: expected nothing more"),
        ('[{"a":1},\n\n3]', r":3 \(byte 11\): byte 1 of the element: expected an object, found"),
        ('[{"a":1},{', r":1 \(byte 9\): column 10: expected ',' or '\]' after"),
        ('[{"a":1},{"b":1}]', "field 'a:int64': the element has no such value"),
    ],
)
def test_damage_has_its_line_and_column(tmp_path, text, said):
    path = written(tmp_path / "x.json", text)
    with pytest.raises(flow.CorruptDataError, match=rf"x\.json{said}" if said[0] == ":" else said):
        list(flow.open(path, fields=["a:int64"]))


def test_a_damaged_element_costs_one_record_and_every_cut_is_seen(tmp_path):
    text = '[{"a":1}, {"a":"]"}, {"a":0x}, {"a":4,"b":"\udcff"}, {"a": [5]} ,{"a":6}]'
    data = flow.open(written(tmp_path / "x.json", text), fields=["a:int64"])
    with flow.DataLoader(data.batch(2, on_error="skip", max_skipped=-1).blobs) as loader:
        assert np.concatenate([batch["a"] for batch in loader]).tolist() == [1, 6]
        assert [one.byte for one in loader.skipped] == [15, 27, 43, 54]
    whole = json.dumps(RECORDS[:2], indent=1)
    for end in range(8, len(whole)):
        path = written(tmp_path / f"cut-{end}.json", whole[:end])
        with pytest.raises(flow.CorruptDataError):
            list(flow.open(path, format="json", fields=["n:int64"]))
    lines = written(tmp_path / "lines.jsonl", '{"n":1}\n')
    with pytest.raises(flow.CorruptDataError, match=r"lines\.jsonl:1 .*the first file is an array"):
        mixed = [str(written(tmp_path / "whole.json", whole)), str(lines)]
        list(flow.open(mixed, format="json", fields=["n:int64"]))


def test_an_array_without_elements_has_no_records(tmp_path):
    empty = written(tmp_path / "empty.json", "[ \n]\n")
    full = written(tmp_path / "full.json", '[{"a":1}]')
    assert detect(empty).format == "json"
    assert list(flow.open(empty, fields=["a:int64"])) == []
    for files in ([full, empty], [empty, full]):
        assert [int(r["a"]) for r in flow.open(files, fields=["a:int64"])] == [1]
    with pytest.raises(flow.InvalidArgumentError, match="as there are no records; give them"):
        flow.open(empty)


def test_one_object_over_several_lines_is_refused(tmp_path):
    path = written(tmp_path / "one.json", json.dumps({"a": 1, "b": 2}, indent=1))
    with pytest.raises(flow.CorruptDataError, match=r"no list of records: put \[ \] around"):
        flow.open(path)
