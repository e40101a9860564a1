/* index/shard_table.h -- finds the shard of a record, for datasets whose shards state how many
 * records they have.
 *
 * OWNERSHIP  A zeroed table is empty.  The table owns its memory.
 * THREADS    Once all shards are added: any thread.
 */
#ifndef PFD_INDEX_SHARD_TABLE_H
#define PFD_INDEX_SHARD_TABLE_H
#include "pyflowdata/op.h"

typedef struct pfd_shard_table {
    int64_t *first; /* number of the first record of each shard; then the number of all records */
    int64_t size, capacity;
} pfd_shard_table;

pfd_status pfd_shard_table_add(pfd_shard_table *table, int64_t num_records, pfd_error *err);
void pfd_shard_table_free(pfd_shard_table *table);

static inline int64_t pfd_shard_table_records(const pfd_shard_table *table)
{
    return table->size > 0 ? table->first[table->size] : 0;
}

/* The shard of record `ordinal`, which must exist; empty shards are skipped. */
int64_t pfd_shard_of(const pfd_shard_table *table, int64_t ordinal);

/* Prefetches the first cache lines of a record that is needed soon: in shuffled order these are
 * not in the cache.  Does nothing for a file that is not mapped. */
void pfd_shard_prefetch(const pfd_file *file, int64_t offset, int64_t size);
#endif
