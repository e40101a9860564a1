"""Images in OFRecords: whole ones and random windows, against Pillow's pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from formats.ofrecord.ofrecord_files import frame, load, write
from images.image_files import as_pillow, photo, saved

import pyflowdata as flow
from pyflowdata.io import encode_ofrecord

SIZES = [(40, 50), (33, 21), (1, 1), (64, 30)] * 4
FILES = [saved(photo(*size, seed=i), "jpeg" if i % 3 else "png") for i, size in enumerate(SIZES)]


def records(folder: Path, files: list[bytes], **attrs: object) -> flow.Blob:
    content = frame(*(encode_ofrecord({"encoded": file, "label": [1]}) for file in files))
    return flow.OFRecordReader(files=write(folder, content), batch_size=5, seed=4, **attrs)


def test_whole_images(tmp_path: Path) -> None:
    record = records(tmp_path, FILES)
    for attrs, space in (({}, "BGR"), ({"color_space": "RGB"}, "RGB"),
                         ({"color_space": "GRAY"}, "GRAY")):  # fmt: skip
        blob = flow.OFRecordImageDecoder(record, blob_name="encoded", **attrs)
        for image, file in zip(load(blob), FILES, strict=True):
            assert np.array_equal(image, as_pillow(file, space))


def places(image: np.ndarray, window: np.ndarray) -> list[tuple[int, int]]:
    height, width = window.shape[:2]
    views = np.lib.stride_tricks.sliding_window_view(image, (height, width, 3))[:, :, 0]
    return [tuple(found) for found in np.argwhere((views == window).all((2, 3, 4)))]


def test_random_windows_are_parts_of_the_images(tmp_path: Path) -> None:
    blob = flow.OFRecordImageDecoderRandomCrop(
        records(tmp_path, FILES), blob_name="encoded", random_area=[0.2, 0.6],
        random_aspect_ratio=[0.5, 2.0],
    )  # fmt: skip
    windows, found = load(blob), set()
    for window, file in zip(windows, FILES, strict=True):
        image = as_pillow(file, "BGR")
        at = places(image, window)
        assert at
        found.add((*at[0], *window.shape))
        if image.size > 3:
            height, width = window.shape[:2]
            assert 0.15 < height * width / (image.size / 3) < 0.65
            assert 0.45 < width / height < 2.2
    assert len(found) > 10
    assert all(map(np.array_equal, load(blob), windows))


def test_oneflows_words(tmp_path: Path) -> None:
    record = records(tmp_path, FILES[:1])
    for op, size in (("ofrecord_image_decoder", (40, 50, 3)),
                     ("ofrecord_image_decoder_random_crop", (40, 50, 3))):  # fmt: skip
        node = flow.user_op_builder("d").Op(op).Input("in", [record]).Output("out")
        node = node.Attr("name", "encoded").Attr("color_space", "RGB")
        if op.endswith("crop"):
            node = node.Attr("num_attempts", 0).Attr("random_area", [0.08, 1.0])
            node = node.Attr("random_aspect_ratio", [0.75, 1.333333])
        (image,) = load(node.Build().InferAndTryRun().RemoteBlobList()[0])
        assert image.shape == size
        assert np.array_equal(image, as_pillow(FILES[0], "RGB"))


@pytest.mark.parametrize("op", [flow.OFRecordImageDecoder, flow.OFRecordImageDecoderRandomCrop])
def test_damaged_images_are_left_out(tmp_path: Path, op) -> None:
    files = [FILES[1], b"no image", FILES[2], FILES[4][:200], b"", FILES[5]]
    record = records(tmp_path, files, on_error="skip")
    with flow.DataLoader(op(record, blob_name="encoded")) as loader:
        assert sum(len(batch) for batch in loader) == 3
        assert [error.ordinal for error in loader.skipped] == [1, 3, 4]
        assert {error.op for error in loader.skipped} == {op(record, blob_name="x").node.op.name}
        begin = (tmp_path / "part-0").read_bytes().index(b"no image")
        assert loader.skipped[0].byte == begin
    with pytest.raises(flow.CorruptDataError, match="feature 'label': it is int"):
        load(op(records(tmp_path, FILES), blob_name="label"))
