/* A list of tables under a lock: there are few, and they are looked for when a loader opens. */
#include "core/tables.h"

#include "core/error.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct entry {
    struct entry *next;
    int64_t number;
    pfd_table table;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *entries;

/* Where the entry of a number is linked; the end of the list where there is none. */
static entry **place_of(int64_t number)
{
    entry **place = &entries;
    while (*place && (*place)->number != number) place = &(*place)->next;
    return place;
}

pfd_status pfd_table_find(int64_t number, pfd_table *out, pfd_error *err)
{
    pthread_mutex_lock(&lock);
    const entry *found = *place_of(number);
    if (found) *out = found->table;
    pthread_mutex_unlock(&lock);
    return found ? PFD_OK : pfd_fail(err, PFD_INTERNAL, "there is no table %" PRId64, number);
}

pfd_status pfd_table_put(int64_t number, const pfd_table *table, pfd_error *err)
{
    entry *added = malloc(sizeof *added);
    if (!added) return pfd_fail_memory(err, (int64_t)sizeof *added, "a table");
    pthread_mutex_lock(&lock);
    entry **place = place_of(number), *old = *place;
    *added = (entry){.next = old ? old->next : NULL, .number = number, .table = *table};
    *place = added;
    pthread_mutex_unlock(&lock);
    free(old);
    return PFD_OK;
}

void pfd_table_drop(int64_t number)
{
    pthread_mutex_lock(&lock);
    entry **place = place_of(number), *old = *place;
    if (old) *place = old->next;
    pthread_mutex_unlock(&lock);
    free(old);
}
