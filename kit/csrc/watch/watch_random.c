/* The generators of random numbers that the whole process shares: rand() and drand48(). */
#include "watch/process_watch.h"

#include <stdlib.h>
#include <string.h>

static char state[128], as_left[128]; /* of rand() during a run: a number drawn changes it */
static char *of_program;
static unsigned short seed_left[3];
static int32_t is_full;

void pfd_kit_random_begin(int32_t full)
{
    is_full = full;
    of_program = initstate(1, state, sizeof state);
    memcpy(as_left, state, sizeof state);
    if (is_full) memcpy(seed_left, seed48((unsigned short[3]){1, 2, 3}), sizeof seed_left);
}

void pfd_kit_random_end(void)
{
    if (of_program) (void)setstate(of_program);
    of_program = NULL;
    if (is_full) (void)seed48(seed_left);
}

static void report(const pfd_kit_call *call, const char *what)
{
    pfd_kit_report(call->run, "own-generator",
                   "%s used %s, whose state is one for the whole process: the program gets other "
                   "random numbers, and rows change with what ran before; use host->random_bits()",
                   call->function, what);
}

void pfd_kit_random_check(const pfd_kit_call *call)
{
    if (of_program && memcmp(state, as_left, sizeof state) != 0) {
        memcpy(as_left, state, sizeof state);
        report(call, "rand(), random(), srand() or srandom()");
    }
    if (!is_full) return;
    unsigned short expected[3] = {1, 2, 3}, *now = seed48(expected);
    if (memcmp(now, expected, sizeof expected) != 0)
        report(call, "drand48(), lrand48() or srand48()");
}
