/* watch/interposed.h -- redirects calls of the C library's functions to replacements.
 *
 * A library calls malloc() through a pointer in its global offset table, which the dynamic linker
 * has filled in.  Each such pointer is replaced, and put back at the end.  A library's calls of its
 * own functions, and calls through pointers from dlsym(), are not redirected.
 *
 * OWNERSHIP  An interposition is the caller's; it borrows the functions until it is closed.
 *            Several may be open: the last one is closed first.
 * THREADS    One thread opens or closes at a time; other threads may call the functions meanwhile.
 */
#ifndef PFD_KIT_WATCH_INTERPOSED_H
#define PFD_KIT_WATCH_INTERPOSED_H
#include <stddef.h>
#include <stdint.h>

typedef struct pfd_interposed_function {
    const char *name;
    void (*replacement)(void); /* cast from the function's type */
} pfd_interposed_function;

#define PFD_REDIRECT(name, function) {name, (void (*)(void))(function)}

typedef struct pfd_interposed_slot {
    uintptr_t slot, before, replacement;
    int32_t read_only; /* its page was */
} pfd_interposed_slot;

typedef struct pfd_interposition {
    const pfd_interposed_function *functions;
    size_t num_functions;
    const char *library; /* the file of the only library that is redirected; NULL: all */
    int32_t but_own;     /* 1: leave out this library, whose replacements call the functions */
    int32_t is_open;
    pfd_interposed_slot *slots;
    int64_t num_slots, capacity;
    int32_t failed;
} pfd_interposition;

/* Redirects calls of `n` functions in one library, named by its file; NULL: redirects none. Returns
 * is_open: 0 where this machine or a sanitizer does not allow it. */
int32_t pfd_interposition_open(pfd_interposition *self, const pfd_interposed_function *functions,
                               size_t n, const char *library);
/* Redirects calls of the functions in all libraries, or, with but_own, in all but this library. */
int32_t pfd_interposition_open_all(pfd_interposition *self,
                                   const pfd_interposed_function *functions, size_t n,
                                   int32_t but_own);
void pfd_interposition_close(pfd_interposition *self); /* also if it is not open */
#endif
