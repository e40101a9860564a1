"""Files for the tests of commands."""

import numpy as np

import pyflowdata as flow
from pyflowdata.formats import open_source
from pyflowdata.io import TFRecordWriter, encode_examples

N = 300
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 4)).astype(np.float32)
Y = RNG.integers(-5, 1000, N)
S = [f"s{i}".encode() for i in range(N)]
V = flow.Ragged(np.arange(2 * N), np.sort(np.r_[0, RNG.integers(0, 2 * N, N - 1), 2 * N]))
COLUMNS = {"x": X, "y": Y, "s": S}


def write(writer, path, batch, **options):
    with writer(path, **options) as one:
        one.write_batch(batch)
    return path


def examples(folder, columns=COLUMNS, name="a.tfrecord", **options):
    return write(TFRecordWriter, folder / name, columns, **options)


def read(path, *fields):
    """The columns of a file: arrays, and lists of bytes or arrays."""
    source = open_source([path])
    names = fields or [field.name for field in source.fields]
    batches = []
    with source.loader(names, batch_size=1000) as loader:
        batches = list(loader)
    found = {}
    for name in names:
        columns = [batch[name] for batch in batches]
        if isinstance(columns[0], flow.Ragged):
            is_bytes = columns[0].dtype == np.uint8
            rows = [one.to_bytes_list() if is_bytes else one.to_list() for one in columns]
            found[name] = [row for one in rows for row in one]
        else:
            found[name] = np.concatenate(columns)
    return found


def starts(columns):
    """Where each record begins in the file of examples()."""
    sizes = [len(one) + 16 for one in encode_examples(columns)]
    return np.cumsum([0, *sizes])


def damage(path, *places, cut=0):
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= 0x10
    path.write_bytes(data[: len(data) - cut])


def convert(here, *arguments):
    jobs = () if "--jobs" in arguments else ("--jobs", 1)
    status, out, err = here("convert", *arguments, "--quiet", *jobs)
    assert status == 0, err
    return out
