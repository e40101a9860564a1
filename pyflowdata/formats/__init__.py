"""Which format a file has, by its content, and how files of each format are read and written.

    from pyflowdata.formats import detect, open_source

    detect("train.gz")                  Detected(path='train.gz', format='tfrecord', ...)
    source = open_source(["train.gz"])  the fields of its records, from the first of them
    blobs = source.blobs(batch_size=64)
"""

from .detect import FORMATS, Detected, Format, detect
from .fields import Field
from .hashes import check_mds_hashes
from .opening import open_source
from .scan import Damage, Scan, scan_ofrecord, scan_tfrecord
from .source import Source

__all__ = [
    "FORMATS",
    "Damage",
    "Detected",
    "Field",
    "Format",
    "Scan",
    "Source",
    "check_mds_hashes",
    "detect",
    "open_source",
    "scan_ofrecord",
    "scan_tfrecord",
]
