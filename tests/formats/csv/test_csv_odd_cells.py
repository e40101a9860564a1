"""A column that is of bytes because of a few cells among numbers says which they are."""

import numpy as np
import pytest

import pyflowdata as flow


def test_a_column_of_numbers_but_for_a_cell_says_so(tmp_path, capsys):
    from pyflowdata.cli import main

    path = tmp_path / "a.csv"
    rows = [f"{n},{'oo' if n == 40 else n},{'a' if n % 5 else n}" for n in range(100)]
    path.write_text("x,y,z\n" + "\n".join(rows) + "\n")
    said = "1 of the first 100 cells is text: 'oo' in line 42"
    data = flow.open(path)
    lines = str(data.take(5)).splitlines()
    assert "  x: int64" in lines and f"  y: bytes ({said})" in lines and "  z: bytes" in lines
    batch = data.shuffle(seed=1).batch(3)
    read = flow.CSVReader(files=str(path), batch_size=3)
    for x, y in ((batch["x"], batch["y"]), (read[0], read[1])):
        with pytest.raises(flow.InvalidArgumentError) as raised:
            flow.Concat(x, y)
        assert str(raised.value).endswith(
            f'y is of bytes, because {said}: for numbers state its type, as in "y:float32"'
        )
    assert "because" not in str(flow.open(path, fields=["x", "y:bytes"]))
    assert main(["verify", str(path), str(tmp_path / "b.csv")]) == 1
    out, err = capsys.readouterr()
    assert f"{path}: the column y is of bytes: {said}" in out and "100 records whole" in out
    assert "b.csv: the file is not there" in err and "usage" not in err


def test_the_lines_are_those_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f'"a\nb",{n}' for n in range(30)] + ["c,?"]
    path.write_text("about\n\nname,n\n" + "\n".join(rows) + "\n")
    data = flow.open(path, skip_header_lines=2)
    assert "n: bytes (1 of the first 31 cells is text: '?' in line 64)" in str(data)


def test_a_record_after_the_sample_names_the_argument_that_states_types(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "".join(f"{n}\n" for n in range(40_000)) + "oo\n")
    with flow.DataLoader(flow.open(path).batch(1000)["x"]) as loader:
        with pytest.raises(flow.CorruptDataError, match="fields was left out.*give fields="):
            list(loader)


def written(rows):
    """Rows as CSV, of which each 7th has quotes."""
    cells = [[f'"{c}"' if n % 7 == 0 else c for c in row] for n, row in enumerate(rows)]
    return "a,b,c,d,e\n" + "".join(",".join(row) + "\n" for row in cells)


def test_rows_that_are_not_plain_stand_among_others(tmp_path):
    rng = np.random.default_rng(3)
    rows = [[str(v) for v in rng.integers(-99, 1000, 3)] + [f"{rng.normal():.3f}", "x" * (n % 70)]
            for n in range(300)]  # fmt: skip
    for n in range(0, 300, 11):
        rows[n][n % 4] = ""
    for n in range(5, 300, 13):
        rows[n][n % 4], rows[n][4] = "NA", "NA"
    path = tmp_path / "a.csv"
    path.write_text(written(rows) + "1,2\n")
    fields = ["a:int16=-1", "b:float32=nan", "c:float32=nan", "d:float64=nan", "e:bytes=none"]
    data = flow.open(path, fields=fields, uneven_rows="allow", strict_numbers=True)
    with flow.DataLoader(data.batch(1000), num_threads=1) as loader:
        batch = dict(zip("abcde", next(iter(loader))))
    rows.append(["1", "2", "", "", ""])
    for name, default in (("a", -1), ("b", np.nan), ("c", np.nan), ("d", np.nan)):
        column = "abcd".index(name)
        wanted = [float(row[column]) if row[column] not in ("", "NA") else default for row in rows]
        np.testing.assert_array_equal(batch[name], np.array(wanted, batch[name].dtype))
    texts = [row[4].encode() for row in rows]
    quoted = [n % 7 == 0 and n < 300 for n in range(301)]
    assert batch["e"].to_bytes_list() == [
        b"none" if text in (b"", b"NA") and not q else text for text, q in zip(texts, quoted)
    ]


@pytest.mark.parametrize("bad", ["oo", "007"])
def test_the_first_of_several_rows_that_fail_is_named(tmp_path, bad):
    """Columns are read one after the other, and rows in blocks; still the first row counts."""
    rows = [["1", "2", "3", "4.5", "x"] for _ in range(300)]
    rows[90][0], rows[80][2], rows[70][1], rows[75] = bad, bad, bad, ["1"]
    path = tmp_path / "a.csv"
    path.write_text(written(rows))
    data = flow.open(path, fields=["a:int64", "b:int64", "c:int64", "d", "e"], strict_numbers=True)
    with flow.DataLoader(data.batch(1000), num_threads=1) as loader:
        with pytest.raises(flow.CorruptDataError, match="column 1 .'b'.*" + bad) as raised:
            list(loader)
    assert raised.value.line == 72
    with flow.DataLoader(data.batch(1000, on_error="skip"), num_threads=1) as loader:
        (batch,) = loader
    assert [record.line for record in loader.skipped] == [72, 77, 82, 92]
    assert len(batch[0]) == 296
