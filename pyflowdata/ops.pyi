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
    "GeneratorReader",
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...

def DecodeNpy(
    in_: Blob,
    *,
    dtype: DTypeLike,
    shape: Sequence[int],
    name: str | None = None,
) -> Blob:
    """Takes the bytes of each row as a .npy file, as numpy.save writes it.

    An array of another dtype or shape is damaged, and so is one that ends too early or too late.
    Either order of bytes and of dimensions is taken.

    Args:
        in_ (Blob, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        dtype (dtype, required): The dtype that every array has.
        shape (list of int, required, at least -1): The shape of every array, empty for a number; -1
            for a dimension that varies.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The arrays; ragged where a dimension varies.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...

def DecodeRaw(
    in_: Blob,
    *,
    dtype: DTypeLike,
    shape: Sequence[int] = (-1,),
    byte_order: Literal["little", "big"] = "little",
    name: str | None = None,
) -> Blob:
    """Takes the bytes of each row as numbers.

    A row of another size than dtype and shape take is damaged. Of bools, all that is not 0 is true.

    Args:
        in_ (Blob, the input 'in'): Rows of bytes, uint8 of one dimension, which may vary.
        dtype (dtype, required): What the bytes are.
        shape (list of int, default (-1,), at least -1): The shape of a row, empty for a number; a
            first dimension of -1 follows from the number of bytes, and may vary from row to row.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number comes
            first.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The numbers; ragged where the first dimension varies.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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
        out: Shape of the input, and behind it a dimension of depth.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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

    What is missing behind a row gets a value; what is too long is an error of its row, or is cut
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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
    with_length: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def Pad(
    in_: Blob,
    *,
    shape: Sequence[int],
    value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise",
    with_mask: Literal[True],
    with_length: Literal[False] = False,
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def Pad(
    in_: Blob,
    *,
    shape: Sequence[int],
    value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise",
    with_mask: Literal[True],
    with_length: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def Pad(
    in_: Blob,
    *,
    shape: Sequence[int],
    value: float = 0.0,
    on_longer: Literal["raise", "truncate"] = "raise",
    with_mask: bool = False,
    with_length: bool = False,
    name: str | None = None,
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

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
    """
    ...
@overload
def PadBatch(
    in_: Blob,
    *,
    value: float = 0.0,
    multiple_of: int = 1,
    with_mask: Literal[False] = False,
    with_length: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def PadBatch(
    in_: Blob,
    *,
    value: float = 0.0,
    multiple_of: int = 1,
    with_mask: Literal[True],
    with_length: Literal[False] = False,
    name: str | None = None,
) -> tuple[Blob, Blob]: ...
@overload
def PadBatch(
    in_: Blob,
    *,
    value: float = 0.0,
    multiple_of: int = 1,
    with_mask: Literal[True],
    with_length: Literal[True],
    name: str | None = None,
) -> tuple[Blob, Blob, Blob]: ...
@overload
def PadBatch(
    in_: Blob,
    *,
    value: float = 0.0,
    multiple_of: int = 1,
    with_mask: bool = False,
    with_length: bool = False,
    name: str | None = None,
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
            behind the row is its end; left out, at the end.
        step (list of int, default ()): How far each goes from element to element, backwards if
            negative; left out, 1.
        axes (list of int, default (), in [-8, 7]): Which dimension of a row each cuts, -1 the last
            one; left out, the first ones.
        name (str, default None): Name of this node, unique in a loader; None for none.

    Returns:
        The blob of the output:
        out: The parts; a dimension that varies still does.

    Raises:
        InvalidArgumentError: An argument is unknown, missing, of the wrong type or out of range;
            the text says what is allowed.
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
    """Reads flat binary files of rows of one dtype and shape, back to back.

    What numpy.ndarray.tofile() writes is such a file. The rows must fill each file but for its
    header and footer; where they do not, opening fails and names the place. Access is by
    arithmetic: there is no index.

    Args:
        data_dir (str, default ''): The folder of the part files; or else files is given.
        shape (shape, required): Shape of one row, "3,32,32" for example; empty for one number a
            record.
        dtype (dtype, default 'uint8'): The dtype of the numbers, as they are stored.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number is stored
            first: little, the lowest, as x86 and ARM machines write them; big, the highest.
        header_bytes (int, default 0, at least 0): Bytes at the beginning of each file that belong
            to no record.
        footer_bytes (int, default 0, at least 0): Bytes at the end of each file that belong to no
            record.
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
        out: The rows, of the dtype and shape that the attrs say.
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
def RawReader(
    data_dir: str | PathLike[str] = "",
    *,
    shape: Sequence[int],
    dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0,
    footer_bytes: int = 0,
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
def RawReader(
    data_dir: str | PathLike[str] = "",
    *,
    shape: Sequence[int],
    dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0,
    footer_bytes: int = 0,
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
def RawReader(
    data_dir: str | PathLike[str] = "",
    *,
    shape: Sequence[int],
    dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0,
    footer_bytes: int = 0,
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
def RawReader(
    data_dir: str | PathLike[str] = "",
    *,
    shape: Sequence[int],
    dtype: DTypeLike = "uint8",
    byte_order: Literal["little", "big"] = "little",
    header_bytes: int = 0,
    footer_bytes: int = 0,
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
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike,
    shape: Sequence[int],
    byte_order: Literal["little", "big"] = "little",
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
    """Reads .npy files of NumPy along their first axis: a record is array[i].

    The arrays are of numbers or bools, in C order, of one dtype and row shape, and may have
    different lengths. Each file's header is checked against the attrs when the loader opens. Access
    is by arithmetic: there is no index.

    Args:
        data_dir (str, default ''): The folder of the part files; or else files is given.
        dtype (dtype, required): The dtype of the arrays; every file must have it.
        shape (shape, required): Shape of one row, which is that of the arrays without their first
            axis; every file must have it.
        byte_order (str, default 'little', one of 'little', 'big'): Which byte of a number is stored
            first; every file must have it so.
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
        out: The rows of the arrays, of the dtype and shape that the attrs say.
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
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike,
    shape: Sequence[int],
    byte_order: Literal["little", "big"] = "little",
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
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike,
    shape: Sequence[int],
    byte_order: Literal["little", "big"] = "little",
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
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike,
    shape: Sequence[int],
    byte_order: Literal["little", "big"] = "little",
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
def NpyReader(
    data_dir: str | PathLike[str] = "",
    *,
    dtype: DTypeLike,
    shape: Sequence[int],
    byte_order: Literal["little", "big"] = "little",
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
def GeneratorReader(
    source: object,
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    thread_safe: bool = False,
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
    """Reads the samples of a Python object: arrays, numbers, bytes and texts.

    An object with __len__ and __getitem__ is read in any order, as files with an index are;
    iterables are streams. A sample whose values do not fit the types is damaged; what the object
    raises is raised by the loader, with its traceback.

    Args:
        source (object, required): Either an object with __len__ and __getitem__, or a function that
            is called for each epoch, without arguments, and returns an iterable, or an iterable
            that begins anew each time.
        fields (list of str, required): What is taken of a sample, [NAME=]KEY:TYPE each, such as
            x:float32[3], y:int64, tokens:int32[?] or name:bytes; a dict is asked for the keys, a
            tuple has the fields in this order, and a single field may be the sample itself.
        thread_safe (bool, default False): Whether __getitem__ may be called by several threads at
            once; else by one at a time.
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
        one for each of fields: The values of a field, ragged where a dimension varies or the type
            is bytes.
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
def GeneratorReader(
    source: object,
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    thread_safe: bool = False,
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
def GeneratorReader(
    source: object,
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    thread_safe: bool = False,
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
def GeneratorReader(
    source: object,
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    thread_safe: bool = False,
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
def GeneratorReader(
    source: object,
    *,
    fields: str | PathLike[str] | Sequence[str | PathLike[str]],
    thread_safe: bool = False,
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
