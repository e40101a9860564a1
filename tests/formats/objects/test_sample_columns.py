"""GeneratorReader: samples written field by field are those one by one, and __getitems__."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from formats.objects.generator_sources import FIELDS, Squares, epochs
from pyflowdata.pyops.samples import Samples

X = np.arange(60 * 6, dtype=np.float32).reshape(60, 2, 3)
FLAT = flow.Ragged(np.arange(60 * 3, dtype=np.int16), np.arange(0, 181, 3))


class Given:
    """A source of 60 samples; what it gives for several indices is made by a function."""

    def __init__(self, sample, many=None):
        self.sample, self.many, self.asked = sample, many, []

    def __len__(self):
        return 60

    def __getitem__(self, index):
        return self.sample(index)


class GivenMany(Given):
    def __getitems__(self, indices):
        self.asked.append(indices)
        many = self.many or (lambda ids: [self.sample(i) for i in ids])
        return many(indices)


def batches(source, fields, **options):
    attrs = {"batch_size": 7, "shuffle": True, "seed": 2, **options}
    blobs = flow.GeneratorReader(source, fields=fields, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    with flow.DataLoader(*blobs, prefetch=2) as loader:
        return [[as_list(one) for one in (b if len(blobs) > 1 else (b,))] for b in loader]


def as_list(array):
    rows = [(row.dtype, row.shape, row.tobytes()) for row in array]
    return rows


SAMPLES = {
    "arrays": (["x:float32[2,3]"], lambda i: X[i]),
    "arrays in tuples": (["x:float32[2,3]", "y:int64"], lambda i: (X[i], i)),
    "in lists": (["y:int8", "z:float64"], lambda i: [i, i / 7]),
    "in dicts": (["y:uint8", "x:float32[2,3]"], lambda i: {"x": X[i].T.copy().T, "y": np.uint8(i)}),
    "lists": (["x:float16[3]"], lambda i: [i, 2.5, True]),
    "integers among floats": (["x:float64"], lambda i: 2**53 if i % 2 else 0.5),
    "truths": (["x:bool[2]", "y:float32"], lambda i: ((True, False), i % 2 == 0)),
    "numbers in tuples of one": (["x:int32"], lambda i: (i,)),
    "nothing": (["x:float32[0]"], lambda i: np.zeros(0, np.float32)),
    "texts": (["t:bytes"], lambda i: "gr\u00fc\u00df" * (i % 3)),
    "bytes": (["y:int16", "t:bytes", "z:bytes"], lambda i: (i, b"a" * i, bytearray(i % 5))),
    "lists of a length": (["x:int32[?]", "y:int64"], lambda i: ([i] * (i % 9), i)),
    "empty lists": (["x:float32[?]"], lambda i: []),
    "arrays of a length": (["x:float32[?]"], lambda i: np.arange(i, dtype=np.float32)),
    "arrays of shapes": (["x:int16[?,2]", "u:uint8[3]"],
                         lambda i: (np.full((i % 4, 2), i, np.int16), np.full(3, i, np.uint8))),
    "arrays with strides": (["x:int64[?,?]"], lambda i: np.arange(24).reshape(4, 6)[::2, i % 6 :]),
    "large arrays": (["x:uint8[?]"], lambda i: np.full(40_000 + i, i, np.uint8)),
    "kinds by turns": (["x:int64[?]"], lambda i: [i] if i % 2 else np.full(2, i)),
    "bytes and arrays": (["x:uint8[2]"], lambda i: b"ab" if i % 3 else np.zeros(2, np.uint8)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_field_by_field_are_those_one_by_one(name, monkeypatch):
    fields, sample = SAMPLES[name]
    found, of_many = (batches(kind(sample), fields) for kind in (Given, GivenMany))
    monkeypatch.setattr(Samples, "_columns", lambda *_: None)
    assert found == of_many == batches(Given(sample), fields)
    assert sum(len(batch[0]) for batch in found) == 60


def test_plain_samples_are_written_field_by_field(monkeypatch):
    """Otherwise the test above would compare a way with itself."""
    mixed = {"integers among floats", "large arrays", "kinds by turns", "bytes and arrays"}
    monkeypatch.delattr(Samples, "_values")
    for name in set(SAMPLES) - mixed:
        fields, sample = SAMPLES[name]
        assert len(batches(Given(sample), fields)) == 9


@pytest.mark.parametrize("fields, sample", [
    (["x:float32"], lambda i: 1e39 if i == 20 else 1.0),
    (["x:int64"], lambda i: 1.5 if i == 20 else 1),
    (["x:uint8"], lambda i: 256 if i == 20 else 255),
    (["x:float64"], lambda i: 2**53 + 1 if i == 20 else i),
    (["x:int8[?]"], lambda i: [1, 300 if i == 20 else 3]),
    (["x:int64[2]"], lambda i: [1] * (3 if i == 20 else 2)),
    (["x:float32[2,3]"], lambda i: X[i].astype(np.float64) if i == 20 else X[i]),
    (["x:float32[?]"], lambda i: X[i] if i == 20 else X[i, 0]),
    (["t:bytes"], lambda i: "\ud800x" if i == 20 else "a"),
    (["x:int64", "y:int64"], lambda i: {"x": 0} if i == 20 else {"x": 0, "y": 0}),
    (["x:int64", "y:int64"], lambda i: (0,) if i == 20 else (0, 1)),
    (["x:float64[?]"], lambda i: [np.ma.masked_array([1.0], [True])] if i == 20 else [1.0]),
])  # fmt: skip
def test_the_sample_that_does_not_fit_is_left_out(fields, sample):
    """And said with its number, among samples that do fit."""
    plain = [i for i in range(60) if i != 20]
    for source in (Given(sample), GivenMany(sample)):
        blobs = flow.GeneratorReader(source, fields=fields, batch_size=60, on_error="skip",
                                     with_id=True)  # fmt: skip
        [[*_, ids]] = epochs(blobs)[0]
        assert ids[:, 1].tolist() == plain
        with pytest.raises(flow.CorruptDataError, match="20"):
            batches(source, fields, shuffle=False)


# ---- __getitems__ -------------------------------------------------------------------------------


class ManySquares(Squares):
    def __init__(self):
        super().__init__()
        self.asked = []

    def __getitems__(self, indices):
        assert type(indices) is list and all(type(i) is int for i in indices)
        self.asked.append(len(indices))
        return [self[i] for i in indices]


@pytest.mark.parametrize("world_size", [1, 3])
def test_rows_come_together_in_the_order_of_one_by_one(world_size):
    def run(source, rank, state=None):
        blobs = flow.GeneratorReader(source, fields=FIELDS, batch_size=48, shuffle=True, seed=3,
                                     rank=rank, world_size=world_size, with_id=True)  # fmt: skip
        with flow.DataLoader(blobs) as loader:
            if state is not None:
                loader.load_state_dict(state)
            found = []
            for step, batch in enumerate(loader):
                found.append(batch[-1][:, 1].tolist())
                assert np.array_equal(batch[0][:, 0], batch[-1][:, 1])
                if step == 6 and state is None:
                    middle = loader.state_dict()
            return found, middle if state is None else None

    source = ManySquares()
    for rank in range(world_size):
        expected, _ = run(Squares(), rank)
        found, middle = run(source, rank)
        assert found == expected
        assert run(source, rank, middle)[0] == expected[7:]
    assert max(source.asked) > 1


COLUMNS = {
    "arrays": (["x:float32[2,3]", "y:int64"], lambda i: {"x": X[i], "y": np.array(i)}),
    "lists": (["y:int64", "t:bytes"], lambda i: {"y": i, "t": ["a" * k for k in i], "no": i}),
    "ragged": (["r:int16[?]", "y:int64"],
               lambda i: {"r": flow.Ragged.concatenate([FLAT[k : k + 1] for k in i]), "y": i}),
    "rows of an array": (["r:int16[?]"], lambda i: {"r": FLAT.values.reshape(60, 3)[i]}),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name, monkeypatch):
    fields, many = COLUMNS[name]
    found = batches(GivenMany(None, many), fields)
    assert [len(batch[0]) for batch in found] == [7] * 8 + [4]
    monkeypatch.setattr(Samples, "_columns", lambda *_: None)
    assert batches(GivenMany(None, many), fields) == found
    each = Given(lambda i: {key: column[0] for key, column in many([i]).items()})
    assert batches(each, fields) == found


def test_an_array_is_a_list_of_samples():
    found = batches(GivenMany(None, lambda ids: X[ids]), ["x:float32[2,3]"])
    assert found == batches(X, ["x:float32[2,3]"])


@pytest.mark.parametrize("many, text", [
    (lambda ids: [0] * (len(ids) + 1), r"GivenMany.__getitems__\(\) was given 7 indices, and "
     "returned 8 samples"),
    (lambda ids: {"x": [0] * 3}, "was given 7 indices, and the column 'x' that it returned has 3"),
    (lambda ids: {"x": 5}, "the column 'x' that it returned has 0 values"),
    (lambda ids: None, "returned None; it must be a list of samples, or a dict of columns"),
    (lambda ids: "abcdefg", "returned 'abcdefg'; it must be a list"),
])  # fmt: skip
def test_what_getitems_returns_is_checked(many, text):
    with pytest.raises(flow.UserFunctionError, match=text):
        batches(GivenMany(lambda i: i, many), ["x:int64"], shuffle=False, batch_size=7)


@pytest.mark.parametrize("splits", [
    [0, 3, 2, 4, 5, 6, 7, 8], [0, 2**62, 3, 4, 5, 6, 7, 8], [-2, 1, 2, 3, 4, 5, 6, 8],
    [0, 1, 2, 3, 4, 5, 6, 9], [0, 1, 2, 3, 4, 5, 6, 10**6],
])  # fmt: skip
def test_row_splits_of_a_column_are_checked(splits):
    column = flow.Ragged(np.arange(8), np.array(splits))
    text = r"__getitems__\(\) returned the column 'x', a Ragged of 8 values with row_splits"
    with pytest.raises(flow.UserFunctionError, match=text):
        batches(GivenMany(None, lambda ids: {"x": column}), ["x:int64[?]"], shuffle=False)


@pytest.mark.parametrize("change", [list.clear, lambda ids: ids.append(99), list.sort])
def test_a_source_may_change_its_list_of_indices(change):
    def many(ids):
        values = [10 * i for i in ids]
        change(ids)
        return values

    found = batches(GivenMany(None, many), ["x:int64"])
    assert found == batches(Given(lambda i: 10 * i), ["x:int64"])


def test_what_a_column_raises_is_said():
    class Lost(list):
        def __iter__(self):
            raise RuntimeError("the file is gone")

    source = GivenMany(None, lambda ids: {"x": Lost(ids)})
    with pytest.raises(flow.UserFunctionError, match="RuntimeError: the file is gone") as caught:
        batches(source, ["x:int64"])
    assert "test_sample_columns.py" in str(caught.value)


def test_a_value_that_is_no_array_is_said_with_its_sample():
    class OnDevice:
        def __array__(self, *_, **__):
            raise RuntimeError("copy it to the host first")

    text = r"record 0\): 'x' is not an array: copy it to the host first"
    for field in ("x:int64", "x:int64[1]"):
        for sample in (OnDevice(), [OnDevice()]):
            with pytest.raises(flow.CorruptDataError, match=text):
                batches(Given(lambda _, sample=sample: sample), [field], shuffle=False)


def failing(at, failure):
    def sample(index):
        if index == at:
            raise failure
        return index

    return sample


def test_a_failure_of_many_names_the_sample():
    source = GivenMany(failing(31, ValueError("no such row")))
    text = r"GivenMany\[31\] raised ValueError: no such row"
    with pytest.raises(flow.UserFunctionError, match=text) as caught:
        batches(source, ["x:int64"])
    assert isinstance(caught.value.__cause__, ValueError)


def test_damaged_samples_among_many_are_left_out():
    source = GivenMany(failing(31, flow.CorruptDataError("half of it")))
    found = batches(source, ["x:int64"], shuffle=False, on_error="skip")
    assert [np.frombuffer(row[2], np.int64)[0] for batch in found for row in batch[0]] == [
        i for i in range(60) if i != 31
    ]


@pytest.mark.parametrize("kind", [ValueError, flow.CorruptDataError])
def test_a_failure_of_many_alone(kind):
    def many(ids):
        raise kind("only together")

    text = rf"GivenMany.__getitems__\(\), of 7 samples that can .* raised {kind.__name__}"
    with pytest.raises(flow.UserFunctionError, match=text):
        batches(GivenMany(lambda i: i, many), ["x:int64"])


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_comes_out_of_many(kind):
    def many(ids):
        raise kind(3)

    with pytest.raises(kind):
        batches(GivenMany(lambda i: i, many), ["x:int64"])
