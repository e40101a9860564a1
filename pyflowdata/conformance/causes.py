"""What most often causes a fault, by the id of its finding: the most likely one first.

A check that can tell more from what it saw gives causes of its own.
"""

from __future__ import annotations

CAUSES: dict[str, tuple[str, ...]] = {
    "infer-differs": (
        "infer() says a larger dtype or a longer row than compute() writes",
        "rows are written after each other, not row_bytes apart",
        "no row of the sample is as long as infer() allows, and the rest is not filled up",
    ),
    "range-dependent": (
        "a row uses its neighbours, or numbers of the whole call",
        "a buffer is not emptied before the next row",
        "the first or last row, or a single one, is done by other code",
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
    "bytes-unwritten": (
        "the loop ends with the record's bytes, and the rest of the row is not filled up",
        "infer() says a longer row or a larger dtype than compute() writes",
    ),
    "row-unwritten": (
        "a row is skipped by continue or by an early return of PFD_OK",
        "the loop ends before num_rows, or works on groups of rows and leaves out the rest",
    ),
    "not-repeatable": (
        "a variable is read before it is set",
        "memory of host->alloc() is taken for zeroed",
        "an address, the time or a generator of random numbers of its own goes into the output",
    ),
    "at-not-pure": ("a cursor in the source", "a cache in the source that at() changes"),
    "threads-differ": (
        "a field of the source that at() or compute() writes",
        "a static or global variable",
        "a file descriptor or FILE * of the source, whose position all threads share",
    ),
    "seek-wrong": (
        "seek() sets the offset and leaves the file or the ordinal as it was",
        "seek() only goes forward",
    ),
    "record-count": (
        "a loop one too short or too long at the end of a file",
        "a file that has no records, or a last one without an end",
    ),
    "leaks-memory": ("close() does not free it", "a return after a failure passes over free()"),
    "leaks-descriptors": (
        "close() does not close it",
        "a return after a failure passes over close()",
    ),
    "damage-unnoticed": (
        "the checksum is not compared, or only some of the bytes go into it",
        "the format has no checksum",
    ),
    "hang": (
        "a loop that goes on by a length from the file, which can be 0",
        "a lock that an earlier call did not release",
    ),
}
