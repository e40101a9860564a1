"""Writers of the files that the readers read: whole under their final name, or not there.

    from pyflowdata.io import TFRecordWriter

    with TFRecordWriter("train.tfrecord", shard_records=100_000) as writer:
        writer.write({"image": png, "label": 7})
        writer.write_batch({"x": x, "label": labels})   # arrays with a row for each record

A writer works under temporary names in the target's folder.  `close()`, or the end of the `with`
block, syncs the files and gives them their names; an exception in the block leaves nothing.
"""

from .csv import CSVWriter
from .idx import IDXWriter
from .lines import TextLineWriter
from .megatron import MegatronWriter
from .messages import (
    encode_example,
    encode_examples,
    encode_ofrecord,
    encode_ofrecords,
    encode_sequence_example,
)
from .npy import NpyWriter
from .ofrecord import OFRecordWriter
from .raw import RawWriter
from .tar import TarWriter
from .tfrecord import TFRecordWriter
from .writer import Writer

__all__ = [
    "CSVWriter",
    "IDXWriter",
    "MegatronWriter",
    "NpyWriter",
    "OFRecordWriter",
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
