/* CHECK() for the C tests: counts, and says which condition in which line does not hold. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H
#include <stdio.h>
#include <stdlib.h>

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

/* The same, where nothing after it would mean anything. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        CHECK(condition);                                                                          \
        if (failed) exit(1);                                                                       \
    } while (0)

/* What main() returns. */
static inline int report(void)
{
    (void)printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
#endif
