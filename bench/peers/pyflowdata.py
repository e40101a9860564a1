"""Ours: DataLoader of this checkout, and its C engine without Python."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pyflowdata as flow

from bench import examples, images, programs, tokens
from bench import examples, programs, tokens, wide_text
from bench.contender import Source, contender
from bench.data import Text


def loader(source: Source, *, batch_size: int = 0, shuffle: bool = False, **options: Any) -> Any:
    """x and y of the rows; shuffled over all rows, in another order each epoch."""
    record = flow.MiniReader(
        source.folder,
        data_part_num=len(source.files),
        part_name_suffix_length=3,
        batch_size=batch_size or source.batch_size,
        random_shuffle=shuffle,
        shuffle_after_epoch=True,
        seed=7,
    )
    return flow.DataLoader(*flow.MiniDecoder(record), **options)


def engine(source: Source, *, batch_size: int = 0, shuffle: bool = False, threads: int = 0) -> Any:
    rows = batch_size or source.batch_size
    options = [len(source.files), rows, int(shuffle), threads, 0]
    return [programs.path("engine"), source.folder, *map(str, options)]


def sweep(name: str, data: Text | None = None, **options: Any) -> None:
    contender("W9", name=name, data=data, text="One setting, the others at their defaults.")(
        functools.partial(loader, **options)
    )


for workload, shuffle in (("W1a", False), ("W1b", True)):
    open_loader = functools.partial(loader, shuffle=shuffle)
    open_engine = functools.partial(engine, shuffle=shuffle)
    contender(workload, name="default", text="Default threads and prefetch.")(open_loader)
    contender(workload, name="1-thread", text="num_threads=1.")(
        functools.partial(open_loader, num_threads=1)
    )
    contender(workload, name="C", program=True, text="The default without Python, from C.")(
        open_engine
    )
    contender(workload, name="C-1-thread", program=True, text="num_threads=1, from C.")(
        functools.partial(open_engine, threads=1)
    )

for batch_size, parts in ((1, 1), (10, 8), (64, 16), (256, 16)):
    for threads, label in ((0, ""), (1, "-1-thread")):
        name = f"batch-{batch_size}{label}"
        contender("W0", name=name, parts=parts, text="next() to arrays x and y.")(
            functools.partial(loader, batch_size=batch_size, num_threads=threads or None)
        )
        contender("W0", name=f"{name}-C", parts=parts, program=True, text="Without Python.")(
            functools.partial(engine, batch_size=batch_size, threads=threads)
        )

for threads in (1, 2, 4, 8, 16, 32, 64):
    if threads <= max(2, programs.cores()):
        sweep(f"threads-{threads}", num_threads=threads)
for prefetch in (1, 2, 4, 8, 16):
    sweep(f"prefetch-{prefetch}", prefetch=prefetch)
for batch_size in (1, 16, 256):
    sweep(f"batch-{batch_size}", Text(4), batch_size=batch_size)
for batch_size in (4096, 65536):
    sweep(f"batch-{batch_size}", batch_size=batch_size)
for megabytes in (10, 100, 1000):
    sweep(f"{megabytes}-MB", Text(megabytes))
    sweep(f"{megabytes}-MB-shuffled", Text(megabytes), shuffle=True)


class WideText:
    """Batches of 64 values and a label by CSVReader."""

    def __init__(self, source: Source, **options: Any) -> None:
        x, y = flow.CSVReader(
            files=source.files,
            columns=["x=x0..x63:float32[64]", "y:int64"],
            batch_size=source.batch_size,
        )
        self._loader = flow.DataLoader(x, y, **options)

    def __iter__(self) -> Iterator[Any]:
        return (wide_text.columns(x, y) for x, y in self._loader)


contender("W1c", name="default", text="CSVReader, defaults.")(WideText)
contender("W1c", name="1-thread", text="CSVReader, num_threads=1.")(
    functools.partial(WideText, num_threads=1)
)


class Examples:
    """Batches of values and labels; shuffled over all records, in another order each epoch."""

    def __init__(self, source: Source, *, shuffle: bool = False, **options: Any) -> None:
        records = flow.TFRecordReader(
            files=source.files,
            batch_size=source.batch_size,
            random_shuffle=shuffle,
            shuffle_after_epoch=True,
            seed=7,
        )
        x, y = flow.ExampleDecoder(records, features=["x:float32[64]", "y:int64"])
        self._loader = flow.DataLoader(x, y, **options)

    def __iter__(self) -> Iterator[Any]:
        return (examples.columns(x, y) for x, y in self._loader)


for workload, shuffle in (("W2a", False), ("W2b", True)):
    contender(workload, name="examples", text="TFRecordReader, ExampleDecoder, defaults.")(
        functools.partial(Examples, shuffle=shuffle)
    )
    contender(workload, name="examples-1-thread", text="num_threads=1.")(
        functools.partial(Examples, shuffle=shuffle, num_threads=1)
    )


class OFRecords:
    """Batches of values and labels out of OFRecords, each by a decoder of its own."""

    def __init__(self, source: Source, **options: Any) -> None:
        records = flow.OFRecordReader(files=source.files, batch_size=source.batch_size)
        x = flow.OFRecordRawDecoder(records, blob_name="x", shape=[examples.VALUES], dtype="float32")
        y = flow.OFRecordRawDecoder(records, blob_name="y", shape=[], dtype="int64")
        self._loader = flow.DataLoader(x, y, **options)

    def __iter__(self) -> Iterator[Any]:
        return (examples.columns(x, y) for x, y in self._loader)


contender("W2c", name="ofrecords", text="OFRecordReader, two OFRecordRawDecoders.")(OFRecords)


class Windows:
    """Batches of windows of tokens, in another random order each epoch."""

    def __init__(self, source: Source, **options: Any) -> None:
        windows = flow.GPTReader(
            files=source.files,
            seq_length=tokens.SEQ_LENGTH,
            file_dtype="uint16",
            batch_size=source.batch_size,
            random_shuffle=True,
            shuffle_after_epoch=True,
            seed=7,
        )
        self._loader = flow.DataLoader(windows, **options)

    def __iter__(self) -> Iterator[Any]:
        return map(tokens.columns, self._loader)


contender("W5", name="windows", text="GPTReader, defaults.")(Windows)
contender("W5", name="windows-1-thread", text="num_threads=1.")(
    functools.partial(Windows, num_threads=1)
)


def idx(source: Source, **options: Any) -> images.Epochs:
    """Images and labels, scaled, in another random order each epoch."""
    pixels, labels = flow.IDXReader(
        files=source.files[0],
        labels=source.files[1],
        batch_size=source.batch_size,
        random_shuffle=True,
        shuffle_after_epoch=True,
        seed=7,
    )
    scaled = flow.Affine(pixels, scale=images.SCALE, dtype="float32")
    return images.Epochs(flow.DataLoader(scaled, labels, **options))


contender("W3", name="IDXReader", text="IDXReader and Affine, defaults.")(idx)
contender("W3", name="IDXReader-1-thread", text="num_threads=1.")(
    functools.partial(idx, num_threads=1)
)
