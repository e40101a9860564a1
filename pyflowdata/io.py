"""Writers of the files that the readers read: whole under their final name, or not there.

    from pyflowdata.io import TFRecordWriter

    with TFRecordWriter("train.tfrecord", shard_records=100_000) as writer:
        writer.write({"image": png, "label": 7})
        writer.write_batch({"x": x, "label": labels})   # arrays with a row for each record

A writer works under temporary names in the target's folder.  `close()`, or the end of the `with`
block, syncs the files and gives them their names; an exception in the block leaves nothing.
"""

from .formats import Writer
from .formats.arrow import ArrowWriter
from .formats.csv import CSVWriter
from .formats.idx import IDXWriter
from .formats.imagefolder import ImageFolderWriter
from .formats.json import JSONLinesWriter
from .formats.mds import MDSWriter
from .formats.megatron import MegatronWriter
from .formats.mindrecord import MindRecordWriter
from .formats.npy import NpyWriter
from .formats.ofrecord import OFRecordWriter, encode_ofrecord, encode_ofrecords
from .formats.parquet import ParquetWriter
from .formats.raw import RawWriter
from .formats.tar import TarWriter
from .formats.text import TextLineWriter
from .formats.tfrecord import (
    TFRecordWriter,
    encode_example,
    encode_examples,
    encode_sequence_example,
)


__all__ = [
    "ArrowWriter",
    "CSVWriter",
    "IDXWriter",
    "ImageFolderWriter",
    "JSONLinesWriter",
    "MDSWriter",
    "MegatronWriter",
    "MindRecordWriter",
    "NpyWriter",
    "OFRecordWriter",
    "ParquetWriter",
    "RawWriter",
    "TFRecordWriter",
    "TarWriter",
    "TextLineWriter",
    "Writer",
    "encode_example",
    "encode_examples",
    "encode_ofrecord",
    "encode_ofrecords",
    "encode_sequence_example",
]
