/* The Mersenne Twister with 19937 bits of state, and shuffling with it as NumPy does it. */
#include "formats/megatron/mt19937.h"

enum { STATE = 624, SHIFT = 397 };

void pfd_mt19937_seed(pfd_mt19937 *state, uint32_t seed)
{
    for (uint32_t i = 0; i < STATE; i++) {
        state->key[i] = seed;
        seed = UINT32_C(1812433253) * (seed ^ (seed >> 30)) + i + 1;
    }
    state->next = STATE;
}

static uint32_t twist(uint32_t high, uint32_t low, uint32_t far)
{
    uint32_t joined = (high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff));
    return far ^ (joined >> 1) ^ ((joined & 1) ? UINT32_C(0x9908b0df) : 0);
}

static void make_key(pfd_mt19937 *state)
{
    uint32_t *key = state->key;
    for (int i = 0; i < STATE - SHIFT; i++) key[i] = twist(key[i], key[i + 1], key[i + SHIFT]);
    for (int i = STATE - SHIFT; i < STATE - 1; i++)
        key[i] = twist(key[i], key[i + 1], key[i + SHIFT - STATE]);
    key[STATE - 1] = twist(key[STATE - 1], key[0], key[SHIFT - 1]);
    state->next = 0;
}

static uint32_t next_number(pfd_mt19937 *state)
{
    if (state->next == STATE) make_key(state);
    uint32_t y = state->key[state->next++];
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

/* Draws a number from [0, most], uniformly: it draws as many bits as `most` has until they are
 * not above `most`.  Like NumPy it uses two words only if one is too few; the first is the upper
 * one. */
static uint64_t draw(pfd_mt19937 *state, uint64_t most)
{
    uint64_t mask = UINT64_MAX >> __builtin_clzll(most | 1), value;
    do {
        value = next_number(state);
        if (most > UINT32_MAX) value = value << 32 | next_number(state);
        value &= mask;
    } while (value > most);
    return value;
}

#define SHUFFLE(type)                                                                              \
    for (int64_t i = n - 1; i > 0; i--) {                                                          \
        uint64_t j = draw(state, (uint64_t)i);                                                     \
        type kept = values[j];                                                                     \
        values[j] = values[i];                                                                     \
        values[i] = kept;                                                                          \
    }

void pfd_mt19937_shuffle32(pfd_mt19937 *state, uint32_t *values, int64_t n)
{
    SHUFFLE(uint32_t)
}

void pfd_mt19937_shuffle64(pfd_mt19937 *state, int64_t *values, int64_t n)
{
    SHUFFLE(int64_t)
}
