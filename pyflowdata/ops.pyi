"""One function per op of the registry.  Written by `make stubs`, not by hand.

Raises, each of them:
    InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
        the text says what is allowed.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict, overload, type_check_only

from numpy.typing import DTypeLike
from typing_extensions import Unpack

from .graph import Blob

__all__ = [
    "MiniReader",
    "MindRecordReader",
    "MDSReader",
    "TextLineReader",
    "CSVReader",
    "MiniDecoder",
    "Affine",
    "TFRecordReader",
    "ExampleDecoder",
    "SequenceExampleDecoder",
    "Cast",
    "Concat",
    "DecodeClass",
    "DecodeNpy",
    "DecodeRaw",
    "OneHot",
    "Pad",
    "PadBatch",
    "Slice",
    "RawReader",
    "NpyReader",
    "OFRecordReader",
    "OFRecordRawDecoder",
    "OFRecordBytesDecoder",
    "IDXReader",
    "CIFARReader",
    "OneRecReader",
    "OneRecDecoder",
    "TarReader",
    "MegatronReader",
    "GPTReader",
    "GeneratorReader",
    "COCOReader",
    "ImageFolderReader",
    "ManifestReader",
]

@type_check_only
class Blobs(Blob, tuple[Blob, ...]):  # type: ignore[misc]  # `index` is that of Blob
    """The blobs of the outputs that a list names; of a list of one, the blob itself."""

@type_check_only
class ReaderAttrs(TypedDict, total=False):
    """What all readers share."""

    batch_size: int
    """batch_size (int, default 1, at least 1): Records in a batch, of all ranks together; it must
    be divisible by world_size."""

    last_batch: Literal["short", "drop", "pad", "wrap"]
    """last_batch (str, default 'short', one of 'short', 'drop', 'pad', 'wrap'): What becomes of an
    epoch's last batch when records are too few: short delivers it smaller (a rank may get 0 rows),
    drop leaves it out, pad repeats the last record, wrap takes the next epoch's first records."""

    random_shuffle: bool
    """random_shuffle (bool, default False): Whether the order is random, with every record once in
    an epoch; which random order, is said by the attr shuffle."""

    shuffle: Literal["auto", "none", "global", "window", "buffer"]
    """shuffle (str, default 'auto', one of 'auto', 'none', 'global', 'window', 'buffer'): Which
    records can come next: global shuffles all of them, window those of some blocks of the files,
    buffer the shuffle_buffer_size next ones of the files; none is the files' own order; auto is
    none without random_shuffle, and with it global, or buffer where the source can only be read in
    sequence."""

    shuffle_after_epoch: bool
    """shuffle_after_epoch (bool, default False): Whether a shuffle makes a new order for each
    epoch, instead of the same one; without a shuffle it does nothing."""

    shuffle_buffer_size: int
    """shuffle_buffer_size (int, default 1024, at least 1): Records that the buffer holds to choose
    from, where the shuffle is a buffer."""

    shuffle_block_size: int
    """shuffle_block_size (int, default 256, at least 1): Where shuffle is window, the records in a
    block: what is read together from a file."""

    shuffle_window: int
    """shuffle_window (int, default 1024, at least 1): Where shuffle is window, the blocks that are
    mixed at a time; more mix better and touch more memory."""

    seed: int
    """seed (int, default -1, at least -1): Start of the random numbers; -1 draws a seed when the
    loader opens, or uses 0 where world_size is above 1, since all ranks need the same one."""

    order_key: str | PathLike[str]
    """order_key (str, default ''): Text that the random order depends on besides the seed, the same
    for readers that shall stay paired; empty takes the reader's name."""

    group_buffer_size: int
    """group_buffer_size (int, default 65536, at least 1): Records that wait at most for others of
    their group, in readers that make batches of one group each."""

    rank: int
    """rank (int, default -1, at least -1): Which part of every batch this process gets, counted
    from 0; -1, given or left out with world_size, finds both out from the framework or launcher in
    use."""

    world_size: int
    """world_size (int, default -1, at least -1): Number of ranks that share every batch; -1 finds
    it out, together with rank."""

    on_error: Literal["raise", "skip", "pad"]
    """on_error (str, default 'raise', one of 'raise', 'skip', 'pad'): What a damaged record does:
    raise fails its batch, skip leaves its row out (a batch may be left with 0 rows), pad delivers a
    row of zeros whose mask is False."""

    max_errors: int
    """max_errors (int, default -1, at least -1): Damaged records that an epoch of this rank may
    have before on_error=skip and pad fail as well; -1 means no limit."""

    name: str | None
    """name (str, default None): Name of this node, unique in a loader; None for none."""

@type_check_only
class FileReaderAttrs(ReaderAttrs, total=False):
    """What all readers of files share."""

    files: str | PathLike[str] | Sequence[str | PathLike[str]]
    """files (list of str, default ()): In place of data_dir: paths, and patterns with *, ? or
    [...], whose files are sorted by name."""

    data_part_num: int
    """data_part_num (int, default -1, at least -1): How many parts to read, numbered from 0; -1 for
    all parts found, in numeric order."""

    part_name_prefix: str | PathLike[str]
    """part_name_prefix (str, default 'part-'): What stands before the number in a part's name."""

    part_name_suffix_length: int
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

    Lines end with LF or CRLF, the last line of a file may go without; blank lines and empty files
    are passed over, and files are never glued together. Spaces and tabs around a number are
    allowed. Numbers are decimal literals as Python's float() takes them, inf and nan included,
    rounded to the nearest float64 whatever the locale.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

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

    Name one shard of a set, or those to be read; the .db files beside them are not needed. Scalars
    are exact, whatever was indexed; bytes come whole. Numbers and arrays need their type in the
    field ('ids:int64[?]'); string and bytes are ragged uint8. Encrypted files are refused.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        columns (list of str, found in the files if left out): Fields to read, each
            [NAME=]FIELD[:TYPE]: 'label:int32', 'image' (bytes), 'x:float32[?,3]'; left out, all
            fields of the header.
        whole_set (bool, default True): Whether a shard that is named alone stands for all shards of
            its set, in the order of the set.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of columns: A field: numbers and arrays of the type that the shards have and
            the field says, strings and bytes as ragged uint8.
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
    all others are ragged uint8, as they lie in the shard. Pickles are not loaded. A plain shard is
    read at random; where one is compressed (zstd, gz), the dataset is a stream that decompresses
    shard after shard.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        columns (list of str, found in the files if left out): Columns to read, each
            [NAME=]COLUMN[:TYPE]: 'label:int64', 'image' (bytes), 'x:float32[?,3]'; left out, all
            columns of the first shard.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        one for each of columns: A column: numbers as their column has them, arrays of the shape
            that the field says, all else as ragged uint8.
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

    Lines end with LF or CRLF, which are left out; the last line of a file may go without. Blank
    lines and empty files are passed over, and files are never glued together. The bytes are given
    as they stand, in whatever encoding; only a UTF-8 byte order mark at the beginning of a file is
    left out.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        skip_header_lines (int, default 0, in [0, 1000000000]): How many lines to leave out at the
            beginning of each file, blank ones counted.
        keep_blank_lines (bool, default False): Whether lines of nothing but spaces and tabs are
            records as well.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

def CSVReader(
    data_dir: str | PathLike[str] = "",
    *,
    columns: str | PathLike[str] | Sequence[str | PathLike[str]],
    delimiter: str | PathLike[str] = ",",
    quote: str | PathLike[str] = "\"",
    comment: str | PathLike[str] = "",
    header: Literal["auto", "yes", "no"] = "auto",
    skip_header_lines: int = 0,
    missing: str | PathLike[str] | Sequence[str | PathLike[str]] = ('NA', 'N/A', 'NaN', 'nan', 'null', 'NULL'),
    uneven_rows: Literal["raise", "allow"] = "raise",
    multiline: bool = False,
    with_mask: bool = False,
    with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blobs:
    """Reads columns of CSV files and of other delimited text.

    Each element of columns becomes an output: float64 unless its type says otherwise, bool, an
    integer, float32, or unchanged bytes; several columns become one array. A field that begins with
    the quote ends at the next, and two quotes inside stand for one. Spaces and tabs around a number
    are allowed. A missing value without a default, and a row with more or fewer fields than the
    header, are errors. Blank lines, empty files and a UTF-8 byte order mark are skipped.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        columns (list of str, required): What to read, an output each: [NAME=]KEY[:TYPE][=DEFAULT],
            where KEY is a column's name or number, a range as in 1..64, or several of these with |
            between, for one array.
        delimiter (str, default ','): The byte between two fields.
        quote (str, default '"'): The byte around fields that hold delimiters; empty: quotes are
            text.
        comment (str, default ''): The beginning of lines that are not rows, such as comments;
            empty: every line is a row.
        header (str, default 'auto', one of 'auto', 'yes', 'no'): Whether each file begins with a
            row of names; auto: where a column is asked for by name.
        skip_header_lines (int, default 0, in [0, 1000000000]): How many lines to leave out at the
            beginning of each file, before the header.
        missing (list of str, default ('NA', 'N/A', 'NaN', 'nan', 'null', 'NULL')): Texts that stand
            for no value, as an empty field does: the column's default takes their place.
        uneven_rows (str, default 'raise', one of 'raise', 'allow'): Whether rows may have fewer
            fields than the header, which are then missing, or more, which are ignored.
        multiline (bool, default False): Whether quoted fields may hold line ends.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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

def MiniDecoder(
    in_: Blob,
    *,
    name: str | None = None,
) -> tuple[Blob, Blob]:
    """Splits rows of two numbers into a column x and a column y.

    The numbers are copied bit for bit.

    Args:
        in_ (Blob, the input 'in'): Rows of two numbers, float32 or float64 of shape (batch, 2).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        x: The first number of each row, shape (batch, 1), dtype as the input.
        y: The second number of each row, shape (batch, 1), dtype as the input.
    """
    ...

def Affine(
    in_: Blob,
    *,
    scale: float | Sequence[float] = (1.0,),
    shift: float | Sequence[float] = (0.0,),
    dtype: DTypeLike = "float64",
    axis: int = -1,
    name: str | None = None,
) -> Blob:
    """Computes in * scale + shift for each number.

    The arithmetic is that of float64, product and sum rounded one after the other, then the result
    is rounded to dtype. Lists have a number for each channel.

    Args:
        in_ (Blob, the input 'in'): Numbers of any dtype and shape, also ragged.
        scale (list of float, default (1.0,)): Each number is multiplied by this, or by the one of
            its channel.
        shift (list of float, default (0.0,)): Added after the multiplication: one number, or one
            for each channel.
        dtype (dtype, default 'float64', one of 'float16', 'float32', 'float64'): The dtype of the
            output.
        axis (int, default -1, in [-8, 7]): Which dimension of a row the channels are, -1 the last
            one.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The scaled numbers, shape as the input.
    """
    ...

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

    Both checksums are compared: a damaged length, or a file that ends inside a record, is an error
    of the file when it is opened, since what follows cannot be found; damaged bytes are an error of
    one record, which on_error may leave out. An empty file has no records.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        check_crc (bool, default True): Whether each record's bytes are compared with their
            checksum; its length always is.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

def ExampleDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise",
    name: str | None = None,
) -> Blobs:
    """Takes tf.train.Examples apart, a column for each feature asked for.

    A float dtype reads a float_list, bool and integers an int64_list, and a number that the dtype
    does not hold is an error, also 2 for a bool. A feature that is missing takes its default;
    without one it is an error, or an empty row where the number of values varies. Other features
    are passed over. Records are read by the rules of the protobuf library: of equal keys the last
    one counts, numbers may be packed or not.

    Args:
        in_ (Blob, the input 'in'): Records as bytes, uint8 of one dimension, as TFRecordReader
            gives them.
        features (list of str, required): The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]:
            'x:float32[64]' has a fixed number of values, 'ids:int64[?]' any number,
            'image/encoded:bytes' one byte string.
        decode_raw (list of str, default ()): The names of those fields whose feature is one byte
            string of little-endian numbers of the field's dtype.
        on_mismatch (str, default 'raise', one of 'raise', 'pad', 'truncate', 'fit'): What becomes
            of a feature with another number of values than its shape has: an error, or what is too
            short is padded with the default or 0, what is too long is cut, or both (fit).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: One output for each field, in the order of features.
    """
    ...

def SequenceExampleDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise",
    name: str | None = None,
) -> Blobs:
    """Takes tf.train.SequenceExamples apart, a column for each feature asked for.

    Features of the context are read as ExampleDecoder does. A key that begins with feature_lists/
    is that of a list of steps, after the prefix: the first dimension of its shape counts the steps,
    all of which have the same number of values.

    Args:
        in_ (Blob, the input 'in'): Records as bytes, uint8 of one dimension, as TFRecordReader
            gives them.
        features (list of str, required): The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]:
            'label:int64' is one of the context, 'frames=feature_lists/frames:float32[?,3]' a list
            of steps with three values each; a list that may be missing ends with '='.
        decode_raw (list of str, default ()): The names of those fields whose features are one byte
            string, of each step, with little-endian numbers of the field's dtype.
        on_mismatch (str, default 'raise', one of 'raise', 'pad', 'truncate', 'fit'): What becomes
            of a feature, or of the steps of a list, with another number of values than the shape
            has: an error, or what is too short is padded with the default or 0, what is too long is
            cut, or both (fit).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: One output for each field, in the order of features.
    """
    ...

def Cast(
    in_: Blob,
    *,
    dtype: DTypeLike,
    overflow: Literal["raise", "wrap", "saturate"] = "raise",
    name: str | None = None,
) -> Blob:
    """Changes the dtype.

    Numbers are rounded to the nearest float, ties to even; floats become integers by cutting the
    fraction off; all but 0 is true. With overflow='wrap' and 'saturate' NaN becomes 0 in an integer
    dtype, and with 'wrap' infinity does too.

    Args:
        in_ (Blob, the input 'in'): Rows of any dtype and shape, also ragged.
        dtype (dtype, required): The dtype of the output.
        overflow (str, default 'raise', one of 'raise', 'wrap', 'saturate'): What becomes of a
            number that the dtype cannot hold: an error of its row, the low bits of the integer
            (infinity in a float dtype), or the nearest number that the dtype has.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The same numbers, shape as the input.
    """
    ...

def Concat(
    *in_: Blob,
    axis: int = 0,
    name: str | None = None,
) -> Blob:
    """Joins the rows of several blobs, such as columns of numbers to one vector a row.

    Where dimensions vary, rows that do not agree are damaged.

    Args:
        *in_ (one or more, each a Blob, the input 'in'): Rows of one dtype, also ragged, that agree
            in all dimensions but one; numbers count as rows of one number.
        axis (int, default 0, in [-8, 7]): The dimension of a row along which they are joined, -1
            the last one.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The rows joined, in the order of the inputs.
    """
    ...

def DecodeClass(
    in_: Blob,
    *,
    name: str | None = None,
) -> Blob:
    """Parses the text of each row as a decimal integer, such as a class number.

    Blanks and newlines around it are passed over; any other text is damaged.

    Args:
        in_ (Blob, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Numbers of int64, one a row.
    """
    ...

def DecodeNpy(
    in_: Blob,
    *,
    dtype: DTypeLike,
    shape: Sequence[int | None],
    name: str | None = None,
) -> Blob:
    """Takes the bytes of each row as a .npy file, as numpy.save writes it.

    An array of another dtype or shape is damaged, and so is one that ends too early or too late.
    Either order of bytes and of dimensions is taken.

    Args:
        in_ (Blob, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        dtype (dtype, required): The dtype that every array has.
        shape (shape, required, at least -1): The shape of every array, empty for a number; -1 for a
            dimension that varies, in Python also None.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The arrays; ragged where a dimension varies.
    """
    ...

def DecodeRaw(
    in_: Blob,
    *,
    dtype: DTypeLike,
    shape: Sequence[int | None] = (-1,),
    byte_order: Literal["little", "big"] = "little",
    name: str | None = None,
) -> Blob:
    """Takes the bytes of each row as numbers.

    A row of another size than dtype and shape take is damaged. Of bools, all that is not 0 is true.

    Args:
        in_ (Blob, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        dtype (dtype, required): What the bytes are.
        shape (shape, default (-1,), at least -1): The shape of a row, empty for a number; a first
            dimension of -1, in Python also None, follows from the number of bytes, and may vary
            from row to row.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number comes
            first.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The numbers; ragged where the first dimension varies.
    """
    ...

def OneHot(
    in_: Blob,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Blob:
    """Makes a vector of each class number, with on_value at its place and off_value at all others.

    A number outside of [0, depth) is an error of its row.

    Args:
        in_ (Blob, the input 'in'): Class numbers from 0: integers of any shape, also ragged.
        depth (int, required, at least 1): The number of classes.
        on_value (float, default 1.0): What stands at the place of the class.
        off_value (float, default 0.0): What stands at all other places.
        dtype (dtype, default 'float32'): The dtype of the output.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: Shape of the input, followed by a dimension of depth.
    """
    ...

@overload
def Pad(
    in_: Blob,
    *,
    shape: Sequence[int],
    value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise",
    with_mask: Literal[False] = False,
    with_length: Literal[False] = False,
    name: str | None = None,
) -> Blob:
    """Makes rows of different sizes rows of one shape.

    What is missing after a row gets a value; what is too long is an error of its row, or is cut
    where that is asked for.

    Args:
        in_ (Blob, the input 'in'): Rows of one dimension or more, of any dtype, also ragged.
        shape (shape, required, at least 0): The shape of every row.
        value (float, default 0.0): What is put where a row has nothing.
        on_longer (str, default 'raise', one of 'raise', 'truncate'): What becomes of a row that is
            longer: an error of the row, or its beginning is taken.
        with_mask (bool, default False): Whether the output mask is returned too.
        with_length (bool, default False): Whether the output length is returned too.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: Rows of the shape given: what a row has in front, then the value.
        mask (only with with_mask=True): Bool: true where the row has something; of the dimensions
            up to the last one that is padded.
        length (only with with_length=True): Numbers of int64: what the row has of each dimension of
            the mask; one number where that has one dimension.
    """
    ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: Literal[False] = False,
    with_length: Literal[True], name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: Literal[True],
    with_length: Literal[False] = False, name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: Literal[True],
    with_length: Literal[True], name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def Pad(
    in_: Blob, *, shape: Sequence[int], value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise", with_mask: bool = False,
    with_length: bool = False, name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...

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

    The batch is that of this rank. How large its rows are is known with each batch, so that the
    output is a Ragged, whose rows then have one shape: its attribute dense is the array of (rows,
    longest, ...), without a copy. Where one size is wanted for all batches, Pad takes it.

    Args:
        in_ (Blob, the input 'in'): Ragged rows of any dtype.
        value (float, default 0.0): What is put where a row has nothing.
        multiple_of (int, default 1, at least 1): Dimensions that vary are rounded up to a multiple
            of this.
        with_mask (bool, default False): Whether the output mask is returned too.
        with_length (bool, default False): Whether the output length is returned too.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: Rows of one shape: what a row has in front, then the value.
        mask (only with with_mask=True): Bool: true where the row has something; of the dimensions
            up to the last one that varies.
        length (only with with_length=True): Numbers of int64: what the row has of each dimension of
            the mask; one number where that has one dimension.
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
) -> Blob | tuple[Blob, ...]: ...

def Slice(
    in_: Blob,
    *,
    start: Sequence[int] = (),
    stop: Sequence[int] = (),
    step: Sequence[int] = (),
    axes: Sequence[int] = (),
    name: str | None = None,
) -> Blob:
    """Cuts a part out of each row, as NumPy's row[start:stop:step].

    A list has one number for each dimension that is cut: Slice(x, start=[0, 2], stop=[5, 4]) is
    row[0:5, 2:4]. What a row does not have is not there: a slice may be shorter than asked for, and
    empty.

    Args:
        in_ (Blob, the input 'in'): Rows of one dimension or more, of any dtype, also ragged.
        start (list of int, default ()): Where each cut begins, counted from the end if negative;
            left out, at the beginning.
        stop (list of int, default ()): Where each cut ends, this index not included, and what lies
            past the row is its end; left out, at the end.
        step (list of int, default ()): How far each goes from element to element, backwards if
            negative; left out, 1.
        axes (list of int, default (), in [-8, 7]): Which dimension of a row each cuts, -1 the last
            one; left out, the first ones.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The parts; a dimension that varies still does.
    """
    ...

@overload
def RawReader(
    data_dir: str | PathLike[str] = "",
    *,
    shape: Sequence[int],
    dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0,
    footer_bytes: int = 0,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads flat binary files of rows of one dtype and shape, back to back.

    What numpy.ndarray.tofile() writes is such a file. The rows must fill each file but for its
    header and footer; where they do not, opening fails and names the place. Access is by
    arithmetic: no index is needed.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        shape (shape, required): Shape of one row, "3,32,32" for example; empty for one number a
            record.
        dtype (dtype, default 'uint8'): The dtype of the numbers, as they are stored; as a bool,
            every byte other than 0 is true.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number is stored
            first: little, the lowest, as x86 and ARM machines write them; big, the highest.
        header_bytes (int, default 0, at least 0): Bytes at the beginning of each file that belong
            to no record.
        footer_bytes (int, default 0, at least 0): Bytes at the end of each file that belong to no
            record.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The rows, of the dtype and shape that the attrs say.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int], dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little", header_bytes: int = 0, footer_bytes: int = 0,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int], dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little", header_bytes: int = 0, footer_bytes: int = 0,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int], dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little", header_bytes: int = 0, footer_bytes: int = 0,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def RawReader(
    data_dir: str | PathLike[str] = "", *, shape: Sequence[int], dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little", header_bytes: int = 0, footer_bytes: int = 0,
    with_mask: bool = False, with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blob | tuple[Blob, ...]: ...

@overload
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    byte_order: Literal["little", "big"] | None = None,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads .npy files of NumPy along their first axis: a record is array[i].

    The arrays are of numbers or bools, in C order, of one dtype and row shape, and may have
    different lengths. Attrs left out are taken from the header of the first file; each header is
    checked against them when the loader opens. Access is by arithmetic, without an index.
    Compressed files are decompressed into memory as a whole.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        dtype (dtype, found in the files if left out): The dtype of the arrays; every file must have
            it. Of bools, every byte other than 0 is true.
        shape (shape, found in the files if left out): Shape of one row, which is that of the arrays
            without their first axis; every file must have it.
        byte_order (str, found in the files if left out, one of 'little', 'big'): Which byte of a
            number is stored first; every file must have it so.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        out: The rows of the arrays, of the dtype and shape that the attrs say.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.
    """
    ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, byte_order: Literal["little", "big"] | None = None,
    with_mask: Literal[False] = False, with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, byte_order: Literal["little", "big"] | None = None,
    with_mask: Literal[True], with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, byte_order: Literal["little", "big"] | None = None,
    with_mask: Literal[True], with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def NpyReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, byte_order: Literal["little", "big"] | None = None,
    with_mask: bool = False, with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blob | tuple[Blob, ...]: ...

@overload
def OFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads OneFlow's OFRecord files: messages of named lists, each after its length.

    The format has no checksums: a wrong length is found when the file is indexed, a damaged message
    when a decoder reads it, and other values where numbers stand are not found at all.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

def OFRecordRawDecoder(
    in_: Blob,
    *,
    blob_name: str | PathLike[str],
    shape: Sequence[int],
    dtype: DTypeLike,
    dim1_varying_length: bool = False,
    truncate: bool = False,
    auto_zero_padding: bool = False,
    name: str | None = None,
) -> Blob:
    """Takes a feature out of each OFRecord as numbers.

    The feature is a list of floats, doubles or integers, or a bytes_list of one value, whose bytes
    are numbers from 0 to 255. Floats that become integers lose what is after the point; doubles too
    large for float32 are infinite. Of a list each value is looked at, also those that are cut off.

    Args:
        in_ (Blob, the input 'in'): Messages as OFRecordReader gives them, uint8 of shape (batch,
            None).
        blob_name (str, required): Name of the feature in the record; OneFlow's op calls this attr
            name.
        shape (shape, required): Shape of a row of the output; empty for one number.
        dtype (dtype, required, one of 'bool', 'int8', 'uint8', 'int16', 'uint16', 'int32',
            'uint32', 'int64', 'uint64', 'float32', 'float64'): The dtype of the output; a number
            that an integer dtype does not hold is damage, and so is an integer other than 0 and 1
            for a bool.
        dim1_varying_length (bool, default False): Whether a record may have fewer rows along the
            shape's first dimension; zeros fill it up.
        truncate (bool, default False): Whether a record may have any number of values: what is too
            much is cut off, and zeros fill up what is missing.
        auto_zero_padding (bool, default False): A former name of truncate.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The numbers of each record's feature, of the dtype and shape that the attrs say.
    """
    ...

def OFRecordBytesDecoder(
    in_: Blob,
    *,
    blob_name: str | PathLike[str],
    name: str | None = None,
) -> Blob:
    """Takes a feature of bytes out of each OFRecord, an encoded image for example.

    The feature must be a bytes_list of one value. The bytes are not copied until a batch is
    delivered.

    Args:
        in_ (Blob, the input 'in'): Messages as OFRecordReader gives them, uint8 of shape (batch,
            None).
        blob_name (str, required): Name of the feature in the record.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The bytes of each record's feature, uint8 of shape (batch, None).
    """
    ...

@overload
def IDXReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads IDX files, the format of MNIST and its relatives: arrays of one dtype and shape.

    With labels each record has an array and its label, which the files of a pair hold at the same
    place. Dtypes and shapes left out are taken from the headers of the first files. Headers are
    checked against the attrs, and the numbers of images and labels against each other, when the
    loader opens. Compressed files are decompressed into memory as a whole. EMNIST's images are
    stored transposed, and come as they are.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        labels (list of str, default ()): Files of labels, paths or patterns: one for each file of
            images, in the same order.
        dtype (dtype, found in the files if left out, one of 'uint8', 'int8', 'int16', 'int32',
            'float32', 'float64'): The dtype of the images; every file must have it.
        shape (shape, found in the files if left out): Shape of one image; every file must have it.
        label_dtype (dtype, found in the files if left out, one of 'uint8', 'int8', 'int16',
            'int32', 'float32', 'float64'): The dtype of the labels.
        label_shape (shape, found in the files if left out): Shape of one label: empty for a number;
            QMNIST's are int32 of shape 8.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        images: The arrays, of the attrs' dtype and shape, in the byte order of this machine.
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
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[False] = False,
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]], with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def IDXReader(
    data_dir: str | PathLike[str] = "", *, dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None, label_dtype: DTypeLike | None = None,
    label_shape: Sequence[int] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]] = (), with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blob | tuple[Blob, ...]: ...

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

    Files may have any number of records. Labels outside the classes are damage; changed pixels are
    not found, as the format has no checksums.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        version (int, found in the files if left out, in [10, 100]): Which data set: 10 for
            CIFAR-10, 100 for CIFAR-100. Left out, the size of the first file decides, if it fits
            one of them.
        layout (str, default 'CHW', one of 'CHW', 'HWC'): Axes of an image: CHW is (3, 32, 32), as
            they are stored; HWC is (32, 32, 3).
        with_coarse_label (bool, default False): Whether the output coarse_label is returned too,
            which CIFAR-100 has.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
            group_buffer_size, rank, world_size, on_error, max_errors, name.

    Returns:
        The blobs of the outputs:
        image: The images, uint8, the channels red, green and blue.
        label: The class of each image, uint8: of 10, or the fine one of 100.
        coarse_label (only with with_coarse_label=True): Which of 20 groups the class of CIFAR-100
            belongs to, uint8.
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
) -> Blob | tuple[Blob, ...]: ...

@overload
def OneRecReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_digest: bool = True,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads OneRec files, a former format of OneFlow: messages in frames with digests.

    Each frame has an XXH64 digest of its header, checked whenever it is looked up, and one of its
    payload, checked when it is read; a damaged payload costs one record, a damaged header the file.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        check_digest (bool, default True): Whether the digest of each payload is checked, and not
            only that of each header.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

def OneRecDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    name: str | None = None,
) -> Blobs:
    """Takes features out of OneRec messages, an output for each.

    Numbers have the dtype that they are stored with and are not cast; bytes are int8 numbers, or
    one string or binary. A feature that a record does not have is damage, unless it has a default:
    one number, which fills the row, or nothing for an empty row of varying size.

    Args:
        in_ (Blob, the input 'in'): Messages as OneRecReader gives them, uint8 of shape (batch,
            None).
        features (list of str, required): The features, each [NAME=]KEY:TYPE[=DEFAULT]:
            "label:int64", "x:float32[64]", "ids:int64[?]", "image=img:bytes", "w:float32=1".
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: The features in the order of the attr features, each of its type.
    """
    ...

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

    Files that follow each other and have the same key are a sample: the key is the path up to the
    first dot of the file's name, the extension what follows it, in lower case. Entries other than
    files, names that begin with a dot or have none, and names like __this__ are skipped. ustar, GNU
    and pax headers are read.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        fields (list of str, found in the files if left out): The outputs, each the extension of a
            sample's file, which begins after the dot that ends the key: 'jpg', 'image=jpg|png',
            'note=txt:bytes=' with an empty default, 'key=__key__'; left out, the key and the
            extensions of the first samples.
        index_files (list of str, default ()): An index file of DALI for each of the files, which is
            compared with it.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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

    Either of the two is named, and the other one lies beside it. Both versions of the .idx are
    read, and each entry of it is compared with the .bin when the reader opens.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        dtype (dtype, found in the files if left out, one of 'int8', 'uint8', 'int16', 'uint16',
            'int32', 'uint32', 'int64', 'uint64'): The dtype of the rows: that of the files, or one
            that holds all its values.
        unit (str, default 'document', one of 'document', 'sequence'): What a record is: a document,
            or one of the sequences (sentences, say) that it is made of; mostly a document is one
            sequence.
        gaps (bool, default False): Whether the .idx may leave bytes of the .bin out, or name them
            in another order or twice; otherwise its sequences must be all of the .bin, one after
            the other.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

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
    split: float | Sequence[float] = (),
    split_index: int = 0,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob:
    """Reads windows of seq_length + 1 tokens over the documents of all files, one after the other.

    Files are .bin and .idx of Megatron-LM, of which either is named and the other one lies beside
    it, or flat ones as nanoGPT writes them. A window ends with the token that the next one begins
    with; it goes on from document to document and from file to file, and the rest after the last
    whole window is not read.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        seq_length (int, required, in [1, 1073741824]): Tokens from one window to the next; a window
            has one more, so that inputs and targets are both in it.
        dtype (dtype, default 'int64', one of 'uint8', 'uint16', 'int32', 'uint32', 'int64'): The
            dtype of the rows: that of the files, or one that holds all its values.
        format (str, default 'auto', one of 'auto', 'megatron', 'flat'): What the files are:
            megatron is a .bin and an .idx, flat nothing but tokens; auto is megatron where there is
            an .idx, and flat where there is none and file_dtype is set.
        file_dtype (str, default 'auto', one of 'auto', 'uint8', 'int8', 'uint16', 'int16',
            'uint32', 'int32', 'int64'): The dtype of the tokens in flat files; auto takes what the
            .idx says.
        header_bytes (int, default 0, in [0, 1073741824]): Bytes before the first token of a flat
            file.
        gaps (bool, default False): Whether the .idx may leave bytes of the .bin out, or name them
            in another order or twice; otherwise its sequences must be all of the .bin, one after
            the other.
        order (str, default 'own', one of 'own', 'megatron'): Which windows there are, and in which
            order: own cuts the files as they are, and random_shuffle shuffles windows; megatron
            gives the samples of Megatron-LM's GPTDataset, in its order.
        num_samples (int, default 0, at least 0): Where order is megatron, the samples that there
            must be at least, for which the documents are repeated; 0 takes each document once.
        megatron_seed (int, default 1234, at least 0): Where order is megatron, its random_seed.
        split (list of float, default ()): Where order is megatron, the weights of training,
            validation and test documents, as in 969,30,1; empty takes all documents.
        split_index (int, default 0, in [0, 2]): Where order is megatron, which part of the split is
            read: 0, 1 or 2.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
    num_samples: int = 0, megatron_seed: int = 1234, split: float | Sequence[float] = (),
    split_index: int = 0, with_mask: Literal[False] = False, with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234, split: float | Sequence[float] = (),
    split_index: int = 0, with_mask: Literal[True], with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]: ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234, split: float | Sequence[float] = (),
    split_index: int = 0, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def GPTReader(
    data_dir: str | PathLike[str] = "", *, seq_length: int, dtype: DTypeLike = "int64",
    format: Literal["auto", "megatron", "flat"] = "auto",
    file_dtype: Literal["auto", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"] = "auto",
    header_bytes: int = 0, gaps: bool = False, order: Literal["own", "megatron"] = "own",
    num_samples: int = 0, megatron_seed: int = 1234, split: float | Sequence[float] = (),
    split_index: int = 0, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob | tuple[Blob, ...]: ...

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

    An object with __len__ and __getitem__ is read in any order, as files with an index are;
    iterables are streams. A sample whose values do not fit the types is damaged; what the object
    raises is raised by the loader, with its traceback.

    Args:
        source (object, required): Either an object with __len__ and __getitem__, or a function that
            is called for each epoch, without arguments, and returns an iterable, or an iterable
            that starts again each time.
        fields (list of str, required): What is taken of a sample, [NAME=]KEY:TYPE each, such as
            x:float32[3], y:int64, tokens:int32[?] or name:bytes; a dict is asked for the keys, a
            tuple has the fields in this order, and a single field may be the sample itself.
        thread_safe (bool, default False): Whether __getitem__ may be called by several threads at
            once; else by one at a time.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (ReaderAttrs): What all readers share: batch_size, last_batch, random_shuffle,
            shuffle, shuffle_after_epoch, shuffle_buffer_size, shuffle_block_size, shuffle_window,
            seed, order_key, group_buffer_size, rank, world_size, on_error, max_errors, name.

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
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
) -> Blob | tuple[Blob, ...]: ...

@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "",
    *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (),
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
    followed, unless they lead back to a folder above. Names that begin with a period are left out,
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
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
    class_numbers: Sequence[int] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: Literal[False] = False, with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: Literal[True], with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: Literal[True], with_id: Literal[True],
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def ImageFolderReader(
    data_dir: str | PathLike[str] = "", *,
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (),
    extensions: str | PathLike[str] | Sequence[str | PathLike[str]] = ('.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp', '.pbm'),
    allow_empty: bool = False, with_mask: bool = False, with_id: bool = False,
    **attrs: Unpack[FileReaderAttrs],
) -> Blob | tuple[Blob, ...]: ...

@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "",
    *,
    usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (),
    multi_label: bool = False,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob]:
    """Reads the images that a manifest names, as MindData's ManifestDataset does: a file of JSON
    objects, one a line, with source (the path of an image), usage and annotation (a list of objects
    with a name, the label).

    Paths are relative to the manifest's folder. All lines are checked when the reader opens; an
    image is opened, read and closed when its record is needed, and one that is missing, empty or
    cannot be read is a damaged record, as is a line without label.

    Args:
        data_dir (str, default ''): The folder of the part files; alternatively give files.
        usage (str, default 'train'): Which lines are records: those with this usage, in upper or
            lower case; empty for all.
        classes (list of str, found in the files if left out): The labels in the order of their
            numbers; lines that have other labels alone are left out. Left out, all labels of the
            files, of every usage, sorted by bytes.
        class_numbers (list of int, default ()): The number of each of the classes; empty for 0, 1,
            2 and so on.
        multi_label (bool, default False): Whether a line may have any number of labels: the output
            label is then ragged.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        **attrs (FileReaderAttrs): What all readers of files share: files, data_part_num,
            part_name_prefix, part_name_suffix_length, file_access, compression, index_dir,
            batch_size, last_batch, random_shuffle, shuffle, shuffle_after_epoch,
            shuffle_buffer_size, shuffle_block_size, shuffle_window, seed, order_key,
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
    class_numbers: Sequence[int] = (), multi_label: bool = False, with_mask: Literal[False] = False,
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (), multi_label: bool = False, with_mask: Literal[True],
    with_id: Literal[False] = False, **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob]: ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (), multi_label: bool = False, with_mask: Literal[True],
    with_id: Literal[True], **attrs: Unpack[FileReaderAttrs],
) -> tuple[Blob, Blob, Blob, Blob]: ...
@overload
def ManifestReader(
    data_dir: str | PathLike[str] = "", *, usage: str | PathLike[str] = "train",
    classes: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    class_numbers: Sequence[int] = (), multi_label: bool = False, with_mask: bool = False,
    with_id: bool = False, **attrs: Unpack[FileReaderAttrs],
) -> Blob | tuple[Blob, ...]: ...
