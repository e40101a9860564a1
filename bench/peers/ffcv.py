"""FFCV: its own file format, written beforehand, and its threads.  It needs the headers of OpenCV
and libturbojpeg to be installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ffcv.fields import IntField, NDArrayField
from ffcv.fields.decoders import IntDecoder, NDArrayDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import Squeeze, ToTensor
from ffcv.writer import DatasetWriter

import numpy as np
import torch

from bench import images, programs
from bench.contender import Source, contender


torch.set_num_threads(1)  # its own only disturb the threads of the Loader


class Pairs:
    """Images and labels, as FFCV's writer takes them."""

    def __init__(self, source: Source) -> None:
        self._images, self._labels = map(images.load, source.files)

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, i: int) -> Any:
        return self._images[i], int(self._labels[i])


def write(source: Source) -> str:
    """The file, made where it is not there."""
    path = Path(source.folder) / "images.beton"
    if not path.exists():
        image = NDArrayField(np.dtype("uint8"), (images.SIDE, images.SIDE))
        writer = DatasetWriter(str(path), {"image": image, "label": IntField()}, num_workers=1)
        writer.from_indexed_dataset(Pairs(source))
    return str(path)


class Scaled:
    """Batches of a Loader, scaled by torch."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        for pixels, labels in self._loader:
            yield pixels * images.SCALE, labels


@contender("W3")
def loader(source: Source) -> images.Epochs:
    """A Loader in random order with a thread for each core; the tensors are scaled by torch."""
    pipelines = {"image": [NDArrayDecoder(), ToTensor()],
                 "label": [IntDecoder(), ToTensor(), Squeeze()]}  # fmt: skip
    return images.Epochs(
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
