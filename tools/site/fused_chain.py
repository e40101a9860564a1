"""The graph of a chain of image ops, two of which are computed as one."""

from __future__ import annotations

import os
import tempfile

import numpy as np

import pyflowdata as flow
from pyflowdata.io import ImageFolderWriter


def graph() -> flow.Graph:
    """Of a loader that decodes, crops and normalises JPEG files."""
    with ImageFolderWriter("photos", classes=["cat", "dog"]) as writer:
        for label in (0, 1):
            writer.write({"image": np.full((90, 120, 3), 99, np.uint8), "label": label})
    batch = flow.open("photos").shuffle(seed=1).batch(64)
    image = flow.RandomResizedCrop(flow.ImageDecoder(batch["image"]), size=[224, 224])
    x = flow.CropMirrorNormalize(image, mean=flow.IMAGENET_MEAN, std=flow.IMAGENET_STD)
    return flow.graph({"x": x, "y": batch["label"]})


def drawn() -> str:
    """The text of the SVG file."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return graph().to_svg() + "\n"
        finally:
            os.chdir(here)
