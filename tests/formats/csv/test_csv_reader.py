"""CSVReader: fields, columns, types, missing values, and what is said where a file is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.oracle import fewer

import pyflowdata as flow


def read(
    path: Path | str, columns: list[str], batch_size: int = 6, **attrs: object
) -> list[list[object]]:
    """One epoch: a list of rows for each column; bytes for ragged ones."""
    blobs = flow.CSVReader(files=path, columns=columns, batch_size=batch_size, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    out: list[list[object]] = [[] for _ in blobs]
    with flow.DataLoader(*blobs) as loader:
        for batch in loader:
            for rows, part in zip(out, batch if len(blobs) > 1 else (batch,), strict=True):
                ragged = isinstance(part, flow.Ragged)
                rows.extend(bytes(row) if ragged else row for row in part)
    return out


@pytest.fixture
def table(tmp_path: Path):
    def write(text: str | bytes, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


PEOPLE = 'key,x,y,name\n1,2.5,3,bob\n2,-0.5,1e3,"a ""q"", b"\n'


# ---- Columns ------------------------------------------------------------------------------------


def test_columns_by_name_number_and_range(table) -> None:
    path = table(PEOPLE)
    blobs = flow.CSVReader(
        files=path, columns=["key:int64", "xy=x|y:float32", "name:bytes", "z=0..2", "t=2"],
        batch_size=2,
    )
    assert [(b.shape, b.dtype.name) for b in blobs] == [
        ((2,), "int64"), ((2, 2), "float32"), ((2, None), "uint8"), ((2, 3), "float64"),
        ((2,), "float64"),
    ]
    with flow.DataLoader(*blobs) as loader:
        (key, xy, name, z, t), = list(loader)
    assert key.tolist() == [1, 2] and t.tolist() == [3, 1000]
    assert xy.tolist() == [[2.5, 3], [-0.5, 1000]]
    assert z.tolist() == [[1, 2.5, 3], [2, -0.5, 1000]]
    assert [bytes(row) for row in name] == [b"bob", b'a "q", b']


def test_each_file_has_its_own_header(table) -> None:
    first, second = table("a,b,c\n1,2,3\n"), table("c,z,a,b\n6,0,4,5\n", "b.csv")
    blobs = flow.CSVReader(files=[first, second], columns=["b", "x=a..b:float64[2]"], batch_size=9)
    with flow.DataLoader(*blobs) as loader:
        (b, x), = list(loader)
    assert b.tolist() == [2, 5] and x.tolist() == [[1, 2], [4, 5]]


def test_a_file_without_the_column_is_named(table) -> None:
    first, second = table("a,b\n1,2\n"), table("a,z\n6,0\n", "b.csv")
    says = r"b\.csv.*asks for column 'b', which is not one of the 2 of the header 'a,z'"
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.DataLoader(flow.CSVReader(files=[first, second], columns=["b"], batch_size=2))


@pytest.mark.parametrize("columns, says", [
    (["a", "a"], "'a'"),
    (["x:float16"], "type that text cannot be read as"),
    (["1|"], "the end is not a column"),
    (["a..b"], "range of names; the type must"),
    (["1..3:float32[2]"], "shape of 2 values for 3 columns"),
    (["1|2:bytes"], "the type bytes and more than one column"),
    (["5..3"], "ends before it begins"),
    (["'a"], "a name without a closing quote"),
    (["a:int64=x"], "default 'x' of 'a:int64=x' is not an integer that int64 holds"),
    (["a:int8=128"], "is not an integer that int8 holds"),
    (["1..3:float32=1,2"], "2 defaults for 3 values"),
    (["a:int64[?]"], "dimension that varies"),
    (["x=0..99999999999"], "in 'x=0..99999999999' '99999999999' is above 999999999, the largest"),
    (["1000000000"], "'1000000000' is above 999999999, the largest number of a column"),
])
def test_a_column_that_is_none(columns: list[str], says: str) -> None:
    with pytest.raises(flow.InvalidArgumentError, match=re.escape(says)):
        flow.CSVReader(files="none.csv", columns=columns, batch_size=2)


@pytest.mark.parametrize("attrs, says", [
    ({"delimiter": ""}, "must be one byte"), ({"delimiter": "1"}, "must not be a digit"),
    ({"delimiter": ";;"}, "must be one byte"),
    ({"quote": ","}, "neither the delimiter nor"), ({"comment": "#\n"}, "contains a line end"),
    ({"header": "no"}, "files have no names"),
    ({"delimiter": "\r"}, r"attr 'delimiter': '\\x0d'; it must be one byte other than a line end"),
    ({"quote": "\n"}, r"attr 'quote': '\\x0a'; it must be one byte that is neither"),
    ({"comment": ","}, "attr 'comment': ',' begins with the delimiter, as rows can"),
    ({"comment": '"#'}, "attr 'comment': '.#' begins with the quote"),
    ({"comment": ";", "delimiter": ";"}, "attr 'comment': ';' begins with the delimiter"),
])
def test_attrs_are_checked_when_the_node_is_made(attrs: dict[str, object], says: str) -> None:
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.CSVReader(files="none.csv", columns=["a"], batch_size=2, **attrs)


@pytest.mark.parametrize("columns, says", [
    (["z"], "which is not one of the 3"), (["7"], "asks for column 7, but the first row"),
    (["x=c..a:float32[2]"], "must not go back"), (["x=a..c:float32[2]"], "is 3 columns of this"),
    (["b"], "that 2 columns of the header 'a,b,b' have"),
])
def test_columns_that_the_file_has_not(table, columns: list[str], says: str) -> None:
    text = "a,b,b\n1,2,3\n" if columns == ["b"] else "a,b,c\n1,2,3\n"
    path = table(text)
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        flow.CSVReader(files=path, columns=columns)
    assert caught.value.attr == "columns" and caught.value.file == str(path)


def test_names_as_they_stand(table) -> None:
    path = table('2019," a|b ", c ,"q""q"\n1,2,3,4\n')
    assert read(path, ["'2019'", "x=' a|b '", "c", 'q"q']) == [[1.0], [2.0], [3.0], [4.0]]


def test_more_columns_than_any_file_has(table) -> None:
    path = table("a,b\n1,2\n")
    says = "asks for column 900000000, but the first row"
    with pytest.raises(flow.InvalidArgumentError, match=says):
        read(path, ["x=0..900000000:int8=7"])


def test_twenty_thousand_columns_by_name(table) -> None:
    names = [f"c{i}" for i in range(20_000)]
    path = table(",".join(names) + "\n" + ",".join(map(str, range(20_000))) + "\n")
    wanted = [names[i] for i in np.random.default_rng(0).permutation(20_000)]
    defaults = ",".join("7" for _ in wanted)
    begun = time.process_time()
    rows = read(path, [f"x={'|'.join(wanted)}:int64={defaults}"])
    assert time.process_time() - begun < 4  # a search for each would take a quarter of a minute
    assert [f"c{i}" for i in np.asarray(rows[0][0])] == wanted


def test_names_of_any_length(table) -> None:
    long = "n" * 10_000
    path = table(f'{long}a,"{long}""b",{long}\n1,2,3\n')
    assert read(path, [f"x={long}", f'y={long}"b', f"z={long}a"]) == [[3.0], [2.0], [1.0]]


def test_header_or_not(table) -> None:
    path = table("1,2\n3,4\n")
    assert read(path, ["1"]) == [[2, 4]]
    assert read(path, ["1"], header="yes") == [[4]]
    assert read(path, ["x='2'"]) == [[4]]
    with pytest.raises(flow.CorruptDataError, match="set header='yes'"):
        read(table("a,b\n1,2\n"), ["1"])
    skipped = table("made by hand\n\nx,y\n1,2\n")
    assert read(skipped, ["y"], skip_header_lines=1) == [[2]]


# ---- Values -------------------------------------------------------------------------------------

NUMBERS = ["0", "-0.0", "1", "+1", "12345678901234567", "0.1", "-.5", "5.", "1e300", "1E-320",
           "9007199254740993", "123456.7890123456", "0.30000000000000004", "1e400", "inf",
           "-Infinity", "nan", " 7 ", "\t8", "1234567890123456", "0.000000000000001",
           "9007199254740992.5", "-9999999999999999", "00000000000000000001.50"]


@pytest.mark.parametrize("quoted", [False, True])
def test_floats_are_those_of_python(table, quoted: bool) -> None:
    cells = [f'"{text}"' if quoted else text for text in NUMBERS]
    path = table("".join(f"{cell},x,{cell}\n" for cell in cells))
    (wide, narrow) = read(path, ["0|2:float64", "f=2:float32"])
    expected = np.array([float(text) for text in NUMBERS])
    assert np.array(wide)[:, 0].tobytes() == expected.tobytes()
    assert np.array(wide)[:, 1].tobytes() == expected.tobytes()
    with np.errstate(over="ignore"):
        assert np.array(narrow).tobytes() == expected.astype(np.float32).tobytes()


@settings(max_examples=fewer(150), deadline=None)
@given(st.lists(st.lists(st.one_of(
    st.floats(allow_nan=False).map(repr), st.integers(-10**20, 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
), min_size=5, max_size=5), min_size=1, max_size=9))
def test_any_numbers(tmp_path_factory, rows) -> None:
    path = tmp_path_factory.mktemp("numbers") / "a.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    (found, some) = read(path, ["x=0..4", "y=4|1"])
    expected = np.array([[float(text) for text in row] for row in rows])
    assert np.array(found).tobytes() == expected.tobytes()
    assert np.array(some).tobytes() == np.ascontiguousarray(expected[:, [4, 1]]).tobytes()


@pytest.mark.parametrize("dtype", "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split())
def test_integers_over_their_whole_range(table, dtype: str) -> None:
    limits = np.iinfo(dtype)
    good = [limits.min, limits.max, 0, 1]
    path = table("".join(f"{value},\n" for value in good) + "+5,\n 007 ,\n-0,\n")
    (found,) = read(path, [f"0:{dtype}"])
    assert [int(value) for value in found] == [*good, 5, 7, 0]
    for bad in (limits.min - 1, limits.max + 1, 10**30, -(10**30)):
        says = rf"column 0: '{bad}' is out of the range of {dtype}"
        with pytest.raises(flow.CorruptDataError, match=says):
            read(table(f"{bad},\n"), [f"0:{dtype}"])


@pytest.mark.parametrize("text", ["1.0", "1e3", "0x10", "1_000", "--1", "-", "٣", "1 2"])
def test_what_is_no_integer(table, text: str) -> None:
    with pytest.raises(flow.CorruptDataError, match="expected an integer"):
        read(table(f"{text},\n"), ["0:int64"])


def test_bools(table) -> None:
    words = "true FALSE T f yes No y N 1 0".split()
    (found,) = read(table("".join(f"{word},\n" for word in words)), ["0:bool"])
    assert [bool(value) for value in found] == [True, False] * 5
    for bad in ("2", "tru", "truee", "on", "\x11"):
        with pytest.raises(flow.CorruptDataError, match="expected a bool"):
            read(table(f"{bad},\n"), ["0:bool"])


def test_a_type_of_another_language_is_hinted_at(table) -> None:
    path = table("a,b\n1,x\n")
    words = {"str": "bytes", "string": "bytes", "int": "int64", "float": "float32"}
    for word, meant in {**words, "double": "float64", "flot32": "float32"}.items():
        says = rf"in (the field )?'b:{word}',? the type .*did you mean '{meant}'"
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.open(path, fields=[f"b:{word}"])
    with pytest.raises(flow.CorruptDataError, match=r"\('b'\): expected an integer for int32, f"):
        flow.open(path, fields=["b:int32"]).head(1)


# ---- Missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "bool"])
@pytest.mark.parametrize("text", ["", "  ", '""', "NA", "null"])
def test_a_missing_value_is_an_error_or_the_default(table, dtype: str, text: str) -> None:
    path = table(f"a,b\n1,{text}\n")
    what = "nan" if dtype.startswith("float") else "0"
    or_nan = ", or 'b:float64=nan'" if dtype == "int32" else ""
    says = (
        rf"a\.csv:2 .*column 1 \('b'\): expected .* for {dtype}, found .*; "
        rf"write 'b:{dtype}={what}', which puts {what} there{or_nan}$"
    )
    with pytest.raises(flow.CorruptDataError, match=says):
        read(path, [f"b:{dtype}"])
    assert read(path, [f"b:{dtype}=1"]) == [[1]]


def test_defaults_of_several_columns(table) -> None:
    path = table("a,b,c\n,nan,3\n4,-,\n")
    (found,) = read(path, ["x=a..c:float32[3]=-1,-2,-3"], missing=["nan", "-"])
    assert np.array(found).tolist() == [[-1, -2, 3], [4, -2, -3]]
    (nans,) = read(path, ["x=a|c:float32[2]=nan"])
    assert np.isnan(np.array(nans)).tolist() == [[True, False], [False, True]]


def test_bytes_stand_as_they_are(table) -> None:
    path = table('a,b\n NA ,""\nNA,"NA"\n,x\n')
    assert read(path, ["a:bytes", "b:bytes"]) == [[b" NA ", b"NA", b""], [b"", b"NA", b"x"]]
    assert read(path, ["a:bytes=none", "b:bytes=none"]) == [
        [b" NA ", b"none", b"none"], [b"", b"NA", b"x"]
    ]


def test_uneven_rows(table) -> None:
    path = table("a,b,c\n1,2,3\n4,5\n6,7,8,9\n")
    with pytest.raises(flow.CorruptDataError, match=r"a\.csv:3 \(byte 15\): found 2 fields, "
                                                    r"expected 3.*column 2 \('c'\) is the first"):
        read(path, ["a"], on_error="raise")
    assert read(path, ["a"], on_error="skip") == [[1]]
    found = read(path, ["a", "c:float64=-1", "d=c:bytes=none"], uneven_rows="allow")
    assert found == [[1, 4, 6], [3, -1, 8], [b"3", b"none", b"8"]]
    with pytest.raises(flow.CorruptDataError, match="the end of a row that is too short"):
        read(path, ["c"], uneven_rows="allow")


# ---- Quotes, lines, comments --------------------------------------------------------------------


def test_quotes_that_do_not_match(table) -> None:
    for line, says in [
        ('1,"2', r"a\.csv:2 \(byte 6\): column 1 \('b'\): a quoted field is not closed at the end "
                 r"of the line; multiline=True"),
        ('1,2"', r"a quote inside a field that does not begin with one; .*multiline=True"),
        ('1,"2"x', "found 'x' after the quote that ends the field"),
        ('"1""2",3",4', "a quote inside a field"),
    ]:
        with pytest.raises(flow.CorruptDataError, match=says):
            read(table(f"a,b\n{line}\n"), ["a:bytes"])
    assert read(table('a,b\n1",2\n'), ["a:bytes"], quote="") == [[b'1"']]


def test_a_field_over_several_lines(table) -> None:
    path = table('a,b\n1,"x\ny\r\n\nz"\n\n2,w\n3,"v""\n"\n')
    assert read(path, ["a", "b:bytes"], multiline=True) == [
        [1, 2, 3], [b"x\ny\r\n\nz", b"w", b'v"\n']
    ]
    with pytest.raises(flow.CorruptDataError, match="multiline=True"):
        read(path, ["a"])
    cut = table('a,b\n1,"x"\n\n2,"x\ny\n')
    says = r"a\.csv:4 \(byte 13\): the quoted field that begins here is not closed"
    with pytest.raises(flow.CorruptDataError, match=says):
        read(cut, ["a"], multiline=True)


def test_lines_are_counted_in_both_modes(table) -> None:
    path = table('a,b\n"1\n",2\n\n"3\n\n",x\n')
    with pytest.raises(flow.CorruptDataError, match=r"a\.csv:7 \(byte 18\): column 1 \('b'\)"):
        read(path, ["a:bytes", "b"], multiline=True)
    with pytest.raises(flow.CorruptDataError, match=r"a\.csv:3 \(byte 7\)"):
        read(table("a,b\n\n1,x\n2,y\n"), ["a", "b"])


def test_comments_and_blank_lines(table) -> None:
    path = table("# by hand\n\na,b\n#x\n1,2\n  \n3,#4\n# end")
    assert read(path, ["a", "b:bytes"], comment="#") == [[1, 3], [b"2", b"#4"]]
    tabs = table("a\tb\n1\t2\n\t\n\n3\t\n")
    assert read(tabs, ["a:int32=-1", "b:int32=-2"], delimiter="\t") == [[1, -1, 3], [2, -2, -2]]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("attrs", [{}, {"multiline": True}, {"file_access": "read"},
                                   {"multiline": True, "file_access": "read"}])
def test_ends_of_lines_and_files(table, mark: bytes, end: bytes, attrs: dict[str, object]) -> None:
    path = table(mark + end.join([b'"a",b', b"1,x", b"2,y"]))
    assert read(path, ["a:int8", "b:bytes"], **attrs) == [[1, 2], [b"x", b"y"]]
    bare = table(mark + end.join([b"1,x", b"2,y", b""]))
    assert read(bare, ["0:int8", "b=1:bytes"], **attrs) == [[1, 2], [b"x", b"y"]]


def test_empty_files_and_bare_headers_are_passed_over(table) -> None:
    files = [table(b"", "0"), table("a,b\n", "1"), table("a,b\n1,2", "2"), table("\n\n", "3")]
    blob = flow.CSVReader(files=files, columns=["b"], batch_size=2)
    with flow.DataLoader(blob) as loader:
        assert [batch.tolist() for batch in loader] == [[2]]


# ---- Against the csv module ---------------------------------------------------------------------

CELLS = st.text(alphabet=st.sampled_from('ab1 "\',;\n\r\t#é|'), max_size=6)


@settings(max_examples=fewer(150), deadline=None)
@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n),
                                                     min_size=1, max_size=8)),
       st.sampled_from(",;|\t"), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
@example([["\n", ""], ["", '"']], ",", "\n", True, True)
def test_as_the_csv_module_reads(tmp_path_factory, rows, delimiter, end, whole, all_quoted) -> None:
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    if not all_quoted:  # where the module takes it for the end of a row
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    content = text.getvalue() if whole else text.getvalue().removesuffix(end)
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(content.encode())
    expected = list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter))
    assert expected == rows
    columns = [f"c{i}={i}:bytes" for i in range(len(rows[0]))]
    found = read(path, columns, delimiter=delimiter, multiline=True)
    assert [list(row) for row in zip(*found, strict=True)] == [
        [cell.encode() for cell in row] for row in expected
    ]
    if not any("\n" in cell for row in rows for cell in row):
        assert read(path, columns, delimiter=delimiter) == found


# ---- Order --------------------------------------------------------------------------------------


@pytest.mark.parametrize("attrs", [{}, {"multiline": True}, {"file_access": "read"}])
def test_any_order_and_any_ranks(tmp_path: Path, attrs: dict[str, object]) -> None:
    for part in range(4):
        body = "".join(f"{part * 1000 + i},{i / 7}\n" for i in range(300 + part))
        (tmp_path / f"part-{part}").write_text("key,value\n" + body)
    files = str(tmp_path / "part-*")
    (keys, values) = read(files, ["key:int64", "value"], **attrs)  # type: ignore[arg-type]
    assert [int(k) for k in keys] == [p * 1000 + i for p in range(4) for i in range(300 + p)]
    assert values == [(int(k) % 1000) / 7 for k in keys]
    (mixed,) = read(files, ["key:int64"], shuffle="global", seed=1, **attrs)  # type: ignore
    assert mixed != keys and sorted(mixed) == sorted(keys)
    halves = [read(files, ["key:int64"], rank=rank, world_size=2, **attrs)[0]  # type: ignore
              for rank in (0, 1)]
    assert sorted(halves[0] + halves[1]) == sorted(keys)


def test_a_wide_table(table) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 300)).round(5)
    header = ",".join(f"c{i}" for i in range(300))
    body = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    path = table(f"{header}\n{body}\n")
    (found, last) = read(path, ["x=c3..c297:float64[295]", "y=c299|c0|c1"])
    assert np.array_equal(np.array(found), rows[:, 3:298])
    assert np.array_equal(np.array(last), rows[:, [299, 0, 1]])


def test_a_damaged_row_costs_one_row(table) -> None:
    path = table("a,b\n1,2\nx,3\n4\n5,6\n")
    blobs = flow.CSVReader(files=path, columns=["a", "b"], batch_size=9, on_error="skip")
    with flow.DataLoader(*blobs) as loader:
        (a, b), = list(loader)
        assert a.tolist() == [1, 5] and b.tolist() == [2, 6] and len(loader.skipped) == 2
    assert math.isfinite(float(a[0]))


# ---- Compressed files ---------------------------------------------------------------------------


@pytest.mark.parametrize("attrs", [{}, {"multiline": True}, {"comment": "#"}])
@pytest.mark.parametrize("header", ["key,x,name\n", "", "\ufeffkey,x,name\n", "\ufeff"])
def test_compressed_files_read_as_plain_ones(table, header: str, attrs: dict[str, object]) -> None:
    columns = ["k=0:int32", "1", "n=2:bytes"]
    if "key" in header:
        columns = ["key:int32", "x", "name:bytes"]
    line_end = "\n" if attrs.get("multiline") else " "
    long = "b" * 60
    text = header + "".join(f'{i},{i / 8},"a {i},{line_end}{long}"\n\n' for i in range(1500))
    plain = [table(text, "a.csv"), table(header + "1,2,3", "b.csv"), table(text, "c.csv")]
    packed = [table(gzip.compress(path.read_bytes()), f"{path.stem}.gz") for path in plain]

    def epoch(files: list[Path], **more: object) -> list[list[object]]:
        blobs = flow.CSVReader(files=files, columns=columns, batch_size=64, **attrs, **more)
        with flow.DataLoader(*blobs) as loader:
            batches = list(loader)
        return [[bytes(row) if i == 2 else row for batch in batches for row in batch[i]]
                for i in range(3)]

    expected = epoch(plain)
    assert len(expected[0]) == 3001 and epoch(packed) == expected
    mixed = epoch(packed, shuffle="buffer", seed=1)
    assert mixed != expected and sorted(mixed[0]) == sorted(expected[0])


@pytest.mark.parametrize("attrs", [{}, {"header": "yes"}, {"header": "yes", "multiline": True}])
def test_errors_in_compressed_files_name_the_line(table, attrs: dict[str, object]) -> None:
    text = "1,2\n" * 3000 + "\n1,x\n" + "1,2\n" * 1000 + "1,y\n"
    path = table(gzip.compress(text.encode()), "a.csv.gz")
    with pytest.raises(flow.CorruptDataError, match=r"a\.csv\.gz:3002 .*column 1.*found 'x'"):
        read(path, ["b=1"], **attrs)
    blob = flow.CSVReader(files=path, columns=["b=1"], batch_size=64, on_error="skip", **attrs)
    with flow.DataLoader(blob) as loader:
        assert sum(len(batch) for batch in loader) == 4000 - bool(attrs)
        assert [skipped.line for skipped in loader.skipped] == [3002, 4003]


def test_an_epoch_of_compressed_files_resumes(table) -> None:
    files = [table(gzip.compress(("a,b\n" + f"{k},{k}\n" * 100).encode()), f"{k}.gz")
             for k in range(3)]
    blob = flow.CSVReader(files=files, columns=["a"], batch_size=32)
    with flow.DataLoader(blob) as loader:
        batches = iter(loader)
        for _ in range(5):
            next(batches)
        state, rest = loader.state_dict(), [batch.tolist() for batch in batches]
    with flow.DataLoader(blob) as loader:
        loader.load_state_dict(state)
        assert [batch.tolist() for batch in loader] == rest and len(rest) == 5


def test_a_compressed_file_that_is_cut(table) -> None:
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * 7) for i in range(300)))
    for size in (0, 1, 10, 20, len(data) // 2, len(data) - 9, len(data) - 1):
        with pytest.raises(flow.Error):
            read(table(data[:size], "a.gz"), ["a"], compression="gzip")
    quoted = table(gzip.compress(b'a,b\n1,"x\ny'), "b.gz")
    with pytest.raises(flow.CorruptDataError, match=r"byte 6.*not closed before the file ends"):
        read(quoted, ["a"], multiline=True)


# ---- Strict numbers -----------------------------------------------------------------------------


def _is_kept(cell: str, dtype: np.dtype) -> bool:
    """Whether a column of this type gives the number back: as an integer with the same text, as a
    float with the same value."""
    cell = cell.strip(" \t")
    is_integer = re.fullmatch("[+-]?[0-9]+", cell)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return bool(is_integer) and str(int(cell)) == cell and info.min <= int(cell) <= info.max
    if is_integer:
        is_int64 = -(2**63) <= int(cell) < 2**63
        return cell in (str(int(cell)), "-0") and is_int64 and int(float(cell)) == int(cell)
    is_infinite = math.isinf(float(cell)) and "inf" not in cell
    return not is_infinite and not re.match(r"[+-]?0[0-9]+\.", cell)


def test_strict_numbers(table) -> None:
    digits = ["0", "7", "07", "00", "10", "123456789012345", "1234567890123456", "9007199254740992",
              "9007199254740993", "1234567890123456789", "9223372036854775807",
              "18446744073709551615", "9223372036854775808", "18446744073709551616",
              "0000000000000000001"]  # fmt: skip
    floats = ["0.5", ".5", "5.", "0.", "00.5", "07.5", "1e5", "1e400", "0.12345678901234567890123",
              "12345678901234567890.5", "012345678901234567.5", "inf", "1.5e-7", "9" * 310 + ".0"]
    cells = [sign + one for one in digits + floats for sign in ("", "-", "+", " ", "\t-")]
    path = table("".join(f"{cell},{place}\n" for place, cell in enumerate(cells)))
    quoted = table("".join(f'"{cell}",{place}\n' for place, cell in enumerate(cells)), "b.csv")
    for name in ("int64", "uint64", "int8", "uint16", "float64", "float32"):
        columns, found = [f"0:{name}", "1:int64"], {}
        for is_strict in (False, True):
            loose, found[is_strict] = (
                read(one, columns, strict_numbers=is_strict, on_error="skip",
                     max_skipped=-1)[1]
                for one in (quoted, path)
            )
            assert loose == found[is_strict]
        kept = [place for place in found[False] if _is_kept(cells[place], np.dtype(name))]
        assert found[True] == kept and 0 < len(kept) < len(found[False]), name
    with pytest.raises(flow.CorruptDataError, match="column 0: '07' is a number that '0:int64'"):
        read(table("1\n07\n"), ["0:int64"], strict_numbers=True)


# ---- Neighbouring columns of one type -----------------------------------------------------------


def test_neighbouring_numbers_in_outputs_of_their_own(table) -> None:
    """Plain numbers are parsed together, over more columns than one step takes."""
    chance, names = np.random.default_rng(3), [f"c{place}" for place in range(150)]
    kinds = ["int16"] * 5 + ["float32"] * 3 + ["float64"] * 140 + ["int64"] * 2
    tables, wanted = [], {name: [] for name in names}
    for number in range(2):
        rows, order = [], chance.permutation(names) if number else names
        for _ in range(20):
            row = {}
            for name, kind in zip(names, kinds, strict=True):
                value = str(int(chance.integers(-999, 999)))
                if kind[0] == "f" and chance.random() < 0.9:
                    value = repr(float(chance.standard_normal() * 10.0 ** chance.integers(-9, 9)))
                wanted[name].append(np.dtype(kind).type(float(value)))
                odd = chance.random()
                row[name] = f" {value}" if odd < 0.02 else f'"{value}"' if odd < 0.021 else value
            rows.append(",".join(row[name] for name in order))
        tables.append(table("\n".join([",".join(order), *rows]), f"{number}.csv"))
    columns = [f"{name}:{kind}" for name, kind in zip(names, kinds, strict=True)]
    for is_strict in (False, True):
        blobs = flow.CSVReader(
            files=tables, columns=columns, batch_size=7, header="yes", strict_numbers=is_strict,
            shuffle="global" if is_strict else "none", seed=1,
        )
        with flow.DataLoader(*blobs) as loader:
            found = list(zip(*loader, strict=True))
        together = [tuple(map(np.ndarray.item, row)) for row in zip(
            *(np.concatenate(one).reshape(-1, 1) for one in found), strict=True)]
        rows = list(zip(*wanted.values(), strict=True))
        assert (sorted if is_strict else list)(together) == (sorted if is_strict else list)(rows)
        assert (together == rows) != is_strict
