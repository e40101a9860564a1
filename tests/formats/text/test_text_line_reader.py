"""TextLineReader: what a line is, and what is left out."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyflowdata as flow
from support.files import write_parts
from support.oracle import fewer


def read(data: str, **attrs: object) -> list[bytes]:
    with flow.DataLoader(flow.TextLineReader(data, batch_size=6, **attrs)) as loader:
        return [bytes(row) for batch in loader for row in batch]


PARTS = (b"head\n\nabc\r\n \t\r\n\xff\x00def\nlast", b"", b"\xef\xbb\xbfhead\nx\n", b"head")


def test_lines_are_bytes(tmp_path: Path) -> None:
    data = write_parts(tmp_path, *PARTS)
    blob = flow.TextLineReader(data, batch_size=3)
    assert (blob.shape, blob.dtype) == ((3, None), np.dtype(np.uint8))
    assert read(data) == [b"head", b"abc", b"\xff\x00def", b"last", b"head", b"x", b"head"]


def test_blank_lines_are_kept_on_request(tmp_path: Path) -> None:
    data = write_parts(tmp_path, *PARTS)
    assert read(data, keep_blank_lines=True) == [
        b"head", b"", b"abc", b" \t", b"\xff\x00def", b"last", b"head", b"x", b"head"
    ]


@pytest.mark.parametrize("skip, first", [(1, [b"abc", b"\xff\x00def", b"last"]),
                                         (3, [b"\xff\x00def", b"last"]), (5, [b"last"])])
def test_header_lines_of_each_file_are_left_out(tmp_path: Path, skip: int, first: object) -> None:
    data = write_parts(tmp_path, *PARTS)
    rest = [b"x"] if skip == 1 else []
    assert read(data, skip_header_lines=skip) == [*first, *rest]  # type: ignore[misc]


def test_with_header_and_blank_lines(tmp_path: Path) -> None:
    data = write_parts(tmp_path, *PARTS)
    assert read(data, skip_header_lines=1, keep_blank_lines=True) == [
        b"", b"abc", b" \t", b"\xff\x00def", b"last", b"x"
    ]


def test_nothing_but_headers(tmp_path: Path) -> None:
    data = write_parts(tmp_path, b"a\n", b"b")
    with pytest.raises(flow.Error, match="not one record"):
        read(data, skip_header_lines=1)


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("keep", [False, True])
def test_any_order_is_the_same_records(tmp_path: Path, access: str, keep: bool) -> None:
    lines = [[b"%d-%d" % (part, i) + b"x" * (i * 37 % 300) for i in range(400 + part)]
             for part in range(5)]
    data = write_parts(tmp_path, *(b"header %d\n" % i + b"\n".join(part)
                                   for i, part in enumerate(lines)))
    wanted = [line for part in lines for line in part]
    attrs = {"skip_header_lines": 1, "file_access": access, "keep_blank_lines": keep}
    assert read(data, **attrs) == wanted
    for shuffle in ("global", "window"):
        found = read(data, shuffle=shuffle, seed=3, **attrs)
        assert found != wanted and sorted(found) == sorted(wanted)
    ranks = [read(data, rank=rank, world_size=2, **attrs) for rank in (0, 1)]
    assert sorted(ranks[0] + ranks[1]) == sorted(wanted)


def test_ids_name_the_records_that_are_there(tmp_path: Path) -> None:
    data = write_parts(tmp_path, b"h\na\nb\n", b"h\nc\n")
    line, where = flow.TextLineReader(data, batch_size=9, skip_header_lines=1, with_id=True)
    with flow.DataLoader(line, where) as loader:
        (_, ids), = list(loader)
    assert ids.tolist() == [[0, 0], [0, 1], [1, 2]]


def test_a_state_resumes(tmp_path: Path) -> None:
    data = write_parts(tmp_path, *(b"h\n" + b"".join(b"%d\n" % i for i in range(20)),) * 2)
    attrs = {"skip_header_lines": 1, "shuffle": "global", "seed": 1, "batch_size": 4}
    with flow.DataLoader(flow.TextLineReader(data, **attrs)) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state, rest = loader.state_dict(), [[bytes(row) for row in batch] for batch in batches]
    with flow.DataLoader(flow.TextLineReader(data, **attrs)) as loader:
        loader.load_state_dict(state)
        assert [[bytes(row) for row in batch] for batch in loader] == rest


@settings(max_examples=fewer(100), deadline=None)
@given(st.lists(st.binary(max_size=30), min_size=1, max_size=20), st.integers(0, 3),
       st.booleans())
def test_as_python_splits_lines(tmp_path_factory, contents, skip, keep) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(b"\n".join(contents))
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    lines = text.split(b"\n")[skip:]
    if lines and not lines[-1]:
        lines.pop()
    lines = [line.removesuffix(b"\r") for line in lines]
    if not keep:
        lines = [line for line in lines if line.strip(b" \t\r")]
    attrs = {"skip_header_lines": skip, "keep_blank_lines": keep, "files": path}
    attrs["compression"] = "none"  # the lines may begin like something compressed
    if lines:
        with flow.DataLoader(flow.TextLineReader(batch_size=3, **attrs)) as loader:
            assert [bytes(row) for batch in loader for row in batch] == lines
    else:
        with pytest.raises(flow.Error):
            flow.DataLoader(flow.TextLineReader(batch_size=3, **attrs))


@pytest.mark.parametrize("attrs", [{}, {"skip_header_lines": 2}, {"keep_blank_lines": True},
                                   {"skip_header_lines": 2, "keep_blank_lines": True}])
def test_compressed_files_read_as_plain_ones(tmp_path: Path, attrs: dict[str, object]) -> None:
    body = b"".join(b"%d\r\n \n" % i + b"x" * (i % 5000) + b"\n" for i in range(1000))
    parts = [b"\xef\xbb\xbfone\n\n" + body, b"head\n\nlast", body]
    plain = write_parts(tmp_path / "plain", *parts)
    packed = write_parts(tmp_path / "packed", *map(gzip.compress, parts))
    assert read(packed, **attrs) == read(plain, **attrs)


# ---- Text of another kind, here and in CSVReader ------------------------------------------------


def readers(path: Path, **attrs: object) -> list[flow.Blob]:
    csv = flow.CSVReader(files=path, columns=["v=0:bytes"], **attrs)
    lines = [flow.TextLineReader(files=path, keep_blank_lines=blank) for blank in (False, True)]
    return [csv, *lines]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("data, says", [
    ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    (b"\xfe\xff" + "a,b\n1,2\n".encode("utf-16-be"), "UTF-16"),
    ("a,b\n1,2\n".encode("utf-32"), "-f UTF-32 "),
    (b"\0\0\xfe\xff" + "a,b\n".encode("utf-32-be"), "-f UTF-32 "),
    ("a,b\n1,\xfc\n".encode("utf-16-le"), "-f UTF-16LE "),
    ("a,b\n1,2\n".encode("utf-16-be") * 9000, "-f UTF-16BE "),
    (b"a,b\r1,2\r3,4\r", "CR alone"),
    (b"a,b\r1,2\r", "CR alone"),
    (b"a,b\r" + b"1,2\r" * 100_000 + b"\n", "CR alone"),
    (b"a,b\r1,2\r3,4\r\n", "CR alone"),
    (b"a,b\r1,2\r\r3,4", "CR alone"),
    (b"1234567\r" * 300_000, "CR alone"),
])
def test_other_text_is_named_at_open(
    tmp_path: Path, data: bytes, says: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "other"
    path.write_bytes(pack(data))
    for blob in readers(path):
        with pytest.raises(flow.UnsupportedError, match=says) as caught:
            flow.DataLoader(blob)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("data, rows", [
    (b"a\rb", [b"a\rb"]),
    (b"one line", [b"one line"]),
    (b"one line\r", [b"one line"]),
    (b"a\rb\rc\rd\n", [b"a\rb\rc\rd"]),
    (b"a\rb\r\n", [b"a\rb"]),
    (b"1%\r2%\r3%\r\ndone\r\n", [b"1%\r2%\r3%", b"done"]),
    (b"one\r\ntwo\r\n", [b"one", b"two"]),
    (b"a\0b\0c\0d\1\n", [b"a\0b\0c\0d\1"]),
    (b"\xff\n\xfe\n", [b"\xff", b"\xfe"]),
    (b"99%\r" * 100_000 + b"done\n", [b"99%\r" * 100_000 + b"done"]),
    (b"x" * 100_000 + b"\r\r\rx", [b"x" * 100_000 + b"\r\r\rx"]),
])
def test_stray_bytes_are_no_other_text(
    tmp_path: Path, data: bytes, rows: list[bytes], pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "text"
    path.write_bytes(pack(data))
    for blob in readers(path, header="no"):
        with flow.DataLoader(blob) as loader:
            assert [bytes(row) for batch in loader for row in batch] == rows


def test_returns_between_quotes_are_no_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "one-row.csv"
    path.write_bytes(b'1,"a\rb""\r\rc\rd"')
    with flow.DataLoader(flow.CSVReader(files=path, columns=["v=1:bytes"], header="no")) as loader:
        assert [bytes(row) for batch in loader for row in batch] == [b'a\rb"\r\rc\rd']


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("data", [b"a,b\r1,2\r3,4\n", b"a,b\r" + b"1,2\r" * 100_000 + b"1\n1,2\n"])
def test_a_header_with_several_returns_is_no_header(
    tmp_path: Path, data: bytes, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(pack(data))
    with pytest.raises(flow.UnsupportedError, match="CR alone"):
        flow.DataLoader(flow.CSVReader(files=path, columns=["v=1:bytes"], header="yes"))
