"""Conversions of images: against Pillow, Python's `tarfile`, and torchvision's rules of folders."""

import io
import json
import os
import tarfile

import numpy as np
import pytest
from formats.flat_files import cifar
from formats.imagefolder.image_trees import by_torchvision, write_tree
from images.image_files import as_pillow, photo, saved
from PIL import Image
from support.cli_files import convert, damage, examples, read
from support.command import here

import pyflowdata as flow
from pyflowdata.cli import conversion
from pyflowdata.io import IDXWriter, TarWriter

CLASSES = ["ant", "bee", "cät"]
COUNT = 14


def picture(number, form=None):
    form = form or ("png" if number % 4 == 0 else "jpeg")
    return saved(photo(20 + number, 31 - number, seed=number), form)


@pytest.fixture
def tree(tmp_path):
    """A folder of classes with JPEG and PNG files."""
    return write_tree(tmp_path / "src", {
        f"{CLASSES[number % 3]}/{number}.{'png' if number % 4 == 0 else 'jpg'}": picture(number)
        for number in range(COUNT)
    })  # fmt: skip


def samples(root):
    """(class, bytes) of each file, as torchvision lists them."""
    classes = sorted(os.listdir(root), key=os.fsencode)
    return [(classes[label], (root / path).read_bytes()) for path, label in by_torchvision(root)]


def members(path):
    """{key: {extension: bytes}}."""
    found = {}
    with tarfile.open(path) as archive:
        for one in archive:
            key, _, extension = one.name.partition(".")
            found.setdefault(key, {})[extension] = archive.extractfile(one).read()
    return found


def resampled(data, size):
    """(height, width) by Pillow."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    return np.asarray(image.resize(size[::-1], Image.Resampling.BILINEAR))


# ---- Names and bytes ----------------------------------------------------------------------------


def test_a_folder_to_tfrecord_and_back(here, tree, tmp_path):
    expected = samples(tree)
    out = convert(here, tree, tmp_path / "a.tfrecord")
    assert out == f"image folder to TFRecord: 14 records in {tmp_path / 'a.tfrecord'}\n"
    found = read(tmp_path / "a.tfrecord")
    assert sorted(found) == ["image/class/label", "image/class/text", "image/encoded"]
    assert found["image/encoded"] == [data for _, data in expected]
    assert found["image/class/text"] == [name.encode() for name, _ in expected]
    assert found["image/class/label"].tolist() == [CLASSES.index(name) for name, _ in expected]
    status, _, err = here("convert", tmp_path / "a.tfrecord", f"{tmp_path}/b/")
    assert status == 0 and "classes are called as image/class/text says" in err
    assert samples(tmp_path / "b") == expected
    assert sorted(os.listdir(tmp_path)) == ["a.tfrecord", "b", "src"]


def test_tensorflow_parses_what_a_folder_became(here, tree, tmp_path):
    tf = pytest.importorskip("tensorflow", reason="the package tensorflow is not here")
    convert(here, tree, tmp_path / "a.tfrecord")
    spec = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }
    for record, (name, data) in zip(
        tf.data.TFRecordDataset(str(tmp_path / "a.tfrecord")), samples(tree), strict=True
    ):
        found = tf.io.parse_single_example(record, spec)
        assert found["image/encoded"].numpy() == data
        assert int(found["image/class/label"]) == CLASSES.index(name)


def test_a_folder_to_tar_and_back(here, tree, tmp_path):
    expected = samples(tree)
    convert(here, tree, tmp_path / "a.tar")
    found = members(tmp_path / "a.tar")
    assert list(found) == [f"{number:09d}" for number in range(COUNT)]
    for sample, (name, data) in zip(found.values(), expected, strict=True):
        ending = "png" if data[1:4] == b"PNG" else "jpg"
        assert sample == {ending: data, "cls": str(CLASSES.index(name)).encode()}
    convert(here, tmp_path / "a.tar", tmp_path / "b", "--to", "imagefolder")
    assert samples(tmp_path / "b") == [
        (str(CLASSES.index(name)), data) for name, data in expected
    ]
    convert(here, tmp_path / "a.tar", tmp_path / "c.tfrecord", "--fields", "jpg|png:bytes,cls")
    convert(here, tmp_path / "a.tar", tmp_path / "d.tfrecord")
    for path in ("c.tfrecord", "d.tfrecord"):
        again = read(tmp_path / path, "image/encoded", "image/class/label")
        assert again["image/encoded"] == [data for _, data in expected]
        assert again["image/class/label"].tolist() == [CLASSES.index(one) for one, _ in expected]


def test_a_folder_to_ofrecord_and_back(here, tree, tmp_path):
    convert(here, tree, tmp_path / "a.ofrecord")
    found = read(tmp_path / "a.ofrecord")
    assert sorted(found) == ["class/label", "class/text", "encoded"]
    convert(here, tmp_path / "a.ofrecord", f"{tmp_path}/b/")
    convert(here, tmp_path / "a.ofrecord", tmp_path / "c", "--to", "imagefolder")
    convert(here, tmp_path / "c", tmp_path / "d", "--to", "imagefolder")
    assert samples(tree) == samples(tmp_path / "c") == samples(tmp_path / "d")


def test_a_manifest_to_a_folder_and_to_tfrecord(here, tree, tmp_path):
    lines = [
        json.dumps({"source": f"src/{path}", "usage": "train", "annotation": [{"name": name}]})
        for path, name in [("cät/2.jpg", "two"), ("ant/0.png", "zero"), ("ant/3.jpg", "two")]
    ]
    (tmp_path / "a.manifest").write_text("\n".join(lines))
    expected = [("two", picture(2)), ("two", picture(3)), ("zero", picture(0))]
    convert(here, tmp_path / "a.manifest", tmp_path / "b", "--to", "imagefolder")
    assert samples(tmp_path / "b") == expected
    convert(here, tmp_path / "a.manifest", tmp_path / "b.tfrecord")
    found = read(tmp_path / "b.tfrecord")
    assert found["image/encoded"] == [picture(2), picture(0), picture(3)]
    assert found["image/class/text"] == [b"two", b"zero", b"two"]


def test_numbers_of_classes_are_kept_by_the_choice_of_fields(here, tmp_path):
    columns = {
        "image/encoded": [picture(number, "jpeg") for number in range(3)],
        "image/class/label": np.array([1, 12, 1]),
        "image/class/text": [b"z", b"a", b"z"],
        "image/height": np.arange(3),
    }
    path = examples(tmp_path, columns)
    status, _, err = here("convert", path, tmp_path / "b", "--to", "imagefolder")
    assert status == 1 and "image/height has no place in an image folder" in err
    fields = ["--fields", "image/encoded,image/class/label"]
    convert(here, path, tmp_path / "b", "--to", "imagefolder", *fields)
    assert sorted(os.listdir(tmp_path / "b")) == [f"{number:02d}" for number in range(13)]
    image, label = flow.ImageFolderReader(tmp_path / "b", batch_size=3, allow_empty=True)
    with flow.DataLoader(image, label) as loader:
        images, labels = next(iter(loader))
    order = [0, 2, 1]
    assert labels.tolist() == [1, 1, 12]
    assert images.to_bytes_list() == [columns["image/encoded"][row] for row in order]


def test_names_of_fields_that_are_not_usual_stay(here, tmp_path):
    columns = {"image": [picture(1)], "label": np.array([3]), "x": np.array([[1.0, 2.0]], "f4")}
    path = examples(tmp_path, columns)
    convert(here, path, tmp_path / "b.ofrecord")
    assert sorted(read(tmp_path / "b.ofrecord")) == ["image", "label", "x"]
    convert(here, path, tmp_path / "b.tar")
    assert list(members(tmp_path / "b.tar")["000000000"]) == ["image", "label.cls", "x.npy"]
    taken = {"image/encoded": [picture(1)], "jpg": [b"other"], "image/class/label": np.array([3])}
    convert(here, examples(tmp_path, taken, "c.tfrecord"), tmp_path / "c.tar")
    sample = members(tmp_path / "c.tar")["000000000"]
    assert sample["jpg"] == b"other" and sample["image_class_label.cls"] == b"3"


def test_images_of_any_name_where_a_folder_needs_them(here, tmp_path):
    columns = {"frame": [picture(1), picture(2)], "class": [b"dog", b"cat"]}
    convert(here, examples(tmp_path, columns), f"{tmp_path}/b/")
    assert samples(tmp_path / "b") == [("cat", picture(2)), ("dog", picture(1))]
    for columns, says in [
        ({"a": [picture(1)], "b": [b"x"], "label": np.array([1])}, "known as that of the images"),
        ({"image": [picture(1)], "x": np.array([0.5], "f4")}, "known as that of the labels"),
        ({"image": [picture(1)], "label": np.array([1]), "x": np.array([1])}, "x has no place"),
    ]:
        path = examples(tmp_path, columns, "c.tfrecord", overwrite=True)
        status, _, err = here("convert", path, f"{tmp_path}/d/")
        assert status == 1 and says in err, err


def test_two_images_in_a_sample_stay_two(here, tmp_path):
    with TarWriter(tmp_path / "a.tar") as writer:
        writer.write({"jpg": picture(1), "png": picture(4), "cls": 1})
        writer.write({"jpg": picture(2), "cls": 2})
        writer.write({"png": picture(8), "cls": 3})
    convert(here, tmp_path / "a.tar", tmp_path / "b.tfrecord")
    found = read(tmp_path / "b.tfrecord")
    assert found["image/encoded"] == [picture(1), picture(2), b""]
    assert found["png"] == [picture(4), b"", picture(8)]


# ---- Changed images -----------------------------------------------------------------------------


def sizes(shape, side, length):
    """The size is rounded as in torchvision's Resize."""
    known = (min if side == "shorter" else max)(shape[:2])
    return tuple(length if one == known else one * length // known for one in shape[:2])


@pytest.mark.parametrize("resize", ["9x13", "shorter=11", "longer=40"])
def test_images_are_resized_as_pillow_does(resize, here, tmp_path):
    images = [photo(20 + number, 31 - number, seed=number) for number in range(6)]
    columns = {"i": [saved(one, "png") for one in images], "label": np.arange(6)}
    path = examples(tmp_path, columns)
    convert(here, path, tmp_path / "b.tfrecord", "--resize", resize, "--image-format", "png")
    found = read(tmp_path / "b.tfrecord")
    assert found["label"].tolist() == list(range(6))
    for data, image in zip(found["i"], images, strict=True):
        side, _, number = resize.partition("=")
        size = sizes(image.shape, side, int(number)) if number else (9, 13)
        assert np.array_equal(as_pillow(data, "RGB"), resampled(saved(image, "png"), size))


def test_quality_and_format(here, tree, tmp_path):
    for quality in (20, 95):
        convert(here, tree, tmp_path / f"{quality}.tar", "--quality", quality)
    low, high = (members(tmp_path / f"{quality}.tar") for quality in (20, 95))
    for number, (_, data) in enumerate(samples(tree)):
        key = f"{number:09d}"
        assert list(low[key]) == list(high[key]) == ["jpg", "cls"]
        assert len(low[key]["jpg"]) < len(high[key]["jpg"])
        errors = np.abs(as_pillow(high[key]["jpg"], "RGB").astype(int) - as_pillow(data, "RGB"))
        assert errors.mean() < 8
    convert(here, tmp_path / "95.tar", tmp_path / "c.tar", "--image-format", "png")
    again = members(tmp_path / "c.tar")
    for key, sample in high.items():
        assert list(again[key]) == ["png", "cls"] and again[key]["cls"] == sample["cls"]
        difference = as_pillow(again[key]["png"], "RGB").astype(int) - as_pillow(
            sample["jpg"], "RGB"
        )
        assert np.abs(difference).max() <= 2  # versions of libjpeg differ


def test_new_files_need_no_orientation(here, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = photo(10, 24)
    path = examples(tmp_path, {"image": [saved(image, "png", exif=exif)], "label": np.array([0])})
    convert(here, path, f"{tmp_path}/b/", "--image-format", "png")
    ((_, data),) = samples(tmp_path / "b")
    assert np.array_equal(as_pillow(data, "RGB"), np.rot90(image, -1))


def test_pixels_become_files(here, tmp_path):
    images = np.random.default_rng(1).integers(0, 256, (4, 3, 32, 32), np.uint8)
    (tmp_path / "train.bin").write_bytes(cifar(images, np.array([3, 0, 9, 3])))
    attrs = ["--attr", "layout=HWC", "--image-format", "png"]
    convert(here, tmp_path / "train.bin", tmp_path / "b", "--to", "imagefolder", *attrs)
    found = samples(tmp_path / "b")
    assert [name for name, _ in found] == ["0", "3", "3", "9"]
    for (_, data), row in zip(found, [1, 0, 3, 2], strict=True):
        assert np.array_equal(as_pillow(data, "RGB"), images[row].transpose(1, 2, 0))
    convert(here, tmp_path / "train.bin", tmp_path / "c", "--to", "imagefolder", *attrs[:2])
    assert [data[:3] for _, data in samples(tmp_path / "c")] == [b"\xff\xd8\xff"] * 4
    gray = images[:, 0]
    with IDXWriter(tmp_path / "a.idx") as writer:
        writer.write_batch(gray)
    path, options = tmp_path / "d.tar", ["--format", "idx", "--image-format", "png"]
    convert(here, tmp_path / "a.idx", path, *options)
    for row, sample in enumerate(members(path).values()):
        (data,) = sample.values()
        assert np.array_equal(as_pillow(data, "GRAY")[..., 0], gray[row])


@pytest.mark.parametrize("jobs", [1, 2])
def test_shards_hold_what_one_file_holds(jobs, here, tree, tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "_IMAGES", 4)
    options = ["--resize", "8x8", "--quality", "60"]
    convert(here, tree, tmp_path / "a.tfrecord", *options)
    convert(here, tree, tmp_path / "b.tfrecord", *options, "--shards", 3, "--jobs", jobs)
    parts = [read(tmp_path / f"b-0000{i}-of-00003.tfrecord") for i in range(3)]
    whole = read(tmp_path / "a.tfrecord")
    assert [len(one["image/encoded"]) for one in parts] == [4, 5, 5]
    assert sum((one["image/encoded"] for one in parts), []) == whole["image/encoded"]
    labels = np.concatenate([one["image/class/label"] for one in parts])
    assert labels.tolist() == whole["image/class/label"].tolist()


@pytest.mark.parametrize(
    "options, says",
    [
        (["--resize", "8"], "--resize 8: it must be HEIGHTxWIDTH"),
        (["--resize", "0x8"], "1 to 65535"),
        (["--resize", "shorter=70000"], "1 to 65535"),
        (["--resize", "wider=8"], "shorter=N or longer=N"),
        (["--quality", "0"], "--quality 0: it must be 1 to 100"),
        (["--quality", "50", "--image-format", "png"], "--quality is of JPEG"),
        (["--image-format", "gif"], "invalid choice"),
        (["--to", "imagefolder", "--shards", "2"], "makes one, and no shards"),
        (["--to", "imagefolder", "--compression", "gzip"], "never compressed"),
    ],
)
def test_calls_that_make_no_sense(options, says, here, tree, tmp_path):
    target = "b" if "imagefolder" in options else "b.tfrecord"
    status, _, err = here("convert", tree, tmp_path / target, *options, "--quiet")
    assert status in (1, 2) and says in err, err
    assert os.listdir(tmp_path) == ["src"]


def test_no_images_to_resize(here, tmp_path):
    path = examples(tmp_path, {"x": np.zeros((3, 2), np.float32)})
    status, _, err = here("convert", path, tmp_path / "b.tfrecord", "--resize", "8x8")
    assert status == 1 and "no field is known as that of the images; there are x:float32[2]" in err


# ---- Damage -------------------------------------------------------------------------------------


def test_damaged_images_are_refused_or_left_out_where_they_are_decoded(
    here, tree, tmp_path
):
    expected = samples(tree)
    broken = tree / "bee" / "4.png"
    row = [data for _, data in expected].index(broken.read_bytes())
    broken.write_bytes(broken.read_bytes()[:300])
    (tree / "ant" / "9.jpg").write_bytes(b"no image")
    convert(here, tree, tmp_path / "a.tfrecord")  # bytes are bytes
    assert read(tmp_path / "a.tfrecord")["image/encoded"][row] == broken.read_bytes()
    for source, says in ((tree, "9.jpg"), (tmp_path / "a.tfrecord", "record 4")):
        status, _, err = here("convert", source, tmp_path / "b.tar", "--resize", "8x8", "--quiet")
        assert status == 1 and says in err, err
        assert not (tmp_path / "b.tar").exists()
        status, _, err = here(
            "convert", source, tmp_path / "b.tar", "--resize", "8x8", "--skip-damaged", "--quiet"
        )
        assert status == 0 and says in err and err.endswith("\n2 damaged records left out\n")
        assert [sample["cls"] for sample in members(tmp_path / "b.tar").values()] == [
            str(CLASSES.index(name)).encode()
            for number, (name, _) in enumerate(expected) if number not in (row, 4)
        ]  # fmt: skip
        (tmp_path / "b.tar").unlink()


def test_bytes_that_are_no_image_do_not_get_into_a_folder(here, tmp_path):
    columns = {"image": [picture(1), b"text", b"", picture(2)], "label": np.arange(4)}
    path = examples(tmp_path, columns)
    status, _, err = here("convert", path, f"{tmp_path}/b/", "--quiet")
    assert status == 1 and "record 1" in err and "no image of a known format" in err
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    convert(here, path, f"{tmp_path}/b/", "--skip-damaged")
    assert [(one, data) for one, data in samples(tmp_path / "b")] == [
        ("0", picture(1)), ("3", picture(2))
    ]  # fmt: skip


def test_a_damaged_record_file(here, tmp_path):
    columns = {"image": [picture(number) for number in range(4)], "label": np.arange(4)}
    path = examples(tmp_path, columns)
    damage(path, path.stat().st_size - 20)
    status, _, err = here("convert", path, f"{tmp_path}/b/", "--quiet")
    assert status == 1 and "record 3" in err and os.listdir(tmp_path) == ["a.tfrecord"]


# ---- Folders that are there ---------------------------------------------------------------------


def test_a_folder_that_is_there(here, tree, tmp_path):
    target = tmp_path / "b"
    convert(here, tree, target, "--to", "imagefolder", "--resize", "4x4")
    status, _, err = here("convert", tree, target, "--to", "imagefolder", "--quiet")
    assert status == 1 and "it is there already; remove it, or say --overwrite" in err
    convert(here, tree, target, "--to", "imagefolder", "--overwrite")
    assert samples(target) == samples(tree)
    (target / "notes.txt").write_bytes(b"mine")
    status, _, err = here("convert", tree, f"{target}/", "--overwrite", "--quiet")
    assert status == 1 and "it has notes.txt, which is no image" in err
    assert sorted(os.listdir(tmp_path)) == ["b", "src"]


def test_a_finished_folder_is_found_again(here, tree, tmp_path, monkeypatch):
    arguments = ["convert", tree, f"{tmp_path}/b/", "--to", "imagefolder", "--jobs", 1]

    def fail(self):
        raise flow.FileError("the disk is gone", file="b")

    with monkeypatch.context() as patch:
        patch.setattr(conversion.Conversion, "publish", fail)
        status, _, err = here(*arguments)
    assert status == 1 and "the disk is gone" in err
    assert sorted(os.listdir(tmp_path)) == [".b.convert", "src"]
    status, _, err = here(*arguments)
    assert status == 0 and "1 of 1 shards are there already" in err
    assert samples(tmp_path / "b") == samples(tree)
    with monkeypatch.context() as patch:
        patch.setattr(conversion.Conversion, "publish", fail)
        here(*arguments[:2], tmp_path / "c", *arguments[3:])
    status, _, err = here(*arguments[:2], tmp_path / "c", *arguments[3:], "--resize", "4x4")
    assert status == 0 and "starting again" in err
    assert {as_pillow(data, "RGB").shape for _, data in samples(tmp_path / "c")} == {(4, 4, 3)}
    assert sorted(os.listdir(tmp_path)) == ["b", "c", "src"]
