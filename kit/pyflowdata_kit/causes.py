"""The usual causes of a fault, by the id of its finding, the most likely first.

A check that knows more gives causes of its own.
"""

from __future__ import annotations

# Causes of differences when several threads use one source.
SHARED_STATE = (
    "a field of the source that at() or compute() writes",
    "a static or global variable",
)

# The keys are ids, or the beginning of several ids and "…".
CAUSES: dict[str, tuple[str, ...]] = {
    # ---- Nothing can be checked yet
    "no-sample": (
        "the path is wrong, or seen from another folder",
        "the names of the files are none that the reader takes",
    ),
    "sample-fails": (
        "the sample is damaged, or of another version of the format",
        "open() or compute() refuses what is valid: a comparison that is off by one",
        "a checksum is computed of other bytes, or with another polynomial or start",
    ),
    "no-records": (
        "size() counts too few, or next() says PFD_END at once",
        "the sample is empty",
    ),
    # ---- Memory
    "reads-past-record": (
        "a length in the record is used before it is compared with record.size",
        "a fixed header is read from a record that is shorter than it",
    ),
    "reads-past-input": (
        "the number of elements is computed from attrs and not from the shape of the row",
        "infer() accepts a dtype or a shape that compute() does not handle",
    ),
    "reads-past-…": (
        "a loop that ends one element late",
        "a size from the file is used before it is compared with what is there",
    ),
    "reads-before-…": (
        "an offset from the file is negative, or was subtracted from an unsigned number",
        "a loop that goes backwards ends one element late",
    ),
    "writes-past-found-records": ("places() fills more than it was asked for",),
    "writes-past-…": (
        "the size given to host->alloc() overflowed, or is that of another type",
        "a loop that ends one element late",
    ),
    "writes-before-…": (
        "an index from the file is negative",
        "a pointer that goes backwards ends one element late",
    ),
    "writes-into-…": (
        "bytes are decoded, swapped or ended with a 0 in place: copy them first",
        "an output and an input are taken for the same memory",
    ),
    "late-…": (
        "a pointer into the scratch of one call is kept in the source for the next",
        "bytes of host->read() are kept: it gives memory of the scratch, not of the file",
    ),
    "foreign-scratch": ("a scratch is kept in the source and used in a later call",),
    "returns-wild-pointer": (
        "an offset or a size of the file goes into the result before it is compared with the size "
        "of the file",
        "the pointer is to a local array or to memory that was freed",
    ),
    "null-pointer": (
        "what host->alloc() or host->read() gave is used without looking at it",
        "an index or a cursor past the end of an array of the source, where no element is",
        "an optional attr, input or field that is not there",
    ),
    "huge-alloc": ("a length or a count from the file is not compared with the size of the file",),
    "negative-alloc": (
        "a size from the file that is larger than INT64_MAX, or a product that overflowed",
        "a difference of two numbers of the file, the larger one subtracted",
    ),
    "crash": (
        "a size or an offset from the file is used unchecked",
        "an index or a cursor past the end of an array of the source",
        "a division by a number of the file, which can be 0",
        "assert() or abort() in the op or in a library that it calls",
    ),
    "hang": (
        "a loop that goes on by a length from the file, which can be 0",
        "a lock that an earlier call did not release",
    ),
    "exit": (
        "exit() in the op",
        "a library that it calls ends the process where it fails, as some parsers do",
    ),
    "stack-overrun": (
        "an array of fixed size on the stack, to which a whole row or record is copied",
        "alloca() or an array of variable length, as long as a row or record",
        "a recursion without an end",
    ),
    "writes-into-attrs": (
        "an attr is corrected or counted down where it is used",
        "something is kept in the attr struct that belongs to the source",
    ),
    "writes-past-output": (
        "infer() says a shorter row or a smaller dtype than compute() writes",
        "the last block of a row is written whole",
    ),
    "reads-past-head": ("a file that has fewer bytes than the header of the format",),
    # ---- What a function returns
    "record-field": (
        "the struct is not set as a whole: a field keeps what was there before",
        "a key or an offset is computed from the position in the range, not from the ordinal",
    ),
    "negative-size": ("size() returns -1 for an error, or a difference of unsigned numbers",),
    "source-methods": ("at() or next() is left out, or size() does not fit to the one there is",),
    "block-numbers": (
        "the number of all records is left out at the end, or is that of another file",
        "the blocks are numbered again in each file",
        "an empty block, which has the same first record as the next one",
    ),
    "place-field": ("places() leaves a field of the struct as it was",),
    "describe-line": ("the text is not written, or is longer than the room for it",),
    "group-differs": (
        "group() depends on how often it was called, or on memory that is not set",
        "group() depends on attrs or time, not on the record",
    ),
    "ragged-row": (
        "the row is in memory of the source or on the stack, not of host->alloc()",
        "its shape comes from the record, and is not compared with the bytes that there are",
    ),
    "rows-not-equal": ("an output that is not ragged gets a shape from the record",),
    "infer-not-repeatable": ("infer() reads a static or global variable, or a file",),
    "infer-status": ("infer() hands on a status of another function: it refuses by "
                     "PFD_INVALID_ARGUMENT alone",),
    "infer-output": (
        "infer() leaves a field of an output as it was",
        "a dimension is computed from an input's without looking whether it is -1",
    ),
    "format-differs": (
        "probe() or resync() reads past `size`, or a variable before it is set",
        "it keeps what an earlier call has found",
    ),
    "format-score": (
        "probe() returns a truth value or a length where a score is meant",
        "resync() returns a place relative to `from`, or -1 where it finds none",
    ),
    "infer-differs": (
        "infer() says a larger dtype or a longer row than compute() writes",
        "rows are written after each other, not row_bytes apart",
        "no row of the sample is as long as infer() allows, and the rest is not filled up",
    ),
    # ---- What is not written
    "bytes-unwritten": (
        "the loop ends with the record's bytes, and the rest of the row is not filled up",
        "infer() says a longer row or a larger dtype than compute() writes",
    ),
    "row-unwritten": (
        "a row is skipped by continue or by an early return of PFD_OK",
        "the loop ends before num_rows, or works on groups of rows and leaves out the rest",
        "infer() says a longer row than compute() writes, and rows are written after each other, "
        "not row_bytes apart",
    ),
    # ---- A record depends on more than its bytes
    "own-generator": (
        "rand() or an engine with its own seed, in place of host->random_bits()",
        "a library that the op calls draws them, to shuffle or to name a file: give it a seed of "
        "random_bits()",
    ),
    "range-dependent": (
        "a row uses its neighbours, or numbers of the whole call",
        "a buffer is not emptied before the next row",
        "the first or last row, or a single one, is done by other code",
    ),
    "global-state": (
        "a static or global variable that counts, or caches",
        "a table that is filled at the first call: fill it in open(), or let it be const",
    ),
    "not-repeatable": (
        "a variable is read before it is set",
        "memory of host->alloc() is taken for zeroed",
        "an address, the time or a generator of random numbers of its own goes into the output",
    ),
    "filler-differs": ("compute() looks at the field filler: a filler is a record as any other",),
    "at-not-pure": ("a cursor in the source", "a cache in the source that at() changes"),
    "open-not-repeatable": (
        "open() sorts by the order of a folder, by time or by address",
        "open() reads a variable before it is set",
    ),
    "order-fails": (
        "at() expects ordinals to rise, or to follow each other",
        "a buffer in the source has room for the range of the first call only",
    ),
    "threads-differ": (
        *SHARED_STATE,
        "a file descriptor or FILE * of the source, whose position all threads share",
    ),
    "batch-dependent": (
        "a value over all rows of the call, as a mean or a largest length, goes into each row",
        "the row's index in the batch is used where its record is meant",
    ),
    # ---- The process
    "fast-math": ("-ffast-math or -Ofast among the flags of the linker",),
    "arithmetic-mode": (
        "a return that passes over the place where it is put back",
        "a library that the op calls sets it when it is first used",
    ),
    "process-state": (
        "a setting that is made for one call of a library, and not put back",
        "a return of a failure that passes over the place where it is put back",
        "a library that the op calls sets it when it is first used",
    ),
    "writes-files": (
        "an index or a cache that is kept beside the data",
        "a temporary file that is not unlinked, of mkstemp() for example",
        "a mode like \"r+\" or O_RDWR, where the file is only read",
    ),
    "environment-dependent": (
        "getenv() in place of an attr",
        "HOME, TMPDIR or the user's name goes into a row or a seed",
    ),
    "path-dependent": (
        "a hash, a key or a label of the whole path: take the file's name, or its bytes",
        "files are sorted by their paths, and not taken in the order of args->files",
    ),
    "keeps-file-lock": (
        "flock() or lockf() in open(), and its end in close()",
        "a library that locks what it opens: open it for reading only",
    ),
    "prints": ("left over from looking for a fault", "a library that the op calls prints it"),
    "closes-descriptor": (
        "a field that stays 0 where no file is opened, and is closed all the same",
        "close() twice, where open() fails or at the end",
    ),
    "keeps-lock": (
        "a return of a failure that passes over the unlock",
        "a goto or continue between lock and unlock",
    ),
    "locks-twice": ("a function that takes the lock calls another one that takes it too",),
    "leaves-process": (
        "fork(), popen() or system() in open() or compute(): read the files in this process",
    ),
    "leaves-thread": (
        "close() does not end the thread, or does not join it",
        "open() fails after it has started the thread",
    ),
    "locale-dependent": ("strtod(), atof(), sscanf() or snprintf() on numbers of the files",),
    "waits": (
        "a lock that an earlier call did not release",
        "a condition that nobody signals",
        "a read from a pipe or a terminal",
    ),
    # ---- next() and seek()
    "stream-differs": (
        "next() counts max for what it yields, also where there were fewer",
        "the rest of a block is lost when max is reached in the middle of it",
    ),
    "seek-wrong": (
        "seek() sets the offset and leaves the file or the ordinal as it was",
        "seek() only goes forward",
    ),
    "epoch-differs": (
        "seek() goes to its position only in epoch 0, or adds the epoch to it",
        "the end of the first epoch is kept: a flag that seek() does not clear",
    ),
    "end-not-kept": ("next() begins again after its end: only seek() may",),
    "seek-past-end": ("the position is not compared with the number of records",),
    "next-count": ("next() returns PFD_OK without a record, or more of them than max",),
    "end-with-records": ("PFD_END is returned with the last records: return it next time",),
    "record-count": (
        "a loop one too short or too long at the end of a file",
        "a file that has no records, or a last one without an end",
    ),
    "narrow-count": (
        "a number of records or files of uint16_t, short or char, or a cast to it",
        "an array of a fixed length",
    ),
    # ---- Failures and damage
    "no-row": (
        "host->fail() where host->fail_row() is meant: the row is not named",
        "the number of the row is that of the ordinal, not of the range",
    ),
    "row-wrong": (
        "the row of host->fail_row() is counted from 1, or from the first record of the file",
        "the failure of one row is kept, and told of a later one",
    ),
    "tail-ignored": (
        "a loop over the records ends one too early",
        "a footer or padding that need not be read: then --ignore tail-ignored",
    ),
    "no-message": ("a status is returned by itself: return what host->fail() returns",),
    "status-mismatch": ("host->fail() was called with one status, and another one is returned",),
    "status-not-allowed": ("PFD_END where a file ends within a record: it is PFD_CORRUPT_DATA",),
    "failure-not-returned": ("the result of host->fail() is dropped, and PFD_OK returned",),
    "damage-status": (
        "a short read or a wrong length is reported as PFD_IO or PFD_INVALID_ARGUMENT",
        "memory for a length of the file is asked for before that is compared with the file's size",
        "an unknown version or type in a header is reported as PFD_UNSUPPORTED: changed bytes give "
        "one, too",
    ),
    "damage-unnoticed": (
        "the checksum is not compared, or only some of the bytes go into it",
        "the format has no checksum",
        "a file of no bytes is read as a file of no records: has_header = 1 in pfd_framing",
    ),
    "cut-unnoticed": (
        "the end of the file is taken for the end of the data",
        "the format has no count of records: nothing can tell",
        "a file of no bytes is read as a file of no records: has_header = 1 in pfd_framing",
    ),
    "companion-unnoticed": (
        "the checksum of the companion is not compared, or only some of its bytes go into it",
        "the companion has no checksum",
    ),
    "companion-missing": (
        "open() takes a missing companion for one that says nothing",
        "companions() adds only those that are there, and open() does not look which they are",
    ),
    "byte-outside-record": (
        "record.offset is added, which the host does",
        "the place is computed from a length in the record, before it is checked",
    ),
    "byte-outside-file": (
        "the place is computed from a length in the file, before it is checked",
    ),
    "propose-status": ("propose() uses numbers of a header before it compares them",),
    "read-failure-ignored": (
        "the status of host->read() is not looked at",
        "a failed read is taken for the end of the file",
    ),
    "read-failure-status": ("every failure of host->read() is made one status: return its own",),
    "alloc-failure-ignored": ("NULL of host->alloc() is passed over, or used",),
    "alloc-failure-status": ("NULL of host->alloc() is reported as damage",),
    "cancel-status": ("is_cancelled() ends the loop, and PFD_OK is returned for half of the rows",),
    # ---- What is kept, and what a loader meets
    "leaks-memory": ("close() does not free it", "a return after a failure passes over free()"),
    "leaks-descriptors": (
        "close() does not close it",
        "a return after a failure passes over close()",
    ),
    "world-coverage": (
        "the order of the records differs from process to process: time, an address, a hash",
        "size() does not say how many records there are",
    ),
    "resume-differs": (
        "seek() does not set all of the position",
        "something of the source lasts from one batch to the next",
    ),
    "shuffle-differs": (
        "at() describes other bytes when ordinals do not rise",
        "open() numbers the records otherwise where args->access is random",
        "something of the source lasts from one record to the next",
    ),
    "loader-fails": (
        "compute() fails for a range or an order that a loader takes",
        "at() fails when several threads are in it",
        "fingerprint() gives another number each time, of an address or the time: a saved state "
        "then belongs to another loader",
    ),
    # ---- Compiled again
    "asan": (
        "an array on the stack or of malloc() that is shorter than what is put into it",
        "memory is used after free(), or freed twice",
    ),
    "ubsan": (
        "a signed number overflows, or is shifted too far, with values of the file",
        "a pointer to bytes of a record is cast to one of numbers: use memcpy()",
    ),
    "tsan": (
        "a static or global variable that calls write",
        "a field of the source that at() or compute() writes without a lock",
    ),
    "fuzz": ("a length, a count or an offset of the file is used unchecked",),
    "build-fails": ("--cflags lacks a folder of headers or a library",),
}

# Ids whose texts say all that is known.
NO_CAUSES: dict[str, str] = {
    "descriptor": "the loader of plugins says what it refuses, and dlopen() what it misses",
    "attrs": "the attr, op or file that is refused is named",
    "call-fails": "what failed is not the op under check",
    "kit-fails": "the kit has a fault of its own",
    "sample-poor": "what to add is said, and the op has no fault",
}

# Ids whose causes the checks tell from what they saw.
OWN_CAUSES = ("narrow-offset", "random-draw-twice", "random-key", "sources-mixed")


def is_finding(id: str) -> bool:
    """Whether findings can have this id."""
    return id in NO_CAUSES or id in OWN_CAUSES or bool(causes_of(id))


def causes_of(id: str) -> tuple[str, ...]:
    """The causes of a finding, the most likely first; none if its text says all."""
    if id in CAUSES:
        return CAUSES[id]
    prefixes = [key for key in CAUSES if key.endswith("…") and id.startswith(key[:-1])]
    return CAUSES[max(prefixes, key=len)] if prefixes else ()
