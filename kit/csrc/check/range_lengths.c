/* The lengths of ranges, and what those have in common at which a fault shows. */
#include "check/range_lengths.h"

#include "pyflowdata_kit/kit.h"

#include <inttypes.h>
#include <stdio.h>

const int64_t pfd_kit_lengths[PFD_KIT_NUM_LENGTHS] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   10,
                                                      11, 12, 13, 14, 15, 16, 17, 65, 257, 4097};

int32_t pfd_kit_length_number(int64_t rows)
{
    for (int32_t i = 0; i < PFD_KIT_NUM_LENGTHS; i++)
        if (pfd_kit_lengths[i] == rows) return i;
    return PFD_KIT_NUM_LENGTHS - 1;
}

/* The longest one that was tried without a fault, where all with one are longer; 0: none. */
static int64_t threshold(uint32_t found, uint32_t tried)
{
    int64_t most = 0;
    for (int32_t i = 0; i < PFD_KIT_NUM_LENGTHS; i++) {
        uint32_t bit = 1u << i;
        if (tried & ~found & bit) most = pfd_kit_lengths[i];
        if (tried & ~found & bit && found & (bit - 1)) return 0;
    }
    return most;
}

/* As many as a rule can be seen in. */
static int32_t is_many(uint32_t tried)
{
    return __builtin_popcount(tried) >= 8;
}

/* Whether the ones found are all those that leave this rest, or (negated) all that do not. */
static int32_t is_rest(uint32_t found, uint32_t tried, int64_t divisor, int64_t rest,
                       int32_t negated)
{
    uint32_t expected = 0;
    for (int32_t i = 0; i < PFD_KIT_NUM_LENGTHS; i++)
        if ((pfd_kit_lengths[i] % divisor == rest) != negated) expected |= 1u << i;
    return (expected & tried) == found;
}

static int32_t rest_words(uint32_t found, uint32_t tried, char *out, size_t size)
{
    for (int64_t divisor = 2; divisor <= 16; divisor *= 2) {
        if (is_rest(found, tried, divisor, 0, 1)) {
            snprintf(out, size, "Where rows %% %" PRId64 " is not 0: ", divisor);
            return 1;
        }
        for (int64_t rest = 0; rest < divisor; rest++) {
            if (!is_rest(found, tried, divisor, rest, 0)) continue;
            snprintf(out, size, "Where rows %% %" PRId64 " is %" PRId64 ": ", divisor, rest);
            return 1;
        }
    }
    return 0;
}

int32_t pfd_kit_length_words(uint32_t found, uint32_t tried, char out[PFD_KIT_LENGTH_WORDS])
{
    const size_t size = PFD_KIT_LENGTH_WORDS;
    size_t used;
    int64_t most = threshold(found, tried);
    out[0] = 0;
    if ((found & tried) == tried) return PFD_KIT_NO_PATTERN;
    if (found == 1) {
        snprintf(out, size, "In a range of one row, and in no longer one: ");
        return PFD_KIT_PATTERN_ONE;
    }
    if (most > 1 && is_many(tried)) {
        snprintf(out, size, "In ranges of more than %" PRId64 " rows: ", most);
        return PFD_KIT_PATTERN_MANY;
    }
    if (is_many(tried) && rest_words(found, tried, out, size)) return PFD_KIT_PATTERN_BLOCKS;
    used = (size_t)snprintf(out, size, "In ranges of");
    for (int32_t i = 0; i < PFD_KIT_NUM_LENGTHS && used < size; i++)
        if (found & (1u << i))
            used += (size_t)snprintf(out + used, size - used, " %" PRId64 ",", pfd_kit_lengths[i]);
    if (used < size)
        snprintf(out + used - 1, size - used + 1, " rows, and not in others%s: ",
                 is_many(tried) ? " of 1 to 17, 65, 257 and 4097" : "");
    return PFD_KIT_NO_PATTERN;
}
