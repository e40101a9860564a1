"""docs/learn/own-format-recipes.md: its readers give what NumPy reads, and find damage."""

import gzip
import struct

import numpy as np
import pytest
from tools.page_blocks import blocks_of

import pyflowdata as flow

PAGE = "docs/learn/own-format-recipes.md"
STRICT = ["-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
RANDOM = np.random.default_rng(7)


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """File name on the page -> the op that it makes."""
    folder = tmp_path_factory.mktemp("recipes")
    found = {}
    for block in blocks_of(PAGE):
        if block.language == "c" and block.title:
            (folder / block.title).write_text(block.text)
            (found[block.title],) = flow.compile(folder / block.title, flags=STRICT)
    assert len(found) == 5
    return found


def read(op, files, **attrs):
    """The columns of one epoch, in batches of 6."""
    with flow.DataLoader(op(files=files, batch_size=6, **attrs)) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
    return [sum((rows(one) for one in column), []) for column in zip(*batches)]


def rows(column):
    if isinstance(column, flow.Ragged):
        return column.to_bytes_list()
    return column.tolist()


def refused(op, path, data, message, **attrs):
    path.write_bytes(data)
    with pytest.raises(flow.Error, match=message) as failure:
        read(op, [path], **attrs)
    return failure.value


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def test_a_binary_header_then_records_of_one_size(readers, tmp_path):
    op, files, expected = readers["vectors.c"], [], ([], [])
    for i, count in enumerate((9, 0, 31)):
        values, labels = RANDOM.random((count, 5), np.float32), RANDOM.integers(-9, 9, count)
        data = b"VEC1" + struct.pack("<2I", count, 5)
        data += b"".join(x.tobytes() + struct.pack("<i", y) for x, y in zip(values, labels))
        files.append(tmp_path / f"{i}.vec")
        files[-1].write_bytes(data)
        expected[0].extend(values.tolist())
        expected[1].extend(labels.tolist())
    assert read(op, files) == [*expected]
    opened = flow.open(files)
    assert [opened.column("x").tolist(), opened.column("label").tolist()] == [*expected]
    halves = [read(op, files, rank=rank, world_size=2, shuffle=True, seed=1) for rank in (0, 1)]
    seen = [(*x, y) for half in halves for x, y in zip(*half)]
    assert sorted(seen) == sorted((*x, y) for x, y in zip(*expected))
    faulty, end = tmp_path / "faulty", len(data)
    for byte, damaged, message in (
        (end - 24, data[:-24], f"31 records of 24 bytes, to byte {end}, but the file ends at byte"),
        (end - 7, data[:-7], "was it truncated"),
        (end, data + data[-24:], f"ends at byte {end + 24}"),
        (None, data[:9], "missing|ends at byte"),
        (0, b"XXXX" + data[4:], "does not begin with VEC1"),
        (0, gzip.compress(data), "does not begin with VEC1"),
        (8, data[:8] + bytes(4) + data[12:], "dims is 0; it must be from 1"),
        (end, data[:4] + b"\xff" * 4 + data[8:], "the header says 4294967295 records"),
    ):
        failure = refused(op, faulty, damaged, message, dims=5)
        assert failure.file == str(faulty), message
        assert byte in (failure.byte, None), (message, failure.byte)
    refused(op, faulty, data, "attr 'dims' is 4, and the header says 5", dims=4)


def test_a_header_of_variable_length(readers, tmp_path):
    op, files, expected = readers["text_header.c"], [], []
    for i, note in enumerate(["", "place: " + "x" * 900 + "\n", "a\nb\nc\n"]):
        values = RANDOM.random((10 + i, 5), np.float32)
        data = f"{note}columns: 5\n\n".encode() + values.tobytes()
        for name, content in ((f"{i}.rows", data), (f"{i}.rows.gz", gzip.compress(data))):
            (tmp_path / name).write_bytes(content)
        expected += values.tolist()
        files.append(tmp_path / f"{i}.rows")
    assert read(op, files) == [expected]
    assert read(op, [f"{file}.gz" for file in files]) == [expected], "read near its unknown end"
    (shuffled,) = read(op, files, random_shuffle=True, seed=1)
    assert shuffled != expected and sorted(shuffled) == sorted(expected)
    path = tmp_path / "faulty"
    failure = refused(op, path, data[:-3], "3 bytes are missing")
    assert (failure.file, failure.byte) == (str(path), len(data) - 20)
    refused(op, path, data[:5], "no empty line ends the header")
    refused(op, path, b"place: x\n\n", "no line 'columns: N'")
    assert refused(op, path, b"a\ncolumns: 0\n\n", "not a number from 1").byte == 11
    refused(op, path, data, "attr 'columns' is 4, and the header says 5", columns=4)


def test_records_of_keys_and_values(readers, tmp_path):
    op = readers["key_values.c"]
    names = [b"n" * int(size) for size in RANDOM.integers(0, 2000, 40)]
    temperatures = RANDOM.normal(size=40).tolist()
    lines = [[b"name: " + name, f"temperature: {x!r}".encode(), b"other: 1"]
             for name, x in zip(names, temperatures)]  # fmt: skip
    records = [b"\n".join(one[:: 1 - 2 * (i % 2)]) for i, one in enumerate(lines)]
    for end in (b"", b"\n", b"\n\n\n\n"):
        data = b"\n\n".join(records[:20]) + b"\n\n\n" + b"\n\n".join(records[20:]) + end
        (tmp_path / "plain").write_bytes(data)
        (tmp_path / "packed").write_bytes(gzip.compress(data))
        for name in ("plain", "packed"):
            assert read(op, [tmp_path / name]) == [names, temperatures]
    faulty = tmp_path / "faulty"
    failure = refused(op, faulty, data.replace(b"temperature: ", b"temperature: x", 1), "not a num")
    assert failure.byte == data.index(b"temperature: ") + 13
    changed = data.replace(b"name: ", b"nome: ", 1)
    refused(op, faulty, changed, "no key 'name'")
    assert read(op, [faulty], on_error="skip") == [names[1:], temperatures[1:]]
    refused(op, faulty, b"x" * 2**21, "no empty line in 1 MB")


def test_a_length_in_front(readers, tmp_path):
    op = readers["varint_records.c"]
    records = [RANDOM.bytes(int(size)) for size in RANDOM.integers(0, 20000, 30)] + [b"", b"end"]
    framed = [varint(len(one)) + one for one in records]
    data = b"".join(framed)
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed").write_bytes(gzip.compress(data))
    for name in ("plain", "packed"):
        assert read(op, [tmp_path / name]) == [records]
    begin = 0
    for i, one in enumerate(framed[:3]):  # cut in the length, and in the record
        for size in {1, len(one) // 2, len(one) - 1}:
            failure = refused(op, tmp_path / "cut", data[: begin + size], "are missing")
            assert f"{i} records of the file are before it" in str(failure) or i == 0
        begin += len(one)
    refused(op, tmp_path / "cut", b"\xff" * 20, "a length that is not from 0 to")


def test_a_footer_that_is_read_first(readers, tmp_path):
    op, files, expected = readers["labelled_rows.c"], [], ([], [])
    for i, count in enumerate((9, 0, 1, 30)):
        values = RANDOM.random((count, 3), np.float32)
        labels = [RANDOM.bytes(int(size)) for size in RANDOM.integers(0, 9, count)]
        ends = np.cumsum([len(one) for one in labels], dtype="<u4")
        text = b"".join(labels)
        data = values.tobytes() + text + ends.tobytes()
        data += b"ROWS" + struct.pack("<3I", 3, count, len(text))
        files.append(tmp_path / f"{i}.labelled")
        files[-1].write_bytes(data)
        expected[0].extend(values.tolist())
        expected[1].extend(labels)
    assert read(op, files) == [*expected]
    halves = [read(op, files, rank=rank, world_size=2, seed=1) for rank in (0, 1)]
    seen = [(*row, label) for half in halves for row, label in zip(*half)]
    assert sorted(seen) == sorted((*row, label) for row, label in zip(*expected))
    path, at = tmp_path / "faulty", len(data) - 16
    refused(op, path, data[:-1], "does not end with a footer ROWS")
    refused(op, path, data[:9], "9 bytes are no file of labelled rows")
    refused(op, path, data[1:], "the footer says")
    refused(op, path, data[: at + 4] + struct.pack("<3I", 3, 2**32 - 1, 0), "the footer says")
    refused(op, path, gzip.compress(data), "does not end with a footer|compressed", columns=3)
    wrong = data[: at - 4 * 2] + struct.pack("<I", 2**31) + data[at - 4 :]
    assert "its label ends at" in str(refused(op, path, wrong, "label"))


