"""CIFARReader: files written with NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from formats.flat_files import cifar

import pyflowdata as flow

RANDOM = np.random.default_rng(5)
IMAGES = RANDOM.integers(0, 256, (25, 3, 32, 32), np.uint8)
COARSE = RANDOM.integers(0, 20, 25).astype(np.uint8)
FINE = RANDOM.integers(0, 100, 25).astype(np.uint8)
LABELS = FINE % 10


def load(*blobs: flow.Blob) -> tuple[np.ndarray, ...]:
    with flow.DataLoader(*blobs) as loader:
        return tuple(np.concatenate(parts) for parts in zip(*loader, strict=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data_batch_1.bin").write_bytes(cifar(IMAGES[:20], LABELS[:20]))
    (tmp_path / "data_batch_2.bin").write_bytes(cifar(IMAGES[20:], LABELS[20:]))
    (tmp_path / "train.bin").write_bytes(cifar(IMAGES, COARSE, FINE))
    return tmp_path


@pytest.mark.parametrize("layout, axes", [("CHW", (0, 1, 2, 3)), ("HWC", (0, 2, 3, 1))])
def test_cifar_10(folder: Path, layout: str, axes: tuple[int, ...]) -> None:
    image, label = flow.CIFARReader(files=folder / "data_batch_*", layout=layout, batch_size=8)
    expected = IMAGES.transpose(axes)
    assert (image.shape, label.shape) == ((8, *expected.shape[1:]), (8,))
    images, labels = load(image, label)
    assert np.array_equal(images, expected) and np.array_equal(labels, LABELS)


@pytest.mark.parametrize("layout, axes", [("CHW", (0, 1, 2, 3)), ("HWC", (0, 2, 3, 1))])
def test_cifar_100(folder: Path, layout: str, axes: tuple[int, ...]) -> None:
    attrs = {"files": folder / "train.bin", "version": 100, "layout": layout, "batch_size": 8}
    images, labels = load(*flow.CIFARReader(**attrs))
    assert np.array_equal(images, IMAGES.transpose(axes)) and np.array_equal(labels, FINE)
    images, labels, coarse = load(*flow.CIFARReader(**attrs, with_coarse_label=True))
    assert np.array_equal(images, IMAGES.transpose(axes)) and np.array_equal(labels, FINE)
    assert np.array_equal(coarse, COARSE)


def test_shuffled(folder: Path) -> None:
    blobs = flow.CIFARReader(files=folder / "data_batch_*", batch_size=8, random_shuffle=True,
                             seed=1, with_id=True)  # fmt: skip
    images, labels, ids = load(*blobs)
    assert sorted(ids[:, 1]) == list(range(25))
    assert np.array_equal(images, IMAGES[ids[:, 1]]) and np.array_equal(labels, LABELS[ids[:, 1]])


@pytest.mark.parametrize(
    "content, version, says",
    [
        (cifar(IMAGES, COARSE, FINE), 10, "fits CIFAR-100: use version=100"),
        (cifar(IMAGES, LABELS), 100, "fits CIFAR-10: use version=10"),
        (cifar(IMAGES, LABELS)[:-1], 10, "is the file truncated"),
        (b"\x80\x02}q\x01(U\x0b" + bytes(100), 10, "pickled"),
        (b"\x1f\x8b\x08\x00" + bytes(100), 10, "gzip"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, version: int, says: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(flow.Error, match=says) as caught:
        load(*flow.CIFARReader(files=tmp_path / "x", version=version))
    assert caught.value.file == str(tmp_path / "x")


@pytest.mark.parametrize(
    "labels, version, says, byte",
    [
        ([LABELS * 0 + 10], 10, "label is 10, but there are only 10 classes", 0),
        ([COARSE, FINE * 0 + 100], 100, "label is 100, but there are only 100 classes", 1),
        ([COARSE * 0 + 20, FINE], 100, "label is 20, but there are only 20 classes", 0),
    ],
)
def test_labels_that_are_no_class(
    tmp_path: Path, labels: list[np.ndarray], version: int, says: str, byte: int
) -> None:
    (tmp_path / "x").write_bytes(cifar(IMAGES, *labels))
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        load(*flow.CIFARReader(files=tmp_path / "x", version=version))
    assert caught.value.byte == byte


def test_a_bad_label_costs_one_record(tmp_path: Path) -> None:
    labels = LABELS.copy()
    labels[7] = 200
    (tmp_path / "x").write_bytes(cifar(IMAGES, labels))
    image, label = flow.CIFARReader(files=tmp_path / "x", batch_size=10, on_error="skip")
    with flow.DataLoader(image, label) as loader:
        found = np.concatenate([batch[1] for batch in loader])
        assert [error.ordinal for error in loader.skipped] == [7]
    assert np.array_equal(found, np.delete(labels, 7))


@pytest.mark.parametrize(
    "attrs, says",
    [
        ({"version": 20}, "'version' = 20; it must be 10 or 100"),
        ({"version": 10, "with_coarse_label": True}, "CIFAR-10 has no coarse labels"),
        ({"layout": "NCHW"}, "CHW.*HWC"),
    ],
)
def test_refuses_attrs(attrs: dict[str, object], says: str) -> None:
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.CIFARReader(files="x", **attrs)
