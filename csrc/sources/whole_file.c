/* Files that are one sample each: opened, read and closed. */
#include "sources/whole_file.h"

#include "core/hash.h"
#include "core/system_calls.h"
#include "files/file_read.h"
#include "files/remote_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct sample_reading {
    const pfd_compute_args *args;
    int64_t row;
    const pfd_whole_file *file;
} sample_reading;

static const char *shown_name(const sample_reading *self)
{
    return self->file->shown ? self->file->shown : "the file";
}

/* What a folder listed was there. */
static pfd_status fail_changed(const sample_reading *self, const char *now, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_IO,
                                      "%.400s changed while open: it was there when the reader "
                                      "opened, and now %s", shown_name(self), now);
}

static pfd_status fail_sample(const sample_reading *self, const char *what, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA, "%.400s %s",
                                      shown_name(self), what);
}

static pfd_status fail_sample_errno(const sample_reading *self, const char *what, int reason,
                                    pfd_error *err)
{
    char now[160];
    pfd_status status = pfd_status_of_errno(reason);
    (void)snprintf(now, sizeof now, "it cannot be %s: %s", what, strerror(reason));
    if (status == PFD_CORRUPT_DATA && self->file->is_listed) return fail_changed(self, now, err);
    (void)self->args->host->fail_row(err, self->row, -1, status,
                                     "%.400s cannot be %s: %s", shown_name(self), what,
                                     strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status fail_sample_memory(const sample_reading *self, int64_t bytes, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_OUT_OF_MEMORY,
                                      "no memory for the %" PRId64 " bytes of %.400s", bytes,
                                      shown_name(self));
}

/* The bytes are those of one moment only if nothing changed from their first to their last. */
static pfd_status check_sample(const sample_reading *self, int fd, const struct stat *before,
                               int64_t got, pfd_error *err)
{
    struct stat st;
    if (pfd_sys_fstat(pfd_scratch_bounds(self->args->scratch), fd, &st) != 0)
        return fail_sample_errno(self, "examined", errno, err);
    if (got == before->st_size && pfd_is_unchanged(before, &st)) return PFD_OK;
    return self->args->host->fail_row(err, self->row, -1, PFD_IO,
                                      "%.400s changed while it was read", shown_name(self));
}

static pfd_status compare_sample(const sample_reading *self, const pfd_bytes *data, pfd_error *err)
{
    pfd_error found = {.struct_size = sizeof found};
    const pfd_input_file *counted = pfd_input_file_of(self->file->counted);
    if (!counted->methods->check_member) return PFD_OK;
    if (counted->methods->check_member(counted, self->file->path, *data, &found) == PFD_OK)
        return PFD_OK;
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA, "%.400s: %s",
                                      shown_name(self), found.message);
}

static pfd_status read_sample(const sample_reading *self, int fd, pfd_bytes *out, pfd_error *err)
{
    const pfd_bounds *bounds = pfd_scratch_bounds(self->args->scratch);
    struct stat st;
    if (pfd_sys_fstat(bounds, fd, &st) != 0) return fail_sample_errno(self, "examined", errno, err);
    if (!S_ISREG(st.st_mode))
        return self->file->is_listed ? fail_changed(self, "it is not a regular file", err)
                                     : fail_sample(self, "is no regular file", err);
    if (st.st_size == 0) return fail_sample(self, "is empty", err);
    uint8_t *data = self->args->host->alloc(self->args->scratch, st.st_size);
    if (!data) return fail_sample_memory(self, st.st_size, err);
    *out = (pfd_bytes){data, st.st_size};
    int reason;
    int64_t got = pfd_sys_read(bounds, fd, 0, st.st_size, data, &reason);
    if (reason) return fail_sample_errno(self, "read", reason, err);
    PFD_TRY(check_sample(self, fd, &st, got, err));
    return compare_sample(self, out, err);
}

static void count_bytes(const pfd_whole_file *file, int64_t size)
{
    atomic_fetch_add_explicit(pfd_input_file_of(file->counted)->bytes_read, size,
                              memory_order_relaxed);
}

/* ---- Objects of stores: what a source knows of them ------------------------------------------ */

enum { most_ahead = 4096 };            /* each is a mapping; a power of two */
enum { out_of_turn = most_ahead / 2 }; /* rows: batches at work overtake one another, but not by
                                          so many */

/* An object by two hashes of its name. */
typedef struct object_key {
    uint64_t first, second;
} object_key;

typedef struct known_object {
    object_key key;        /* zeros: the place is free */
    int64_t size;          /* of the version that the source reads, ... */
    char *tag;             /* ... which was seen first; NULL: none was seen yet */
    pfd_remote_file *file; /* asked for ahead, and not taken yet; NULL: there is none */
    int64_t turn;          /* how many rows were named before its own */
} known_object;

typedef struct asked_object {
    object_key key;
    int64_t turn;
} asked_object;

struct pfd_store_objects {
    pthread_mutex_t lock; /* held for the rows of a call */
    known_object *places; /* a hash table, half full at most; a place once taken is never freed */
    int64_t num_known, capacity;    /* a power of two */
    asked_object asked[most_ahead]; /* a ring, by turn: some of them were taken since */
    int64_t first_asked, num_asked, next_turn;
};

pfd_store_objects *pfd_store_objects_create(void)
{
    pfd_store_objects *self = calloc(1, sizeof *self);
    if (self) (void)pthread_mutex_init(&self->lock, NULL);
    return self;
}

void pfd_store_objects_free(pfd_store_objects *self)
{
    if (!self) return;
    for (int64_t i = 0; i < self->capacity; i++) {
        pfd_remote_file_close(self->places[i].file);
        free(self->places[i].tag);
    }
    (void)pthread_mutex_destroy(&self->lock);
    free(self->places);
    free(self);
}

static object_key key_of(const char *url)
{
    int64_t size = (int64_t)strlen(url);
    return (object_key){pfd_hash_bytes(0, url, size), pfd_hash_bytes(1, url, size) | 1};
}

static int32_t is_same(object_key a, object_key b)
{
    return a.first == b.first && a.second == b.second;
}

/* The place of an object, or the free one for it; the table has one. */
static known_object *place_in(known_object *places, int64_t capacity, object_key key)
{
    for (uint64_t i = key.first;; i++) {
        known_object *place = &places[i & (uint64_t)(capacity - 1)];
        if (!place->key.second || is_same(place->key, key)) return place;
    }
}

static int32_t grow_known(pfd_store_objects *self)
{
    int64_t capacity = self->capacity ? 2 * self->capacity : 256;
    known_object *places = calloc((size_t)capacity, sizeof *places);
    if (!places) return 0;
    for (int64_t i = 0; i < self->capacity; i++)
        if (self->places[i].key.second)
            *place_in(places, capacity, self->places[i].key) = self->places[i];
    free(self->places);
    self->places = places;
    self->capacity = capacity;
    return 1;
}

/* What is known of an object (lock held, as in those that follow); NULL: nothing. */
static known_object *find_known(const pfd_store_objects *self, object_key key)
{
    known_object *place =
        self->capacity ? place_in(self->places, self->capacity, key) : NULL;
    return place && place->key.second ? place : NULL;
}

/* The same, and takes a place for the object if it has none; NULL: out of memory. */
static known_object *add_known(pfd_store_objects *self, const char *url)
{
    object_key key = key_of(url);
    known_object *found = find_known(self, key);
    if (found) return found;
    if (2 * (self->num_known + 1) > self->capacity && !grow_known(self)) return NULL;
    self->num_known++;
    found = place_in(self->places, self->capacity, key);
    found->key = key;
    return found;
}

/* Closes the files that no row has taken of objects whose turn is before `turn`.  The first entry
 * of the ring is then of a file that is still there. */
static void drop_asked(pfd_store_objects *self, int64_t turn)
{
    for (; self->num_asked > 0; self->first_asked++, self->num_asked--) {
        const asked_object *asked = &self->asked[self->first_asked & (most_ahead - 1)];
        known_object *object = find_known(self, asked->key);
        int32_t waits = object && object->file && object->turn == asked->turn;
        if (waits && asked->turn >= turn) return;
        if (!waits) continue;
        pfd_remote_file_close(object->file);
        object->file = NULL;
    }
}

/* ---- Objects of stores: the rows of a call --------------------------------------------------- */

/* The object of a row. */
typedef struct sample_object {
    pfd_remote_facts facts;
    pfd_remote_file *file; /* asked for, and to be awaited; NULL: it cannot be opened */
    int32_t is_known;      /* whether there are facts */
} sample_object;

/* Names the objects of rows that name an address. */
static pfd_status name_objects(const pfd_compute_args *args, const pfd_whole_file *files,
                               pfd_error *err)
{
    int64_t n = 0;
    char **urls = args->host->alloc(args->scratch, args->num_rows * (int64_t)sizeof *urls);
    if (!urls) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for addresses");
    for (int64_t i = 0; i < args->num_rows; i++)
        if (files[i].url && pfd_path_is_remote(files[i].path))
            urls[n++] = (char *)(uintptr_t)files[i].url;
    return pfd_remote_name_objects(urls, n, err);
}

static void set_facts(sample_object *object, int64_t size, const char *tag)
{
    object->facts.size = size;
    (void)snprintf(object->facts.tag, sizeof object->facts.tag, "%s", tag);
    object->is_known = 1;
}

/* Notes the version that the row of a listed object names, or else the one that the source reads
 * (lock held). */
static void note_own(const pfd_store_objects *self, const pfd_whole_file *file,
                     sample_object *object)
{
    const known_object *known = self ? find_known(self, key_of(file->url)) : NULL;
    if (file->tag) set_facts(object, file->size, file->tag);
    else if (known && known->tag) set_facts(object, known->size, known->tag);
}

/* Whether it is to be found out what is known of a row's object. */
static int32_t is_unknown(const pfd_whole_file *file, const sample_object *object)
{
    return file->url && !object->is_known && !object->file;
}

/* Notes what is known of the versions of objects, without a request: what the source saw first, and
 * of the others what the process saw since its last opening. */
static void note_facts(pfd_store_objects *self, const pfd_compute_args *args,
                       const pfd_whole_file *files, sample_object *objects)
{
    int64_t n = 0, num_noted = 0;
    pfd_error ignored = {.struct_size = sizeof ignored};
    char **urls = args->host->alloc(args->scratch, args->num_rows * (int64_t)sizeof *urls);
    if (self) pthread_mutex_lock(&self->lock);
    for (int64_t i = 0; i < args->num_rows; i++)
        if (files[i].url) note_own(self, &files[i], &objects[i]);
    if (self) pthread_mutex_unlock(&self->lock);
    for (int64_t i = 0; urls && i < args->num_rows; i++)
        if (is_unknown(&files[i], &objects[i])) urls[n++] = (char *)(uintptr_t)files[i].url;
    pfd_remote_facts *facts =
        n > 0 ? args->host->alloc(args->scratch, n * (int64_t)sizeof *facts) : NULL;
    if (!facts || pfd_remote_look_for(urls, n, PFD_LOOK_KNOWN, facts, &ignored) != PFD_OK) return;
    for (int64_t i = 0; i < args->num_rows; i++) {
        if (!is_unknown(&files[i], &objects[i])) continue;
        objects[i].facts = facts[num_noted++];
        objects[i].is_known = objects[i].facts.size >= 0;
    }
}

/* What fails is met again, and told, by read_object(). */
static void ask_for(const pfd_whole_file *file, const sample_object *object, pfd_remote_file **out)
{
    pfd_error ignored = {.struct_size = sizeof ignored};
    (void)pfd_remote_file_open_ahead(file->url, object->is_known ? &object->facts : NULL, out,
                                     &ignored);
}

/* Asks for an object that comes later, if there is room (lock held). */
static void ask_for_later(pfd_store_objects *self, const pfd_whole_file *file,
                          const sample_object *object)
{
    int64_t turn = self->next_turn++;
    if (self->num_asked == most_ahead) drop_asked(self, 0);
    known_object *known = self->num_asked < most_ahead ? add_known(self, file->url) : NULL;
    if (!known || known->file) return;
    ask_for(file, object, &known->file);
    known->turn = turn;
    int64_t last = self->first_asked + self->num_asked++;
    self->asked[last & (most_ahead - 1)] = (asked_object){known->key, turn};
}

static void ask_ahead(pfd_store_objects *self, const pfd_compute_args *args,
                      const pfd_whole_file *files, sample_object *objects)
{
    note_facts(self, args, files, objects);
    pthread_mutex_lock(&self->lock);
    for (int64_t i = 0; i < args->num_rows; i++)
        if (files[i].url) ask_for_later(self, &files[i], &objects[i]);
    pthread_mutex_unlock(&self->lock);
}

/* The records that were named do not come soon. */
static void drop_all_asked(pfd_store_objects *self)
{
    pthread_mutex_lock(&self->lock);
    drop_asked(self, self->next_turn);
    pthread_mutex_unlock(&self->lock);
}

int32_t pfd_whole_files_need(pfd_store_objects *store, const pfd_whole_file_finder *finder,
                             const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    if (store && n < 0) drop_all_asked(store);
    if (!store || n <= 0) return store != NULL;
    pfd_error ignored = {.struct_size = sizeof ignored};
    pfd_record *records = finder->host->alloc(scratch, n * (int64_t)sizeof *records);
    const pfd_compute_args args = {.struct_size = sizeof args, .host = finder->host,
                                   .source = finder->source, .records = records, .num_rows = n,
                                   .scratch = scratch};
    pfd_bytes *none;
    pfd_whole_file *files = pfd_whole_files_alloc(&args, &none);
    sample_object *objects = calloc((size_t)n, sizeof *objects);
    int32_t are_found =
        records && files && objects &&
        finder->at(finder->source, ordinals, n, scratch, records, &ignored) == PFD_OK;
    for (int64_t i = 0; are_found && i < n; i++)
        if (finder->find(&args, i, &files[i], &ignored) != PFD_OK) files[i] = (pfd_whole_file){0};
    if (are_found && name_objects(&args, files, &ignored) == PFD_OK)
        ask_ahead(store, &args, files, objects);
    free(objects);
    return 1;
}

/* ---- Rows of objects */

static void take_asked(pfd_store_objects *self, const pfd_compute_args *args,
                       const pfd_whole_file *files, sample_object *objects)
{
    pthread_mutex_lock(&self->lock);
    for (int64_t i = 0; i < args->num_rows; i++) {
        known_object *known = files[i].url ? find_known(self, key_of(files[i].url)) : NULL;
        if (!known || !known->file) continue;
        objects[i].file = known->file;
        known->file = NULL;
        drop_asked(self, known->turn - out_of_turn);
    }
    pthread_mutex_unlock(&self->lock);
}

/* Takes those that were asked for ahead, and asks for the others, all together. */
static void ask_for_objects(pfd_store_objects *store, const pfd_compute_args *args,
                            const pfd_whole_file *files, sample_object *objects)
{
    if (store) take_asked(store, args, files, objects);
    note_facts(store, args, files, objects);
    for (int64_t i = 0; i < args->num_rows; i++)
        if (files[i].url && !objects[i].file) ask_for(&files[i], &objects[i], &objects[i].file);
}

static pfd_status find_object(const sample_reading *self, sample_object *object, pfd_error *err)
{
    const pfd_bounds *bounds = pfd_scratch_bounds(self->args->scratch);
    char *url = (char *)(uintptr_t)self->file->url;
    int32_t kind = PFD_PATH_FILE;
    pfd_error ignored = {.struct_size = sizeof ignored};
    pfd_status status = PFD_OK;
    if (object->file)
        status = pfd_remote_file_await(object->file, bounds, &object->facts, err);
    else if (!object->is_known)
        status = pfd_remote_look_for(&url, 1, PFD_LOOK_KEPT, &object->facts, err);
    if (status == PFD_IO && pfd_remote_kind(url, &kind, &ignored) == PFD_OK &&
        kind == PFD_PATH_MISSING)
        return fail_sample(self, "is not there: there is no such object", err);
    return status;
}

/* The version that a source sees first is the one that it reads. */
static pfd_status keep_version(pfd_store_objects *self, const sample_reading *of,
                               const pfd_remote_facts *facts, pfd_error *err)
{
    if (!self || of->file->tag) return PFD_OK;
    pthread_mutex_lock(&self->lock);
    known_object *known = add_known(self, of->file->url);
    if (known && !known->tag && (known->tag = strdup(facts->tag))) known->size = facts->size;
    int32_t has_memory = known && known->tag;
    int32_t is_kept = has_memory && known->size == facts->size && !strcmp(known->tag, facts->tag);
    pthread_mutex_unlock(&self->lock);
    if (is_kept) return PFD_OK;
    if (!has_memory) return fail_sample_memory(of, (int64_t)sizeof *known, err);
    (void)of->args->host->fail_row(err, of->row, -1, PFD_IO,
                                   "%.400s changed while open: it is no longer the version that "
                                   "was read first; open the data set again", shown_name(of));
    return pfd_error_set_reason(err, PFD_REASON_ENVIRONMENT);
}

static pfd_status read_object(pfd_store_objects *store, const sample_reading *self,
                              sample_object *object, pfd_bytes *out, pfd_error *err)
{
    const pfd_compute_args *args = self->args;
    PFD_TRY(find_object(self, object, err));
    PFD_TRY(keep_version(store, self, &object->facts, err));
    int64_t size = object->facts.size;
    if (size == 0) return fail_sample(self, "is empty", err);
    if (!object->file)
        PFD_TRY(pfd_remote_file_open(self->file->url, &object->facts, &object->file, err));
    uint8_t *data = args->host->alloc(args->scratch, size);
    if (!data) return fail_sample_memory(self, size, err);
    *out = (pfd_bytes){data, size};
    pfd_remote_file_will_need(object->file, 0, size); /* of large ones the beginning was */
    PFD_TRY(pfd_remote_file_read(object->file, 0, size, data, pfd_scratch_bounds(args->scratch),
                                 err));
    count_bytes(self->file, size);
    return compare_sample(self, out, err);
}

/* Where the folder ends that a list is in. */
static size_t folder_size(const char *list)
{
    const char *slash = strrchr(list, '/');
    return slash ? (size_t)(slash - list) + 1 : 0;
}

/* The folder above one whose address ends at `size`, if there is one. */
static size_t folder_above(const char *list, size_t size)
{
    size_t host = (size_t)(strstr(list, "://") - list) + 3, above = size > 0 ? size - 1 : 0;
    while (above > host && list[above - 1] != '/') above--;
    return above > host ? above : size;
}

pfd_status pfd_whole_file_address(const pfd_compute_args *args, const char *list, const char *path,
                                  const char **url, pfd_error *err)
{
    int32_t is_address = pfd_path_is_remote(path);
    *url = NULL;
    if (!is_address && (path[0] == '/' || !pfd_path_is_remote(list))) return PFD_OK;
    /* The mark in the name of a list is of the list's own query. */
    size_t mark = is_address ? 0 : pfd_remote_mark_size(list);
    size_t folder = is_address ? 0 : folder_size(list);
    while (!is_address) {
        if (!strncmp(path, "./", 2)) path += 2;
        else if (!strncmp(path, "../", 3)) path += 3, folder = folder_above(list, folder);
        else break;
    }
    size_t size = strlen(path) + 1, room = folder + size + PFD_REMOTE_MARK;
    char *out = args->host->alloc(args->scratch, (int64_t)room);
    if (!out) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an address");
    *url = out;
    if (mark > 0) {
        size_t scheme = (size_t)(strstr(list, "://") - list) + 3;
        memcpy(out, list, scheme);
        out += scheme;
        list += scheme + mark;
        folder -= scheme + mark;
    }
    memcpy(out, list, folder);
    memcpy(out + folder, path, size);
    return PFD_OK;
}

pfd_status pfd_whole_file_inside(const pfd_compute_args *args, const char *folder, const char *path,
                                 const char **url, pfd_error *err)
{
    *url = NULL;
    if (!pfd_path_is_remote(folder) && !pfd_path_is_remote(path)) return PFD_OK;
    size_t size = strlen(folder);
    char *list = args->host->alloc(args->scratch, (int64_t)size + 2);
    if (!list) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an address");
    memcpy(list, folder, size);
    memcpy(list + size, "/", 2);
    return pfd_whole_file_address(args, list, path, url, err);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static pfd_status read_file(const sample_reading *self, pfd_bytes *out, pfd_error *err)
{
    const pfd_whole_file *file = self->file;
    /* O_NONBLOCK: opening a FIFO would wait for its writer. */
    int fd = pfd_sys_open(pfd_scratch_bounds(self->args->scratch), file->folder, file->path,
                          O_NONBLOCK);
    if (fd < 0) return fail_sample_errno(self, "opened", errno, err);
    pfd_status status = read_sample(self, fd, out, err);
    close(fd);
    if (status == PFD_OK) count_bytes(file, out->size);
    return status;
}

static pfd_status read_all(pfd_store_objects *store, const pfd_compute_args *args,
                           const pfd_whole_file *files, sample_object *objects, pfd_bytes *out,
                           pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        const sample_reading self = {args, row, &files[row]};
        PFD_TRY(files[row].url ? read_object(store, &self, &objects[row], &out[row], err)
                               : read_file(&self, &out[row], err));
    }
    return PFD_OK;
}

pfd_status pfd_whole_files_read(const pfd_compute_args *args, const pfd_whole_file *files,
                                pfd_store_objects *store, pfd_bytes *out, pfd_error *err)
{
    int32_t any = 0;
    for (int64_t i = 0; i < args->num_rows && !any; i++) any = files[i].url != NULL;
    if (!any) return read_all(store, args, files, NULL, out, err);
    PFD_TRY(name_objects(args, files, err));
    size_t rows = (size_t)args->num_rows;
    sample_object *objects = calloc(rows, sizeof *objects);
    if (!objects)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for %zu objects", rows);
    ask_for_objects(store, args, files, objects);
    pfd_status status = read_all(store, args, files, objects, out, err);
    for (size_t i = 0; i < rows; i++) pfd_remote_file_close(objects[i].file);
    free(objects);
    return status;
}

pfd_whole_file *pfd_whole_files_alloc(const pfd_compute_args *args, pfd_bytes **out)
{
    *out = args->host->alloc(args->scratch, args->num_rows * (int64_t)sizeof **out);
    return *out ? args->host->alloc(args->scratch,
                                    args->num_rows * (int64_t)sizeof(pfd_whole_file))
                : NULL;
}

int64_t pfd_whole_file_size(int folder, const char *path)
{
    struct stat st;
    int found = pfd_sys_stat(NULL, folder, path, &st) == 0 && S_ISREG(st.st_mode);
    return found ? st.st_size : 0;
}

int64_t pfd_whole_files_mean(int64_t n, int64_t (*size_of)(void *ctx, int64_t i), void *ctx)
{
    enum { most = 16 };
    int64_t some = n < most ? n : most, bytes = 0;
    for (int64_t i = 0; i < some; i++) bytes += size_of(ctx, i * (n / some));
    return some > 0 ? bytes / some : 0;
}
