"""docs/coming-from/equivalents-images.md: OneFlow's chains, and those of MindData and
torchvision, run as the page has them, and give what Pillow and NumPy do."""

from __future__ import annotations

import numpy as np
import pytest
from support.paths import ROOT
from tools.page_blocks import blocks_of

import pyflowdata as flow
from images.image_files import as_pillow, photo, saved
from images.test_resize import linear, summed
from pyflowdata.nodes.node import with_reader_attrs
from pyflowdata.io import IDXWriter, OFRecordWriter
from support.image_rows import pillow

TRAIN, VALIDATION, BATCH = 21, 19, 8
MEAN, STD = np.array([123.68, 116.779, 103.939]), np.array([58.393, 57.12, 57.375])
MEAN01, STD01 = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def ramp(number: int) -> np.ndarray:
    """Red tells the column, green the row, and blue the record."""
    height, width = 60 + number, 100 - 2 * number
    y, x = np.mgrid[:height, :width]
    red, green = 255 * x / (width - 1), 255 * y / (height - 1)
    return np.dstack([red, green, 10.0 * number + 0 * x]).round().astype(np.uint8)


def val_image(number: int) -> np.ndarray:
    return photo(50 + 3 * number, 90 - 2 * number, seed=number)


def jpeg(image: np.ndarray) -> bytes:
    return saved(image, "jpeg", quality=98, subsampling=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the page reads; the label of record i is i in OFRecords, and i % 3 in folders."""
    path = tmp_path_factory.mktemp("chains")
    for part, count, shards, make in (("train", TRAIN, 2, ramp),
                                      ("validation", VALIDATION, 1, val_image)):  # fmt: skip
        (path / "imagenet" / part).mkdir(parents=True)
        files = [jpeg(make(i)) for i in range(count)]
        for shard, rows in enumerate(np.array_split(np.arange(count), shards)):
            with OFRecordWriter(path / "imagenet" / part / f"part-{shard:05}") as writer:
                for i in rows.tolist():
                    writer.write({"encoded": files[i], "class/label": np.int32([i])})
        part = "train" if part == "train" else "val"
        for i, file in enumerate(files):
            (path / "images" / part / f"class{i % 3}").mkdir(parents=True, exist_ok=True)
            (path / "images" / part / f"class{i % 3}" / f"{i:03}.jpg").write_bytes(file)
    digits = np.random.default_rng(5).integers(0, 256, (TRAIN, 28, 28), np.uint8)
    digits[:, 0, 0] = np.arange(TRAIN)
    (path / "mnist").mkdir()
    for name, rows in (("images-idx3", digits), ("labels-idx1", np.arange(TRAIN, dtype=np.uint8))):
        with IDXWriter(path / "mnist" / f"train-{name}-ubyte") as writer:
            writer.write_batch(rows)
    return path


@pytest.fixture
def page(folder, monkeypatch):
    """page(section): the names that its Python defines, run where the data is."""
    monkeypatch.chdir(folder)
    path = "docs/coming-from/equivalents-images.md"
    lines = (ROOT / path).read_text().split("\n")

    def run(section):
        names = {"flow": flow}
        for block in blocks_of(path):
            titles = [line for line in lines[: block.line] if line.startswith("## ")]
            if block.language == "python" and titles[-1:] == [f"## {section}"]:
                exec(compile(block.text, path, "exec"), names)
        return names

    return run


def seeded(*blobs):
    """The same chain, of which the page leaves the seed to chance."""
    return flow.DataLoader(*with_reader_attrs(blobs, lambda reader: {"seed": 1}))


def columns(loader):
    """Whole columns of an epoch, and the number of rows of each batch."""
    with loader, seeded(*loader.blobs) as same:
        batches = list(same)
    return [np.concatenate(column) for column in zip(*batches)], [len(b[0]) for b in batches]


def grey_levels(x, mean=MEAN, std=STD):
    """(rows, 3, height, width) as they were before they were normalised."""
    assert x.dtype == np.float32 and x.shape[1] == 3
    return x.astype(np.float64) * std[:, None, None] + mean[:, None, None]


def line_through(levels):
    """First and last place in [0, 1] of samples along a ramp, and how far they are from a line."""
    places = np.arange(len(levels))
    inner = slice(len(levels) // 8, -(len(levels) // 8))
    slope, start = np.polyfit(places[inner], levels[inner] / 255, 1)
    error = np.abs(levels[inner] / 255 - (start + slope * places[inner])).max()
    return start - slope / 2, start + slope * (len(levels) - 0.5), 255 * error


def check_random_crop(image, number):
    """A part of `ramp(number)`, maybe mirrored; returns whether it is."""
    height, width = ramp(number).shape[:2]
    red, green, blue = image
    assert np.abs(blue - 10 * number).max() < 6, "the record, and the order of the colours"
    assert np.ptp(red, axis=0).max() < 8 and np.ptp(green, axis=1).max() < 8
    left, right, error_x = line_through(red.mean(0))
    top, bottom, error_y = line_through(green.mean(1))
    assert error_x < 4 and error_y < 4
    wide, high = abs(right - left) * (width - 1), (bottom - top) * (height - 1)
    assert high > 0 and min(left, right, top) > -0.05 and max(left, right, bottom) < 1.05
    assert 0.06 < wide * high / (height * width) < 1.05
    assert 0.65 < wide / high < 1.5
    return right < left


# ---- OneFlow ------------------------------------------------------------------------------------


def test_oneflow_training(page):
    names = page("OneFlow")
    label, image = names["load_imagenet_for_training"]("imagenet/train", 2, BATCH)
    assert (label.shape, label.dtype) == ((BATCH,), np.int32)
    assert (image.shape, image.dtype) == ((BATCH, 3, 224, 224), np.float32)
    mirrored, orders, first = [], [], None
    with seeded(label, image) as loader:
        for _ in range(3):
            batches = list(loader)
            labels, x = (np.concatenate(column) for column in zip(*batches, strict=True))
            assert sorted(labels.tolist()) == list(range(TRAIN))
            orders.append(labels.tolist())
            for number, found in zip(labels.tolist(), grey_levels(x), strict=True):
                mirrored.append(check_random_crop(found, number))
            one = x[orders[-1].index(5)]
            assert first is None or not np.array_equal(one, first), "other draws in each epoch"
            first = one
    assert orders[0] != orders[1] != sorted(orders[1])
    assert 0.25 < np.mean(mirrored) < 0.75


def kept_size(size, shorter, rounded):
    """(height, width) with this shorter side."""
    longer = rounded(max(size) * shorter / min(size))
    return (shorter, longer) if size[0] < size[1] else (longer, shorter)


def cropped(image):
    """224 x 224 of the middle, channels first."""
    y, x = (image.shape[0] - 224) // 2, (image.shape[1] - 224) // 2
    return image[y : y + 224, x : x + 224].transpose(2, 0, 1)


def test_oneflow_validation(page):
    names = page("OneFlow")
    assert names["count"] == VALIDATION, "as the page counts"
    blobs = names["load_imagenet_for_validation"]("imagenet/validation", 1, BATCH)
    (labels, x, mask), sizes = columns(flow.DataLoader(*blobs))
    assert sizes == [BATCH] * 3
    assert mask.tolist() == [True] * VALIDATION + [False] * 5
    assert labels[mask].tolist() == list(range(VALIDATION)) and labels.dtype == np.int32
    for number, found in enumerate(grey_levels(x[mask])):
        image = as_pillow(jpeg(val_image(number)), "RGB")
        exact = summed(image, kept_size(image.shape[:2], 256, round), linear, False)
        assert np.abs(cropped(exact) - found).max() < 0.53, number


def test_seeds_of_ops_are_those_of_the_reader(page):
    record = page("OneFlow")["ofrecord_reader"]("imagenet/train", part_name_suffix_length=5)
    builder = flow.user_op_builder("crop").Op("ofrecord_image_decoder_random_crop")
    builder = builder.Input("in", [record]).Output("out").Attr("name", "encoded").Attr("seed", 3)
    assert builder.Attr("has_seed", False).Build().SoleOutputBlob().shape == (1, None, None, 3)
    with pytest.raises(flow.InvalidArgumentError, match="'has_seed' is set; .* of their reader"):
        builder.Attr("has_seed", True).Build()


# ---- MindData and torchvision -------------------------------------------------------------------


def by_record(labels):
    """Records of a folder in the order of its classes."""
    order = sorted(range(VALIDATION), key=lambda i: (i % 3, i))
    assert labels.tolist() == [i % 3 for i in order]
    return order


def check_training(loader, size=224):
    (x, labels), sizes = columns(loader)
    assert x.shape[1:] == (3, size, size) and set(labels.tolist()) == {0, 1, 2}
    found = grey_levels(x, 255 * MEAN01, 255 * STD01)
    numbers = [round(image[2].mean() / 10) for image in found]
    assert len(set(numbers)) == len(numbers) and [n % 3 for n in numbers] == labels.tolist()
    mirrored = [check_random_crop(*pair) for pair in zip(found, numbers, strict=True)]
    assert 0.1 < np.mean(mirrored) < 0.9
    return sizes


def test_minddata_resnet(page):
    names = page("MindData")
    assert check_training(names["resnet_train"]) == [BATCH] * 2
    (x, labels, mask), sizes = columns(names["resnet_eval"])
    assert sizes == [BATCH] * 3 and mask.sum() == VALIDATION and labels.dtype == np.int32
    for number, found in zip(by_record(labels[mask]), grey_levels(x, 255 * MEAN01, 255 * STD01)):
        image = as_pillow(jpeg(val_image(number)), "RGB")
        exact = summed(image, kept_size(image.shape[:2], 256, int), linear, False)
        top, left = (round((side - 224) / 2) for side in exact.shape[:2])
        part = exact[top : top + 224, left : left + 224].transpose(2, 0, 1)
        assert np.abs(part - found).max() < 0.53, number


def test_minddata_lenet(page, folder):
    (x, labels), sizes = columns(page("MindData")["lenet"])
    assert sizes == [BATCH] * 2 and x.shape == (16, 1, 32, 32) and labels.dtype == np.int32
    digits = np.frombuffer((folder / "mnist/train-images-idx3-ubyte").read_bytes()[16:], np.uint8)
    assert len(set(labels.tolist())) == 16 and labels.tolist() != sorted(labels.tolist())
    for label, found in zip(labels.tolist(), x, strict=True):
        exact = summed(digits.reshape(TRAIN, 28, 28)[label], (32, 32), linear, False)
        assert np.abs(exact - 255 * (found[0] * 0.3081 + 0.1307)).max() < 0.53


def test_torchvision(page):
    names = page("torchvision")
    assert check_training(names["torchvision_train"]) == [BATCH, BATCH, TRAIN - 2 * BATCH]
    (x, labels, mask), sizes = columns(names["torchvision_val"])
    assert sizes == [BATCH] * 3 and mask.sum() == VALIDATION
    for number, found in zip(by_record(labels[mask]), x):
        image = as_pillow(jpeg(val_image(number)), "RGB")
        resized = pillow(image, kept_size(image.shape[:2], 256, int), "bilinear")
        top, left = (round((side - 224) / 2) for side in resized.shape[:2])
        part = resized[top : top + 224, left : left + 224] / 255
        assert np.allclose(found, ((part - MEAN01) / STD01).transpose(2, 0, 1), atol=1e-5)
    (x, y), sizes = columns(names["torchvision_recipe"])
    assert sizes == [BATCH] * 2 and x.shape == (16, 3, 176, 176) and x.dtype == np.float32
    assert y.dtype == np.float32 and np.allclose(y.sum(1), 1) and ((y > 0) & (y < 1)).any()
