"""Detection of formats, and reading and writing of files of each format.

    from pyflowdata.formats import detect, open_source

    detect("train.gz")                  Detected(path='train.gz', format='tfrecord', ...)
    source = open_source(["train.gz"])  the fields of its records, from the first of them
    blobs = source.blobs(batch_size=64)

Each format has a module of its name here; shared code is in `base`.
"""

from .cache import CacheWriter, cached_fields, encoded_records
from .base.damage import Damage, Scan, damage_of, read_all
from .base.detection import Detected, detect, expanded, head_of, is_data_set
from .base.fields import Field, as_float32, field_of, lengths_of, output_names
from .base.format import Format
from .base.images import (
    ImageChange,
    ImageFields,
    decoded_image,
    end_problem,
    image_fields,
    image_formats,
    image_size,
    pixel_fields,
)
from .base.arrow_tables import arrow_table
from .base.source import (
    RECORD,
    REST,
    RecordFormat,
    Source,
    array_blob,
    rows_of_batch,
    table_blobs,
)
from .base.open_source import FORMATS, open_source, values_in_files
from .base.output import COMPRESSION_SUFFIXES, Names, put_in_place, remove, sync_folder
from .base.target import (
    Target,
    attrs_of_classes,
    fields_in_files,
    format_of_name,
    written_formats,
)
from .base.uploads import Upload, upload_of
from .base.seals import Seal, read_seal, remove_seal, seal_damage, seal_path, write_seal
from .base.writer import Writer

__all__ = [
    "COMPRESSION_SUFFIXES",
    "FORMATS",
    "RECORD",
    "REST",
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
    "Seal",
    "Upload",
    "Source",
    "Target",
    "Writer",
    "array_blob",
    "arrow_table",
    "attrs_of_classes",
    "as_float32",
    "cached_fields",
    "damage_of",
    "decoded_image",
    "end_problem",
    "detect",
    "encoded_records",
    "expanded",
    "field_of",
    "fields_in_files",
    "format_of_name",
    "head_of",
    "image_fields",
    "image_formats",
    "image_size",
    "is_data_set",
    "lengths_of",
    "open_source",
    "output_names",
    "upload_of",
    "pixel_fields",
    "put_in_place",
    "read_all",
    "read_seal",
    "remove",
    "remove_seal",
    "rows_of_batch",
    "seal_damage",
    "seal_path",
    "sync_folder",
    "table_blobs",
    "values_in_files",
    "write_seal",
    "written_formats",
]
