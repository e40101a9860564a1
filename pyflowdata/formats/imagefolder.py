"""Image folders: their writer, and notes of files that are not images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..nodes import find_op
from ..nodes.image_files import ENDINGS, ending_of
from ..words.remedies import CHOOSE
from .base.damage import Damage, Scan
from .base.detection import Detected
from .base.fields import Field
from .base.format import Format
from .base.images import ImageEncoding, ImageFields, encoded_rows
from .base.source import Source
from .base.columns import as_bytes, columns, is_bytes_like
from .base.output import OutputFolder
from .base.writer import Shard, Writer

_IMAGE, _LABEL, _CLASS_NAME = "image", "label", "class_name"
_MOST_NUMBERS = 100_000  # classes that have numbers and no names
_LONGEST_NAME = 255  # bytes


# ---- Classes ------------------------------------------------------------------------------------


def _class_name(given: Any) -> str:
    """The name of a class, which must be possible as the name of a folder."""
    try:
        name = os.fsdecode(as_bytes(given, _LABEL))
    except UnicodeDecodeError:  # not on POSIX
        name = ""
    size = len(os.fsencode(name))
    if not name or name.startswith(".") or set("/\0") & set(name) or size > _LONGEST_NAME:
        raise InvalidArgumentError(
            f"the class {shown(given)} cannot be the name of a folder: it must have 1 to "
            f"{_LONGEST_NAME} bytes, without a slash or NUL, and no period in front"
        )
    return name


class _Classes:
    """The folders of labels.

    Folders of numbers are renamed at the end, when the largest number is known: then their order by
    name is the order of the numbers.
    """

    def __init__(self, given: Any) -> None:
        """Takes the names of the classes, or None."""
        if given is None:
            self._names: list[str] | None = None
        elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)) and given:
            self._names = [_class_name(one) if is_bytes_like(one) else "" for one in given]
        else:
            self._names = [""]
        if self._names is not None and ("" in self._names or len({*self._names}) < len(given)):
            raise InvalidArgumentError(
                f"classes = {shown(given)}; it must be a list of names, all different"
            )
        self._known = set(self._names or ())
        self._are_numbers: bool | None = None  # not known before the first label

    @property
    def names(self) -> list[str]:
        return self._names or []

    def folders(self, labels: Sequence[Any]) -> list[str]:
        """The folder of each label.

        Raises:
            InvalidArgumentError: A label is no class; `ordinal` is its row.
        """
        found = []
        are_numbers = self._are_numbers
        for row, label in enumerate(labels):
            try:
                plain = _plain(label)
                found.append(self._folder(plain, are_numbers))
            except InvalidArgumentError as failure:
                raise InvalidArgumentError(failure.message, ordinal=row) from None
            are_numbers = isinstance(plain, int)
        self._are_numbers = are_numbers
        return found

    def _folder(self, label: int | str, are_numbers: bool | None) -> str:
        if self._names is not None:
            if isinstance(label, int) and 0 <= label < len(self._names):
                return self._names[label]
            if label in self._known:
                return str(label)
            raise InvalidArgumentError(
                f"{_LABEL} = {shown(label)}; it must be one of the classes "
                f"{shown(self._names)}, or a number, 0 to {len(self._names) - 1}"
            )
        if are_numbers is not None and isinstance(label, int) != are_numbers:
            kind = "numbers" if are_numbers else "names"
            raise InvalidArgumentError(f"{_LABEL} = {shown(label)}, and others are {kind}")
        if isinstance(label, int) and not 0 <= label < _MOST_NUMBERS:
            raise InvalidArgumentError(
                f"{_LABEL} = {label}; without classes it must be 0 to {_MOST_NUMBERS - 1}"
            )
        return str(label)

    def renamed(self, folders: set[str]) -> dict[str, str]:
        """The final names of folders of numbers: with zeros in front, and without gaps."""
        if self._names is not None or not self._are_numbers:
            return {}
        most = max(map(int, folders))
        return {str(number): f"{number:0{len(str(most))}d}" for number in range(most + 1)}


def _plain(label: Any) -> int | str:
    if isinstance(label, np.ndarray) and label.ndim == 0:
        label = label.item()
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return int(label)
    if not is_bytes_like(label):
        raise InvalidArgumentError(
            f"{_LABEL} = {shown(label)}; it must be the number of a class, or its name"
        )
    return _class_name(label)


# ---- Writing ------------------------------------------------------------------------------------


class _Image(NamedTuple):
    data: bytes
    ending: str


class ImageFolderWriter(Writer):
    """Writes a folder with a folder of image files for each class.

    A sample is a dict of `image` and `label`.  The image is an array of uint8, (height, width) or
    (height, width, channels), which is encoded, or the bytes of a file, which are written as they
    are.  The label is the name of a class, or a number: with `classes` the place of the name in
    them, without them the name itself, with zeros in front.  A file is named by the number of its
    record in nine digits, so that the records of a class keep their order.

    Readers number the classes by their sorted names.  A class without records is an empty folder,
    without which other classes would get other numbers.
    """

    compressions = ()
    is_sharded = False

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        classes: Sequence[str] | None = None,
        format: str = "jpeg",
        quality: int = 90,
        compression: str | None = None,
        overwrite: bool = False,
        seal: bool = False,
    ) -> None:
        """Makes the folder.

        Args:
            path: The folder.
            classes: The names of the classes, by number; None: the labels are the names.
            format: The format of files that are encoded: "jpeg", "png", "ppm" or "bmp".
            quality: The quality of JPEG, 1 to 100.
            compression: None or "none": files of images are compressed already.
            overwrite: Whether an existing folder of images is replaced, with all its files; a
                folder with any other file is always an error.
            seal: Whether the folder gets a seal beside it, with checksums of all files in it.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The parent folder does not exist or is not writable, or the folder exists
                already.
        """
        try:
            self._encode = ImageEncoding(format, self._whole("quality", quality, 1, 100))
        except InvalidArgumentError as failure:
            message = failure.message if failure.op else f"format = {failure.message}"
            raise InvalidArgumentError(message, op=type(self).__name__) from None
        try:
            self._classes = _Classes(classes)
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, op=type(self).__name__) from None
        self._made: set[str] = set()
        super().__init__(path, compression=compression, overwrite=overwrite, seal=seal)

    def write(self, sample: Any) -> None:
        """Writes one image.

        Raises:
            InvalidArgumentError: The image is neither an array of uint8 nor a file of a known
                format, or the label is no class.
            FileError: The file cannot be written.
        """
        with self._naming():
            image, label = _only_two(sample)
            images = [_file(self._encode(_IMAGE, image))]
            folders = self._classes.folders([label])
        self._add(images, folders)

    def write_batch(self, batch: Any) -> None:
        """Writes an image for each row of the columns; raises as `write`."""
        with self._naming():
            found, _ = columns(batch)
            image, label = _only_two(found)
            images = encoded_rows(_IMAGE, image, lambda name, one: _file(self._encode(name, one)))
            folders = self._classes.folders(list(label))
        self._add(images, folders)

    # ---- Files --------------------------------------------------------------------------------

    @property
    def _folder(self) -> OutputFolder:
        folder = self._shards[-1].files[0]
        assert isinstance(folder, OutputFolder)
        return folder

    def _new_file(self, target: Path) -> OutputFolder:
        return OutputFolder(target)

    def _add(self, images: Sequence[_Image], folders: Sequence[str]) -> None:
        with self._writing():
            for image, folder in zip(images, folders, strict=True):
                self._make(folder)
                name = f"{folder}/{self.records:09d}.{image.ending}"
                self._folder.add_file(name, image.data)
                self.records += 1

    def _make(self, folder: str) -> None:
        if folder not in self._made:
            self._folder.add_folder(folder)
            self._made.add(folder)

    def _finish(self, shard: Shard) -> None:
        for name in self._classes.names:
            self._make(name)
        for name, new in self._classes.renamed(self._made).items():
            self._make(name)
            if name != new:
                self._folder.rename_folder(name, new)

    @classmethod
    def obstacle(cls, path: Path) -> str | None:
        if path.exists() and not path.is_dir():
            return "it is not a folder; choose another name"
        other = _other_than_images(path)
        if other is not None:
            return f"it has {other}, which is no image of a class; choose another name"
        return None


def _only_two(fields: Any) -> tuple[Any, Any]:
    if not isinstance(fields, Mapping) or set(fields) != {_IMAGE, _LABEL}:
        said = ", ".join(map(str, fields)) if isinstance(fields, Mapping) else shown(fields)
        raise InvalidArgumentError(
            f"a sample is a dict of {_IMAGE} and {_LABEL}; this is {said or 'empty'}"
        )
    return fields[_IMAGE], fields[_LABEL]


def _file(image: Any) -> _Image:
    data = as_bytes(image, _IMAGE)
    ending = ending_of(data)
    if ending is None:
        raise InvalidArgumentError(
            f"{_IMAGE} = {shown(data)}: these bytes are no file of JPEG, PNG, WebP, BMP, PPM, PGM, "
            "PBM or TIFF"
        )
    return _Image(data, ending)


def _other_than_images(path: Path) -> str | None:
    """The name of a file in a folder that this writer would not have made; None: there is none."""
    if not path.is_dir():
        return None
    for folder in os.scandir(path):
        if not folder.is_dir(follow_symlinks=False) or folder.name.startswith("."):
            return folder.name
        for file in os.scandir(folder.path):
            is_image = file.name.lower().endswith(ENDINGS) and file.is_file(follow_symlinks=False)
            if not is_image or file.name.startswith("."):
                return f"{folder.name}/{file.name}"
    return None


# ---- The format ---------------------------------------------------------------------------------


def _count_others(folder: str, endings: tuple[str, ...]) -> int:
    """The files of a class with another ending, without names that begin with a period."""
    count = 0
    for _, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names = (name for name in files if not name.startswith("."))
        count += sum(not name.lower().endswith(endings) for name in names)
    return count


class ImageFolder(Format):
    """A verification counts the files that the reader leaves out."""

    writer = ImageFolderWriter
    image_names = ImageFields(_IMAGE, _LABEL, _CLASS_NAME)
    needs_images = True
    file_field = _IMAGE

    def files_to_infer(self, source: Source, one: Detected) -> tuple[str, ...]:
        """All folders, as each may have classes that the others do not have."""
        return source.files

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        found = super().damage(source, scan)
        attrs: dict[str, Any] = dict(source.attrs)
        declared = find_op(self.reader).attr("extensions")
        endings = attrs.get("extensions", declared.default if declared else ())
        others = sum(
            _count_others(os.path.join(folder, name), tuple(one.lower() for one in endings or [""]))
            for folder in source.files
            for name in attrs.get("classes", ())
        )
        if others:
            scan.notes.append(f"{others} files with other extensions left out")
        return found

    def refusal(self, field: Field) -> str | None:
        """Why a folder cannot hold the field; names of files and keys are dropped silently."""
        if field.name in (_IMAGE, _LABEL, _CLASS_NAME) or field.name.startswith("__"):
            return None
        return (
            f"{field.name} has no place in an image folder, which has an image and its class: "
            f"choose these by {CHOOSE}"
        )

    def adapted(self, fields: Sequence[Field], batch: dict[str, Any]) -> dict[str, Any]:
        """The classes by name, if names are known."""
        return {_LABEL: batch[_CLASS_NAME if _CLASS_NAME in batch else _LABEL]}


FORMAT = ImageFolder
