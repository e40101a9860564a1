"""What tests of writers share: rows to write, and the bytes that were written."""

import numpy as np

import pyflowdata as flow


def ragged(*rows, dtype=np.uint8):
    values = [np.frombuffer(row, np.uint8) if isinstance(row, bytes) else row for row in rows]
    splits = np.cumsum([0, *map(len, values)])
    return flow.Ragged(np.concatenate(values).astype(dtype), splits)


def row_of(columns, row):
    return {name: column[row] for name, column in columns.items()}


def written(writer, path, *calls, **options):
    """The bytes of the file after these calls: (method, argument)."""
    with writer(path, **options) as one:
        for method, argument in calls:
            getattr(one, method)(argument)
    return path.read_bytes()
