/* kit/watch/interposed.h -- redirects calls of the C library's functions to replacements.
 *
 * A library calls malloc() through a pointer in its global offset table, which the dynamic linker
 * has filled in.  Each such pointer is replaced, and put back at the end.  Calls that a library
 * makes of functions of its own, and through pointers that it got by dlsym(), are not redirected.
 *
 * OWNERSHIP  An interposition is the caller's, zeroed at first; it borrows the functions until
 *            its end.  Several may be open: the last one ends first.
 * THREADS    One thread begins or ends at a time; other threads may call the functions meanwhile.
 */
#ifndef PFD_KIT_INTERPOSED_H
#define PFD_KIT_INTERPOSED_H
#include <stdint.h>

typedef struct pfd_interposed_function {
    const char *name;
    void (*replacement)(void); /* of the type of the function, cast */
} pfd_interposed_function;

typedef struct pfd_interposed_slot {
    uintptr_t slot, before, replacement;
    int32_t read_only; /* its page was */
} pfd_interposed_slot;

typedef struct pfd_interposition {
    const pfd_interposed_function *functions;
    int32_t num_functions;
    const char *library; /* the file of the only library whose calls are meant; NULL: all */
    int32_t but_own;     /* 1: not those of this library, whose replacements call the functions */
    pfd_interposed_slot *slots;
    int64_t num_slots, capacity;
    int32_t failed;
} pfd_interposition;

/* Returns 0 where this machine or a sanitizer does not allow it; then there is nothing to end. */
int32_t pfd_interposition_begin(pfd_interposition *self);
void pfd_interposition_end(pfd_interposition *self);
#endif
