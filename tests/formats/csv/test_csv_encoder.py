"""CSVEncoder against Python's csv and repr(), CSVCellTypes against regular expressions."""

import csv
import io
import random
import re
from decimal import Decimal

import numpy as np
import pytest
from pyflowdata.nodes import find_op
from pyflowdata.nodes.eager import encode
from pyflowdata.ragged import Ragged

import pyflowdata as flow


def texts(column):
    """The cell of each row."""
    values, sizes = encode(find_op("CSVEncoder"), {}, {"in": column})
    found = values.tobytes().decode("ascii").split("\n")
    assert [len(one) + 1 for one in found[:-1]] == sizes.tolist() and not found[-1]
    return found[:-1]


def bits(chance, dtype, count):
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return chance.integers(0, 2 ** (8 * unsigned.itemsize), count, unsigned).view(dtype)


def test_float64_is_what_repr_says():
    chance = np.random.default_rng(0)
    powers = np.ldexp(1.0, np.arange(-1074, 1024))
    tens = np.array([float(f"1e{power}") for power in range(-323, 309)])
    near = np.concatenate([powers, tens])
    found = np.concatenate([
        bits(chance, np.float64, 60_000), near, -near, np.nextafter(near, 0),
        np.nextafter(near, np.inf), np.arange(-999, 999) / 8, chance.integers(0, 10**6, 9999) / 1e3,
        [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**53, 1e15, 9999999999999998.0, 1e16, 1e22, 1e23],
        np.arange(1, 3000).astype(np.uint64).view(np.float64),
    ])  # fmt: skip
    assert texts(found) == [repr(value) for value in found.tolist()]


@pytest.mark.parametrize("dtype, limit", [(np.float32, 1e6), (np.float16, 1e3)])
def test_narrow_floats_are_the_shortest_that_read_back(dtype, limit):
    """Digits are NumPy's; how it writes large numbers has changed between its versions."""
    chance = np.random.default_rng(1)
    found = bits(chance, dtype, 40_000)
    if dtype == np.float16:
        found = np.arange(2**16, dtype=np.uint16).view(dtype)
    else:
        near = np.ldexp(np.float32(1), np.arange(-149, 128)).astype(dtype)
        found = np.concatenate([found, near, np.nextafter(near, dtype(np.inf)), -near])
    for text, known, value in zip(texts(found), found.astype(str), found, strict=True):
        if not np.isfinite(value):
            assert text == known
            continue
        assert Decimal(text) == Decimal(str(known)) and dtype(text) == value
        is_plain = value == 0 or 1e-4 <= abs(float(value)) < limit
        assert ("e" not in text) == is_plain and (not is_plain or "." in text)
    known = np.array([0.5, -1.5, 1e-4, 1e5, 6e4, 1.25e-7], np.float32)
    assert texts(known) == ["0.5", "-1.5", "1e-04", "100000.0", "60000.0", "1.25e-07"]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                  "uint64", "bool"])  # fmt: skip
def test_integers(name):
    dtype = np.dtype(name)
    found = bits(np.random.default_rng(2), np.uint8 if name == "bool" else dtype, 3000)
    if name == "bool":
        found = found > 100
    else:
        limits, tens = np.iinfo(dtype), [10**i for i in range(20)]
        some = [*tens, *(one - 1 for one in tens), *(-one for one in tens), limits.min, limits.max]
        some = [one for one in some if limits.min <= one <= limits.max]
        found = np.concatenate([found, np.array(some, dtype)])
    assert texts(found) == [str(int(value)) for value in found]


def test_lines_are_what_csv_reads_back():
    chance = random.Random(0)
    parts = ["a", "b", ",", ";", '"', "\n", "\r", " ", "#", "\t", "é", "x" * 40]
    cells = ["", " ", "#", "a#", '"', "a b", "\f1", *(
        "".join(chance.choices(parts, k=chance.randint(0, 6))) for _ in range(3000)
    )]  # fmt: skip
    rows = len(cells)
    numbers = np.arange(2 * rows, dtype=np.int32).reshape(rows, 2) - rows
    data = [cell.encode() for cell in cells]
    splits = np.cumsum([0, *map(len, data)])
    ragged = Ragged(np.frombuffer(b"".join(data), np.uint8), splits)
    columns = {"n": numbers, "text": ragged, "half": np.full(rows, 0.5)}
    for delimiter in ",;":
        values, sizes = encode(find_op("CSVEncoder"), {"delimiter": delimiter}, columns)
        text = values.tobytes().decode()
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        pairs = zip(numbers.tolist(), cells, strict=True)
        assert found == [[str(a), str(b), cell, "0.5"] for (a, b), cell in pairs]
        quoted = {cell for cell in cells if re.search(
            rf'^$|^[\s#]|[ \t\v\f]$|["\r\n{delimiter}]', cell, re.ASCII)}  # fmt: skip
        ends = np.cumsum(sizes)
        lines = [values[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True)]
        for cell, line in zip(cells, lines, strict=True):
            assert (b'"' in line) == (cell in quoted)


def test_what_is_no_line_is_refused():
    rows = flow.TextLineReader("data", batch_size=4)
    with pytest.raises(flow.InvalidArgumentError, match=r"delimiter.*one ASCII character"):
        flow.CSVEncoder(rows, delimiter='"')
    for delimiter in "1.-+eEn":  # of -1.5e+300, inf and nan
        with pytest.raises(flow.InvalidArgumentError, match="delimiter.*not a part of numbers"):
            flow.CSVEncoder(rows, delimiter=delimiter)
    ragged = flow.DecodeRaw(rows, dtype="int16", shape=[-1])
    with pytest.raises(flow.InvalidArgumentError, match=r"int16.*different lengths.*Pad"):
        flow.CSVEncoder(rows, ragged)


# ---- Types of cells -----------------------------------------------------------------------------

INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
FLOAT = re.compile(
    rb"[+-]?(?:(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[0-9]+e[+-]?[0-9]+"
    rb"|inf|infinity)|-0", re.IGNORECASE
)  # fmt: skip
MISSING = ["nan", "NA", "-1"]


def known_type(cell):
    cell = cell.strip(b" \t")
    if not cell or cell.decode("latin-1") in MISSING:
        return 1
    if INTEGER.fullmatch(cell) and len(cell) <= 4000:
        value = int(cell)
        kinds = [(8, 0, 2**63), (16, -(2**63), 0), (32, 2**63, 2**64)]
        kind = next((kind for kind, low, end in kinds if low <= value < end), 64)
        return kind | (128 if kind == 64 or int(float(value)) != value else 0)
    if FLOAT.fullmatch(cell):
        return 4 | (256 if b"n" not in cell.lower() and np.isinf(float(cell)) else 0)
    return 2


def test_types_of_cells():
    chance = random.Random(0)
    cells = [
        b"", b"0", b"-0", b"00", b"+5", b"-1", b"5.", b".5", b".", b"-.", b"1.e5", b"01e5", b"01.5",
        b"0.5", b"e5", b"1e", b"1e+", b"inf", b"-Infinity", b"infinit", b"nan", b"NaN", b"1e400",
        b"1" * 310 + b".5", b"1" * 310, b"1" * 4000, b"1" * 4001, b"9007199254740993", b" 5\t",
        b"\t", b"-", b"1-", b"\x005", b"1_0", b"12345678", b"1.7976931348623159e308", b"1234567.",
        *(b"%d" % (sign * 2**power + off) for sign in (1, -1) for power in (53, 63, 64)
          for off in (-1, 0, 1)),
    ]  # fmt: skip
    cells += [bytes(chance.choices(b"012.e+-in \xae", k=chance.randint(1, 6))) for _ in range(9999)]
    for _ in range(9999):  # the lengths of usual floats
        digits = chance.choices(b"0123456789" * 9 + b"./:-e", k=chance.randint(7, 18))
        digits[chance.randrange(len(digits))] = ord(".")
        cells.append(chance.choice([b"", b"-"]) + bytes(digits))
    found = flow.CSVCellTypes(cells, cells[::-1], missing=MISSING)
    known = list(map(known_type, cells))
    assert [row.tolist() for row in found] == [
        list(pair) for pair in zip(known, known[::-1], strict=True)
    ]
    assert found[0].dtype == np.uint16
