"""CSVCellTypes says of a cell what Python's int() and float() make of it."""

import math

import numpy as np

import pyflowdata as flow
from pyflowdata.formats import csv as cells

MISSING, TEXT, FLOAT, POSITIVE, NEGATIVE, UNSIGNED, BEYOND, INEXACT, INFINITE = (
    1 << bit for bit in range(9)
)
CELLS = (
    "0 7 -7 12345 1.5 -0.25 1e3 1e400 -1e400 inf x 1x 1.2.3 - + . 9223372036854775807 "
    "9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 "
    "18446744073709551616 9007199254740992 9007199254740993 2024-01-01 0x10"
).split()


def types_of(cell):
    """The bits that Python's own parsers give a cell; of the size of integers exactly."""
    try:
        value = int(cell)
    except ValueError:
        pass
    else:
        if value < -(2**63) or value >= 2**64:
            found = BEYOND
        else:
            found = NEGATIVE if value < 0 else POSITIVE if value < 2**63 else UNSIGNED
        return found | (INEXACT if int(float(value)) != value else 0)
    try:
        value = float(cell)
    except ValueError:
        return TEXT
    is_finite_text = "inf" not in cell
    return FLOAT | (INFINITE if math.isinf(value) and is_finite_text else 0)


def test_every_cell():
    column = [cell.encode() for cell in CELLS]
    found = flow.CSVCellTypes(column, [b"NA", *column[1:]], missing=["NA"])
    found = np.stack(list(found))
    assert found.shape == (len(CELLS), 2) and found.dtype == np.uint16
    assert found[0, 1] == MISSING and (found[1:, 0] == found[1:, 1]).all()
    for cell, types in zip(CELLS, found[:, 0].tolist(), strict=True):
        wanted = types_of(cell)
        assert types & ~INEXACT == wanted & ~INEXACT, cell
        assert types & INEXACT >= wanted & INEXACT, cell  # it may be set of exact numbers, too
    assert list(flow.CSVCellTypes([b""]))[0] == [MISSING]


def test_the_bits_that_columns_are_typed_by_are_those_of_the_op():
    above, beyond = b"9223372036854775808", b"18446744073709551616"
    for column, dtype in {
        (b"7", b"-7"): "int64", (b"7", above): "uint64", (b"-7", above): "bytes",
        (b"7", beyond): "bytes", (b"7", b"1.5"): "float64", (b"7", b"NA"): "float64",
        (b"NA", b""): "bytes", (b"7", b"x"): "bytes", (b"1.5", b"x"): "bytes",
    }.items():  # fmt: skip
        types = cells._types_of(column, ["NA"])
        assert cells._dtype_of(types[0] | types[1]) == dtype, column
    unsure = [bool(one & cells.UNSURE) for one in cells._types_of(
        [b"7", b"9007199254740993", b"1e400", b"1.5"], [])]  # fmt: skip
    assert unsure == [False, True, True, False]
