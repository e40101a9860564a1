/* Remote files: what Python knows of them, the queue of blocks, and those who wait for blocks. */
#include "files/remote_file.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/system_calls.h"
#include "files/block_cache.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { block_bytes = PFD_CACHE_BLOCK_BYTES };
enum { most_of_request = 8 }; /* blocks; as many of an object are fetched ahead */
enum { in_sequence = 16 };    /* blocks asked for ahead where they are missed one after another */
enum { most_heads = 32 };     /* files whose first blocks are asked for at once */
enum { guess_after = 4 };     /* objects that were not there: then bytes are got with the facts */

/* What this process does about a block, or about the facts of an object. */
enum { IDLE, AHEAD, URGENT, TAKEN, FAILED };

/* A bucket, or a server. */
typedef struct remote_store {
    struct remote_store *next;
    uint64_t key;     /* a hash of its name */
    int64_t requests; /* that are running */
} remote_store;

struct pfd_remote_file {
    pfd_block_cache cache;
    char *url, *tag;
    remote_store *store;
    int64_t requests;    /* that are running */
    int32_t references;  /* by its opener and by requests */
    uint8_t look;        /* IDLE: the facts are known */
    uint8_t is_closed;   /* no queue may have it: only requests hold it */
    uint8_t *asked;      /* for each block */
    uint8_t *had;        /* blocks that were put */
    uint32_t *in_reach;  /* how often plans have each block in reach */
    uint32_t *counted;   /* the count that had each block last; under `noting` */
    int64_t last_missed; /* block */
    int32_t is_planned;  /* somebody asks for blocks ahead */
    int32_t is_followed; /* its first block was asked for when that of a file before it was read */
    pfd_remote_file *previous, *next; /* in the list of a reader */
    pfd_error failure;   /* of the last request that failed */
};

typedef struct wanted_block {
    pfd_remote_file *file; /* NULL: the file was closed */
    int64_t block;         /* -1: the facts of the object */
} wanted_block;

/* A ring of blocks, in the order in which they were asked for. */
typedef struct block_queue {
    wanted_block *items;
    int64_t first, size, capacity; /* a power of two */
} block_queue;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below, and `asked` and what
                                                            follows it in a file */
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER; /* before `lock`: no plan ends */
static pthread_cond_t came, arrived; /* a block into a queue; a block into the cache */
static block_queue urgent, ahead, looks;
static remote_store *stores; /* never freed: they are few */
static int64_t requests_of_object, spare_requests; /* that run at a time; set before any does */
static pfd_fetch *retries;   /* requests that failed, and are tried again after a pause */
static int32_t is_stopped;
static pfd_fetch_counts counts;
static _Atomic int64_t blocks_asked;
static pfd_remote_calls calls;
static char *folder;
static int64_t budget, in_flight; /* bytes; blocks that are being fetched */
static int64_t sharers = 1;       /* processes that share the budget */
static double per_request[3];     /* means of late: bytes, ns to the answer, ns from there on */
static int64_t lacking;           /* objects looked at in a row that were not in the cache */
static pfd_block_plan *plans;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

int32_t pfd_path_is_remote(const char *path)
{
    size_t size = 0;
    while (isalnum((unsigned char)path[size]) || (path[size] && strchr("+.-", path[size]))) size++;
    return size >= 2 && !strncmp(path + size, "://", 3) &&
           !(size == 4 && !strncasecmp(path, "file", 4));
}

static pfd_status check_calls(pfd_error *err)
{
    if (calls.look) return PFD_OK;
    return pfd_fail(err, PFD_UNSUPPORTED, "remote files are read by the Python package only");
}

/* The status that a Python function returned.  A function that raised has written *err; otherwise
 * Python itself has failed. */
static pfd_status returned(int32_t status, pfd_error *err)
{
    if (status == PFD_OK) return PFD_OK;
    if (err->status == PFD_OK)
        (void)pfd_fail(err, PFD_INTERNAL, "a function for remote files failed in Python");
    return err->status;
}

pfd_status pfd_remote_look_for(char *const *paths, int64_t n, int32_t how, pfd_remote_facts *facts,
                               pfd_error *err)
{
    int32_t any = 0;
    memset(facts, 0, (size_t)n * sizeof *facts);
    for (int64_t i = 0; i < n && !any; i++) any = pfd_path_is_remote(paths[i]);
    if (!any) return PFD_OK;
    PFD_TRY(check_calls(err));
    pfd_error_clear(err);
    return returned(calls.look((const char *const *)paths, n, how, facts, err), err);
}

pfd_status pfd_remote_look(char *const *paths, int64_t n, pfd_remote_facts *facts, pfd_error *err)
{
    return pfd_remote_look_for(paths, n, PFD_LOOK_NOW, facts, err);
}

pfd_status pfd_remote_kind(const char *url, int32_t *kind, pfd_error *err)
{
    PFD_TRY(check_calls(err));
    pfd_error_clear(err);
    return returned(calls.kind(url, kind, err), err);
}

pfd_status pfd_remote_name_objects(char **urls, int64_t n, pfd_error *err)
{
    int64_t some = 0;
    for (int64_t i = 0; i < n; i++)
        if (strpbrk(urls[i], "?@")) urls[some++] = urls[i];
    if (some == 0) return PFD_OK;
    PFD_TRY(check_calls(err));
    pfd_error_clear(err);
    return returned(calls.name_objects(urls, some, err), err);
}

size_t pfd_remote_mark_size(const char *url)
{
    const char *host = strstr(url, "://");
    if (!host || strncmp(host + 3, "q-", 2) != 0) return 0;
    size_t size = strcspn(host + 3, "/@") + 1;
    return size == PFD_REMOTE_MARK && host[2 + size] == '@' ? size : 0;
}

/* Who lists objects. */
typedef struct lister {
    pfd_take_path take;
    void *ctx;
} lister;

pfd_status pfd_remote_list(const char *pattern, pfd_take_path take, void *ctx, pfd_error *err)
{
    lister list = {take, ctx};
    PFD_TRY(check_calls(err));
    pfd_error_clear(err);
    return returned(calls.list(pattern, &list, err), err);
}

pfd_status pfd_remote_listed(void *list, const char *url, pfd_error *err)
{
    const lister *to = list;
    return to->take(to->ctx, strdup(url), err);
}

int32_t pfd_remote_bring_index(const pfd_file *const *files, int64_t n, const char *path)
{
    int32_t found = 0, are_remote = n > 0 && calls.bring;
    for (int64_t i = 0; i < n && are_remote; i++) are_remote = pfd_path_is_remote(files[i]->path);
    const char **paths = are_remote ? malloc((size_t)n * sizeof *paths) : NULL;
    if (!paths) return 0;
    for (int64_t i = 0; i < n; i++) paths[i] = files[i]->path;
    int32_t status = calls.bring(paths, n, path, &found);
    free((void *)paths);
    return status == PFD_OK && found;
}

pfd_status pfd_remote_fail(pfd_error *err, int32_t status, int32_t reason, const char *url,
                           const char *message)
{
    (void)pfd_fail(err, (pfd_status)status, "%s", message);
    if (*url) pfd_error_set_file(err, url);
    return pfd_error_set_reason(err, reason);
}

/* ---- What Python installs -------------------------------------------------------------------- */

static void init_conditions(void)
{
    pfd_cond_init(&came);
    pfd_cond_init(&arrived);
}

static void lock_before_fork(void)
{
    pthread_mutex_lock(&noting);
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&noting);
}

/* In a child, the threads that fetch are gone, and queues and plans hold files of the parent. */
static void begin_child(void)
{
    urgent.size = ahead.size = looks.size = in_flight = 0;
    for (remote_store *one = stores; one; one = one->next) one->requests = 0;
    retries = NULL;
    plans = NULL;
    counts = (pfd_fetch_counts){0};
    init_conditions();
    unlock_after_fork();
}

static void prepare(void)
{
    init_conditions();
    (void)pthread_atfork(lock_before_fork, unlock_after_fork, begin_child);
}

void pfd_remote_install(const pfd_remote_calls *installed)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare);
    calls = *installed;
}

pfd_status pfd_remote_set_folder(const char *path, int64_t bytes, pfd_error *err)
{
    char *copy = strdup(path);
    if (!copy) return pfd_fail_memory(err, (int64_t)strlen(path), "a path");
    pthread_mutex_lock(&lock);
    free(folder);
    folder = copy;
    budget = bytes;
    is_stopped = 0;
    pthread_mutex_unlock(&lock);
    return PFD_OK;
}

static int64_t bytes_ahead(void) /* lock held */
{
    const int64_t most = 128 * INT64_C(1048576);
    int64_t bytes = least(budget / 4 / sharers, most);
    return bytes > 2 * block_bytes ? bytes : 2 * block_bytes;
}

void pfd_remote_set_sharers(int64_t processes)
{
    pthread_mutex_lock(&lock);
    sharers = processes > 1 ? processes : 1;
    pthread_mutex_unlock(&lock);
}

int64_t pfd_fetch_set_requests(int64_t requests)
{
    pthread_mutex_lock(&lock);
    requests_of_object = requests;
    spare_requests = requests < 16 ? 1 : requests / 8;
    int64_t threads = requests_of_object + 2 * spare_requests;
    pthread_mutex_unlock(&lock);
    return threads;
}

int64_t pfd_remote_bytes_ahead(void)
{
    pthread_mutex_lock(&lock);
    int64_t bytes = bytes_ahead();
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* ---- Queues (lock held) ---------------------------------------------------------------------- */

static int32_t push(block_queue *queue, pfd_remote_file *file, int64_t block)
{
    if (queue->size == queue->capacity) {
        int64_t capacity = queue->capacity ? 2 * queue->capacity : 256;
        wanted_block *items = malloc((size_t)capacity * sizeof *items);
        if (!items) return 0;
        for (int64_t i = 0; i < queue->size; i++)
            items[i] = queue->items[(queue->first + i) & (queue->capacity - 1)];
        free(queue->items);
        *queue = (block_queue){items, 0, queue->size, capacity};
    }
    queue->items[(queue->first + queue->size++) & (queue->capacity - 1)] =
        (wanted_block){file, block};
    return 1;
}

static uint8_t *state_of(const wanted_block *wanted)
{
    return wanted->block < 0 ? &wanted->file->look : &wanted->file->asked[wanted->block];
}

/* How many blocks may be taken: a part of the budget is in flight at a time. */
static int64_t room_in_flight(void)
{
    return bytes_ahead() / block_bytes - in_flight;
}

/* Whether one more request for a file may run.  An object, and a store, never has all threads.  A
 * block that is waited for may exceed the room if no request of its file runs.  So an object or
 * store that does not answer holds up no other. */
static int32_t may_run(const pfd_remote_file *file)
{
    if (room_in_flight() < 1 && file->requests > 0) return 0;
    return file->requests < requests_of_object &&
           file->store->requests < requests_of_object + spare_requests;
}

/* The earliest block that nobody has taken, and that may be fetched now; 0: none. */
static int32_t pop(block_queue *queue, wanted_block *out)
{
    int32_t found = 0;
    if (queue != &urgent && room_in_flight() < 1) return 0; /* only urgent blocks may exceed it */
    for (int64_t i = 0; i < queue->size && !found; i++) {
        wanted_block *item = &queue->items[(queue->first + i) & (queue->capacity - 1)];
        if (!item->file) continue;
        uint8_t asked = *state_of(item);
        int32_t is_wanted = asked == URGENT || asked == AHEAD;
        if (is_wanted && !may_run(item->file)) continue;
        found = is_wanted;
        *out = *item;
        item->file = NULL;
    }
    while (queue->size > 0 && !queue->items[queue->first].file) {
        queue->first = (queue->first + 1) & (queue->capacity - 1);
        queue->size--;
    }
    return found;
}

static void forget(block_queue *queue, const pfd_remote_file *file)
{
    for (int64_t i = 0; i < queue->size; i++) {
        wanted_block *item = &queue->items[(queue->first + i) & (queue->capacity - 1)];
        if (item->file == file) item->file = NULL;
    }
}

static void ask(pfd_remote_file *self, int64_t block, uint8_t how)
{
    uint8_t *asked = state_of(&(wanted_block){self, block});
    block_queue *queue = how == URGENT ? &urgent : block < 0 ? &looks : &ahead;
    if (self->is_closed || *asked == TAKEN || (*asked >= how && *asked != FAILED)) return;
    if (!push(queue, self, block)) return; /* asked for again later */
    *asked = how;
    (void)pthread_cond_signal(&came);
}

/* ---- Open and close -------------------------------------------------------------------------- */

static void close_version(pfd_remote_file *self)
{
    pfd_block_cache_close(&self->cache);
    free(self->tag);
    free(self->asked);
    free(self->had);
    free(self->in_reach);
    free(self->counted);
    self->tag = NULL;
    self->asked = self->had = NULL;
    self->in_reach = self->counted = NULL;
}

static void release(pfd_remote_file *self)
{
    pthread_mutex_lock(&lock);
    int32_t left = --self->references;
    pthread_mutex_unlock(&lock);
    if (left > 0) return;
    close_version(self);
    free(self->url);
    free(self);
}

/* NULL: out of memory. */
static remote_store *store_of(const char *url)
{
    const char *name = strstr(url, "://") + 3 + pfd_remote_mark_size(url);
    uint64_t key = pfd_hash_bytes(0, name, (int64_t)strcspn(name, "/"));
    pthread_mutex_lock(&lock);
    remote_store *found = stores;
    while (found && found->key != key) found = found->next;
    if (!found && (found = malloc(sizeof *found))) {
        *found = (remote_store){stores, key, 0};
        stores = found;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static pfd_remote_file *create(const char *url)
{
    pfd_remote_file *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->references = 1;
    self->last_missed = -2;
    pfd_error_init(&self->failure);
    self->url = strdup(url);
    self->store = store_of(url);
    if (self->url && self->store) return self;
    free(self->url);
    free(self);
    return NULL;
}

/* Opens the file in the cache.  If it fails, nothing is open, and it may be tried again. */
static pfd_status open_version(pfd_remote_file *self, const pfd_remote_facts *facts,
                               pfd_error *err)
{
    const pfd_cache_key key = {.url = self->url, .tag = facts->tag, .size = facts->size};
    pthread_mutex_lock(&lock);
    char *where = strdup(folder); /* which the look at the address has set */
    pthread_mutex_unlock(&lock);
    self->tag = strdup(facts->tag);
    pfd_status status = where && self->tag ? pfd_block_cache_open(&self->cache, where, &key, err)
                                           : pfd_fail_memory(err, 0, "a remote file");
    free(where);
    if (status == PFD_OK) {
        size_t blocks = (size_t)self->cache.num_blocks + 1;
        self->asked = calloc(blocks, sizeof *self->asked);
        self->had = calloc(blocks, sizeof *self->had);
        self->in_reach = calloc(blocks, sizeof *self->in_reach);
        self->counted = calloc(blocks, sizeof *self->counted);
    }
    if (status == PFD_OK && (!self->asked || !self->had || !self->in_reach || !self->counted))
        status = pfd_fail_memory(err, self->cache.num_blocks, "the blocks of a remote file");
    if (status != PFD_OK) close_version(self);
    return status;
}

pfd_status pfd_remote_file_open(const char *url, const pfd_remote_facts *facts,
                                pfd_remote_file **out, pfd_error *err)
{
    pfd_remote_file *self = create(url);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a remote file");
    pfd_status status = open_version(self, facts, err);
    if (status == PFD_OK) *out = self;
    else release(self);
    return status;
}

/* Asks for the first blocks of an object, all of a small one (lock held). */
static void ask_for_first(pfd_remote_file *self)
{
    int64_t n = least(self->cache.num_blocks, most_of_request);
    self->is_planned = 1;
    for (int64_t b = 0; b < n; b++)
        if (!pfd_block_cache_want(&self->cache, b)) ask(self, b, AHEAD);
}

pfd_status pfd_remote_file_open_ahead(const char *url, const pfd_remote_facts *facts,
                                      pfd_remote_file **out, pfd_error *err)
{
    pfd_remote_file *self = create(url);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a remote file");
    pfd_status status = facts ? open_version(self, facts, err) : PFD_OK;
    if (status != PFD_OK) {
        release(self);
        return status;
    }
    atomic_fetch_add_explicit(&blocks_asked, 1, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    if (facts) {
        ask_for_first(self);
    } else {
        self->look = FAILED; /* unless it is asked for */
        ask(self, -1, AHEAD);
    }
    pthread_mutex_unlock(&lock);
    *out = self;
    return PFD_OK;
}

pfd_status pfd_remote_file_open_one(const char *url, pfd_remote_facts *facts,
                                    pfd_remote_file **out, pfd_error *err)
{
    char *paths[] = {(char *)(uintptr_t)url}; /* never written */
    PFD_TRY(pfd_remote_look(paths, 1, facts, err));
    return pfd_remote_file_open(url, facts, out, err);
}

void pfd_remote_file_follow(pfd_remote_file *self, pfd_remote_file *previous)
{
    self->previous = previous;
    previous->next = self;
}

void pfd_remote_file_close(pfd_remote_file *self)
{
    if (!self) return;
    pthread_mutex_lock(&lock);
    if (self->next) self->next->previous = NULL;
    if (self->previous) self->previous->next = NULL;
    self->is_closed = 1;
    forget(&urgent, self);
    forget(&ahead, self);
    forget(&looks, self);
    pthread_mutex_unlock(&lock);
    release(self);
}

int64_t pfd_remote_file_missing(const pfd_remote_file *self)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < self->cache.num_blocks; i++)
        bytes += pfd_block_cache_missing(&self->cache, i);
    return bytes;
}

const uint8_t *pfd_remote_file_memory(const pfd_remote_file *self)
{
    return self->cache.data;
}

/* ---- What will be read, and when ------------------------------------------------------------ */

typedef struct planned_use {
    pfd_remote_file *file;
    int64_t block, batch;
} planned_use;

enum { most_uses = 1 << 20 };

struct pfd_block_plan {
    planned_use *uses;
    int64_t first, end, capacity; /* of uses */
    int64_t dropped;              /* uses that were before those in memory */
    int64_t reach, in_reach;      /* the first use beyond reach; blocks from `first` to it */
    int64_t began, began_ms;      /* the batch that began first, and when */
    int64_t now;                  /* batch */
    pfd_block_plan *next;
};

pfd_block_plan *pfd_block_plan_create(void)
{
    pfd_block_plan *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->now = -1;
    pthread_mutex_lock(&lock);
    self->next = plans;
    plans = self;
    pthread_mutex_unlock(&lock);
    return self;
}

/* The first use has passed (lock held). */
static void pass_use(pfd_block_plan *self)
{
    const planned_use *use = &self->uses[self->first];
    if (self->first == self->reach) self->reach++;
    else if (--use->file->in_reach[use->block] == 0) self->in_reach--;
    self->first++;
}

void pfd_block_plan_free(pfd_block_plan *self)
{
    if (!self) return;
    pthread_mutex_lock(&noting);
    pthread_mutex_lock(&lock);
    while (self->first < self->reach) pass_use(self);
    pfd_block_plan **at = &plans;
    while (*at && *at != self) at = &(*at)->next;
    if (*at) *at = self->next;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&noting);
    free(self->uses);
    free(self);
}

int32_t pfd_block_plan_begin(pfd_block_plan *self, int64_t batch)
{
    pthread_mutex_lock(&lock);
    int32_t goes_on = self->now >= 0 && batch >= self->now && self->first < self->end &&
                      batch <= self->uses[self->end - 1].batch;
    if (!goes_on) {
        while (self->first < self->reach) pass_use(self);
        self->dropped += self->end;
        self->first = self->reach = self->end = 0;
        self->began = batch;
        self->began_ms = pfd_coarse_unix_ms();
    }
    self->now = batch;
    while (self->first < self->end && self->uses[self->first].batch < batch) pass_use(self);
    pthread_mutex_unlock(&lock);
    return goes_on;
}

/* Room for one more (lock held). */
static int32_t grow_plan(pfd_block_plan *self)
{
    if (self->end < self->capacity) return 1;
    if (self->first > self->capacity / 2) {
        self->end -= self->first;
        memmove(self->uses, self->uses + self->first, (size_t)self->end * sizeof *self->uses);
        self->reach -= self->first;
        self->dropped += self->first;
        self->first = 0;
        return 1;
    }
    int64_t capacity = self->capacity ? 2 * self->capacity : 256;
    planned_use *uses = capacity > most_uses
                            ? NULL
                            : realloc(self->uses, (size_t)capacity * sizeof *uses);
    if (!uses) return 0;
    self->uses = uses;
    self->capacity = capacity;
    return 1;
}

void pfd_block_plan_lock(void)
{
    pthread_mutex_lock(&lock);
}

void pfd_block_plan_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int32_t pfd_block_plan_add(pfd_block_plan *self, pfd_remote_file *file, int64_t offset,
                           int64_t size, int64_t batch)
{
    int64_t block = offset / block_bytes;
    int64_t end = least((offset + size - 1) / block_bytes + 1, file->cache.num_blocks);
    int32_t added = 1;
    for (; block < end && added; block++) {
        const planned_use use = {file, block, batch};
        const planned_use *last = self->end > self->first ? &self->uses[self->end - 1] : NULL;
        if (last && last->file == file && last->block == block && last->batch == batch) continue;
        added = grow_plan(self);
        if (added) self->uses[self->end++] = use;
    }
    return added;
}

int64_t pfd_block_plan_reach(pfd_block_plan *self)
{
    pthread_mutex_lock(&lock);
    int64_t most = budget / block_bytes * 7 / 8 / sharers;
    for (; self->reach < self->end && self->in_reach < most; self->reach++) {
        const planned_use *use = &self->uses[self->reach];
        if (use->file->in_reach[use->block]++ == 0) self->in_reach++;
    }
    int64_t batch = self->reach < self->end ? self->uses[self->reach].batch : INT64_MAX;
    pthread_mutex_unlock(&lock);
    return batch;
}

typedef struct next_use {
    pfd_remote_file *file;
    int64_t block, batch, next_ms;
} next_use;

enum { uses_at_once = 512 };

/* Copies the last uses of a plan that come before one; their number.  *before, which counts all
 * uses that the plan has had, becomes the first of them. */
static int64_t copy_uses(const pfd_block_plan *plan, int64_t now, int64_t *before, next_use *out)
{
    int64_t n = 0;
    pthread_mutex_lock(&lock);
    int64_t passed = plan->now - plan->began, at = *before - plan->dropped;
    int64_t per = passed > 0 ? (now - plan->began_ms) / passed : 1;
    if (per < 1) per = 1;
    if (at > plan->end) at = plan->end;
    for (; at > plan->first && n < uses_at_once; n++) {
        const planned_use *use = &plan->uses[--at];
        out[n] = (next_use){use->file, use->block, use->batch,
                            now + (use->batch - plan->now) * per + 1};
    }
    *before = at + plan->dropped;
    pthread_mutex_unlock(&lock);
    return n;
}

/* From the last use to the first: the first one stays. */
static void note_uses(const pfd_block_plan *plan, int64_t now, int32_t is_shared)
{
    next_use uses[uses_at_once];
    int64_t before = INT64_MAX, n;
    while ((n = copy_uses(plan, now, &before, uses)) > 0)
        for (int64_t i = 0; i < n; i++)
            pfd_block_cache_note_next(&uses[i].file->cache, uses[i].block, now, uses[i].next_ms,
                                      is_shared);
}

void pfd_remote_note_next_uses(void)
{
    int64_t now = pfd_coarse_unix_ms();
    pthread_mutex_lock(&noting);
    pthread_mutex_lock(&lock);
    const pfd_block_plan *plan = plans;
    int32_t is_shared = sharers > 1 || (plan && plan->next);
    pthread_mutex_unlock(&lock);
    for (; plan; plan = plan->next) note_uses(plan, now, is_shared);
    pthread_mutex_unlock(&noting);
}

/* Bytes of those uses whose blocks are not there, and which this count has not had. */
static int64_t count_missing(const next_use *uses, int64_t n, int64_t end, uint32_t count)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t *counted = &uses[i].file->counted[uses[i].block];
        if (uses[i].batch >= end || *counted == count) continue;
        *counted = count;
        bytes += pfd_block_cache_missing(&uses[i].file->cache, uses[i].block);
    }
    return bytes;
}

int64_t pfd_block_plan_missing(const pfd_block_plan *self, int64_t end)
{
    static uint32_t count;
    next_use uses[uses_at_once];
    int64_t bytes = 0, before = INT64_MAX, n;
    pthread_mutex_lock(&noting);
    if (++count == 0) count = 1; /* 0 is of blocks that were never counted */
    while ((n = copy_uses(self, 0, &before, uses)) > 0) bytes += count_missing(uses, n, end, count);
    pthread_mutex_unlock(&noting);
    return bytes;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int64_t last_block(int64_t offset, int64_t size)
{
    return (offset + size - 1) / block_bytes;
}

void pfd_remote_file_will_need(pfd_remote_file *self, int64_t offset, int64_t size)
{
    if (size <= 0) return;
    for (int64_t b = offset / block_bytes; b <= last_block(offset, size); b++) {
        if (pfd_block_cache_want(&self->cache, b)) continue;
        pthread_mutex_lock(&lock);
        self->is_planned = 1;
        if (self->asked[b] == IDLE)
            atomic_fetch_add_explicit(&blocks_asked, 1, memory_order_relaxed);
        ask(self, b, AHEAD);
        pthread_mutex_unlock(&lock);
    }
}

int64_t pfd_remote_blocks_asked(void)
{
    return atomic_load_explicit(&blocks_asked, memory_order_relaxed);
}

/* If the beginnings of files are read one after another, as when small files are scanned, asks for
 * the beginnings of the next files (lock held). */
static void ask_for_heads(pfd_remote_file *self)
{
    const pfd_remote_file *before = self->previous;
    int64_t n = least(bytes_ahead() / block_bytes, most_heads);
    if (self->is_planned || (before && before->last_missed < 0 && !before->is_followed)) return;
    for (pfd_remote_file *at = self->next; at && n > 0; at = at->next, n--) {
        if (at->cache.num_blocks == 0) continue;
        at->is_followed = 1;
        if (!pfd_block_cache_want(&at->cache, 0)) ask(at, 0, AHEAD);
    }
}

/* Asks for the missing blocks among [first, last], and for those after them where blocks were
 * missed one after another (lock held). */
static void ask_for(pfd_remote_file *self, int64_t first, int64_t last)
{
    int64_t end = last + 1;
    if (first == self->last_missed + 1 && !self->is_planned)
        end += least(bytes_ahead() / block_bytes, in_sequence);
    self->last_missed = last;
    end = least(end, self->cache.num_blocks);
    for (int64_t b = first; b < end; b++)
        if (!pfd_block_cache_want(&self->cache, b)) ask(self, b, b <= last ? URGENT : AHEAD);
    if (first == 0) ask_for_heads(self);
}

static int32_t is_cancelled(const pfd_bounds *bounds)
{
    return bounds && atomic_load_explicit(&bounds->cancelled, memory_order_relaxed);
}

/* `asked` is what is done about what is waited for. */
static pfd_status check_waiting(const pfd_remote_file *self, uint8_t asked,
                                const pfd_bounds *bounds, pfd_error *err)
{
    if (is_cancelled(bounds)) return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
    if (is_stopped) return pfd_fail(err, PFD_CANCELLED, "the program is ending");
    if (asked != FAILED) return PFD_OK;
    pfd_error_copy(err, &self->failure);
    return err->status;
}

/* Whether a signal came.  Without a loader's bounds, as while a data set is opened, Python is
 * asked. */
static int32_t is_interrupted(const pfd_bounds *bounds)
{
    const pfd_bounds own = {.is_interrupted = calls.is_interrupted};
    return pfd_is_interrupted(bounds ? bounds : &own);
}

/* Asks for what must come first now, and waits for a while.  Another process may put the block, and
 * nothing tells this process of it (lock held, but not where it looks for signals). */
static pfd_status wait_for(pfd_remote_file *self, int64_t block, const pfd_bounds *bounds,
                           pfd_error *err)
{
    ask(self, block, URGENT);
    (void)pfd_cond_wait_until(&arrived, &lock, pfd_clock_ns() + 5000000);
    pthread_mutex_unlock(&lock);
    int32_t ends = is_interrupted(bounds);
    pthread_mutex_lock(&lock);
    return ends ? pfd_fail(err, PFD_CANCELLED, "a signal ended the wait") : PFD_OK;
}

pfd_status pfd_remote_file_await(pfd_remote_file *self, const pfd_bounds *bounds,
                                 pfd_remote_facts *facts, pfd_error *err)
{
    pfd_status status = PFD_OK;
    pthread_mutex_lock(&lock);
    if (self->look == FAILED) ask(self, -1, URGENT); /* it may have passed */
    while (self->look != IDLE && status == PFD_OK) {
        status = check_waiting(self, self->look, bounds, err);
        if (status == PFD_OK) status = wait_for(self, -1, bounds, err);
    }
    if (status == PFD_OK) {
        facts->size = self->cache.size;
        (void)snprintf(facts->tag, sizeof facts->tag, "%s", self->tag);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Copies a piece of one block; waits for it. */
static pfd_status read_piece(pfd_remote_file *self, int64_t offset, int64_t size, int64_t last,
                             uint8_t *out, const pfd_bounds *bounds, pfd_error *err)
{
    int64_t block = offset / block_bytes;
    pfd_status status = PFD_OK;
    if (pfd_block_cache_copy(&self->cache, offset, size, out)) return PFD_OK;
    pthread_mutex_lock(&lock);
    counts.waits++;
    ask_for(self, block, last);
    do {
        pthread_mutex_unlock(&lock);
        if (pfd_block_cache_copy(&self->cache, offset, size, out)) return PFD_OK;
        pthread_mutex_lock(&lock);
        status = check_waiting(self, self->asked[block], bounds, err);
        if (status == PFD_OK) status = wait_for(self, block, bounds, err);
    } while (status == PFD_OK);
    pthread_mutex_unlock(&lock);
    return status;
}

pfd_status pfd_remote_file_read(pfd_remote_file *self, int64_t offset, int64_t size, uint8_t *out,
                                const pfd_bounds *bounds, pfd_error *err)
{
    while (size > 0) {
        int64_t some = least(size, block_bytes - offset % block_bytes);
        PFD_TRY(read_piece(self, offset, some, last_block(offset, size), out, bounds, err));
        offset += some;
        out += some;
        size -= some;
    }
    return PFD_OK;
}

pfd_status pfd_remote_file_read_cached(pfd_remote_file *self, int64_t offset, int64_t size,
                                       uint8_t *out, pfd_error *err)
{
    for (int64_t done = 0, some; done < size; done += some) {
        some = least(size - done, block_bytes - (offset + done) % block_bytes);
        if (pfd_block_cache_copy(&self->cache, offset + done, some, out + done)) continue;
        pfd_remote_file_will_need(self, offset, size);
        return pfd_fail(err, PFD_IO, "the bytes are not in the cache yet");
    }
    return PFD_OK;
}

/* Waits for a block until another thread makes *ends 1. */
static pfd_status wait_for_block(pfd_remote_file *self, int64_t block, const int32_t *ends,
                                 pfd_error *err)
{
    pfd_status status = PFD_OK;
    pthread_mutex_lock(&lock);
    while (status == PFD_OK && !pfd_block_cache_want(&self->cache, block)) {
        if (__atomic_load_n(ends, __ATOMIC_RELAXED))
            status = pfd_fail(err, PFD_CANCELLED, "it is not waited for any more");
        else
            status = check_waiting(self, self->asked[block], NULL, err);
        if (status == PFD_OK) status = wait_for(self, block, NULL, err);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

pfd_status pfd_remote_warm(const char *url, int64_t offset, int64_t size, const int32_t *ends,
                           pfd_error *err)
{
    pfd_remote_facts facts;
    pfd_remote_file *file = NULL;
    PFD_TRY(pfd_remote_file_open_one(url, &facts, &file, err));
    int64_t end = offset + least(size, facts.size - offset);
    pfd_remote_file_will_need(file, offset, end - offset);
    pfd_status status = PFD_OK;
    for (uint8_t byte; offset < end && status == PFD_OK; offset += block_bytes) {
        status = wait_for_block(file, offset / block_bytes, ends, err);
        if (status == PFD_OK) status = pfd_remote_file_read(file, offset, 1, &byte, NULL, err);
    }
    pfd_remote_file_close(file);
    return status;
}

/* ---- Requests, for the threads that fetch ---------------------------------------------------- */

struct pfd_fetch {
    pfd_remote_file *file;
    int64_t first, blocks; /* no blocks: the facts */
    int fd;                /* holds the locks; -1: none */
    int64_t since, answer_ns;
    int64_t guessed; /* bytes that were asked for with the facts */
    int64_t first_since, failed_attempts;
    int64_t retry_at_ns;
    pfd_fetch *next; /* of those that are tried again */
};

/* A request is so large that waiting for its answer is a fifth of its time, and its own cost is
 * little; and no larger, since a connection that is slow would end its request when others have
 * nothing to do any more (lock held). */
static int64_t blocks_of_request(void)
{
    const double bytes = per_request[0], answer_ns = per_request[1], transfer_ns = per_request[2];
    if (bytes < 1) return 1 + in_flight % 3; /* the first ones do not end, and wait, all at once */
    double blocks = bytes / (transfer_ns + 1) * (4 * answer_ns + 50e6) / block_bytes;
    return blocks < most_of_request ? (int64_t)blocks + 1 : most_of_request;
}

static void note_request(int64_t bytes, int64_t answer_ns, int64_t all_ns) /* lock held */
{
    if (answer_ns <= 0 || answer_ns > all_ns) answer_ns = all_ns / 2; /* the client does not tell */
    const int64_t now[] = {bytes, answer_ns, all_ns - answer_ns};
    double part = counts.requests < 16 ? 1.0 / (double)(counts.requests + 1) : 1.0 / 16;
    for (int32_t i = 0; i < 3; i++) per_request[i] += ((double)now[i] - per_request[i]) * part;
}

/* Takes the blocks that follow, as far as they are wanted too (lock held). */
static int64_t take_run(pfd_remote_file *file, int64_t first)
{
    int64_t n = 0, room = room_in_flight(), most = least(room > 1 ? room : 1, blocks_of_request());
    for (; n < most && first + n < file->cache.num_blocks; n++) {
        uint8_t *asked = &file->asked[first + n];
        if (*asked != URGENT && *asked != AHEAD) break;
        *asked = TAKEN;
    }
    in_flight += n;
    return n;
}

/* No request for the blocks runs any more; `asked` becomes their state (lock held). */
static void give_up(pfd_remote_file *file, int64_t first, int64_t n, uint8_t asked)
{
    for (int64_t b = first; b < first + n; b++) file->asked[b] = asked;
    in_flight -= n;
    (void)pthread_cond_broadcast(&arrived);
    (void)pthread_cond_broadcast(&came);
}

static void fail_blocks(pfd_remote_file *file, int64_t first, int64_t n, const pfd_error *failure)
{
    pthread_mutex_lock(&lock);
    pfd_error_copy(&file->failure, failure);
    if (n == 0) file->look = FAILED;
    counts.failures++;
    give_up(file, first, n, FAILED);
    pthread_mutex_unlock(&lock);
}

/* Locks blocks that this thread has taken.  *n becomes 0 where others have them. */
static pfd_status claim(pfd_remote_file *file, int64_t first, int64_t *n, int *fd, pfd_error *err)
{
    int64_t taken = *n;
    pfd_status status = pfd_block_cache_claim(&file->cache, first, taken, fd, n, err);
    if (status != PFD_OK) {
        *n = 0;
        fail_blocks(file, first, taken, err);
        return status;
    }
    if (*n == taken) return PFD_OK;
    pthread_mutex_lock(&lock);
    give_up(file, first + *n, taken - *n, IDLE); /* who waits asks again */
    pthread_mutex_unlock(&lock);
    if (*n == 0) close(*fd);
    return PFD_OK;
}

/* A request whose pause is over, and which may run; NULL: none.  Else *until is when the first
 * pause ends (lock held). */
static pfd_fetch *due_retry(int64_t *until)
{
    int64_t now = pfd_clock_ns();
    *until = INT64_MAX;
    for (pfd_fetch **at = &retries; *at; at = &(*at)->next) {
        pfd_fetch *self = *at;
        if (self->retry_at_ns > now) *until = least(*until, self->retry_at_ns);
        else if (may_run(self->file)) {
            *at = self->next;
            self->since = now;
            in_flight += self->blocks;
            return self;
        }
    }
    return NULL;
}

static void add_requests(pfd_remote_file *file, int64_t n) /* lock held */
{
    file->store->requests += n;
    file->requests += n;
}

/* Takes what was found in a queue; returns of how many blocks (lock held). */
static int64_t take_wanted(const wanted_block *wanted)
{
    wanted->file->references++;
    if (wanted->block >= 0) return take_run(wanted->file, wanted->block);
    wanted->file->look = TAKEN;
    return 0;
}

/* What a thread does next. */
typedef struct task {
    pfd_fetch *retry;    /* NULL: a new request */
    wanted_block wanted; /* the file NULL: fetching has stopped */
    int64_t blocks;      /* of a new request, from the wanted one on */
} task;

/* Waits for a request whose pause is over, or else for a block that nobody has taken. */
static task take(void)
{
    task next = {0};
    wanted_block *wanted = &next.wanted;
    int64_t until;
    pthread_mutex_lock(&lock);
    while (!is_stopped && !(next.retry = due_retry(&until)) && !pop(&urgent, wanted) &&
           !pop(&ahead, wanted) && !pop(&looks, wanted)) {
        if (until < INT64_MAX) (void)pfd_cond_wait_until(&came, &lock, until);
        else (void)pthread_cond_wait(&came, &lock);
    }
    if (is_stopped) wanted->file = NULL;
    else if (next.retry) wanted->file = next.retry->file;
    else next.blocks = take_wanted(wanted);
    if (wanted->file) add_requests(wanted->file, 1);
    pthread_mutex_unlock(&lock);
    return next;
}

/* How many bytes are got with the facts of an object: none, where objects are in the cache, as in a
 * later run. */
static int64_t bytes_of_look(void)
{
    pthread_mutex_lock(&lock);
    int64_t bytes = least(bytes_ahead(), (int64_t)most_of_request * block_bytes);
    if (lacking < guess_after) bytes = 0;
    pthread_mutex_unlock(&lock);
    return bytes / block_bytes * block_bytes;
}

/* The end of a request, for its file. */
static void leave(pfd_remote_file *file)
{
    pthread_mutex_lock(&lock);
    add_requests(file, -1);
    (void)pthread_cond_signal(&came);
    pthread_mutex_unlock(&lock);
    release(file);
}

static void end(pfd_fetch *self)
{
    if (self->fd >= 0) close(self->fd);
    leave(self->file);
    free(self);
}

/* Makes a request of what was taken; NULL: others have it, or it failed. */
static pfd_fetch *begin(const wanted_block *wanted, int64_t n)
{
    int64_t now = pfd_clock_ns(), first = wanted->block < 0 ? 0 : wanted->block;
    pfd_error err;
    pfd_error_init(&err);
    pfd_fetch *self = malloc(sizeof *self);
    if (!self) {
        (void)pfd_fail_memory(&err, (int64_t)sizeof *self, "a request");
        fail_blocks(wanted->file, first, n, &err);
        leave(wanted->file);
        return NULL;
    }
    *self = (pfd_fetch){.file = wanted->file, .first = first, .blocks = n, .fd = -1, .since = now,
                        .first_since = now};
    if (wanted->block < 0) self->guessed = bytes_of_look();
    else if (claim(self->file, first, &self->blocks, &self->fd, &err) != PFD_OK || !self->blocks) {
        self->fd = -1; /* nothing is locked */
        end(self);
        return NULL;
    }
    return self;
}

static void describe(const pfd_fetch *self, pfd_fetch_range *out)
{
    const pfd_remote_file *file = self->file;
    *out = (pfd_fetch_range){.url = file->url, .size = self->guessed,
                             .failed_attempts = self->failed_attempts,
                             .since_ns = self->first_since};
    if (self->blocks == 0) return;
    out->tag = file->tag;
    out->object_bytes = file->cache.size;
    out->offset = self->first * block_bytes;
    out->size = least(self->blocks * block_bytes, out->object_bytes - out->offset);
}

pfd_fetch *pfd_fetch_take(pfd_fetch_range *range)
{
    for (task next = take(); next.wanted.file; next = take()) {
        pfd_fetch *self = next.retry ? next.retry : begin(&next.wanted, next.blocks);
        if (!self) continue;
        describe(self, range);
        return self;
    }
    return NULL;
}

void pfd_fetch_retry(pfd_fetch *self, int64_t pause_ns)
{
    pthread_mutex_lock(&lock);
    self->failed_attempts++;
    self->retry_at_ns = pfd_clock_ns() + pause_ns;
    self->next = retries;
    retries = self;
    in_flight -= self->blocks;
    add_requests(self->file, -1);
    (void)pthread_cond_broadcast(&came); /* all who wait know when the pause ends */
    pthread_mutex_unlock(&lock);
}

/* The facts are known.  Takes the blocks of `bytes`, if the first one is not there, and else asks
 * for the first ones; returns how many were taken. */
static int64_t begin_object(pfd_remote_file *file, int64_t guessed, int64_t bytes)
{
    const int64_t blocks = file->cache.num_blocks;
    int64_t n = least((bytes + block_bytes - 1) / block_bytes, blocks);
    pthread_mutex_lock(&lock);
    file->look = IDLE;
    int32_t is_there = blocks > 0 && pfd_block_cache_want(&file->cache, 0);
    if (blocks > 0 && !is_there) lacking++;
    if (is_there && (guessed == 0 || bytes > 0)) lacking = 0; /* else another look has told */
    if (is_there) n = 0;
    if (n == 0) ask_for_first(file);
    for (int64_t b = 0; b < n; b++) file->asked[b] = TAKEN;
    in_flight += n;
    (void)pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
    return n;
}

int32_t pfd_fetch_found(pfd_fetch *self, const pfd_remote_facts *facts, int64_t bytes)
{
    int64_t n = 0;
    pfd_error err;
    pfd_error_init(&err);
    if (open_version(self->file, facts, &err) == PFD_OK)
        n = begin_object(self->file, self->guessed, bytes);
    else
        fail_blocks(self->file, -1, 0, &err);
    if (n > 0 && claim(self->file, 0, &n, &self->fd, &err) == PFD_OK && n > 0) {
        self->blocks = n;
        return 1;
    }
    self->fd = -1; /* nothing is locked */
    end(self);
    return 0;
}

pfd_status pfd_fetch_put(pfd_fetch *self, const uint8_t *data, int64_t size, pfd_error *err)
{
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < self->blocks && status == PFD_OK; i++) {
        int64_t some = least(size - i * block_bytes, block_bytes);
        status = pfd_block_cache_put(&self->file->cache, self->fd, self->first + i,
                                     data + i * block_bytes, some, err);
    }
    if (status != PFD_OK) {
        fail_blocks(self->file, self->first, self->blocks, err);
    } else {
        pthread_mutex_lock(&lock);
        int64_t took = pfd_clock_ns() - self->since;
        note_request(size, self->answer_ns, took);
        counts.requests++;
        counts.bytes += size;
        counts.fetch_ns += took;
        counts.answer_ns += self->answer_ns;
        for (int64_t i = 0; i < self->blocks; i++) {
            uint8_t *had = &self->file->had[self->first + i];
            if (*had) counts.again_bytes += block_bytes;
            *had = 1;
        }
        give_up(self->file, self->first, self->blocks, IDLE);
        pthread_mutex_unlock(&lock);
    }
    end(self);
    return status;
}

void pfd_fetch_answered(pfd_fetch *self, int64_t answer_ns)
{
    self->answer_ns = answer_ns;
}

void pfd_fetch_fail(pfd_fetch *self, int32_t status, int32_t reason, const char *message)
{
    pfd_error failure;
    pfd_error_init(&failure);
    (void)pfd_remote_fail(&failure, status, reason, self->file->url, message);
    fail_blocks(self->file, self->first, self->blocks, &failure);
    end(self);
}

void pfd_fetch_stop(void)
{
    pthread_mutex_lock(&lock);
    is_stopped = 1;
    (void)pthread_cond_broadcast(&came);
    (void)pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
}

void pfd_fetch_counted(pfd_fetch_counts *out)
{
    pthread_mutex_lock(&lock);
    *out = counts;
    pthread_mutex_unlock(&lock);
}
