"""Detection of formats, and reading and writing of files of each format.

    from pyflowdata.formats import detect, open_source

    detect("train.gz")                  Detected(path='train.gz', format='tfrecord', ...)
    source = open_source(["train.gz"])  the fields of its records, from the first of them
    blobs = source.blobs(batch_size=64)

Each format has a module of its name here; shared code is in `base`.
"""

from .base.damage import Damage, Scan
from .base.detection import Detected, detect
from .base.fields import Field
from .base.format import Format, Source
from .base.known import FORMATS
from .base.opening import open_source

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
