"""One function per op of the registry.  Written by `make stubs`, not by hand."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, overload

from numpy.typing import DTypeLike

from .graph import Blob

__all__ = [
    "MiniReader",
    "TextLineReader",
    "CSVReader",
    "MiniDecoder",
    "Affine",
    "TFRecordReader",
    "ExampleDecoder",
    "SequenceExampleDecoder",
]

@overload
def MiniReader(
    data_dir: str | PathLike[str] = "",
    *,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    name: str | None = None,
) -> Blob:
    """Reads text files in which each line holds two comma-separated numbers.

    Lines end with LF or CRLF, the last line of a file may go without; blank lines and empty files
    are passed over, and files are never glued together. Spaces and tabs around a number are
    allowed. Numbers are decimal literals as Python's float() takes them, inf and nan included,
    rounded to the nearest float64 whatever the locale.

    Args:
        data_dir (str, default ''): The folder of the part files; or else files is given.
        files (list of str, default ()): In place of data_dir: paths, and patterns with *, ? or
            [...], whose files are sorted by name.
        data_part_num (int, default -1, at least -1): How many parts to read, numbered from 0; -1
            for all parts found, in numeric order.
        part_name_prefix (str, default 'part-'): What stands before the number in a part's name.
        part_name_suffix_length (int, default -1, in [-1, 64]): To how many digits a part's number
            is filled up with zeros; -1 for no filling.
        file_access (str, default 'auto', one of 'auto', 'map', 'read'): How files are read: map
            maps them into memory, read reads them piece by piece; auto maps them if they fit into
            memory and address space together.
        index_dir (str, default ''): The folder in which indexes of the files are kept, for the next
            time and for the other processes of the machine; none keeps them in memory. Left empty,
            files of 16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, else in
            XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata.
        batch_size (int, default 1, at least 1): Records in a batch, of all ranks together; it must
            be divisible by world_size.
        last_batch (str, default 'short', one of 'short', 'drop', 'pad', 'wrap'): What becomes of an
            epoch's last batch when records are too few: short delivers it smaller (a rank may get 0
            rows), drop leaves it out, pad repeats the last record, wrap takes the next epoch's
            first records.
        random_shuffle (bool, default False): Whether the order is random, with every record once in
            an epoch; which random order, is said by the attr shuffle.
        shuffle (str, default 'auto', one of 'auto', 'none', 'global', 'window', 'buffer'): Which
            records can come next: global shuffles all of them, window those of some blocks of the
            files, buffer the shuffle_buffer_size next ones of the files; none is the files' own
            order; auto is none without random_shuffle, and with it global, or buffer where the
            source can only be read in sequence.
        shuffle_after_epoch (bool, default False): Whether a shuffle makes a new order for each
            epoch, instead of the same one; without a shuffle it does nothing.
        shuffle_buffer_size (int, default 1024, at least 1): Records that the buffer holds to choose
            from, where the shuffle is a buffer.
        shuffle_block_size (int, default 256, at least 1): Where shuffle is window, the records in a
            block: what is read together from a file.
        shuffle_window (int, default 1024, at least 1): Where shuffle is window, the blocks that are
            mixed at a time; more mix better and touch more memory.
        seed (int, default -1, at least -1): Start of the random numbers; -1 draws a seed when the
            loader opens, or uses 0 where world_size is above 1, since all ranks need the same one.
        order_key (str, default ''): Text that the random order depends on besides the seed, the
            same for readers that shall stay paired; empty takes the reader's name.
        group_buffer_size (int, default 65536, at least 1): Records that wait at most for others of
            their group, in readers that make batches of one group each.
        rank (int, default -1, at least -1): Which part of every batch this process gets, counted
            from 0; -1, given or left out with world_size, finds both out from the framework or
            launcher in use.
        world_size (int, default -1, at least -1): Number of ranks that share every batch; -1 finds
            it out, together with rank.
        on_error (str, default 'raise', one of 'raise', 'skip', 'pad'): What a damaged record does:
            raise fails its batch, skip leaves its row out (a batch may be left with 0 rows), pad
            delivers a row of zeros whose mask is False.
        max_errors (int, default -1, at least -1): Damaged records that an epoch of this rank may
            have before on_error=skip and pad fail as well; -1 is no limit.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: The two numbers of each line, float64 of shape (batch, 2).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "",
    *,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "",
    *,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[False] = False,
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "",
    *,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def MiniReader(
    data_dir: str | PathLike[str] = "",
    *,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: bool = False,
    with_id: bool = False,
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...

@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "",
    *,
    skip_header_lines: int = 0,
    keep_blank_lines: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    name: str | None = None,
) -> Blob:
    """Reads the lines of text files as bytes.

    Lines end with LF or CRLF, which are left out; the last line of a file may go without. Blank
    lines and empty files are passed over, and files are never glued together. The bytes are given
    as they stand, in whatever encoding; only a UTF-8 byte order mark at the beginning of a file is
    left out.

    Args:
        data_dir (str, default ''): The folder of the part files; or else files is given.
        skip_header_lines (int, default 0, in [0, 1000000000]): How many lines to leave out at the
            beginning of each file, blank ones counted.
        keep_blank_lines (bool, default False): Whether lines of nothing but spaces and tabs are
            records as well.
        files (list of str, default ()): In place of data_dir: paths, and patterns with *, ? or
            [...], whose files are sorted by name.
        data_part_num (int, default -1, at least -1): How many parts to read, numbered from 0; -1
            for all parts found, in numeric order.
        part_name_prefix (str, default 'part-'): What stands before the number in a part's name.
        part_name_suffix_length (int, default -1, in [-1, 64]): To how many digits a part's number
            is filled up with zeros; -1 for no filling.
        file_access (str, default 'auto', one of 'auto', 'map', 'read'): How files are read: map
            maps them into memory, read reads them piece by piece; auto maps them if they fit into
            memory and address space together.
        index_dir (str, default ''): The folder in which indexes of the files are kept, for the next
            time and for the other processes of the machine; none keeps them in memory. Left empty,
            files of 16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, else in
            XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata.
        batch_size (int, default 1, at least 1): Records in a batch, of all ranks together; it must
            be divisible by world_size.
        last_batch (str, default 'short', one of 'short', 'drop', 'pad', 'wrap'): What becomes of an
            epoch's last batch when records are too few: short delivers it smaller (a rank may get 0
            rows), drop leaves it out, pad repeats the last record, wrap takes the next epoch's
            first records.
        random_shuffle (bool, default False): Whether the order is random, with every record once in
            an epoch; which random order, is said by the attr shuffle.
        shuffle (str, default 'auto', one of 'auto', 'none', 'global', 'window', 'buffer'): Which
            records can come next: global shuffles all of them, window those of some blocks of the
            files, buffer the shuffle_buffer_size next ones of the files; none is the files' own
            order; auto is none without random_shuffle, and with it global, or buffer where the
            source can only be read in sequence.
        shuffle_after_epoch (bool, default False): Whether a shuffle makes a new order for each
            epoch, instead of the same one; without a shuffle it does nothing.
        shuffle_buffer_size (int, default 1024, at least 1): Records that the buffer holds to choose
            from, where the shuffle is a buffer.
        shuffle_block_size (int, default 256, at least 1): Where shuffle is window, the records in a
            block: what is read together from a file.
        shuffle_window (int, default 1024, at least 1): Where shuffle is window, the blocks that are
            mixed at a time; more mix better and touch more memory.
        seed (int, default -1, at least -1): Start of the random numbers; -1 draws a seed when the
            loader opens, or uses 0 where world_size is above 1, since all ranks need the same one.
        order_key (str, default ''): Text that the random order depends on besides the seed, the
            same for readers that shall stay paired; empty takes the reader's name.
        group_buffer_size (int, default 65536, at least 1): Records that wait at most for others of
            their group, in readers that make batches of one group each.
        rank (int, default -1, at least -1): Which part of every batch this process gets, counted
            from 0; -1, given or left out with world_size, finds both out from the framework or
            launcher in use.
        world_size (int, default -1, at least -1): Number of ranks that share every batch; -1 finds
            it out, together with rank.
        on_error (str, default 'raise', one of 'raise', 'skip', 'pad'): What a damaged record does:
            raise fails its batch, skip leaves its row out (a batch may be left with 0 rows), pad
            delivers a row of zeros whose mask is False.
        max_errors (int, default -1, at least -1): Damaged records that an epoch of this rank may
            have before on_error=skip and pad fail as well; -1 is no limit.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: The bytes of each line without its end, uint8 of shape (batch, None).
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "",
    *,
    skip_header_lines: int = 0,
    keep_blank_lines: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "",
    *,
    skip_header_lines: int = 0,
    keep_blank_lines: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[False] = False,
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "",
    *,
    skip_header_lines: int = 0,
    keep_blank_lines: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def TextLineReader(
    data_dir: str | PathLike[str] = "",
    *,
    skip_header_lines: int = 0,
    keep_blank_lines: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: bool = False,
    with_id: bool = False,
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...

@overload
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
    uneven_rows: Literal["error", "allow"] = "error",
    multiline: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    name: str | None = None,
) -> Blob | tuple[Blob, ...]:
    """Reads columns of CSV files and of other delimited text.

    Each element of columns becomes an output: float64 unless its type says otherwise, bool, an
    integer, float32, or bytes as they stand; several columns become one array. A field that begins
    with the quote ends at the next, and two quotes inside stand for one. Spaces and tabs around a
    number are allowed. A missing value without a default, and a row with more or fewer fields than
    the header, are errors. Blank lines and empty files are passed over, and so is a UTF-8 byte
    order mark.

    Args:
        data_dir (str, default ''): The folder of the part files; or else files is given.
        columns (list of str, required): What to read, an output each: [NAME=]KEY[:TYPE][=DEFAULT],
            where KEY is a column's name or number, a range as in 1..64, or several of these with |
            between, for one array.
        delimiter (str, default ','): The byte between two fields.
        quote (str, default '"'): The byte around fields that hold delimiters; empty: quotes are
            text.
        comment (str, default ''): What the lines begin with that are no rows; empty: there are
            none.
        header (str, default 'auto', one of 'auto', 'yes', 'no'): Whether each file begins with a
            row of names; auto: where a column is asked for by name.
        skip_header_lines (int, default 0, in [0, 1000000000]): How many lines to leave out at the
            beginning of each file, before the header.
        missing (list of str, default ('NA', 'N/A', 'NaN', 'nan', 'null', 'NULL')): Texts that stand
            for no value, as an empty field does: the column's default takes their place.
        uneven_rows (str, default 'error', one of 'error', 'allow'): Whether rows may have fewer
            fields than the header, which are then missing, or more, which are passed over.
        multiline (bool, default False): Whether quoted fields may hold line ends.
        files (list of str, default ()): In place of data_dir: paths, and patterns with *, ? or
            [...], whose files are sorted by name.
        data_part_num (int, default -1, at least -1): How many parts to read, numbered from 0; -1
            for all parts found, in numeric order.
        part_name_prefix (str, default 'part-'): What stands before the number in a part's name.
        part_name_suffix_length (int, default -1, in [-1, 64]): To how many digits a part's number
            is filled up with zeros; -1 for no filling.
        file_access (str, default 'auto', one of 'auto', 'map', 'read'): How files are read: map
            maps them into memory, read reads them piece by piece; auto maps them if they fit into
            memory and address space together.
        index_dir (str, default ''): The folder in which indexes of the files are kept, for the next
            time and for the other processes of the machine; none keeps them in memory. Left empty,
            files of 16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, else in
            XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata.
        batch_size (int, default 1, at least 1): Records in a batch, of all ranks together; it must
            be divisible by world_size.
        last_batch (str, default 'short', one of 'short', 'drop', 'pad', 'wrap'): What becomes of an
            epoch's last batch when records are too few: short delivers it smaller (a rank may get 0
            rows), drop leaves it out, pad repeats the last record, wrap takes the next epoch's
            first records.
        random_shuffle (bool, default False): Whether the order is random, with every record once in
            an epoch; which random order, is said by the attr shuffle.
        shuffle (str, default 'auto', one of 'auto', 'none', 'global', 'window', 'buffer'): Which
            records can come next: global shuffles all of them, window those of some blocks of the
            files, buffer the shuffle_buffer_size next ones of the files; none is the files' own
            order; auto is none without random_shuffle, and with it global, or buffer where the
            source can only be read in sequence.
        shuffle_after_epoch (bool, default False): Whether a shuffle makes a new order for each
            epoch, instead of the same one; without a shuffle it does nothing.
        shuffle_buffer_size (int, default 1024, at least 1): Records that the buffer holds to choose
            from, where the shuffle is a buffer.
        shuffle_block_size (int, default 256, at least 1): Where shuffle is window, the records in a
            block: what is read together from a file.
        shuffle_window (int, default 1024, at least 1): Where shuffle is window, the blocks that are
            mixed at a time; more mix better and touch more memory.
        seed (int, default -1, at least -1): Start of the random numbers; -1 draws a seed when the
            loader opens, or uses 0 where world_size is above 1, since all ranks need the same one.
        order_key (str, default ''): Text that the random order depends on besides the seed, the
            same for readers that shall stay paired; empty takes the reader's name.
        group_buffer_size (int, default 65536, at least 1): Records that wait at most for others of
            their group, in readers that make batches of one group each.
        rank (int, default -1, at least -1): Which part of every batch this process gets, counted
            from 0; -1, given or left out with world_size, finds both out from the framework or
            launcher in use.
        world_size (int, default -1, at least -1): Number of ranks that share every batch; -1 finds
            it out, together with rank.
        on_error (str, default 'raise', one of 'raise', 'skip', 'pad'): What a damaged record does:
            raise fails its batch, skip leaves its row out (a batch may be left with 0 rows), pad
            delivers a row of zeros whose mask is False.
        max_errors (int, default -1, at least -1): Damaged records that an epoch of this rank may
            have before on_error=skip and pad fail as well; -1 is no limit.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        one for each of columns: The column or columns of the element, one row for each row of the
            file.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...
@overload
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
    uneven_rows: Literal["error", "allow"] = "error",
    multiline: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[True],
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...
@overload
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
    uneven_rows: Literal["error", "allow"] = "error",
    multiline: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[False] = False,
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...
@overload
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
    uneven_rows: Literal["error", "allow"] = "error",
    multiline: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[True],
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...
@overload
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
    uneven_rows: Literal["error", "allow"] = "error",
    multiline: bool = False,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: bool = False,
    with_id: bool = False,
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...

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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...

def Affine(
    in_: Blob,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    dtype: DTypeLike = "float64",
    name: str | None = None,
) -> Blob:
    """Computes in * scale + shift for each number.

    The arithmetic is that of float64, product and sum rounded one after the other, then the result
    is rounded to dtype; with the default scale and shift this is a cast.

    Args:
        in_ (Blob, the input 'in'): Numbers of any shape, also ragged: bool, any integer dtype,
            float32 or float64.
        scale (float, default 1.0): Each number is multiplied by this.
        shift (float, default 0.0): Added after the multiplication.
        dtype (dtype, default 'float64', one of 'float32', 'float64'): The dtype of the output.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The scaled numbers, shape as the input.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...

@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_crc: bool = True,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[False] = False,
    name: str | None = None,
) -> Blob:
    """Reads the records of TensorFlow's TFRecord files as bytes.

    Both checksums are compared: a damaged length, or a file that ends inside a record, is an error
    of the file when it is opened, since what follows cannot be found; damaged bytes are an error of
    one record, which on_error may leave out. An empty file has no records.

    Args:
        data_dir (str, default ''): The folder of the part files; or else files is given.
        check_crc (bool, default True): Whether each record's bytes are compared with their
            checksum; its length always is.
        files (list of str, default ()): In place of data_dir: paths, and patterns with *, ? or
            [...], whose files are sorted by name.
        data_part_num (int, default -1, at least -1): How many parts to read, numbered from 0; -1
            for all parts found, in numeric order.
        part_name_prefix (str, default 'part-'): What stands before the number in a part's name.
        part_name_suffix_length (int, default -1, in [-1, 64]): To how many digits a part's number
            is filled up with zeros; -1 for no filling.
        file_access (str, default 'auto', one of 'auto', 'map', 'read'): How files are read: map
            maps them into memory, read reads them piece by piece; auto maps them if they fit into
            memory and address space together.
        index_dir (str, default ''): The folder in which indexes of the files are kept, for the next
            time and for the other processes of the machine; none keeps them in memory. Left empty,
            files of 16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, else in
            XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata.
        batch_size (int, default 1, at least 1): Records in a batch, of all ranks together; it must
            be divisible by world_size.
        last_batch (str, default 'short', one of 'short', 'drop', 'pad', 'wrap'): What becomes of an
            epoch's last batch when records are too few: short delivers it smaller (a rank may get 0
            rows), drop leaves it out, pad repeats the last record, wrap takes the next epoch's
            first records.
        random_shuffle (bool, default False): Whether the order is random, with every record once in
            an epoch; which random order, is said by the attr shuffle.
        shuffle (str, default 'auto', one of 'auto', 'none', 'global', 'window', 'buffer'): Which
            records can come next: global shuffles all of them, window those of some blocks of the
            files, buffer the shuffle_buffer_size next ones of the files; none is the files' own
            order; auto is none without random_shuffle, and with it global, or buffer where the
            source can only be read in sequence.
        shuffle_after_epoch (bool, default False): Whether a shuffle makes a new order for each
            epoch, instead of the same one; without a shuffle it does nothing.
        shuffle_buffer_size (int, default 1024, at least 1): Records that the buffer holds to choose
            from, where the shuffle is a buffer.
        shuffle_block_size (int, default 256, at least 1): Where shuffle is window, the records in a
            block: what is read together from a file.
        shuffle_window (int, default 1024, at least 1): Where shuffle is window, the blocks that are
            mixed at a time; more mix better and touch more memory.
        seed (int, default -1, at least -1): Start of the random numbers; -1 draws a seed when the
            loader opens, or uses 0 where world_size is above 1, since all ranks need the same one.
        order_key (str, default ''): Text that the random order depends on besides the seed, the
            same for readers that shall stay paired; empty takes the reader's name.
        group_buffer_size (int, default 65536, at least 1): Records that wait at most for others of
            their group, in readers that make batches of one group each.
        rank (int, default -1, at least -1): Which part of every batch this process gets, counted
            from 0; -1, given or left out with world_size, finds both out from the framework or
            launcher in use.
        world_size (int, default -1, at least -1): Number of ranks that share every batch; -1 finds
            it out, together with rank.
        on_error (str, default 'raise', one of 'raise', 'skip', 'pad'): What a damaged record does:
            raise fails its batch, skip leaves its row out (a batch may be left with 0 rows), pad
            delivers a row of zeros whose mask is False.
        max_errors (int, default -1, at least -1): Damaged records that an epoch of this rank may
            have before on_error=skip and pad fail as well; -1 is no limit.
        with_mask (bool, default False): Whether the output mask is returned too: bool, False for
            rows that only fill a batch.
        with_id (bool, default False): Whether the output id is returned too: int64 (2,), the file's
            index and the record's number in the dataset.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blobs of the outputs:
        out: The bytes of each record, ragged uint8; ExampleDecoder takes them apart.
        mask (only with with_mask=True): False for rows that only fill a batch and for damaged
            records that were padded.
        id (only with with_id=True): Index of the record's file and its 0-based number in the
            dataset.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_crc: bool = True,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[False] = False,
    with_id: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_crc: bool = True,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[False] = False,
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_crc: bool = True,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: Literal[True],
    with_id: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def TFRecordReader(
    data_dir: str | PathLike[str] = "",
    *,
    check_crc: bool = True,
    files: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    data_part_num: int = -1,
    part_name_prefix: str | PathLike[str] = "part-",
    part_name_suffix_length: int = -1,
    file_access: Literal["auto", "map", "read"] = "auto",
    index_dir: str | PathLike[str] = "",
    batch_size: int = 1,
    last_batch: Literal["short", "drop", "pad", "wrap"] = "short",
    random_shuffle: bool = False,
    shuffle: Literal["auto", "none", "global", "window", "buffer"] = "auto",
    shuffle_after_epoch: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_block_size: int = 256,
    shuffle_window: int = 1024,
    seed: int = -1,
    order_key: str | PathLike[str] = "",
    group_buffer_size: int = 65536,
    rank: int = -1,
    world_size: int = -1,
    on_error: Literal["raise", "skip", "pad"] = "raise",
    max_errors: int = -1,
    with_mask: bool = False,
    with_id: bool = False,
    name: str | None = None,
) -> Blob | tuple[Blob, ...]: ...

def ExampleDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise",
    name: str | None = None,
) -> Blob | tuple[Blob, ...]:
    """Takes tf.train.Examples apart, a column for each feature asked for.

    A float dtype reads a float_list, bool and integers an int64_list, and a number that the dtype
    does not hold is an error. A feature that is missing takes its default; without one it is an
    error, or an empty row where the number of values varies. Other features are passed over.
    Records are read by the rules of the protobuf library: of equal keys the last one counts,
    numbers may be packed or not.

    Args:
        in_ (Blob, the input 'in'): Records as bytes, ragged uint8, as TFRecordReader gives them.
        features (list of str, required): The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]:
            'x:float32[64]' has a fixed number of values, 'ids:int64[?]' any number,
            'image/encoded:bytes' one byte string.
        decode_raw (list of str, default ()): The names of those fields whose feature is one byte
            string of little-endian numbers of the field's dtype.
        on_mismatch (str, default 'raise', one of 'raise', 'pad', 'truncate', 'fit'): What becomes
            of a feature with another number of values than its shape has: an error, or one that is
            too short is padded with the default or 0, one that is too long is cut, or both (fit).
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        one for each of features: One output for each field, in the order of features.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...

def SequenceExampleDecoder(
    in_: Blob,
    *,
    features: str | PathLike[str] | Sequence[str | PathLike[str]],
    decode_raw: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    on_mismatch: Literal["raise", "pad", "truncate", "fit"] = "raise",
    name: str | None = None,
) -> Blob | tuple[Blob, ...]:
    """Takes tf.train.SequenceExamples apart, a column for each feature asked for.

    Features of the context are read as ExampleDecoder does. A key that begins with feature_lists/
    is that of a list of steps, behind the prefix: the first dimension of its shape counts the
    steps, all of which have the same number of values.

    Args:
        in_ (Blob, the input 'in'): Records as bytes, ragged uint8, as TFRecordReader gives them.
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...
