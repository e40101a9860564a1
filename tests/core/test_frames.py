"""Readers of framed records and of records of one size, over sources that the host makes.

Their ops are those of tests/support/ops.
"""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow

pytestmark = pytest.mark.usefixtures("test_ops")

HEADER = b"FRAMES\r\n"
RECORD, PADDING = 0, 1
SHUFFLED = {"random_shuffle": True, "seed": 7}


def frame(kind, content):
    return struct.pack("<II", len(content), kind) + content


def make_file(frames):
    return HEADER + b"".join(frame(kind, content) for kind, content in frames)


def write(folder, *contents):
    folder.mkdir()
    for number, content in enumerate(contents):
        (folder / f"part-{number}").write_bytes(content)
    return str(folder)


def truth(files):
    """Size, sum and offset of each record, and its file."""
    rows = []
    for number, frames in enumerate(files):
        at = len(HEADER)
        for kind, content in frames or []:
            if kind == RECORD:
                rows.append((len(content), sum(content), at + 8, number))
            at += 8 + len(content)
    return np.array(rows, np.int64).reshape(-1, 4)


def records(seed, n, mean, padding=0.0, long=0):
    """Frames of random sizes; `long` ones are far longer than the mean."""
    random = np.random.RandomState(seed)
    frames = []
    for i in range(n):
        while random.random_sample() < padding:
            frames.append((PADDING, bytes(random.randint(0, 9))))
        size = random.randint(0, 2 * mean + 1)
        if long and i % long == 1:
            size += 300 * mean
        frames.append((RECORD, random.randint(0, 255, size, np.uint8).tobytes()))
    return frames


# ---- What the tests do -------------------------------------------------------------------------


def read(op, folder, batch_size=50, threads=None, **attrs):
    """Rows and ids of an epoch, and whether the index was new."""
    builder = flow.user_op_builder("r").Op(op).Output("out").Output("id")
    builder = builder.Attr("data_dir", folder).Attr("batch_size", batch_size)
    builder = builder.Attr("with_id", True)
    for name, value in attrs.items():
        builder = builder.Attr(name, value)
    out, ids = builder.Build().InferAndTryRun().RemoteBlobList()
    with flow.DataLoader(out, ids, num_threads=threads) as loader:
        batches = list(loader)
        assert loader.readers[0].records < 0 or len(loader) == len(batches)
        index = loader.readers[0].index
    return (
        np.concatenate([batch[0] for batch in batches]),
        np.concatenate([batch[1] for batch in batches]),
        index.is_new,
        index.bytes,
    )


def failure(op, folder, **attrs):
    """Type, text, file and byte of what opening or reading raises."""
    try:
        read(op, folder, **attrs)
    except Exception as error:
        byte = getattr(error, "byte", None)
        return type(error).__name__, str(error), Path(getattr(error, "file", "") or "").name, byte
    return None


def read_skipping(folder):
    builder = flow.user_op_builder("r").Op("FramedReader").Output("out")
    builder = builder.Attr("data_dir", folder).Attr("batch_size", 10).Attr("on_error", "skip")
    blob = builder.Build().InferAndTryRun().RemoteBlobList()[0]
    with flow.DataLoader(blob) as loader:
        rows = np.concatenate(list(loader))
        return rows, [(Path(e.file).name, e.byte, e.ordinal) for e in loader.skipped]


# ---- Frames ------------------------------------------------------------------------------------

SHAPES = {
    "short": dict(n=700, mean=2),
    "bytes": dict(n=500, mean=20),
    "kilobytes": dict(n=120, mean=700),
    "large": dict(n=30, mean=40_000),
    "padded": dict(n=500, mean=15, padding=0.4),
    "some long": dict(n=500, mean=10, long=30),
    "padded and long": dict(n=300, mean=20, padding=0.3, long=7),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_record_in_any_order(tmp_path, shape):
    files = [records(seed, **SHAPES[shape]) for seed in range(3)]
    files[1:1] = [None, [], [(PADDING, b"nothing"), (PADDING, b"")]]  # no bytes, no records
    contents = [b"" if frames is None else make_file(frames) for frames in files]
    folder = write(tmp_path / "data", *contents)
    expected = truth(files)
    for access in ("map", "read"):
        for attrs in ({}, SHUFFLED, {**SHUFFLED, "threads": 1}):
            rows, ids, _, _ = read(
                "FramedReader", folder, file_access=access, index_dir="none", **attrs
            )
            order = ids[:, 1]
            assert sorted(order) == list(range(len(expected)))
            assert (order == np.arange(len(expected))).all() == (not attrs)
            np.testing.assert_array_equal(rows, expected[order, :3])
            np.testing.assert_array_equal(ids[:, 0], expected[order, 3])


def test_the_index_is_kept_for_op_and_attrs(tmp_path):
    files = [records(seed, 400, 30) for seed in range(2)]
    folder = write(tmp_path / "data", *map(make_file, files))
    cache = str(tmp_path / "cache")
    built = read("FramedReader", folder, index_dir=cache)
    found = read("FramedReader", folder, index_dir=cache, **SHUFFLED)
    assert built[2] and not found[2]  # one index for any order
    assert built[3] < 8 * 800
    np.testing.assert_array_equal(found[0], truth(files)[found[1][:, 1], :3])
    # Another attr of the op, even if it changes nothing, is another index.
    assert "InternalError" in failure("FramedReader", folder, index_dir=cache, fault="stuck")


def test_a_truncated_file_is_never_silently_short(tmp_path):
    whole = make_file(records(1, 20, 30))
    ends = [8]
    while ends[-1] < len(whole):
        ends.append(ends[-1] + 8 + struct.unpack_from("<I", whole, ends[-1])[0])
    good = make_file(records(2, 5, 30))
    for number, size in enumerate([3, 9, 15, ends[5] + 3, ends[-2] + 8, len(whole) - 1]):
        folder = write(tmp_path / f"data{number}", good, whole[:size])
        kind, text, file, byte = failure("FramedReader", folder)
        frame_at = max([end for end in [0, *ends] if end < size])
        assert (kind, file, byte) == ("CorruptDataError", "part-1", frame_at), text
        assert "the file ends at byte" in text and "missing" in text
    folder = write(tmp_path / "whole", good, whole[: ends[7]])  # between two frames
    assert failure("FramedReader", folder) is None


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("place", range(3))
def test_an_empty_file_lacks_its_header_where_the_op_says_so(tmp_path, packed, place):
    files = [records(1, 3, 8), records(2, 4, 8)]
    contents = [make_file(frames) for frames in files]
    contents.insert(place, b"")
    folder = write(tmp_path / "parts", *map(packed, contents))
    assert len(read("FramedReader", folder)[0]) == 7
    with pytest.raises(flow.CorruptDataError, match=f"part-{place}") as caught:
        read("FramedReader", folder, has_header=True)
    assert caught.value.byte == 0


def test_a_damaged_header_ends_the_open(tmp_path):
    frames = records(1, 20, 30)
    damaged = bytearray(make_file(frames))
    at = len(make_file(frames[:7]))
    damaged[at + 4] = 9
    folder = write(tmp_path / "data", make_file(frames), bytes(damaged))
    kind, text, file, byte = failure("FramedReader", folder)
    assert (kind, file, byte) == ("CorruptDataError", "part-1", at + 4)
    assert "expected kind 0 or 1, found 9" in text
    folder = write(tmp_path / "foreign", b"something else")
    kind, text, file, byte = failure("FramedReader", folder)
    assert (kind, file, byte) == ("CorruptDataError", "part-0", 0) and "expected the header" in text


def test_damage_in_a_record_costs_that_record(tmp_path):
    frames = records(3, 40, 30)
    frames[11] = (RECORD, b"\xff damaged")
    folder = write(tmp_path / "data", make_file(frames[:5]), make_file(frames[5:]))
    rows, skipped = read_skipping(folder)
    expected = truth([frames[:5], frames[5:]])
    np.testing.assert_array_equal(rows, np.delete(expected[:, :3], 11, axis=0))
    assert skipped == [("part-1", expected[11, 2], 11)]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("stuck", "frame() gave next = 8 for the frame at 8; it must be after the frame"),
        ("backwards", "frame() gave next = 4 for the frame at 8"),
        ("negative", "frame() gave data = 16 and size = -1"),
        ("overlapping", "for the frame at 8; frames must not overlap"),
        ("unframed", "open_frames() was given a framing without frame()"),
        ("silent", "frame() returned status -2 and reported: nothing"),
    ],
)
def test_faults_of_an_op_say_what_to_change(tmp_path, fault, says):
    folder = write(tmp_path / "data", make_file(records(1, 20, 30)))
    kind, text, *_ = failure("FramedReader", folder, fault=fault)
    assert kind == "InternalError" and says in text


# ---- Records of one size -----------------------------------------------------------------------


@pytest.mark.parametrize("access", ["map", "read"])
@pytest.mark.parametrize("attrs", [{}, SHUFFLED], ids=["in order", "shuffled"])
def test_fixed_records(tmp_path, access, attrs):
    layout = {"header_bytes": 16, "record_bytes": 7, "footer_bytes": 3}
    rows = np.random.RandomState(0).randint(0, 256, (500, 7), np.uint8)
    cuts = [0, 0, 200, 201, 500, 500]
    contents = [
        b"h" * 16 + rows[begin:end].tobytes() + b"end" for begin, end in zip(cuts, cuts[1:])
    ]
    folder = write(tmp_path / "data", *contents)
    attrs = {**attrs, **layout, "file_access": access, "index_dir": str(tmp_path / "c")}
    found, ids, is_new, size = read("FixedReader", folder, **attrs)
    np.testing.assert_array_equal(found, rows[ids[:, 1]])
    assert sorted(ids[:, 1]) == list(range(500)) and size == 0 and not is_new
    np.testing.assert_array_equal(ids[:, 0], np.searchsorted(cuts, ids[:, 1], "right") - 1)
    assert not (tmp_path / "c").exists()


def test_fixed_records_that_do_not_fill_their_file(tmp_path):
    layout = {"header_bytes": 16, "record_bytes": 10, "footer_bytes": 3}
    good = bytes(16 + 20 + 3)
    for number, (size, byte) in enumerate([(16 + 25 + 3, 36), (18, 18), (5, 5), (0, 0)]):
        folder = write(tmp_path / f"data{number}", good, bytes(size))
        kind, text, file, at = failure("FixedReader", folder, **layout)
        assert (kind, file, at) == ("CorruptDataError", "part-1", byte), text
    kind, text, *_ = failure("FixedReader", folder, record_bytes=0)
    assert kind == "InternalError" and "record_bytes must be positive" in text
