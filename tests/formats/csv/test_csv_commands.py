"""The commands for files on CSV files: names, types and what is no damage."""

import csv
import io
import json

import numpy as np
import pytest
from support.cli_files import convert, read
from support.command import here

import pyflowdata as flow
from pyflowdata.cli.conversion import Conversion
from pyflowdata.formats.csv import CSV


@pytest.fixture
def table(tmp_path):
    def make(text, name="a.csv"):
        (tmp_path / name).write_bytes(text.encode())
        return tmp_path / name

    return make


def test_columns_named_as_outputs_of_every_reader(here, table, tmp_path):
    path = table("id,mask,a=b:c\n1,2,3\n4,5,6\n")
    status, out, _ = here("head", "--json", path)
    assert status == 0 and json.loads(out.splitlines()[1]) == {"id": 4, "mask": 5, "a=b:c": 6}
    assert list(json.loads(here("stats", "--json", path)[1])["fields"]) == ["id", "mask", "a=b:c"]
    assert here("verify", path)[0] == 0 and here("index", path)[0] == 0
    convert(here, path, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == path.read_bytes()
    convert(here, path, tmp_path / "b.tfrecord", "--fields", "id,mask")
    assert read(tmp_path / "b.tfrecord")["id"].tolist() == [1, 4]


def names(table, text):
    data = flow.open(table(text))
    return ",".join(data.fields), repr(data)


def test_numbers_in_a_header(table):
    for text, wanted in (
        ("country,2019,2020\nfr,1,2\nde,3,4\n", "country,2019,2020"),
        ("id,0,1\na,x,y\nb,z,w\n", "id,0,1"),
        ("a,7,inf\n1,2,3\n", "a,7,inf"),
        ("nan,b\n1,2\n", "nan,b"),
        (",0,1\n0,1.5,2\n1,4,5\n", "column0,0,1"),
        ("a,,b\n1,2,3\n", "a,column1,b"),
        ("?,1,2\n3,1,5\n", "column0,column1,column2"),  # how some files write a missing value
        ("NA,3\n1,2\n", "column0,column1"),
        ("a,1,1\nb,0,0\n", "column0,column1,column2"),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", "column0,column1,column2"),
    ):
        found, said = names(table, text)
        assert found == wanted and "no header was found" not in said, text


def test_a_first_row_that_may_be_a_header(here, table, tmp_path):
    for text in ("fr,1,2\nde,3,4\n", "us,2019,2020\nfr,2018,2021\n", "temp,1e5\n1,2\n"):
        found, said = names(table, text)
        assert found.startswith("column0,column1")
        assert f"if the first row, {text.split()[0]!r}, has names, say header='yes'" in said
    path = table("fr,1\nde,3\n")
    assert "say --attr header=yes\n" in here("head", path)[2]
    assert here("head", path, "--attr", "header=no")[2] == ""


def test_a_column_without_a_name(here, table, tmp_path):
    for target in ("b.tfrecord", "b.ofrecord"):
        convert(here, table("a,,b\n1,2,3\n"), tmp_path / target)
        assert read(tmp_path / target)["column1"].tolist() == [2]


def test_what_is_said_of_types_that_were_found(table):
    late = "a,b\n" + "1,2\n" * 40000 + "1,x\n"
    for text, is_of_types in (("a,b\n1,2\n1,2,3\n", False), (late, True)):
        with pytest.raises(flow.CorruptDataError) as caught:
            for _ in flow.DataLoader(flow.CSVReader(files=table(text), batch_size=8192)):
                pass
        assert ("columns was left out" in str(caught.value)) == is_of_types


def test_more_columns_than_outputs(here, table):
    row = ",".join("1" * 4100) + "\n"
    path = table(row * 2)
    assert "2 records whole, no damage" in here("verify", path)[1]
    assert here("head", path)[2].count("a node can have 4096 outputs") == 1
    assert flow.CSVReader(files=path, columns=["0..4099:int8"]).shape == (1, 4100)
    assert "1 records whole, 1 damaged place" in here("verify", table(row + row[2:]))[1]


LATE = "a,b,c,d,e,f\n" + f"1,2,3,4,5,{'t' * 400}\n" * 300  # more than is looked at
LATE += "1.5,,9223372036854775808,01234,-0,t\n"


def test_later_rows_may_be_of_wider_types(here, table, tmp_path):
    path = table(LATE)
    assert "301 records whole, no damage" in here("verify", path)[1]
    status, out, _ = here("stats", "--json", path)
    found = json.loads(out)["fields"]
    assert status == 0 and {name: one["type"] for name, one in found.items()} == {
        "a": "float64", "b": "float64", "c": "uint64", "d": "bytes", "e": "float64",
        "f": "bytes",
    }  # fmt: skip
    assert found["b"]["nan"] == 1 and found["c"]["max"] == 2**63
    status, out, _ = here("head", "--json", path, "-n", 301)
    assert status == 0 and json.loads(out.splitlines()[-1]) == {
        "a": 1.5, "b": None, "c": 2**63, "d": "01234", "e": 0.0, "f": "t",
    }  # fmt: skip
    convert(here, path, tmp_path / "d.npy", "--fields", "c")
    assert np.load(tmp_path / "d.npy")[-1] == 2**63


def test_csv_to_csv_keeps_all_texts(here, table, tmp_path):
    text = "x[0],x[1],t\n01234,1e400,9007199254740993\n-0,1.50,NA\n"
    path = table(text)
    convert(here, path, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == text


@pytest.mark.parametrize("number", ["1e400", "9007199254740993"])
def test_a_number_that_float64_does_not_hold(number, here, table, tmp_path):
    path = table(f"a\n1.5\n{number}\n")
    status, _, err = here("convert", path, tmp_path / "b.npy")
    assert status == 1 and f"a has {number}, which float64 does not hold" in err


def test_a_default_in_the_fields(here, table, tmp_path):
    path = table("n,w\nx,1.5\ny,\n")
    convert(here, path, tmp_path / "b.npy", "--fields", "w:float32=-1")
    assert np.load(tmp_path / "b.npy").tolist() == [1.5, -1]


def test_attrs_of_the_dialect(here, table):
    path = table("n;w\nx;1.5\n")
    out = here("head", path, "--attr", "header=no")[1]
    assert "column0:bytes" in out and "2 records" in out
    assert here("head", path, "--attr", "multiline=True")[0] == 0
    status, _, err = here("head", path, "--fields", "w:float99")
    assert status == 1 and "fields: in 'w:float99', the type" in err


def test_line_breaks_far_behind(here, table):
    path = table("a,b\n" + "1,2\n" * 20000 + '"x\ny",2\n')
    assert "20001 records whole, no damage" in here("verify", path)[1]
    assert here("stats", path)[0] == 0
    path = table("a,b\n" + "1,2\n" * 20 + '"x,2\n' + "1,2\n" * 20)
    assert "40 records whole, 1 damaged place" in here("verify", path)[1]


def test_one_bad_file_leaves_the_others_to_be_checked(here, table):
    good, other = table("a,b\n1,2\n"), table("\0\1\2\3" * 9, "b")
    wide = good.with_name("c.csv")
    wide.write_text("a,b\n1,2\n", "utf-16")
    status, out, err = here("verify", other, wide, good)
    assert status == 1 and f"{good}: CSV: 1 records whole, no damage" in out
    assert "none of the supported formats" in err
    assert f"{wide}: not checked: it looks like UTF-16; convert it to UTF-8" in err


def test_files_of_other_columns(here, table):
    status, _, err = here("stats", table("a,b\n1,2\n"), table("b,a\n1,2\n", "b.csv"))
    assert status == 1 and "its columns are 'b,a'" in err


@pytest.mark.parametrize("text", ["a\n", "a,b\n"])
def test_a_header_alone(text, here, table):
    path = table(text)
    assert "0 records" in here("head", path)[1]
    assert here("verify", path)[:2] == (0, f"{path}: CSV: 0 records whole, no damage\n")


def test_jobs_are_one_at_least(here, table, tmp_path):
    assert here("convert", table("a\n1\n"), tmp_path / "b.npy", "--jobs", -1)[0] == 2


def test_damaged_streams_are_named(here, tmp_path):
    bodies = {
        "a.gz": b"\x1f\x8b\x08" + b"\xff" * 99,
        "b.gz": b"\x1f\x8b\x08\0" + b"u" * 99,
        "c.zst": b"\x28\xb5\x2f\xfd" + b"\xff" * 99,
    }
    for name, body in bodies.items():
        (tmp_path / name).write_bytes(body)
        status, out, err = here("verify", tmp_path / name)
        assert status == 1 and str(tmp_path / name) in out + err and "no damage" not in out


def test_attrs_that_the_command_makes_are_refused(here, table):
    path = table("a\n1\n")
    for attr in ("columns=a:int64", "files=b.csv"):
        status, _, err = here("head", path, "--attr", attr)
        assert status == 2 and f"--attr {attr.split('=')[0]}" in err


def test_records_pass_through_tfrecord_unchanged(here, table, tmp_path, monkeypatch):
    """Also where they come in several batches, which do not end where shards do."""
    monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 900)
    chance = np.random.default_rng(0)
    texts = ["", " a", "#", '"', "a,b", "x\ny", "é", "plain"]
    floats = [0.5, -1.5, float("inf"), float("nan"), 3.4028234663852886e38, 1e-45, -0.0]
    lines = ["i,f,t,last"]
    for row in range(300):
        text = texts[row % len(texts)].replace('"', '""')
        value = chance.standard_normal() if row % 2 else floats[row // 2 % len(floats)]
        number = int(chance.integers(-(2**63), 2**63)) >> row % 63
        lines.append(f'{number},{np.float32(value)!s},"{text}",{row}.5')
    path = table("\n".join(lines) + "\n")
    wanted = list(csv.reader(io.StringIO(path.read_text(), newline="")))
    fields = ["--fields", "i:int64,f:float32,t:bytes,last:float32"]
    convert(here, path, tmp_path / "b.tfrecord", *fields)
    convert(here, tmp_path / "b.tfrecord", tmp_path / "c.csv", "--fields", "i,f,t,last")
    found = list(csv.reader(io.StringIO((tmp_path / "c.csv").read_text(), newline="")))
    assert [[row[0], *row[2:]] for row in found] == [[row[0], *row[2:]] for row in wanted]
    pairs = [(np.float32(a[1]), np.float32(b[1])) for a, b in zip(found[1:], wanted[1:])]
    assert all(a.tobytes() == b.tobytes() or a != a and b != b for a, b in pairs)
    for shards in ("ofrecord", "csv"):
        target = tmp_path / f"d.{shards}"
        convert(here, path, target, "--shards", 7, "--jobs", 1, *fields)
        convert(here, path, tmp_path / f"e.{shards}", *fields)
        whole = (tmp_path / f"e.{shards}").read_bytes()
        parts = [one.read_bytes() for one in sorted(tmp_path.glob(f"d-*.{shards}"))]
        header = b"i,f,t,last\n" if shards == "csv" else b""
        assert len(parts) == 7 and all(part.startswith(header) for part in parts)
        assert header + b"".join(part.removeprefix(header) for part in parts) == whole


def test_stats_of_many_batches(here, table, monkeypatch):
    path = table(LATE)
    whole = json.loads(here("stats", "--json", path)[1])
    monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 5000)
    pieces = json.loads(here("stats", "--json", path)[1])
    for one, other in zip(pieces["fields"].values(), whole["fields"].values()):
        for a, b in ((one, other), (one.get("length", {}), other.get("length", {}))):
            assert a.pop("std", 0) == pytest.approx(b.pop("std", 0))  # rounded for each batch
    assert pieces == whole
    assert whole["fields"]["a"]["mean"] == 301.5 / 301 and whole["records"] == 301


# ---- The types of the first records, checked while all are read ---------------------------------

FIRST = [f"{row},{row % 7}.5,{row},{'t' * 400}" for row in range(200)]  # more than is looked at


def _convert_in_one_pass(here, monkeypatch, *arguments):
    """Converts with batches of a few rows; returns how often the types of all were looked for."""
    passes = []
    widened = CSV.widened

    def counted(*given):
        passes.append(given)
        return widened(*given)

    monkeypatch.setattr(CSV, "widened", counted)
    monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 20_000)
    convert(here, *arguments)
    monkeypatch.undo()
    return len(passes)


def test_types_of_the_first_records_that_a_later_one_refutes(here, table, tmp_path, monkeypatch):
    """What is made is that of the same files with the types said."""
    lates = {
        "01234,1.5,1,x": ["bytes", "float64", "int64", "bytes"],
        "+5,1.5,1,x": ["bytes", "float64", "int64", "bytes"],
        "-0,1.5,1,x": ["float64=nan", "float64", "int64", "bytes"],
        "7.5,1.5,1,x": ["float64=nan", "float64", "int64", "bytes"],
        ",1.5,1,x": ["float64=nan", "float64", "int64", "bytes"],
        "1,abc,1,x": ["int64", "bytes", "int64", "bytes"],
        "1,007,1,x": ["int64", "bytes", "int64", "bytes"],
        "1,007.5,1,x": ["int64", "bytes", "int64", "bytes"],
        "1,1.5, 18446744073709551616 ,x": ["int64", "float64", "bytes", "bytes"],
        '1,1.5,"01",x': ["int64", "float64", "bytes", "bytes"],
    }
    head = "\n".join(["a,b,c,d", *FIRST])
    for number, (late, types) in enumerate(lates.items()):
        fields = ",".join(f"{name}:{one}" for name, one in zip("abcd", types))
        given = [table(f"{head}\n{late}\n", f"{number}.csv")]
        if number % 2:
            given = [table(head + "\n", "first.csv"), table(f"a,b,c,d\n{late}\n", "last.csv")]
        options = ["--shards", 3, "--jobs", 1] if number % 4 < 2 else []
        made = [tmp_path / f"{kind}{number}.ofrecord" for kind in ("found", "said")]
        assert _convert_in_one_pass(here, monkeypatch, *given, made[0], *options) == 1, late
        convert(here, *given, made[1], "--fields", fields, *options)
        names = [sorted(tmp_path.glob(f"{path.stem}*.ofrecord")) for path in made]
        assert len(names[0]) == len(names[1]) == (3 if options else 1)
        assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*names)), late
        assert not list(tmp_path.glob(".*"))


def test_types_of_the_first_records_that_hold_all(here, table, tmp_path, monkeypatch):
    """One pass finds them, whatever is unusual in the rest but of the same type."""
    rest = ["-9223372036854775808,1e5,12345678901234567,", " 5 ,-0.0,0,01", '"6",.5,-7,"x,y"']
    rest += ["9,nan,8,", "9,5.,8,", "9,inf,8,", "9,,8,", "9,0,8,", "9,0.1234567890123456789,8,x"]
    path = table("\n".join(["a,b,c,d", *FIRST, *rest]) + "\n")
    made = tmp_path / "found.ofrecord", tmp_path / "said.ofrecord"
    assert _convert_in_one_pass(here, monkeypatch, path, made[0]) == 0
    convert(here, path, made[1], "--fields", "a:int64,b:float64=nan,c:int64,d:bytes")
    assert made[0].read_bytes() == made[1].read_bytes()


def test_numbers_that_float64_does_not_hold_far_behind(here, table, tmp_path, monkeypatch):
    for late in ("9007199254740993", "1e400"):
        path = table("\n".join(["a,b,c,d", *FIRST, f"1,{late},1,x"]) + "\n")
        monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 20_000)
        status, _, err = here("convert", path, tmp_path / "b.npy", "--fields", "b")
        assert status == 1 and f"b has {late}, which float64 does not hold" in err
        assert not list(tmp_path.glob(".*")) and not (tmp_path / "b.npy").exists()
        found = json.loads(here("stats", "--json", path)[1])["fields"]["b"]
        assert found["type"] == "float64" and found["count"] == 201


def test_other_words_for_missing_values_are_text(here, table, tmp_path, monkeypatch):
    """As long as the types are guessed: the reader would take them for missing values."""
    path = table("\n".join(["a,b,c,d", *FIRST, "1,none,1,x"]) + "\n")
    monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 20_000)
    found = json.loads(here("stats", "--json", path, "--attr", "missing=none")[1])["fields"]
    assert found["b"]["type"] == "bytes"


def test_a_conversion_that_was_refuted_goes_on(here, table, tmp_path, monkeypatch):
    """Shards that were made with the types of all records are kept; others of the same types,
    too."""
    monkeypatch.setattr("pyflowdata.formats.base.source._BATCH_BYTES", 20_000)
    done = []
    note = Conversion.note

    def stopping(self, number, records):
        note(self, number, records)
        done.append((number, [field.dtype for field in self.source.fields]))
        if len(done) == stops:
            raise KeyboardInterrupt

    for late, stops, first, told in (
        ("1,1.5,1,x", 2, "int64", [0, 1, 2, 3]),
        # Two shards with the types of the first records, three with those of all, and the rest.
        ("01234,1.5,1,x", 6, "bytes", [0, 1, 2, 0, 1, 2, 3]),
    ):
        done.clear()
        path, target = table("\n".join(["a,b,c,d", *FIRST, late]) + "\n"), tmp_path / "b.ofrecord"
        monkeypatch.setattr(Conversion, "note", stopping)
        arguments = ("convert", path, target, "--shards", 4, "--jobs", 1, "--overwrite")
        assert here(*arguments)[0] == 130
        status, _, err = here(*arguments)
        assert status == 0 and f"{3 if stops == 6 else 2} of 4 shards are there already" in err
        assert [number for number, _ in done] == told and done[-1][1][0] == first
        assert len(list(tmp_path.glob("b-*.ofrecord"))) == 4 and not list(tmp_path.glob(".*"))
