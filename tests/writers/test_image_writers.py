"""Writers of images: Pillow decodes what they encode, `os.walk` lists the folders."""

import os
import tarfile

import numpy as np
import pytest
from formats.imagefolder.image_trees import by_torchvision
from images.image_files import as_pillow, photo, saved
from support.cli_files import read

import pyflowdata as flow
from pyflowdata.io import (
    ImageFolderWriter,
    OFRecordWriter,
    TFRecordWriter,
    TarWriter,
    encode_example,
)

SIZES = [(9, 7), (16, 30), (1, 1), (33, 8)]
PHOTOS = [photo(*size, seed=number) for number, size in enumerate(SIZES)]
PNG = saved(PHOTOS[0], "png")


def batch(images):
    """Images of different sizes, as a loader delivers them."""
    values = np.concatenate([one.ravel() for one in images])
    splits = np.cumsum([0, *(one.size for one in images)])
    shapes = np.array([one.shape for one in images])
    return flow.Ragged(values, splits, row_shape=(None, None, 3), shapes=shapes)


def names(path):
    return sorted(os.listdir(path))


def listing(root):
    """(class, path below it, bytes) of each sample, as torchvision finds them."""
    classes = sorted(os.listdir(root))
    return [
        (classes[label], os.path.basename(path), (root / path).read_bytes())
        for path, label in by_torchvision(root)
    ]


# ---- Image folders ------------------------------------------------------------------------------


def test_a_folder_for_each_class_in_the_order_of_records(tmp_path):
    labels = ["dog", b"cat", "dog", "ä"]
    with ImageFolderWriter(tmp_path / "a", format="png") as writer:
        writer.write({"image": PHOTOS[0], "label": labels[0]})
        writer.write_batch({"image": PHOTOS[1:], "label": labels[1:]})
        writer.write({"image": np.frombuffer(saved(PHOTOS[2], "jpeg"), np.uint8), "label": "dog"})
    assert writer.paths == (tmp_path / "a",) and writer.records == 5
    found = listing(tmp_path / "a")
    assert [one[:2] for one in found] == [
        ("cat", "000000001.png"), ("dog", "000000000.png"), ("dog", "000000002.png"),
        ("dog", "000000004.jpg"), ("ä", "000000003.png"),
    ]  # fmt: skip
    for place, number in enumerate([1, 0, 2, None, 3]):
        if number is not None:
            assert np.array_equal(as_pillow(found[place][2], "RGB"), PHOTOS[number])
    assert found[3][2] == saved(PHOTOS[2], "jpeg")


def test_what_the_reader_reads_again(tmp_path):
    labels = np.array([2, 0, 1, 2], np.uint8)
    with ImageFolderWriter(tmp_path / "a", format="ppm", classes=["x", "y", "z"]) as writer:
        writer.write_batch({"image": batch(PHOTOS), "label": labels})
    image, label = flow.ImageFolderReader(tmp_path / "a", batch_size=4)
    with flow.DataLoader(flow.ImageDecoder(image), label) as loader:
        images, found = next(iter(loader))
    order = np.argsort(labels, kind="stable")
    assert found.tolist() == labels[order].tolist()
    assert all(np.array_equal(one, PHOTOS[row]) for one, row in zip(images, order))


@pytest.mark.parametrize("form, tolerance", [("jpeg", 40), ("png", 0), ("ppm", 0), ("bmp", 0)])
def test_formats_of_arrays(form, tolerance, tmp_path):
    with ImageFolderWriter(tmp_path / "a", format=form) as writer:
        writer.write({"image": PHOTOS[3], "label": 0})
        writer.write({"image": PHOTOS[3][:, :, 0], "label": 0})
    endings = {"jpeg": ["jpg", "jpg"], "ppm": ["ppm", "pgm"]}.get(form, [form, form])
    files = [data for _, _, data in listing(tmp_path / "a")]
    assert [name for _, name, _ in listing(tmp_path / "a")] == [
        f"00000000{i}.{ending}" for i, ending in enumerate(endings)
    ]
    errors = [
        np.abs(as_pillow(files[0], "RGB").astype(int) - PHOTOS[3]).max(),
        np.abs(as_pillow(files[1], "GRAY")[..., 0].astype(int) - PHOTOS[3][:, :, 0]).max(),
    ]
    assert max(errors) <= tolerance and (min(errors) > 0 or form != "jpeg")


def test_quality(tmp_path):
    def size(quality):
        with ImageFolderWriter(tmp_path / f"q{quality}", quality=quality) as writer:
            writer.write({"image": photo(64, 64), "label": "a"})
        return len(listing(tmp_path / f"q{quality}")[0][2])

    assert size(10) < size(60) < size(100)


def test_folders_of_numbers_sort_as_numbers_and_have_no_gaps(tmp_path):
    with ImageFolderWriter(tmp_path / "a") as writer:
        writer.write_batch({"image": [PNG] * 4, "label": [11, 2, np.int64(2), np.array(0)]})
    assert names(tmp_path / "a") == [f"{number:02d}" for number in range(12)]
    image, label = flow.ImageFolderReader(tmp_path / "a", batch_size=4, allow_empty=True)
    with flow.DataLoader(label) as loader:
        assert next(iter(loader)).tolist() == [0, 2, 2, 11]
    with pytest.raises(flow.InvalidArgumentError, match="'01'.* have no file"):
        flow.DataLoader(flow.ImageFolderReader(tmp_path / "a")[0])


def test_classes_without_records_are_empty_folders(tmp_path):
    with ImageFolderWriter(tmp_path / "a", classes=["c", "b", "a"]) as writer:
        writer.write({"image": PNG, "label": 2})
        writer.write({"image": PNG, "label": "c"})
    assert [names(tmp_path / "a" / one) for one in "abc"] == [
        ["000000000.png"], [], ["000000001.png"]
    ]  # fmt: skip


def refused(writer, call, argument, says):
    before = writer.records
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        getattr(writer, call)(argument)
    assert writer.records == before
    return caught.value


def test_refused_samples_leave_the_writer_as_it_was(tmp_path):
    with ImageFolderWriter(tmp_path / "a") as writer:
        writer.write({"image": PNG, "label": 1})
        for sample, says in [
            ({"image": PNG}, "a dict of image and label; this is image$"),
            (PNG, "a dict of image and label"),
            ({"image": PNG, "label": "cat"}, "'cat', and others are numbers"),
            ({"image": PNG, "label": -1}, "0 to 99999"),
            ({"image": PNG, "label": 1.0}, "the number of a class, or its name"),
            ({"image": PNG, "label": True}, "the number of a class, or its name"),
            ({"image": b"", "label": 1}, "no file of JPEG"),
            ({"image": b"text", "label": 1}, "no file of JPEG"),
            ({"image": "text", "label": 1}, "an image is an array of uint8"),
            ({"image": PHOTOS[0] / 255, "label": 1}, "image is of float64"),
            ({"image": PHOTOS[0][:0], "label": 1}, "no pixels"),
            ({"image": np.ma.array(PHOTOS[0]), "label": 1}, "masked"),
        ]:
            assert refused(writer, "write", sample, says).ordinal == 1
        bad = {"image": [PNG, PHOTOS[0], b"text"], "label": [0, 1, 2]}
        assert refused(writer, "write_batch", bad, "no file of JPEG").ordinal == 3
        bad = {"image": [PNG] * 3, "label": [0, 1, "x"]}
        assert refused(writer, "write_batch", bad, "others are numbers").ordinal == 3
    assert names(tmp_path / "a") == ["0", "1"] and names(tmp_path / "a/0") == []


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\0b", "x" * 256, "\ud800"])
def test_names_that_no_folder_can_have(name, tmp_path):
    with pytest.raises(flow.InvalidArgumentError):
        ImageFolderWriter(tmp_path / "a", classes=["b", name])
    with ImageFolderWriter(tmp_path / "a") as writer, pytest.raises(flow.InvalidArgumentError):
        writer.write({"image": PNG, "label": name})
    assert names(tmp_path) == ["a"] and names(tmp_path / "a") == []


@pytest.mark.parametrize(
    "options, says",
    [
        ({"classes": "cat"}, "a list of names"),
        ({"classes": []}, "a list of names"),
        ({"classes": ["a", "a"]}, "all different"),
        ({"classes": ["a", 1]}, "a list of names"),
        ({"format": "gif"}, "format = 'gif' must be one of 'jpeg', 'png'"),
        ({"quality": 0}, "quality = 0; it must be 1 to 100"),
        ({"compression": "gzip"}, "never compressed"),
    ],
)
def test_refused_arguments(options, says, tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        ImageFolderWriter(tmp_path / "a", **options)
    assert caught.value.op == "ImageFolderWriter" and names(tmp_path) == []


def test_labels_against_classes(tmp_path):
    with ImageFolderWriter(tmp_path / "a", classes=["x", "y"]) as writer:
        for label in (2, -1, "z", "0"):
            refused(writer, "write", {"image": PNG, "label": label}, "one of the classes")


# ---- Whole or not there -------------------------------------------------------------------------


def test_nothing_is_there_before_the_end(tmp_path):
    with pytest.raises(KeyError), ImageFolderWriter(tmp_path / "a") as writer:
        writer.write({"image": PNG, "label": 0})
        assert [one.startswith(".a.") for one in names(tmp_path)] == [True]
        raise KeyError
    assert names(tmp_path) == []
    writer = ImageFolderWriter(tmp_path / "a")
    with pytest.warns(ResourceWarning, match="never closed"):
        del writer
    assert names(tmp_path) == []
    with pytest.raises(flow.FileError, match="no folder can be made"):
        ImageFolderWriter(tmp_path / "b" / "a")


def test_a_failure_to_write_leaves_nothing(tmp_path):
    writer = ImageFolderWriter(tmp_path / "a")
    writer.write({"image": PNG, "label": 0})
    (staged,) = tmp_path.iterdir()
    os.rename(staged / "0", staged / "gone")
    with pytest.raises(flow.FileError, match="0/000000001.png"):
        writer.write({"image": PNG, "label": 0})
    assert names(tmp_path) == []
    with pytest.raises(flow.InvalidArgumentError, match="writing failed before"):
        writer.close()


def test_what_is_there_is_replaced_only_when_asked_and_if_it_is_images(tmp_path):
    def write(**options):
        with ImageFolderWriter(tmp_path / "a", **options) as writer:
            writer.write({"image": PNG, "label": "new"})

    (tmp_path / "a" / "old").mkdir(parents=True)
    (tmp_path / "a" / "old" / "1.JPEG").write_bytes(b"x")
    with pytest.raises(flow.FileError, match="it is there already"):
        write()
    write(overwrite=True)
    assert names(tmp_path) == ["a"] and names(tmp_path / "a") == ["new"]
    for other in ("notes.txt", "new/notes.txt", ".git/x.png", "new/deep/x.png"):
        path = tmp_path / "a" / other
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
        with pytest.raises(flow.FileError, match=f"it has {other[:5].rstrip('/')}"):
            write(overwrite=True)
        assert path.read_bytes() == b"mine" and names(tmp_path) == ["a"]
        path.unlink()
        if path.parent.name not in ("a", "new"):
            path.parent.rmdir()
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(flow.FileError, match="it is not a folder"):
        ImageFolderWriter(tmp_path / "file", overwrite=True)


def test_of_two_writers_the_first_wins(tmp_path):
    first, second = (ImageFolderWriter(tmp_path / "a") for _ in range(2))
    first.write({"image": PNG, "label": "first"})
    second.write({"image": PNG, "label": "second"})
    first.close()
    with pytest.raises(flow.FileError, match="it is there already"):
        second.close()
    assert names(tmp_path) == ["a"] and names(tmp_path / "a") == ["first"]


# ---- Fields of records --------------------------------------------------------------------------


@pytest.mark.parametrize("writer", [TFRecordWriter, OFRecordWriter])
def test_arrays_in_records_of_features(writer, tmp_path):
    jpeg = saved(PHOTOS[1], "jpeg")
    with writer(tmp_path / "a", images={"i": "png"}) as one:
        one.write({"i": PHOTOS[0], "y": 0})
        one.write({"i": jpeg, "y": 1})
        one.write_batch({"i": batch(PHOTOS[2:]), "y": np.arange(2, 4)})
        one.write_batch({"i": np.stack([PHOTOS[0]] * 2), "y": np.arange(4, 6)})
        one.write_batch({"i": [PNG, PHOTOS[1]], "y": np.arange(6, 8)})
    found = read(tmp_path / "a", "i", "y")
    assert found["y"].ravel().tolist() == list(range(8))
    pixels = [PHOTOS[0], as_pillow(jpeg, "RGB"), *PHOTOS[2:], *[PHOTOS[0]] * 3, PHOTOS[1]]
    for data, image in zip(found["i"], pixels, strict=True):
        assert np.array_equal(as_pillow(data, "RGB"), image)
    assert found["i"][1] == jpeg and found["i"][6] == PNG


def test_other_fields_and_whole_records_are_as_without_images(tmp_path):
    sample = {"i": PHOTOS[0], "x": np.arange(3), "b": PHOTOS[1]}
    record = encode_example(sample)
    for options in ({}, {"images": {}}, {"images": {"z": "png"}}):
        with TFRecordWriter(tmp_path / "a", overwrite=True, **options) as one:
            one.write(record)
            one.write_batch([record])
            if "z" not in options.get("images", {}):
                one.write(sample)
        source = (tmp_path / "a").read_bytes()
        size = len(record) + 16
        assert len(source) in (2 * size, 3 * size) and source.count(record) == len(source) // size
    with TFRecordWriter(tmp_path / "c", images={"i": "png"}) as one:
        one.write(sample)
    found = read(tmp_path / "c")
    assert found["b"] == [PHOTOS[1].tobytes()] and found["x"].tolist() == [[0, 1, 2]]


def test_arrays_in_tar_files(tmp_path):
    with TarWriter(tmp_path / "a.tar", images={"jpg": "jpeg", "seg.png": "png"}) as writer:
        writer.write({"jpg": PHOTOS[1], "seg.png": PHOTOS[1][:, :, 0], "cls": 5})
        writer.write_batch({"jpg": [PHOTOS[2], None], "seg.png": [PNG, PNG], "cls": [6, 7]})
    with tarfile.open(tmp_path / "a.tar") as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive}
    assert list(files) == [
        "000000000.jpg", "000000000.seg.png", "000000000.cls",
        "000000001.jpg", "000000001.seg.png", "000000001.cls",
        "000000002.seg.png", "000000002.cls",
    ]  # fmt: skip
    assert np.array_equal(as_pillow(files["000000000.seg.png"], "GRAY"), PHOTOS[1][:, :, :1])
    assert files["000000001.seg.png"] == PNG and files["000000000.jpg"][:3] == b"\xff\xd8\xff"
    with TarWriter(tmp_path / "b.tar") as writer:
        writer.write({"jpg": PHOTOS[1], "cls": 5})  # uint8 is bytes where nothing else is said
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert archive.extractfile("000000000.jpg").read() == PHOTOS[1].tobytes()


def test_refused_images_of_records(tmp_path):
    with TFRecordWriter(tmp_path / "a", images={"i": "jpeg"}, quality=70) as writer:
        for sample, says in [
            ({"j": PNG}, "images names the field 'i', and there are j"),
            ({"i": "text"}, "i is 'text'; an image is an array of uint8"),
            ({"i": [1, 2]}, "an image is an array of uint8"),
            ({"i": PHOTOS[0].astype(np.uint16)}, "i is of uint16"),
        ]:
            refused(writer, "write", sample, says)
        bad = {"i": [PHOTOS[0], PHOTOS[0][:0]]}
        assert refused(writer, "write_batch", bad, "i: .*no pixels").ordinal == 1
        writer.write({"i": None, "y": 1})
    assert writer.records == 1
    for options, says in [
        ({"images": {"i": "gif"}}, r"images\['i'\] = 'gif' must be one of 'jpeg'"),
        ({"images": ["i"]}, "it must be a dict of fields and formats"),
        ({"images": {"i": "jpeg"}, "quality": 101}, "quality = 101; it must be 1 to 100"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
            TarWriter(tmp_path / "b.tar", **options)
        assert caught.value.op == "TarWriter"
