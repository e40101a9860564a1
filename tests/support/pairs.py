"""Files of number pairs, and what tests of Python ops do with them."""

from __future__ import annotations

import pytest

import pyflowdata as flow

NUM_RECORDS = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs")
    for part in range(2):
        first = part * NUM_RECORDS // 2
        lines = [f"{i}, {i * 0.5}\n" for i in range(first, first + NUM_RECORDS // 2)]
        (path / f"part-{part}").write_text("".join(lines))
    return path


def pairs(folder, batch_size=30, **attrs):
    """Blobs x, the number of the record, and y, its half; each of shape (1,)."""
    return flow.MiniDecoder(
        flow.MiniReader(str(folder), batch_size=batch_size, data_part_num=2, **attrs)
    )


def read(*blobs, epochs=1, **options):
    with flow.DataLoader(tuple(blobs), **options) as loader:
        return [batch for _ in range(epochs) for batch in loader]


def numbers(batches, index=0):
    """The records of some batches, by the number in column `index`."""
    return [int(n) for batch in batches for n in batch[index].ravel()]


def returning(value):
    return lambda x: value


def refuse(message, function=returning(0), outputs=None, **options):
    name = {"name": "Refused", **options}
    with pytest.raises(flow.InvalidArgumentError, match=message):
        flow.register_decoder(function, outputs=outputs or {"out": "float32"}, **name)
