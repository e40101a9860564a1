/* Records what the compiler's calls in the plugin say. */
#include "coverage.h"

#include <stddef.h>
#include <string.h>

enum { num_blocks = 1 << 16 };

static uint8_t counts[num_blocks], seen[num_blocks];
static comparison last[most_comparisons];
static unsigned num_compared;

void coverage_reset(void)
{
    memset(counts, 0, sizeof counts);
    num_compared = 0;
}

/* 1, 2, 3, 4 to 7, 8 to 15 times ... as a bit each. */
static uint8_t bit_of(uint8_t count)
{
    static const uint8_t limits[] = {1, 2, 3, 4, 8, 16, 32, 128};
    int bit = 7;
    while (bit > 0 && count < limits[bit]) bit--;
    return (uint8_t)(1 << bit);
}

int coverage_is_new(void)
{
    int is_new = 0;
    for (int i = 0; i < num_blocks; i++) {
        if (!counts[i] || (seen[i] & bit_of(counts[i]))) continue;
        seen[i] = (uint8_t)(seen[i] | bit_of(counts[i]));
        is_new = 1;
    }
    return is_new;
}

const comparison *coverage_comparison(int i)
{
    if (i < 0 || i >= most_comparisons || (unsigned)i >= num_compared) return NULL;
    return &last[(num_compared - 1 - (unsigned)i) % most_comparisons];
}

static void record(uint64_t left, uint64_t right, int width)
{
    if (left != right) last[num_compared++ % most_comparisons] = (comparison){left, right, width};
}

/* ---- What the compiler calls ----------------------------------------------------------------- */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_cmp1(uint8_t left, uint8_t right);
void __sanitizer_cov_trace_cmp2(uint16_t left, uint16_t right);
void __sanitizer_cov_trace_cmp4(uint32_t left, uint32_t right);
void __sanitizer_cov_trace_cmp8(uint64_t left, uint64_t right);
void __sanitizer_cov_trace_const_cmp1(uint8_t left, uint8_t right);
void __sanitizer_cov_trace_const_cmp2(uint16_t left, uint16_t right);
void __sanitizer_cov_trace_const_cmp4(uint32_t left, uint32_t right);
void __sanitizer_cov_trace_const_cmp8(uint64_t left, uint64_t right);
void __sanitizer_cov_trace_cmpf(float left, float right);
void __sanitizer_cov_trace_cmpd(double left, double right);
void __sanitizer_cov_trace_switch(uint64_t number, void *table);

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t place = (uintptr_t)__builtin_return_address(0);
    uint8_t *count = &counts[(place ^ place >> 16) % num_blocks];
    if (*count < 255) ++*count;
}

#define RECORD(name, type, width)                        \
    void __sanitizer_cov_trace_##name(type left, type right) \
    {                                                    \
        record(left, right, width);                      \
    }
RECORD(cmp1, uint8_t, 1)
RECORD(cmp2, uint16_t, 2)
RECORD(cmp4, uint32_t, 4)
RECORD(cmp8, uint64_t, 8)
RECORD(const_cmp1, uint8_t, 1)
RECORD(const_cmp2, uint16_t, 2)
RECORD(const_cmp4, uint32_t, 4)
RECORD(const_cmp8, uint64_t, 8)

void __sanitizer_cov_trace_cmpf(float left, float right)
{
    uint32_t bits[2];
    memcpy(bits, (float[]){left, right}, sizeof bits);
    record(bits[0], bits[1], 4);
}

void __sanitizer_cov_trace_cmpd(double left, double right)
{
    uint64_t bits[2];
    memcpy(bits, (double[]){left, right}, sizeof bits);
    record(bits[0], bits[1], 8);
}

/* cases: how many there are, the bits of the number, and then they. */
void __sanitizer_cov_trace_switch(uint64_t number, void *table)
{
    const uint64_t *cases = table;
    for (uint64_t i = 0; i < cases[0] && i < 16; i++)
        record(number, cases[2 + i], (int)(cases[1] / 8));
}
