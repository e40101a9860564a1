"""One function per op of the registry.  Written by `make stubs`, not by hand.

Raises, each of them:
    InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
        the text says what is allowed.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, TypedDict, overload, type_check_only

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Unpack

from .nodes import Blob
from .ragged import Ragged

__all__ = [
    "MiniReader",
    "MindRecordReader",
    "MDSReader",
    "TextLineReader",
    "CSVReader",
    "CSVCellTypes",
    "CSVEncoder",
    "MiniDecoder",
    "Affine",
    "TFRecordReader",
    "ExampleDecoder",
    "SequenceExampleDecoder",
    "ExampleEncoder",
    "TFRecordFrame",
    "Cast",
    "Concat",
    "DecodeClass",
    "DecodeNpy",
    "DecodeRaw",
    "OneHot",
    "Pad",
    "PadBatch",
    "RecordEncoder",
    "RowLength",
    "Slice",
    "RawReader",
    "NpyReader",
    "OFRecordReader",
    "OFRecordRawDecoder",
    "OFRecordBytesDecoder",
    "OFRecordImageDecoder",
    "OFRecordImageDecoderRandomCrop",
    "OFRecordEncoder",
    "OFRecordFrame",
    "IDXReader",
    "CIFARReader",
    "OneRecReader",
    "OneRecDecoder",
    "TarReader",
    "MegatronReader",
    "GPTReader",
    "CacheReader",
    "ArrayReader",
    "GeneratorReader",
    "COCOReader",
    "ImageFolderReader",
    "ManifestReader",
    "AdjustSharpness",
    "AutoContrast",
    "CenterCrop",
    "CoinFlip",
    "ColorJitter",
    "CropMirrorNormalize",
    "CutMix",
    "Equalize",
    "GaussianBlur",
    "Grayscale",
    "HWC2CHW",
    "ImageBatchAlign",
    "ImageDecoder",
    "ImageEncoder",
    "ImageFlip",
    "ImageNormalize",
    "ImagePad",
    "ImageRandomCrop",
    "ImageResizeKeepAspectRatio",
    "ImageResizeToFixed",
    "ImageSize",
    "ImageTargetResize",
    "Invert",
    "MixUp",
    "Normalize",
    "ObjectBboxFlip",
    "ObjectBboxScale",
    "ObjectSegmentationPolygonFlip",
    "ObjectSegmentationPolygonScale",
    "ObjectSegmentationPolygonToMask",
    "Posterize",
    "RandAugment",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "Resize",
    "Rotate",
    "SizeRatio",
    "Solarize",
    "TrivialAugment",
    "BatchDataset",
    "BucketDataset",
    "ClassSampleDataset",
    "ConcatDataset",
    "FlatDataset",
    "MixDataset",
    "PackDataset",
    "RepeatDataset",
    "RepeatFactorDataset",
    "SelectDataset",
    "ShuffleDataset",
    "SkipDataset",
    "SliceDataset",
    "SplitDataset",
    "TakeDataset",
    "WeightedSampleDataset",
    "WeightedShuffleDataset",
    "ZipDataset",
]

@type_check_only
class Blobs(Blob, tuple[Blob, ...]):  # type: ignore[misc]  # `index` is that of Blob
    """The blobs of outputs that attrs decide: a tuple, or the blob itself where it is one."""

_Array: TypeAlias = NDArray[Any]
_Row: TypeAlias = _Array | np.generic | bytes | bytearray | memoryview | float
_Rows: TypeAlias = list[Any] | Ragged

@type_check_only
class OnRows(TypedDict, total=False):
    """What a call on rows takes besides."""

    seed: int | None
    """The seed of random numbers, as that of a reader; -1 or None draws one."""

    epoch: int
    """The epoch whose random numbers are wanted."""

    ordinal: int
    """The number of the first row's record, for its random numbers."""

@type_check_only
class ReaderAttrs(TypedDict, total=False):
    """What all readers share."""

    batch_size: int
    """batch_size (int, default 1, at least 1): Records in a batch, of all ranks together; it must
    be divisible by world_size."""

    last_batch: Literal["short", "drop", "pad", "wrap", "even"]
    """last_batch (str, default 'short', one of 'short', 'drop', 'pad', 'wrap', 'even'): What to do
    if the last batch of an epoch has too few records: short delivers it smaller (a rank may get 0
    rows), drop omits it, pad repeats the last record, wrap adds the first records of the next
    epoch, even leaves out its last records, fewer than world_size, so that every rank has as many
    rows."""

    random_shuffle: bool
    """random_shuffle (bool, default False): Whether the order is random, with every record once in
    an epoch; the attr shuffle says which random order."""

    shuffle: bool | Literal["auto", "none", "global", "window", "buffer"]
    """shuffle (str, default 'auto', one of 'auto', 'none', 'global', 'window', 'buffer', True,
    False): Whether to shuffle, or which kind of shuffle. true: a new random order in every epoch.
    false, none: the order of the files. global: all records are shuffled. window: the records of
    some blocks of the files are mixed at a time. buffer: each record is drawn from the next
    shuffle_buffer_size ones. auto: none without random_shuffle; with it, or with true, global, or
    buffer if the source can only be read in sequence."""

    shuffle_after_epoch: bool
    """shuffle_after_epoch (bool, default False): Whether a shuffle makes a new order for each epoch
    instead of the same one; shuffle=true sets it, and it has no effect without a shuffle."""

    shuffle_buffer_size: int
    """shuffle_buffer_size (int, default 1024, at least 1): For shuffle='buffer', which true and
    auto also mean where the source can only be read in sequence: how many records the buffer holds.
    Other orders have no buffer and ignore it."""

    shuffle_block_size: int
    """shuffle_block_size (int, default 256, at least 1): For shuffle='window': how many records a
    block has, which are read together."""

    shuffle_window: int
    """shuffle_window (int, default 1024, at least 1): For shuffle='window': how many blocks are
    mixed at a time; more blocks mix better and touch more memory."""

    shuffle_lanes: int
    """shuffle_lanes (int, default 1, at least 1): For shuffle='window': into how many lanes the
    data are cut, disjoint parts that are shuffled by themselves; each batch has as many rows of one
    as of another. If world_size divides it, each rank reads blocks that no other rank reads."""

    seed: int | None
    """seed (int, default -1, at least -1): The seed of the random numbers; -1 draws a seed when the
    loader opens, or uses 0 if world_size is above 1, because all ranks need the same one."""

    order_key: str | PathLike[str]
    """order_key (str, default ''): A text on which the random order depends besides the seed;
    readers that must stay paired need the same one. Empty means the reader's name."""

    group_buffer_size: int
    """group_buffer_size (int, default 65536, at least 1): For readers that make batches of one
    group each: the most records that wait for others of their group."""

    rank: int | None
    """rank (int, default -1, at least -1): Which part of every batch this process gets, counted
    from 0. If rank and world_size are -1 or left out, both are inferred from the framework or
    launcher in use."""

    world_size: int | None
    """world_size (int, default -1, at least -1): Number of ranks that share every batch; -1 infers
    it, together with rank."""

    on_error: Literal["raise", "skip", "pad"]
    """on_error (str, default 'raise', one of 'raise', 'skip', 'pad'): What to do with a damaged
    record: raise fails its batch, skip omits its row (a batch may then have 0 rows), pad delivers a
    row of zeros whose mask is False."""

    max_errors: int | None
    """max_errors (int, default -1, at least -1): How many damaged records an epoch of this rank may
    have before on_error=skip and pad fail too; -1 means no limit."""

    name: str | None
    """name (str, default None): Name of this node, unique in a loader; None for none."""

@type_check_only
class FileReaderAttrs(ReaderAttrs, total=False):
    """What all readers of files share."""

    files: str | PathLike[str] | Sequence[str | PathLike[str]]
    """files (list of str, default ()): In place of data_dir: paths, and patterns with *, ? or
    [...], whose files are sorted by name."""

    data_part_num: int | None
    """data_part_num (int, default -1, at least -1): How many parts to read, numbered from 0; -1 for
    all parts found, in numeric order."""

    part_name_prefix: str | PathLike[str]
    """part_name_prefix (str, default 'part-'): What stands before the number in a part's name."""

    part_name_suffix_length: int | None
    """part_name_suffix_length (int, default -1, in [-1, 64]): To how many digits a part's number is
    padded with zeros; -1 for no padding."""

    file_access: Literal["auto", "map", "read"]
    """file_access (str, default 'auto', one of 'auto', 'map', 'read'): How files are read: map maps
    them into memory, read reads them piece by piece; auto maps them if they fit into memory and
    address space together."""

    compression: Literal["auto", "none", "gzip", "zlib", "zstd"]
    """compression (str, default 'auto', one of 'auto', 'none', 'gzip', 'zlib', 'zstd'): How the
    files are compressed; auto looks at the content of each. Lines and frames of compressed files
    can only be read in sequence, so that only a buffer shuffles them."""

    index_dir: str | PathLike[str]
    """index_dir (str, default ''): The folder in which indexes of the files are kept, for the next
    time and for the other processes of the machine; none keeps them in memory. Left empty, files of
    16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, else in XDG_CACHE_HOME/pyflowdata,
    else in ~/.cache/pyflowdata."""

@overload
def MiniReader(
    data_dir: str | PathLike[str] = "",
    *,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads text files in which each line holds two comma-separated numbers.

    Lines end with LF or CRLF; the last line of a file may have no line end. Blank lines and empty
    files are skipped. A line never continues in the next file. Spaces and tabs around a number are
    allowed. Numbers are decimal literals as Python's float() accepts them, including inf and nan,
    rounded to the nearest float64 in every locale.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The two numbers of each line, float64 of shape (batch, 2).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "", *, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "", *, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "", *, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "", *, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

def MindRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    columns: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    whole_set: bool = True,
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs:
    """Reads MindRecord files, MindSpore's format, of version 2.0 and 3.0.

    Name one shard of a set, or those to be read; their .db files are not needed. Scalars are exact,
    even if the field is indexed. Numbers and arrays need their type in the field ('ids:int64[?]');
    string and bytes are ragged uint8. Encrypted files are refused.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        columns (list of str, found in the files if left out): Fields to read, each
            [NAME=]FIELD[:TYPE]: 'label:int32', 'image' (bytes), 'x:float32[?,3]'; if left out, all
            fields of the header.
        whole_set (bool, default True): Whether to read all shards of its set, in the order of the
            set, if only one shard is given.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of columns: A field: numbers and arrays with the type of the field, strings and
            bytes as ragged uint8.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

def MDSReader(
    data_dir: str | PathLike[str] = "",
    *,
    columns: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs:
    """Reads the shards of Mosaic's streaming datasets (MDS).

    Give the dataset's folder, its index.json, or single shards. Numbers (int, int8 ... float64,
    str_int, str_float) and ndarrays need their type in the field; bytes, str, json, jpeg, png and
    all others are ragged uint8, unchanged. Pickles are not loaded. Plain shards are read in any
    order; if a shard is compressed (zstd, gz), the dataset is a stream that decompresses one shard
    after the other.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        columns (list of str, found in the files if left out): Columns to read, each
            [NAME=]COLUMN[:TYPE]: 'label:int64', 'image' (bytes), 'x:float32[?,3]'; if left out, all
            columns of the first shard.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of columns: A column: numbers with the dtype of the column, arrays with the
            shape of the field, everything else as ragged uint8.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "",
    *,
    skip_header_lines: int = 0,
    keep_blank_lines: bool = False,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads the lines of text files as bytes.

    Lines end with LF or CRLF, which are not part of the output; the last line of a file may have no
    line end. Blank lines and empty files are skipped. A line never continues in the next file. The
    bytes are not decoded, whatever their encoding; a UTF-8 byte order mark at the beginning of a
    file is skipped.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        skip_header_lines (int, default 0, in [0, 1000000000]): How many lines to skip at the
            beginning of each file, including blank lines.
        keep_blank_lines (bool, default False): Whether empty lines, and lines of only spaces and
            tabs, are records too.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The bytes of each line without its end, uint8 of shape (batch, None).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "", *, skip_header_lines: int = 0,
    keep_blank_lines: bool = False, with_mask: Literal[False] = False, with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "", *, skip_header_lines: int = 0,
    keep_blank_lines: bool = False, with_mask: Literal[True], with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "", *, skip_header_lines: int = 0,
    keep_blank_lines: bool = False, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "", *, skip_header_lines: int = 0,
    keep_blank_lines: bool = False, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

def CSVReader(
    data_dir: str | PathLike[str] = "",
    *,
    columns: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    delimiter: str | PathLike[str] = ",",
    quote: str | PathLike[str] = "\"",
    comment: str | PathLike[str] = "",
    header: Literal["auto", "yes", "no"] = "auto",
    skip_header_lines: int = 0,
    missing: str | PathLike[str] | Sequence[str | PathLike[str]] = ('NA', 'N/A', 'NaN', 'nan', 'null', 'NULL'),
    uneven_rows: Literal["raise", "allow"] = "raise",
    multiline: bool = False,
    strict_numbers: bool = False,
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs:
    """Reads columns of CSV files and of other delimited text.

    Each element of columns becomes an output. Its type is float64 unless the element gives another
    one: bool, an integer, float32, or bytes, which are not changed. Several columns become one
    array. A field that begins with the quote ends at the next one, and two quotes inside it mean
    one. Spaces and tabs around a number are allowed. A missing value without a default, and a row
    with more or fewer fields than the header, are errors. Blank lines, empty files and a UTF-8 byte
    order mark are skipped.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        columns (list of str, found in the files if left out): The columns to read, one output each:
            [NAME=]KEY[:TYPE][=DEFAULT]. KEY is a column's name or number, a range such as 1..64, or
            several of these separated by |, for one array. Left out, they are all columns, with the
            types that the first rows have.
        delimiter (str, default ','): The byte between two fields.
        quote (str, default '"'): The byte that encloses fields with delimiters in them; empty:
            quotes are text.
        comment (str, default ''): The text with which lines begin that are not rows, such as
            comments; empty: every line is a row.
        header (str, default 'auto', one of 'auto', 'yes', 'no'): Whether each file begins with a
            row of names; auto: yes if a column is asked for by name.
        skip_header_lines (int, default 0, in [0, 1000000000]): How many lines to skip at the
            beginning of each file, before the header.
        missing (list of str, default ('NA', 'N/A', 'NaN', 'nan', 'null', 'NULL')): Texts that mean
            a missing value, as an empty field does; the column's default replaces them.
        uneven_rows (str, default 'raise', one of 'raise', 'allow'): Whether rows may have fewer
            fields than the header, which are then missing values, or more, which are ignored.
        multiline (bool, default False): Whether quoted fields may contain line ends.
        strict_numbers (bool, default False): Whether a number is an error that another type would
            keep better: an integer written with a plus sign or with zeros in front, as 007; -0 as
            an integer; an integer of more digits than float64 holds, or a number beyond its range,
            as floats.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of columns: The column or columns of the element, one row for each row of the
            file.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

@overload
def CSVCellTypes(
    *in_: Blob,
    missing: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blob:
    """Says which numbers the cells of a CSV file are, to find the types of its columns: the types of
    all cells of a column, as bits, say which dtype holds them.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The cells, a column for each input, uint8
            (None,).
        missing (list of str, default ()): Cells that are missing values, besides empty ones.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: For each cell the sum of what it is: 1 missing, 2 text, 4 a float, 8 an integer from 0
            to 2**63 - 1, 16 one from -2**63 to -1, 32 one from 2**63 to 2**64 - 1, 64 another
            integer, 128 an integer that float64 may not hold, 256 a finite float beyond float64;
            uint16 (columns,).
    """
    ...
@overload
def CSVCellTypes(
    *in_: _Row, missing: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def CSVCellTypes(
    *in_: _Rows, missing: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def CSVEncoder(
    *in_: Blob,
    delimiter: str | PathLike[str] = ",",
    name: str | None = None,
) -> Blob:
    """Encodes the fields of each row as a line of a CSV file.

    Numbers are the shortest text that reads as the same number; text is quoted where needed. The
    lines one after another are a file without a header, which CSVReader reads.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields. Rows of bytes, uint8 (None,),
            are one cell; other rows have a cell for each of their numbers, in row-major order.
        delimiter (str, default ','): One ASCII character between two cells, which is not a part of
            numbers.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each line, with the newline at its end, uint8 (None,).
    """
    ...
@overload
def CSVEncoder(
    *in_: _Row, delimiter: str | PathLike[str] = ",", name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def CSVEncoder(
    *in_: _Rows, delimiter: str | PathLike[str] = ",", name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def MiniDecoder(
    in_: Blob,
    *,
    name: str | None = None,
) -> tuple[Blob, Blob]:
    """Splits rows of two numbers into a column x and a column y.

    The numbers are copied bit for bit.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of two numbers, float32 or float64 of shape (batch,
            2).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        x: The first number of each row, shape (batch, 1), dtype as the input.
        y: The second number of each row, shape (batch, 1), dtype as the input.
    """
    ...
@overload
def MiniDecoder(
    in_: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[_Array, _Array]: ...
@overload
def MiniDecoder(
    in_: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[list[_Array], list[_Array]]: ...

@overload
def Affine(
    in_: Blob,
    *,
    scale: float | Sequence[float] | NDArray[Any] = (1.0,),
    shift: float | Sequence[float] | NDArray[Any] = (0.0,),
    dtype: DTypeLike = "float64",
    axis: int = -1,
    name: str | None = None,
) -> Blob:
    """Computes in * scale + shift for each number.

    The arithmetic is float64: first the product is rounded, then the sum, and then the result is
    converted to dtype. A list has a number for each channel.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Numbers of any dtype and shape, dense or ragged.
        scale (list of float, default (1.0,)): The factor: one number, or one for each channel.
        shift (list of float, default (0.0,)): Added after the multiplication: one number, or one
            for each channel.
        dtype (dtype, default 'float64', one of 'float16', 'float32', 'float64', 'bfloat16'): The
            dtype of the output.
        axis (int, default -1, in [-8, 7]): Which dimension of a row has the channels; -1 is the
            last one.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The scaled numbers, with the shape of the input.
    """
    ...
@overload
def Affine(
    in_: _Row, *, scale: float | Sequence[float] | NDArray[Any] = (1.0,),
    shift: float | Sequence[float] | NDArray[Any] = (0.0,), dtype: DTypeLike = "float64",
    axis: int = -1, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Affine(
    in_: _Rows, *, scale: float | Sequence[float] | NDArray[Any] = (1.0,),
    shift: float | Sequence[float] | NDArray[Any] = (0.0,), dtype: DTypeLike = "float64",
    axis: int = -1, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_crc: bool = True,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads the records of TensorFlow's TFRecord files as bytes.

    Both checksums of a record are checked. A damaged length, or a file that ends inside a record,
    is an error of the file when it is opened, because the records after it cannot be found. Damaged
    bytes are an error of one record, which on_error can skip. An empty file has no records.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        check_crc (bool, default True): Whether each record's bytes are compared with their
            checksum; its length always is.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The bytes of each record, ragged uint8; ExampleDecoder takes them apart.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "", *, check_crc: bool = True,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "", *, check_crc: bool = True, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "", *, check_crc: bool = True, with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "", *, check_crc: bool = True, with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def ExampleDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise",
    name: str | None = None,
) -> Blobs:
    """Decodes tf.train.Examples, with one output for each field.

    A float dtype reads a float_list, bool and integers an int64_list. A number outside the range of
    the dtype is an error, for example 2 for a bool. A missing feature gets its default; without a
    default it is an error, or an empty row if the number of values varies. Other features are
    skipped. Records are read by the rules of the protobuf library: of equal keys the last one
    counts, numbers may be packed or not.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Records as bytes, uint8 of one dimension, as
            TFRecordReader gives them.
        features (list of str, found in the files if left out): The features to read, each as
            [NAME=]KEY:TYPE[=DEFAULT]: 'x:float32[64]' has a fixed number of values, 'ids:int64[?]'
            any number, 'image/encoded:bytes' one byte string. Left out, they are all features that
            the first records have, in the order of their names.
        decode_raw (list of str, default ()): The names of those fields whose feature is one byte
            string of little-endian numbers of the field's dtype.
        on_mismatch (str, default 'raise', one of 'raise', 'pad', 'truncate', 'fit'): How to handle
            a feature with another number of values than its shape has: raise an error, pad short
            ones with the default or 0, truncate long ones, or do both (fit).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: One output for each field, in the order of features.
    """
    ...
@overload
def ExampleDecoder(
    in_: _Row | _Rows, *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise", name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> Any: ...

@overload
def SequenceExampleDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise",
    name: str | None = None,
) -> Blobs:
    """Decodes tf.train.SequenceExamples, with one output for each field.

    Features of the context are read like those of ExampleDecoder. The prefix feature_lists/ before
    a key means a list of steps: the first dimension of its shape counts the steps, and all steps
    have the same number of values.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Records as bytes, uint8 of one dimension, as
            TFRecordReader gives them.
        features (list of str, required): The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]:
            'label:int64' is one of the context, 'frames=feature_lists/frames:float32[?,3]' a list
            of steps with three values each; a list that may be missing ends with '='.
        decode_raw (list of str, default ()): The names of those fields whose features are one byte
            string, of each step, with little-endian numbers of the field's dtype.
        on_mismatch (str, default 'raise', one of 'raise', 'pad', 'truncate', 'fit'): How to handle
            a feature, or of the steps of a list, with another number of values than the shape has:
            raise an error, pad short ones with the default or 0, truncate long ones, or do both
            (fit).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: One output for each field, in the order of features.
    """
    ...
@overload
def SequenceExampleDecoder(
    in_: _Row | _Rows, *, features: str | PathLike[str] | Sequence[str | PathLike[str]],
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise", name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> Any: ...

@overload
def ExampleEncoder(
    *in_: Blob,
    names: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None,
) -> Blob:
    """Encodes the fields of each row as a tf.train.Example.

    ExampleDecoder reads it. TFRecordFrame makes records of a file of it.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields. Rows of uint8 are byte
            strings; other rows are lists of their numbers, in row-major order: float64 needs a Cast
            to float32.
        names (list of str, required): The name of the feature that each input becomes, in their
            order.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each message, uint8 (None,).
    """
    ...
@overload
def ExampleEncoder(
    *in_: _Row, names: str | PathLike[str] | Sequence[str | PathLike[str]], name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ExampleEncoder(
    *in_: _Rows, names: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def TFRecordFrame(
    in_: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Puts the frame of a TFRecord file around records: a length, its checksum, the bytes, and their
    checksum.

    The rows one after another are a file, which TFRecordReader reads.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): The bytes of each record, uint8 (None,).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each record with its frame, uint8 (None,).
    """
    ...
@overload
def TFRecordFrame(
    in_: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def TFRecordFrame(
    in_: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Cast(
    in_: Blob,
    *,
    dtype: DTypeLike,
    overflow: Literal["raise", "wrap", "saturate"] = "raise",
    name: str | None = None,
) -> Blob:
    """Changes the dtype.

    Numbers are rounded to the nearest float, ties to even. Floats lose their fraction when they
    become integers. All numbers except 0 are true. With overflow='wrap' and 'saturate' NaN becomes
    0 in an integer dtype; with 'wrap' infinity does too.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of any dtype and shape, dense or ragged.
        dtype (dtype, required): The dtype of the output.
        overflow (str, default 'raise', one of 'raise', 'wrap', 'saturate'): How to convert a number
            that the dtype cannot hold: an error of its row, the low bits of the integer (infinity
            in a float dtype), or the nearest number that the dtype has.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The same numbers, with the shape of the input.
    """
    ...
@overload
def Cast(
    in_: _Row, *, dtype: DTypeLike, overflow: Literal["raise", "wrap", "saturate"] = "raise",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Cast(
    in_: _Rows, *, dtype: DTypeLike, overflow: Literal["raise", "wrap", "saturate"] = "raise",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Concat(
    *in_: Blob,
    axis: int = 0,
    name: str | None = None,
) -> Blob:
    """Joins the rows of several blobs, for example columns of numbers into one vector per row.

    If dimensions vary, rows whose sizes do not match count as damaged.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): Rows of one dtype, dense or ragged, with
            equal dimensions except one; a number counts as a row of one number.
        axis (int, default 0, in [-8, 7]): The dimension of a row along which rows are joined; -1 is
            the last one.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The rows joined, in the order of the inputs.
    """
    ...
@overload
def Concat(
    *in_: _Row, axis: int = 0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Concat(
    *in_: _Rows, axis: int = 0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def DecodeClass(
    in_: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Parses the text of each row as a decimal integer, such as a class number.

    Blanks and newlines around it are ignored; any other text counts as damaged.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Numbers, int64, one per row.
    """
    ...
@overload
def DecodeClass(
    in_: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def DecodeClass(
    in_: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def DecodeNpy(
    in_: Blob,
    *,
    dtype: DTypeLike,
    shape: Sequence[int | None] | NDArray[Any],
    name: str | None = None,
) -> Blob:
    """Decodes each row as the bytes of a .npy file, as numpy.save writes it.

    An array with another dtype or shape counts as damaged; so does one with too few or too many
    bytes. Both byte orders, and C and Fortran order, are accepted.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        dtype (dtype, required): The dtype of every array.
        shape (shape, required, at least -1): The shape of every array, empty for a number; -1, or
            None in Python, for a dimension that varies.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The arrays; ragged where a dimension varies.
    """
    ...
@overload
def DecodeNpy(
    in_: _Row, *, dtype: DTypeLike, shape: Sequence[int | None] | NDArray[Any],
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def DecodeNpy(
    in_: _Rows, *, dtype: DTypeLike, shape: Sequence[int | None] | NDArray[Any],
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def DecodeRaw(
    in_: Blob,
    *,
    dtype: DTypeLike,
    shape: Sequence[int | None] | NDArray[Any] = (-1,),
    byte_order: Literal["little", "big"] = "little",
    name: str | None = None,
) -> Blob:
    """Reads the bytes of each row as numbers.

    A row whose size does not fit dtype and shape counts as damaged. With bool, every byte other
    than 0 is true.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        dtype (dtype, required): The dtype of the numbers in the bytes.
        shape (shape, default (-1,), at least -1): The shape of a row, empty for a number. A first
            dimension of -1, or None in Python, is computed from the number of bytes, and may vary
            from row to row.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number comes
            first.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The numbers; ragged if the first dimension varies.
    """
    ...
@overload
def DecodeRaw(
    in_: _Row, *, dtype: DTypeLike, shape: Sequence[int | None] | NDArray[Any] = (-1,),
    byte_order: Literal["little", "big"] = "little", name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def DecodeRaw(
    in_: _Rows, *, dtype: DTypeLike, shape: Sequence[int | None] | NDArray[Any] = (-1,),
    byte_order: Literal["little", "big"] = "little", name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def OneHot(
    in_: Blob,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Blob:
    """Makes a vector of each class number, with on_value at its index and off_value at all others.

    A number outside [0, depth) is an error of its row.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Class numbers from 0: integers of any shape, dense or
            ragged.
        depth (int, required, at least 1): The number of classes.
        on_value (float, default 1.0): The value at the index of the class.
        off_value (float, default 0.0): The value at all other indices.
        dtype (dtype, default 'float32'): The dtype of the output.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The vectors: the shape of the input, then a dimension of depth.
    """
    ...
@overload
def OneHot(
    in_: _Row, *, depth: int, on_value: float = 1.0, off_value: float = 0.0,
    dtype: DTypeLike = "float32", name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OneHot(
    in_: _Rows, *, depth: int, on_value: float = 1.0, off_value: float = 0.0,
    dtype: DTypeLike = "float32", name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Pad(
    in_: Blob,
    *,
    shape: Sequence[int] | NDArray[Any],
    value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise",
    with_mask: Literal[False] = False,
    with_length: Literal[False] = False,
    name: str | None = None,
) -> Blob:
    """Makes rows of different sizes rows of one shape.

    Rows that are too short are padded with a value. A row that is too long is an error, or is cut
    if on_longer is truncate.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of one dimension or more, of any dtype, dense or
            ragged.
        shape (shape, required, at least 0): The shape of every row.
        value (float, default 0.0): The value of the padding.
        on_longer (str, default 'raise', one of 'raise', 'truncate'): How to handle a row that is
            longer: raise an error of the row, or use only its beginning.
        with_mask (bool, default False): Whether the output mask is returned too.
        with_length (bool, default False): Whether the output length is returned too.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: Rows of the given shape: the row first, then the padding.
        mask (only with with_mask=True): Bool: false for padding. It has the dimensions up to the
            last one that is padded.
        length (only with with_length=True): The sizes of the row, int64, along the dimensions of
            the mask; one number if the mask has one dimension.
    """
    ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int] | NDArray[Any], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: Literal[False] = False,
    with_length: Literal[True], name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int] | NDArray[Any], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: Literal[True],
    with_length: Literal[False] = False, name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int] | NDArray[Any], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: Literal[True],
    with_length: Literal[True], name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int] | NDArray[Any], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: bool = False,
    with_length: bool = False, name: str | None = None,
) -> Blobs: ...
@overload
def Pad(
    in_: _Row | _Rows, *, shape: Sequence[int] | NDArray[Any], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: bool = False,
    with_length: bool = False, name: str | None = None, **on_rows: Unpack[OnRows],
) -> Any: ...

@overload
def PadBatch(
    in_: Blob,
    *,
    value: float = 0.0,
    multiple_of: int = 1,
    with_mask: Literal[False] = False,
    with_length: Literal[False] = False,
    name: str | None = None,
) -> Blob:
    """Pads the rows of each batch to the largest of its rows.

    The batch is the part of this rank. The size differs from batch to batch, so the output is a
    Ragged; because its rows have one shape, its attribute dense is the array (rows, longest, ...),
    without a copy. Pad makes the same size for all batches.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Ragged rows of any dtype.
        value (float, default 0.0): The value of the padding.
        multiple_of (int, default 1, at least 1): Dimensions that vary are rounded up to a multiple
            of this.
        with_mask (bool, default False): Whether the output mask is returned too.
        with_length (bool, default False): Whether the output length is returned too.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: Rows of one shape: the row first, then the padding.
        mask (only with with_mask=True): Bool: false for padding. It has the dimensions up to the
            last one that varies.
        length (only with with_length=True): The sizes of the row, int64, along the dimensions of
            the mask; one number if the mask has one dimension.
    """
    ...
@overload
def PadBatch(
    in_: Blob, *, value: float = 0.0, multiple_of: int = 1, with_mask: Literal[False] = False,
    with_length: Literal[True], name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def PadBatch(
    in_: Blob, *, value: float = 0.0, multiple_of: int = 1, with_mask: Literal[True],
    with_length: Literal[False] = False, name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def PadBatch(
    in_: Blob, *, value: float = 0.0, multiple_of: int = 1, with_mask: Literal[True],
    with_length: Literal[True], name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def PadBatch(
    in_: Blob, *, value: float = 0.0, multiple_of: int = 1, with_mask: bool = False,
    with_length: bool = False, name: str | None = None,
) -> Blobs: ...
@overload
def PadBatch(
    in_: _Row | _Rows, *, value: float = 0.0, multiple_of: int = 1, with_mask: bool = False,
    with_length: bool = False, name: str | None = None, **on_rows: Unpack[OnRows],
) -> Any: ...

@overload
def RecordEncoder(
    *in_: Blob,
    name: str | None = None,
) -> Blob:
    """Makes one record of bytes of the fields of each row, as CacheReader reads it.

    Dataset.cache() uses it.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields: any blobs of one reader or
            data set.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of the record, a multiple of 8.
    """
    ...
@overload
def RecordEncoder(
    *in_: _Row, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RecordEncoder(
    *in_: _Rows, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RowLength(
    in_: Blob,
    *,
    axis: int = 0,
    name: str | None = None,
) -> Blob:
    """The length of each row along a dimension, such as the number of its tokens.

    The elements are not looked at: where rows are parts of a file, these are not read.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of any dtype, dense or ragged.
        axis (int, default 0, in [-8, 7]): The dimension of a row that is measured; -1 is the last
            one.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The length of the row, int64.
    """
    ...
@overload
def RowLength(
    in_: _Row, *, axis: int = 0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RowLength(
    in_: _Rows, *, axis: int = 0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Slice(
    in_: Blob,
    *,
    start: Sequence[int] | NDArray[Any] = (),
    stop: Sequence[int] | NDArray[Any] = (),
    step: Sequence[int] | NDArray[Any] = (),
    axes: Sequence[int] | NDArray[Any] = (),
    name: str | None = None,
) -> Blob:
    """Takes a part of each row, like NumPy's row[start:stop:step].

    A list has one number for each dimension that is sliced: Slice(x, start=[0, 2], stop=[5, 4]) is
    row[0:5, 2:4]. As in NumPy a slice ends where the row ends, so it may be shorter than requested,
    or empty.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of one dimension or more, of any dtype, dense or
            ragged.
        start (list of int, default ()): The index at which each slice begins, counted from the end
            if negative; if left out, the beginning.
        stop (list of int, default ()): The index before which each slice ends, at most the end of
            the row; if left out, the end.
        step (list of int, default ()): The step from element to element, backwards if negative; if
            left out, 1.
        axes (list of int, default (), in [-8, 7]): The dimensions that are sliced; -1 is the last
            one. If left out, the first ones.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The parts; a dimension that varies in the input varies here too.
    """
    ...
@overload
def Slice(
    in_: _Row, *, start: Sequence[int] | NDArray[Any] = (), stop: Sequence[int] | NDArray[Any] = (),
    step: Sequence[int] | NDArray[Any] = (), axes: Sequence[int] | NDArray[Any] = (),
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Slice(
    in_: _Rows, *, start: Sequence[int] | NDArray[Any] = (),
    stop: Sequence[int] | NDArray[Any] = (), step: Sequence[int] | NDArray[Any] = (),
    axes: Sequence[int] | NDArray[Any] = (), name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RawReader(
    data_dir: str | PathLike[str] = "",
    *,
    shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0,
    footer_bytes: int = 0,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads flat binary files of rows of one dtype and shape, back to back.

    numpy.ndarray.tofile() writes such files. Without its header and footer, each file must be a
    whole number of rows; otherwise opening fails. The place of a record is computed, so no index is
    needed.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        shape (shape, required): Shape of one row, for example "3,32,32"; empty for one number per
            record.
        dtype (dtype, default 'uint8'): The dtype of the stored numbers; for bool, every byte other
            than 0 is true.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number is stored
            first: with little the lowest, as x86 and ARM machines write them; with big the highest.
        header_bytes (int, default 0, at least 0): How many bytes to skip at the beginning of each
            file.
        footer_bytes (int, default 0, at least 0): How many bytes to skip at the end of each file.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The rows, with the dtype and shape of the attrs.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike = "uint8", byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0, footer_bytes: int = 0, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike = "uint8", byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0, footer_bytes: int = 0, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike = "uint8", byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0, footer_bytes: int = 0, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike = "uint8", byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0, footer_bytes: int = 0, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None,
    byte_order: Literal["little", "big"] | None = None,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads .npy files of NumPy along their first axis: a record is array[i].

    The arrays have numbers or bools, are in C order, and have one dtype and row shape; their
    lengths may differ. Attrs that are left out are inferred from the header of the first file; each
    header is checked against the attrs when the loader opens. The place of a record is computed, so
    no index is needed. Compressed files are decompressed into memory as a whole.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        dtype (dtype, found in the files if left out): The dtype of the arrays, the same in every
            file. In an array of bools, every byte other than 0 is true.
        shape (shape, found in the files if left out): Shape of one row: the shape of the array
            without its first axis, the same in every file.
        byte_order (str, found in the files if left out, one of 'little', 'big'): Which byte of a
            number is stored first, the same in every file.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The rows of the arrays, with the dtype and shape of the attrs.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None,
    byte_order: Literal["little", "big"] | None = None, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None,
    byte_order: Literal["little", "big"] | None = None, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None,
    byte_order: Literal["little", "big"] | None = None, with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None,
    byte_order: Literal["little", "big"] | None = None, with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def OFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads OneFlow's OFRecord files: messages of named lists, each after its length.

    The format has no checksums: a wrong length is detected when the file is indexed, a damaged
    message when a decoder reads it, and changed numbers are not detected.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The bytes of each message, uint8 of shape (batch, None), for the OFRecord decoders.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def OFRecordReader(
    data_dir: str | PathLike[str] = "", *, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def OFRecordReader(
    data_dir: str | PathLike[str] = "", *, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def OFRecordReader(
    data_dir: str | PathLike[str] = "", *, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def OFRecordReader(
    data_dir: str | PathLike[str] = "", *, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def OFRecordRawDecoder(
    in_: Blob,
    *,
    blob_name: str | PathLike[str],
    shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike,
    dim1_varying_length: bool = False,
    truncate: bool = False,
    auto_zero_padding: bool = False,
    name: str | None = None,
) -> Blob:
    """Takes a feature out of each OFRecord as numbers.

    The feature is a list of floats, doubles or integers, or a bytes_list of one value, whose bytes
    are numbers from 0 to 255. Floats that become integers lose their fraction; doubles too large
    for float32 become infinite. Values that are cut off are checked too.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Messages as OFRecordReader gives them, uint8 of shape
            (batch, None).
        blob_name (str, required): Name of the feature in the record; OneFlow's op calls this attr
            name.
        shape (shape, required): Shape of a row of the output; empty for one number.
        dtype (dtype, required, one of 'bool', 'int8', 'uint8', 'int16', 'uint16', 'int32',
            'uint32', 'int64', 'uint64', 'float32', 'float64'): The dtype of the output. A number
            outside the range of an integer dtype counts as damage; so does an integer other than 0
            and 1 for a bool.
        dim1_varying_length (bool, default False): Whether a record may have fewer rows along the
            first dimension of the shape; the missing rows are zero.
        truncate (bool, default False): Whether a record may have any number of values: surplus
            values are cut off, and missing ones are zero.
        auto_zero_padding (bool, default False): A former name of truncate.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The numbers of each record's feature, with the dtype and shape of the attrs.
    """
    ...
@overload
def OFRecordRawDecoder(
    in_: _Row, *, blob_name: str | PathLike[str], shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike, dim1_varying_length: bool = False, truncate: bool = False,
    auto_zero_padding: bool = False, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OFRecordRawDecoder(
    in_: _Rows, *, blob_name: str | PathLike[str], shape: Sequence[int] | NDArray[Any],
    dtype: DTypeLike, dim1_varying_length: bool = False, truncate: bool = False,
    auto_zero_padding: bool = False, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def OFRecordBytesDecoder(
    in_: Blob,
    *,
    blob_name: str | PathLike[str],
    name: str | None = None,
) -> Blob:
    """Takes a feature of bytes out of each OFRecord, for example an encoded image.

    The feature must be a bytes_list of one value. The bytes are not copied until a batch is
    delivered.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Messages as OFRecordReader gives them, uint8 of shape
            (batch, None).
        blob_name (str, required): Name of the feature in the record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each record's feature, uint8 of shape (batch, None).
    """
    ...
@overload
def OFRecordBytesDecoder(
    in_: _Row, *, blob_name: str | PathLike[str], name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OFRecordBytesDecoder(
    in_: _Rows, *, blob_name: str | PathLike[str], name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def OFRecordImageDecoder(
    in_: Blob,
    *,
    blob_name: str | PathLike[str],
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "BGR",
    apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error",
    max_pixels: int = 178956970,
    name: str | None = None,
) -> Blob:
    """Decodes the image in a feature of each OFRecord.

    It is OFRecordBytesDecoder and ImageDecoder in one, with OneFlow's name and its order of
    colours, BGR.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Messages as OFRecordReader gives them, uint8 of shape
            (batch, None).
        blob_name (str, required): Name of the feature in the record, a bytes_list of one value.
        color_space (str, default 'BGR', one of 'RGB', 'BGR', 'GRAY', 'RGBA'): The channels of a
            pixel. GRAY has the weights of ITU-R 601, and of JPEG the stored luminance; an alpha
            channel is dropped but for RGBA, and 255 where there is none.
        apply_orientation (bool, default False): Whether images are turned and mirrored as the EXIF
            tag Orientation says, as Pillow's ImageOps.exif_transpose() does; sizes are then those
            of the turned image.
        incomplete (str, default 'error', one of 'error', 'fill'): What to do with an image of which
            pixels are lost, since its bytes end early or are damaged: with 'error' the row is
            damaged; with 'fill' it has what could be decoded, and gray (JPEG) or 0 in place of the
            rest. Of JPEG, pixels are lost by data that end before their time, bad codes, missing
            restart markers and scans in a wrong order; not by bytes between segments, an absent end
            marker and the other things that libjpeg warns of. Of PNG, a wrong checksum is damage.
        max_pixels (int, default 178956970, at least 1): An image with more pixels is damaged, which
            keeps a few wrong bytes from asking for much memory. The default is Pillow's limit.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images, uint8 (height, width, channels), of any height and width.
    """
    ...
@overload
def OFRecordImageDecoder(
    in_: _Row, *, blob_name: str | PathLike[str],
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "BGR", apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error", max_pixels: int = 178956970,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OFRecordImageDecoder(
    in_: _Rows, *, blob_name: str | PathLike[str],
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "BGR", apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error", max_pixels: int = 178956970,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def OFRecordImageDecoderRandomCrop(
    in_: Blob,
    *,
    blob_name: str | PathLike[str],
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "BGR",
    apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error",
    max_pixels: int = 178956970,
    random_area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.333333),
    num_attempts: int = 10,
    name: str | None = None,
) -> Blob:
    """Decodes a random window of the image in a feature of each OFRecord.

    Area and aspect ratio are drawn until the window fits, as RandomResizedCrop does; its place is
    uniform. No more of a JPEG image is decoded than the window needs. Colours are in the order BGR
    unless color_space says another. The draws depend on seed, epoch, name of the op and record
    alone, so OneFlow's attrs seed and has_seed are not here.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Messages as OFRecordReader gives them, uint8 of shape
            (batch, None).
        blob_name (str, required): Name of the feature in the record, a bytes_list of one value.
        color_space (str, default 'BGR', one of 'RGB', 'BGR', 'GRAY', 'RGBA'): The channels of a
            pixel. GRAY has the weights of ITU-R 601, and of JPEG the stored luminance; an alpha
            channel is dropped but for RGBA, and 255 where there is none.
        apply_orientation (bool, default False): Whether images are turned and mirrored as the EXIF
            tag Orientation says, as Pillow's ImageOps.exif_transpose() does; sizes are then those
            of the turned image.
        incomplete (str, default 'error', one of 'error', 'fill'): What to do with an image of which
            pixels are lost, since its bytes end early or are damaged: with 'error' the row is
            damaged; with 'fill' it has what could be decoded, and gray (JPEG) or 0 in place of the
            rest. Of JPEG, pixels are lost by data that end before their time, bad codes, missing
            restart markers and scans in a wrong order; not by bytes between segments, an absent end
            marker and the other things that libjpeg warns of. Of PNG, a wrong checksum is damage.
        max_pixels (int, default 178956970, at least 1): An image with more pixels is damaged, which
            keeps a few wrong bytes from asking for much memory. The default is Pillow's limit.
        random_area (list of float, default (0.08, 1.0), in [0, 1]): Range of the window's area as a
            part of the image's, [min, max].
        random_aspect_ratio (list of float, default (0.75, 1.333333), in [0, 1000000]): Range of the
            window's width / height, [min, max].
        num_attempts (int, default 10, in [0, 1000]): How often a window is drawn until one fits
            into the image; after that it is the largest one in the middle.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images, uint8 (height, width, channels), of any height and width.
    """
    ...
@overload
def OFRecordImageDecoderRandomCrop(
    in_: _Row, *, blob_name: str | PathLike[str],
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "BGR", apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error", max_pixels: int = 178956970,
    random_area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.333333),
    num_attempts: int = 10, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OFRecordImageDecoderRandomCrop(
    in_: _Rows, *, blob_name: str | PathLike[str],
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "BGR", apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error", max_pixels: int = 178956970,
    random_area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.333333),
    num_attempts: int = 10, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def OFRecordEncoder(
    *in_: Blob,
    names: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None,
) -> Blob:
    """Encodes the fields of each row as an OFRecord of OneFlow.

    OFRecordRawDecoder and OFRecordBytesDecoder read it. OFRecordFrame makes records of a file of
    it.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields. Rows of uint8 are byte
            strings; other rows are lists of their numbers, in row-major order: int32 and float64
            are kept as they are.
        names (list of str, required): The name of the feature that each input becomes, in their
            order.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each message, uint8 (None,).
    """
    ...
@overload
def OFRecordEncoder(
    *in_: _Row, names: str | PathLike[str] | Sequence[str | PathLike[str]], name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OFRecordEncoder(
    *in_: _Rows, names: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def OFRecordFrame(
    in_: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Puts the frame of an OFRecord file around records: a length of 8 bytes, and the bytes.

    The rows one after another are a file, which OFRecordReader reads.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): The bytes of each record, uint8 (None,).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each record with its frame, uint8 (None,).
    """
    ...
@overload
def OFRecordFrame(
    in_: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def OFRecordFrame(
    in_: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def IDXReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None,
    label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads IDX files, the format of MNIST and its relatives: arrays of one dtype and shape.

    With labels, record i has array i of an image file and label i of its label file. Dtypes and
    shapes that are left out are inferred from the headers of the first files. Headers are checked
    against the attrs, and the numbers of images and labels against each other, when the loader
    opens. Compressed files are decompressed into memory as a whole. EMNIST stores its images
    transposed; they are not turned.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        labels (list of str, default ()): Files of labels, paths or patterns: one for each file of
            images, in the same order.
        dtype (dtype, found in the files if left out, one of 'uint8', 'int8', 'int16', 'int32',
            'float32', 'float64'): The dtype of the images, the same in every file.
        shape (shape, found in the files if left out): Shape of one image, the same in every file.
        label_dtype (dtype, found in the files if left out, one of 'uint8', 'int8', 'int16',
            'int32', 'float32', 'float64'): The dtype of the labels.
        label_shape (shape, found in the files if left out): Shape of one label: empty for a number;
            the labels of QMNIST are int32 of shape 8.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        images: The arrays, with the dtype and shape of the attrs, in the byte order of this
            machine.
        labels (only with labels): The label of each array.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None, with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[False] = False,
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | NDArray[Any] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | NDArray[Any] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]] = (), with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "",
    *,
    version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW",
    with_coarse_label: Literal[False] = False,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]:
    """Reads the binary version of CIFAR-10 and CIFAR-100.

    Files may have any number of records. A label outside the classes is reported as damage. Changed
    pixels cannot be detected, because the format has no checksums.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        version (int, found in the files if left out, in [10, 100]): The data set: 10 for CIFAR-10,
            100 for CIFAR-100. If left out, it is inferred from the size of the first file, if that
            fits only one of them.
        layout (str, default 'CHW', one of 'CHW', 'HWC'): Axes of an image: CHW is (3, 32, 32), the
            order in the file; HWC is (32, 32, 3).
        with_coarse_label (bool, default False): Whether to return the output coarse_label too; only
            CIFAR-100 has it.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        image: The images, uint8, with the channels red, green and blue.
        label: The class of each image, uint8: one of 10, or the fine label of 100.
        coarse_label (only with with_coarse_label=True): The group of the class, uint8: one of the
            20 of CIFAR-100.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[False] = False,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[False] = False,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[False] = False,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[True],
    with_mask: Literal[False] = False, with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[True],
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[True],
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: Literal[True],
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob, Blob]: ...
@overload
def CIFARReader(
    data_dir: str | PathLike[str] = "", *, version: int | None = None,
    layout: Literal["CHW", "HWC"] = "CHW", with_coarse_label: bool = False, with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def OneRecReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_digest: bool = True,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads OneRec files, an older format of OneFlow: messages in frames with digests.

    Each frame has an XXH64 digest of its header, which is checked whenever the frame is looked up,
    and one of its payload, which is checked when the payload is read. A damaged payload is an error
    of one record, a damaged header an error of the file.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        check_digest (bool, default True): Whether to check the digest of each payload; the digest
            of each header is always checked.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The bytes of each payload, uint8 of shape (batch, None), for OneRecDecoder.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def OneRecReader(
    data_dir: str | PathLike[str] = "", *, check_digest: bool = True,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def OneRecReader(
    data_dir: str | PathLike[str] = "", *, check_digest: bool = True, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def OneRecReader(
    data_dir: str | PathLike[str] = "", *, check_digest: bool = True, with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def OneRecReader(
    data_dir: str | PathLike[str] = "", *, check_digest: bool = True, with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def OneRecDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None,
) -> Blobs:
    """Takes features out of OneRec messages, one output for each.

    Numbers have the dtype with which they are stored and are not cast; bytes are int8 numbers, or
    one string or binary. A feature that a record does not have counts as damage, unless it has a
    default: one number, which fills the row, or nothing, for an empty row of varying size.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Messages as OneRecReader gives them, uint8 of shape
            (batch, None).
        features (list of str, required): The features, each [NAME=]KEY:TYPE[=DEFAULT]:
            "label:int64", "x:float32[64]", "ids:int64[?]", "image=img:bytes", "w:float32=1".
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: The features in the order of the attr features, each of its type.
    """
    ...
@overload
def OneRecDecoder(
    in_: _Row | _Rows, *, features: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> Any: ...

def TarReader(
    data_dir: str | PathLike[str] = "",
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    index_files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs:
    """Reads tar files of samples as WebDataset packs them.

    Consecutive files with the same key are a sample: the key is the path up to the first dot of the
    file's name, the extension is the rest after that dot, in lower case. Entries other than files,
    names that begin with a dot or have none, and names like __this__ are skipped. ustar, GNU and
    pax headers are read.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        fields (list of str, found in the files if left out): The outputs. Each is the extension of
            a sample's file, without the dot after the key: 'jpg', 'image=jpg|png',
            'note=txt:bytes=' with an empty default, 'key=__key__'. If left out, the key and the
            extensions of the first samples.
        index_files (list of str, default ()): Index files of DALI, one for each file, which are
            compared with the files.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of fields: The bytes of a file of each sample, or its key.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

@overload
def MegatronReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike | None = None,
    unit: Literal["document", "sequence"] = "document",
    gaps: bool = False,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads documents of tokens from .bin and .idx files of Megatron-LM.

    One of the two is given, and the other one must be in the same folder. Both versions of the .idx
    are read. When the reader opens, it compares each entry of the .idx with the .bin.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        dtype (dtype, found in the files if left out, one of 'int8', 'uint8', 'int16', 'uint16',
            'int32', 'uint32', 'int64', 'uint64'): The dtype of the rows: the dtype of the files, or
            one that can hold all of its values.
        unit (str, default 'document', one of 'document', 'sequence'): What a record is: a document,
            or one of its sequences, for example a sentence; usually a document is one sequence.
        gaps (bool, default False): Whether the .idx may leave bytes of the .bin out, or name them
            in another order or twice; otherwise its sequences must be all of the .bin, one after
            the other.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The tokens of each document, ragged rows of shape (tokens,).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def MegatronReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    unit: Literal["document", "sequence"] = "document", gaps: bool = False,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def MegatronReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    unit: Literal["document", "sequence"] = "document", gaps: bool = False,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def MegatronReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    unit: Literal["document", "sequence"] = "document", gaps: bool = False,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def MegatronReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    unit: Literal["document", "sequence"] = "document", gaps: bool = False, with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def GPTReader(
    data_dir: str | PathLike[str] = "",
    *,
    seq_length: int,
    dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0,
    gaps: bool = False,
    order: Literal["own", "megatron"] = "own",
    num_samples: int = 0,
    megatron_seed: int = 1234,
    split: float | Sequence[float] | NDArray[Any] = (),
    split_index: int = 0,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads windows of seq_length + 1 tokens over the documents of all files, one after the other.

    Files are pairs of .bin and .idx of Megatron-LM in the same folder, of which one is given, or
    flat files as nanoGPT writes them. A window ends with the token that the next one begins with. A
    window can continue in the next document and in the next file. The rest after the last whole
    window is not read.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        seq_length (int, required, in [1, 1073741824]): Tokens from the beginning of a window to
            that of the next one. A window has one token more, so that it has both inputs and
            targets.
        dtype (dtype, default 'int64', one of 'uint8', 'uint16', 'int32', 'uint32', 'int64'): The
            dtype of the rows: that of the files, or one that holds all its values.
        format (str, default 'auto', one of 'auto', 'megatron', 'flat'): What the files are:
            megatron is a .bin and an .idx, flat nothing but tokens; auto is megatron where there is
            an .idx, and flat where there is none and file_dtype is set.
        file_dtype (str, default 'auto', one of 'auto', 'uint8', 'int8', 'uint16', 'int16',
            'uint32', 'int32', 'int64'): The dtype of the tokens in flat files; auto takes what the
            .idx says.
        header_bytes (int, default 0, in [0, 1073741824]): How many bytes to skip at the beginning
            of each flat file.
        gaps (bool, default False): Whether the .idx may leave bytes of the .bin out, or name them
            in another order or twice; otherwise its sequences must be all of the .bin, one after
            the other.
        order (str, default 'own', one of 'own', 'megatron'): The windows and their order. own: the
            files are cut into windows, and random_shuffle shuffles these. megatron: the samples of
            Megatron-LM's GPTDataset, in its order.
        num_samples (int, default 0, at least 0): For order='megatron': the least number of samples;
            the documents are repeated as often as needed. 0 uses each document once.
        megatron_seed (int, default 1234, at least 0): For order='megatron': Megatron-LM's
            random_seed.
        split (list of float, default ()): For order='megatron': the weights of training, validation
            and test documents, as in 969,30,1; empty means all documents.
        split_index (int, default 0, in [0, 2]): For order='megatron': which part of the split is
            read: 0, 1 or 2.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The tokens of each window, shape (batch, seq_length + 1).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234,
    split: float | Sequence[float] | NDArray[Any] = (), split_index: int = 0,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234,
    split: float | Sequence[float] | NDArray[Any] = (), split_index: int = 0,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234,
    split: float | Sequence[float] | NDArray[Any] = (), split_index: int = 0,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234,
    split: float | Sequence[float] | NDArray[Any] = (), split_index: int = 0,
    with_mask: bool = False, with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

def CacheReader(
    cache: object,
    data_dir: str | PathLike[str] = "",
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs:
    """Reads the records of a data set that Dataset.cache() has kept in a file.

    Any record is read in place, with all types of fields.

    Args:
        cache (object, required): What makes the file where it is absent; Dataset.cache() gives it.
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        fields (list of str, required): The fields of a record in their order, each NAME:TYPE.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of fields: The values of a field, ragged where a dimension varies or the type
            is bytes.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

@overload
def ArrayReader(
    array: object,
    splits: object,
    *,
    shape: Sequence[int | None] | NDArray[Any],
    dtype: DTypeLike,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[ReaderAttrs],
) -> Blob:
    """Reads the rows of an array in memory, in any order.

    The array is not copied; it must not change while a loader reads it. flow.from_arrays() makes a
    data set of arrays.

    Args:
        array (object, required): The elements of all rows, one row after another, as a Table.
        splits (object, required): Where each row begins, in the first dimension of the array, and
            where the last one ends, as a Table of int64; of rows of one size it is not looked at.
        shape (shape, required, at least -1): Shape of one row; empty for one number per record; -1
            first where rows differ in length.
        dtype (dtype, required): The dtype of the array.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (ReaderAttrs): What all readers share: batch_size, last_batch, random_shuffle,
            shuffle, shuffle_after_epoch, shuffle_buffer_size, shuffle_block_size, shuffle_window,
            shuffle_lanes, seed, order_key, group_buffer_size, rank, world_size, on_error,
            max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The rows, with the dtype and shape of the attrs.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def ArrayReader(
    array: object, splits: object, *, shape: Sequence[int | None] | NDArray[Any], dtype: DTypeLike,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[ReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def ArrayReader(
    array: object, splits: object, *, shape: Sequence[int | None] | NDArray[Any], dtype: DTypeLike,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[ReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def ArrayReader(
    array: object, splits: object, *, shape: Sequence[int | None] | NDArray[Any], dtype: DTypeLike,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[ReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ArrayReader(
    array: object, splits: object, *, shape: Sequence[int | None] | NDArray[Any], dtype: DTypeLike,
    with_mask: bool = False, with_id: bool = False, **attrs: Unpack[ReaderAttrs],
) -> Blobs: ...

def GeneratorReader(
    source: object,
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    thread_safe: bool = False,
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[ReaderAttrs],
) -> Blobs:
    """Reads the samples of a Python object: arrays, numbers, bytes and texts.

    An object with __len__ and __getitem__ is read in any order, like files with an index; iterables
    are streams. A sample whose values do not fit the types is damaged. The loader raises the
    exceptions of the object, with their tracebacks.

    Args:
        source (object, required): Either an object with __len__ and __getitem__, or a function that
            is called for each epoch, without arguments, and returns an iterable, or an iterable
            that starts again each time.
        fields (list of str, required): The fields of a sample, each [NAME=]KEY:TYPE, such as
            x:float32[3], y:int64, tokens:int32[?] or name:bytes. A dict has the fields by their
            keys, a tuple in this order; if there is one field, it may be the sample itself.
        thread_safe (bool, default False): Whether several threads may call __getitem__ at once;
            otherwise one thread at a time calls it.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (ReaderAttrs): What all readers share: batch_size, last_batch, random_shuffle,
            shuffle, shuffle_after_epoch, shuffle_buffer_size, shuffle_block_size, shuffle_window,
            shuffle_lanes, seed, order_key, group_buffer_size, rank, world_size, on_error,
            max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of fields: The values of a field, ragged where a dimension varies or the type
            is bytes.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

@overload
def COCOReader(
    data_dir: str | PathLike[str] = "",
    *,
    image_dir: str | PathLike[str] = "",
    group_by_ratio: bool = True,
    remove_images_without_annotations: bool = True,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob, Blob, Blob, Blob]:
    """Reads a data set in COCO's format: an annotation file of JSON, and its images.

    files is the annotation file; images come in the order of their ids. A box is clipped to its
    image, its right and bottom pixel are x + width - 1 and y + height - 1; objects without a box
    inside the image are left out with their label and polygons, and so are crowds. Polygons of
    fewer than three points and masks in RLE are left out, the object stays. The file is parsed
    once, into an index that says where each object is.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        image_dir (str, default ''): The folder of the images; empty for that of the annotation
            file.
        group_by_ratio (bool, default True): Whether a batch has either images that are wider than
            high, or others: they need less padding. The reader then has no length, and a seek reads
            the epoch again up to its place.
        remove_images_without_annotations (bool, default True): Whether images are left out without
            any box of more than a pixel on each side, or, where there are keypoints, with fewer
            than ten visible ones.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        image: The bytes of each image, uint8 (None,), as they lie there: a decoder follows.
        image_id: The id of each image, int64.
        image_size: Height and width of each image by the annotations, int32 (2,).
        gt_bbox: Boxes of the objects, float32 (None, 4): left, top, right and bottom pixel.
        gt_label: Categories of the objects, int32 (None,), from 1 in the order of their ids.
        gt_segm: The points of all polygons, x and y, float32 (None, 2).
        gt_segm_index: Of each point its number in its polygon, that polygon's in its object, and
            that object's in the image, int32 (None, 3).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def COCOReader(
    data_dir: str | PathLike[str] = "", *, image_dir: str | PathLike[str] = "",
    group_by_ratio: bool = True, remove_images_without_annotations: bool = True,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob, Blob, Blob, Blob, Blob]: ...
@overload
def COCOReader(
    data_dir: str | PathLike[str] = "", *, image_dir: str | PathLike[str] = "",
    group_by_ratio: bool = True, remove_images_without_annotations: bool = True,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob, Blob, Blob, Blob, Blob]: ...
@overload
def COCOReader(
    data_dir: str | PathLike[str] = "", *, image_dir: str | PathLike[str] = "",
    group_by_ratio: bool = True, remove_images_without_annotations: bool = True,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob, Blob, Blob, Blob, Blob, Blob]: ...
@overload
def COCOReader(
    data_dir: str | PathLike[str] = "", *, image_dir: str | PathLike[str] = "",
    group_by_ratio: bool = True, remove_images_without_annotations: bool = True,
    with_mask: bool = False, with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "",
    *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]:
    """Reads the image files of a folder that has a folder for each class.

    data_dir is that folder, or files name several, whose classes are united. The records are those
    of torchvision's ImageFolder, in its order: by the name of the class, then by folder and name,
    compared as bytes. Files in folders of a class count to it, at any depth; symbolic links are
    followed, and a folder is listed once for a class. Names that begin with a period are left out,
    files and folders. The list of files is an index, kept as others are for 4096 files or more;
    opening it again looks at each folder, and at no file. Each file is opened, read and closed when
    its record is needed; one that is empty or cannot be read is a damaged record.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        classes (list of str, found in the files if left out): The classes in the order of their
            numbers, each the name of a folder in data_dir; other folders are not read. Left out,
            all folders, sorted by the bytes of their names.
        class_numbers (list of int, default ()): The label of each of the classes; empty for 0, 1, 2
            and so on.
        extensions (list of str, default ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif',
            '.tiff', '.webp', '.pbm')): How names of image files end, in any case; other files are
            left out. An empty list takes every file.
        allow_empty (bool, default False): Whether a class may be without files, or without a
            folder.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        image: The bytes of each file, uint8 (None,), as they lie there: a decoder follows.
        label: The number of the file's class, int64.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: Literal[False] = False, with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: Literal[True], with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "",
    *,
    usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (),
    multi_label: bool = False,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]:
    """Reads the images that a manifest names, as MindData's ManifestDataset does.

    A manifest has a JSON object a line, with source (the path of an image), usage and annotation (a
    list of objects with a name, the label). Paths are relative to the manifest's folder. All lines
    are checked when the reader opens; an image is opened, read and closed when its record is
    needed, and one that is missing, empty or cannot be read is a damaged record, as is a line
    without label.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        usage (str, default 'train'): Which lines are records: those with this usage, in upper or
            lower case; empty for all.
        classes (list of str, found in the files if left out): The labels in the order of their
            numbers; lines that have other labels alone are left out. Left out, all labels of the
            files, of every usage, sorted by bytes.
        class_numbers (list of int, default ()): The label of each of the classes; empty for 0, 1, 2
            and so on.
        multi_label (bool, default False): Whether a line may have any number of labels: the output
            label is then ragged.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, shuffle_lanes, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        image: The bytes of each image, uint8 (None,), as they lie there: a decoder follows.
        label: The number of the line's label, int64; with multi_label all of them, int64 (None,),
            each once.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (), multi_label: bool = False,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (), multi_label: bool = False,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (), multi_label: bool = False,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] | NDArray[Any] = (), multi_label: bool = False,
    with_mask: bool = False, with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blobs: ...

@overload
def AdjustSharpness(
    in_: Blob,
    *,
    factor: float,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Blends each image with its smoothed one: smooth + factor * (image - smooth).

    As ImageEnhance.Sharpness of Pillow, with its kernel of 3 x 3 pixels; with probability it is
    torchvision's RandomAdjustSharpness. Arithmetic is that of float32; the result is clipped, and
    its fraction cut off.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        factor (float, required, in [0, 1000000]): 0 gives the smoothed image, 1 the image itself, 2
            a sharper one.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def AdjustSharpness(
    in_: _Row, *, factor: float, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def AdjustSharpness(
    in_: _Rows, *, factor: float, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def AutoContrast(
    in_: Blob,
    *,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Stretches each channel so that its darkest number becomes 0 and its brightest 255.

    As ImageOps.autocontrast of Pillow; with probability it is torchvision's RandomAutocontrast.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def AutoContrast(
    in_: _Row, *, probability: float = 1.0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def AutoContrast(
    in_: _Rows, *, probability: float = 1.0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def CenterCrop(
    in_: Blob,
    *,
    size: Sequence[int] | NDArray[Any],
    position: float | Sequence[float] | NDArray[Any] = (0.5, 0.5),
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    name: str | None = None,
) -> Blob:
    """Cuts a part of one size out of the middle of each image.

    Images that are smaller get a border first, as with torchvision's CenterCrop, whose result this
    is.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        size (list of int, required, in [1, 65535]): (height, width) of the output.
        position (list of float, default (0.5, 0.5), in [0, 1]): Where the part is cut out,
            (vertical, horizontal): 0 at the top or left, 0.5 in the middle, 1 at the bottom or
            right. Places between two pixels are rounded, ties to even.
        fill (list of float, default (0.0,)): What is put around an image that is smaller than size:
            one number, or one for each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of one size, of the same dtype.
    """
    ...
@overload
def CenterCrop(
    in_: _Row, *, size: Sequence[int] | NDArray[Any],
    position: float | Sequence[float] | NDArray[Any] = (0.5, 0.5),
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def CenterCrop(
    in_: _Rows, *, size: Sequence[int] | NDArray[Any],
    position: float | Sequence[float] | NDArray[Any] = (0.5, 0.5),
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def CoinFlip(
    in_: Blob | None = None,
    *,
    probability: float = 0.5,
    batch_size: int = 0,
    name: str | None = None,
) -> Blob:
    """Draws 1 or 0 for each record, as for the mirror of CropMirrorNormalize.

    The draw depends on seed, epoch, record and the name of the node; two nodes draw independently.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in', or None): Any blob of the batch, also ragged: it tells
            the records, its values do not matter. Without it they are those of the first reader of
            the loader.
        probability (float, default 0.5, in [0, 1]): Probability of a 1.
        batch_size (int, default 0, at least 0): That of the readers, where no input tells the
            records; 0 if one does.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: int8 (), 1 or 0 for each record.
    """
    ...
@overload
def CoinFlip(
    in_: _Row | None = None, *, probability: float = 0.5, batch_size: int = 0,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def CoinFlip(
    in_: _Rows | None = None, *, probability: float = 0.5, batch_size: int = 0,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ColorJitter(
    in_: Blob,
    *,
    brightness: float | Sequence[float] | NDArray[Any] = (0.0,),
    contrast: float | Sequence[float] | NDArray[Any] = (0.0,),
    saturation: float | Sequence[float] | NDArray[Any] = (0.0,),
    hue: float | Sequence[float] | NDArray[Any] = (0.0,),
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Changes brightness, contrast, saturation and hue by random amounts, in random order.

    The rule is that of torchvision, each amount uniform in its range; what a change does is that of
    Pillow (ImageEnhance, and hue as a byte of HSV), bit for bit. A range of only 1, or only 0 for
    the hue, leaves the change out. Two equal numbers give a fixed amount: brightness=[1.2, 1.2].
    Saturation and hue of grey images stay the same.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels), RGB or grey,
            also ragged.
        brightness (list of float, default (0.0,)): Range of the factor for brightness, [min, max];
            a number b means [max(0, 1 - b), 1 + b].
        contrast (list of float, default (0.0,)): Range of the factor for contrast, the distance
            from the mean grey; as brightness.
        saturation (list of float, default (0.0,)): Range of the factor for saturation, the distance
            from the grey of the pixel; as brightness.
        hue (list of float, default (0.0,)): Range of the shift of the hue, [min, max] within [-0.5,
            0.5], where 1 is a whole turn; a number h means [-h, h].
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def ColorJitter(
    in_: _Row, *, brightness: float | Sequence[float] | NDArray[Any] = (0.0,),
    contrast: float | Sequence[float] | NDArray[Any] = (0.0,),
    saturation: float | Sequence[float] | NDArray[Any] = (0.0,),
    hue: float | Sequence[float] | NDArray[Any] = (0.0,), probability: float = 1.0,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ColorJitter(
    in_: _Rows, *, brightness: float | Sequence[float] | NDArray[Any] = (0.0,),
    contrast: float | Sequence[float] | NDArray[Any] = (0.0,),
    saturation: float | Sequence[float] | NDArray[Any] = (0.0,),
    hue: float | Sequence[float] | NDArray[Any] = (0.0,), probability: float = 1.0,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def CropMirrorNormalize(
    in_: Blob,
    mirror: Blob | None = None,
    *,
    color_space: Literal["any", "RGB", "BGR", "GRAY"] = "any",
    output_layout: Literal["NCHW", "NHWC"] = "NCHW",
    mean: float | Sequence[float] | NDArray[Any] = (0.0,),
    std: float | Sequence[float] | NDArray[Any] = (1.0,),
    crop_h: int = 0,
    crop_w: int = 0,
    crop_pos_y: float = 0.5,
    crop_pos_x: float = 0.5,
    output_dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Blob:
    """Takes a part of each image, mirrors it, and computes (x - mean) / std, in one pass.

    Numbers of the image are 0 to 255, and so are mean and std, as in OneFlow; Normalize has the
    convention of torchvision. The arithmetic is that of float32: x - mean is rounded, then its
    product with 1 / std; floats of 16 bits are rounded once more. An image that is smaller than
    crop_h x crop_w is an error of its row.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        mirror (Blob or rows, or None): One number for each image, int8, uint8 or bool: not 0
            mirrors it left to right.
        color_space (str, default 'any', one of 'any', 'RGB', 'BGR', 'GRAY'): What the channels are:
            GRAY is one channel, RGB and BGR are three, any is not checked. They are never changed.
        output_layout (str, default 'NCHW', one of 'NCHW', 'NHWC'): Whether a row of the output is
            (channels, height, width), or (height, width, channels).
        mean (list of float, default (0.0,)): Subtracted from each number, which is 0 to 255: one,
            or one per channel.
        std (list of float, default (1.0,)): What the difference is divided by: one number, or one
            for each channel.
        crop_h (int, default 0, in [0, 1073741824]): Height of the part that is taken; 0 is the
            whole height.
        crop_w (int, default 0, in [0, 1073741824]): Width of the part that is taken; 0 is the whole
            width.
        crop_pos_y (float, default 0.5, in [0, 1]): Where the part begins: 0 at the top, 1 as far
            down as possible; the row is rounded down.
        crop_pos_x (float, default 0.5, in [0, 1]): Where the part begins: 0 at the left, 1 as far
            right as possible; the column is rounded down.
        output_dtype (dtype, default 'float32', one of 'float32', 'float16', 'bfloat16'): The dtype
            of the output.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Floats, (channels, height, width) or (height, width, channels). Rows have one size
            where the images have, or where both crop_h and crop_w are given.
    """
    ...
@overload
def CropMirrorNormalize(
    in_: _Row, mirror: _Row | None = None, *,
    color_space: Literal["any", "RGB", "BGR", "GRAY"] = "any",
    output_layout: Literal["NCHW", "NHWC"] = "NCHW",
    mean: float | Sequence[float] | NDArray[Any] = (0.0,),
    std: float | Sequence[float] | NDArray[Any] = (1.0,), crop_h: int = 0, crop_w: int = 0,
    crop_pos_y: float = 0.5, crop_pos_x: float = 0.5, output_dtype: DTypeLike = "float32",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def CropMirrorNormalize(
    in_: _Rows, mirror: _Rows | None = None, *,
    color_space: Literal["any", "RGB", "BGR", "GRAY"] = "any",
    output_layout: Literal["NCHW", "NHWC"] = "NCHW",
    mean: float | Sequence[float] | NDArray[Any] = (0.0,),
    std: float | Sequence[float] | NDArray[Any] = (1.0,), crop_h: int = 0, crop_w: int = 0,
    crop_pos_y: float = 0.5, crop_pos_x: float = 0.5, output_dtype: DTypeLike = "float32",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def CutMix(
    x: Blob,
    labels: Blob,
    *,
    alpha: float = 1.0,
    probability: float = 1.0,
    group_size: int = 2,
    layout: Literal["CHW", "HWC"] = "CHW",
    name: str | None = None,
) -> tuple[Blob, Blob]:
    """Replaces a rectangle of each image by that of another row, and mixes labels by area.

    The rectangle of a group has the part 1 - share of the area, share from Beta(alpha, alpha),
    around a uniform pixel, cut off at the border: as in torchvision, which has one for a whole
    batch. Groups are of consecutive rows. Results are the same for every number of ranks if each
    rank has a multiple of group_size rows of every batch: batch_size a multiple of world_size *
    group_size, and last_batch 'drop', 'pad' or 'wrap'. The draws depend on seed, epoch, the first
    record of the group and the name of the node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        x (Blob or rows): Images of any dtype and one size.
        labels (Blob or rows): Vectors of floats, a number for each class, as of OneHot.
        alpha (float, default 1.0, in [0.001, 1000]): The share of a row in its mixture is drawn
            from Beta(alpha, alpha).
        probability (float, default 1.0, in [0, 1]): That the rows of a group are mixed. Drawn for
            each group.
        group_size (int, default 2, in [2, 1048576]): Rows that are mixed with each other, and share
            what is drawn: each with the one before it, the first with the last. Rows of a rank that
            fill no group are a smaller one.
        layout (str, default 'CHW', one of 'CHW', 'HWC'): Whether images are (channels, height,
            width), as of Normalize, or (height, width, channels), as of decoders.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        x: Images of the type of the input.
        labels: Those of both images, by the area that each has in the result.
    """
    ...
@overload
def CutMix(
    x: _Row, labels: _Row, *, alpha: float = 1.0, probability: float = 1.0, group_size: int = 2,
    layout: Literal["CHW", "HWC"] = "CHW", name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[_Array, _Array]: ...
@overload
def CutMix(
    x: _Rows, labels: _Rows, *, alpha: float = 1.0, probability: float = 1.0, group_size: int = 2,
    layout: Literal["CHW", "HWC"] = "CHW", name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[list[_Array], list[_Array]]: ...

@overload
def Equalize(
    in_: Blob,
    *,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Makes each value of a channel about as frequent as the others.

    As ImageOps.equalize of Pillow; with probability it is torchvision's RandomEqualize.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def Equalize(
    in_: _Row, *, probability: float = 1.0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Equalize(
    in_: _Rows, *, probability: float = 1.0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def GaussianBlur(
    in_: Blob,
    *,
    kernel_size: Sequence[int] | NDArray[Any],
    sigma: float | Sequence[float] | NDArray[Any] = (0.1, 2.0),
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Blurs images with a Gaussian kernel, as torchvision does.

    Beyond its border an image is mirrored, without repeating the pixels of the border. Weights have
    16 bits; results differ by one at most from those of float arithmetic.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels), also ragged.
        kernel_size (list of int, required, in [1, 255]): Size of the kernel in pixels: one odd
            number, or height and width.
        sigma (list of float, default (0.1, 2.0), in [0.001, 1000]): Standard deviation in pixels:
            one number, or [min, max], between which one is drawn for each record.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def GaussianBlur(
    in_: _Row, *, kernel_size: Sequence[int] | NDArray[Any],
    sigma: float | Sequence[float] | NDArray[Any] = (0.1, 2.0), probability: float = 1.0,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def GaussianBlur(
    in_: _Rows, *, kernel_size: Sequence[int] | NDArray[Any],
    sigma: float | Sequence[float] | NDArray[Any] = (0.1, 2.0), probability: float = 1.0,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Grayscale(
    in_: Blob,
    *,
    channels: int = 1,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Makes RGB images grey: 0.299 R + 0.587 G + 0.114 B, as Pillow and torchvision do.

    Factors have 16 bits, the result is rounded. With probability=0.1 and channels=3 it is
    torchvision's RandomGrayscale.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, 3), RGB; or with 1
            channel; also ragged.
        channels (int, default 1, in [1, 3]): Of the output: 1, or 3 that are all the same.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images, uint8 (height, width, channels).
    """
    ...
@overload
def Grayscale(
    in_: _Row, *, channels: int = 1, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Grayscale(
    in_: _Rows, *, channels: int = 1, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def HWC2CHW(
    in_: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Brings images from (height, width, channels) to (channels, height, width).

    This is the order of torch's ToTensor, without its scaling; CropMirrorNormalize and Normalize do
    it with theirs.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The same numbers as (channels, height, width).
    """
    ...
@overload
def HWC2CHW(
    in_: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def HWC2CHW(
    in_: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageBatchAlign(
    in_: Blob,
    *,
    alignment: int = 1,
    dtype: Literal["same", "float32"] = "same",
    name: str | None = None,
) -> Blob:
    """Pads the images of each batch to its largest height and largest width.

    The batch is that of this rank. This is OneFlow's image_batch_align with dynamic_out; its attr
    shape is not needed. For one size of all batches there is Pad.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 or float32 (height, width, channels) or
            (height, width), also ragged.
        alignment (int, default 1, in [1, 65536]): Height and width are rounded up to a multiple of
            this.
        dtype (str, default 'same', one of 'same', 'float32'): Of the output: that of the images, or
            float32.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The images in the upper left corner, zeros to the right and below: a Ragged whose
            attribute dense is one array.
    """
    ...
@overload
def ImageBatchAlign(
    in_: _Row, *, alignment: int = 1, dtype: Literal["same", "float32"] = "same",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageBatchAlign(
    in_: _Rows, *, alignment: int = 1, dtype: Literal["same", "float32"] = "same",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageDecoder(
    in_: Blob,
    *,
    color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "RGB",
    apply_orientation: bool = False,
    incomplete: Literal["error", "fill"] = "error",
    max_pixels: int = 178956970,
    name: str | None = None,
) -> Blob:
    """Decodes image files: JPEG, PNG, WebP, BMP and PNM (PBM, PGM, PPM).

    The first bytes tell the format. JPEG is decoded as libjpeg-turbo does by default (accurate
    inverse DCT, smooth upsampling), bit for bit as Pillow; CMYK goes to RGB by Pillow's formula. Of
    samples with 16 bits, PNG's keep the high byte, and PNM's are scaled to 0 to 255 and rounded. Of
    an animation the first frame is decoded. The row is damaged if it is no image, if the file is
    damaged, and if it is of a kind that is not decoded, such as JPEG with 12 bits. Where a crop
    takes the images (CenterCrop, RandomCrop, RandomResizedCrop, ImageRandomCrop) and nothing else
    does, no more of each is decoded than the crop needs; damage in the rest is then not noticed.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of bytes, uint8 of one dimension: each the whole
            file of one image.
        color_space (str, default 'RGB', one of 'RGB', 'BGR', 'GRAY', 'RGBA'): The channels of a
            pixel. GRAY has the weights of ITU-R 601, and of JPEG the stored luminance; an alpha
            channel is dropped but for RGBA, and 255 where there is none.
        apply_orientation (bool, default False): Whether images are turned and mirrored as the EXIF
            tag Orientation says, as Pillow's ImageOps.exif_transpose() does; sizes are then those
            of the turned image.
        incomplete (str, default 'error', one of 'error', 'fill'): What to do with an image of which
            pixels are lost, since its bytes end early or are damaged: with 'error' the row is
            damaged; with 'fill' it has what could be decoded, and gray (JPEG) or 0 in place of the
            rest. Of JPEG, pixels are lost by data that end before their time, bad codes, missing
            restart markers and scans in a wrong order; not by bytes between segments, an absent end
            marker and the other things that libjpeg warns of. Of PNG, a wrong checksum is damage.
        max_pixels (int, default 178956970, at least 1): An image with more pixels is damaged, which
            keeps a few wrong bytes from asking for much memory. The default is Pillow's limit.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images, uint8 (height, width, channels), of any height and width.
    """
    ...
@overload
def ImageDecoder(
    in_: _Row, *, color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "RGB",
    apply_orientation: bool = False, incomplete: Literal["error", "fill"] = "error",
    max_pixels: int = 178956970, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageDecoder(
    in_: _Rows, *, color_space: Literal["RGB", "BGR", "GRAY", "RGBA"] = "RGB",
    apply_orientation: bool = False, incomplete: Literal["error", "fill"] = "error",
    max_pixels: int = 178956970, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageEncoder(
    in_: Blob,
    *,
    format: Literal["jpeg", "png", "ppm", "bmp"] = "jpeg",
    quality: int = 90,
    subsampling: Literal["4:2:0", "4:2:2", "4:4:0", "4:4:4"] = "4:2:0",
    compression_level: int = 6,
    name: str | None = None,
) -> Blob:
    """Encodes images as files of JPEG, PNG, PPM or BMP.

    The bytes depend on the image, the attrs and the versions of the libraries only.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width): 1 channel is gray, 3 are RGB; PNG also takes 2, gray with alpha, and 4, RGBA.
        format (str, default 'jpeg', one of 'jpeg', 'png', 'ppm', 'bmp'): The format of the files.
            PNG, PPM and BMP lose nothing; PPM writes PGM for images of one channel.
        quality (int, default 90, in [1, 100]): Of JPEG: libjpeg's scale of quality, as in Pillow.
        subsampling (str, default '4:2:0', one of '4:2:0', '4:2:2', '4:4:0', '4:4:4'): Of JPEG with
            colours: how the two colour differences are stored; 4:4:4 keeps all of them, 4:2:0 one
            for four pixels.
        compression_level (int, default 6, in [0, 9]): Of PNG: zlib's level; 0 stores, 1 is fast, 9
            small.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each file, uint8 (None,).
    """
    ...
@overload
def ImageEncoder(
    in_: _Row, *, format: Literal["jpeg", "png", "ppm", "bmp"] = "jpeg", quality: int = 90,
    subsampling: Literal["4:2:0", "4:2:2", "4:4:0", "4:4:4"] = "4:2:0", compression_level: int = 6,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageEncoder(
    in_: _Rows, *, format: Literal["jpeg", "png", "ppm", "bmp"] = "jpeg", quality: int = 90,
    subsampling: Literal["4:2:0", "4:2:2", "4:4:0", "4:4:4"] = "4:2:0", compression_level: int = 6,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageFlip(
    in_: Blob,
    flip_code: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Mirrors images as a number for each of them says.

    This is OneFlow's image_flip.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        flip_code (Blob or rows): int8, one number for each image: 0 leaves it as it is, 1 mirrors
            it left to right, 2 top to bottom, 3 both; 16 and 17 are 2 and 3, as OneFlow writes
            them.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The images, some of them mirrored.
    """
    ...
@overload
def ImageFlip(
    in_: _Row, flip_code: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageFlip(
    in_: _Rows, flip_code: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageNormalize(
    in_: Blob,
    *,
    mean: float | Sequence[float] | NDArray[Any],
    std: float | Sequence[float] | NDArray[Any],
    name: str | None = None,
) -> Blob:
    """Computes (x - mean) / std of images of floats; channels stay last.

    This is OneFlow's image_normalize; Normalize takes bytes too, and can put the channels first.
    The difference is rounded to the dtype, then its product with 1 / std.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, float32 or float64 (height, width, channels) or
            (height, width), also ragged.
        mean (list of float, required): Subtracted from each number: one, or one for each channel.
        std (list of float, required): What the difference is divided by: one number, or one for
            each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def ImageNormalize(
    in_: _Row, *, mean: float | Sequence[float] | NDArray[Any],
    std: float | Sequence[float] | NDArray[Any], name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageNormalize(
    in_: _Rows, *, mean: float | Sequence[float] | NDArray[Any],
    std: float | Sequence[float] | NDArray[Any], name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImagePad(
    in_: Blob,
    *,
    padding: Sequence[int] | NDArray[Any],
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    name: str | None = None,
) -> Blob:
    """Puts rows and columns around each image.

    To bring images of many sizes to one, see Pad, or PadBatch.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        padding (list of int, required, in [0, 65535]): Pixels to put around an image: one number
            for all sides, two for (top and bottom, left and right), or four for (top, left, bottom,
            right). torchvision's order of four is (left, top, right, bottom).
        fill (list of float, default (0.0,)): What padding_mode='constant' puts there: one number,
            or one for each channel.
        padding_mode (str, default 'constant', one of 'constant', 'edge', 'reflect', 'symmetric'):
            What is put around an image: 'constant' the value fill, 'edge' the pixel at the edge,
            'reflect' the image mirrored at its edge pixels, 'symmetric' mirrored with them doubled;
            as numpy.pad and torchvision.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The images with more rows and columns, of the same dtype.
    """
    ...
@overload
def ImagePad(
    in_: _Row, *, padding: Sequence[int] | NDArray[Any],
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImagePad(
    in_: _Rows, *, padding: Sequence[int] | NDArray[Any],
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageRandomCrop(
    in_: Blob,
    *,
    random_area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.333333),
    num_attempts: int = 10,
    name: str | None = None,
) -> Blob:
    """Cuts a random part out of each image, as RandomResizedCrop does before it resamples.

    This is OneFlow's image_random_crop; the draws depend on the seed of the reader, the epoch, the
    record and the name of the node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        random_area (list of float, default (0.08, 1.0), in [0, 1]): Range of the window's area as a
            part of the image's, [min, max].
        random_aspect_ratio (list of float, default (0.75, 1.333333), in [0, 1000000]): Range of the
            window's width / height, [min, max].
        num_attempts (int, default 10, in [0, 1000]): How often a window is drawn until one fits
            into the image; after that it is the largest one in the middle.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: A part of each image, of its own size: ragged.
    """
    ...
@overload
def ImageRandomCrop(
    in_: _Row, *, random_area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.333333),
    num_attempts: int = 10, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageRandomCrop(
    in_: _Rows, *, random_area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    random_aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.333333),
    num_attempts: int = 10, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageResizeKeepAspectRatio(
    in_: Blob,
    *,
    target_size: int,
    min_size: int = 0,
    max_size: int = 0,
    resize_longer: bool = False,
    interpolation_type: Literal["bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"] = "bilinear",
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]:
    """Resamples images so that one side gets a length, and returns size and scale.

    The other side is rounded, ties to even. This is OneFlow's image_resize_keep_aspect_ratio, with
    OpenCV's filters; Resize has Pillow's. Sizes and scales are (height, width), OneFlow's are
    (width, height).

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        target_size (int, required, in [1, 65535]): How long the shorter side becomes, or the longer
            one with resize_longer.
        min_size (int, default 0, in [0, 65535]): With resize_longer, the minimum of the shorter
            side, which takes precedence.
        max_size (int, default 0, in [0, 65535]): Without resize_longer, the maximum of the longer
            side, which takes precedence; 0: any.
        resize_longer (bool, default False): Whether target_size is that of the longer side.
        interpolation_type (str, default 'bilinear', one of 'bilinear', 'nearest_neighbor', 'nn',
            'bicubic', 'area', 'auto'): 'bilinear' and 'bicubic' take 2 x 2 or 4 x 4 pixels, without
            antialias; 'nearest_neighbor' or 'nn' the pixel in which the centre of an output pixel
            lies; 'area' averages what it covers; 'auto' is 'area' where the image gets fewer
            pixels, else 'bilinear'.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: The images in another size, ragged.
        size: int32 (2,): the new (height, width).
        scale: float32 (2,): new height / old height, new width / old width.
    """
    ...
@overload
def ImageResizeKeepAspectRatio(
    in_: _Row, *, target_size: int, min_size: int = 0, max_size: int = 0,
    resize_longer: bool = False,
    interpolation_type: Literal["bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"] = "bilinear",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[_Array, _Array, _Array]: ...
@overload
def ImageResizeKeepAspectRatio(
    in_: _Rows, *, target_size: int, min_size: int = 0, max_size: int = 0,
    resize_longer: bool = False,
    interpolation_type: Literal["bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"] = "bilinear",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[list[_Array], list[_Array], list[_Array]]: ...

@overload
def ImageResizeToFixed(
    in_: Blob,
    *,
    target_width: int,
    target_height: int,
    channels: int = 3,
    data_type: DTypeLike = "uint8",
    interpolation_type: Literal["bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"] = "bilinear",
    name: str | None = None,
) -> tuple[Blob, Blob]:
    """Resamples images to one size, and returns by how much.

    This is OneFlow's image_resize_to_fixed, with OpenCV's filters; Resize has Pillow's. The scale
    is (height, width), OneFlow's is (width, height).

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        target_width (int, required, in [1, 65535]): Width of the output.
        target_height (int, required, in [1, 65535]): Height of the output.
        channels (int, default 3, in [1, 4]): The images must have as many.
        data_type (dtype, default 'uint8', one of 'uint8', 'float32'): The dtype of the output;
            float32 has the numbers of uint8.
        interpolation_type (str, default 'bilinear', one of 'bilinear', 'nearest_neighbor', 'nn',
            'bicubic', 'area', 'auto'): 'bilinear' and 'bicubic' take 2 x 2 or 4 x 4 pixels, without
            antialias; 'nearest_neighbor' or 'nn' the pixel in which the centre of an output pixel
            lies; 'area' averages what it covers; 'auto' is 'area' where the image gets fewer
            pixels, else 'bilinear'.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: Images of one size.
        scale: float32 (2,): new height / old height, new width / old width.
    """
    ...
@overload
def ImageResizeToFixed(
    in_: _Row, *, target_width: int, target_height: int, channels: int = 3,
    data_type: DTypeLike = "uint8",
    interpolation_type: Literal["bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"] = "bilinear",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[_Array, _Array]: ...
@overload
def ImageResizeToFixed(
    in_: _Rows, *, target_width: int, target_height: int, channels: int = 3,
    data_type: DTypeLike = "uint8",
    interpolation_type: Literal["bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"] = "bilinear",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[list[_Array], list[_Array]]: ...

@overload
def ImageSize(
    in_: Blob,
    *,
    apply_orientation: bool = False,
    name: str | None = None,
) -> Blob:
    """Reads height and width from the headers of image files, and decodes no pixels.

    It knows the formats of ImageDecoder, and needs none of their libraries. With the same
    apply_orientation the sizes are those of ImageDecoder's images.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Rows of bytes, uint8 of one dimension: each the whole
            file of one image, or its beginning with the header.
        apply_orientation (bool, default False): Whether images are turned and mirrored as the EXIF
            tag Orientation says, as Pillow's ImageOps.exif_transpose() does; sizes are then those
            of the turned image.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Height and width, int64 (2,).
    """
    ...
@overload
def ImageSize(
    in_: _Row, *, apply_orientation: bool = False, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ImageSize(
    in_: _Rows, *, apply_orientation: bool = False, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ImageTargetResize(
    in_: Blob,
    *,
    target_size: int,
    max_size: int,
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]:
    """Resamples images so that the shorter side gets a length, and returns size and scale.

    This is OneFlow's image_target_resize. Sizes and scales are (height, width). Pixels are
    bilinear, without antialias.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        target_size (int, required, in [1, 65535]): How long the shorter side becomes.
        max_size (int, required, in [1, 65535]): The maximum of the longer side, which takes
            precedence.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: The images in another size, ragged.
        size: int32 (2,): the new (height, width).
        scale: float32 (2,): new height / old height, new width / old width.
    """
    ...
@overload
def ImageTargetResize(
    in_: _Row, *, target_size: int, max_size: int, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> tuple[_Array, _Array, _Array]: ...
@overload
def ImageTargetResize(
    in_: _Rows, *, target_size: int, max_size: int, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> tuple[list[_Array], list[_Array], list[_Array]]: ...

@overload
def Invert(
    in_: Blob,
    *,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Replaces each number x by 255 - x.

    As ImageOps.invert of Pillow; with probability it is torchvision's RandomInvert.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def Invert(
    in_: _Row, *, probability: float = 1.0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Invert(
    in_: _Rows, *, probability: float = 1.0, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def MixUp(
    x: Blob,
    labels: Blob,
    *,
    alpha: float = 1.0,
    probability: float = 1.0,
    group_size: int = 2,
    name: str | None = None,
) -> tuple[Blob, Blob]:
    """Replaces each row by share * row + (1 - share) * other row, and labels likewise.

    The share of a group is drawn from Beta(alpha, alpha), as in torchvision, which has one for a
    whole batch. Groups are of consecutive rows. Results are the same for every number of ranks if
    each rank has a multiple of group_size rows of every batch: batch_size a multiple of world_size
    * group_size, and last_batch 'drop', 'pad' or 'wrap'. The draws depend on seed, epoch, the first
    record of the group and the name of the node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        x (Blob or rows): Rows of floats, of any one shape.
        labels (Blob or rows): Vectors of floats, a number for each class, as of OneHot.
        alpha (float, default 1.0, in [0.001, 1000]): The share of a row in its mixture is drawn
            from Beta(alpha, alpha).
        probability (float, default 1.0, in [0, 1]): That the rows of a group are mixed. Drawn for
            each group.
        group_size (int, default 2, in [2, 1048576]): Rows that are mixed with each other, and share
            what is drawn: each with the one before it, the first with the last. Rows of a rank that
            fill no group are a smaller one.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        x: The mixtures, of the type of the input.
        labels: Those of the labels, by the same shares.
    """
    ...
@overload
def MixUp(
    x: _Row, labels: _Row, *, alpha: float = 1.0, probability: float = 1.0, group_size: int = 2,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[_Array, _Array]: ...
@overload
def MixUp(
    x: _Rows, labels: _Rows, *, alpha: float = 1.0, probability: float = 1.0, group_size: int = 2,
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> tuple[list[_Array], list[_Array]]: ...

@overload
def Normalize(
    in_: Blob,
    *,
    mean: float | Sequence[float] | NDArray[Any],
    std: float | Sequence[float] | NDArray[Any],
    layout: Literal["CHW", "HWC"] = "CHW",
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Blob:
    """Scales images of bytes to 0 to 1, and computes (x - mean) / std.

    Numbers of uint8 are divided by 255, those of float32 are taken as they are. This is ToTensor
    and Normalize of torchvision; IMAGENET_MEAN and IMAGENET_STD are such numbers.
    CropMirrorNormalize takes mean and std from 0 to 255. The arithmetic is that of float32: the
    difference is rounded, then its product with 1 / std, where mean and std are multiplied by 255
    for uint8; floats of 16 bits are rounded once more.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 or float32 (height, width, channels) or
            (height, width), also ragged.
        mean (list of float, required): Subtracted from each number, which is 0 to 1: one, or one
            for each channel.
        std (list of float, required): What the difference is divided by: one number, or one for
            each channel.
        layout (str, default 'CHW', one of 'CHW', 'HWC'): Whether a row of the output is (channels,
            height, width), or (height, width, channels).
        dtype (dtype, default 'float32', one of 'float32', 'float16', 'bfloat16'): The dtype of the
            output.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Floats, (channels, height, width) or (height, width, channels).
    """
    ...
@overload
def Normalize(
    in_: _Row, *, mean: float | Sequence[float] | NDArray[Any],
    std: float | Sequence[float] | NDArray[Any], layout: Literal["CHW", "HWC"] = "CHW",
    dtype: DTypeLike = "float32", name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Normalize(
    in_: _Rows, *, mean: float | Sequence[float] | NDArray[Any],
    std: float | Sequence[float] | NDArray[Any], layout: Literal["CHW", "HWC"] = "CHW",
    dtype: DTypeLike = "float32", name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ObjectBboxFlip(
    in_: Blob,
    image_size: Blob,
    flip_code: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Mirrors boxes as ImageFlip does their images.

    Right and bottom are the last pixels of a box: a column x becomes width - 1 - x. image_size is
    (height, width); OneFlow's op of this name takes it as (width, height).

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Boxes, float32 (None, 4): left, top, right and bottom
            pixel, as of COCOReader.
        image_size (Blob or rows): Height and width of each image, int32 or int64 (2,), as
            COCOReader and ImageSize give them.
        flip_code (Blob or rows): int8, one number for each image: 0 leaves it as it is, 1 mirrors
            it left to right, 2 top to bottom, 3 both; 16 and 17 are 2 and 3, as OneFlow writes
            them.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The boxes in the mirrored images, float32.
    """
    ...
@overload
def ObjectBboxFlip(
    in_: _Row, image_size: _Row, flip_code: _Row, *, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ObjectBboxFlip(
    in_: _Rows, image_size: _Rows, flip_code: _Rows, *, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ObjectBboxScale(
    in_: Blob,
    scale: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Scales boxes as their images were resized.

    Left and right are multiplied by the scale of the width, top and bottom by that of the height.
    scale is (height, width); OneFlow's op of this name takes (width, height).

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Boxes, float32 (None, 4): left, top, right, bottom.
        scale (Blob or rows): float32 (2,), by how much the height and the width of each image
            change, as SizeRatio makes it.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The boxes in the resized images, float32.
    """
    ...
@overload
def ObjectBboxScale(
    in_: _Row, scale: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ObjectBboxScale(
    in_: _Rows, scale: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ObjectSegmentationPolygonFlip(
    in_: Blob,
    image_size: Blob,
    flip_code: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Mirrors polygons as ImageFlip does their images.

    Points lie between pixels: x becomes width - x. image_size is (height, width); OneFlow's op of
    this name takes it as (width, height).

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Points of polygons, float32 (None, 2): x, y, as gt_segm
            of COCOReader.
        image_size (Blob or rows): Height and width of each image, int32 or int64 (2,), as
            COCOReader and ImageSize give them.
        flip_code (Blob or rows): int8, one number for each image: 0 leaves it as it is, 1 mirrors
            it left to right, 2 top to bottom, 3 both; 16 and 17 are 2 and 3, as OneFlow writes
            them.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The points in the mirrored images, float32.
    """
    ...
@overload
def ObjectSegmentationPolygonFlip(
    in_: _Row, image_size: _Row, flip_code: _Row, *, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ObjectSegmentationPolygonFlip(
    in_: _Rows, image_size: _Rows, flip_code: _Rows, *, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ObjectSegmentationPolygonScale(
    in_: Blob,
    scale: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Scales polygons as their images were resized.

    x is multiplied by the scale of the width, y by that of the height. scale is (height, width);
    OneFlow's op of this name takes (width, height).

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Points of polygons, float32 (None, 2): x, y, as gt_segm
            of COCOReader.
        scale (Blob or rows): float32 (2,), by how much the height and the width of each image
            change, as SizeRatio makes it.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The points in the resized images, float32.
    """
    ...
@overload
def ObjectSegmentationPolygonScale(
    in_: _Row, scale: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ObjectSegmentationPolygonScale(
    in_: _Rows, scale: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def ObjectSegmentationPolygonToMask(
    in_: Blob,
    index: Blob,
    image_size: Blob,
    objects: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Makes a mask of the polygons of each object.

    A pixel is 1 if its centre, half a pixel from its left and upper edge, is inside one of the
    object's polygons, by the even-odd rule. An object without polygons has a mask of zeros.
    OneFlow's op of this name has no input objects, takes image_size as (width, height), and also
    sets pixels that an edge touches.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Points of polygons, float32 (None, 2): x, y, as gt_segm
            of COCOReader.
        index (Blob or rows): Of each point its number in its polygon, that polygon's, and that of
            its object, int32 (None, 3), as gt_segm_index of COCOReader.
        image_size (Blob or rows): Height and width of each image, int32 or int64 (2,), as
            COCOReader and ImageSize give them.
        objects (Blob or rows): Rows of the objects, as gt_bbox or gt_label of COCOReader: their
            first dimension says how many masks there are, their values do not matter.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: A mask for each object, int8 (None, None, None): objects, height, width; 1 inside.
    """
    ...
@overload
def ObjectSegmentationPolygonToMask(
    in_: _Row, index: _Row, image_size: _Row, objects: _Row, *, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def ObjectSegmentationPolygonToMask(
    in_: _Rows, index: _Rows, image_size: _Rows, objects: _Rows, *, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Posterize(
    in_: Blob,
    *,
    bits: int,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Keeps the highest bits of each number.

    As ImageOps.posterize of Pillow; with probability it is torchvision's RandomPosterize.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        bits (int, required, in [0, 8]): How many of the highest bits of each number are kept; the
            others become 0.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def Posterize(
    in_: _Row, *, bits: int, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Posterize(
    in_: _Rows, *, bits: int, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandAugment(
    in_: Blob,
    *,
    num_ops: int = 2,
    magnitude: int = 9,
    num_magnitude_bins: int = 31,
    interpolation: Literal["nearest", "bilinear"] = "nearest",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    name: str | None = None,
) -> Blob:
    """Makes num_ops random changes to each image, one after the other.

    Changes and strengths are torchvision's: identity, shears, translations, rotation, brightness,
    color, contrast, sharpness, posterize, solarize, autocontrast, equalize, each with the same
    probability; those with two directions take either. They give Pillow's results.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        num_ops (int, default 2, in [0, 1000]): How many changes are made.
        magnitude (int, default 9, in [0, 1000000]): How strong they are, from 0 to
            num_magnitude_bins - 1.
        num_magnitude_bins (int, default 31, in [2, 1000000]): How many strengths there are.
        interpolation (str, default 'nearest', one of 'nearest', 'bilinear'): 'nearest' takes the
            pixel that a place is in, 'bilinear' the mean of the four nearest ones by distance; both
            as Pillow, whose bilinear numbers are cut off where these are rounded. torchvision's
            default is 'nearest'.
        fill (list of float, default (0.0,), in [0, 255]): The colour of pixels that lie outside the
            image: one number, or one for each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def RandAugment(
    in_: _Row, *, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
    interpolation: Literal["nearest", "bilinear"] = "nearest",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandAugment(
    in_: _Rows, *, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
    interpolation: Literal["nearest", "bilinear"] = "nearest",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandomAffine(
    in_: Blob,
    *,
    degrees: float | Sequence[float] | NDArray[Any],
    translate: float | Sequence[float] | NDArray[Any] = (0.0, 0.0),
    scale: float | Sequence[float] | NDArray[Any] = (1.0, 1.0),
    shear: float | Sequence[float] | NDArray[Any] = (),
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    name: str | None = None,
) -> Blob:
    """Rotates, moves, scales and shears each image by random amounts, around its middle.

    Angles turn clockwise, as in torchvision's RandomAffine; those of Rotate and RandomRotation turn
    counter-clockwise. translate is (vertical, horizontal), but shear has x, the horizontal one,
    first. The amounts are drawn uniformly; they depend on seed, epoch, record and the name of the
    node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        degrees (list of float, required, in [-36000, 36000]): Range of the angle, [min, max],
            clockwise; one number n means [-n, n], [0] no rotation.
        translate (list of float, default (0.0, 0.0), in [0, 1]): (vertical, horizontal): how far an
            image is moved at most, up or down as part of its height, left or right as part of its
            width, by whole pixels. torchvision has the horizontal part first.
        scale (list of float, default (1.0, 1.0), in [0.001, 1000]): Range of the factor by which an
            image is enlarged, [min, max].
        shear (list of float, default (), in [-89, 89]): Range of the shear in degrees: [min, max]
            of x, by which rows are moved against each other, and two more of y, by which columns
            are, in torchvision's order; one number n means [-n, n] of x; empty: no shear.
        interpolation (str, default 'bilinear', one of 'nearest', 'bilinear'): 'nearest' takes the
            pixel that a place is in, 'bilinear' the mean of the four nearest ones by distance; both
            as Pillow, whose bilinear numbers are cut off where these are rounded. torchvision's
            default is 'nearest'.
        fill (list of float, default (0.0,), in [0, 255]): The colour of pixels that lie outside the
            image: one number, or one for each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The images in the same sizes, uint8.
    """
    ...
@overload
def RandomAffine(
    in_: _Row, *, degrees: float | Sequence[float] | NDArray[Any],
    translate: float | Sequence[float] | NDArray[Any] = (0.0, 0.0),
    scale: float | Sequence[float] | NDArray[Any] = (1.0, 1.0),
    shear: float | Sequence[float] | NDArray[Any] = (),
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandomAffine(
    in_: _Rows, *, degrees: float | Sequence[float] | NDArray[Any],
    translate: float | Sequence[float] | NDArray[Any] = (0.0, 0.0),
    scale: float | Sequence[float] | NDArray[Any] = (1.0, 1.0),
    shear: float | Sequence[float] | NDArray[Any] = (),
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandomCrop(
    in_: Blob,
    *,
    size: Sequence[int] | NDArray[Any],
    padding: Sequence[int] | NDArray[Any] = (),
    pad_if_needed: bool = False,
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    name: str | None = None,
) -> Blob:
    """Cuts a part of one size out of each image, at a random place.

    The rule is that of torchvision: the image is padded, then each place where the part fits is as
    likely as the others. The draws depend on seed, epoch, record and the name of the node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        size (list of int, required, in [1, 65535]): (height, width) of the output.
        padding (list of int, default (), in [0, 65535]): Pixels to put around an image before: one
            number for all sides, two for (top and bottom, left and right), or four for (top, left,
            bottom, right). torchvision's order of four is (left, top, right, bottom).
        pad_if_needed (bool, default False): Whether an image that is still too small gets what is
            missing on both sides; else it is an error of its row.
        fill (list of float, default (0.0,)): What padding_mode='constant' puts there: one number,
            or one for each channel.
        padding_mode (str, default 'constant', one of 'constant', 'edge', 'reflect', 'symmetric'):
            What is put around an image: 'constant' the value fill, 'edge' the pixel at the edge,
            'reflect' the image mirrored at its edge pixels, 'symmetric' mirrored with them doubled;
            as numpy.pad and torchvision.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of one size, of the same dtype.
    """
    ...
@overload
def RandomCrop(
    in_: _Row, *, size: Sequence[int] | NDArray[Any], padding: Sequence[int] | NDArray[Any] = (),
    pad_if_needed: bool = False, fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandomCrop(
    in_: _Rows, *, size: Sequence[int] | NDArray[Any], padding: Sequence[int] | NDArray[Any] = (),
    pad_if_needed: bool = False, fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandomErasing(
    in_: Blob,
    *,
    probability: float = 0.5,
    area: float | Sequence[float] | NDArray[Any] = (0.02, 0.33),
    aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.3, 3.3),
    num_attempts: int = 10,
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    noise: bool = False,
    layout: Literal["CHW", "HWC"] = "CHW",
    name: str | None = None,
) -> Blob:
    """Erases a random rectangle of images.

    The rule is that of torchvision: an area is drawn uniformly and an aspect ratio with uniform
    logarithm, then a place for a rectangle of this size. Ratios are width / height, torchvision's
    are height / width.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of uint8, float16, bfloat16 or float32, also
            ragged.
        probability (float, default 0.5, in [0, 1]): That a part of an image is erased. Drawn for
            each record.
        area (list of float, default (0.02, 0.33), in [0, 1]): Range of the erased area as a part of
            the image's, [min, max].
        aspect_ratio (list of float, default (0.3, 3.3), in [0, 1000000]): Range of the width /
            height of what is erased, [min, max].
        num_attempts (int, default 10, in [0, 1000]): How often a rectangle is drawn until one is
            smaller than the image; after that the image stays as it is.
        fill (list of float, default (0.0,)): What the erased part becomes: one number, or one for
            each channel.
        noise (bool, default False): Whether it becomes noise instead: normal numbers of mean 0 and
            variance 1, or uniform ones where images are uint8.
        layout (str, default 'CHW', one of 'CHW', 'HWC'): Whether images are (channels, height,
            width), as of Normalize, or (height, width, channels), as of decoders.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def RandomErasing(
    in_: _Row, *, probability: float = 0.5,
    area: float | Sequence[float] | NDArray[Any] = (0.02, 0.33),
    aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.3, 3.3), num_attempts: int = 10,
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), noise: bool = False,
    layout: Literal["CHW", "HWC"] = "CHW", name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandomErasing(
    in_: _Rows, *, probability: float = 0.5,
    area: float | Sequence[float] | NDArray[Any] = (0.02, 0.33),
    aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.3, 3.3), num_attempts: int = 10,
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), noise: bool = False,
    layout: Literal["CHW", "HWC"] = "CHW", name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandomFlip(
    in_: Blob,
    *,
    horizontal: float = 0.5,
    vertical: float = 0.0,
    name: str | None = None,
) -> Blob:
    """Mirrors images by chance: left to right, and top to bottom where that is asked for.

    The draws depend on seed, epoch, record and the name of the node. To let boxes follow, draw the
    flips with CoinFlip and give them to ImageFlip.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images of any dtype, (height, width, channels) or
            (height, width), also ragged.
        horizontal (float, default 0.5, in [0, 1]): Probability that an image is mirrored left to
            right.
        vertical (float, default 0.0, in [0, 1]): Probability that it is mirrored top to bottom,
            drawn independently.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The images, some of them mirrored.
    """
    ...
@overload
def RandomFlip(
    in_: _Row, *, horizontal: float = 0.5, vertical: float = 0.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandomFlip(
    in_: _Rows, *, horizontal: float = 0.5, vertical: float = 0.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandomResizedCrop(
    in_: Blob,
    *,
    size: Sequence[int] | NDArray[Any],
    area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.3333333333333333),
    num_attempts: int = 10,
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos", "area"] = "bilinear",
    antialias: bool = True,
    name: str | None = None,
) -> Blob:
    """Cuts a random part out of each image, and resamples it to one size.

    The rule is that of torchvision and OneFlow: an area is drawn uniformly and an aspect ratio with
    uniform logarithm, then a place for a part of this size. The draws depend on seed, epoch, record
    and the name of the node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        size (list of int, required, in [1, 65535]): (height, width) of the output.
        area (list of float, default (0.08, 1.0), in [0, 1]): Range of the window's area as a part
            of the image's, [min, max].
        aspect_ratio (list of float, default (0.75, 1.3333333333333333), in [0, 1000000]): Range of
            the window's width / height, [min, max].
        num_attempts (int, default 10, in [0, 1000]): How often a window is drawn until one fits
            into the image; after that it is the largest one in the middle.
        interpolation (str, default 'bilinear', one of 'nearest', 'bilinear', 'bicubic', 'lanczos',
            'area'): How pixels are resampled: 'bilinear', 'bicubic' and 'lanczos' equal Pillow's,
            'nearest' takes the pixel that a place is in, 'area' averages what an output pixel
            covers, as OpenCV.
        antialias (bool, default True): Whether bilinear and bicubic average over more pixels where
            an image becomes smaller, as Pillow and torchvision do. false: over 2 x 2 or 4 x 4
            pixels always, as OpenCV; faster, with jagged edges.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of one size, uint8.
    """
    ...
@overload
def RandomResizedCrop(
    in_: _Row, *, size: Sequence[int] | NDArray[Any],
    area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.3333333333333333),
    num_attempts: int = 10,
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos", "area"] = "bilinear",
    antialias: bool = True, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandomResizedCrop(
    in_: _Rows, *, size: Sequence[int] | NDArray[Any],
    area: float | Sequence[float] | NDArray[Any] = (0.08, 1.0),
    aspect_ratio: float | Sequence[float] | NDArray[Any] = (0.75, 1.3333333333333333),
    num_attempts: int = 10,
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos", "area"] = "bilinear",
    antialias: bool = True, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def RandomRotation(
    in_: Blob,
    *,
    degrees: float | Sequence[float] | NDArray[Any],
    expand: bool = False,
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    name: str | None = None,
) -> Blob:
    """Rotates each image around its middle by a random angle.

    Angles turn counter-clockwise, as in Pillow and in torchvision's RandomRotation; those of
    RandomAffine turn clockwise. The angle is drawn uniformly; it depends on seed, epoch, record and
    the name of the node.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        degrees (list of float, required, in [-36000, 36000]): Range of the angle, [min, max],
            counter-clockwise; one number n means [-n, n].
        expand (bool, default False): Whether the output is as large as all of the rotated image
            needs, and ragged; else it has the size of the input, and corners are cut off.
        interpolation (str, default 'bilinear', one of 'nearest', 'bilinear'): 'nearest' takes the
            pixel that a place is in, 'bilinear' the mean of the four nearest ones by distance; both
            as Pillow, whose bilinear numbers are cut off where these are rounded. torchvision's
            default is 'nearest'.
        fill (list of float, default (0.0,), in [0, 255]): The colour of pixels that lie outside the
            image: one number, or one for each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The rotated images, uint8.
    """
    ...
@overload
def RandomRotation(
    in_: _Row, *, degrees: float | Sequence[float] | NDArray[Any], expand: bool = False,
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def RandomRotation(
    in_: _Rows, *, degrees: float | Sequence[float] | NDArray[Any], expand: bool = False,
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Resize(
    in_: Blob,
    *,
    size: Sequence[int] | NDArray[Any] = (),
    shorter: int = 0,
    longer: int = 0,
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos", "area"] = "bilinear",
    antialias: bool = True,
    name: str | None = None,
) -> Blob:
    """Resamples images to size=(height, width), or to a size that keeps the aspect ratio.

    With antialias, which is the default, the result equals that of Pillow's Image.resize(), bit for
    bit. Each channel is resampled by itself, alpha too.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        size (list of int, default (), in [1, 65535]): (height, width) of the output; the aspect
            ratio is not kept.
        shorter (int, default 0, in [0, 65535]): How long the shorter side becomes; the other one
            keeps the aspect ratio, rounded down. torchvision's Resize(256) is shorter=256.
        longer (int, default 0, in [0, 65535]): How long the longer side becomes; with shorter, how
            long it becomes at most: the image is then as large as both allow, as with torchvision's
            max_size.
        interpolation (str, default 'bilinear', one of 'nearest', 'bilinear', 'bicubic', 'lanczos',
            'area'): How pixels are resampled: 'bilinear', 'bicubic' and 'lanczos' equal Pillow's,
            'nearest' takes the pixel that a place is in, 'area' averages what an output pixel
            covers, as OpenCV.
        antialias (bool, default True): Whether bilinear and bicubic average over more pixels where
            an image becomes smaller, as Pillow and torchvision do. false: over 2 x 2 or 4 x 4
            pixels always, as OpenCV; faster, with jagged edges.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The images in another size, uint8; ragged where shorter or longer is given and the
            input is.
    """
    ...
@overload
def Resize(
    in_: _Row, *, size: Sequence[int] | NDArray[Any] = (), shorter: int = 0, longer: int = 0,
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos", "area"] = "bilinear",
    antialias: bool = True, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Resize(
    in_: _Rows, *, size: Sequence[int] | NDArray[Any] = (), shorter: int = 0, longer: int = 0,
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos", "area"] = "bilinear",
    antialias: bool = True, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Rotate(
    in_: Blob,
    *,
    degrees: float,
    expand: bool = False,
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    name: str | None = None,
) -> Blob:
    """Rotates images around their middle, counter-clockwise.

    This is Pillow's and torchvision's rotate(). RandomAffine turns clockwise.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) or (height,
            width), also ragged.
        degrees (float, required, in [-36000, 36000]): The angle, counter-clockwise.
        expand (bool, default False): Whether the output is as large as all of the rotated image
            needs, and ragged; else it has the size of the input, and corners are cut off.
        interpolation (str, default 'bilinear', one of 'nearest', 'bilinear'): 'nearest' takes the
            pixel that a place is in, 'bilinear' the mean of the four nearest ones by distance; both
            as Pillow, whose bilinear numbers are cut off where these are rounded. torchvision's
            default is 'nearest'.
        fill (list of float, default (0.0,), in [0, 255]): The colour of pixels that lie outside the
            image: one number, or one for each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The rotated images, uint8.
    """
    ...
@overload
def Rotate(
    in_: _Row, *, degrees: float, expand: bool = False,
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Rotate(
    in_: _Rows, *, degrees: float, expand: bool = False,
    interpolation: Literal["nearest", "bilinear"] = "bilinear",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def SizeRatio(
    before: Blob,
    after: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Tells by how much images were resized, for the boxes and polygons in them.

    Rounded once, from the quotient in float64.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        before (Blob or rows): Images, or their sizes, int32 or int64 (2,), as image_size of
            COCOReader.
        after (Blob or rows): The same images, or their sizes, after Resize.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: float32 (2,): height and width after, divided by those before.
    """
    ...
@overload
def SizeRatio(
    before: _Row, after: _Row, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def SizeRatio(
    before: _Rows, after: _Rows, *, name: str | None = None, **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def Solarize(
    in_: Blob,
    *,
    threshold: float = 128.0,
    probability: float = 1.0,
    name: str | None = None,
) -> Blob:
    """Replaces each number x that is not below the threshold by 255 - x.

    As ImageOps.solarize of Pillow; with probability it is torchvision's RandomSolarize.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        threshold (float, default 128.0, in [0, 256]): Numbers from this one on are inverted.
        probability (float, default 1.0, in [0, 1]): That an image is changed; others are passed on
            as they are. Drawn for each record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def Solarize(
    in_: _Row, *, threshold: float = 128.0, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def Solarize(
    in_: _Rows, *, threshold: float = 128.0, probability: float = 1.0, name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

@overload
def TrivialAugment(
    in_: Blob,
    *,
    num_magnitude_bins: int = 31,
    interpolation: Literal["nearest", "bilinear"] = "nearest",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,),
    name: str | None = None,
) -> Blob:
    """Makes one random change of random strength to each image.

    Changes and strengths are those of torchvision's TrivialAugmentWide; the changes are those of
    RandAugment.

    Called with rows in place of blobs it answers at once: an array is one row, a list of arrays is
    a batch.

    Args:
        in_ (Blob or rows, the input 'in'): Images, uint8 (height, width, channels) with 1 or 3
            channels, also ragged.
        num_magnitude_bins (int, default 31, in [2, 1000000]): How many strengths there are.
        interpolation (str, default 'nearest', one of 'nearest', 'bilinear'): 'nearest' takes the
            pixel that a place is in, 'bilinear' the mean of the four nearest ones by distance; both
            as Pillow, whose bilinear numbers are cut off where these are rounded. torchvision's
            default is 'nearest'.
        fill (list of float, default (0.0,), in [0, 255]): The colour of pixels that lie outside the
            image: one number, or one for each channel.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Images of the type of the input.
    """
    ...
@overload
def TrivialAugment(
    in_: _Row, *, num_magnitude_bins: int = 31,
    interpolation: Literal["nearest", "bilinear"] = "nearest",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> _Array: ...
@overload
def TrivialAugment(
    in_: _Rows, *, num_magnitude_bins: int = 31,
    interpolation: Literal["nearest", "bilinear"] = "nearest",
    fill: float | Sequence[float] | NDArray[Any] = (0.0,), name: str | None = None,
    **on_rows: Unpack[OnRows],
) -> list[_Array]: ...

def BatchDataset(
    *in_: Blob,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[ReaderAttrs],
) -> Blobs:
    """Batches of the records of a data set.

    It has the attrs of every reader: the order, the ranks, and the rules for damaged records.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (ReaderAttrs): What all readers share: batch_size, last_batch, random_shuffle,
            shuffle, shuffle_after_epoch, shuffle_buffer_size, shuffle_block_size, shuffle_window,
            shuffle_lanes, seed, order_key, group_buffer_size, rank, world_size, on_error,
            max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of fields: The same fields in batches.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

def BucketDataset(
    *in_: Blob,
    lengths: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    max_tokens: int = 0,
    multiple_of: int = 1,
    boundaries: Sequence[int] | NDArray[Any] = (),
    batch_sizes: Sequence[int] | NDArray[Any] = (),
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[ReaderAttrs],
) -> Blobs:
    """Batches of records of similar lengths, so that little is padded.

    Each epoch has every record once, in batches that are drawn again, in a random order if
    random_shuffle is set, else with the longest first. How many batches an epoch has is known and
    does not change. Rows are ordered so that the sums of squared lengths of all ranks are nearly
    equal. last_batch is short or drop, for each bucket; with drop other records are left out in
    each epoch. A shuffle before it keeps its first epoch's order. PadBatch makes rows of one
    length.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        lengths (object, required): An array with the length of each record of the data set, in the
            order of its first epoch.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        max_tokens (int, default 0, at least 0): The most elements of a padded batch, of all ranks
            together: rows times the longest of the bucket; batch_size limits the rows too. 0: no
            limit.
        multiple_of (int, default 1, in [1, 1048576]): With max_tokens: batches have a multiple of
            this many rows, such as world_size, except where a bucket has fewer.
        boundaries (list of int, default (), at least 1): Lengths at which buckets end, each below
            the next; a bucket has the lengths from one boundary up to the next, without it. Left
            out, they are chosen so that lengths in a bucket differ by at most 1/16, or more where
            records are few.
        batch_sizes (list of int, default (), at least 1): Rows of a batch for each bucket, one more
            than boundaries; batch_size is the largest of them. Left out, all batches have
            batch_size rows.
        with_mask (bool, default False): Whether to return the output mask too: bool, False for rows
            that only fill a batch.
        with_id (bool, default False): Whether to return the output id too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (ReaderAttrs): What all readers share: batch_size, last_batch, random_shuffle,
            shuffle, shuffle_after_epoch, shuffle_buffer_size, shuffle_block_size, shuffle_window,
            shuffle_lanes, seed, order_key, group_buffer_size, rank, world_size, on_error,
            max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of fields: The same fields in batches.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...

def ClassSampleDataset(
    *in_: Blob,
    labels: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    classes: int = 0,
    per_class: int = 1,
    num_samples: int = 0,
    too_few: Literal["wrap", "drop"] = "wrap",
    seed: int | None = -1,
    name: str | None = None,
) -> Blobs:
    """Equally many records of each class, in runs of per_class records of one.

    Batches of classes * per_class rows have so many classes with so many records each. Classes come
    in rounds, each once in a round; the records of a class do too, and the next use goes on where
    the last one ended, also in the next epoch. A label belongs to a position of epoch 0 of the data
    set, and each epoch draws from these records.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        labels (object, required): An int64 for each record: its class.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        classes (int, default 0, at least 0): How many runs in a row are of different classes; 0: as
            many as there are classes.
        per_class (int, default 1, in [1, 1048576]): Records of a run, which are of one class and
            differ.
        num_samples (int, default 0, at least 0): Records of an epoch, a multiple of classes *
            per_class; 0: the largest one up to the number of records.
        too_few (str, default 'wrap', one of 'wrap', 'drop'): Classes with fewer than per_class
            records: wrap has records of them twice in a run, drop leaves them out.
        seed (int, default -1, at least -1): Of the random numbers; -1: the seed of the batches.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def ConcatDataset(
    *in_: Blob,
    num_sources: int,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """The records of several data sets one after another.

    Their fields have the same types; the files may be of different formats.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of the first data set, then
            those of the second, and so on; they have the same types.
        num_sources (int, required, in [1, 65536]): How many data sets the inputs are of.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def FlatDataset(
    *in_: Blob,
    fan_out: int,
    divided: Sequence[int] | NDArray[Any],
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """Several rows of each record: row p is part p mod fan_out of record p div fan_out.

    Consecutive rows of a record are computed once in a range of rows; a shuffle after it takes them
    apart.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        fan_out (int, required, in [1, 1000000000]): How many rows are made of each record.
        divided (list of int, required): Which inputs have a part for each row, along their first
            dimension: numbers from 0. The others are the same in all rows of a record.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields; of those that are divided, one part of the record's
            row.
    """
    ...

def MixDataset(
    *in_: Blob,
    num_sources: int,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    weights: float | Sequence[float] | NDArray[Any] = (),
    segments: Sequence[int] | NDArray[Any] = (),
    mean_lengths: float | Sequence[float] | NDArray[Any] = (),
    stop: Literal["first_exhausted", "all_exhausted"] = "first_exhausted",
    length: int = 0,
    interleave: Literal["regular", "random"] = "regular",
    block_size: int = 1024,
    seed: int | None = -1,
    source_names: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """Several data sets with the same fields, drawn by weights.

    Of any first rows, each source has its exact share give or take less than log2 of the number of
    sources, rounded up. A source that is drawn beyond its end begins its next epoch, and an epoch
    of the mix goes on with the records that come after those of the last one.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of the first data set, then
            those of the second, and so on; they have the same types.
        num_sources (int, required, in [1, 65536]): How many data sets the inputs are of.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        weights (list of float, default ()): How often each source is drawn, relative to the others;
            with segments, once more for each of them; left out, all alike.
        segments (list of int, default (), at least 1): Rows, counted on over the epochs, from which
            the second and later sets of weights hold.
        mean_lengths (list of float, default ()): Mean length of each source's records, such as
            tokens: weights are then of tokens, and a record's weight is that divided by the mean
            length; left out, weights are of records.
        stop (str, default 'first_exhausted', one of 'first_exhausted', 'all_exhausted'): Where an
            epoch ends that has no length: before a source would repeat its first epoch's records,
            or when each source has been drawn once as a whole.
        length (int, default 0, at least 0): Rows of an epoch; 0: as many as stop says.
        interleave (str, default 'regular', one of 'regular', 'random'): Whether the sources take
            turns as evenly as can be, or in random order within blocks whose counts are the same.
        block_size (int, default 1024, at least 2): Rows of a block, with random interleave; weights
            change where a block begins.
        seed (int, default -1, at least -1): Of the random numbers; -1: the seed of the batches.
        source_names (list of str, default ()): Of the sources, for messages.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def PackDataset(
    *in_: Blob,
    length: int,
    lengths: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    rule: Literal["best_fit", "chunk"] = "best_fit",
    window: int = 0,
    longer: Literal["split", "truncate", "drop", "raise"] = "split",
    last: Literal["pad", "drop"] = "pad",
    padding: float | Sequence[float] | NDArray[Any] = (),
    name: str | None = None,
) -> Blobs:
    """Packs: rows of exactly `length` elements, each made of several records.

    Which record goes where is decided once, by the lengths, so that the number of packs is known
    and each is read directly. Packs of best_fit are made of consecutive records of a window;
    shuffle them after packing. A shuffle before packing keeps its first epoch's order. Empty
    records are left out. A piece of a record that was split is a segment like a record, and its
    position_ids begin at 0. In cu_seqlens and max_seqlen the padding is a segment of its own.
    Labels that are shifted by one must leave out the first element of each segment, whose
    position_ids is 0.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): Fields of a data set whose rows have one
            dimension, such as tokens, labels and weights of a loss; of a record all have the same
            length.
        length (int, required, in [1, 16777216]): Elements of a pack.
        lengths (object, required): An array with the length of each record of the data set, in the
            order of its first epoch.
        fields (list of str, default ()): Names of the outputs: one for each input, then any of
            segment_ids, position_ids, loss_mask, cu_seqlens and max_seqlen, or NAME=segment_ids and
            so on; left out, those of the inputs.
        rule (str, default 'best_fit', one of 'best_fit', 'chunk'): best_fit: each record goes whole
            into the pack that it fills best, the longest of a window first. chunk: the records one
            after another are cut at the end of each pack.
        window (int, default 0, in [0, 1073741824]): For best_fit: about how many consecutive
            records are packed among each other; 0 chooses what fills several hundred packs, at
            least 8192.
        longer (str, default 'split', one of 'split', 'truncate', 'drop', 'raise'): For best_fit:
            what to do with a record that is longer than a pack. split: into full packs and a rest,
            which is packed like a record. truncate: the rest is left out. drop: the record is.
            raise: an error.
        last (str, default 'pad', one of 'pad', 'drop'): For chunk: what to do with the last pack if
            it is not full.
        padding (list of float, default ()): The value after the last record of a pack: one for all
            inputs, or one for each; left out, 0.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The inputs packed, (length,); segment_ids, int32 (length,): 1 for
            the first record of the pack, 2 for the next, 0 for padding; position_ids, int32
            (length,): from 0 in each segment; loss_mask, bool (length,): false for padding;
            cu_seqlens, int32 (None,): where each segment begins, then length; max_seqlen, int32:
            the longest segment.
    """
    ...

def RepeatDataset(
    *in_: Blob,
    times: int,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """A data set several times in an epoch.

    Epoch e of it has the epochs e * times to e * times + times - 1 of the data set, one after
    another, so what is shuffled before is shuffled differently each time.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        times (int, required, at least 1): How often an epoch has each record.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def RepeatFactorDataset(
    *in_: Blob,
    factors: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    seed: int | None = -1,
    name: str | None = None,
) -> Blobs:
    """The records of a data set in a random order, each as often as its factor says.

    Of a factor that is not a whole number, each epoch has the whole number below or above, and on
    average the factor. An epoch has as many records as the factors add up to, rounded. A factor
    belongs to a position of epoch 0 of the data set, and each epoch has these records.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        factors (object, required): A float64 for each record: how often an epoch has it on average,
            such as 2.5.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        seed (int, default -1, at least -1): Of the random numbers; -1: the seed of the batches.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def SelectDataset(
    *in_: Blob,
    table: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """The records of a data set that a table names.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        table (object, required): Which rows: an array of indexes in any order (int32, uint32,
            int64), or a bitmap (uint64; bit i % 64 of word i / 64 is row i).
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def ShuffleDataset(
    *in_: Blob,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    seed: int | None = -1,
    order_key: str | PathLike[str] = "",
    reshuffle: bool = True,
    name: str | None = None,
) -> Blobs:
    """The records of a data set in a random order, each once.

    It is a permutation by a key of seed, epoch and order_key.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        seed (int, default -1, at least -1): Of the random numbers; -1: the seed of the batches.
        order_key (str, default ''): A text on which the order depends besides the seed; empty means
            the name of the node.
        reshuffle (bool, default True): Whether each epoch has an order of its own.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def SkipDataset(
    *in_: Blob,
    count: int,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """All but the first records of a data set.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        count (int, required, at least 0): How many records to leave out; all where there are fewer.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def SliceDataset(
    *in_: Blob,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    begin: int = 0,
    end: int = 9223372036854775807,
    step: int = 1,
    name: str | None = None,
) -> Blobs:
    """The records begin, begin + step, and so on of a data set, as Python's slices count.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        begin (int, default 0): The first record; a negative one counts from the end.
        end (int, default 9223372036854775807): The record before which the slice ends; a negative
            one counts from the end, and one outside of the data set means as far as there are
            records.
        step (int, default 1): From one record to the next; a negative one goes backwards.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def SplitDataset(
    *in_: Blob,
    part: int,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    fractions: float | Sequence[float] | NDArray[Any] = (),
    counts: Sequence[int] | NDArray[Any] = (),
    name: str | None = None,
) -> Blobs:
    """One part of a data set that is cut into consecutive parts.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        part (int, required, at least 0): Which part, from 0.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        fractions (list of float, default (), in [0, 1]): What share of the records each part has,
            in the order of the records; the sum is 1. Sizes are rounded by largest remainders.
        counts (list of int, default (), at least 0): How many records each part has, in place of
            fractions; together all.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def TakeDataset(
    *in_: Blob,
    count: int,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """The first records of a data set.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        count (int, required, at least 0): How many records; all where there are fewer.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def WeightedSampleDataset(
    *in_: Blob,
    weights: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    num_samples: int = 0,
    seed: int | None = -1,
    name: str | None = None,
) -> Blobs:
    """Records of a data set drawn with replacement, with probabilities in proportion to their weights.

    A weight belongs to a position of epoch 0 of the data set, and each epoch draws from these
    records.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        weights (object, required): A float64 for each record: how often it is drawn, in proportion
            to the others.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        num_samples (int, default 0, at least 0): Records of an epoch; 0: as many as the data set
            has.
        seed (int, default -1, at least -1): Of the random numbers; -1: the seed of the batches.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def WeightedShuffleDataset(
    *in_: Blob,
    weights: object,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    num_samples: int = 0,
    seed: int | None = -1,
    name: str | None = None,
) -> Blobs:
    """Records of a data set drawn by weights without replacement.

    The next one is each of those left with a probability in proportion to its weight. A weight
    belongs to a position of epoch 0 of the data set, and each epoch draws from these records. The
    order of an epoch is sorted when its first record is asked for, and kept for two epochs.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of a data set: blobs in batches
            of 1, of one reader or view.
        weights (object, required): A float64 for each record: how likely it is the next one, in
            proportion to the others that are left.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        num_samples (int, default 0, at least 0): Records of an epoch; 0: all that have a weight
            above 0.
        seed (int, default -1, at least -1): Of the random numbers; -1: the seed of the batches.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: The same fields of the view's records.
    """
    ...

def ZipDataset(
    *in_: Blob,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Blobs:
    """Data sets of the same length side by side: a record has the fields of all of them.

    A record that is skipped in one of them is skipped in all.

    Args:
        *in_ (one or more, Blob or rows, the input 'in'): The fields of several data sets, those of
            each one together.
        fields (list of str, default ()): Names of the outputs; left out, those of the inputs.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of fields: All of them: record i has the fields of record i of each data set.
    """
    ...
