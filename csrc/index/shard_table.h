/* index/shard_table.h -- which shard a record is in, of a dataset whose shards tell how many
 * records they have.
 *
 * OWNERSHIP  A zeroed table is an empty one; its memory is the table's.
 * THREADS    Once all shards are added: any thread.
 */
#ifndef PFD_INDEX_SHARD_TABLE_H
#define PFD_INDEX_SHARD_TABLE_H
#include "pyflowdata/op.h"

typedef struct pfd_shard_table {
    int64_t *first; /* number of the first record of each shard, and after the last: of all */
    int64_t size, capacity;
} pfd_shard_table;

pfd_status pfd_shard_table_add(pfd_shard_table *table, int64_t num_records, pfd_error *err);
void pfd_shard_table_free(pfd_shard_table *table);

static inline int64_t pfd_shard_table_records(const pfd_shard_table *table)
{
    return table->size > 0 ? table->first[table->size] : 0;
}

/* The shard of record `ordinal`, which there must be; empty shards are passed over. */
int64_t pfd_shard_of(const pfd_shard_table *table, int64_t ordinal);

/* In shuffled order records are far away: asks memory for the first lines of one that is wanted
 * soon.  Of a file that is not mapped nothing is done. */
void pfd_shard_prefetch(const pfd_file *file, int64_t offset, int64_t size);
#endif
