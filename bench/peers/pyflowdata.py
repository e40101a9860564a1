"""Ours: DataLoader of this checkout, and its C engine without Python."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from typing import Any

import pyflowdata as flow

from bench import digits, documents, photos, programs, records, rows, tokens
from bench.columns import VALUES, values_and_label
from bench.contender import Source, contender, on_all_and_one_core
from bench.examples import Examples
from bench.digits import Images
from bench.json_lines import Marks
from bench.shuffles import SHUFFLES
from bench.text import Text
from bench.wide_text import WideText


def ordered(source: Source, attrs: dict[str, Any]) -> dict[str, Any]:
    """Attrs of a reader: batches of the source's size; shuffled in each epoch if it is random."""
    is_random = attrs.get("random_shuffle", attrs.get("shuffle", "none") != "none")
    reshuffled = {"shuffle_after_epoch": True, "seed": 7} if is_random else {}
    return {"batch_size": source.batch_size, **reshuffled, **attrs}


def lines(source: Source, **attrs: Any) -> Any:
    """x and y of the rows."""
    parts: Any = {"data_part_num": len(source.files), "part_name_suffix_length": 3}
    return flow.MiniDecoder(flow.MiniReader(source.folder, **parts, **ordered(source, attrs)))


def loader(source: Source, *, batch_size: int = 0, shuffle: bool = False, **options: Any) -> Any:
    """The same; shuffled over all rows."""
    rows = batch_size or source.batch_size
    columns = lines(source, batch_size=rows, random_shuffle=shuffle)
    return flow.DataLoader(*columns, **options)


def engine(source: Source, *, batch_size: int = 0, shuffle: bool = False, threads: int = 0) -> Any:
    rows = batch_size or source.batch_size
    options = [len(source.files), rows, int(shuffle), threads, 0]
    return [programs.path("engine"), source.folder, *map(str, options)]


for workload, shuffle in (("W1a", False), ("W1b", True)):
    on_all_and_one_core(workload, name="default", text="The defaults.")(
        functools.partial(loader, shuffle=shuffle)
    )
    on_all_and_one_core(workload, name="C", program=True, text="The defaults, without Python.")(
        functools.partial(engine, shuffle=shuffle)
    )

contender("W1b", name="in-order", text="W1a of ours.")(loader)

for batch_size, parts in ((1, 1), (10, 8), (64, 16), (256, 16)):
    name = f"batch-{batch_size}"
    on_all_and_one_core("W0", name=name, parts=parts, text="next() to arrays x and y.")(
        functools.partial(loader, batch_size=batch_size)
    )
    on_all_and_one_core("W0", name=f"{name}-C", parts=parts, program=True, text="Without Python.")(
        functools.partial(engine, batch_size=batch_size)
    )


def sweep(name: str, data: Text | None = None, cores: int | None = None, **options: Any) -> None:
    text = "On as many cores." if cores else "One setting, the others at their defaults."
    contender("W9", name=name, data=data, cores=cores, text=text)(
        functools.partial(loader, **options)
    )


for threads in (1, 2, 4, 8, 16, 32, 64):
    if threads <= programs.cores():
        sweep(f"threads-{threads}", cores=threads, num_threads=threads)
sweep("threads-1-and-caller", num_threads=1)  # who helps, on another core
for prefetch in (1, 2, 4, 8, 16):
    sweep(f"prefetch-{prefetch}", prefetch=prefetch)
for batch_size in (1, 16, 256):
    sweep(f"batch-{batch_size}", Text(4), batch_size=batch_size)
for batch_size in (4096, 65536):
    sweep(f"batch-{batch_size}", batch_size=batch_size)
for megabytes in (10, 100, 1000):
    sweep(f"data-{megabytes}-MB", Text(megabytes))
    sweep(f"data-{megabytes}-MB-shuffled", Text(megabytes), shuffle=True)


class Records:
    """Batches of VALUES values and a label a record."""

    def __init__(self, x: flow.Blob, y: flow.Blob, **options: Any) -> None:
        self._loader = flow.DataLoader(x, y, **options)

    def __iter__(self) -> Iterator[Any]:
        return (values_and_label(x, y) for x, y in self._loader)


def csv(source: Source, **attrs: Any) -> Records:
    fields = ["x=x0..x63:float32[64]", "y:int64"]
    x, y = flow.CSVReader(files=source.files, columns=fields, **ordered(source, attrs))
    return Records(x, y)


def tfrecords(source: Source, **attrs: Any) -> Records:
    records = flow.TFRecordReader(files=source.files, **ordered(source, attrs))
    x, y = flow.ExampleDecoder(records, features=[f"x:float32[{VALUES}]", "y:int64"])
    return Records(x, y)


def ofrecords(source: Source) -> Records:
    records = flow.OFRecordReader(files=source.files, batch_size=source.batch_size)
    x = flow.OFRecordRawDecoder(records, blob_name="x", shape=[VALUES], dtype="float32")
    return Records(x, flow.OFRecordRawDecoder(records, blob_name="y", shape=[], dtype="int64"))


on_all_and_one_core("W1c", name="default", text="CSVReader, defaults.")(csv)
on_all_and_one_core("W2a", name="examples", text="TFRecordReader, ExampleDecoder, defaults.")(
    tfrecords
)
on_all_and_one_core("W2b", name="examples", text="TFRecordReader, ExampleDecoder, defaults.")(
    functools.partial(tfrecords, random_shuffle=True)
)
on_all_and_one_core("W2c", name="ofrecords", text="OFRecordReader, two OFRecordRawDecoders.")(
    ofrecords
)


class Windows:
    """Batches of windows of tokens, in another random order each epoch."""

    def __init__(self, source: Source) -> None:
        windows = flow.GPTReader(
            files=source.files,
            seq_length=tokens.SEQ_LENGTH,
            file_dtype="uint16",
            **ordered(source, {"random_shuffle": True}),
        )
        self._loader = flow.DataLoader(windows)

    def __iter__(self) -> Iterator[Any]:
        return map(tokens.columns, self._loader)


on_all_and_one_core("W5", name="windows", text="GPTReader, defaults.")(Windows)


def idx(source: Source, **attrs: Any) -> tuple[flow.Blob, flow.Blob]:
    """Images and labels."""
    first, second = source.files
    return flow.IDXReader(files=first, labels=second, **ordered(source, attrs))


def scaled_images(source: Source) -> digits.Epochs:
    pixels, labels = idx(source, random_shuffle=True)
    scaled = flow.Affine(pixels, scale=digits.SCALE, dtype="float32")
    return digits.Epochs(flow.DataLoader(scaled, labels))


on_all_and_one_core("W3", name="IDXReader", text="IDXReader and Affine, defaults.")(scaled_images)


def plain_images(source: Source, **attrs: Any) -> digits.Epochs:
    return digits.Epochs(flow.DataLoader(*idx(source, **attrs)), W11_IMAGES.epochs)


def shuffled_lines(source: Source, **attrs: Any) -> Any:
    return flow.DataLoader(*lines(source, **attrs))


W11_IMAGES = Images(235.2, epochs=1)
for name, attrs in SHUFFLES.items():
    contender("W11", name=f"lines-{name}", data=Text(1000), text="MiniReader, MiniDecoder.")(
        functools.partial(shuffled_lines, **attrs)
    )
for name in ("none", "global", "window"):
    for kind, data, text, function in (
        ("examples", Examples(606), "TFRecordReader, ExampleDecoder.", tfrecords),
        ("images", W11_IMAGES, "IDXReader: bytes.", plain_images),
        ("wide", WideText(600), "CSVReader.", csv),
    ):
        contender("W11", name=f"{kind}-{name}", data=data, text=text)(
            functools.partial(function, **SHUFFLES[name])
        )


def pictures_of_records(source: Source) -> tuple[flow.Blob, ...]:
    records = flow.TFRecordReader(files=source.files, batch_size=source.batch_size)
    fields = [f"{photos.IMAGE}:bytes", f"{photos.LABEL}:int64"]
    return flow.ExampleDecoder(records, features=fields)


def pictures_of_folder(source: Source) -> tuple[flow.Blob, ...]:
    folder = str(photos.folder(source.files))
    return flow.ImageFolderReader(folder, batch_size=source.batch_size)


def crops(source: Source, read: Any, **attrs: Any) -> photos.Epochs:
    """What RandomResizedCrop follows is decoded as far as it needs."""
    files, labels = read(source)
    part = {"area": photos.AREA, "aspect_ratio": photos.ASPECT_RATIO}
    image = flow.RandomResizedCrop(flow.ImageDecoder(files), size=SIZE, **part, **attrs)
    levels = {"mean": photos.MEAN, "std": photos.STD}
    x = flow.CropMirrorNormalize(image, flow.CoinFlip(labels), **levels)
    return photos.Epochs(flow.DataLoader(x, labels), photos.Normalised)


def resized(source: Source, read: Any, **attrs: Any) -> photos.Epochs:
    files, labels = read(source)
    image = flow.Resize(flow.ImageDecoder(files), size=SIZE, **attrs)
    return photos.Epochs(flow.DataLoader(image, labels), photos.Delivered)


SIZE = (photos.SIZE, photos.SIZE)
BILINEAR = "accurate IDCT, fancy upsampling; bilinear"
for workload, function, ops in (("W4", crops, "ImageDecoder and RandomResizedCrop"),
                                ("W4u", resized, "ImageDecoder, Resize")):  # fmt: skip
    on_all_and_one_core(workload, name="bilinear", text=f"TFRecords; {ops}: {BILINEAR}.")(
        functools.partial(function, read=pictures_of_records, antialias=False)
    )
    contender(workload, name="antialiased", text=f"TFRecords; {ops}: {BILINEAR}, antialiased.")(
        functools.partial(function, read=pictures_of_records)
    )
    contender(workload, name="folder", text=f"ImageFolderReader; {ops}: {BILINEAR}.")(
        functools.partial(function, read=pictures_of_folder, antialias=False)
    )


class Pages:
    """Epochs of batches with a mark for the text and the language of each row."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[tuple[Any, Marks]]:
        for text, lang, score in self._loader:
            yield score, Marks(functools.partial(zip, text, lang))


def json_lines(source: Source) -> Pages:
    fields = ["text:str", "meta.lang:str", "score:float64"]
    columns = flow.JSONLinesReader(files=source.files, fields=fields, batch_size=source.batch_size)
    return Pages(flow.DataLoader(*columns))


on_all_and_one_core("W13", name="JSONLinesReader", text="A typed array, two of ragged text.")(
    json_lines
)


class Rows:
    """Batches of rows of a reader of columns."""

    def __init__(self, reader: Any, source: Source, **attrs: Any) -> None:
        columns = ["n:int64", "text", f"x:float32[{rows.VALUES}]"]
        found = reader(files=source.files, columns=columns, **ordered(source, attrs))
        self._loader = flow.DataLoader(*found)

    def __iter__(self) -> Iterator[Any]:
        for n, texts, x in self._loader:
            yield rows.Digests(len(n), lambda: (texts.values, texts.lengths, x)), n


for name, attrs in (("random-256", {"random_shuffle": True}), ("in-order", {}),
                    ("random-64", {"random_shuffle": True, "batch_size": 64})):  # fmt: skip
    on_all_and_one_core("W12", name=name, text="ArrowReader, defaults.")(
        functools.partial(Rows, flow.ArrowReader, **attrs)
    )


def parquet(source: Source, **attrs: Any) -> Iterator[Any]:
    """Opened again in each epoch, as a loader keeps decoded row groups."""
    yield from Rows(flow.ParquetReader, source, **attrs)


window = {"shuffle": "window", "shuffle_window": 8}
for name, attrs in (("in-order", {}), ("window", window)):
    on_all_and_one_core("W14", name=name, text=f"ParquetReader, {attrs or 'defaults'}.")(
        functools.partial(parquet, **attrs)
    )


def packs(source: Source, rule: str) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        texts = flow.open(source.files[1:], fields=["text:str"])
        ids = texts.map(flow.Tokenize, "text", tokenizer=source.files[0]).project("ids")
        data = ids.cache(folder).pack(documents.LENGTH, field="ids", rule=rule)
        batch = data.batch(source.batch_size)
        with flow.DataLoader(batch[["ids", "segment_ids"]]) as loader:
            for found in loader:
                yield documents.batch_of(*found)


for rule in ("best_fit", "chunk"):
    contender("W15", name=rule, text=f"Tokenize, cache() of this epoch, pack(rule={rule!r}).")(
        functools.partial(packs, rule=rule)
    )


def packs_of_mix(source: Source, rule: str) -> Iterator[Any]:
    """Sources are opened in each epoch; lengths that were counted in the first one are kept."""
    mix = flow.mix([flow.open(path) for path in source.files])
    packs = mix.pack(documents.LENGTH, field="input_ids", rule=rule, add="segment_ids")
    with flow.DataLoader(packs.batch(source.batch_size)[["input_ids", "segment_ids"]]) as loader:
        for found in loader:
            yield documents.batch_of(*found)


for rule in ("best_fit", "chunk"):
    contender("W18", name=rule, text=f"flow.mix of flow.open, pack(rule={rule!r}).")(
        functools.partial(packs_of_mix, rule=rule)
    )


def of_records(source: Source) -> flow.Dataset:
    x, n = records.load(source)
    return flow.from_arrays({"x": x, "n": n})


def delivered(source: Source, data: flow.Dataset, second: str) -> records.Epochs:
    loader = flow.DataLoader(data.project("x", second).batch(source.batch_size).blobs)
    return records.Epochs(lambda: loader, second)


def map_records(source: Source, **options: Any) -> records.Epochs:
    return delivered(source, of_records(source).map(records.mapped, **options), "y")


for name, text, options in (
    ("map", "map(function)", {}),
    ("map-batched", "map(function, batched=1000)", {"batched": 1000}),
    ("map-processes", "map(function, processes=2)", {"processes": 2}),
):
    contender("W16", name=name, text=f"from_arrays, {text}.")(
        functools.partial(map_records, **options)
    )


@contender("W17", name="parts")
def explode(source: Source) -> records.Epochs:
    """explode(function); parts were counted before, 8 bytes a record."""
    return delivered(source, of_records(source).explode(records.parts_of), "part")


@contender("W17", data=records.Windows(6.4))
def windows(source: Source) -> records.WindowEpochs:
    """windows(16, step=4)."""
    found = of_records(source).windows(records.LENGTH, step=records.STEP)
    loader = flow.DataLoader(found.batch(source.batch_size).blobs)
    return records.WindowEpochs(lambda: loader)
