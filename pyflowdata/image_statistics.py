"""Means and standard deviations of well-known sets of images, red, green and blue, from 0 to 1."""

from __future__ import annotations

# Of the training images of ImageNet; what models of torchvision were trained with.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
