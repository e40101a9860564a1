"""Boxes and polygons that follow their images, masks, and batches of one size: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import pyflowdata as flow
from formats.coco.test_coco_reader import write
from support.decoder_rows import blob_of

F = np.float32
CHANCE = np.random.default_rng(5)
CODES = {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1), 16: (0, 1), 17: (1, 1)}  # across, down


def sizes(count):
    return [CHANCE.integers(1, 60, 2).astype(np.int32) for _ in range(count)]


def tables(count, columns):
    return [CHANCE.uniform(-5, 70, (CHANCE.integers(0, 6), columns)).astype(F)
            for _ in range(count)]  # fmt: skip


# ---- Boxes and points --------------------------------------------------------------------------


def test_boxes_are_mirrored():
    boxes, shapes = tables(40, 4), sizes(40)
    codes = [np.int8(code) for code in list(CODES) * 6 + [0, 1, 2, 3]]
    for kind in (np.int32, np.int64):
        found = flow.ObjectBboxFlip(boxes, [size.astype(kind) for size in shapes], codes)
        for box, (height, width), code, out in zip(boxes, shapes, codes, found, strict=True):
            left, top, right, bottom = box.T
            across, down = CODES[int(code)]
            if across:
                left, right = F(width - 1) - right, F(width - 1) - left
            if down:
                top, bottom = F(height - 1) - bottom, F(height - 1) - top
            assert out.dtype == F and out.shape == box.shape
            np.testing.assert_array_equal(out, np.stack([left, top, right, bottom], 1))


def test_a_mirrored_box_has_the_same_pixels():
    """What ImageFlip does to the image."""
    for _ in range(30):
        height, width = CHANCE.integers(2, 40, 2)
        x0, x1 = sorted(CHANCE.integers(0, width, 2))
        y0, y1 = sorted(CHANCE.integers(0, height, 2))
        image = np.zeros((height, width), np.uint8)
        image[y0 : y1 + 1, x0 : x1 + 1] = 255
        code = np.int8(CHANCE.integers(0, 4))
        flipped = flow.ImageFlip(image, code)
        box = np.array([[x0, y0, x1, y1]], F)
        size = np.array(image.shape, np.int64)
        ((left, top, right, bottom),) = flow.ObjectBboxFlip(box, size, code).astype(int)
        expected = np.zeros_like(image)
        expected[top : bottom + 1, left : right + 1] = 255
        np.testing.assert_array_equal(flipped, expected)


def test_polygons_are_mirrored_as_their_masks():
    points, shapes = tables(40, 2), sizes(40)
    codes = [np.int8(code) for code in list(CODES) * 6 + [0, 1, 2, 3]]
    found = flow.ObjectSegmentationPolygonFlip(points, shapes, codes)
    for point, (height, width), code, out in zip(points, shapes, codes, found, strict=True):
        across, down = CODES[int(code)]
        x = F(width) - point[:, 0] if across else point[:, 0]
        y = F(height) - point[:, 1] if down else point[:, 1]
        np.testing.assert_array_equal(out, np.stack([x, y], 1))
    shape = (CHANCE.uniform(1, 30, (7, 2)) + 0.001).astype(F)
    index = np.array([(n, 0, 0) for n in range(7)], np.int32)
    size, code, one = np.array([33, 31], np.int32), np.int8(3), np.zeros(1, np.int32)
    mask = flow.ObjectSegmentationPolygonToMask(shape, index, size, one)
    mirrored = flow.ObjectSegmentationPolygonFlip(shape, size, code)
    both = flow.ObjectSegmentationPolygonToMask(mirrored, index, size, one)
    np.testing.assert_array_equal(both[0], mask[0][::-1, ::-1])


def test_boxes_and_points_are_scaled():
    scales = [CHANCE.uniform(0.1, 4, 2).astype(F) for _ in range(40)]
    for op, columns in ((flow.ObjectBboxScale, 4), (flow.ObjectSegmentationPolygonScale, 2)):
        rows = tables(40, columns)
        for row, (down, across), out in zip(rows, scales, op(rows, scales), strict=True):
            factors = np.array([across, down] * (columns // 2), F)
            assert out.dtype == F
            np.testing.assert_array_equal(out, row * factors)


def test_how_much_larger_an_image_became():
    image = CHANCE.integers(0, 256, (40, 30, 3), np.uint8)
    resized = flow.Resize(image, shorter=51)
    assert resized.shape == (68, 51, 3)
    expected = np.array([68 / 40, 51 / 30], F)
    size, after = np.array([40, 30], np.int32), np.array([68, 51], np.int64)
    for one, other in ((image, resized), (size, resized), (image, after), (size, after)):
        found = flow.SizeRatio(one, other)
        assert found.dtype == F
        np.testing.assert_array_equal(found, expected)
    floats = resized.astype(np.float64)[:, :, 0]
    np.testing.assert_array_equal(flow.SizeRatio(image, floats), expected)
    for wrong in (np.zeros(3, np.int32), np.zeros(2, F), np.zeros((2, 2, 9), np.uint8)):
        with pytest.raises(flow.InvalidArgumentError):
            flow.SizeRatio(image, wrong)
    with pytest.raises(flow.CorruptDataError, match="height and width must be"):
        flow.SizeRatio(np.array([0, 3], np.int32), image)


def test_inputs_that_are_none():
    boxes, points = np.zeros((2, 4), F), np.zeros((2, 2), F)
    size, code, scale = np.array([5, 6], np.int32), np.int8(1), np.ones(2, F)
    for op, row, wrong in (
        (flow.ObjectBboxFlip, boxes, points),
        (flow.ObjectSegmentationPolygonFlip, points, boxes),
    ):
        for bad in (wrong, row.astype(np.float64), row[0], row.astype(np.int32)):
            with pytest.raises(flow.InvalidArgumentError, match=r"must be float32 \(None, "):
                op(bad, size, code)
        for bad in (size.astype(F), np.array([1, 2, 3]), np.int32(5)):
            with pytest.raises(flow.InvalidArgumentError, match="height and width"):
                op(row, bad, code)
        for bad in (np.int32(1), np.zeros(2, np.int8)):
            with pytest.raises(flow.InvalidArgumentError, match="one number of int8"):
                op(row, size, bad)
        for code_of in (4, -1, 15, 18):
            with pytest.raises(flow.CorruptDataError, match=f"flip_code is {code_of};") as caught:
                op([row, row], [size, size], [code, np.int8(code_of)])
            assert caught.value.row == 1
        for bad in ([0, 5], [5, -1], [5, 2**24 + 1]):
            with pytest.raises(flow.CorruptDataError, match="height and width must be"):
                op(row, np.array(bad, np.int64), code)
    for op, row in ((flow.ObjectBboxScale, boxes), (flow.ObjectSegmentationPolygonScale, points)):
        for bad in (size, scale.astype(np.float64), np.ones(3, F)):
            with pytest.raises(flow.InvalidArgumentError, match="of height and width"):
                op(row, bad)


# ---- Masks -------------------------------------------------------------------------------------


def inside(polygon, height, width):
    """Even-odd: how many edges cross the line from a pixel's centre to the left."""
    y, x = np.mgrid[0:height, 0:width] + 0.5
    count = np.zeros((height, width), int)
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if y0 == y1:
            continue
        crosses = (y0 <= y) != (y1 <= y)
        count += crosses & (x0 + (y - y0) * (x1 - x0) / (y1 - y0) <= x)
    return count % 2 == 1


def random_polygon(limit):
    points = CHANCE.uniform(-0.3, 1.3, (CHANCE.integers(3, 12), 2)) * limit
    if CHANCE.random() < 0.3:
        points = np.round(points * 2) / 2  # corners and edges at the centres of pixels
    return points.astype(F)


def test_masks_of_polygons():
    for _ in range(25):
        height, width = CHANCE.integers(1, 40, 2)
        num_objects = int(CHANCE.integers(1, 5))
        expected = np.zeros((num_objects, height, width), np.int8)
        points, index = [np.zeros((0, 2), F)], [np.zeros((0, 3), np.int32)]
        for number in range(num_objects):
            for which in range(CHANCE.integers(0, 4)):
                polygon = random_polygon(np.array([width, height]))
                n = len(polygon)
                points.append(polygon)
                index.append(np.array([(i, which, number) for i in range(n)], np.int32))
                expected[number] |= inside(polygon.astype(np.float64), height, width)
        found = flow.ObjectSegmentationPolygonToMask(
            np.concatenate(points), np.concatenate(index), np.array([height, width], np.int64),
            np.zeros((num_objects, 4), F),
        )  # fmt: skip
        assert found.dtype == np.int8
        np.testing.assert_array_equal(found, expected)


def test_polygons_that_share_an_edge_share_no_pixel():
    corners = CHANCE.uniform(-10, 40, (3, 2))
    middle = corners.mean(0)
    whole = [corners[[0, 1, 2]], *(np.stack([corners[i], corners[(i + 1) % 3], middle])
                                   for i in range(3))]  # fmt: skip
    points = np.round(np.concatenate(whole) * 4).astype(F) / 4
    points[[5, 8, 11]] = points[5]  # one corner of all three
    index = np.array([(i % 3, 0, i // 3) for i in range(12)], np.int32)
    found = flow.ObjectSegmentationPolygonToMask(
        points, index, np.array([30, 32], np.int32), np.zeros(4, np.int32)
    )
    assert found[1:].sum(0).max() == 1
    np.testing.assert_array_equal(found[1:].sum(0), found[0])


def test_masks_of_images_without_objects_and_of_wrong_points():
    none, no_index = np.zeros((0, 2), F), np.zeros((0, 3), np.int32)
    size = np.array([5, 6], np.int32)
    assert flow.ObjectSegmentationPolygonToMask(
        none, no_index, size, np.zeros((0, 4), F)
    ).size == 0  # fmt: skip
    masks = flow.ObjectSegmentationPolygonToMask(none, no_index, size, np.zeros((3, 4), F))
    assert masks.shape == (3, 5, 6) and not masks.any()
    points = np.array([[0, 0], [3, 0], [0, 3]], F)
    index = np.array([(0, 0, 1), (1, 0, 1), (2, 0, 1)], np.int32)

    def refused(match, points=points, index=index, size=size, objects=2):
        with pytest.raises(flow.CorruptDataError, match=match):
            flow.ObjectSegmentationPolygonToMask(points, index, size, np.zeros(objects, np.int32))

    refused("is of object 1, and there are 1", objects=1)
    refused("is of object 1, and there are 0", objects=0)
    refused("is of object -1", index=-index)
    refused("there are 3 points, and an index for 2", index=index[:2])
    refused("there are 2 points, and an index for 3", points=points[:2])
    for wrong in (np.inf, np.nan):
        bad = points.copy()
        bad[1, 0] = wrong
        refused("point 1 is not a finite number", points=bad)
    refused("height and width", size=np.array([0, 6], np.int32))
    with pytest.raises(flow.InvalidArgumentError, match=r"int32 \(None, 3\)"):
        flow.ObjectSegmentationPolygonToMask(points, index[:, :2], size, index)
    with pytest.raises(flow.InvalidArgumentError, match="for each object"):
        flow.ObjectSegmentationPolygonToMask(points, index, size, np.int32(2))


# ---- Batches of one size -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_images_of_a_batch_get_one_size(dtype, channels):
    images = [CHANCE.integers(1, 256, (*CHANCE.integers(1, 30, 2), *channels)).astype(dtype)
              for _ in range(23)]  # fmt: skip
    for alignment, wanted in ((1, "same"), (16, "float32"), (7, "same")):
        source = blob_of(images, [-1, -1, *channels], batch_size=5)
        made = flow.ImageBatchAlign(source, alignment=alignment, dtype=wanted)
        with flow.DataLoader(made, num_threads=2) as loader:
            batches = list(loader)
        assert len(batches) == 5
        for number, batch in enumerate(batches):
            own = images[5 * number : 5 * number + 5]
            most = [-(-max(image.shape[d] for image in own) // alignment) * alignment
                    for d in (0, 1)]  # fmt: skip
            expected = np.zeros((len(own), *most, *channels), dtype)
            for row, image in zip(expected, own, strict=True):
                row[: image.shape[0], : image.shape[1]] = image
            assert batch.dense.dtype == (np.float32 if wanted == "float32" else dtype)
            np.testing.assert_array_equal(batch.dense, expected)


def test_alignments_that_are_none():
    image = np.zeros((3, 4, 3), np.uint8)
    (out,) = flow.ImageBatchAlign([image])
    assert out.shape == (3, 4, 3)
    with pytest.raises(flow.InvalidArgumentError, match="alignment"):
        flow.ImageBatchAlign([image], alignment=0)  # which divides by zero in OneFlow
    with pytest.raises(flow.InvalidArgumentError, match="uint8 or float32"):
        flow.ImageBatchAlign([image.astype(np.float64)])
    with pytest.raises(flow.CorruptDataError, match="pixels"):
        flow.ImageBatchAlign([image, image[:0]])


# ---- All together ------------------------------------------------------------------------------


def test_a_detection_pipeline(tmp_path):
    """COCOReader, decoding, mirroring, resizing, aligning: boxes and masks stay on the objects."""
    document = {"images": [], "annotations": [], "categories": [{"id": 1}]}
    for number, (height, width) in enumerate([(20, 40), (30, 64), (24, 36), (50, 50)]):
        document["images"].append(
            {"id": number, "file_name": f"{number}.png", "height": height, "width": width}
        )
        left, top = 4 + number, 6
        document["annotations"].append({
            "image_id": number, "category_id": 1, "iscrowd": 0, "bbox": [left, top, 10, 8],
            "segmentation": [[left, top, left + 10, top, left + 10, top + 8, left, top + 8]],
        })  # fmt: skip
    path = write(tmp_path, document)
    for image in document["images"]:
        pixels = np.zeros((image["height"], image["width"], 3), np.uint8)
        left = 4 + image["id"]
        pixels[6:14, left : left + 10] = 255
        Image.fromarray(pixels).save(tmp_path / "images" / image["file_name"])
    image, _, size, box, label, points, index = flow.COCOReader(
        files=path, image_dir=tmp_path / "images", batch_size=2, random_shuffle=True, seed=1
    )
    pixels = flow.ImageDecoder(image)
    coin = flow.CoinFlip(label)
    flipped = flow.ImageFlip(pixels, coin)
    large = flow.Resize(flipped, shorter=100, interpolation="nearest", antialias=False)
    scale = flow.SizeRatio(flipped, large)
    boxes = flow.ObjectBboxScale(flow.ObjectBboxFlip(box, size, coin), scale)
    shapes = flow.ObjectSegmentationPolygonScale(
        flow.ObjectSegmentationPolygonFlip(points, size, coin), scale
    )
    mask = flow.ObjectSegmentationPolygonToMask(
        flow.ObjectSegmentationPolygonFlip(points, size, coin), index, size, label
    )
    aligned = flow.ImageBatchAlign(large, alignment=32)
    blobs = {"flipped": flipped, "mask": mask, "aligned": aligned, "boxes": boxes, "shapes": shapes,
             "coin": coin, "scale": scale}  # fmt: skip
    flips = set()
    with flow.DataLoader(blobs) as loader:
        for epoch in range(4):
            for batch in loader:
                assert not np.array(batch["aligned"].dense.shape[1:3]) % 32 @ [1, 1]
                for i in range(len(batch["coin"])):
                    flips.add(int(batch["coin"][i]))
                    white = batch["flipped"][i][:, :, 0] > 0
                    np.testing.assert_array_equal(batch["mask"][i][0] > 0, white)
                    rows, columns = np.nonzero(batch["aligned"].dense[i, :, :, 0])
                    down, across = batch["scale"][i]
                    ((left, top, right, bottom),) = batch["boxes"][i]
                    corners = batch["shapes"][i]
                    edges = [
                        (left, columns.min(), across),
                        (right + across - 1, columns.max(), across),
                        (top, rows.min(), down),
                        (bottom + down - 1, rows.max(), down),
                        (corners[:, 0].min(), columns.min(), across),
                        (corners[:, 1].max(), rows.max() + 1, down),
                    ]
                    for edge, found, step in edges:
                        assert abs(edge - found) <= 1 + step / 2
    assert flips == {0, 1}
