"""grain: it has no reader for text, so a source of its own over pandas, a chunk an element; no
decoder of images either, so simplejpeg."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import grain
import numpy as np
import pandas

from bench import documents, jpeg_python, photos, programs, records
from bench.contender import Batch, Source, contender

CHUNK = 4 << 20  # bytes of text of one element


class Chunks:
    """Random access to pieces of the files that end with a line; an element is columns x, y."""

    def __init__(self, source: Source) -> None:
        self._pieces: list[tuple[str, int, int]] = []
        for path in source.files:
            self._pieces += [(path, begin, end) for begin, end in self._cut(path)]

    @staticmethod
    def _cut(path: str) -> list[tuple[int, int]]:
        pieces, begin = [], 0
        with open(path, "rb") as file:
            size = file.seek(0, io.SEEK_END)
            while begin < size:
                file.seek(min(size, begin + CHUNK))
                file.readline()
                pieces.append((begin, file.tell()))
                begin = file.tell()
        return pieces

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, index: int) -> Batch:
        path, begin, end = self._pieces[index]
        with open(path, "rb") as file:
            file.seek(begin)
            text = io.BytesIO(file.read(end - begin))
        frame = pandas.read_csv(text, header=None, names=["x", "y"], dtype=np.float64, engine="c")
        return frame["x"].to_numpy(), frame["y"].to_numpy()


class Sliced:
    """The elements of a grain dataset, cut into batches."""

    def __init__(self, dataset: Any, rows: int) -> None:
        self._dataset, self._rows = dataset, rows

    def __iter__(self) -> Any:
        for x, y in self._dataset:
            for at in range(0, len(x), self._rows):
                yield x[at : at + self._rows], y[at : at + self._rows]


@contender("W1a")
def chunks(source: Source) -> Any:
    """Chunks of 4 MB parsed by pandas in read threads, sliced."""
    options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)
    dataset = grain.MapDataset.source(Chunks(source)).to_iter_dataset(options)
    return Sliced(dataset, source.batch_size)


def jpegs(source: Source, decode: Callable[[str], Any], kind: type[photos.Delivered]) -> Any:
    files = photos.jpegs(photos.folder(source.files))
    options = grain.ReadOptions(num_threads=programs.cores(), prefetch_buffer_size=64)
    images = grain.MapDataset.source(files).map(lambda each: (decode(each[0]), each[1]))
    return photos.Epochs(images.to_iter_dataset(options).batch(source.batch_size), kind)


@contender("W4")
def simplejpeg(source: Source) -> photos.Epochs:
    """An image folder, read threads; simplejpeg (whole images), OpenCV's bilinear."""
    return jpegs(source, jpeg_python.crop, photos.Normalised)


@contender("W4u", name="simplejpeg")
def simplejpeg_resized(source: Source) -> photos.Epochs:
    """An image folder, read threads; simplejpeg, OpenCV's bilinear."""
    return jpegs(source, jpeg_python.resize, photos.Delivered)


class Packs:
    """Packs of the tokens of texts, in batches."""

    def __init__(self, source: Source, packer: str, **options: Any) -> None:
        found, known = documents.tokenizer(source), list(documents.texts(source))
        tokens = grain.MapDataset.source(known).map(
            lambda text: {"ids": np.array(found.encode(text).ids, np.int32)}
        )
        threads = grain.ReadOptions(num_threads=programs.cores(), prefetch_buffer_size=64)
        made = getattr(grain.experimental, packer)(
            tokens.to_iter_dataset(threads), length_struct={"ids": documents.LENGTH}, **options
        )
        self._batches = made.batch(source.batch_size)

    def __iter__(self) -> Any:
        for batch in self._batches:
            yield documents.batch_of(batch["ids"], batch["ids_segment_ids"])


@contender("W15")
def best_fit_pack(source: Source) -> Packs:
    """Texts in memory as str, encode() in read threads, BestFitPackIterDataset with 30 bins."""
    return Packs(source, "BestFitPackIterDataset", num_packing_bins=30)


@contender("W15")
def concat_then_split(source: Source) -> Packs:
    """The same with ConcatThenSplitIterDataset."""
    return Packs(source, "ConcatThenSplitIterDataset")


THREADS = grain.ReadOptions(num_threads=programs.cores())


@contender("W16", name="map")
def map_records(source: Source) -> records.Epochs:
    """A source of arrays, MapDataset.map(function).batch(), iterated as it is."""
    data = grain.MapDataset.source(records.Rows(source)).map(records.with_mapped)
    return records.Epochs(lambda: data.batch(source.batch_size), "y")


@contender("W16", name="map-threads", parts=1)
def map_threads(source: Source) -> records.Epochs:
    """The same, with batches made by a read thread for each core."""
    data = grain.MapDataset.source(records.Rows(source)).map(records.with_mapped)
    return records.Epochs(lambda: data.batch(source.batch_size).to_iter_dataset(THREADS), "y")


@contender("W16", name="map-processes", parts=1)
def map_processes(source: Source) -> records.Epochs:
    """The same with mp_prefetch() in 2 processes."""
    data = grain.MapDataset.source(records.Rows(source)).map(records.with_mapped)
    batches = data.batch(source.batch_size).to_iter_dataset(THREADS)
    processes = grain.MultiprocessingOptions(num_workers=2)
    return records.Epochs(lambda: batches.mp_prefetch(processes), "y")


class Parts(grain.experimental.FlatMapTransform):
    max_fan_out = 8

    def flat_map(self, element: Any) -> Any:
        return records.whole_parts_of(element)


@contender("W17", parts=1)
def parts(source: Source) -> records.Epochs:
    """FlatMapIterDataset, without read threads: they take longer than records as cheap as these."""
    none = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    data = grain.MapDataset.source(records.Rows(source)).to_iter_dataset(none)
    found = grain.experimental.FlatMapIterDataset(data, Parts())
    return records.Epochs(lambda: found.batch(source.batch_size), "part")


@contender("W17", data=records.Windows(6.4))
def windows(source: Source) -> records.WindowEpochs:
    """A source whose element is a slice of the arrays."""
    data = grain.MapDataset.source(records.Slices(source)).batch(source.batch_size)
    return records.WindowEpochs(lambda: data)
