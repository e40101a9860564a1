/* Finds the name that a mistyped one was meant to be. */
#include "parse/nearest_name.h"

#include <string.h>

enum { LONGEST = 63, SHORTEST_PART = 3, FAR = 1000 };

int64_t pfd_fold_name(const char *name, char *out, int64_t capacity)
{
    int64_t size = 0;
    for (; *name; name++) {
        if (*name == '_') continue;
        if (size + 1 >= capacity) return -1;
        out[size++] = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
    }
    out[size] = '\0';
    return size;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Damerau-Levenshtein distance: insertions, deletions, replacements, swaps of neighbours. */
static int64_t edit_distance(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    int64_t rows[3][LONGEST + 1];
    int64_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (int64_t j = 0; j <= b_size; j++) above[j] = before[j] = j;
    for (int64_t i = 1; i <= a_size; i++) {
        row[0] = i;
        for (int64_t j = 1; j <= b_size; j++) {
            int64_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(change, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        int64_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_size];
}

/* The distance of two names; smaller is nearer.  A name that contains the other one is farther than
 * every mistyped one. */
static int64_t distance(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    int64_t longer = a_size > b_size ? a_size : b_size;
    int64_t edits = edit_distance(a, a_size, b, b_size);
    if (edits <= (longer >= 6 ? longer / 3 : 1) && edits < longer) return edits;
    int64_t shorter = least(a_size, b_size);
    if (shorter >= SHORTEST_PART && (strstr(a, b) || strstr(b, a))) return 100 + longer - shorter;
    return FAR;
}

const char *pfd_nearest_name(const char *name, const char *const *names, int64_t n)
{
    char folded[LONGEST + 1], other[LONGEST + 1];
    int64_t size = pfd_fold_name(name, folded, sizeof folded);
    if (size <= 0) return NULL;
    const char *nearest = NULL;
    int64_t nearest_distance = FAR;
    for (int64_t i = 0; i < n; i++) {
        int64_t other_size = pfd_fold_name(names[i], other, sizeof other);
        if (other_size <= 0) continue;
        int64_t found = distance(folded, size, other, other_size);
        if (found < nearest_distance) {
            nearest_distance = found;
            nearest = names[i];
        }
    }
    return nearest;
}
