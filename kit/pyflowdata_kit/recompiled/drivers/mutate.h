/* drivers/mutate.h -- changes the bytes of an input of the fuzzer.
 *
 * OWNERSHIP  The bytes of an input are malloc()ed, and the caller's.
 * THREADS    One. */
#ifndef MUTATE_H
#define MUTATE_H
#include "coverage.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_input {
    uint8_t *data;
    size_t size;
} fuzz_input;

enum { most_input = 1 << 20 }; /* bytes of an input, and of the room that mutate() works in */

/* Pseudo-random, the same for the same seed. */
void mutate_seed(uint64_t seed);
size_t mutate_below(size_t n); /* 0 if n is 0 */

/* Changes the input in a few ways at random, within `most` bytes.
 *   room    has most_input bytes
 *   others  of whose bytes some may be copied; there is at least one */
void mutate(fuzz_input *room, size_t most, const fuzz_input *others, size_t num_others);

/* Puts one side of a comparison where the other one is in the input, by its bytes in either order.
 * Returns whether it was there. */
int mutate_to_equal(fuzz_input *input, const comparison *differed);
#endif
