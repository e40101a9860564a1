"""FFCV: its own file format, written beforehand, and its threads.  It needs the headers of OpenCV
and libturbojpeg to be installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ffcv.fields import IntField, NDArrayField, RGBImageField
from ffcv.fields.decoders import IntDecoder, NDArrayDecoder
from ffcv.fields.rgb_image import CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

import numpy as np
import torch

from bench import digits, photos, programs
from bench.contender import Source, contender


torch.set_num_threads(1)  # its own only disturb the threads of the Loader


class Pairs:
    """Images and labels, as FFCV's writer takes them."""

    def __init__(self, source: Source) -> None:
        self._images, self._labels = map(digits.load, source.files)

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, i: int) -> Any:
        return self._images[i], int(self._labels[i])


def write(source: Source) -> str:
    """The file, made where it is not there."""
    path = Path(source.folder) / "images.beton"
    if not path.exists():
        image = NDArrayField(np.dtype("uint8"), (digits.SIDE, digits.SIDE))
        writer = DatasetWriter(str(path), {"image": image, "label": IntField()}, num_workers=1)
        writer.from_indexed_dataset(Pairs(source))
    return str(path)


class Scaled:
    """Batches of a Loader, scaled by torch."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        for pixels, labels in self._loader:
            yield pixels * digits.SCALE, labels


@contender("W3")
def loader(source: Source) -> digits.Epochs:
    """A Loader in random order with a thread for each core; the tensors are scaled by torch."""
    pipelines = {"image": [NDArrayDecoder(), ToTensor()],
                 "label": [IntDecoder(), ToTensor(), Squeeze()]}  # fmt: skip
    return digits.Epochs(
        Scaled(
            Loader(
                write(source),
                batch_size=source.batch_size,
                num_workers=programs.cores(),
                order=OrderOption.RANDOM,
                os_cache=True,
                drop_last=False,
                pipelines=pipelines,
            )
        )
    )


JPEG = {"write_mode": "jpg", "jpeg_quality": 90}  # as the files are


class Photographs:
    """Images and labels, as FFCV's writer takes them, which encodes them again."""

    def __init__(self, source: Source) -> None:
        self._files = photos.jpegs(photos.folder(source.files))

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, i: int) -> Any:
        path, label = self._files[i]
        return Image.open(path), label


def write_photographs(source: Source) -> str:
    """The file, made where it is not there."""
    path = Path(source.folder) / "pictures.beton"
    if not path.exists():
        fields = {"image": RGBImageField(**JPEG), "label": IntField()}
        DatasetWriter(str(path), fields, num_workers=1).from_indexed_dataset(Photographs(source))
    return str(path)


def photographs(source: Source, images: list[Any], kind: type[photos.Delivered]) -> Any:
    pipelines = {"image": images, "label": [IntDecoder(), ToTensor(), Squeeze()]}
    loader = Loader(
        write_photographs(source),
        batch_size=source.batch_size,
        num_workers=programs.cores(),
        order=OrderOption.SEQUENTIAL,
        os_cache=True,
        drop_last=False,
        pipelines=pipelines,
    )
    return photos.Epochs(loader, kind)


@contender("W4")
def crops(source: Source) -> Any:
    """Its own file, JPEG encoded again; RandomResizedCropRGBImageDecoder (fast IDCT, whole images,
    bilinear)."""
    size = (photos.SIZE, photos.SIZE)
    decoder = RandomResizedCropRGBImageDecoder(size, photos.AREA, photos.ASPECT_RATIO)
    levels = np.array(photos.MEAN), np.array(photos.STD), np.float32
    chain = [decoder, RandomHorizontalFlip(), NormalizeImage(*levels), ToTensor(), ToTorchImage()]
    return photographs(source, chain, photos.Normalised)


@contender("W4u")
def centre(source: Source) -> Any:
    """Its own file, JPEG encoded again; CenterCropRGBImageDecoder, the largest square (fast IDCT,
    bilinear)."""
    size = (photos.SIZE, photos.SIZE)
    chain = [CenterCropRGBImageDecoder(size, 1), ToTensor()]
    return photographs(source, chain, photos.Delivered)
