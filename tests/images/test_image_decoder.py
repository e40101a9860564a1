"""ImageDecoder and ImageSize: against Pillow, and against the arrays that were written."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from PIL import Image, ImageOps

import pyflowdata as flow
from images.image_files import (
    as_pillow, chunk, exif, opened, photo, png, saved, segments, without_tables,
)  # fmt: skip
from support.decoder_rows import blob_of, bytes_of, load

SPACES = ("RGB", "BGR", "GRAY", "RGBA")
SIZES = ((1, 1), (2, 3), (17, 31), (64, 48), (100, 77))


def decoded(files, **attrs):
    return load(flow.ImageDecoder(bytes_of(files), **attrs))


def same_as_pillow(files, spaces=SPACES):
    for space in spaces:
        for data, image in zip(files, decoded(files, color_space=space), strict=True):
            assert np.array_equal(image, as_pillow(data, space)), (space, data[:16], image.shape)


# ---- JPEG ---------------------------------------------------------------------------------------


def test_jpeg_is_bit_for_bit_that_of_pillow():
    files = [
        saved(Image.fromarray(photo(*size)).convert(mode), "jpeg", quality=quality,
              subsampling=subsampling, progressive=progressive)
        for size in SIZES for mode in ("RGB", "L", "CMYK") for subsampling in (0, 1, 2)
        for quality, progressive in ((30, False), (90, False), (75, True))
    ]  # fmt: skip
    same_as_pillow(files)


def test_jpeg_of_other_kinds():
    image = Image.fromarray(photo(40, 50))
    cmyk = saved(image.convert("CMYK"), "jpeg")
    adobe = cmyk.index(b"Adobe")
    files = [
        saved(image, "jpeg", keep_rgb=True),
        saved(image, "jpeg", restart_marker_rows=1),
        saved(image, "jpeg", restart_marker_blocks=2, optimize=True),
        cmyk[: adobe + 11] + b"\2" + cmyk[adobe + 12 :],  # the same numbers as YCCK
    ]
    assert cmyk[adobe + 11] == 0
    same_as_pillow(files)


def test_tables_of_the_image_before_are_not_used():
    image = photo(40, 50)
    standard, other = saved(image, "jpeg"), saved(image, "jpeg", optimize=True, quality=20)
    bare = without_tables(standard)
    assert len(bare) < len(standard) - 300
    for before in ([], [other], [standard], [other, bare]):
        images = load(flow.ImageDecoder(bytes_of([*before, bare])), num_threads=1)
        assert np.array_equal(images[-1], as_pillow(standard, "RGB"))
    marker, begin, end = next(s for s in segments(standard) if s[0] == 0xDB)
    with pytest.raises(flow.CorruptDataError, match="(?i)quantization table"):
        blob = bytes_of([standard, standard[:begin] + standard[end:]])
        load(flow.ImageDecoder(blob), num_threads=1)


# ---- PNG ----------------------------------------------------------------------------------------

# Colour type, depths, channels.
KINDS = ((0, (1, 2, 4, 8, 16), 1), (2, (8, 16), 3), (3, (1, 2, 4, 8), 1), (4, (8, 16), 2),
         (6, (8, 16), 4))  # fmt: skip


def in_eight_bits(samples, depth):
    return samples >> 8 if depth == 16 else samples * (255 // (2**depth - 1))


def gray_of(rgb):
    weighted = rgb.astype(np.int64) @ [19595, 38470, 7471] + 32768
    return (weighted >> 16).astype(np.uint8)[..., None]


def expected(rgba, space):
    rgba = rgba.astype(np.uint8)
    if space == "GRAY":
        return gray_of(rgba[..., :3])
    return {"RGB": rgba[..., :3], "BGR": rgba[..., 2::-1], "RGBA": rgba}[space]


def rgba_of(samples, depth, kind, palette):
    if kind == 3:
        return palette[samples[..., 0]]
    values = in_eight_bits(samples, depth)
    opaque = np.full_like(values[..., :1], 255)
    gray = [values[..., :1]] * 3
    parts = {0: [*gray, opaque], 2: [values, opaque], 4: [*gray, values[..., 1:]], 6: [values]}
    return np.concatenate(parts[kind], axis=-1)


@pytest.mark.parametrize("interlaced", [False, True])
def test_png_of_every_kind(interlaced):
    random = np.random.default_rng(1)
    palette = random.integers(0, 256, (256, 4))
    files, truths = [], []
    for height, width in ((1, 1), (3, 5), (9, 20)):
        for kind, depths, channels in KINDS:
            for depth in depths:
                samples = random.integers(0, 2**depth, (height, width, channels))
                before = b""
                if kind == 3:
                    colors = palette[: 2**depth]
                    before = chunk(b"PLTE", colors[:, :3].astype(np.uint8).tobytes())
                    before += chunk(b"tRNS", colors[:, 3].astype(np.uint8).tobytes())
                files.append(png(samples, depth, kind, interlaced, before))
                truths.append(rgba_of(samples, depth, kind, palette))
    for space in SPACES:
        for image, truth in zip(decoded(files, color_space=space), truths, strict=True):
            assert np.array_equal(image, expected(truth, space)), (space, image.shape)


def test_png_with_a_transparent_color():
    gray, colors = photo(8, 9, 1), photo(8, 9, 3)
    key = [int(v) for v in colors[3, 4]]
    files = [png(gray, 8, 0, before=chunk(b"tRNS", struct.pack(">H", gray[2, 2, 0]))),
             png(colors, 8, 2, before=chunk(b"tRNS", struct.pack(">3H", *key)))]  # fmt: skip
    for image, color in zip(decoded(files, color_space="RGBA"), (gray[2, 2], key), strict=True):
        hidden = (image[..., :3] == color).all(axis=-1)
        assert hidden.any() and np.array_equal(image[..., 3], np.where(hidden, 0, 255))
    assert np.array_equal(decoded(files)[1], colors)


def test_png_as_pillow_writes_it():
    image = Image.fromarray(photo(30, 41))
    files = [saved(image.convert(mode), "png") for mode in ("RGB", "L", "LA", "RGBA", "1", "P")]
    files += [saved(image.quantize(colors), "png", transparency=1) for colors in (2, 4, 16)]
    same_as_pillow(files)


def test_other_chunks_are_passed_over():
    image = photo(5, 6)
    text = chunk(b"tEXt", b"a\0b") + chunk(b"iCCP", b"x\0\0broken") + chunk(b"prIv", b"\1")
    end = chunk(b"tIME", b"1234567") + chunk(b"acTL", b"\0" * 8)
    assert np.array_equal(decoded([png(image, 8, 2, before=text, after=end)])[0], image)


# ---- WebP, BMP, PNM -----------------------------------------------------------------------------


def test_webp_bmp_and_pnm_as_pillow_writes_them():
    files = []
    for size in SIZES:
        image = Image.fromarray(photo(*size))
        alpha = image.copy()
        alpha.putalpha(Image.fromarray(photo(*size)[..., 1]))
        for each in (image, alpha):
            files += [saved(each, "webp", lossless=True, exact=True), saved(each, "webp"),
                      saved(each, "webp", save_all=True, append_images=[each.rotate(180)])]
        modes = [image, alpha, *map(image.convert, ("L", "1", "P")), image.quantize(16)]
        files += [saved(each, "bmp") for each in modes]
        files += [saved(each, "ppm") for each in (image, image.convert("L"), image.convert("1"))]
    same_as_pillow(files)


def test_a_first_frame_that_is_smaller_than_its_canvas():
    image = Image.fromarray(photo(20, 30))
    frame = saved(image, "webp", lossless=True)[12:]
    payload = (4).to_bytes(3, "little") + (3).to_bytes(3, "little")
    payload += (29).to_bytes(3, "little") + (19).to_bytes(3, "little") + b"\0\0\0\0" + frame
    canvas = b"\x02\0\0\0" + (49).to_bytes(3, "little") + (39).to_bytes(3, "little")
    body = b"WEBP"
    for kind, data in ((b"VP8X", canvas), (b"ANIM", b"\0" * 6), (b"ANMF", payload)):
        body += kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    truth = np.zeros((40, 50, 3), np.uint8)
    truth[6:26, 8:38] = photo(20, 30)
    file = b"RIFF" + struct.pack("<I", len(body)) + body
    assert np.array_equal(decoded([file])[0], truth)
    assert np.array_equal(as_pillow(file, "RGB"), truth)


def bmp(pixels, width, height, bits, compression=0, palette=b"", masks=b"", core=False):
    if core:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, 0, 0, 0, 0, 0)
    offset = 14 + len(info) + len(masks) + len(palette)
    head = b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset)
    return head + info + masks + palette + pixels


def test_bmp_of_other_kinds():
    random = np.random.default_rng(2)
    palette = random.integers(0, 256, (256, 3)).astype(np.uint8)
    four = b"".join(bytes([*color[::-1], 0]) for color in palette)
    three = palette[:, ::-1].tobytes()
    indices = random.integers(0, 256, (4, 6))
    runs = [b"".join(bytes([1, i]) for i in row) for row in indices[::-1]]
    rle8 = b"\0\0".join(runs) + b"\0\1"
    literal = b"\0\0".join(b"\0\6" + bytes(row.tolist()) for row in indices[::-1]) + b"\0\1"
    skipping = b"\3\7\0\2\1\1\2\5\0\1"  # three of 7, one right and one down, two of 5, the end
    skipped = np.zeros((4, 6), int)
    skipped[3, :3], skipped[2, 4:6] = 7, 5
    palette_skipped = palette[skipped]
    small = random.integers(0, 16, (4, 6))
    nibbles = [bytes(int(row[i]) * 16 + int(row[i + 1]) for i in (0, 2, 4)) for row in small]
    rle4 = b"".join(b"\0\6" + row + b"\0" + b"\0\0" for row in nibbles[::-1]) + b"\0\1"
    pixels = random.integers(0, 65536, (4, 6)).astype("<u2")
    rgb565 = np.stack([(pixels >> 11) * 255 // 31, (pixels >> 5 & 63) * 255 // 63,
                       (pixels & 31) * 255 // 31], -1)  # fmt: skip
    rgb555 = np.stack([(pixels >> s & 31) * 255 // 31 for s in (10, 5, 0)], -1)
    wide = photo(4, 6, 4)
    for file, truth in (
        (bmp(rle8, 6, 4, 8, 1, four), palette[indices]),
        (bmp(literal, 6, 4, 8, 1, four), palette[indices]),
        (bmp(skipping, 6, 4, 8, 1, four), palette_skipped),
        (bmp(rle4, 6, 4, 4, 2, four[:64]), palette[small]),
        (bmp(pixels[::-1].tobytes(), 6, 4, 16), rgb555),
        (bmp(pixels.tobytes(), 6, -4, 16, 3, masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F)),
         rgb565),
        (bmp(np.pad(indices, ((0, 0), (0, 2)))[::-1].astype(np.uint8).tobytes(), 6, 4, 8,
             palette=three, core=True), palette[indices]),
        (bmp(wide.tobytes(), 6, -4, 32), wide[..., 2::-1]),
    ):  # fmt: skip
        assert np.array_equal(decoded([file])[0], truth)
        if truth is not palette_skipped:  # Pillow wants all pixels
            assert np.array_equal(as_pillow(file, "RGB"), truth)


def test_pnm_of_other_kinds():
    gray, rgb = photo(3, 5, 1).astype(int), photo(3, 5, 3).astype(int)
    bits = gray[..., 0] > 128
    for most in (1, 7, 255, 300, 65535):
        for samples, kinds in ((gray * most // 255, (2, 5)), (rgb * most // 255, (3, 6))):
            truth = np.floor(samples * 255 / most + 0.5).astype(np.uint8)
            truth = truth if samples.shape[2] == 3 else np.repeat(truth, 3, axis=2)
            head = b"P%d # a comment\n 5\t3\n%d\n"
            text = head % (kinds[0], most) + " ".join(map(str, samples.ravel())).encode() + b"\n"
            data = head % (kinds[1], most) + samples.astype(">u2" if most > 255 else "u1").tobytes()
            for image in decoded([text, data]):
                assert np.array_equal(image, truth)
    packed = b"P4\n5 3\n" + np.packbits(bits, axis=1).tobytes()
    close = b"P1 5 3\n" + "".join(map(str, bits.ravel().astype(int))).encode()
    for image in decoded([packed, close], color_space="GRAY"):
        assert np.array_equal(image[..., 0], np.where(bits, 0, 255))


# ---- Orientation, sizes -------------------------------------------------------------------------


def test_orientation_and_sizes():
    image = Image.fromarray(photo(20, 33))
    files = [saved(image, form, exif=exif(orientation, order))
             for form in ("jpeg", "png", "webp") for orientation in range(10)
             for order in "<>"]  # fmt: skip
    upright = decoded(files, apply_orientation=True)
    plain = decoded(files)
    turned_sizes = load(flow.ImageSize(bytes_of(files), apply_orientation=True))
    sizes = load(flow.ImageSize(bytes_of(files)))
    assert sizes.dtype == np.int64 and sizes.tolist() == [[20, 33]] * len(files)
    for data, one, other, size in zip(files, upright, plain, turned_sizes, strict=True):
        assert np.array_equal(one, np.asarray(ImageOps.exif_transpose(opened(data))))
        assert np.array_equal(other, np.asarray(opened(data)))
        assert tuple(size) == one.shape[:2]


def test_sizes_of_all_formats():
    files = [saved(photo(*size), form) for size in SIZES
             for form in ("jpeg", "png", "webp", "bmp", "ppm")]  # fmt: skip
    files += [saved(photo(9, 7, 1), form)[:200] for form in ("jpeg", "png", "bmp", "ppm")]
    found = load(flow.ImageSize(bytes_of(files[:-4]))).tolist()
    assert found == [list(size) for size in SIZES for _ in range(5)]


# ---- Rows ---------------------------------------------------------------------------------------


def test_dense_rows_and_threads():
    files = [saved(photo(31, 40, seed=i), "jpeg") for i in range(64)]
    longest = max(map(len, files))
    rows = np.array([np.frombuffer(file.ljust(longest, b"\0"), np.uint8) for file in files])
    one = load(flow.ImageDecoder(blob_of(rows)), num_threads=1)
    many = load(flow.ImageDecoder(bytes_of(files, batch_size=5)), num_threads=4)
    for data, first, second in zip(files, one, many, strict=True):
        assert np.array_equal(first, second) and np.array_equal(first, as_pillow(data, "RGB"))


def test_names_and_types():
    blob = bytes_of([saved(photo(4, 5), "jpeg")], batch_size=1)
    assert flow.ImageDecoder(blob).shape == (1, None, None, 3)
    with pytest.raises(flow.InvalidArgumentError, match="color_space"):
        flow.ImageDecoder(blob, color_space="HSV")
    with pytest.raises(flow.InvalidArgumentError, match="rows of bytes|uint8"):
        flow.ImageDecoder(flow.ImageDecoder(blob))
