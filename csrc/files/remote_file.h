/* files/remote_file.h -- files at addresses, as s3://bucket/key: opened, read, and fetched ahead.
 *
 * Their bytes lie in the block cache (block_cache.h).  A reader of a block that is not there puts
 * the block into a queue, which all remote files of the process share, and waits.  The threads that
 * fetch are Python's: they take requests from the queue, and put the bytes (pfd_fetch_* in
 * pyflowdata.h). Blocks that a reader waits for are fetched before blocks that were only asked for
 * ahead, and consecutive blocks are one request.
 *
 * OWNERSHIP  A request holds its file: close() does not wait for a fetch.
 * THREADS    Everything may be called from any thread.
 * ERRORS     Those of the fetch: transient or the environment is PFD_IO.  PFD_CANCELLED: the loader
 *            closes.
 */
#ifndef PFD_FILES_REMOTE_FILE_H
#define PFD_FILES_REMOTE_FILE_H
#include "core/scratch.h"
#include "pyflowdata/pyflowdata.h"

typedef struct pfd_remote_file pfd_remote_file;

/* How many bytes are asked for ahead of those that are read: a part of the cache's budget. */
int64_t pfd_remote_bytes_ahead(void);

/* Looks at n addresses at once, those of `paths` that are remote; facts[i] is zeroed for others.
 * PFD_IO names the first one that cannot be read. */
pfd_status pfd_remote_look(char *const *paths, int64_t n, pfd_remote_facts *facts, pfd_error *err);
/* The same of which facts are right: PFD_LOOK_* of pyflowdata.h. */
pfd_status pfd_remote_look_for(char *const *paths, int64_t n, int32_t how, pfd_remote_facts *facts,
                               pfd_error *err);

/* PFD_PATH_*, of one address. */
pfd_status pfd_remote_kind(const char *url, int32_t *kind, pfd_error *err);

/* Names the objects at those of n addresses that have a query, such as a signature, or a password,
 * which are kept for requests: see `name_objects` in pyflowdata.h.  `urls` is left in another
 * order. */
pfd_status pfd_remote_name_objects(char **urls, int64_t n, pfd_error *err);

/* Bytes of the mark after "://" in the name of an object; 0: there is none. */
size_t pfd_remote_mark_size(const char *url);

/* Takes over an address, from malloc(); NULL: out of memory. */
typedef pfd_status (*pfd_take_path)(void *ctx, char *path, pfd_error *err);

/* Gives the addresses that a pattern stands for, sorted by bytes, one after the other. */
pfd_status pfd_remote_list(const char *pattern, pfd_take_path take, void *ctx, pfd_error *err);

/* Copies the index that lies beside files, if all of them are remote, to a local path.  0: there is
 * none, or it cannot be read. */
int32_t pfd_remote_bring_index(const pfd_file *const *files, int64_t n, const char *path);

pfd_status pfd_remote_file_open(const char *url, const pfd_remote_facts *facts,
                                pfd_remote_file **out, pfd_error *err);
/* Looks at the address first, and tells what was seen. */
pfd_status pfd_remote_file_open_one(const char *url, pfd_remote_facts *facts,
                                    pfd_remote_file **out, pfd_error *err);
/* Does not wait: the first blocks are asked for, and before them the facts if they are NULL; then
 * the threads that fetch look at the object, and await() comes before other calls than close(). */
pfd_status pfd_remote_file_open_ahead(const char *url, const pfd_remote_facts *facts,
                                      pfd_remote_file **out, pfd_error *err);
/* Waits until the object was looked at, and tells its size and tag. */
pfd_status pfd_remote_file_await(pfd_remote_file *self, const pfd_bounds *bounds,
                                 pfd_remote_facts *facts, pfd_error *err);
void pfd_remote_file_close(pfd_remote_file *self); /* accepts NULL */

/* States that one file comes after another in the list of a reader: if both are scanned, the first
 * block of the later one is asked for ahead.  Call it before either is read. */
void pfd_remote_file_follow(pfd_remote_file *self, pfd_remote_file *previous);

/* Copies bytes of the file, whose range lies in it; waits until they are there. */
pfd_status pfd_remote_file_read(pfd_remote_file *self, int64_t offset, int64_t size, uint8_t *out,
                                const pfd_bounds *bounds, pfd_error *err);
/* The same without waiting.  PFD_IO: they are not in the cache yet, and are asked for. */
pfd_status pfd_remote_file_read_cached(pfd_remote_file *self, int64_t offset, int64_t size,
                                       uint8_t *out, pfd_error *err);

/* The blocks that a loader will read, batch after batch, as far as they are known: the cache drops
 * the blocks that are needed last.  One thread at a time may add to a plan.  A plan ends before its
 * files. */
typedef struct pfd_block_plan pfd_block_plan;
pfd_block_plan *pfd_block_plan_create(void); /* NULL: out of memory */
void pfd_block_plan_free(pfd_block_plan *self); /* accepts NULL */

/* A batch begins, and all batches before it are done.  0: the plan is empty now, because this batch
 * is before the last one that began, or after all that were added. */
int32_t pfd_block_plan_begin(pfd_block_plan *self, int64_t batch);

/* Adds bytes that a batch reads; the batch is not before the last one added.  0: the plan is full.
 * Call it between lock() and unlock(), which take and give back the lock of all remote files once
 * for the records of a range. */
void pfd_block_plan_lock(void);
void pfd_block_plan_unlock(void);
int32_t pfd_block_plan_add(pfd_block_plan *self, pfd_remote_file *file, int64_t offset,
                           int64_t size, int64_t batch);

/* The first batch for which the cache has no room, after the blocks of the batches before it: to
 * fetch its blocks now would drop blocks that are needed earlier.  INT64_MAX: all that are planned
 * fit. */
int64_t pfd_block_plan_reach(pfd_block_plan *self);

/* Bytes of the planned blocks of the batches before `end` that are not in the cache. */
int64_t pfd_block_plan_missing(const pfd_block_plan *self, int64_t end);

/* Blocks that were not there, and objects, that were asked for ahead since the process began. */
int64_t pfd_remote_blocks_asked(void);

/* Asks for a range of the file, without waiting. */
void pfd_remote_file_will_need(pfd_remote_file *self, int64_t offset, int64_t size);

/* Bytes of the file that the cache does not have. */
int64_t pfd_remote_file_missing(const pfd_remote_file *self);

/* The memory that a SIGBUS may strike. */
const uint8_t *pfd_remote_file_memory(const pfd_remote_file *self);
#endif
