/* drivers/coverage.h -- which code of the plugin ran, and which numbers it compared.
 *
 * The compiler calls the functions of -fsanitize-coverage=trace-pc,trace-cmp in the plugin; where
 * it has no such option nothing is ever recorded.
 *
 * THREADS  One. */
#ifndef COVERAGE_H
#define COVERAGE_H
#include <stdint.h>

typedef struct comparison {
    uint64_t left, right; /* two numbers that differed */
    int width;            /* bytes of each */
} comparison;

enum { most_comparisons = 256 };

void coverage_reset(void);
/* Whether code ran since the reset that never ran before, or more often than before. */
int coverage_is_new(void);

/* The i-th last comparison since the reset; NULL: there were fewer, or i is most_comparisons. */
const comparison *coverage_comparison(int i);
#endif
