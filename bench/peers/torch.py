"""torch: DataLoader over rows, and over batches that pandas reads.

Without workers but for images: for batches as cheap as the others, worker processes make every form
slower.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from bench import digits, jpeg_python, photos, programs, records, reservoir, tokens
from bench.contender import Source, contender


class Stream(IterableDataset[Any]):
    """What a function yields, again in each epoch."""

    def __init__(self, function: Any, source: Any) -> None:
        self._function, self._source = function, source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._function(self._source))


def rows(source: Source) -> Iterator[tuple[float, float]]:
    for path in source.files:
        with open(path) as lines:
            for line in lines:
                x, y = line.split(",")
                yield float(x), float(y)


def shuffled_rows(source: Source) -> Iterator[tuple[float, float]]:
    """A row enters the buffer, one leaves it."""
    chosen = random.Random(7)
    waiting: list[tuple[float, float]] = []
    for row in rows(source):
        if len(waiting) < reservoir.SIZE:
            waiting.append(row)
            continue
        place = int(chosen.random() * reservoir.SIZE)
        yield waiting[place]
        waiting[place] = row
    chosen.shuffle(waiting)
    yield from waiting


def collate(batch: list[tuple[float, float]]) -> Any:
    return torch.tensor(batch, dtype=torch.float64).unbind(1)


def tables(source: Source) -> Iterator[Any]:
    for path in source.files:
        frame = pandas.read_csv(path, header=None, names=["x", "y"], dtype=np.float64, engine="c")
        yield frame["x"].to_numpy(copy=True), frame["y"].to_numpy(copy=True)


def tensors(batches: Iterable[Any]) -> Iterator[Any]:
    for x, y in batches:
        yield torch.from_numpy(x), torch.from_numpy(y)


@contender("W1a", parts=1)
def lines(source: Source) -> Any:
    """Rows of an IterableDataset, collated 4096 at a time."""
    return DataLoader(Stream(rows, source), batch_size=source.batch_size, collate_fn=collate)


@contender("W1a")
def pandas_batches(source: Source) -> Any:
    """Batches of an IterableDataset that reads a part at a time with pandas."""

    def sliced(source: Source) -> Iterator[Any]:
        for x, y in tables(source):
            yield from tensors(reservoir.slices(x, y, source.batch_size))

    return DataLoader(Stream(sliced, source), batch_size=None)


@contender("W1b", parts=1)
def shuffled_lines(source: Source) -> Any:
    """Rows of an IterableDataset with a shuffle buffer, collated 4096 at a time."""
    dataset = Stream(shuffled_rows, source)
    return DataLoader(dataset, batch_size=source.batch_size, collate_fn=collate)


@contender("W1b")
def pandas_buffer(source: Source) -> Any:
    """Batches of an IterableDataset: pandas, then a shuffle buffer in NumPy."""

    def mixed(source: Source) -> Iterator[Any]:
        return tensors(reservoir.shuffled(tables(source), source.batch_size))

    return DataLoader(Stream(mixed, source), batch_size=None)


def clips(source: Source, **options: Any) -> Any:
    """The Dataset that docs/coming-from/port-pytorch-dataset.md begins with; back to back."""
    page = (programs.ROOT / "docs" / "coming-from" / "port-pytorch-dataset.md").read_text()
    shown: dict[str, Any] = {"__name__": "shown"}
    exec(re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)[0], shown)

    def join(batch: list[Any]) -> Any:
        samples, labels = zip(*batch)
        lengths = torch.tensor([len(each) for each in samples])
        return torch.cat(samples), torch.tensor(labels).repeat_interleave(lengths)

    dataset = shown["ClipDataset"](source.files)
    return DataLoader(dataset, batch_size=source.batch_size, collate_fn=join, **options)


contender("W10", name="Dataset", parts=1, text="A Dataset in Python, in order.")(clips)
contender("W10", name="Dataset-2-workers", parts=1, text="The same with num_workers=2.")(
    functools.partial(clips, num_workers=2)
)


class Windows(Dataset[Any]):
    """A window of tokens by its number."""

    def __init__(self, path: str) -> None:
        self._tokens = tokens.load(path)

    def __len__(self) -> int:
        return tokens.num_windows(self._tokens)

    def __getitem__(self, index: int) -> torch.Tensor:
        begin = index * tokens.SEQ_LENGTH
        window = self._tokens[begin : begin + tokens.SEQ_LENGTH + 1]
        return torch.from_numpy(window.astype(np.int64))


class WindowBatches(Windows):
    """The windows of a batch together, which DataLoader asks for where it can."""

    def __getitems__(self, indexes: list[int]) -> torch.Tensor:
        out = np.empty((len(indexes), tokens.SEQ_LENGTH + 1), np.int64)
        for row, index in enumerate(indexes):
            begin = index * tokens.SEQ_LENGTH
            out[row] = self._tokens[begin : begin + tokens.SEQ_LENGTH + 1]
        return torch.from_numpy(out)


class Flat:
    """Batches as the benchmark takes them."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return map(tokens.columns, self._loader)


@contender("W5")
def windows(source: Source) -> Any:
    """A Dataset of windows, shuffled, no workers."""
    dataset = Windows(source.files[0])
    return Flat(DataLoader(dataset, batch_size=source.batch_size, shuffle=True))


@contender("W5")
def window_batches(source: Source) -> Any:
    """A Dataset with __getitems__, which makes the batch itself; no workers."""
    dataset = WindowBatches(source.files[0])
    size = source.batch_size
    return Flat(DataLoader(dataset, batch_size=size, shuffle=True, collate_fn=lambda batch: batch))


class Rows(torch.utils.data.Dataset[Any]):
    """Images and labels in memory; a batch is one index into both."""

    def __init__(self, source: Source) -> None:
        self._images, self._labels = (torch.from_numpy(digits.load(path)) for path in source.files)

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, i: int) -> Any:
        return self._images[i] * digits.SCALE, self._labels[i]

    def __getitems__(self, chosen: list[int]) -> Any:
        return self._images[chosen] * digits.SCALE, self._labels[chosen]


@contender("W3")
def getitems(source: Source) -> digits.Epochs:
    """A Dataset with __getitems__, which takes a batch at once; no workers."""
    return digits.Epochs(
        DataLoader(Rows(source), source.batch_size, shuffle=True, collate_fn=lambda batch: batch)
    )


class Permutation:
    """A loop over torch.randperm."""

    def __init__(self, source: Source) -> None:
        self._rows, self._batch_size = Rows(source), source.batch_size

    def __iter__(self) -> Iterator[Any]:
        for chosen in torch.randperm(len(self._rows)).split(self._batch_size):
            yield self._rows.__getitems__(chosen)  # type: ignore[arg-type]


@contender("W3")
def randperm(source: Source) -> digits.Epochs:
    """No DataLoader: a loop over torch.randperm() and tensors in memory."""
    return digits.Epochs(Permutation(source))


class Jpegs(Dataset[Any]):
    """Images of a folder, each made by a function of its path."""

    def __init__(self, source: Source, decode: Callable[[str], Any]) -> None:
        self._files, self._decode = photos.jpegs(photos.folder(source.files)), decode

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self._files[index]
        return torch.from_numpy(self._decode(path)), label


def of_folder(source: Source, dataset: Any, kind: type[photos.Delivered]) -> photos.Epochs:
    workers: Any = {"num_workers": programs.cores(), "prefetch_factor": 4}
    loader = DataLoader(dataset, source.batch_size, persistent_workers=True, **workers)
    return photos.Epochs(loader, kind)


@contender("W4")
def simplejpeg(source: Source) -> photos.Epochs:
    """An image folder, a worker for each core; simplejpeg (whole images, fast IDCT, plain
    upsampling), OpenCV's bilinear."""
    return of_folder(source, Jpegs(source, jpeg_python.crop), photos.Normalised)


@contender("W4u", name="simplejpeg")
def simplejpeg_resized(source: Source) -> photos.Epochs:
    """An image folder, a worker for each core; simplejpeg (fast IDCT, plain upsampling), OpenCV's
    bilinear."""
    return of_folder(source, Jpegs(source, jpeg_python.resize), photos.Delivered)


class ListedRecords:
    """A batch that is a list of records, as columns that are made when they are asked for."""

    def __init__(self, batch: list[Any]) -> None:
        self._batch = batch

    def __getitem__(self, name: str) -> records.Listed:
        return records.Listed(self._batch, name)


def map_records(source: Source, **options: Any) -> records.Epochs:
    rows: Any = records.Rows(source, records.with_mapped)
    loader: Any = DataLoader(rows, batch_size=source.batch_size, **options)
    return records.Epochs(lambda: loader, "y")


for name, text, options in (
    ("map", "the default collate", {}),
    ("map-processes", "the default collate, 2 workers", {"num_workers": 2}),
    ("map-lists", "a collate_fn that keeps the list: no batch", {"collate_fn": ListedRecords}),
):
    contender("W16", name=name, text=f"__getitem__ that calls the function; {text}.")(
        functools.partial(map_records, **options)
    )


def yielded_parts(rows: Any) -> Iterator[Any]:
    for i in range(len(rows)):
        yield from rows[i]


@contender("W17")
def parts(source: Source) -> records.Epochs:
    """An IterableDataset that yields them, the default collate."""
    stream = Stream(yielded_parts, records.Rows(source, records.whole_parts_of))
    loader = DataLoader(stream, batch_size=source.batch_size)
    return records.Epochs(lambda: loader, "part")


@contender("W17", data=records.Windows(6.4))
def windows(source: Source) -> records.WindowEpochs:
    """__getitem__ that slices the arrays, the default collate."""
    slices: Any = records.Slices(source)
    loader: Any = DataLoader(slices, batch_size=source.batch_size)
    return records.WindowEpochs(lambda: loader)


def import_torchvision() -> Any:
    """It is built for another torch than that without CUDA.  Two operators that are missing, and
    not used here, are declared; its own decoder is not to be had, so Pillow decodes."""
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision.datasets
    import torchvision.transforms.v2

    return torchvision, library


torchvision, _library = import_torchvision()
v2 = torchvision.transforms.v2


def image_folder(
    source: Source, transforms: list[Any], kind: type[photos.Delivered]
) -> photos.Epochs:
    chain = v2.Compose(transforms)
    dataset = torchvision.datasets.ImageFolder(photos.folder(source.files), chain)
    return of_folder(source, dataset, kind)


@contender("W4", name="torchvision")
def torchvision_crops(source: Source) -> photos.Epochs:
    """ImageFolder (Pillow: whole images, accurate IDCT, fancy upsampling) and transforms.v2, a
    worker for each core; bilinear, antialiased."""
    mean, std = ([each / 255 for each in levels] for levels in (photos.MEAN, photos.STD))
    part = v2.RandomResizedCrop(photos.SIZE, photos.AREA, photos.ASPECT_RATIO)
    floats = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)]
    return image_folder(source, [part, v2.RandomHorizontalFlip(), *floats], photos.Normalised)


@contender("W4u", name="torchvision")
def torchvision_resized(source: Source) -> photos.Epochs:
    """ImageFolder (Pillow: accurate IDCT, fancy upsampling) and Resize of transforms.v2, a worker
    for each core; bilinear, antialiased."""

    def to_array(image: Any) -> torch.Tensor:
        return torch.from_numpy(np.array(image))

    size = (photos.SIZE, photos.SIZE)
    return image_folder(source, [v2.Resize(size), to_array], photos.Delivered)
