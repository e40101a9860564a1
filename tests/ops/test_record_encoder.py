"""RecordEncoder: against records that `struct` makes."""

import struct

import numpy as np

import pyflowdata as flow


def padded(data):
    return data + bytes(-len(data) % 8)


def record(sample):
    """Fields at multiples of 8; those that vary have their shape before them."""
    shape = struct.pack("=2q", *sample["box"].shape)
    return b"".join(padded(one) for one in (
        struct.pack("=b", sample["flag"]), struct.pack("=3d", *sample["x"]),
        struct.pack("=q", len(sample["name"])), sample["name"],
        shape, sample["box"].tobytes(), b"",
    ))  # fmt: skip


def test_a_record_has_the_fields_one_after_another():
    chance = np.random.default_rng(0)
    samples = [
        {
            "flag": bool(i % 3),
            "x": chance.normal(size=3),
            "name": b"abcdefghij"[: i % 11],
            "box": chance.normal(size=(i % 4, 2)).astype(np.float32),
            "none": np.zeros((0, 4)),
        }
        for i in range(100)
    ]
    fields = ["flag:bool", "x:float64[3]", "name:bytes", "box:float32[?,2]", "none:float64[0,4]"]
    blobs = flow.GeneratorReader(samples, fields=fields, batch_size=32)
    blob = flow.RecordEncoder(*blobs)
    assert blob.shape == (32, None) and blob.dtype == np.uint8
    with flow.DataLoader(blob, num_threads=2) as loader:
        found = [row.tobytes() for batch in loader for row in batch]
    assert found == [record(sample) for sample in samples]


def test_shapes_of_empty_rows():
    """Where several dimensions vary, an empty row has its own shape, if it was given one."""
    rows = [np.zeros(shape, np.int16) for shape in ((0, 3), (2, 0), (1, 2), (0, 0))]
    blob = flow.GeneratorReader(rows, fields=["x:int16[?,?]"], batch_size=4)
    with flow.DataLoader(flow.RecordEncoder(blob)) as loader:
        (found,) = loader
    with flow.DataLoader(blob) as loader:
        (given,) = loader
    for packed, row in zip(found, given, strict=True):
        assert struct.unpack_from("=2q", packed.tobytes()) == row.shape
