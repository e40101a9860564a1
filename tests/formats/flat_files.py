"""IDX and CIFAR files for tests, written with struct alone."""

from __future__ import annotations

import struct

import numpy as np

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def idx(array: np.ndarray) -> bytes:
    """An IDX file of the array."""
    head = struct.pack(">BBBB", 0, 0, CODES[array.dtype.str[1:]], array.ndim)
    sizes = b"".join(struct.pack(">I", size) for size in array.shape)
    return head + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


def cifar(images: np.ndarray, *labels: np.ndarray) -> bytes:
    """A CIFAR file: images of shape (n, 3, 32, 32) behind their labels, all uint8."""
    columns = [column[:, None] for column in labels]
    rows = np.concatenate([*columns, images.reshape(len(images), -1)], 1)
    return rows.astype(np.uint8).tobytes()
