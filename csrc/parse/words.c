/* Characters, bytes and names: what is well-formed, what is shown, what is alike. */
#include "parse/words.h"

#include <stdio.h>
#include <string.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

int64_t pfd_utf8_length(const uint8_t *p, int64_t left)
{
    int64_t size = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (size == 0 || p[0] > 0xf4 || size > left) return 0;
    for (int64_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    return size;
}

int32_t pfd_is_utf8(const uint8_t *text, int64_t size)
{
    int64_t length;
    for (int64_t at = 0; at < size; at += length) {
        length = pfd_utf8_length(text + at, size - at);
        if (!length) return 0;
    }
    return 1;
}

/* ---- Bytes in a message ---------------------------------------------------------------------- */

const char *pfd_quote_bytes(const uint8_t *data, int64_t size, char *out, size_t capacity)
{
    enum { most = 40 };
    int64_t shown = size < most ? size : most;
    size_t used = 0;
    out[used++] = '\'';
    for (int64_t i = 0; i < shown && used + 10 < capacity; i++) {
        int printable = data[i] >= 0x20 && data[i] < 0x7f && data[i] != '\\' && data[i] != '\'';
        const char *format = printable ? "%c" : "\\x%02x";
        used += (size_t)snprintf(out + used, capacity - used, format, data[i]);
    }
    (void)snprintf(out + used, capacity - used, "'%s", size > shown ? "..." : "");
    return out;
}

/* ---- Names ----------------------------------------------------------------------------------- */

enum { LONGEST = 63, SHORTEST_PART = 3, FAR = 1000 };

int64_t pfd_fold_name(const char *name, char *out, int64_t capacity)
{
    int64_t size = 0;
    for (; *name; name++) {
        if (*name == '_') continue;
        if (size + 1 >= capacity) return -1;
        out[size++] = pfd_lower(*name);
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
