"""A column that is of bytes because of a few cells among numbers says which they are."""

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
