"""IDXReader: files written with struct, in every dtype, and what is wrong with others."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from formats.flat_files import CODES, idx

import pyflowdata as flow

RANDOM = np.random.default_rng(7)
IMAGES = RANDOM.integers(0, 256, (50, 28, 28), np.uint8)
LABELS = RANDOM.integers(0, 10, 50).astype(np.uint8)


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """Files as the mirrors name them, the training set's plain and the test set's gzipped."""
    for name, part in (("train", slice(0, 40)), ("t10k", slice(40, 50))):
        packed = gzip.compress if name == "t10k" else bytes
        for kind, array in (("images-idx3", IMAGES[part]), ("labels-idx1", LABELS[part])):
            suffix = ".gz" if name == "t10k" else ""
            (tmp_path / f"{name}-{kind}-ubyte{suffix}").write_bytes(packed(idx(array)))
    return tmp_path


def load(*blobs: flow.Blob) -> tuple[np.ndarray, ...]:
    with flow.DataLoader(*blobs) as loader:
        return tuple(np.concatenate(parts) for parts in zip(*loader, strict=True))


@pytest.mark.parametrize("access", ["map", "read"])
def test_images_and_labels(mnist: Path, access: str) -> None:
    blobs = flow.IDXReader(files=mnist / "train-images*", labels=mnist / "train-labels*",
                           batch_size=16, file_access=access)  # fmt: skip
    assert [(blob.shape, blob.dtype) for blob in blobs] == [((16, 28, 28), np.uint8),
                                                            ((16,), np.uint8)]  # fmt: skip
    assert [blob.name for blob in blobs] == ["IDXReader/images", "IDXReader/labels"]
    images, labels = load(*blobs)
    assert np.array_equal(images, IMAGES[:40]) and np.array_equal(labels, LABELS[:40])


def test_without_labels_there_is_one_output(mnist: Path) -> None:
    blob = flow.IDXReader(files=mnist / "train-images-idx3-ubyte", batch_size=16)
    assert isinstance(blob, flow.Blob)
    with flow.DataLoader(blob) as loader:
        assert np.array_equal(np.concatenate(list(loader)), IMAGES[:40])
    with pytest.raises(flow.InvalidArgumentError, match=r"'labels' needs Attr\('labels', ...\)"):
        builder = flow.user_op_builder("r").Op("MNISTReader").Output("labels")
        builder.Attr("files", str(mnist / "train-images-idx3-ubyte")).Build()


def test_gzipped_files_are_shuffled_as_others(mnist: Path) -> None:
    """Plain and gzipped ones together, in any order."""
    names = ["train-{}-ubyte", "t10k-{}-ubyte.gz"]
    images = [mnist / name.format("images-idx3") for name in names]
    labels = [mnist / name.format("labels-idx1") for name in names]
    blobs = flow.IDXReader(files=images, labels=labels, batch_size=8, random_shuffle=True, seed=2,
                           with_id=True)  # fmt: skip
    found, label, ids = load(*blobs)
    order = ids[:, 1]
    assert sorted(order) == list(range(50)) and list(order) != list(range(50))
    assert np.array_equal(found, IMAGES[order]) and np.array_equal(label, LABELS[order])
    assert np.array_equal(ids[:, 0], order >= 40)


def test_paired_by_ordinal_in_every_shuffle(mnist: Path) -> None:
    small = {"shuffle_block_size": 4, "shuffle_window": 3}
    for shuffle, window in (("global", {}), ("window", small), ("buffer", {})):
        blobs = flow.IDXReader(files=mnist / "train-images*", labels=mnist / "train-labels*",
                               batch_size=8, shuffle=shuffle, seed=2, shuffle_buffer_size=9,
                               with_id=True, **window)  # fmt: skip
        images, labels, ids = load(*blobs)
        assert np.array_equal(images, IMAGES[ids[:, 1]])
        assert np.array_equal(labels, LABELS[ids[:, 1]])


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4, 2)])
def test_every_dtype_and_rank(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = RANDOM.integers(-50, 120, (9, *shape)).astype(dtype)
    (tmp_path / "a").write_bytes(idx(array))
    blob = flow.IDXReader(files=tmp_path / "a", dtype=dtype, shape=shape, batch_size=4)
    found = load(blob, blob)[0]
    assert found.dtype == array.dtype and np.array_equal(found, array)


def test_labels_of_qmnist(tmp_path: Path) -> None:
    labels = RANDOM.integers(0, 2**31, (50, 8)).astype(np.int32)
    (tmp_path / "images").write_bytes(idx(IMAGES))
    (tmp_path / "labels").write_bytes(idx(labels))
    blobs = flow.IDXReader(files=tmp_path / "images", labels=tmp_path / "labels",
                           label_dtype="int32", label_shape=(8,), batch_size=50)  # fmt: skip
    assert np.array_equal(load(*blobs)[1], labels)


def fails(mnist: Path, **attrs: object) -> flow.Error:
    given = {"files": mnist / "train-images-idx3-ubyte"} | attrs
    with pytest.raises(flow.Error) as caught:
        blobs = flow.IDXReader(**given)
        load(*(blobs if isinstance(blobs, tuple) else (blobs,)))
    return caught.value


@pytest.mark.parametrize(
    "attrs, says",
    [
        ({"shape": (28, 27)}, ["uint8 (28, 28)", "attrs dtype and shape", "uint8 (28, 27)"]),
        ({"dtype": "int8"}, ["uint8 (28, 28)", "int8 (28, 28)"]),
        ({"dtype": "int64"}, ["'dtype'", "uint8", "float64"]),
        ({"labels": ["train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz"]}, ["2 files", "1"]),
        ({"labels": ["t10k-labels-idx1-ubyte.gz"]}, ["10 labels", "40 images"]),
        ({"labels": ["train-images-idx3-ubyte"], "label_shape": ()},
         ["label_dtype and label_shape"]),
        ({"labels": ["nothing-*"]}, ["attr 'labels': no file matches"]),
        ({"labels": ["train-labels-idx1-ubyte"], "label_dtype": "int32"}, ["int32 ()"]),
    ],
)
def test_what_does_not_fit(mnist: Path, attrs: dict[str, object], says: list[str]) -> None:
    if "labels" in attrs:
        attrs = attrs | {"labels": [str(mnist / name) for name in attrs["labels"]]}
    error = fails(mnist, **attrs)
    assert all(text in str(error) for text in says), str(error)


@pytest.mark.parametrize(
    "change, says, byte",
    [
        (lambda data: data[:-1], "50 rows of 784 bytes", 39215),
        (lambda data: data + b"x", "1 bytes follow", 39216),
        (lambda data: data[:9], "after 9 bytes of 16", 9),
        (lambda data: b"", "not an IDX file", 0),
        (lambda data: b"\1" + data[1:], "begins with", 0),
        (lambda data: b"\0\0\x0a\3" + data[4:], "not an IDX file", 0),
        (lambda data: data[:3] + b"\x0a" + data[4:], "10 dimensions; at most 9", 3),
        (lambda data: data[:4] + b"\xff" * 4 + data[8:], "4294967295 rows", 39216),
        (lambda data: gzip.compress(data)[:-1], "gzip", None),
        (lambda data: gzip.compress(data[:-1]), "50 rows of 784 bytes", None),
    ],
)
def test_damaged_files(
    tmp_path: Path, change: Callable[[bytes], bytes], says: str, byte: int | None
) -> None:
    path = tmp_path / "images"
    path.write_bytes(change(idx(IMAGES)))
    error = fails(tmp_path, files=path)
    assert isinstance(error, flow.CorruptDataError)
    assert error.file == str(path) and says in str(error)
    if byte is not None:
        assert error.byte == byte


def test_a_state_continues_in_both_arrays(mnist: Path) -> None:
    def make() -> flow.DataLoader:
        return flow.DataLoader(*flow.IDXReader(
            files=mnist / "train-images*", labels=mnist / "train-labels*", batch_size=8,
            random_shuffle=True, seed=4))  # fmt: skip

    with make() as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [labels.tolist() for _, labels in batches]
    with make() as loader:
        loader.load_state_dict(state)
        assert [labels.tolist() for _, labels in loader] == rest
    (mnist / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:40][::-1]))
    with make() as loader, pytest.raises(flow.Error, match="files"):
        loader.load_state_dict(state)
