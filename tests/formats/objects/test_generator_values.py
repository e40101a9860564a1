"""GeneratorReader: which values fit the declared types, and which make a damaged record."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping

import numpy as np
import pytest

import pyflowdata as flow
from formats.objects.generator_sources import epochs, numbers


def rows_of(samples, field, **attrs):
    blob = flow.GeneratorReader(samples, fields=field, **{"batch_size": len(samples), **attrs})
    with flow.DataLoader(blob) as loader:
        return [row for batch in loader for row in batch]


def check_damaged(field, good, bad, says):
    """The sample in the middle is damaged, and named, and the others can be read."""
    samples = [{"x": good}, {"x": bad}, {"x": good}]
    blob = flow.GeneratorReader(samples, fields=field, batch_size=3)
    with flow.DataLoader(blob) as loader:
        with pytest.raises(flow.CorruptDataError, match=says) as caught:
            list(loader)
    assert (caught.value.op, caught.value.ordinal) == ("GeneratorReader", 1)
    for source in (samples, lambda: iter(samples)):
        blob = flow.GeneratorReader(source, fields=field, batch_size=3, on_error="skip")
        with flow.DataLoader(blob) as loader:
            assert sum(len(batch) for batch in loader) == 2
            (left_out,) = loader.skipped
        assert (left_out.op, left_out.ordinal) == ("GeneratorReader", 1)
        assert re.search(says, str(left_out))


# ---- Numbers of Python --------------------------------------------------------------------------

MOST = {np.float16: 2**11, np.float32: 2**24, np.float64: 2**53}


@pytest.mark.parametrize("dtype", MOST)
def test_whole_numbers_in_floats(dtype):
    name, most = np.dtype(dtype).name, MOST[dtype]
    given = [0, most - 1, most, -most, 4 * most, 3 * most, -(2**15), True]
    assert [int(row) for row in rows_of(given, f"x:{name}", batch_size=1)] == given
    # A list with a float is one of floats, for NumPy.
    pairs = [[others, number] for number in given for others in (0, 1.5)]
    rows = rows_of([{"x": pair} for pair in pairs], f"x:{name}[2]", batch_size=1)
    assert [row.tolist() for row in rows] == pairs
    for number in (most + 1, -most - 1, 4 * most + 1):
        says = "does not fit into the declared " + name
        check_damaged(f"x:{name}", 1, number, says)
        for others in ([0], [1.5], (0.5,)):
            check_damaged(f"x:{name}[2]", [0, 0], [*others, number], says)
    check_damaged(f"x:{name}[2,2]", [[0, 0], [0, 0]], [[0, 1.5], (most + 1, 0)], "does not fit")


def test_whole_numbers_beyond_int64():
    assert rows_of([2**63, 2**64 - 1], "x:uint64") == [2**63, 2**64 - 1]
    assert rows_of([2**63, -(2**63)], "x:float32") == [2.0**63, -(2.0**63)]
    assert rows_of([{"x": [-1, 2**63]}], "x:float64[2]")[0].tolist() == [-1, 2.0**63]
    for bad in (2**63, 2**64, 10**400, 10**5000):
        check_damaged("x:int64", 1, bad, "'x' is .*int64")
    for bad in (-1, 2**64):
        check_damaged("x:uint64", 1, bad, "'x' is .*uint64")
    for bad in (2**63 + 1, 2**64 - 1, 10**400):
        check_damaged("x:float64", 1, bad, "'x' is .*float64")
    check_damaged("x:float64[2]", [0, 0], [-1, 2**63 + 1], "does not fit")


def test_finite_numbers_do_not_become_infinite():
    for field, good, bad in [("x:float32", 1e38, 1e39), ("x:float16", 6e4, 1e6),
                             ("x:float16", 65504, 70000), ("x:float32", -1e38, -1e39)]:  # fmt: skip
        check_damaged(field, good, bad, "does not fit into the declared float")
        check_damaged(f"{field}[2]", [0.5, good], [0.5, bad], "does not fit")
    inf, nan = float("inf"), float("nan")
    for dtype in MOST:
        [row] = rows_of([{"x": [inf, nan, -inf, 2.0]}], f"x:{np.dtype(dtype).name}[4]")
        assert np.array_equal(row, [inf, nan, -inf, 2], equal_nan=True)


def test_floats_are_rounded():
    assert rows_of([0.1, 1 / 3], "x:float32") == [np.float32(0.1), np.float32(1 / 3)]
    assert rows_of([{"x": [0.1, 2**24 + 1.0]}], "x:float32[2]")[0].tolist() == [
        float(np.float32(0.1)), 2**24,
    ]  # fmt: skip
    assert rows_of([1e-50], "x:float32") == [0]


def test_lists_of_arrays():
    [row] = rows_of([{"x": [np.arange(2), np.array([2**53, 1])]}], "x:float64[2,2]")
    assert row.tolist() == [[0, 1], [2**53, 1]]
    check_damaged("x:float64[2,2]", [[0, 0], [0, 0]],
                  [np.array([2**53 + 1, 1]), [0.5, 1.5]], "does not fit")  # fmt: skip


# ---- Bytes and texts ----------------------------------------------------------------------------


def test_a_text_that_is_no_unicode():
    check_damaged("x:bytes", "a", "b\ud800", r"'x' is 'b\\ud800', which is not valid Unicode text")
    samples = ["a", "\ud800", "c"]
    with pytest.raises(flow.CorruptDataError, match="not valid Unicode") as caught:
        rows_of(samples, "x:bytes")
    assert caught.value.ordinal == 1
    assert [row.tobytes() for row in rows_of(samples, "x:bytes", on_error="skip")] == [b"a", b"c"]
    assert rows_of(["\udcff"], "x:bytes")[0].tobytes() == b"\xff"  # as in names of files


def test_memoryviews():
    assert rows_of([memoryview(b"abc")], "x:bytes")[0].tobytes() == b"abc"
    assert rows_of([memoryview(b"")], "x:bytes")[0].tobytes() == b""
    released = memoryview(b"abc")
    released.release()
    for bad in (memoryview(b"abcdef")[::2], memoryview(b"abc")[::-1],
                memoryview(np.zeros(2, np.float32)), memoryview(np.zeros((2, 2), np.uint8)),
                released):  # fmt: skip
        check_damaged("x:bytes", b"a", bad, "'x' is a memoryview")
        check_damaged("x:uint8[3]", b"abc", bad, "'x' is a memoryview")


# ---- Masks --------------------------------------------------------------------------------------


def test_masked_arrays_are_refused():
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    says = r"'x' is a masked array, whose mask would be lost: yield x.filled\(VALUE\)"
    for field, good in [("x:int64[3]", [1, 2, 3]), ("x:int64[?]", np.arange(2))]:
        check_damaged(field, good, masked, says)
        check_damaged(field, good, np.ma.array([1, 2, 3]), says)  # whatever is masked
    check_damaged("x:int64[2,3]", np.zeros((2, 3), np.int64), [masked, masked], says)
    check_damaged("x:float64", 1.0, np.ma.masked, says)
    check_damaged("x:float64[2]", [1.0, 2], [1.0, np.ma.masked], says)
    with pytest.raises(flow.CorruptDataError, match="mask would be lost"):
        rows_of(np.ma.array(np.zeros((4, 3)), mask=True), "x:float64[3]")
    assert rows_of([{"x": masked.filled(0)}], "x:int64[3]")[0].tolist() == [1, 0, 3]


# ---- Samples with code of their own -------------------------------------------------------------


class Lazy(Mapping):
    """A sample that makes its values when asked."""

    def __init__(self, make):
        self.make = make

    def __getitem__(self, key):
        return self.make()

    def __len__(self):
        return 1

    def __iter__(self):
        return iter("x")


class Arrayed:
    def __init__(self, failure):
        self.failure = failure

    def __array__(self, *args, **kwargs):
        raise self.failure


def raising(failure):
    def make():
        raise failure

    return make


@pytest.mark.parametrize("field, good", [("x:int64", 1), ("x:int64[?]", [1])])
def test_what_a_sample_raises(field, good):
    check_damaged(field, good, Arrayed(RuntimeError("on a device")), "is not an array: on a device")
    check_damaged(field, good, Arrayed(flow.CorruptDataError("cut off")), "cut off")
    samples = [Lazy(lambda: good), Lazy(raising(flow.CorruptDataError("hm"))), Lazy(lambda: good)]
    assert len(rows_of(samples, field, on_error="skip")) == 2
    failure = OSError("gone")
    samples[1] = Lazy(raising(failure))
    for source, says in [(samples, "list[1]"), (lambda: iter(samples), ", at sample 1,")]:
        blob = flow.GeneratorReader(source, fields=field, batch_size=3, on_error="skip")
        with flow.DataLoader(blob) as loader:
            says = re.escape(f"{says} raised OSError: gone")
            with pytest.raises(flow.UserFunctionError, match=says) as caught:
                list(loader)
        assert caught.value.__cause__ is failure


# ---- Damaged samples ----------------------------------------------------------------------------

BAD = [
    ("a:float32[3]", np.zeros(3), "'a' has dtype float64, and float32 is declared.*astype"),
    ("a:float32[3]", np.zeros(4, np.float32), r"'a' has shape \(4,\); \(3,\) is declared"),
    ("a:float32[?]", np.float32(1), r"'a' has shape \(\); \(None,\) is declared"),
    ("a:int64", 1.5, "'a' is 1.5, which does not fit into the declared int64"),
    ("a:uint8", 256, "'a' is 256, which does not fit"),
    ("a:int64", 2**70, "'a' "),
    ("a:int64", None, "'a' is None; int64 is declared"),
    ("a:int64", "7", "'a' is of type str"),
    ("a:float32[?]", b"1", "'a' is of type bytes"),
    ("a:int64[2]", [[1], [2, 3]], "'a' is not an array"),
    ("a:int64", object(), "'a' is <object"),
    ("a:bytes", [1, 300], "'a' is .* which does not fit into the declared uint8"),
]


@pytest.mark.parametrize("field, bad, says", BAD)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_sample_that_does_not_fit(field, bad, says, is_stream):
    good = {"float32[3]": np.zeros(3, np.float32), "float32[?]": np.zeros(2, np.float32),
            "int64": 1, "uint8": 1, "int64[2]": [1, 2], "bytes": b"x"}[field[2:]]  # fmt: skip
    samples = [{"a": bad if i == 5 else good} for i in range(20)]
    source = (lambda: iter(samples)) if is_stream else samples
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        epochs(flow.GeneratorReader(source, fields=[field], batch_size=8))
    assert (caught.value.op, caught.value.ordinal) == ("GeneratorReader", 5)
    blob, ids = flow.GeneratorReader(source, fields=[field], batch_size=8, on_error="skip",
                                     with_id=True)  # fmt: skip
    with flow.DataLoader(blob, ids) as loader:
        for _ in range(2):
            found = [i for _, ids in loader for i in ids[:, 1]]
            assert found == [i for i in range(20) if i != 5]
        assert [failure.ordinal for failure in loader.skipped] == [5, 5]


@pytest.mark.parametrize("bad, says", [
    ((1,), "the sample has 1 values; the fields are 2: a, b"),
    ((1, 2, 3), "the sample has 3 values"),
    (7, "the sample is 7; with 2 fields it must be a tuple or a dict: a, b"),
    ({"a": 1, "c": 2}, "the sample has no 'b'; its keys: a, c"),
])  # fmt: skip
def test_samples_of_another_form(bad, says):
    samples = [(1, 2), bad, (3, 4)]
    fields = ["a:int64", "b:int64"]
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        epochs(flow.GeneratorReader(samples, fields=fields))
    assert caught.value.ordinal == 1
    [batches] = epochs(flow.GeneratorReader(samples, fields=fields, on_error="skip"))
    assert [a.tolist() for a, _ in batches if len(a)] == [[1], [3]]


def test_the_source_may_call_a_sample_damaged():
    class Some:
        def __len__(self):
            return 10

        def __getitem__(self, index):
            if index == 4:
                raise flow.CorruptDataError("number 4 is broken")
            return index

    with pytest.raises(flow.CorruptDataError, match="number 4 is broken") as caught:
        numbers(Some())
    assert caught.value.ordinal == 4
    assert "__getitem__" in str(traceback.extract_tb(caught.value.__cause__.__traceback__))
    assert numbers(Some(), 2, on_error="skip") == [[0, 1, 2, 3, 5, 6, 7, 8, 9]] * 2
