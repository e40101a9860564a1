"""Damaged images: a row that fails and says why, never a crash, never pixels of another image."""

from __future__ import annotations

import os
import random
import struct
import zlib

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter
from formats.imagefolder.image_trees import write_tree
from images.image_files import FORMATS, chunk, opened, photo, png, saved, segments
from support.decoder_rows import bytes_of, load

FLIPS = int(os.environ.get("FUZZ_FLIPS", "120" if "SOAK" in os.environ else "50"))


def samples(height=9, width=11):
    """Small files of every format, and of JPEG and PNG several kinds."""
    image = photo(height, width)
    files = {form: saved(image, form) for form in FORMATS}
    files["progressive"] = saved(image, "jpeg", progressive=True)
    files["restarts"] = saved(image, "jpeg", restart_marker_blocks=1)
    files["cmyk"] = saved(opened(files["png"]).convert("CMYK"), "jpeg")
    files["interlaced"] = png(image, 8, 2, interlaced=True)
    files["palette"] = saved(opened(files["png"]).quantize(8), "png")
    files["lossless"] = saved(image, "webp", lossless=True)
    head = struct.pack("<IHHIIiiHHIIiiII", 0, 0, 0, 1078, 40, 4, 3, 1, 8, 1, 0, 0, 0, 0, 0)
    files["rle"] = b"BM" + head + bytes(1024) + b"\4\1\0\0\0\4abcd\0\0\4\2\0\1"
    return files


def rows(files, **attrs):
    """{number: image} of the rows that are whole."""
    blob = bytes_of(files, on_error="pad", max_errors=len(files))
    images = load(flow.ImageDecoder(blob, **attrs), num_threads=1)
    return {i: image for i, image in enumerate(images) if image.size}


def message(file, error=flow.CorruptDataError, **attrs):
    with pytest.raises(error) as caught:
        load(flow.ImageDecoder(bytes_of([saved(photo(2, 2), "png"), file]), **attrs))
    assert (caught.value.op, caught.value.ordinal) == ("ImageDecoder", 1)
    return caught.value.message


# ---- What is said -------------------------------------------------------------------------------


@pytest.mark.parametrize("file, said", [
    (b"", "the row has no bytes; it must hold an image"),
    (b"Once upon a time", "it begins with 'Once upon a time', which looks like text"),
    (b"GIF89a" + bytes(20), "which looks like a GIF image"),
    (b"\xff\x0a" + bytes(20), "which looks like a JPEG XL image"),
    (b"\0\0\0\x1cftypavif" + bytes(20), "which looks like an AVIF image"),
    (b"\x1f\x8b\x08\0" + bytes(20), "which looks like gzip"),
    (b"PK\3\4" + bytes(20), "which looks like a zip archive"),
    (b"\xff\xd8\xff", "JPEG: the file ends in its header"),
    (b"\xff\xd8\xff\xd9\xff\xff", "JPEG: no frame header"),
    (b"\x89PNG\r\n\x1a\n" + bytes(10), "PNG: no header chunk"),
    (b"RIFF\0\0\0\0WEBP", "WebP: the header is damaged, or the file of 12 bytes ends in it"),
    (b"P6\n1 x\n255\n", "PNM: a number was expected in the header"),
    (b"P5 0 1 255\n", "PNM: the header says (1, 0) for height and width"),
    (b"P5 100 100 255\n", "PNM: samples are missing"),
])  # fmt: skip
def test_what_is_no_image(file, said):
    assert said in message(file)


def resized(data, height, width):
    """A file whose header says another size."""
    if data[:2] == b"\xff\xd8":
        at = next(begin for marker, begin, _ in segments(data) if 0xC0 <= marker <= 0xC2)
        return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]
    if data[:4] == b"\x89PNG":
        header = struct.pack(">II", width, height) + data[24:29]
        return data[:8] + chunk(b"IHDR", header) + data[33:]
    if data[:2] == b"BM":
        return data[:18] + struct.pack("<ii", width, height) + data[26:]
    if data[:2] == b"P6":
        return b"P6 %d %d 255\n" % (width, height) + data[-99:]
    return data[:26] + struct.pack("<HH", width & 0x3FFF, height & 0x3FFF) + data[30:]


def test_sizes_that_are_not_true():
    missing = "cannot hold that many|ends inside|missing|damaged|Not enough|premature|filter"
    for name in ("jpeg", "progressive", "png", "interlaced", "webp", "bmp", "ppm"):
        data = samples()[name]
        for size, said in (((0, 11), "has pixels|damaged|ends inside"), ((90, 110), missing),
                           ((16000, 16000), "max_pixels = 178956970|ends inside|missing"),
                           ((12000, 12000), missing)):  # fmt: skip
            found = message(resized(data, *size))
            assert any(each in found for each in said.split("|")), (name, size, found)
    big = saved(photo(40, 50), "jpeg")
    assert len(rows([big], max_pixels=2000)) == 1
    assert "an image of (40, 50) has more pixels than max_pixels = 1999 allows" in message(
        big, max_pixels=1999
    )


def folder_of(root, **files):
    return write_tree(root, {f"class/{name}": data for name, data in files.items()})


def of_folder(root, **attrs):
    image, _ = flow.ImageFolderReader(root, batch_size=1, **attrs)
    return image


def test_one_number_says_where_an_image_is_damaged(tmp_path):
    """The byte of the record where the image is in one; else that of the image's file."""
    for name in ("jpeg", "png", "bmp", "ppm", "progressive"):
        data = samples()[name][:-20]
        with TFRecordWriter(tmp_path / f"{name}.tfrecord", overwrite=True) as writer:
            writer.write({"image": data})
        with pytest.raises(flow.CorruptDataError) as caught, flow.DataLoader(
            flow.ImageDecoder(flow.ExampleDecoder(
                flow.TFRecordReader(files=tmp_path / f"{name}.tfrecord", batch_size=1),
                features=["image:bytes"],
            ))
        ) as loader:
            list(loader)
        assert caught.value.byte > len(data) and str(caught.value).count("byte") == 1
        with pytest.raises(flow.CorruptDataError) as caught:
            load(flow.ImageDecoder(of_folder(folder_of(tmp_path / name, **{"a.png": data}))))
        assert caught.value.byte is None and str(caught.value).count("byte") == 1
        assert f"(byte {len(data)} of {len(data)})" in caught.value.message
        assert caught.value.file == str(tmp_path / name / "class" / "a.png")


def test_an_image_that_the_memory_cannot_hold_is_damaged(tmp_path):
    side = 2000
    body = zlib.compress(bytes(side * (1 + 3 * side)))
    large = b"\x89PNG\r\n\x1a\n" + b"".join((
        chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        chunk(b"IDAT", body), chunk(b"IEND", b""),
    ))  # fmt: skip
    good = saved(photo(9, 11), "png")
    progressive = saved(np.zeros((side, side, 3), np.uint8), "jpeg", progressive=True)
    needed = side * side * 3 + len(large)
    for last in (large, progressive):
        root = folder_of(tmp_path / str(len(last)), a=good, b=last, c=good)
        small = {"memory_budget": 8 << 20, "num_threads": 1}
        for policy in ("skip", "pad"):
            blob = of_folder(root, extensions=[], on_error=policy)
            chain = flow.Resize(flow.ImageDecoder(blob), size=(4, 4))
            with flow.DataLoader(chain, **small) as loader:
                assert sum(len(rows) for rows in loader) == 2 + (policy == "pad")
                assert [one.file for one in loader.skipped] == [str(root / "class/b")]
        with pytest.raises(flow.CorruptDataError, match="memory_budget.*max_pixels") as caught:
            load(flow.ImageDecoder(of_folder(root, extensions=[])), **small)
        assert "batch_size" not in caught.value.message
        assert last is not large or f"PNG: the image needs {needed} bytes" in str(caught.value)
    chain = flow.Resize(flow.ImageDecoder(of_folder(root, extensions=[])), size=(4, 4))
    assert len(load(chain, memory_budget=256 << 20)) == 3


def test_kinds_that_are_not_decoded():
    data = samples()["jpeg"]
    frame = next(begin for marker, begin, _ in segments(data) if marker == 0xC0)
    twelve = data[: frame + 4] + b"\x0c" + data[frame + 5 :]
    lossless = data[: frame + 1] + b"\xc3" + data[frame + 2 :]
    two = data[: frame + 9] + b"\x02" + data[frame + 10 :]
    assert "JPEG: " in message(twelve) and "precision" in message(twelve)
    assert "Unsupported" in message(lossless)
    assert "components" in message(two)


# ---- Cut files ----------------------------------------------------------------------------------


def test_cut_anywhere():
    """Only what says nothing but that it is the end may be missing."""
    spare = {"jpeg": 2, "cmyk": 2, "restarts": 2, "rle": 2, "webp": 1, "lossless": 1, "bmp": 3}
    for name, data in samples().items():
        whole = rows([data])[0]
        found = rows([data[:size] for size in range(len(data))])
        assert len(found) <= spare.get(name, 0), (name, sorted(found), len(data))
        assert all(size >= len(data) - 4 for size in found), (name, sorted(found), len(data))
        assert all(np.array_equal(image, whole) for image in found.values()), name
        filled = rows([data[:size] for size in range(len(data))], incomplete="fill")
        assert set(found) <= set(filled)
        assert all(image.shape == whole.shape for image in filled.values())
        assert name in ("webp", "lossless") or len(filled) > 5, name


def test_the_rows_before_a_cut_are_kept():
    image = photo(64, 48)
    for form, options, unwritten in (("jpeg", {}, None), ("png", {"compress_level": 0}, 0),
                                     ("ppm", {}, 0)):  # fmt: skip
        data = saved(image, form, **options)
        part = data[: len(data) * 4 // 5]
        (whole,), (found,) = rows([data]).values(), rows([part], incomplete="fill").values()
        assert not np.array_equal(whole, found)
        assert np.array_equal(whole[:24], found[:24])
        assert np.ptp(found[-1]) == 0 if unwritten is None else not found[-1].any()


def test_a_jpeg_file_without_its_end_marker_is_whole():
    data = saved(photo(30, 40), "jpeg")
    found = rows([data, data[:-2], data[:-2] + b"\0\0\0", data + b"more"])
    assert len(found) == 4 and all(np.array_equal(image, found[0]) for image in found.values())
    progressive = saved(photo(30, 40), "jpeg", progressive=True)
    assert "the file ends inside the image" in message(progressive[:-2])  # a scan may be missing


def test_bytes_between_segments_of_a_jpeg_file_are_passed_over():
    data = saved(photo(30, 40), "jpeg")
    begin = segments(data)[1][1]
    found = rows([data, data[:begin] + b"\1\2\3" + data[begin:]])
    assert len(found) == 2 and np.array_equal(found[0], found[1])


def test_damage_in_the_data_of_a_jpeg_file():
    data = saved(photo(64, 48), "jpeg")
    at = len(data) * 2 // 3
    ended = data[:at] + b"\xff\xd9" + data[at:]  # a marker in the pixels
    assert "premature end of data segment" in message(ended)
    assert len(rows([ended], incomplete="fill")) == 1


def test_a_checksum_of_png():
    data = saved(photo(9, 11), "png")
    at = data.index(b"IDAT") + 20
    flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    assert message(flipped).startswith("PNG: ")


# ---- Changed bytes ------------------------------------------------------------------------------


def test_flipped_bits():
    """The images around a damaged one are as ever; a damaged one depends on its bytes alone."""
    source = random.Random(7)
    for name, data in samples().items():
        whole = rows([data])[0]
        files = []
        for _ in range(FLIPS):
            changed = bytearray(data)
            for _ in range(source.choice((1, 1, 2, 8))):
                changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
            files.append(bytes(changed))
        attrs = {"max_pixels": 1 << 16, "incomplete": source.choice(("error", "fill"))}
        mixed = rows([each for file in files for each in (file, data)], **attrs)
        assert all(np.array_equal(mixed[2 * i + 1], whole) for i in range(FLIPS)), name
        alone = rows(files[::-1], **attrs)
        assert {FLIPS - 1 - i for i in alone} == {i // 2 for i in mixed if i % 2 == 0}, name
        for i, image in alone.items():
            assert np.array_equal(image, mixed[2 * (FLIPS - 1 - i)]), name


def test_policies():
    good, bad = saved(photo(5, 6), "png"), b"text, named .jpg"
    with pytest.raises(flow.CorruptDataError):
        load(flow.ImageDecoder(bytes_of([good, bad])))
    assert len(rows([good, bad, good])) == 2
    padded = load(flow.ImageDecoder(bytes_of([good, bad, good], on_error="pad")))
    assert [image.size > 0 for image in padded] == [True, False, True]


def test_a_scan_limit():
    """A progressive file of thousands of scans is not decoded to its end."""
    data = saved(photo(9, 11), "jpeg", progressive=True)
    last = data.rindex(b"\xff\xda")
    scan = data[last:-2]
    assert len(rows([data[:-2] + scan * 3 + b"\xff\xd9"], incomplete="fill")) == 1
    assert "more than 500 scans" in message(data[:-2] + scan * 600 + b"\xff\xd9", incomplete="fill")
