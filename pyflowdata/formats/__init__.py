"""Detection of formats, and reading and writing of files of each format.

    from pyflowdata.formats import detect, open_source

    detect("train.gz")                  Detected(path='train.gz', format='tfrecord', ...)
    source = open_source(["train.gz"])  the fields of its records, from the first of them
    blobs = source.blobs(batch_size=64)

Each format has a module of its name here; shared code is in `base`.
"""

from .base.cache_file import CacheWriter, cached_fields, encoded_records
from .base.damage import Damage, Scan, damage_of, read_all
from .base.detection import Detected, detect, head_of, is_data_set
from .base.fields import Field, as_float32, field_of, lengths_of, output_names
from .base.file_paths import expanded
from .base.format import Format
from .base.images import (
    ImageChange,
    ImageFields,
    decoded_image,
    image_fields,
    image_size,
    pixel_fields,
)
from .base.in_memory import array_blob
from .base.known import FORMATS
from .base.open_source import open_source
from .base.sample_attrs import values_in_files
from .base.source import RECORD, RecordFormat, Source, rows_of_batch
from .base.writing.folder import put_in_place, remove
from .base.writing.images import image_formats
from .base.writing.names import COMPRESSION_SUFFIXES, Names
from .base.writing.output import sync_folder
from .base.writing.writer import Writer

__all__ = [
    "COMPRESSION_SUFFIXES",
    "FORMATS",
    "RECORD",
    "CacheWriter",
    "Damage",
    "Detected",
    "Field",
    "Format",
    "ImageChange",
    "ImageFields",
    "Names",
    "RecordFormat",
    "Scan",
    "Source",
    "Writer",
    "array_blob",
    "as_float32",
    "cached_fields",
    "damage_of",
    "decoded_image",
    "detect",
    "encoded_records",
    "expanded",
    "field_of",
    "head_of",
    "image_fields",
    "image_formats",
    "image_size",
    "is_data_set",
    "lengths_of",
    "open_source",
    "output_names",
    "pixel_fields",
    "put_in_place",
    "read_all",
    "remove",
    "rows_of_batch",
    "sync_folder",
    "values_in_files",
]
