"""One use of each built-in op, over a sample of its files."""

import functools
import io
import json
import random
import shutil
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from formats import format_samples
from formats.flat_files import cifar, idx
from formats.mindrecord import mindrecord_files
from formats.ofrecord.ofrecord_files import frame
from images.image_files import photo, saved

import pyflowdata as flow
from pyflowdata.datasets.opening import ArrowTable
from pyflowdata.nodes.tables import Table
from pyflowdata.io import encode_ofrecord
from support.paths import ROOT

DATA = str(ROOT / "data")
FIXTURES = ROOT / "tests/fixtures"
TOKENS = str(ROOT / "tests/fixtures/megatron/uint16.bin")
MADE: dict[str, str] = {}  # see made()
NPY_BYTES = 128 + 24


def mini_rows():
    return flow.MiniReader(DATA, batch_size=4)


FOLDERS = []  # as long as the tests


def part_of(path):
    """A folder in which a file is the only part: the kit puts damaged ones in its place."""
    FOLDERS.append(tempfile.TemporaryDirectory())
    shutil.copy(path, Path(FOLDERS[-1].name, "part-0"))
    return FOLDERS[-1].name


def folder_of(**contents):
    """A folder with files of these names, "_" for "-"."""
    FOLDERS.append(tempfile.TemporaryDirectory())
    for name, content in contents.items():
        Path(FOLDERS[-1].name, name.replace("_", "-")).write_bytes(content)
    return FOLDERS[-1].name


def image_folder():
    """A folder with two classes of files."""
    FOLDERS.append(tempfile.TemporaryDirectory())
    for i in range(11):
        path = Path(FOLDERS[-1].name, f"class {i % 2}", f"{i}.png")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(range(10 * i + 5)))
    return FOLDERS[-1].name


def manifest():
    """A manifest, as the only part of its folder, and its images in another one."""
    images = Path(image_folder())
    lines = [
        {"source": str(path), "usage": "train", "annotation": [{"name": path.parent.name}]}
        for path in sorted(images.glob("*/*.png"))
    ]
    return folder_of(part_0="\n".join(map(json.dumps, lines)).encode())


def coco():
    """Annotations, as the only part of their folder, and the images in another one."""
    images = folder_of()
    format_samples.coco(Path(images))
    part = part_of(Path(images, "instances.json"))
    return flow.COCOReader(part, image_dir=images, group_by_ratio=False, batch_size=4)[:7]


def cached():
    """A reader of cached numbers and bytes; the cache is the only part of its folder."""
    folder = folder_of()
    samples = [{"x": i * 0.5, "name": b"ab" * (i % 7)} for i in range(30)]
    source = flow.GeneratorReader(samples, fields=["x:float32", "name:bytes"])
    x = flow.Dataset(source).cache(folder, version="1")["x"]
    with flow.DataLoader(x):
        values = x.node.values
    part = {"data_dir": part_of(values["files"][0]), "batch_size": 4}
    return flow.CacheReader(cache=values["cache"].value, fields=values["fields"], **part)


NUMBERS = np.arange(20 * 12, dtype=np.int32).reshape(20, 3, 4)
IMAGES = np.arange(20 * 3 * 32 * 32).reshape(20, 3, 32, 32).astype(np.uint8)


def ofrecords():
    return flow.OFRecordReader(part_of(FIXTURES / "protobuf" / "packed.ofrecord"), batch_size=4)


def photographs():
    """OFRecords with images: PNG has checksums, so that damage is noticed."""
    records = [
        encode_ofrecord({"encoded": saved(photo(9 + i, 14 - i, seed=i), "png")}) for i in range(8)
    ]
    return flow.OFRecordReader(folder_of(part_0=frame(*records)), batch_size=4)


def onerecords():
    return flow.OneRecReader(part_of(FIXTURES / "flatbuffers" / "features.onerec"), batch_size=4)


def tfrecords(name):
    return flow.TFRecordReader(part_of(FIXTURES / "tensorflow" / name), batch_size=4)


def mds():
    columns = ["dynamic:int32[?,2]", "fixed:int16[2,3]", "vector:uint8[4]", "wide:int64[?]"]
    folder = part_of(FIXTURES / "streaming" / "arrays" / "shard.00000.mds")
    return flow.MDSReader(folder, columns=columns, batch_size=2)


def arrow():
    columns = ["int64:int64", "string", "pairs:float64[?,2]", "matrix:int64[?,?]"]
    folder = part_of(FIXTURES / "arrow" / "types.arrow")
    return flow.ArrowReader(folder, columns=columns, batch_size=2)


def parquet():
    folder = tempfile.TemporaryDirectory()
    FOLDERS.append(folder)
    rows = [[0.5] * (i % 4) for i in range(20)]
    table = pyarrow.table({"n": range(20), "lists": rows, "s": [{"t": str(i)} for i in range(20)]})
    file = Path(folder.name, "part-0")  # small, as it is damaged in each of its bytes
    pyarrow.parquet.write_table(table, file, row_group_size=10, store_schema=False)
    columns = ["n:int64", "lists:float64[?]", "s.t"]
    return flow.ParquetReader(folder.name, columns=columns, batch_size=2)


def mindrecord():
    folder = tempfile.TemporaryDirectory()
    FOLDERS.append(folder)
    mindrecord_files.small_file(Path(folder.name)).rename(Path(folder.name, "part-0"))
    columns = ["label:int32", "score:float64", "data", "ids:int64[?]"]
    return flow.MindRecordReader(folder.name, columns=columns, batch_size=4)


def text_lines():
    """Ragged rows of an even number of bytes."""
    return flow.TextLineReader(made("lines"), batch_size=4)


def image_files():
    """Files of several formats, in a tar file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for i in range(20):
            form = ("jpeg", "png", "bmp", "ppm")[i % 4]
            data = saved(photo(8 + i % 5, 9 + i % 3, seed=i), form)
            entry = tarfile.TarInfo(f"{i:03}.img")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return flow.TarReader(folder_of(part_0=content.getvalue()), fields=["image=img"], batch_size=4)


def made(kind):
    """A folder of files, made once."""
    if not MADE:
        for name in ("lines", "classes", "arrays"):
            MADE[name] = tempfile.mkdtemp(prefix=f"pyflowdata-{name}-")
        chance = random.Random(0)
        lines = ["".join(chance.choices("abc", k=2 * chance.randrange(1, 25))) for _ in range(37)]
        Path(MADE["lines"], "part-0").write_text("\n".join(lines))
        numbers = [str(chance.randrange(-(10**6), 10**6)) for _ in range(37)]
        Path(MADE["classes"], "part-0").write_text("\n".join(numbers))
        for i in range(20):
            array = np.arange(6, dtype=np.int32).reshape(2, 3) + i
            np.save(Path(MADE["arrays"], f"part-{i:02}"), array)
            Path(MADE["arrays"], f"part-{i:02}.npy").rename(
                Path(MADE["arrays"], f"part-{i:02}")
            )
    return MADE[kind]


def images(height=9, width=7, channels=3):
    """Dense images of uint8 from files."""
    shape = (height, width, channels)
    pixels = np.random.default_rng(0).integers(0, 256, (20, *shape), np.uint8)
    folder = folder_of(part_0=pixels.tobytes())
    return flow.RawReader(folder, shape=shape, dtype="uint8", batch_size=4)


def ragged_images():
    """Images of two columns and different heights."""
    return flow.DecodeRaw(text_lines(), dtype="uint8", shape=[-1, 2, 1])


def image_flip():
    blob = images()
    return flow.ImageFlip(blob, flow.CoinFlip(blob))


@functools.cache
def flipped_objects():
    """Boxes, sizes, flip codes, and the points of polygons."""
    _, _, size, box, label, points, _ = coco()
    return box, size, flow.CoinFlip(label), points


@functools.cache
def scaled_objects():
    """Boxes, scales, and the points of polygons."""
    _, _, size, box, _, points, _ = coco()
    return box, flow.SizeRatio(size, size), points


def polygon_masks():
    _, _, size, box, _, points, index = coco()
    return flow.ObjectSegmentationPolygonToMask(points, index, size, box)


def size_ratio():
    blob = ragged_images()
    return blob, flow.Resize(blob, size=(7, 5))


def with_coins(blob):
    return blob, flow.CoinFlip(blob)


def classified():
    """Images of uint8 and vectors of their classes."""
    folder = folder_of(part_0=cifar(IMAGES, np.arange(20) % 10))
    image, label = flow.CIFARReader(folder, layout="HWC", batch_size=4)
    return image, flow.OneHot(label, depth=10)


# Op -> the blobs of one use of it, over a sample.
SAMPLES = {
    "MiniReader": mini_rows,
    "ArrowReader": arrow,
    "ParquetReader": parquet,
    "MDSReader": mds,
    "MindRecordReader": mindrecord,
    "CSVReader": lambda: flow.CSVReader(DATA, columns=["xy=0..1", "x=0:bytes"], batch_size=4),
    "TextLineReader": lambda: flow.TextLineReader(DATA, batch_size=4),
    "JSONLinesReader": lambda: flow.JSONLinesReader(
        folder_of(part_0=b'{"x": [1, 2.5], "s": "a"}\n{"x": [0, -3], "s": "\\u00e9"}\n' * 10),
        fields=["x:float32[2]", "r=x:float64[?]", "s:bytes"], batch_size=4,
    ),
    "MiniDecoder": lambda: flow.MiniDecoder(mini_rows()),
    "RawReader": lambda: flow.RawReader(
        folder_of(part_0=NUMBERS.tobytes()), shape=(3, 4), dtype="int32", byte_order="big",
        batch_size=4,
    ),
    "NpyReader": lambda: flow.NpyReader(
        part_of(FIXTURES / "numpy" / "float32-version-1.npy"), dtype="float32", shape=(2, 3),
        batch_size=4,
    ),
    "IDXReader": lambda: flow.IDXReader(
        folder_of(part_0=idx(NUMBERS.astype(np.int16))), dtype="int16", shape=(3, 4), batch_size=4
    ),
    "CIFARReader": lambda: flow.CIFARReader(
        folder_of(part_0=cifar(IMAGES, np.arange(20) % 10)), layout="HWC", batch_size=4
    )[0],
    "OFRecordReader": ofrecords,
    "OFRecordRawDecoder": lambda: flow.OFRecordRawDecoder(
        ofrecords(), blob_name="int32", shape=(4,), dtype="float64"
    ),
    "OFRecordBytesDecoder": lambda: flow.OFRecordBytesDecoder(ofrecords(), blob_name="image"),
    "OFRecordImageDecoder": lambda: flow.OFRecordImageDecoder(
        photographs(), blob_name="encoded"
    ),
    "OFRecordImageDecoderRandomCrop": lambda: flow.OFRecordImageDecoderRandomCrop(
        photographs(), blob_name="encoded", random_area=[0.3, 0.5]
    ),
    "OneRecReader": onerecords,
    "OneRecDecoder": lambda: flow.OneRecDecoder(
        onerecords(),
        features=["dense:float32[2,3]", "ids:int64[?]", "matrix:int16[?,?]", "image:bytes",
                  "odd:int32=-1"],
    ),
    "TFRecordReader": lambda: tfrecords("examples.tfrecord"),
    "ExampleDecoder": lambda: flow.ExampleDecoder(
        tfrecords("examples.tfrecord"), features=["x:float32[4]", "ids:int64[?]", "name:bytes"]
    ),
    "SequenceExampleDecoder": lambda: flow.SequenceExampleDecoder(
        tfrecords("sequences.tfrecord"), features=["f=feature_lists/frames:float32[?,3]"]
    ),
    "TarReader": lambda: flow.TarReader(
        part_of(FIXTURES / "webdataset" / "written.tar"), batch_size=2,
        fields=["cls", "image=img.jpg|png", "key=__key__"],
    ),
    "MegatronReader": lambda: flow.MegatronReader(files=TOKENS, batch_size=4),
    "GPTReader": lambda: flow.GPTReader(files=TOKENS, seq_length=32, batch_size=4),
    "ArrayReader": lambda: flow.ArrayReader(
        Table(np.arange(600.0)), Table(np.arange(0, 302, 3)), shape=[None, 2], dtype="float64",
        batch_size=4,
    ),
    "ArrowTableReader": lambda: flow.ArrowTableReader(ArrowTable(pyarrow.table({
        "n": range(300), "lists": [[0.5] * (i % 4) for i in range(300)],
        "t": [f"{i}" for i in range(300)],
    })), batch_size=4),
    "GeneratorReader": lambda: flow.GeneratorReader(
        range(300), fields=["x:int64"], batch_size=4, thread_safe=True
    ),
    "CacheReader": cached,
    "RecordEncoder": lambda: flow.RecordEncoder(*flow.MiniDecoder(mini_rows())),
    "CSVCellTypes": lambda: flow.CSVCellTypes(text_lines(), missing=["NA"]),
    "CSVEncoder": lambda: flow.CSVEncoder(*flow.MiniDecoder(mini_rows())),
    "ExampleEncoder": lambda: flow.ExampleEncoder(text_lines(), names=["text"]),
    "TFRecordFrame": lambda: flow.TFRecordFrame(text_lines()),
    "OFRecordEncoder": lambda: flow.OFRecordEncoder(
        *flow.MiniDecoder(mini_rows()), names=["x", "y"]
    ),
    "OFRecordFrame": lambda: flow.OFRecordFrame(text_lines()),
    "ImageFolderReader": lambda: flow.ImageFolderReader(image_folder(), batch_size=4),
    "ManifestReader": lambda: flow.ManifestReader(manifest(), batch_size=4),
    "COCOReader": lambda: coco()[3],
    "Affine": lambda: flow.Affine(mini_rows(), scale=[2.0, 3.0], shift=-1.0, dtype="float32"),
    "Cast": lambda: flow.Cast(text_lines(), dtype="float16"),
    "Concat": lambda: flow.Concat(text_lines(), axis=-1),
    "DecodeClass": lambda: flow.DecodeClass(flow.TextLineReader(made("classes"), batch_size=4)),
    "DecodeNpy": lambda: flow.DecodeNpy(
        flow.RawReader(made("arrays"), dtype="uint8", shape=[NPY_BYTES], batch_size=4),
        dtype="int32", shape=[-1, 3],
    ),
    "DecodeRaw": lambda: flow.DecodeRaw(text_lines(), dtype="uint16", shape=[-1, 1]),
    "OneHot": lambda: flow.OneHot(text_lines(), depth=256, dtype="int16"),
    "Pad": lambda: flow.Pad(text_lines(), shape=[50], with_mask=True, with_length=True),
    "RowLength": lambda: flow.RowLength(text_lines()),
    "PadBatch": lambda: flow.PadBatch(text_lines(), with_mask=True, with_length=True),
    "Slice": lambda: flow.Slice(text_lines(), start=[-2], step=[-1]),
    "AddToken": lambda: flow.AddToken(text_lines(), token=7),
    "SlidingWindow": lambda: flow.SlidingWindow(text_lines(), width=5, step=2),
    "ToNumber": lambda: flow.ToNumber(
        flow.TextLineReader(folder_of(part_0=b"12\n-7\n 300 \n4\n" * 5), batch_size=4),
        dtype="int16",
    ),
    "ParseDate": lambda: flow.ParseDate(
        flow.TextLineReader(
            folder_of(part_0=b"2024-02-29\n1969-07-20T20:17:40Z\nnever\n\n" * 5), batch_size=4
        ),
        on_bad="fill",
    ),
    "Lookup": lambda: flow.Lookup(
        flow.TextLineReader(folder_of(part_0=b"Rome\nParis\n\nRome\n" * 5), batch_size=4),
        vocabulary=flow.Vocabulary(["Rome", "Paris"], unknown="?"),
    ),
    "HashBucket": lambda: flow.HashBucket(text_lines(), buckets=100, seed=3),
    "FillMissing": lambda: flow.FillMissing(
        flow.Affine(mini_rows(), scale=float("nan")), value=2.5, with_missing=True
    ),
    "Bucketize": lambda: flow.Bucketize(mini_rows(), boundaries=[-0.5, 0.0, 1.0]),
    "TruncatePair": lambda: flow.TruncatePair(*2 * [text_lines()], max_length=9),
    "AdjustSharpness": lambda: flow.AdjustSharpness(images(), factor=2.0, probability=0.5),
    "AutoContrast": lambda: flow.AutoContrast(images(), probability=0.5),
    "CenterCrop": lambda: flow.CenterCrop(ragged_images(), size=(9, 3)),
    "CoinFlip": lambda: flow.CoinFlip(images()),
    "ColorJitter": lambda: flow.ColorJitter(
        images(), brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1, probability=0.8
    ),
    "CropMirrorNormalize": lambda: flow.CropMirrorNormalize(
        *with_coins(images()), mean=[1.0, 2.0, 3.0], crop_h=4, output_dtype="float16"
    ),
    "Equalize": lambda: flow.Equalize(images(40, 30), probability=0.5),
    "GaussianBlur": lambda: flow.GaussianBlur(images(), kernel_size=[5, 21]),
    "Grayscale": lambda: flow.Grayscale(images(), channels=3, probability=0.2),
    "HWC2CHW": lambda: flow.HWC2CHW(images()),
    "ImageBatchAlign": lambda: flow.ImageBatchAlign(ragged_images(), alignment=8, dtype="float32"),
    "ImageFlip": image_flip,
    "ImagePad": lambda: flow.ImagePad(ragged_images(), padding=[1, 2], padding_mode="reflect"),
    "ImageRandomCrop": lambda: flow.ImageRandomCrop(ragged_images()),
    "ImageResizeKeepAspectRatio": lambda: flow.ImageResizeKeepAspectRatio(
        ragged_images(), target_size=5, max_size=30
    ),
    "ImageResizeToFixed": lambda: flow.ImageResizeToFixed(
        images(), target_width=5, target_height=6, data_type="float32"
    ),
    "ImageTargetResize": lambda: flow.ImageTargetResize(
        ragged_images(), target_size=5, max_size=30
    ),
    "Invert": lambda: flow.Invert(images(channels=1), probability=0.5),
    "Normalize": lambda: flow.Normalize(images(), mean=0.5, std=[0.1, 0.2, 0.3]),
    "ObjectBboxFlip": lambda: flow.ObjectBboxFlip(*flipped_objects()[:3]),
    "ObjectBboxScale": lambda: flow.ObjectBboxScale(*scaled_objects()[:2]),
    "ObjectSegmentationPolygonFlip": lambda: flow.ObjectSegmentationPolygonFlip(
        flipped_objects()[3], *flipped_objects()[1:3]
    ),
    "ObjectSegmentationPolygonScale": lambda: flow.ObjectSegmentationPolygonScale(
        scaled_objects()[2], scaled_objects()[1]
    ),
    "ObjectSegmentationPolygonToMask": polygon_masks,
    "Posterize": lambda: flow.Posterize(images(), bits=3, probability=0.5),
    "RandomAffine": lambda: flow.RandomAffine(images(), degrees=[30], scale=[0.5, 2]),
    "RandomCrop": lambda: flow.RandomCrop(
        ragged_images(), size=(9, 3), padding=[1], pad_if_needed=True
    ),
    "RandomFlip": lambda: flow.RandomFlip(images(), vertical=0.5),
    "RandomRotation": lambda: flow.RandomRotation(ragged_images(), degrees=[-5, 90]),
    "RandomResizedCrop": lambda: flow.RandomResizedCrop(images(), size=(5, 6)),
    "Rotate": lambda: flow.Rotate(ragged_images(), degrees=30, expand=True),
    "Resize": lambda: flow.Resize(ragged_images(), size=(7, 5), interpolation="bicubic"),
    "SizeRatio": lambda: flow.SizeRatio(*size_ratio()),
    "Solarize": lambda: flow.Solarize(images(), threshold=99.5, probability=0.5),
    "ImageDecoder": lambda: flow.ImageDecoder(image_files(), apply_orientation=True),
    "ImageEncoder": lambda: flow.ImageEncoder(images(), format="png"),
    "ImageSize": lambda: flow.ImageSize(image_files()),
    "RandAugment": lambda: flow.RandAugment(images(), num_ops=3, magnitude=12, fill=[1, 2, 3]),
    "TrivialAugment": lambda: flow.TrivialAugment(images(), interpolation="bilinear"),
    "RandomErasing": lambda: flow.RandomErasing(images(), layout="HWC", noise=True),
    "MixUp": lambda: flow.MixUp(*[mini_rows()] * 2),
    "CutMix": lambda: flow.CutMix(*classified(), layout="HWC", group_size=3),
    "ImageNormalize": lambda: flow.ImageNormalize(
        flow.Cast(images(), dtype="float64"), mean=3.0, std=9.0
    ),
}  # fmt: skip
