/* bench/malloc_count.h -- counts how often one thread allocates memory from the C library.
 *
 * While it counts, the calls of malloc(), calloc(), realloc(), aligned_alloc(), posix_memalign()
 * and memalign() in all loaded libraries go through counters: those of a plugin, of the libraries
 * that it uses (so C++'s new is counted too), and of the C library itself.  It does not count an
 * allocator that a library has built in, and allocations of other threads.
 *
 * THREADS  One thread counts at a time; others wait in begin().  Other threads allocate as usual.
 */
#ifndef PFD_KIT_MALLOC_COUNT_H
#define PFD_KIT_MALLOC_COUNT_H
#include <stdint.h>

typedef struct pfd_malloc_count {
    int64_t calls, bytes;
} pfd_malloc_count;

/* Starts counting from 0 for the calling thread, which must also end it.  Returns 0 if this machine
 * cannot count; then there is nothing to end. */
int32_t pfd_malloc_count_begin(void);
pfd_malloc_count pfd_malloc_count_now(void);
void pfd_malloc_count_end(void);
#endif
