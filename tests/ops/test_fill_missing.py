"""FillMissing, and the statistics that it and others are given: against NumPy."""

import copy
import json
import pickle

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged, same

FLOATS = [dtype for dtype in ALL_DTYPES if dtype.kind == "f"]


def gaps(shape, dtype="float64", seed=0):
    draw = np.random.default_rng(seed)
    values = draw.normal(30, 12, shape)
    values[draw.random(shape) < 0.2] = np.nan
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("shape, value", [((), 2.5), ((4,), -1), ((3, 2), [0.1, 7])])
def test_is_numpys_where(dtype, shape, value):
    given = gaps((300, *shape), dtype)
    given.reshape(-1)[:2] = [np.inf, -np.inf]
    filled, missing = load(
        *flow.FillMissing(blob_of(given, batch_size=64), value=value, with_missing=True)
    )
    same(filled, np.where(np.isnan(given), np.asarray(value, dtype), given))
    assert missing.dtype == bool and np.array_equal(missing, np.isnan(given))


def test_ragged_rows():
    rows = [np.where(row % 3 == 0, np.nan, row).astype("float32") for row in ragged("int64", 200)]
    found = load(flow.FillMissing(blob_of(rows, [-1]), value=9), num_threads=2)
    same(found, [np.nan_to_num(row, nan=9) for row in rows])


def test_dates_with_gaps_become_features():
    days = np.arange("2024-01-01", "2024-02-10", dtype="datetime64[D]")
    texts = [b"" if i % 7 == 3 else str(day).encode() for i, day in enumerate(days)]
    is_gap = np.array([not text for text in texts])
    truth = np.where(is_gap, np.nan, days.astype(np.int64))
    data = flow.from_arrays({"day": texts})
    data = data.map(flow.ParseDate, "day", unit="days", on_bad="fill")
    own = flow.Statistics.fit(data, "day", quantiles=[0.5])
    assert (own.count, own.missing) == ((~is_gap).sum(), is_gap.sum())
    assert np.isclose(own.mean, np.nanmean(truth)) and np.isclose(own.std, np.nanstd(truth))
    assert (own.min, own.max, own.median) == (19723, days.astype(int)[-1], np.nanmedian(truth))
    scaled = data.map(flow.Affine, "day", **own.standardize()).column("day")
    same(np.isnan(scaled), is_gap)
    filled = data.map(
        flow.FillMissing, "day", outputs=["day", "gap"], value=own.median + 0.75, with_missing=True
    )
    same(filled.column("gap"), is_gap)
    same(filled.column("day"), np.where(is_gap, np.rint(own.median + 0.75), truth).astype(int))
    features = filled.map(flow.Affine, "day", **own.standardize()).column("day")
    assert np.allclose(features[~is_gap], scaled[~is_gap]) and np.abs(features).max() < 2
    with pytest.raises(flow.InvalidArgumentError, match=r"\[0\] = 1e\+19 does not fit as int64"):
        flow.FillMissing(np.arange(3), value=1e19)
    wrong = flow.from_arrays({"day": texts})
    wrong = wrong.map(flow.ParseDate, "day", format="%d.%m.%Y", unit="days", on_bad="fill")
    with pytest.raises(flow.InvalidArgumentError, match="all 40 are missing"):
        flow.Statistics.fit(wrong, "day")


def test_what_is_refused():
    with pytest.raises(flow.InvalidArgumentError, match="read the column as float32"):
        flow.FillMissing(np.arange(3, dtype="int32"), value=0)
    with pytest.raises(flow.InvalidArgumentError, match="last dimension must be 2"):
        flow.FillMissing(np.zeros(3), value=[1, 2])
    with pytest.raises(flow.InvalidArgumentError, match="has no number"):
        flow.FillMissing(np.zeros(3), value=[])
    gap = np.full(2, np.nan)
    for dtype, least in (("float32", 3.5e38), ("float16", 65520.0)):
        with pytest.raises(flow.InvalidArgumentError, match=rf"\[1\] = .* infinite as {dtype}"):
            flow.FillMissing(gap.astype(dtype), value=[0, least])
    assert flow.FillMissing(gap, value=1e300).tolist() == [1e300] * 2
    assert flow.FillMissing(gap.astype("float32"), value=3.4e38).max() == np.float32(3.4e38)


# ---- A table ------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    """Ages with gaps, and counts whose only gap is in the last record."""
    ages = gaps(30_000).round(3)
    cells = ["" if np.isnan(one) else str(one) for one in ages]
    path = tmp_path / "t.csv"
    path.write_text("age,n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)) + "5,\n")
    return path, np.append(ages, 5)


def test_statistics_are_those_of_numpy(table):
    path, ages = table
    data = flow.open(path, fields=["age"]).shuffle(seed=3)
    assert data.fields["age"].dtype == "float64"  # a gap is NaN
    found = flow.Statistics.fit(data, "age", quantiles=[0.25, 0.5])
    assert (found.count, found.missing) == ((~np.isnan(ages)).sum(), np.isnan(ages).sum())
    assert np.isclose(found.mean, np.nanmean(ages), rtol=1e-14)
    assert np.isclose(found.std, np.nanstd(ages), rtol=1e-12)
    assert (found.min, found.max) == (np.nanmin(ages), np.nanmax(ages))
    assert found.median == np.nanmedian(ages)
    assert found.quantiles[0.25] == np.nanquantile(ages, 0.25)
    again = flow.Statistics.fit(data, "age")
    assert (again.mean, again.std) == (found.mean, found.std)  # bit for bit, on any threads
    with pytest.raises(flow.InvalidArgumentError, match="quantiles="):
        _ = again.median


def test_a_table_becomes_tensors(table):
    path, ages = table
    data = flow.open(path, fields=["age:float32=nan", "n:float64=nan"])
    own = flow.Statistics.fit(data, "age", quantiles=[0.5])
    filled = data.map(flow.FillMissing, "age", value=own.median)
    for attrs, truth in (
        (own.standardize(), (ages - np.nanmean(ages)) / np.nanstd(ages)),
        (own.min_max(), (ages - np.nanmin(ages)) / (np.nanmax(ages) - np.nanmin(ages))),
    ):
        found = load(filled.map(flow.Affine, "age", **attrs).batch(500)["age"])
        assert found.dtype == np.float32
        is_gap = np.isnan(ages)
        assert np.allclose(found[~is_gap], truth[~is_gap], rtol=1e-5, atol=1e-6)
        assert len(set(found[is_gap].tolist())) == 1
    with pytest.raises(flow.CorruptDataError, match="or 'n:float64=nan'"):
        flow.Statistics.fit(flow.open(path), "n")  # the first records have integers without gaps
    counts = flow.Statistics.fit(data, "n")
    assert counts.missing == 1 and counts.max == 29_999


def test_statistics_of_arrays_and_of_none():
    rows = np.stack([np.arange(50.0), np.full(50, 7.0)], 1)
    data = flow.from_arrays({"x": rows, "gone": np.full(50, np.nan), "text": [b"a"] * 50})
    found = flow.Statistics.fit(data, "x")
    assert found.mean.tolist() == [24.5, 7] and found.std[1] == 0
    scaled = flow.Affine(list(rows), **found.standardize())
    assert np.allclose(np.mean(scaled, 0), 0, atol=1e-6)
    assert not np.stack(flow.Affine(list(rows), **found.min_max()))[:, 1].any()
    with pytest.raises(flow.InvalidArgumentError, match="no number in any record"):
        flow.Statistics.fit(data, "gone")
    with pytest.raises(flow.InvalidArgumentError, match="statistics are those of numbers"):
        flow.Statistics.fit(data, "text")
    noisy = data.map(lambda x, *, rng: x + rng.normal(), "x")
    with pytest.raises(flow.InvalidArgumentError, match="change from epoch to epoch"):
        flow.Statistics.fit(noisy, "x")
    for values, said in (
        ([1, np.inf], "infinite numbers"), ([-np.inf, np.inf, np.nan], "infinite numbers"),
        ([1e200, -1e200], "overflow float64"), ([1.7e308] * 3, "overflow float64"),
    ):  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match=said):
            flow.Statistics.fit(flow.from_arrays({"x": np.array(values)}), "x")
    tiny = flow.Statistics.fit(flow.from_arrays({"x": np.array([0, 1e-310])}), "x")
    with pytest.raises(flow.InvalidArgumentError, match="differ by so little"):
        tiny.min_max()
    for quantiles in (0.5, [1.1], [np.nan], ["a"], "0"):
        with pytest.raises(flow.InvalidArgumentError, match="a list of fractions"):
            flow.Statistics.fit(data, "x", quantiles=quantiles)
    by_array = flow.Statistics.fit(data, "x", quantiles=np.array([0, 0.5]))
    assert by_array.median.tolist() == [24.5, 7]


def test_statistics_can_be_kept(tmp_path):
    rows = np.random.default_rng(0).normal(size=(99, 2)) / 3  # numbers with all their digits
    fit = flow.Statistics.fit
    found = fit(flow.from_arrays({"x": rows}), "x", quantiles=[0.1, 0.5])
    path = tmp_path / "x.json"
    path.write_text("before")
    found.save(path)
    kept = (flow.Statistics.load(path), pickle.loads(pickle.dumps(found)), copy.deepcopy(found))
    for one in kept:
        assert one == found and hash(one) == hash(found) and repr(one) == repr(found)
        assert one.mean.tobytes() == found.mean.tobytes() and one.count.dtype == np.int64
        assert one.median.tobytes() == found.median.tobytes()
        assert one.standardize() == found.standardize()
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]
    nothing = dict.fromkeys(("mean", "std", "min", "max"), [np.nan])
    empty = flow.Statistics(count=[0], missing=[3], **nothing)
    empty.save(tmp_path / "empty.json")
    assert flow.Statistics.load(tmp_path / "empty.json") == empty
    assert found != fit(flow.from_arrays({"x": rows}), "x") and found != fit(
        flow.from_arrays({"x": rows[1:]}), "x", quantiles=[0.1, 0.5]
    )
    content = json.loads(path.read_text())
    content["mean"][0] += 1
    words = flow.Vocabulary(["a"])
    words.save(tmp_path / "words.json")
    for text, says in (
        (json.dumps(content), "checksum"), ("[]", "holds no statistics"), ("", "holds no stat"),
        (json.dumps({**content, "mean": [1.0]}), "no statistics that Statistics.save"),
        ((tmp_path / "words.json").read_text(), "holds no statistics"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises(flow.CorruptDataError, match=says):
            flow.Statistics.load(path)
    with pytest.raises(FileNotFoundError, match="nowhere/x.json'$"):
        found.save(tmp_path / "nowhere" / "x.json")
