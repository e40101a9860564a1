"""ParseDate: against Python's datetime, and NumPy's datetime64."""

import datetime as dt

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import blob_of, load

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
UNITS = {
    "days": lambda t: (t - EPOCH).days,
    "s": lambda t: (t - EPOCH) // dt.timedelta(seconds=1),
    "ms": lambda t: (t - EPOCH) // dt.timedelta(milliseconds=1),
    "us": lambda t: (t - EPOCH) // dt.timedelta(microseconds=1),
    "year": lambda t: t.year,
    "month": lambda t: t.month,
    "day": lambda t: t.day,
    "weekday": lambda t: t.weekday(),
    "yearday": lambda t: t.timetuple().tm_yday,
    "hour": lambda t: t.hour,
}


def instants(count=400):
    draw = np.random.default_rng(0)
    low, high = dt.datetime.min.toordinal() + 2, dt.datetime.max.toordinal() - 2
    some = [dt.datetime.fromordinal(int(one)) for one in draw.integers(low, high, count)]
    some += [dt.datetime(year, month, day)
             for year in (1, 4, 100, 1600, 1900, 1970, 2000, 2024, 9999)
             for month, day in ((1, 2), (2, 28), (3, 1), (12, 30))]  # fmt: skip
    some += [dt.datetime(year, 2, 29) for year in (4, 1600, 2000, 2024)]
    return [
        one + dt.timedelta(microseconds=int(draw.integers(0, 86400 * 10**6))) for one in some
    ]


def parsed(texts, **attrs):
    rows = [np.frombuffer(text.encode(), np.uint8) for text in texts]
    return load(flow.ParseDate(blob_of(rows, [-1]), **attrs))


@pytest.mark.parametrize("unit", UNITS)
def test_iso_is_that_of_datetime(unit):
    naive, texts = instants(), []
    zones = [None, dt.timezone.utc, dt.timezone(dt.timedelta(hours=5, minutes=30)),
             dt.timezone(-dt.timedelta(hours=11))]  # fmt: skip
    zoned = [one.replace(tzinfo=zones[i % 4]) for i, one in enumerate(naive)]
    for i, one in enumerate(zoned):
        texts.append(f" {one.isoformat(sep='T ' [i % 2])}\r")
    truth = [
        UNITS[unit]((one if one.tzinfo else one.replace(tzinfo=dt.timezone.utc))
                    .astimezone(dt.timezone.utc))
        for one in zoned
    ]  # fmt: skip
    assert parsed(texts, unit=unit).tolist() == truth


def test_forms_of_iso():
    day = 19782 * 86400
    for text, seconds in {
        "2024-02-29": 0, "2024-02-29T12:30": 45000, "2024-02-29 12:30:59": 45059,
        "2024-02-29t00:00:00,25z": 0, "2024-02-29T02:00+02": 0, "2024-02-29T02:00+0230": -1800,
        "2024-02-28T23:59:59.999999999-00:00": -1,
    }.items():  # fmt: skip
        assert flow.ParseDate(text.encode()) == day + seconds, text
    fine = b"2024-02-29T00:00:00.123456789123"[:-3]
    assert flow.ParseDate(fine, unit="ns") == np.datetime64(fine.decode(), "ns").astype(int)
    assert flow.ParseDate(b"1969-12-31T23:59:59.9", unit="s") == -1


@pytest.mark.parametrize(
    "form",
    ["%d/%m/%Y", "%Y%m%d", "%m/%d/%y %I:%M:%S %p", "%d %b %Y, %H:%M", "%Y-%j %H%%",
     "%Y-%m-%dT%H:%M:%S.%f%z", "%H:%M:%S %d.%m.%Y"],
)  # fmt: skip
def test_forms_are_those_of_strptime(form):
    texts = [one.replace(tzinfo=dt.timezone.utc).strftime(form) for one in instants(200)
             if 1969 <= one.year <= 2068 or (one.year > 999 and "%y" not in form)]  # fmt: skip
    assert len(texts) > 5
    truth = [dt.datetime.strptime(text, form) for text in texts]  # noqa: DTZ007
    truth = [UNITS["us"](one.replace(tzinfo=one.tzinfo or dt.timezone.utc)) for one in truth]
    assert parsed(texts, format=form, unit="us").tolist() == truth


BAD = {
    "2024": 4, "2024-13-01": 5, "2024-02-30": 10, "2023-02-29": 10, "24-01-01": 0,
    "2024-1-01": 5, "2024-01-01T": 11, "2024-01-01T24:00": 11, "2024-01-01T10:60": 14,
    "2024-01-01T10:10:60": 17, "2024-01-01T10:10:10.": 20, "2024-01-01T10:10+1": 17,
    "2024-01-01x": 10, "2024-01-01\0": 10, "0000-01-01": 0, "9999-12-31T23:00-02:00": 22,
    "2024-01-01T10": 13, "x" * 3000: 0,
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_text_that_is_no_date_names_its_byte(tmp_path, text):
    (tmp_path / "part-0").write_text(f"2024-01-01\n{text}\n2024-01-02\n")
    rows = flow.TextLineReader(tmp_path, batch_size=2, on_error="raise")
    with pytest.raises(flow.CorruptDataError, match="expected .*on_bad='fill'") as caught:
        load(flow.ParseDate(rows, unit="days"))
    place = caught.value.op, caught.value.line, caught.value.byte
    assert place == ("ParseDate", 2, 11 + BAD[text])
    filled = load(flow.ParseDate(rows, unit="s", on_bad="fill")).astype("datetime64[s]")
    assert np.isnat(filled).tolist() == [False, True, False]
    kept = flow.TextLineReader(tmp_path, batch_size=2, on_error="skip")
    assert load(flow.ParseDate(kept, unit="day")).tolist() == [1, 2]
    assert flow.ParseDate(text.encode(), unit="month", on_bad="fill", fill=-1) == -1


def test_attrs_are_checked():
    for gap in (b"", b"  "):
        assert flow.ParseDate(gap, on_bad="fill") == -(2**63)
        with pytest.raises(flow.CorruptDataError, match="a year of four digits"):
            flow.ParseDate(gap)
    for form in ("%", "%Y-%Q", "%A"):
        with pytest.raises(flow.InvalidArgumentError, match="is not known; it has %Y"):
            flow.ParseDate(b"2024", format=form)
    with pytest.raises(flow.CorruptDataError, match="int64 holds in this unit"):
        flow.ParseDate(b"2300-01-01", unit="ns")
    with pytest.raises(flow.InvalidArgumentError, match="uint8"):
        flow.ParseDate(np.zeros(3))
    assert flow.ParseDate(b"10:30", format="%H:%M") == 37800  # what is left out is of 1970-01-01
