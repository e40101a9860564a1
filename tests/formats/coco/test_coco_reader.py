"""COCOReader: against the rules written in NumPy, over made-up annotations."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from formats.imagefolder.image_trees import picture, write_tree

import pyflowdata as flow
from pyflowdata import cli
from pyflowdata.formats import detect, open_source

OUTPUTS = "image image_id image_size gt_bbox gt_label gt_segm gt_segm_index".split()
CATEGORIES = [(18, "dog"), (1, "person"), (90, "tooth\u00e9 \"brush\"")]
F = np.float32


def polygon(chance, points):
    return [round(chance.uniform(0, 99), chance.randrange(4)) for _ in range(2 * points)]


def make(seed=0, images=17) -> dict[str, Any]:
    """Images with no, some and odd objects; boxes that leave the image, crowds, masks in RLE."""
    chance = random.Random(seed)
    found: dict[str, Any] = {"info": {"year": 2017, "a": [1, {"b": None}]}, "images": [],
                             "annotations": [], "categories": []}  # fmt: skip
    ids = chance.sample(range(10**6), images)
    for number, id in enumerate(ids):
        name = f"sub {number % 2}/{number} \u00fc.png" if number % 3 else f"{number}.png"
        size = {"height": chance.randrange(20, 90), "width": chance.randrange(20, 90)}
        found["images"].append({"license": 4, "file_name": name, **size, "id": id})
        for _ in range(chance.choice([0, 0, 1, 2, 5])):
            left, top = chance.uniform(-20, 90), chance.uniform(-20, 90)
            box = [round(one, 2) for one in
                   (left, top, chance.choice([0.3, 1, 9.75, 60]), chance.choice([0.5, 8, 70.25]))]
            shape: Any = [polygon(chance, chance.choice([1, 2, 3, 4, 9])) for _ in range(2)]
            mask = {"counts": [3, 4], "size": [5, 6]}
            found["annotations"].append({
                "segmentation": chance.choice(
                    [shape, shape, [], {"counts": [3, 4], "size": [5, 6]}]),
                "area": 1.5e2, "iscrowd": int(chance.random() < 0.2), "image_id": id, "bbox": box,
                "category_id": chance.choice(CATEGORIES)[0], "id": len(found["annotations"]),
            })  # fmt: skip
    found["annotations"].append({"image_id": ids[0], "bbox": [], "category_id": -5, "iscrowd": 1})
    found["categories"] = [{"id": id, "name": name, "supercategory": ""} for id, name in CATEGORIES]
    return found


def write(folder: Path, document: dict[str, Any], name="instances.json", **options) -> Path:
    write_tree(folder / "images", {
        image["file_name"]: picture(image["id"], size=(image["height"], image["width"]))
        for image in document["images"]
    })  # fmt: skip
    (folder / name).write_text(json.dumps(document, **options), encoding="utf-8")
    return folder / name


def objects_of(document, image):
    return [one for one in document["annotations"]
            if one["image_id"] == image["id"] and not one.get("iscrowd")]  # fmt: skip


def box_of(one, image):
    """OneFlow's: the last pixel is at left + width - 1, in float32."""
    left, top, wide, high = (F(number) for number in one["bbox"])
    right, bottom = left + max(wide - F(1), F(0)), top + max(high - F(1), F(0))
    box = np.array([left, top, right, bottom], F)
    most = np.array([image["width"] - 1, image["height"] - 1] * 2, F)
    box = np.minimum(np.maximum(box, 0), most)
    return box if box[2] > box[0] and box[3] > box[1] else None


def is_valid(document, image):
    objects = objects_of(document, image)
    if not any(one["bbox"][2] > 1 and one["bbox"][3] > 1 for one in objects):
        return False
    points = [one["keypoints"] for one in objects if "keypoints" in one]
    return not points or sum(n > 0 for one in points for n in one[2::3]) >= 10


def truth(folder, document, *, keep_empty=False) -> list[dict[str, Any]]:
    labels = {id: n + 1 for n, id in enumerate(sorted(one["id"] for one in document["categories"]))}
    rows = []
    for image in sorted(document["images"], key=lambda one: one["id"]):
        if not keep_empty and not is_valid(document, image):
            continue
        found = [(one, box_of(one, image)) for one in objects_of(document, image)]
        found = [(one, box) for one, box in found if box is not None]
        points, index = [], []
        for number, (one, _) in enumerate(found):
            shapes = one.get("segmentation") or []
            shapes = [shape for shape in shapes if len(shape) >= 6] if shapes != {} else []
            shapes = [] if isinstance(one.get("segmentation"), dict) else shapes
            for which, shape in enumerate(shapes):
                points += zip(shape[::2], shape[1::2], strict=True)
                index += [(n, which, number) for n in range(len(shape) // 2)]
        rows.append({
            "image": np.frombuffer((folder / "images" / image["file_name"]).read_bytes(), np.uint8),
            "image_id": np.int64(image["id"]),
            "image_size": np.array([image["height"], image["width"]], np.int32),
            "gt_bbox": np.array([box for _, box in found], F).reshape(-1, 4),
            "gt_label": np.array([labels[one["category_id"]] for one, _ in found], np.int32),
            "gt_segm": np.array(points, F).reshape(-1, 2),
            "gt_segm_index": np.array(index, np.int32).reshape(-1, 3),
        })  # fmt: skip
    return rows


def batches_of(path, **attrs):
    attrs = {"batch_size": 4, "image_dir": path.parent / "images", **attrs}
    blobs = flow.COCOReader(files=path, **attrs)
    with flow.DataLoader(dict(zip(OUTPUTS, blobs, strict=False))) as loader:
        return list(loader)


def read(path, **attrs) -> list[dict[str, Any]]:
    return [
        {name: np.asarray(batch[name][i]) for name in OUTPUTS}
        for batch in batches_of(path, **{"group_by_ratio": False, **attrs})
        for i in range(len(batch["image_id"]))
    ]


def same(found, expected):
    assert [int(one["image_id"]) for one in found] == [int(one["image_id"]) for one in expected]
    for one, other in zip(found, expected, strict=True):
        for name in OUTPUTS:
            assert one[name].dtype == other[name].dtype and one[name].shape == other[name].shape
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


# ---- What is read ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_images_and_their_objects(seed, tmp_path):
    document = make(seed, 60)
    path = write(tmp_path, document)
    expected = truth(tmp_path, document)
    assert 3 < len(expected) < 60 and sum(len(one["gt_segm"]) for one in expected) > 20
    same(read(path), expected)
    everything = truth(tmp_path, document, keep_empty=True)
    assert len(everything) == 60 and any(len(one["gt_bbox"]) == 0 for one in everything)
    same(read(path, remove_images_without_annotations=False), everything)
    for number, options in enumerate(({"indent": 1}, {"ensure_ascii": False})):
        same(read(write(tmp_path, document, f"{number}.json", **options)), expected)
    backwards = dict(reversed(document.items()))
    same(read(write(tmp_path, backwards, "backwards.json"), file_access="read"), expected)


def test_types_and_the_folder_of_the_images(tmp_path, monkeypatch):
    document = make(1)
    (tmp_path / "images").mkdir()
    path = write(tmp_path, document).rename(tmp_path / "images" / "all.json")
    expected = truth(tmp_path, document)
    monkeypatch.chdir(tmp_path)
    same(read(path, image_dir=""), expected)
    same(read(Path("images/all.json"), image_dir=""), expected)
    same(read(path, image_dir="images/"), expected)
    monkeypatch.chdir(tmp_path / "images")
    same(read(Path("all.json"), image_dir=""), expected)
    blobs = flow.COCOReader(files="all.json", batch_size=3)
    assert [(blob.shape, np.dtype(blob.dtype)) for blob in blobs] == [
        ((3, None), np.uint8), ((3,), np.int64), ((3, 2), np.int32), ((3, None, 4), np.float32),
        ((3, None), np.int32), ((3, None, 2), np.float32), ((3, None, 3), np.int32),
    ]  # fmt: skip


def test_keypoints_decide_whether_an_image_counts(tmp_path):
    document = make(2, 4)
    document["annotations"] = [
        {"image_id": image["id"], "category_id": 1, "bbox": [1, 1, 15, 15], "iscrowd": False,
         "keypoints": [1, 2, 2] * visible + [0, 0, 0] * 3}
        for image, visible in zip(document["images"], (9, 10, 17, 0), strict=True)
    ]  # fmt: skip
    document["annotations"].append({**document["annotations"][0], "keypoints": [1, 1, 1]})
    path = write(tmp_path, document)
    expected = truth(tmp_path, document)
    assert len(expected) == 3
    same(read(path), expected)


def test_a_file_without_annotations(tmp_path):
    document = {"images": make()["images"]}
    path = write(tmp_path, document)
    document |= {"annotations": [], "categories": []}
    same(read(path, remove_images_without_annotations=False),
         truth(tmp_path, document, keep_empty=True))  # fmt: skip
    with pytest.raises(flow.CorruptDataError, match="not one record"):
        read(path)


# ---- Batches -----------------------------------------------------------------------------------


def test_batches_of_one_ratio(tmp_path):
    document = make(4, 60)
    path = write(tmp_path, document)
    expected = truth(tmp_path, document)
    batches = batches_of(path, group_by_ratio=True)
    found = []
    for batch in batches:
        tall = {bool(height >= width) for height, width in batch["image_size"]}
        assert len(tall) == 1
        found += [{name: np.asarray(batch[name][i]) for name in OUTPUTS}
                  for i in range(len(batch["image_id"]))]  # fmt: skip
    assert sum(len(batch["image_id"]) < 4 for batch in batches) <= 2
    same(sorted(found, key=lambda one: one["image_id"]), expected)
    attrs = {"files": path, "image_dir": tmp_path / "images", "batch_size": 4, "seed": 5,
             "random_shuffle": True}  # fmt: skip
    with flow.DataLoader(list(flow.COCOReader(**attrs))) as loader:
        with pytest.raises(TypeError):
            len(loader)
        steps = iter(loader)
        _ = next(steps), next(steps), next(steps)
        state, rest = loader.state_dict(), [batch[1].tolist() for batch in steps]
    with flow.DataLoader(list(flow.COCOReader(**attrs)), num_threads=1) as loader:
        loader.load_state_dict(state)
        assert [batch[1].tolist() for batch in loader] == rest
    with flow.DataLoader(list(flow.COCOReader(**attrs, group_by_ratio=False))) as loader:
        assert len(loader) == -(-len(expected) // 4)
        assert sorted(id for batch in loader for id in batch[1]) == [
            one["image_id"] for one in expected
        ]
        with pytest.raises(flow.InvalidArgumentError, match="group_by_ratio"):
            loader.load_state_dict(state)
    with pytest.raises(flow.UnsupportedError, match="shuffle_lanes' = 2.*batch of one group"):
        flow.DataLoader(list(flow.COCOReader(**attrs, shuffle="window", shuffle_lanes=2)))
    for world in (1, 3):
        rows = [
            id
            for rank in range(world)
            for batch in batches_of(path, batch_size=6, rank=rank, world_size=world,
                                    group_by_ratio=True)
            for id in batch["image_id"].tolist()
        ]  # fmt: skip
        assert sorted(rows) == [one["image_id"] for one in expected]


def test_the_index_is_kept(tmp_path):
    document = make(5)
    path, cache = write(tmp_path, document), str(tmp_path / "cache")
    attrs = {"files": path, "image_dir": tmp_path / "images", "index_dir": cache}
    found = []
    for _ in range(2):
        with flow.DataLoader(list(flow.COCOReader(**attrs))) as loader:
            found.append(loader.readers[0].index)
    assert found[0].is_new and not found[1].is_new and found[0].path == found[1].path != ""
    same(read(path, index_dir=cache), truth(tmp_path, document))
    same(read(path, index_dir=cache, remove_images_without_annotations=False),
         truth(tmp_path, document, keep_empty=True))  # fmt: skip
    document["annotations"].pop(0)
    same(read(write(tmp_path, document), index_dir=cache), truth(tmp_path, document))
    assert found[0].bytes < path.stat().st_size


# ---- What cannot be read -----------------------------------------------------------------------


def refused(path, match, error=flow.CorruptDataError, **attrs):
    with pytest.raises(error, match=match) as caught:
        read(path, **attrs)
    return caught.value


def test_annotations_that_are_wrong(tmp_path):
    path = write(tmp_path, make(3))
    text = path.read_text()
    for then, now, said in (
        ('"category_id": 18', '"category_id": 19', "category_id: 19"),
        ('"image_id": ', '"image_id": 77', "images has no id like this image_id: 77"),
        ('"bbox": [', '"bbox": [1e300, 1, 1, 1], "x": [', "number of pixels, at most 16777216"),
        ('"bbox": [', '"bbox": [-3e7, 1, 1, 1], "x": [', "number of pixels, at most 16777216"),
        ('"bbox": [', '"bbox": [NaN, 1, 1, 1], "x": [', "expected a number"),
        ('"bbox": [', '"bbox": [1, 1, Infinity, 1], "x": [', "expected a number"),
        ('"height": ', '"hight": ', "lacks id, height or width"),
        ('"height": ', '"height": -', "expected a size in pixels"),
        ('"file_name": "', '"file_name": "../', "below image_dir"),
        ('"file_name": "', '"file_name": "/', "below image_dir"),
        ('"file_name": ', '"name": ', "below image_dir"),
        ('"bbox": [', '"bbox": [1], "x": [', "lacks a bbox of 4 numbers"),
        ('"bbox"', '"box"', "lacks a bbox of 4 numbers"),
        ('"image_id": ', '"image": ', "lacks image_id"),
        ('"image_id": ', '"image_id": 1.5, "x": ', "whole number"),
        ('"id": 90', '"id": 18', "two categories with the id 18"),
        ('"images": [', '"images": {', "expected an array"),
        ('"images": [', '"pictures": [', 'expected a member "images"'),
        ('"year": 2017', '"year": 02017', "expected"),
    ):
        assert then in text
        bad = tmp_path / "bad.json"
        times = -1 if "bbox" in then or "category_id" in then else 1
        bad.write_text(text.replace(then, now, times))
        caught = refused(bad, said)
        assert caught.file == str(bad)
        if "number of pixels" in said:
            assert "bbox" in bad.read_text()[caught.byte - 30 : caught.byte]
    image = json.loads(text)["images"][0]
    bad.write_text(text.replace('"images": [', '"images": [' + json.dumps(image) + ", ", 1))
    refused(bad, f"two images with the id {image['id']}")
    for end in (1, 100, len(text) // 2, len(text) - 1):
        bad.write_text(text[:end])
        caught = refused(bad, "expected")
        assert caught.byte is not None and caught.byte <= end
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    refused(packed, "compressed; decompress it", flow.UnsupportedError)
    refused(path, "folder of the images cannot be opened", flow.FileError, image_dir="nowhere")
    with pytest.raises(flow.InvalidArgumentError, match="give one annotation file"):
        flow.DataLoader(flow.COCOReader(files=[path, bad])[0])


def test_images_and_polygons_that_cannot_be_read(tmp_path):
    document = make(6, 30)
    path = write(tmp_path, document)
    expected = truth(tmp_path, document)
    one, two, three = [n for n, row in enumerate(expected) if len(row["gt_bbox"])][:3]
    for each in document["annotations"]:
        if each["image_id"] in (expected[one]["image_id"], expected[three]["image_id"]):
            each["segmentation"] = [[1, 2, 3, 4, 5, 6, 7]]
    write(tmp_path, document)
    names = {image["id"]: image["file_name"] for image in document["images"]}
    gone = tmp_path / "images" / names[int(expected[two]["image_id"])]
    gone.unlink()
    bad = {one, two, three}
    same(read(path, on_error="skip"), [row for n, row in enumerate(expected) if n not in bad])
    attrs = {"image_dir": tmp_path / "images", "group_by_ratio": False, "on_error": "skip"}
    with flow.DataLoader(list(flow.COCOReader(files=path, batch_size=50, **attrs))) as loader:
        next(iter(loader))
        skipped = {error.ordinal: error for error in loader.skipped[:3]}
    assert skipped.keys() == bad
    assert skipped[two].file == str(gone) and "No such file" in skipped[two].message
    said = skipped[one].message
    assert "even number of numbers" in said and "annotation at byte" in said


def test_coordinates_beyond_any_image(tmp_path):
    document = make(6, 9)
    image = document["images"][0]
    one = {"image_id": image["id"], "category_id": 1, "bbox": [1, 1, 9, 9], "iscrowd": 0}
    for number in ("1e300", "-16777217", "1e17"):
        document["annotations"] = [{**one, "segmentation": [[1, 2, 3, 4, 5, "WRONG"]]}]
        path = write(tmp_path, document)
        text = path.read_text().replace('"WRONG"', number)
        path.write_text(text)
        caught = refused(path, "number of pixels, at most 16777216")
        byte = text.index(number) + len(number)
        assert caught.file == str(tmp_path / "images" / image["file_name"])
        assert f"annotation at byte {byte} of {path}" in caught.message
    same(read(path, on_error="skip", remove_images_without_annotations=False), [
        row for row in truth(tmp_path, {**document, "annotations": []}, keep_empty=True)
        if row["image_id"] != image["id"]
    ])  # fmt: skip


def turned(height, width):
    """A JPEG file with these sides whose EXIF data turn it by a quarter."""
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x112] = 6
    Image.new("RGB", (width, height)).save(out, "JPEG", exif=exif)
    return out.getvalue()


def test_a_size_that_is_not_that_of_the_image_is_damage(tmp_path):
    document = make(8, 40)
    path = write(tmp_path, document)
    expected = truth(tmp_path, document)
    one, two, three = (int(row["image_id"]) for row in expected[:3])
    images = {image["id"]: image for image in document["images"]}
    folder = tmp_path / "images"
    wrong, high, text = (folder / images[id]["file_name"] for id in (one, two, three))
    size = images[one]["height"], images[one]["width"]
    wrong.write_bytes(picture(3, size=(size[0] + 1, size[1])))
    high.write_bytes(turned(images[two]["height"], images[two]["width"]))
    text.write_bytes(b"no image")  # which is for the decoder to say
    expected = truth(tmp_path, document)
    said = rf"\({size[0]}, {size[1]}\).*id {one}.*\({size[0] + 1}, {size[1]}\).*check_size='none'"
    assert refused(path, said).file == str(wrong)
    same(read(path, on_error="skip"), [row for row in expected if row["image_id"] != one])
    same(read(path, check_size="none"), expected)
    wrong.write_bytes(picture(3, size=size))
    assert refused(path, "check_size='stored'", check_size="upright").file == str(high)
    high.write_bytes(turned(images[two]["width"], images[two]["height"]))
    assert refused(path, "check_size='upright'").file == str(high)
    same(read(path, check_size="upright"), truth(tmp_path, document))


def test_commands(tmp_path, capsys):
    document = make(7)
    path = write(tmp_path, document)
    attr = f"image_dir={tmp_path / 'images'}"
    for other in ({"images": ["a.png"], "annotations": []}, {"image_id": 1, "category_id": 2}):
        (tmp_path / "other.json").write_text(json.dumps(other))
        assert detect(tmp_path / "other.json").format == "json"
    assert detect(path).format == "coco"
    assert [field.name for field in open_source([path]).fields] == OUTPUTS
    assert cli.main(["head", "--attr", attr, str(path)]) == 0
    assert f"COCO, {len(truth(tmp_path, document))} records" in capsys.readouterr().out
    gone = sorted(document["images"], key=lambda one: one["id"])
    keep = next(one for one in gone if is_valid(document, one))
    (tmp_path / "images" / keep["file_name"]).write_bytes(b"")
    assert cli.main(["verify", "--attr", attr, str(path)]) == 1
    said = capsys.readouterr().out
    assert keep["file_name"] in said and "is empty" in said
