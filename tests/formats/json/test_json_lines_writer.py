"""JSONLinesWriter: values as JSON, names as keys or paths, and what JSON cannot hold."""

import json

import numpy as np
import pytest
from support.written import ragged, row_of, written

import pyflowdata as flow
from pyflowdata.io import JSONLinesWriter


def lines_of(path, *calls, **options):
    return [*map(json.loads, written(JSONLinesWriter, path, *calls, **options).splitlines())]


def test_json_numbers_are_read_back_as_they_were(tmp_path):
    doubles = np.array([0.1, 1 / 3, 1e300, -5e-324, 1.0, -0.0])
    batch = {
        "d": doubles,
        "f": doubles[:3].repeat(2).clip(-1, 1e30).astype(np.float32),
        "i": np.array([0, -1, 2**63 - 1, -(2**63), 5, 6]),
        "u": np.array([2**64 - 1] * 6, np.uint64),
        "m": np.arange(24, dtype=np.int16).reshape(6, 2, 2),
        "b": np.arange(6) % 2 == 0,
        "e": np.zeros((6, 2, 0)),
        "h": np.array([0.1] * 6, np.float16),
    }
    calls = ("write_batch", batch), ("write", row_of(batch, 0))
    data = written(JSONLinesWriter, tmp_path / "a.jsonl", *calls)
    *rows, again = map(json.loads, data.splitlines())
    assert list(rows[0]) == list(batch) and again == rows[0]
    columns = {name: [row[name] for row in rows] for name in batch}
    wanted = {name: column.tolist() for name, column in batch.items() if name not in "fh"}
    assert {name: columns[name] for name in wanted} == wanted
    assert str(columns["d"]) == str(doubles.tolist())  # 1.0 is no integer, and -0.0 has its sign
    assert np.array_equal(np.array(columns["f"], np.float32), batch["f"])
    assert b'"f":0.1,' in data and b'"h":0.1}' in data and data.endswith(b"}\n")


def test_json_texts_of_all_characters(tmp_path):
    texts = ["plain", '"', "\\", "\n\r\t\b\f\0\x1f\x7f", "é\u2028😀", "", "%s %d {"]
    batch = {"t%s": texts, '"k\n': [one.encode() for one in texts]}
    rows = lines_of(tmp_path / "a.jsonl", ("write_batch", batch))
    assert [row["t%s"] for row in rows] == [row['"k\n'] for row in rows] == texts
    loaded = ragged(b"ab", b"", "é".encode())
    assert lines_of(tmp_path / "b.jsonl", ("write_batch", {"t": loaded})) == [
        {"t": "ab"}, {"t": ""}, {"t": "é"},
    ]  # fmt: skip


def test_json_arrays_of_different_lengths(tmp_path):
    boxes = flow.Ragged(np.arange(12.0).reshape(6, 2), np.array([0, 2, 2, 6]))
    shapes = np.array([[1, 2], [0, 3], [2, 1]])
    images = flow.Ragged(
        np.arange(4), np.array([0, 2, 2, 4]), row_shape=(None, None), shapes=shapes
    )
    batch = {
        "ids": ragged([1, 2], [], [3], dtype=np.uint32), "boxes": boxes, "images": images,
        "lists": [[1, 2**60 + 1], [0.5], []], "mixed": [True, False, True],
    }  # fmt: skip
    rows = lines_of(tmp_path / "a.jsonl", ("write_batch", batch))
    assert [row["ids"] for row in rows] == [[1, 2], [], [3]]
    assert [row["boxes"] for row in rows] == boxes.to_list()
    assert [row["images"] for row in rows] == [[[0, 1]], [], [[2], [3]]]
    assert [row["lists"] for row in rows] == batch["lists"] and rows[1]["mixed"] is False


def test_json_names_are_keys_or_paths(tmp_path):
    sample = {"a.b": 1, "c": 2, "a.d": 3}
    assert lines_of(tmp_path / "a.jsonl", ("write", sample)) == [sample]
    sample["'e.f'.g"] = 4
    nested = {"a": {"b": 1, "d": 3}, "c": 2, "e.f": {"g": 4}}
    assert lines_of(tmp_path / "b.jsonl", ("write", sample), nested=True) == [nested]
    call = ("write", {"a": 1, "b": "x"})
    data = written(JSONLinesWriter, tmp_path / "c.jsonl", call, fields=["b", "a"])
    assert data == b'{"b":"x","a":1}\n'
    for names, says in (
        (["a", "a.b"], "place of another"),
        (["a.b", "a"], "place of another"),
        (["a[0]"], "no path of keys"),
        (["a..b"], "no path of keys"),
        ([], "must be a list of names"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=says):
            JSONLinesWriter(tmp_path / "d.jsonl", fields=names, nested=True)
    assert len([*tmp_path.iterdir()]) == 3


@pytest.mark.parametrize(
    "batch, says",
    [
        ({"a": [b"x", b"ab\xff"]}, r"\(record 2\): a = .* is not text in UTF-8 at its byte 2"),
        ({"a": np.array([1, np.nan])}, r"\(record 2\): a has nan, which JSON has not"),
        ({"a": ragged([1], [2, -np.inf], dtype=np.float32)}, r"\(record 2\): a has -inf"),
        ({"a": np.array([[1, 2], [np.inf, 3]])}, r"\(record 2\): a has inf"),
        ({"a": [1, None]}, r"\(record 2\): a = None; a value is a number"),
        ({"a": [{}, {}]}, r"\(record 1\): a = {}; a value is a number"),
        ({"b": [1, 2]}, r"the fields are b; those of this file are a"),
    ],
)
def test_json_values_that_do_not_fit_are_errors(batch, says, tmp_path):
    with JSONLinesWriter(tmp_path / "a.jsonl", fields=["a"]) as writer:
        writer.write({"a": 1})
        with pytest.raises(flow.InvalidArgumentError, match=rf"JSONLinesWriter.*a.jsonl.*{says}"):
            writer.write_batch(batch)
    assert (tmp_path / "a.jsonl").read_bytes() == b'{"a":1}\n'
