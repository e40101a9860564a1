"""Which format a file has, and how files of each format are read and written.

    from pyflowdata.formats import detect, open_source

    detect("train.gz")                  Detected(path='train.gz', format='tfrecord', ...)
    source = open_source(["train.gz"])  the fields of its records, from the first of them
    blobs = source.blobs(batch_size=64)

Each format has a module of its name here, and what these share is in `base`.
"""

from .base.damage import Damage, Scan
from .base.detection import Detected, detect
from .base.fields import Field
from .base.format import Format, Source
from .base.known import FORMATS
from .base.open_source import open_source

__all__ = [
    "FORMATS",
    "Damage",
    "Detected",
    "Field",
    "Format",
    "Scan",
    "Source",
    "detect",
    "open_source",
]
