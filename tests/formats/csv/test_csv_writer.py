"""CSVWriter: numbers as texts, quotes, and rows that do not fit."""

import csv
import io

import numpy as np
import pytest
from support.written import ragged, row_of, written

import pyflowdata as flow
from pyflowdata.io import CSVWriter


def test_csv_numbers_are_read_back_as_they_were(tmp_path):
    doubles = np.array([0.1, 1 / 3, 1e30, -5e-324, np.nan, -np.inf])
    batch = {
        "d": doubles,
        "f": doubles[:3].repeat(2).astype(np.float32),
        "i": np.array([0, -1, 2**63 - 1, -(2**63), 5, 6]),
        "m": np.arange(12, dtype=np.int16).reshape(6, 2),
        "b": np.arange(6) % 2 == 0,
    }
    with CSVWriter(tmp_path / "a.csv") as writer:
        writer.write_batch(batch)
        writer.write(row_of(batch, 0))
    with open(tmp_path / "a.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["d", "f", "i", "m[0]", "m[1]", "b"]
    columns = [*zip(*rows, strict=True)]
    assert np.array_equal(np.array(columns[0][:6], float), doubles, equal_nan=True)
    assert np.array_equal(np.array(columns[1][:6], np.float32), batch["f"])
    assert [*map(int, columns[2][:6])] == batch["i"].tolist()
    assert columns[1][0] == "0.1" and columns[4][:3] == ("1", "3", "5")
    assert rows[6] == rows[0]


def test_csv_quotes_what_needs_it(tmp_path):
    texts = ["plain", 'a"b', "a,b", "a\nb", "", " a", "a ", "#a", "é", "\r", "a;b"]
    with CSVWriter(tmp_path / "a.csv") as writer:
        writer.write_batch({"t,1": texts, "n": np.arange(11)})
        writer.write({"n": 11, "t,1": b"\xff"})
    data = (tmp_path / "a.csv").read_bytes()
    assert data.startswith(b'"t,1",n\nplain,0\n"a""b",1\n') and data.endswith(b"\xff,11\n")
    rows = [*csv.reader(io.StringIO(data.decode("latin-1"), newline=""))]
    assert [row[0].encode("latin-1").decode() for row in rows[1:-1]] == texts


def test_csv_without_header_with_another_delimiter(tmp_path):
    options = {"header": False, "delimiter": ";", "columns": ["b", "a"]}
    call = ("write", {"a": 1, "b": "x;y"})
    assert written(CSVWriter, tmp_path / "a", call, **options) == b'"x;y";1\n'


@pytest.mark.parametrize(
    "given, says",
    [
        ({"a": np.arange(3), "c": np.arange(3)}, r"fields are a, c; those of this file are a, b"),
        ({"a": np.arange(2), "b": np.zeros((2, 2))}, "those of this file are of"),
        ({"a": np.arange(2), "b": ragged([1], [2], dtype=np.int64)}, "have no columns; pad"),
        ({"a": np.arange(2), "b": [{}, {}]}, "b has rows that are neither"),
    ],
)
def test_csv_rows_that_do_not_fit_are_errors(given, says, tmp_path):
    with CSVWriter(tmp_path / "a.csv") as writer:
        writer.write({"a": 1, "b": 2})
        with pytest.raises(flow.InvalidArgumentError, match=rf"a.csv \(record 1\): .*{says}"):
            writer.write_batch(given)
    assert (tmp_path / "a.csv").read_bytes() == b"a,b\n1,2\n"
