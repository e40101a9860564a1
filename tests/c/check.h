/* CHECK() for the C tests: counts, and says which condition in which line does not hold. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static inline void check(int ok, const char *what, const char *found, const char *file, int line)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    if (failed < 20)
        (void)printf("%s:%d: %s%s%s\n", file, line, what, found ? "; found: " : "",
                     found ? found : "");
}
#define CHECK(condition) check(!!(condition), #condition, NULL, __FILE__, __LINE__)

/* Whether the message of an error has this part. */
#define SAYS(err, part)                                                                            \
    check(strstr((err).message, part) != NULL, part, (err).message, __FILE__, __LINE__)

/* CHECK(), where nothing after it would mean anything. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        CHECK(condition);                                                                          \
        if (failed) exit(1);                                                                       \
    } while (0)

/* Random bits, by xorshift: the same ones on every machine. */
static inline uint64_t draw_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* A random number below n. */
static inline uint64_t draw(uint64_t n)
{
    return (draw_bits() >> 16) % n;
}

/* What main() returns. */
static inline int report(void)
{
    (void)printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
#endif
