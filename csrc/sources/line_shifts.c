/* How much line numbers are ahead of record numbers. */
#include "sources/line_shifts.h"

#include <pthread.h>
#include <stdlib.h>

enum { most_shifts = 1 << 20 };

typedef struct shift {
    int64_t ordinal; /* from this one on */
    int64_t lines;   /* to be added to an ordinal */
} shift;

struct pfd_line_shifts {
    pthread_mutex_t lock; /* for all below */
    int64_t size, room;
    int64_t full; /* the first ordinal that could not be noted; -1: none */
    shift *list;
};

pfd_line_shifts *pfd_line_shifts_create(void)
{
    pfd_line_shifts *shifts = calloc(1, sizeof *shifts);
    if (!shifts) return NULL;
    pthread_mutex_init(&shifts->lock, NULL);
    shifts->full = -1;
    return shifts;
}

void pfd_line_shifts_free(pfd_line_shifts *shifts)
{
    if (!shifts) return;
    pthread_mutex_destroy(&shifts->lock);
    free(shifts->list);
    free(shifts);
}

/* 0: there is no room for another one. */
static int32_t make_room(pfd_line_shifts *shifts)
{
    if (shifts->size < shifts->room) return 1;
    if (shifts->room >= most_shifts) return 0;
    int64_t room = shifts->room > 0 ? 2 * shifts->room : 64;
    shift *grown = realloc(shifts->list, (size_t)room * sizeof *grown);
    if (!grown) return 0;
    shifts->list = grown;
    shifts->room = room;
    return 1;
}

void pfd_line_shifts_note(pfd_line_shifts *shifts, int64_t ordinal, int64_t line)
{
    pthread_mutex_lock(&shifts->lock);
    const shift *last = shifts->size > 0 ? &shifts->list[shifts->size - 1] : NULL;
    int32_t is_new = !last || (ordinal > last->ordinal && line - ordinal != last->lines);
    if (is_new && shifts->full < 0) {
        if (make_room(shifts)) shifts->list[shifts->size++] = (shift){ordinal, line - ordinal};
        else shifts->full = ordinal;
    }
    pthread_mutex_unlock(&shifts->lock);
}

static int64_t find(const pfd_line_shifts *shifts, int64_t ordinal)
{
    int64_t begin = 0, end = shifts->size;
    if (shifts->full >= 0 && ordinal >= shifts->full) return -1;
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (shifts->list[middle].ordinal <= ordinal) begin = middle + 1;
        else end = middle;
    }
    return begin > 0 ? ordinal + shifts->list[begin - 1].lines : -1;
}

int64_t pfd_line_shifts_find(pfd_line_shifts *shifts, int64_t ordinal)
{
    pthread_mutex_lock(&shifts->lock);
    int64_t line = find(shifts, ordinal);
    pthread_mutex_unlock(&shifts->lock);
    return line;
}
