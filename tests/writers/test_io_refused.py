"""What would be lost on the way into a file is an error that names the record and the field."""

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import (
    CSVWriter,
    IDXWriter,
    JSONLinesWriter,
    MegatronWriter,
    NpyWriter,
    OFRecordWriter,
    RawWriter,
    TFRecordWriter,
    TarWriter,
    TextLineWriter,
    encode_sequence_example,
)

pytestmark = pytest.mark.filterwarnings("error")

OF_FIELDS = [TFRecordWriter, OFRecordWriter, CSVWriter, JSONLinesWriter, TarWriter]
OF_ROWS = [RawWriter, NpyWriter, IDXWriter, MegatronWriter, TextLineWriter]
BIG = 2**53 + 1  # no float64


def refused(writer, method, given, says, path, **options):
    """The sample or batch is refused as a whole, and the writer can be closed."""
    with writer(path, **options) as one:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            getattr(one, method)(given)
        assert one.records == 0


# ---- Masks --------------------------------------------------------------------------------------

MASKED = np.ma.masked_array(np.arange(6).reshape(3, 2), mask=[[0, 0], [0, 1], [0, 0]])


def masks(name):
    """(method, sample or batch, the record that is named)"""
    return [
        ("write", {name: MASKED[0]}, 0),
        ("write", {name: np.ma.masked}, 0),
        ("write", {name: MASKED.astype(np.uint8)}, 0),
        ("write", {name: [MASKED[0], MASKED[1]]}, 0),
        ("write_batch", {name: MASKED}, 1),
        ("write_batch", {name: MASKED.astype(np.uint8)}, 1),
        ("write_batch", {name: [MASKED[0], MASKED[1]]}, 1),
        ("write_batch", {name: [[1, 2], MASKED[0]]}, 1),
        ("write_batch", {name: MASKED[:1]}, 0),
        ("write_batch", {name: flow.Ragged(MASKED[0], np.array([0, 1, 2]))}, 0),
    ]


@pytest.mark.parametrize("writer", OF_FIELDS)
def test_masked_fields_are_refused(writer, tmp_path):
    name = "npy" if writer is TarWriter else "x"
    for number, (method, given, row) in enumerate(masks(name)):
        is_kept = isinstance(given[name], flow.Ragged) and not isinstance(
            given[name].values, np.ma.MaskedArray
        )
        if not is_kept:
            says = rf"{number} \(record {row}\): {name} is a masked array.*\.filled\(0\)"
            refused(writer, method, given, says, tmp_path / str(number))


@pytest.mark.parametrize("writer", OF_ROWS)
def test_masked_rows_are_refused(writer, tmp_path):
    given = MASKED.astype(np.uint8)
    refused(writer, "write", given[1], r"record 0\): .* is a masked array", tmp_path / "a")
    refused(writer, "write_batch", given, r"record [01]\): .* is a masked array", tmp_path / "b")
    field = {"x": given}
    refused(writer, "write_batch", field, r"record [01]\): .* is a masked array", tmp_path / "c")


@pytest.mark.parametrize("writer", [TFRecordWriter, OFRecordWriter])
def test_masked_bytes_and_steps_are_refused(writer, tmp_path):
    given = MASKED.astype(np.uint8)
    refused(writer, "write", given[1], r"record 0\): the record is a masked", tmp_path / "a")
    refused(writer, "write_batch", given, r"record 1\): records is a masked", tmp_path / "b")
    with pytest.raises(flow.InvalidArgumentError, match="t is a masked array"):
        encode_sequence_example({}, {"t": MASKED})


# ---- Numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("writer", [TFRecordWriter, OFRecordWriter])
@pytest.mark.parametrize(
    "value, says",
    [
        (1e39, r"x has 1e\+39, which is too large for float32"),
        ([1e39, 0], r"x has 1e\+39, which is too large for float32"),
        ([[0.5], [-1e300]], r"x has -1e\+300, which is too large"),
        ([2**24 + 1, 0.5], "x has the integer 16777217, which float32 cannot hold"),
        ([0.5, np.int64(2**24 + 1)], "x has the integer 16777217, which float32"),
        ([BIG, 0.5], f"x has the integer {BIG}, which float64"),
        ([2**63, -1], "x = .* has integers beyond int64"),
        ([10**400, 0.5], "x = "),
    ],
)
def test_numbers_that_a_float_has_not_are_refused(writer, value, says, tmp_path):
    refused(writer, "write", {"x": value}, rf"record 0\): {says}", tmp_path / "a")
    batch = {"x": [[1.5], value]}
    refused(writer, "write_batch", batch, rf"record 1\): {says}", tmp_path / "b")


@pytest.mark.parametrize("writer", [TFRecordWriter, OFRecordWriter])
def test_floats_are_rounded_and_what_is_held_is_written(writer, tmp_path):
    with writer(tmp_path / "a") as one:
        one.write({"x": [0.1, 2**24, 2.0**100, float("inf"), float("nan"), 1e-60, True]})
    rounded = np.array([0.1, 2**24, 2.0**100, np.inf, np.nan, 0, 1], np.float32).tobytes()
    assert rounded in (tmp_path / "a").read_bytes()


def test_a_double_of_an_ofrecord_changes_no_integer(tmp_path):
    refused(
        OFRecordWriter, "write", {"x": [BIG, np.float64(0.5)]},
        rf"record 0\): x has the integer {BIG}, which float64", tmp_path / "a",
    )  # fmt: skip


@pytest.mark.parametrize("writer", [RawWriter, NpyWriter, IDXWriter])
def test_rows_of_a_float_type_change_no_number(writer, tmp_path):
    wide = {"dtype": "float32"}
    for number, value in enumerate(([1e39, 0], [2**24 + 1, 0.5], [2**24 + 1, 1])):
        batch = {"y": [[0, 1], value]}
        says = r"record 1\): y has .* float32"
        refused(writer, "write_batch", batch, says, tmp_path / str(number), **wide)
        says = r"record 0\): the array has .* float32"
        refused(writer, "write", value, says, tmp_path / str(number), overwrite=True, **wide)
    refused(writer, "write", [BIG, 0.5], "the array has the integer", tmp_path / "a")
    refused(writer, "write", 1e39, r"record 0\): the array has 1e\+39", tmp_path / "b", **wide)


def test_cells_and_tokens_change_no_number(tmp_path):
    csv = tmp_path / "a.csv"
    refused(CSVWriter, "write", {"x": [BIG, 0.5]}, rf"record 0\): x has the integer {BIG}", csv)
    batch = {"x": [0.5, BIG]}
    refused(CSVWriter, "write_batch", batch, rf"record 1\): x has the integer {BIG}", csv,
            overwrite=True)  # fmt: skip
    refused(CSVWriter, "write", {"x": [[1], [2, 3]]}, "x = .* is not an array", csv, overwrite=True)
    refused(MegatronWriter, "write", [BIG, 0.0], "the document has the integer", tmp_path / "b")
    refused(MegatronWriter, "write", [[1], [[2], [3, 4]]], "is not an array", tmp_path / "b",
            overwrite=True)  # fmt: skip


# ---- Text and names -----------------------------------------------------------------------------

HALF = "a\ud800"


@pytest.mark.parametrize("writer", OF_FIELDS)
def test_text_that_is_no_unicode_is_refused(writer, tmp_path):
    name = "txt" if writer is TarWriter else "x"
    path = tmp_path / "a"
    says = rf"{name} = 'a\\ud800' is not valid Unicode text: its character 1 is"
    refused(writer, "write", {name: HALF}, rf"record 0\): {says}", path)
    batch = {name: ["a", HALF]}
    refused(writer, "write_batch", batch, rf"record 1\): {says}", path, overwrite=True)
    for method, value in (("write", 1), ("write_batch", [1])):
        given = {HALF: value}
        refused(writer, method, given, r"'a\\ud800' is not valid", path, overwrite=True)
        given = {3: value}
        refused(writer, method, given, "the name of a f[a-z]+ is 3", path, overwrite=True)


@pytest.mark.parametrize("writer", [TextLineWriter, TFRecordWriter, OFRecordWriter])
def test_records_that_are_no_unicode_are_refused(writer, tmp_path):
    says = r"'a\\ud800' is not valid Unicode text"
    refused(writer, "write", HALF, rf"record 0\): the [a-z]+ = {says}", tmp_path / "a")
    refused(writer, "write_batch", ["a", HALF], rf"record 1\): .* {says}", tmp_path / "b")


@pytest.mark.parametrize(
    "sample, says",
    [
        ({"__key__": "k", "a\0b": "x"}, r"the extension 'a\\x00b' would be read as another"),
        ({"__key__": "k\0", "x": "x"}, r"__key__ = 'k\\x00'; a key must not"),
        ({"__key__": HALF, "x": "x"}, r"__key__ = 'a\\ud800' is not valid Unicode"),
        ({"json": [HALF]}, r"json = \['a\\ud800'\]"),
    ],
)
def test_names_that_tar_has_not_are_refused(sample, says, tmp_path):
    refused(TarWriter, "write", sample, rf"record 0\): {says}", tmp_path / "a.tar")
