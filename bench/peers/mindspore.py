"""MindData of MindSpore: its C++ operators on images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mindspore.dataset as ds
from mindspore.dataset import vision

from bench import photos, programs
from bench.contender import Source, contender


class Loader:
    """A dataset, iterated again for each epoch."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        epoch: Iterator[Any] = self._dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
        return epoch


def of_folder(source: Source, maps: list[Any], kind: type[photos.Delivered]) -> Any:
    ds.config.set_num_parallel_workers(programs.cores())
    images = ds.ImageFolderDataset(str(photos.folder(source.files)), shuffle=False)
    images = images.map(maps, input_columns="image").batch(source.batch_size)
    return photos.Epochs(Loader(images), kind)


@contender("W4")
def crops(source: Source) -> Any:
    """ImageFolderDataset, RandomCropDecodeResize: accurate IDCT, fancy upsampling, bilinear."""
    part = vision.RandomCropDecodeResize(photos.SIZE, photos.AREA, photos.ASPECT_RATIO)
    normalise = vision.Normalize(photos.MEAN, photos.STD)
    chain = [part, vision.RandomHorizontalFlip(), normalise, vision.HWC2CHW()]
    return of_folder(source, chain, photos.Normalised)


@contender("W4u")
def resized(source: Source) -> Any:
    """ImageFolderDataset, Decode (accurate IDCT, fancy upsampling), Resize: bilinear."""
    size = (photos.SIZE, photos.SIZE)
    return of_folder(source, [vision.Decode(), vision.Resize(size)], photos.Delivered)
