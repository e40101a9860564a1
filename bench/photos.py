"""JPEG files with the entropy of photographs: 500 x 375, about 100 KB, of ten classes.

They lie in TFRecord files of Examples, and once more as a folder with a subfolder for each class.
What a crop looks like is a matter of chance, and every loader rounds in its own way: so the images
are made such that any crop tells its class by its grey level, and that red is above blue.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bench.data import Data, Truth
from bench.examples import bytes_entry, example, framed, int64_entry

HEIGHT, WIDTH, CLASSES = 375, 500, 10
SIZE = 224  # of what is delivered
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # ImageNet's, in grey levels
AREA, ASPECT_RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # of the random parts
IMAGE, LABEL = "image/encoded", "image/class/label"
RED_ABOVE_BLUE = 20

Pixels = npt.NDArray[np.int32]


# ---- Making them: integers only, so that they are the same everywhere ----------------------------


def level(label: Any) -> Any:
    """Mean grey level of the images of a class."""
    return 70 + 10 * label


def noise(random: np.random.RandomState, amplitudes: list[int], channels: int) -> Pixels:
    """A grid of random numbers, doubled again and again, finer numbers added each time."""
    shape = (4, 5, channels)
    grid = random.randint(-amplitudes[0], amplitudes[0] + 1, shape, np.int32)
    for amplitude in amplitudes[1:]:
        height, width = grid.shape[:2]
        wide = np.empty((height, 2 * width - 1, channels), np.int32)
        wide[:, ::2], wide[:, 1::2] = grid, (grid[:, 1:] + grid[:, :-1]) >> 1
        grid = np.empty((2 * height - 1, 2 * width - 1, channels), np.int32)
        grid[::2], grid[1::2] = wide, (wide[1:] + wide[:-1]) >> 1
        if amplitude:
            grid += random.randint(-amplitude, amplitude + 1, grid.shape, np.int32)
    return grid[:HEIGHT, :WIDTH]


def add_shape(random: np.random.RandomState, pixels: Pixels) -> None:
    """A rectangle or an ellipse of another colour, and as rough or smoother."""
    y, x = random.randint(0, HEIGHT), random.randint(0, WIDTH)
    half_height, half_width = random.randint(20, 120), random.randint(20, 160)
    rows = np.arange(max(0, y - half_height), min(HEIGHT, y + half_height))[:, None]
    columns = np.arange(max(0, x - half_width), min(WIDTH, x + half_width))[None]
    box = pixels[rows[0, 0] : rows[-1, 0] + 1, columns[0, 0] : columns[0, -1] + 1]
    inside = ((rows - y) * half_width) ** 2 + ((columns - x) * half_height) ** 2
    is_ellipse, smoother = random.randint(0, 2), random.randint(0, 3)
    within = (inside < (half_height * half_width) ** 2) | (is_ellipse == 0)
    colour = random.randint(-640, 641, 3, np.int32)
    np.copyto(box, (box >> smoother) + colour, where=within[:, :, None])


def picture(random: np.random.RandomState, label: int) -> npt.NDArray[np.uint8]:
    """Pixels of an image of a class.  Counted in sixteenths of a grey level till the end."""
    rough = random.randint(110, 380)
    fine = [rough * part * 16 // 100 for part in (14, 14, 14, 16)]
    pixels = noise(random, [416, 352, 288, 224, *fine], 1)
    pixels = pixels + noise(random, [256, 160, 96, 64, 32, 0, 0, 0], 3)
    for _ in range(6):
        add_shape(random, pixels)
    warmth = RED_ABOVE_BLUE * 8
    shift = np.array([warmth, 0, -warmth], np.int32) + (16 * level(label) + 8)
    pixels += shift - int(pixels.sum(dtype=np.int64)) // pixels.size
    return np.clip(pixels >> 4, 0, 255).astype(np.uint8)


def encoded(pixels: npt.NDArray[np.uint8]) -> bytes:
    from PIL import Image  # libjpeg-turbo; only what makes the files needs it

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg", quality=90, subsampling="4:2:0")
    return file.getvalue()


# ---- The files -----------------------------------------------------------------------------------


class About(Truth):
    """A row is the mean grey level of an image, and its class."""

    def compare(self, found: Truth) -> str:
        """ "close", or what is wrong; crops differ from the images in their mean by chance."""
        if found.rows != self.rows:
            return f"WRONG: {found.rows} rows instead of {self.rows}"
        if found.y_sum != self.y_sum:
            return f"WRONG: the labels' sum is {found.y_sum!r} instead of {self.y_sum!r}"
        difference = (found.x_sum - self.x_sum) / self.rows
        if abs(difference) > 1 + 20 / self.rows**0.5:
            return f"WRONG: grey levels are {difference:+.2f} from those of the images"
        return "close"


@dataclasses.dataclass(frozen=True)
class Photos(Data):
    megabytes: float = 198.4
    parts: int = 4
    epochs: int = 3  # that are measured together: batches made before the clock starts count less

    KIND: ClassVar[str] = "pictures"
    FILE: ClassVar[str] = "part-{:03}.tfrecord"
    ROW_BYTES: ClassVar[float] = 100_000

    @property
    def part_records(self) -> int:
        return max(16, super().part_records)

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        random = np.random.RandomState(5000 + part)
        for number in range(self.part_records):
            label = random.randint(0, CLASSES)
            pixels = picture(random, label)
            content = encoded(pixels)
            path = self.folder / "images" / str(label) / f"{part}-{number:05}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            image, number_of_class = bytes_entry(IMAGE, content), int64_entry(LABEL, label)
            yield framed(example(image, number_of_class)), Truth.of(pixels.mean(), label)

    def truth(self, parts: int | None = None) -> tuple[Truth, int]:
        truth, size = super().truth(parts)
        truth = sum([truth] * self.epochs, Truth())
        return About(**dataclasses.asdict(truth)), self.epochs * size


def folder(files: list[str]) -> Path:
    """The folder with a subfolder for each class, which lies beside the files."""
    return Path(files[0]).parent / "images"


@functools.cache
def jpegs(root: Path) -> list[tuple[str, int]]:
    """Path and class of each image in it."""
    return [(str(path), int(path.parent.name)) for path in sorted(root.glob("*/*.jpg"))]


# ---- What is delivered ---------------------------------------------------------------------------


class Delivered:
    """Images of a batch, uint8 (batch, SIZE, SIZE, 3); only what checks the epoch looks at them."""

    DTYPE: ClassVar[str] = "uint8"
    SHAPE: ClassVar[tuple[int, ...]] = (SIZE, SIZE, 3)

    def __init__(self, images: Any, labels: Any) -> None:
        self._images, self._labels = images, labels

    def __len__(self) -> int:
        return len(self._images)

    def _pixels(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return image.astype(np.float32)

    def _look_at(self, image: npt.NDArray[Any]) -> tuple[float, float, float]:
        """Mean grey level, contrast, and by how much red is above blue."""
        pixels = self._pixels(image)
        warmth = pixels[..., 0].mean() - pixels[..., 2].mean()
        return float(pixels.mean()), float(pixels.std()), float(warmth)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[np.float64]:
        """Mean grey levels.

        Raises:
            ValueError: These are not the images that belong to the labels.
        """
        images, labels = np.asarray(self._images), np.asarray(self._labels).ravel()
        if str(images.dtype) != self.DTYPE or images.shape != (len(labels), *self.SHAPE):
            raise ValueError(f"a batch is {images.dtype} {images.shape}")
        found = np.array([self._look_at(image) for image in images])
        off = np.abs(found[:, 0] - level(labels)).mean()
        _, contrast, warmth = found.mean(0)
        if off > 12 or not 12 < contrast < 55 or not 10 < warmth < 30:
            raise ValueError(
                f"levels are {off:.1f} off those of the labels, contrast is {contrast:.1f}, red "
                f"above blue by {warmth:.1f}"
            )
        return found[:, 0]


class Normalised(Delivered):
    """The same, normalised: float32 (batch, 3, SIZE, SIZE)."""

    DTYPE = "float32"
    SHAPE = (3, SIZE, SIZE)

    def _pixels(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        scale, shift = (np.array(each, np.float32) for each in (STD, MEAN))
        return image.transpose(1, 2, 0) * scale + shift


class Epochs:
    """What a contender returns: it is iterated again for each measurement, and then iterates a
    loader of images and labels once for each epoch."""

    def __init__(self, loader: Any, kind: type[Delivered]) -> None:
        self._loader, self._kind = loader, kind

    def __iter__(self) -> Iterator[tuple[Delivered, Any]]:
        for _ in range(Photos.epochs):
            for images, labels in self._loader:
                yield self._kind(images, labels), labels
