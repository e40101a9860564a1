"""Whether `verify` looks at images: it says when it does not, and decodes them with --images."""

import io
import json
import struct

import numpy as np
import pytest
from PIL import Image
from support.cli_files import convert, damage, examples
from support.command import here  # noqa: F401  (a fixture)

COUNT = 6
CUT, TEXT = 2, 4  # the damaged ones


def jpeg(number):
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (30, 40, 3), np.uint8)
    Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
def folder(tmp_path):
    """Images, two of which are damaged."""
    (tmp_path / "photos/x").mkdir(parents=True)
    for number in range(COUNT):
        data = b"no image" if number == TEXT else jpeg(number)
        data = data[:-200] if number == CUT else data
        (tmp_path / f"photos/x/{number}.jpg").write_bytes(data)
    return tmp_path / "photos"


def test_images_are_decoded_where_that_is_wanted(here, folder, tmp_path):  # noqa: F811
    convert(here, folder, tmp_path / "a.tfrecord")
    convert(here, folder, tmp_path / "b.tfrecord.gz")
    paths = {folder: "image folder", tmp_path / "a.tfrecord": "TFRecord",
             tmp_path / "b.tfrecord.gz": "TFRecord (gzip)"}  # fmt: skip
    for path, title in paths.items():
        status, out, _ = here("verify", path)
        assert (status, out) == (0, f"{path}: {title}: 6 records whole, no damage; "
                                 "images were not decoded (--images does)\n")  # fmt: skip
        status, out, _ = here("verify", "--images", path)
        cut, text, last = out.splitlines()
        assert f"record {CUT}" in cut and "the file ends inside the image" in cut
        assert f"record {TEXT}" in text and "no image of a known format" in text
        assert (status, last) == (1, f"{path}: {title}: 4 records whole, 2 damaged places")
    for number in (CUT, TEXT):
        (folder / f"x/{number}.jpg").write_bytes(jpeg(number))
    status, out, _ = here("verify", "--images", folder)
    assert (status, out) == (0, f"{folder}: image folder: 6 records whole, no damage\n")


def test_damage_of_files_and_of_images_is_told_once(here, folder, tmp_path):  # noqa: F811
    (folder / "x/0.jpg").write_bytes(b"")
    status, out, _ = here("verify", "--images", "--json", folder)
    found = json.loads(out)
    assert status == 1 and found["good"] == COUNT - 3 and found["notes"] == []
    assert [one["record"] for one in found["damage"]] == [0, CUT, TEXT]
    status, out, _ = here("verify", "--json", folder)
    assert json.loads(out)["notes"] == ["images were not decoded"]


def test_images_of_a_file_whose_records_are_not_found(here, tmp_path):  # noqa: F811
    path = examples(tmp_path, {"image": [jpeg(1)] * COUNT})
    size = struct.unpack("<Q", path.read_bytes()[:8])[0] + 16
    damage(path, 4 * size)  # the length of that record
    status, out, _ = here("verify", "--images", path)
    place, note, last = out.splitlines()
    assert status == 1 and "(record 4" in place
    assert note.startswith(f"{path}: no images were decoded, since the fields are not known: ")
    assert last == f"{path}: TFRecord: 5 records whole, 1 damaged place"


def test_files_without_images(here, tmp_path):  # noqa: F811
    path = examples(tmp_path, {"s": [b"one", b"two"], "y": np.arange(2)})
    status, out, _ = here("verify", path)
    assert (status, out) == (0, f"{path}: TFRecord: 2 records whole, no damage\n")
    status, out, _ = here("verify", "--images", path)
    assert status == 0 and out.startswith(f"{path}: no field of images is known in it\n")
