/* watch/symbols.h -- the variable or function at an address, from a library's table of symbols.
 *
 * OWNERSHIP  The caller owns `out`, of `size` bytes; it becomes "" where there is no name.
 * THREADS    Any thread.
 */
#ifndef PFD_KIT_WATCH_SYMBOLS_H
#define PFD_KIT_WATCH_SYMBOLS_H
#include <stddef.h>
#include <stdint.h>

/* Writes " 'NAME'" of the variable (`is_function`: the function) at an address of the file. */
void pfd_symbol_in_file(const char *path, uint64_t address, int32_t is_function, char *out,
                        size_t size);
/* Does the same for an address of this process. */
void pfd_symbol_at(const void *address, int32_t is_function, char *out, size_t size);
#endif
