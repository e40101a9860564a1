"""What most often causes a fault, by the id of its finding: the most likely one first.

A check that can tell more from what it saw gives causes of its own.
"""

from __future__ import annotations

CAUSES: dict[str, tuple[str, ...]] = {
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
    "arithmetic-mode": (
        "a return that passes over the place where it is put back",
        "a library that the op calls sets it when it is first used",
    ),
    "process-state": (
        "a return of a failure that passes over the place where it is put back",
        "a library that the op calls sets it when it is first used",
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
    "hang": (
        "a loop that goes on by a length from the file, which can be 0",
    ),
}
