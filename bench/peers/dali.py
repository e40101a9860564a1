"""DALI without a GPU: its pipelines of operators that run on the processor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nvidia.dali import fn, pipeline_def, types

from bench import photos, programs
from bench.contender import Source, contender


class Loader:
    """Batches of a pipeline; its reader begins an epoch where the last one has ended."""

    def __init__(self, pipeline: Any, source: Source) -> None:
        self._pipeline = pipeline
        pipeline.build()
        self._rows, self._batch_size = pipeline.epoch_size("reader"), source.batch_size

    def __iter__(self) -> Iterator[Any]:
        for begin in range(0, self._rows, self._batch_size):
            images, labels = self._pipeline.run()
            rows = min(self._batch_size, self._rows - begin)
            yield images.as_array()[:rows], labels.as_array()[:rows, 0]


def read(source: Source) -> Any:
    root = str(photos.folder(source.files))
    return fn.readers.file(file_root=root, name="reader", pad_last_batch=True)


def decoding(is_fast: bool) -> dict[str, Any]:
    return {"use_fast_idct": is_fast, "jpeg_fancy_upsampling": not is_fast}


@pipeline_def
def crops(source: Source, is_fast: bool) -> Any:
    jpegs, labels = read(source)
    part = {"random_area": photos.AREA, "random_aspect_ratio": photos.ASPECT_RATIO}
    images = fn.decoders.image_random_crop(jpegs, device="cpu", **part, **decoding(is_fast))
    images = fn.resize(images, size=[photos.SIZE] * 2, antialias=False)
    levels = {"mean": list(photos.MEAN), "std": list(photos.STD)}
    flip = fn.random.coin_flip()
    return fn.crop_mirror_normalize(images, mirror=flip, output_layout="CHW", **levels), labels


@pipeline_def
def resized(source: Source, is_fast: bool) -> Any:
    jpegs, labels = read(source)
    images = fn.decoders.image(jpegs, device="cpu", **decoding(is_fast))
    return fn.resize(images, size=[photos.SIZE] * 2, antialias=False), labels


def run(pipeline: Any, source: Source, is_fast: bool, kind: type[photos.Delivered]) -> Any:
    machine = {"num_threads": programs.cores(), "device_id": None, "prefetch_queue_depth": 2}
    built = pipeline(source, is_fast, batch_size=source.batch_size, **machine)
    return photos.Epochs(Loader(built, source), kind)


for is_fast in (False, True):
    name = "fast" if is_fast else "accurate"
    idct = "fast IDCT, plain upsampling" if is_fast else "accurate IDCT, fancy upsampling"

    @contender("W4", name=name, text=f"readers.file, decoders.image_random_crop: {idct}, bilinear")
    def decode_crops(source: Source, is_fast: bool = is_fast) -> Any:
        return run(crops, source, is_fast, photos.Normalised)

    @contender("W4u", name=name, text=f"readers.file, decoders.image: {idct}, bilinear")
    def decode_whole(source: Source, is_fast: bool = is_fast) -> Any:
        return run(resized, source, is_fast, photos.Delivered)
