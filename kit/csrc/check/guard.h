/* check/guard.h -- memory between pages that must not be touched.
 *
 * A region is right before or right after a forbidden page, so that an access to the first byte
 * outside is a SIGSEGV, even without sanitizers.  All regions are in one table, in which crash.c
 * looks up the address of a fault.
 *
 * OWNERSHIP  A region is used by its number until it is released.  A released region stays
 *            forbidden for a while, so that a late access is detected.
 * THREADS    Any thread; one thread at a time per region.
 */
#ifndef PFD_KIT_CHECK_GUARD_H
#define PFD_KIT_CHECK_GUARD_H
#include <stdint.h>

#define PFD_GUARD_RECORD 1
#define PFD_GUARD_READ 2
#define PFD_GUARD_ALLOC 3
#define PFD_GUARD_OUTPUT 4
#define PFD_GUARD_INPUT 5
#define PFD_GUARD_ORDINALS 6
#define PFD_GUARD_FOUND 7 /* the array that at() and next() fill in */
#define PFD_GUARD_HEAD 8  /* what a file begins with, for probe() */
#define PFD_GUARD_ATTRS 9
#define PFD_GUARD_RECORDS 10 /* args->records */
#define PFD_GUARD_TENSORS 11 /* args->inputs */

typedef struct pfd_guarded {
    uint8_t *map;
    int64_t map_bytes;
    uint8_t *pages; /* pages between the forbidden pages */
    int64_t page_bytes;
    uint8_t *data; /* at the first or the last of these pages */
    int64_t bytes;
    int32_t kind;     /* PFD_GUARD_*; 0: not in use */
    int32_t released; /* no byte may be touched any more */
    int64_t index;    /* number of the record, port or call */
    int32_t next;     /* in a list of its owner; -1: the last */
    uint8_t fill;     /* the byte that filled its pages */
} pfd_guarded;

/* Data begins at the first page if `at_front`, and otherwise ends with the last page, as far as
 * `alignment` allows.  Returns the region's number; -1: out of memory. */
int32_t pfd_guard_make(int32_t kind, int64_t index, int64_t bytes, int64_t alignment,
                       int32_t at_front, uint8_t fill);
pfd_guarded *pfd_guard_at(int32_t region);
void pfd_guard_make_read_only(int32_t region);
/* Returns how far from the data a changed byte of the same pages is (< 0: before the data); 0:
 * none. */
int64_t pfd_guard_changed(int32_t region);
void pfd_guard_release(int32_t region); /* accepts -1 */
int64_t pfd_guard_mapped(void);         /* address space of all regions, with released regions */

/* The region in whose memory or forbidden pages the address lies; NULL: none. Takes no lock, so
 * that signal handlers can call it. */
const pfd_guarded *pfd_guard_find(const void *address);
#endif
