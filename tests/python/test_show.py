"""Contact sheets: which images are on them, in which colours, with which words."""

import io

import numpy as np
import pytest
from PIL import Image
from support import programs
from support.cli_files import examples
from support.command import here  # noqa: F401  (a fixture)

import pyflowdata as flow
from pyflowdata.nodes.image_files import ending_of
from pyflowdata.insight import sheet as drawing
from pyflowdata.insight.sheet import decoded, encode_png

CHANCE = np.random.default_rng(0)
GAP = 8


def noise(*shape):
    return CHANCE.integers(0, 256, shape, np.uint8)


def flat(color, height=40, width=60):
    """An image of one colour, which JPEG keeps within a grey level."""
    return np.broadcast_to(np.array(color, np.uint8), (height, width, 3))


def jpeg(image):
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(file, "JPEG", quality=95)
    return file.getvalue()


COLORS = [(250, 10, 10), (10, 240, 20), (20, 30, 250), (128, 128, 128), (250, 250, 0)]
FILES = [jpeg(flat(color)) for color in COLORS]


def first(sheet, height, width):
    """The pixels of the first thumbnail."""
    return sheet.pixels[GAP : GAP + height, GAP : GAP + width]


def colors_on(sheet):
    """The colours of the thumbnails, row after row: tiles of COLORS, in any size."""
    found = []
    for y in range(GAP + 10, sheet.pixels.shape[0], 20):
        for x in range(GAP + 10, sheet.pixels.shape[1], 20):
            for number, color in enumerate(COLORS):
                is_there = np.abs(sheet.pixels[y, x].astype(int) - color).max() <= 3
                if is_there and number not in found:
                    found.append(number)
    return found


def texts_on(sheet, *texts):
    """Which of the texts are drawn somewhere."""
    dark = (sheet.pixels < 200).any(axis=2)
    found = []
    for text in texts:
        dots = drawing.text_dots(text)[:, :-1]
        windows = np.lib.stride_tricks.sliding_window_view(dark, dots.shape)
        if any((windows[y] == dots).all(axis=(1, 2)).any() for y in range(windows.shape[0])):
            found.append(text)
    return found


# ---- PNG and font -------------------------------------------------------------------------------


def test_png_is_read_by_pillow():
    for height, width in [(1, 1), (1, 300), (300, 1), (17, 23), (64, 64)]:
        image = noise(height, width, 3)
        found = Image.open(io.BytesIO(encode_png(image)))
        assert (found.mode, found.size) == ("RGB", (width, height))
        assert np.array_equal(np.asarray(found), image)
    view = noise(40, 40, 6)[::2, ::-1, :3]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(encode_png(view)))), view)


def test_the_font_tells_characters_apart():
    printable = "".join(map(chr, range(32, 127)))
    dots = {one: drawing.text_dots(one) for one in printable}
    assert {each.shape for each in dots.values()} == {(7, 6)}
    assert len({each.tobytes() for each in dots.values()}) == len(printable)
    assert not any(each[:, 5].any() for each in dots.values()), "between characters is a gap"
    assert drawing.text_dots("").shape == (7, 0) and drawing.text_dots("aé\n").shape == (7, 18)
    picture = "\n".join("".join(".#"[int(dot)] for dot in row) for row in dots["R"][:, :5])
    assert picture == "####.\n#...#\n#...#\n####.\n#.#..\n#..#.\n#...#"


def test_beginnings_of_image_files():
    endings = {
        "JPEG": "jpg", "PNG": "png", "WEBP": "webp", "BMP": "bmp", "PPM": "ppm", "TIFF": "tif",
    }  # fmt: skip
    for kind, ending in endings.items():
        file = io.BytesIO()
        Image.fromarray(noise(4, 4, 3)).save(file, kind)
        assert ending_of(file.getvalue()) == ending, kind
    for text in (b"", b"BMW is a maker of cars", b"P6X", b"RIFF....WAVE", b"label"):
        assert ending_of(text) is None


def test_every_kind_of_pnm_is_shown():
    files = [
        b"P1 2 1\n1 0\n", b"P2 2 1 255\n0 255\n", b"P3 2 1 255\n0 0 0 255 255 255\n",
        b"P4 2 1\n\x80", b"P5 2 1 255\n\x00\xff", b"P6 2 1 255\n\0\0\0\xff\xff\xff",
    ]  # fmt: skip
    for file in files:
        (pixels,) = decoded([file])[0]
        assert pixels.reshape(2, -1)[:, 0].tolist() == [0, 255]
        sheet = flow.show([file])
        assert (sheet.count, sheet.notes) == (1, ()), file[:2]


# ---- Colours ------------------------------------------------------------------------------------


@pytest.mark.parametrize("image, expected", [
    (noise(20, 30, 3), lambda x: x),
    (noise(20, 30), lambda x: np.stack([x] * 3, -1)),
    (noise(20, 30, 1), lambda x: np.concatenate([x] * 3, -1)),
    (noise(3, 20, 30), lambda x: x.transpose(1, 2, 0)),
    (noise(20, 30, 3) / np.float32(255), lambda x: np.rint(x * 255)),
    (noise(20, 30, 3).astype(np.float64), lambda x: x),
    (noise(20, 30) > 99, lambda x: np.stack([x * 255] * 3, -1)),
    (noise(20, 30, 3).astype(np.int64), lambda x: x),
    (np.full((20, 30, 3), np.nan, np.float32), lambda x: np.zeros(x.shape)),
    (np.dstack([noise(20, 30, 3), np.full((20, 30), 255, np.uint8)]), lambda x: x[..., :3]),
    (np.dstack([noise(20, 30, 3), np.zeros((20, 30), np.uint8)]),
     lambda x: np.full((20, 30, 3), 255)),
])  # fmt: skip
def test_what_is_shown_as_it_is(image, expected):
    """Images that are small, and are not resampled, in all dtypes and layouts."""
    sheet = flow.show([image], size=(25, 35))
    assert np.array_equal(first(sheet, 20, 30), expected(image))
    assert sheet.notes == () and sheet.count == 1


def test_numbers_of_any_range_are_scaled_and_the_sheet_says_so():
    image = np.linspace(-2, 3, 600, dtype=np.float32).reshape(20, 30)
    sheet = flow.show([image, image], size=(25, 35))
    expected = np.rint((image + 2) * 51)
    assert np.abs(first(sheet, 20, 30)[..., 0] - expected).max() <= 1
    assert sheet.notes == ("float32 numbers: -2 is black, 3 is white",)
    assert texts_on(sheet, "float32 numbers: -2 is black") == ["float32 numbers: -2 is black"]
    assert "3 is white" in repr(sheet)
    depth = noise(20, 30).astype(np.uint16) * 257
    assert flow.show([depth], size=(25, 35)).notes[0].startswith("uint16 numbers: ")
    assert flow.show([np.full((9, 9), -5.0)]).count == 1


@pytest.mark.filterwarnings("error")
def test_numbers_of_any_size():
    for image in (np.full((4, 4), 2**64 - 1, np.uint64), np.full((4, 4, 3), 1e17),
                  np.full((4, 4), 1e300), np.full((4, 4), -3e38, np.float32)):  # fmt: skip
        assert not first(flow.show([image], size=(8, 8)), 8, 8).any(), "one number: black"
    for dtype, number in ((np.float64, 1.7e308), (np.float32, 3e38), (np.float64, 5e-324),
                          (np.float32, 1e-45), (np.int64, 2**63 - 1),
                          (np.float16, 6e4)):  # fmt: skip
        image = np.array([[-number, number]] * 2, dtype)
        assert np.unique(first(flow.show([image], size=(8, 8)), 8, 8)).tolist() == [0, 255]
        assert flow.show([image], mean=1e300, std=1e300).count == 1


def test_normalising_is_undone():
    image = noise(20, 30, 3)
    x = flow.Normalize(image, mean=flow.IMAGENET_MEAN, std=flow.IMAGENET_STD)
    sheet = flow.show([x], size=(25, 35), mean=flow.IMAGENET_MEAN, std=flow.IMAGENET_STD)
    assert np.array_equal(first(sheet, 20, 30), image) and sheet.notes == ()
    x = flow.CropMirrorNormalize(image, mean=[120.0], std=[60.0], output_layout="NCHW")
    sheet = flow.show([x], size=(25, 35), mean=120, std=60)
    assert np.array_equal(first(sheet, 20, 30), image)


def test_layouts_that_are_unclear():
    image = noise(3, 20, 3)
    assert drawing.channels_last(image, None).shape == (3, 20, 3)
    assert drawing.channels_last(image, "CHW").shape == (20, 3, 3)
    with pytest.raises(flow.InvalidArgumentError, match="20 channels; 1, 3 and 4 can be shown"):
        flow.show([noise(4, 3, 20)], layout="HWC")


def test_sizes_of_thumbnails():
    """Large ones shrink with their aspect ratio, small ones grow by a whole factor."""
    for height, width, expected in [(300, 600, (50, 100)), (600, 300, (100, 50)),
                                    (28, 28, (84, 84)), (60, 60, (60, 60)), (1000, 1, (100, 1)),
                                    (1, 30, (3, 90))]:  # fmt: skip
        image = np.zeros((height, width, 3), np.uint8)
        sheet = flow.show([image], size=(100, 100))
        black = (sheet.pixels == 0).all(axis=2)
        rows, columns = (np.flatnonzero(black.any(axis=axis)) for axis in (1, 0))
        assert (len(rows), len(columns)) == expected
    digits = noise(28, 28)
    grown = first(flow.show([digits], size=(100, 100)), 84, 84)
    assert np.array_equal(grown[1::3, 1::3, 0], digits)
    assert flow.show([noise(0, 5, 3), noise(5, 5, 3)]).count == 2


# ---- What is given ------------------------------------------------------------------------------


def test_batches_of_every_form():
    images = noise(5, 20, 30, 3)
    ragged = flow.ImageDecoder(FILES)
    assert flow.show(images).count == flow.show(list(images)).count == 5
    assert flow.show(images[..., 0]).count == 5, "grey ones"
    assert flow.show(images[0]).count == flow.show(images[0, ..., 0]).count == 1, "one image"
    assert flow.show(images.transpose(0, 3, 1, 2)).count == 5
    assert colors_on(flow.show(ragged)) == [0, 1, 2, 3, 4]
    assert colors_on(flow.show(FILES)) == [0, 1, 2, 3, 4]
    assert colors_on(flow.show(FILES[0])) == [0]
    values = np.frombuffer(b"".join(FILES), np.uint8)
    splits = np.cumsum([0, *map(len, FILES)])
    assert colors_on(flow.show(flow.Ragged(values, splits))) == [0, 1, 2, 3, 4]
    labels = np.arange(5)
    for batch in ({"a": labels, "b": images}, (labels, images)):
        assert flow.show(batch).count == 5


def test_labels_and_ids():
    images, text = list(noise(3, 20, 30, 3)), ["cat", "dog", "owl"]
    sheet = flow.show(images, labels=text, ids=np.array([[0, 7], [0, 8], [0, 9]]))
    assert texts_on(sheet, "cat", "dog", "owl", "record 8", "0 8") == [
        "cat", "dog", "owl", "record 8",
    ]  # fmt: skip
    assert texts_on(flow.show(images, ids=np.array([[0, 7], [1, 8], [1, 9]])), "file 1") == [
        "file 1"
    ]
    batch = {"image": np.array(images), "n": np.arange(3), "Label": np.array([31, 41, 59])}
    assert texts_on(flow.show(batch), "31", "41", "59") == ["31", "41", "59"]
    assert texts_on(flow.show(batch, labels="n"), "31", "2") == ["2"]
    for name in ("image/class/label", "fine_label", "targets"):
        assert texts_on(flow.show({"image": images, name: [31, 41, 59]}), "41") == ["41"]
    assert texts_on(flow.show(tuple(batch.values()), labels=[0.25, 1e-9, 3.0]), "0.25") == ["0.25"]
    assert texts_on(flow.show(images, labels=[b"owls", b"\xff", b"x" * 300]), "owls", "xx..") == [
        "owls", "xx..",
    ]  # fmt: skip
    one_hot = np.eye(3)
    assert texts_on(flow.show(images, labels=one_hot), "0 1 0") == ["0 1 0"]


def test_count_and_columns():
    images = noise(10, 20, 20, 3)
    sheet = flow.show(images, count=4, columns=2, size=(20, 20))
    assert (sheet.count, sheet.notes) == (4, ("4 of 10 images",))
    assert np.array_equal(first(sheet, 20, 20), images[0])
    below = GAP + 20 + 4
    third = sheet.pixels[below + GAP : below + GAP + 20, GAP : GAP + 20]
    assert np.array_equal(third, images[2])
    wide, narrow = (flow.show(images, columns=number).pixels.shape for number in (10, 1))
    assert wide[1] > wide[0] and narrow[0] > narrow[1]


def test_damaged_images_keep_their_place():
    files = [FILES[0], b"\xff\xd8\xff broken", FILES[2]]
    sheet = flow.show(files, labels=[5, 6, 7], columns=3)
    assert sheet.count == 3 and colors_on(sheet) == [0, 2]
    assert sheet.notes[0].startswith("1 of 3 not decoded; image 1: ")
    assert texts_on(sheet, "6") == ["6"]
    assert flow.show([b"\xff\xd8\xff"]).count == 1


def test_damaged_records_of_blobs_keep_their_place(tmp_path):
    for number, data in enumerate([b"", FILES[0], FILES[1][:-200], FILES[2]]):
        (tmp_path / "x").mkdir(exist_ok=True)
        (tmp_path / f"x/{number}.jpg").write_bytes(data)
    file, label = flow.ImageFolderReader(tmp_path, batch_size=4)
    image = flow.ImageDecoder(file)
    says = "2 of 4 not decoded; image 0: 0.jpg: the file is empty"
    for batch in (file, image, flow.Resize(image, size=(9, 9)), {"image": image, "y": label}):
        sheet = flow.show(batch)
        assert sheet.count == 4 and colors_on(sheet) == [0, 2] and sheet.notes[0] == says
        assert texts_on(sheet, "record 0", "record 3") == ["record 0", "record 3"]
    file, _ = flow.ImageFolderReader(tmp_path, batch_size=2, on_error="skip")
    assert flow.show(flow.ImageDecoder(file)).notes == ()
    file, _ = flow.ImageFolderReader(tmp_path, batch_size=9, last_batch="pad")
    assert flow.show(file).notes == (says,)


def test_blobs():
    """The first batch, shuffled as the loader does it, with its ids."""
    samples = [{"file": file, "n": 100 + i} for i, file in enumerate(FILES)]
    file, n = flow.GeneratorReader(
        samples, fields=["file:bytes", "n:int64"], batch_size=3, random_shuffle=True, seed=2
    )
    image = flow.ImageDecoder(file)
    with flow.DataLoader(n) as loader:
        numbers = next(iter(loader)).tolist()
    records = [number - 100 for number in numbers]
    captions = [f"record {record}" for record in records]
    for sheet in (flow.show(image), flow.show((image, n)), flow.show(image, n), flow.show(file),
                  flow.show({"image": image, "y": n}), flow.show([n, image])):  # fmt: skip
        assert sheet.count == 3 and sorted(colors_on(sheet)) == sorted(records)
        assert texts_on(sheet, *captions) == captions
    assert texts_on(flow.show((image, n)), *map(str, numbers)) == list(map(str, numbers))
    assert texts_on(flow.show(image, n), *map(str, numbers)) == list(map(str, numbers))
    assert texts_on(flow.show(image, ids=n), captions[0]) == []


def test_a_notebook_and_a_file(tmp_path):
    sheet = flow.show(noise(3, 20, 20, 3))
    assert sheet._repr_png_() == sheet.png() and sheet.png().startswith(b"\x89PNG")
    path = sheet.save(tmp_path / "sheet.png")
    assert np.array_equal(np.asarray(Image.open(path)), sheet.pixels)
    assert repr(sheet).startswith(f"<Sheet of 3 images, {sheet.pixels.shape[0]} x ")
    with pytest.raises(flow.FileError, match="cannot be written: No such file"):
        sheet.save(tmp_path / "none" / "sheet.png")


@pytest.mark.parametrize("call, says", [
    (lambda: flow.show(3), r"3 \(int\) was given; it must be a batch"),
    (lambda: flow.show(np.arange(3)), "no column has images"),
    (lambda: flow.show([]), "no column has images"),
    (lambda: flow.show({"a": np.arange(3), "b": [b"text"]}), r"no column has images \(a, b\)"),
    (lambda: flow.show({"a": noise(2, 9, 9)}, image="b"), "image = 'b'; the columns are a"),
    (lambda: flow.show(noise(2, 9, 9), labels=[1]), "2 images and 1 labels"),
    (lambda: flow.show(noise(2, 9, 9), labels="name"), "labels = 'name'; the columns are 0"),
    (lambda: flow.show(noise(2, 9, 9), count=0), "count = 0"),
    (lambda: flow.show(noise(2, 9, 9), columns=0), "columns = 0"),
    (lambda: flow.show(noise(2, 9, 9), size=160), "size = 160; it must be"),
    (lambda: flow.show(noise(2, 9, 9), size=(3, 3)), "from 8 to 4096"),
    (lambda: flow.show(noise(2, 9, 9), layout="NHWC"), "layout = 'NHWC'"),
    (lambda: flow.show([noise(9, 9), np.zeros((9, 9))]), "several dtypes"),
    (lambda: flow.show(noise(2, 9, 9, 3), mean=[1, 2]), "mean has 2 numbers and an image has 3"),
    (lambda: flow.show(noise(2, 9, 9, 3), mean="x"), "mean = 'x'; it must be a finite number,"),
    (lambda: flow.show(noise(2, 9, 9, 3), mean=[]), r"mean = \[\]; it must be"),
    (lambda: flow.show(noise(2, 9, 9, 3), mean=float("nan")), "mean = nan; it must be"),
    (lambda: flow.show(noise(2, 9, 9, 3), std=0), "std = 0; it must be a finite number above 0"),
    (lambda: flow.show(noise(2, 9, 9, 3), std=[1, -1, 1]), "std = .*; it must be"),
    (lambda: flow.show(noise(2, 9, 9), ids=3), r"ids = 3 \(int\); it must be a value for each"),
    (lambda: flow.show(noise(2, 9, 9), labels=[1, [1, [2]]]), "labels and ids are .*; each must"),
    (lambda: flow.show([noise(9, 9), 3, "x", None]), r"row 1 is 3 \(int\); it must be an image"),
    (lambda: flow.show([noise(9, 9), None]), r"row 1 is None \(NoneType\)"),
    (lambda: flow.show([noise(9, 9).astype(str)]), r"row 0 is an array of <U3 \(9, 9\)"),
    (lambda: flow.show(noise(2, 9, 9), image=[1]), r"image = \[1\]; it must be the name"),
    (lambda: flow.show([b"x"]), "the bytes are not image files: 1 of 1 .* image 0: "),
    (lambda: flow.show(noise(9, 9)).save(None), "path = None; it must be the path of a file"),
    (lambda: flow.show(noise(9, 9)).save("a\0b"), "path = 'a.*b'; it must be the path"),
])  # fmt: skip
def test_mistakes(call, says):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        call()


# ---- The command --------------------------------------------------------------------------------


def test_head_images(here, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    columns = {"jpg": FILES, "label": np.arange(5) * 11, "text": [b"BM, P5 or so"] * 5}
    path = examples(tmp_path, columns, "birds.tfrecord")
    status, out, err = here("head", path, "--images")
    assert (status, out, err) == (0, "birds-sheet.png\n", "")
    found = flow.Sheet(np.asarray(Image.open(tmp_path / "birds-sheet.png")), 5, ())
    assert colors_on(found) == [0, 1, 2, 3, 4]
    assert texts_on(found, "44", "record 3") == ["44", "record 3"]
    status, out, _ = here("head", path, "--images", "-n", 2, "--out", tmp_path / "two.png")
    assert out == f"{tmp_path / 'two.png'}\n"
    found = flow.Sheet(np.asarray(Image.open(tmp_path / "two.png")), 2, ())
    assert colors_on(found) == [0, 1]
    other = examples(tmp_path, columns, "b.tfrecord")
    first = examples(tmp_path, columns, "a.tfrecord")
    assert here("head", first, other, "--images", "--out", tmp_path / "two.png")[0] == 0
    found = flow.Sheet(np.asarray(Image.open(tmp_path / "two.png")), 10, ())
    names = ["a.tfrecord record 4", "b.tfrecord record 0"]
    assert texts_on(found, *names) == names


def test_head_images_of_damaged_files(here, tmp_path):  # noqa: F811
    (tmp_path / "birds/x").mkdir(parents=True)
    for number, data in enumerate([FILES[0], b"", FILES[1], b"no image"]):
        (tmp_path / f"birds/x/{number}.jpg").write_bytes(data)
    out = str(tmp_path / "sheet.png")
    status, said, err = here("head", tmp_path / "birds", "--images", "-n", 30, "--out", out)
    assert (status, said) == (0, f"{out}\n") and err.startswith("2 of 4 not decoded; image 1: ")
    found = flow.Sheet(np.asarray(Image.open(out)), 4, ())
    assert colors_on(found) == [0, 1]
    assert texts_on(found, "x/1.jpg", "x/2.jpg", "record 1") == ["x/1.jpg", "x/2.jpg"]
    assert here("head", tmp_path / "birds")[0] == 1  # of a table no cell is left empty


def test_head_images_of_arrays(here, tmp_path, monkeypatch):  # noqa: F811
    from pyflowdata.io import IDXWriter

    monkeypatch.chdir(tmp_path)
    digits = noise(70, 28, 28)
    with IDXWriter(tmp_path / "digits.idx") as writer:
        writer.write_batch(digits)
    status, out, _ = here("head", tmp_path / "digits.idx", "--images")
    assert (status, out) == (0, "digits-sheet.png\n")
    sheet = np.asarray(Image.open(tmp_path / "digits-sheet.png"))
    assert np.array_equal(sheet[GAP : GAP + 140 : 5, GAP : GAP + 140 : 5, 0], digits[0])


def test_head_images_where_there_are_none(here, tmp_path):  # noqa: F811
    path = examples(tmp_path)
    status, _, err = here("head", path, "--images")
    assert status == 1 and "no column has images (s, x, y)" in err
    assert here("head", path, "--out", "a.png")[0] == 2
    assert here("head", path, "--json", "--images")[0] == 2
    status, _, err = here("head", path, "--images", "-n", 1001)
    assert status == 2 and "-n 1001: a sheet has at most 1000 images" in err
    files = [FILES[0], b"\xff\xd8\xff"]
    status, _, err = here("head", examples(tmp_path, {"jpg": files}, "d.tfrecord"), "--images",
                         "--out", tmp_path / "d.png")  # fmt: skip
    assert status == 0 and "1 of 2 not decoded; image 1: " in err


def test_importing_is_enough():
    """No other library is needed, nor imported."""
    code = """if True:
        import sys, numpy as np, pyflowdata as flow
        assert flow.show(np.zeros((2, 9, 9), np.uint8)).png()
        assert not {"PIL", "matplotlib"} & set(sys.modules)
    """
    programs.run(code, check=True)
