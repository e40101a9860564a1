"""What is said of a name that this package does not have: the name that is meant, or what does the
same as the function or class of another library."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from .errors import InvalidArgumentError
from .nodes import find_op

# Names of torchvision, MindData and tf.data -> what does the same here.
_ELSEWHERE = {
    "Batch": "batch_size= of the reader",
    "Compose": "calls of ops, each with the blob that the one before returned",
    "ConvertImageDtype": "Normalize(x, mean=0, std=1)",
    "Decode": "ImageDecoder(file)",
    "ImageFolder": "ImageFolderReader(folder, batch_size=n)",
    "ImageFolderDataset": "ImageFolderReader(folder, batch_size=n)",
    "Lambda": "an op that flow.register_decoder makes of a Python function",
    "ManifestDataset": "ManifestReader(files=file, batch_size=n)",
    "MindDataset": "MindRecordReader(files=files, batch_size=n)",
    "MnistDataset": "IDXReader(files=images, labels=labels, batch_size=n)",
    "CocoDetection": "COCOReader(files=annotations, image_dir=folder, batch_size=n)",
    "CocoDataset": "COCOReader(files=annotations, image_dir=folder, batch_size=n)",
    "RandomAdjustSharpness": "AdjustSharpness(x, factor=2, probability=0.5)",
    "RandomAutocontrast": "AutoContrast(x, probability=0.5)",
    "RandomColorAdjust": "ColorJitter(x, brightness=0.4)",
    "RandomCropDecodeResize": "RandomResizedCrop(ImageDecoder(file), size=(h, w))",
    "RandomEqualize": "Equalize(x, probability=0.5)",
    "RandomGrayscale": "Grayscale(x, channels=3, probability=0.1)",
    "RandomHorizontalFlip": "RandomFlip(x, horizontal=0.5)",
    "RandomInvert": "Invert(x, probability=0.5)",
    "RandomPosterize": "Posterize(x, bits=4, probability=0.5)",
    "RandomSolarize": "Solarize(x, threshold=128, probability=0.5)",
    "RandomVerticalFlip": "RandomFlip(x, horizontal=0, vertical=0.5)",
    "Rescale": "Normalize(x, mean=0, std=1), or Affine(x, scale=[a], shift=[b])",
    "TFRecordDataset": "TFRecordReader(files=files, batch_size=n)",
    "ToDtype": 'Cast(x, dtype="float32"), or Normalize(x, mean=0, std=1)',
    "ToTensor": "Normalize(x, mean=0, std=1)",
    "TypeCast": 'Cast(x, dtype="int32")',
}
_FOLDED = {name.casefold(): name for name in _ELSEWHERE}


def _spelled(name: str) -> str | None:
    """The op that the registry knows by this spelling, as an alias or in snake_case."""
    try:
        return find_op(name).name
    except InvalidArgumentError:
        return None


def unknown_name(name: str, known: Iterable[str]) -> str:
    """The message for a name that is none of the known ones."""
    text = f"pyflowdata has no {name!r}"
    elsewhere = _FOLDED.get(name.casefold())
    if elsewhere is not None:
        return f"{text}; {elsewhere}: {_ELSEWHERE[elsewhere]}"
    by_folded = {one.casefold(): one for one in known if not one.startswith("_")}
    near = difflib.get_close_matches(name.casefold(), by_folded, 1, 0.75)
    meant = _spelled(name) or (by_folded[near[0]] if near else None)
    return f"{text}; did you mean {meant!r}?" if meant else text
