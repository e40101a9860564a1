"""Files to write: their format, whether it can hold the fields of a source, and its batches."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ...nodes import Blob, Node
from ...nodes.node import files_of, reader_nodes
from ...nodes.registry import HOST_OUTPUTS, JSON_TEXT
from ...ragged import Ragged
from ...words.remedies import CHOOSE
from .fields import BYTES, Field, as_float32, field_of, split_spec
from .format import Format
from .images import ImageChange, ImageFields, image_fields, image_size, pixel_fields
from .open_source import FORMATS
from .output import COMPRESSION_SUFFIXES
from .row_types import TEXT
from .source import RECORD, Source
from .writer import Writer


# ---- The format that a name says ----------------------------------------------------------------


def written_formats() -> list[str]:
    """The names of the formats that have a writer."""
    return [name for name, one in FORMATS.items() if one.writer]


def format_of_name(path: str | os.PathLike[str]) -> str:
    """The format that the name of a file to write says, beside the suffix of a compression; of a
    path that ends with a slash, a format of folders.

    Raises:
        InvalidArgumentError: The name says none that has a writer.
    """
    shown = os.fspath(path)
    plain = Path(shown)
    if plain.suffix.lower() in COMPRESSION_SUFFIXES:
        plain = plain.with_suffix("")
    name = plain.name.lower()
    names = written_formats()
    found = next((one for one in names if name.endswith(FORMATS[one].suffixes)), None)
    if found is None and shown.endswith(os.sep):
        found = next((one for one in names if FORMATS[one].reads_folders), None)
    if found is None:
        read = [one for one in FORMATS.values() if name.endswith(one.suffixes)]
        why = (
            f"{read[0].title} is read and not written"
            if read
            else "its name does not say the format"
        )
        raise InvalidArgumentError(f"{shown}: {why}")
    return found


# ---- Fields as their files have them -------------------------------------------------------------


class _Listed(NamedTuple):
    """A reader whose outputs are listed in one of its attrs, or that has only one.

    Attributes:
        format: Its format.
        node: The reader.
        keys: The key of each output in the files.
        kinds: The type of each output, as the attr spells it.
    """

    format: Format
    node: Node
    keys: list[str]
    kinds: list[str]


def _listed(node: Node) -> _Listed | None:
    format = next((one for one in FORMATS.values() if one.reader == node.op.name), None)
    elements: Any = node.values.get(node.op.outputs_attr)
    own = [port.name for port in node.op.outputs if port.name not in HOST_OUTPUTS]
    if not elements and len(own) == 1:
        elements = [f"{own[0]}:{BYTES}"]
    if format is None or not elements:
        return None
    _, keys, kinds, _ = zip(*map(split_spec, elements), strict=True)
    return _Listed(format, node, list(keys), list(kinds))


def _under_views(blob: Blob) -> Blob:
    """The blob whose rows a field has; of several sources, that of the first."""
    while blob.node.op.is_view and blob.index < len(blob.node.inputs):
        blob = blob.node.inputs[blob.index]
    return blob


def _in_files(blobs: Mapping[str, Blob]) -> dict[str, tuple[_Listed, int]]:
    """The reader whose rows a field has, and the index of the output, through views, of several
    sources the first.  Fields that ops compute are left out, and readers without a list."""
    known: dict[Node, _Listed | None] = {}
    found = {}
    for name, blob in blobs.items():
        blob = _under_views(blob)
        if blob.node not in known:
            known[blob.node] = _listed(blob.node)
        reader = known[blob.node]
        if reader is not None and blob.index < len(reader.keys):
            found[name] = reader, blob.index
    return found


def fields_in_files(blobs: Mapping[str, Blob]) -> list[Field]:
    """The fields of blobs, with what only the files say: paths in records, and texts of JSON."""
    origins, found = _in_files(blobs), []
    for name, blob in blobs.items():
        field = field_of(name, blob)
        if name in origins:
            reader, index = origins[name]
            field = reader.format.field(**vars(field))
            field = field.with_type(JSON_TEXT) if reader.kinds[index] == JSON_TEXT else field
        found.append(field)
    return found


def texts_in_files(blobs: Mapping[str, Blob]) -> set[str]:
    """The names of the fields whose rows are text in UTF-8, as the files say."""
    origins = _in_files(blobs)
    readers = {reader.node: reader for reader, _ in origins.values()}
    texts = {
        node: one.format.texts(files_of(node), one.keys, node.values)
        for node, one in readers.items()
    }
    return {name for name, (one, index) in origins.items() if one.keys[index] in texts[one.node]}


def attrs_of_classes(blobs: Mapping[str, Blob]) -> tuple[tuple[str, Any], ...]:
    """The attrs of a source that has these blobs: the names of its classes, where all files have
    the same, and labels are the numbers of the readers.
    """
    found = image_fields([field_of(name, blob) for name, blob in blobs.items()])
    if found is None or not found.label or not _under_views(blobs[found.label]).node.op.is_reader:
        return ()
    readers = reader_nodes([blobs[found.label]])
    first, *others = [(node.values.get("classes"), node.values.get("class_numbers"))
                      for node in readers]  # fmt: skip
    is_named = first[0] and not first[1] and all(one == first for one in others)
    return (("classes", first[0]),) if is_named else ()


# ---- Images -------------------------------------------------------------------------------------

_ENCODED = "__encoded__"  # the name of the blob of encoded records
_SIZE = "__size__"  # a blob that is read for its errors alone


class _Images(NamedTuple):
    """The fields of images in the source and in the target.

    Attributes:
        found: Their names in the source.
        names: Their names in the target.
        change: The change of the images; None: files keep their bytes.
        is_checked: Whether files without the header of an image are damaged records.
        classes: The names of the classes, which become a field; none where they are not known.
    """

    found: ImageFields
    names: ImageFields
    change: ImageChange | None = None
    is_checked: bool = False
    classes: tuple[str, ...] = ()

    def fields(self, fields: Iterable[Field]) -> list[Field]:
        """The fields as they are written; the image is the first."""
        new = self.found.to(self.names)
        made = [dataclasses.replace(one, name=new.get(one.name, one.name)) for one in fields]
        if self.change is not None:
            made = [
                Field(one.name, BYTES) if one.name == self.names.image else one for one in made
            ]
        made.sort(key=lambda field: field.name != self.names.image)
        return [*made, Field(self.names.class_name, BYTES)] if self.classes else made

    def blobs(self, blobs: dict[str, Blob]) -> dict[str, Blob]:
        """The blobs of the source, with the image as ops change it."""
        image = blobs[self.found.image]
        if self.change is not None:
            return {**blobs, self.found.image: self.change.applied(image)}
        return {**blobs, _SIZE: image_size(image)} if self.is_checked else blobs

    def columns(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch with the fields of the target."""
        new = self.found.to(self.names)
        made = {new.get(name, name): column for name, column in batch.items() if name != _SIZE}
        if self.classes:
            labels = batch[self.found.label].tolist()
            made[self.names.class_name] = [self.classes[label] for label in labels]
        return made


def _names_in(
    found: ImageFields, usual: ImageFields | None, fields: Iterable[Field]
) -> ImageFields:
    """The names of the fields in the target: the usual ones there, unless another field has one."""
    if usual is None:
        return found
    names = ImageFields(
        usual.image,
        found.label and (usual.label or found.label),
        found.class_name and (usual.class_name or found.class_name),
    )
    new = found.to(names)
    others = {field.name for field in fields} - new.keys()
    return found if others & set(new.values()) else names


# ---- The target ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Target:
    """The files to write.

    Attributes:
        path: The path as the user gave it.
        format: A key of FORMATS.
        compression: The compression of the files.
        float32: Whether float64 is stored as float32.
        skip: Whether damaged records are left out.
        overwrite: Whether files that are there are replaced.
        change: The change of images; None: they keep their bytes.
        seal: Whether each file gets a seal.
        is_plain: Whether the writer encodes the records: an option of it says how.
    """

    path: str
    format: str
    compression: str | None = None
    float32: bool = False
    skip: bool = False
    overwrite: bool = False
    change: ImageChange | None = None
    seal: bool = False
    is_plain: bool = False

    @property
    def kind(self) -> Format:
        """The format itself."""
        return FORMATS[self.format]

    @property
    def writer(self) -> type[Writer]:
        """The class that writes it."""
        found = self.kind.writer
        assert found is not None
        return found

    @property
    def is_work(self) -> bool:
        """Whether the threads of a loader have much work, so that processes should share the cores.
        """
        return self.change is not None

    def counts(self, batch: dict[str, Any]) -> tuple[int, ...]:
        """Numbers that a conversion adds up over batches, from a batch as it was read; the same
        count for each batch.
        """
        return ()

    # ---- Images -------------------------------------------------------------------------------

    def takes_images(self, source: Source) -> bool:
        """Whether images are more than bytes: they are changed or renamed."""
        is_other = source.format != self.kind and self.kind.image_names is not None
        return self.change is not None or self.kind.needs_images or is_other

    def images(self, source: Source) -> _Images | None:
        """The change of a source's images and labels; None: they are fields like others."""
        found = image_fields(source.fields) if self.takes_images(source) else None
        if found is None:
            return None
        origin, needs = _origin(source), self.kind.needs_images
        is_usual = origin.is_image_name(found.image)
        if not (is_usual or needs or self.change):
            return None
        change, names = self.change, found
        if needs and found.image in pixel_fields(source.fields):
            change = change or ImageChange()
        if source.format != self.kind and (is_usual or needs):
            names = _names_in(found, self.kind.image_names, source.fields)
        classes = self._classes(source, found)
        if classes and self.kind.image_names:
            names = names._replace(class_name=self.kind.image_names.class_name)
        return _Images(found, names, change, needs and change is None, classes)

    def _classes(self, source: Source, found: ImageFields) -> tuple[str, ...]:
        """The names of the classes, where the source knows them beside its records, and the target
        has a field for them."""
        usual = self.kind.image_names
        if not found.label or found.class_name or usual is None or not usual.class_name:
            return ()
        return tuple(_origin(source).class_names(source))

    def notes(self, source: Source) -> list[str]:
        """Messages for the user about changes of records."""
        images = self.images(source) if self.kind.needs_images else None
        if images is None or not images.found.class_name or not images.found.label:
            return []
        return [
            f"classes are called as {images.found.class_name} says, and readers number them by "
            f"their sorted names; to keep the numbers of {images.found.label}, say --fields "
            f"{images.found.image},{images.found.label}"
        ]

    def changed(self, source: Source, blobs: Mapping[str, Blob]) -> dict[str, Blob]:
        """The blobs of what is written, made of those of the source."""
        names = [field.name for field in source.fields] or [RECORD]
        chosen = {name: blobs[name] for name in names}
        images = self.images(source)
        return images.blobs(chosen) if images else chosen

    def encoded(self, source: Source, blobs: dict[str, Blob]) -> Blob | None:
        """The bytes of each record in the file; None if the writer makes them."""
        fields, images = self.fields(source), self.images(source)
        if images is not None:
            return None
        narrow = {field.name for field in source.fields if self._narrowed(field) != field}
        made = [as_float32(blob) if name in narrow else blob for name, blob in blobs.items()]
        return self.kind.encoded(fields, made)

    # ---- Batches ------------------------------------------------------------------------------

    def columns(self, source: Source, blobs: Mapping[str, Blob]) -> dict[str, Blob]:
        """The blobs whose batches `write` takes, made of those of the source: encoded records, or
        the fields of records that the writer encodes."""
        changed = self.changed(source, blobs)
        is_plain = self.is_plain or self.kind.options_of_name(self.path)
        encoded = None if is_plain else self.encoded(source, changed)
        return changed if encoded is None else {_ENCODED: encoded}

    def write(self, writer: Writer, batch: dict[str, Any], source: Source) -> None:
        """Writes a batch of `columns`."""
        if _ENCODED not in batch:
            writer.write_batch(self.adapted(batch, source))
            return
        shapes: dict[str, Any] = {
            one.name: () if None in one.shape else one.shape for one in self.fields(source)
        }
        if shapes:
            writer.expect(shapes)
        writer.write_encoded(batch[_ENCODED])

    # ---- Fields -------------------------------------------------------------------------------

    def fields(self, source: Source) -> list[Field]:
        """The fields as they are written."""
        images = self.images(source)
        found = images.fields(source.fields) if images else source.fields
        return [self._narrowed(field) for field in found]

    def _narrowed(self, field: Field) -> Field:
        is_narrowed = self.float32 and field.dtype == "float64"
        return dataclasses.replace(field, dtype="float32") if is_narrowed else field

    def check(self, source: Source) -> None:
        """Refuses what the target cannot hold, before anything is read.

        Raises:
            InvalidArgumentError: Says which field, and what to do.
        """
        if source.left_out:
            raise InvalidArgumentError(
                f"{'; '.join(source.left_out)}: that is not a field here, and would be lost; "
                f"choose the fields by {CHOOSE}"
            )
        if not source.fields:
            self._check_without_fields(source)
        elif self.kind.holds_one_field and len(source.fields) != 1:
            names = ", ".join(field.name for field in source.fields)
            raise InvalidArgumentError(
                f"{self.kind.title}: a file has one field, and there are {names}: choose one by "
                f"{CHOOSE}"
            )
        self._check_images(source)
        for field in self.fields(source):
            if refusal := self.kind.refusal(field):
                raise InvalidArgumentError(refusal)

    def _check_images(self, source: Source) -> None:
        if source.is_empty or not (self.change or self.kind.needs_images):
            return
        images = self.images(source)
        names = ", ".join(f"{field.name}:{field.type}" for field in source.fields)
        if images is None:
            raise InvalidArgumentError(
                f"no field is known as that of the images; there are {names}: choose it, and a "
                f"label, by {CHOOSE}"
            )
        found = images.found
        if self.kind.needs_images and not (found.label or found.class_name):
            raise InvalidArgumentError(
                f"no field is known as that of the labels; there are {names}: {self.kind.title} "
                "needs one, called label, say"
            )

    def _check_without_fields(self, source: Source) -> None:
        """Refuses another format for records without fields."""
        is_same = source.format == self.kind
        if is_same and (source.is_empty or self.kind.holds_records):
            return
        said = "has records of no fields that are known here"
        if source.is_empty:
            said = "has no records, so that their fields are not known"
        raise InvalidArgumentError(
            f"{source.files[0]} {said}: it can only be written as {source.format.name} again"
        )

    def options(self, source: Source) -> dict[str, Any]:
        """The options of the writer about rows, so that empty files have the right types, too."""
        if not source.fields:
            return {}
        fields = self.fields(source)
        options = {**self.kind.writer_options(fields), **self.kind.options_of_name(self.path)}
        columns = options.get("columns")
        if isinstance(columns, dict) and BYTES in columns.values():
            texts = texts_in_files(source.blobs(batch_size=1))
            for name in map(self.kind.name_in_file, texts):
                if columns.get(name) == BYTES:
                    columns[name] = TEXT
        images = self.images(source)
        if self.kind.needs_images and images and images.classes:
            options["classes"] = images.classes
        return options

    def adapted(self, batch: dict[str, Any], source: Source) -> Any:
        """A batch as the writer takes it."""
        if not source.fields:
            return batch[RECORD]
        if self.float32:
            batch = {name: _narrow(name, column) for name, column in batch.items()}
        fields, images = self.fields(source), self.images(source)
        if images is None:
            return self.kind.adapted(fields, batch)
        batch = images.columns(batch)
        name = images.names.image
        columns = self.kind.image_columns(name, batch.pop(name))
        others = [field for field in fields if field.name != name]
        return {**columns, **self.kind.adapted(others, batch)}


def _origin(source: Source) -> Format:
    """The format of a source, with the rules for its images."""
    found = source.format
    assert isinstance(found, Format)
    return found


def _narrow(name: str, column: Any) -> Any:
    if column.dtype != np.float64:
        return column
    if isinstance(column, Ragged):
        return Ragged(
            _as_float32(name, column.values), column.row_splits, row_shape=column.row_shape,
            shapes=column.shapes if column.values.ndim == 1 else None,
        )  # fmt: skip
    return _as_float32(name, column)


def _as_float32(name: str, values: Any) -> Any:
    """Numbers as float32; one that is too large is an error."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    lost = np.isinf(narrow) & np.isfinite(values)
    if lost.any():
        raise InvalidArgumentError(
            f"{name} has {values[lost].flat[0]}, which float32 does not hold: keep float64"
        )
    return narrow
