/* The file of a remote object in the cache: making and mapping it, its blocks, their checksums. */
#include "files/block_cache.h"

#include "core/bytes.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* pfd_cached_block, as its processes share it. */
typedef struct cached_block {
    _Atomic uint32_t state, used;
    _Atomic int64_t used_ms, next_ms;
    _Atomic uint64_t checksum;
} cached_block;

_Static_assert(sizeof(cached_block) == sizeof(pfd_cached_block), "one layout");

typedef struct head {
    char magic[8];
    uint32_t version, block_bytes;
    int64_t size, blocks, data_at, text_bytes;
} head;

static const char magic[8] = "PFDBLOCK";
enum { version = 2, block_bytes = PFD_CACHE_BLOCK_BYTES, data_align = 65536 };
static const int64_t entries_at = sizeof(head);

static pfd_status fail_cache(const char *path, const char *what, int reason, pfd_error *err)
{
    const char *remedy = "";
    if (reason == ENOSPC || reason == EDQUOT)
        remedy = "; give the cache a smaller budget, or a folder on a larger disk, "
                 "PYFLOWDATA_CACHE";
    if (reason == ENOMEM)
        remedy = "; each open remote file is a mapping; the system limits the mappings of a "
                 "process to vm.max_map_count (usually 65530), and its address space to ulimit -v: "
                 "raise these limits, or read fewer and larger files";
    (void)pfd_fail_file(err, path, "the file of the cache cannot be %s: %s%s", what,
                        strerror(reason), remedy);
    return pfd_error_set_reason(err, PFD_REASON_ENVIRONMENT);
}

const char *pfd_cache_suffix(void)
{
    return ".pfdblocks";
}

/* ---- The head -------------------------------------------------------------------------------- */

static int64_t blocks_of(int64_t size)
{
    return size / block_bytes + (size % block_bytes > 0);
}

static int64_t start_bytes(const head *of)
{
    return entries_at + of->blocks * (int64_t)sizeof(cached_block) + of->text_bytes;
}

static head head_of(const pfd_cache_key *key)
{
    head out = {.version = version, .block_bytes = block_bytes, .size = key->size};
    memcpy(out.magic, magic, sizeof magic);
    out.blocks = blocks_of(key->size);
    out.text_bytes = (int64_t)(strlen(key->url) + strlen(key->tag) + 2);
    out.data_at = (start_bytes(&out) + data_align - 1) / data_align * data_align;
    return out;
}

/* The head, the entries and the texts, in memory that the caller frees; NULL: out of memory. */
static uint8_t *make_start(const pfd_cache_key *key, const head *of)
{
    uint8_t *out = calloc(1, (size_t)start_bytes(of));
    if (!out) return NULL;
    memcpy(out, of, sizeof *of);
    char *texts = (char *)out + start_bytes(of) - of->text_bytes;
    memcpy(texts, key->url, strlen(key->url) + 1);
    memcpy(texts + strlen(key->url) + 1, key->tag, strlen(key->tag) + 1);
    return out;
}

static char *path_of(const char *folder, const pfd_cache_key *key)
{
    uint8_t digest[PFD_XXH128_BYTES];
    char *text = NULL, *path = NULL;
    int size = asprintf(&text, "%s\n%s\n%" PRId64, key->url, key->tag, key->size);
    if (size < 0) return NULL;
    pfd_xxh128(text, size, digest);
    free(text);
    char name[2 * PFD_XXH128_BYTES + 1];
    for (size_t i = 0; i < sizeof digest; i++) (void)snprintf(name + 2 * i, 3, "%02x", digest[i]);
    return asprintf(&path, "%s/%s%s", folder, name, pfd_cache_suffix()) < 0 ? NULL : path;
}

/* ---- Making the file ------------------------------------------------------------------------- */

static int write_all(int fd, const uint8_t *data, int64_t size, int64_t at)
{
    while (size > 0) {
        ssize_t done = pwrite(fd, data, (size_t)size, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : EIO;
        data += done;
        size -= done;
        at += done;
    }
    return 0;
}

static int write_new(int fd, const pfd_cache_key *key, const head *of)
{
    uint8_t *start = make_start(key, of);
    if (!start) return ENOMEM;
    int reason = write_all(fd, start, start_bytes(of), 0);
    free(start);
    if (!reason && ftruncate(fd, of->data_at + of->size) != 0) reason = errno;
    return reason;
}

/* Makes the file under another name first, so that others never see an incomplete file.  `replace`:
 * an existing file does not belong to this object. */
static pfd_status make_file(const char *path, const pfd_cache_key *key, const head *of,
                            int32_t replace, pfd_error *err)
{
    char *name = NULL;
    if (asprintf(&name, "%s.XXXXXX", path) < 0) return pfd_fail_memory(err, 0, "a path");
    int fd = mkostemp(name, O_CLOEXEC), reason = fd < 0 ? errno : write_new(fd, key, of);
    if (fd >= 0 && !reason) {
        int failed = replace ? rename(name, path) : link(name, path);
        if (failed && !(errno == EEXIST && !replace)) reason = errno;
    }
    if (fd >= 0) {
        (void)unlink(name);
        close(fd);
    }
    free(name);
    return reason ? fail_cache(path, "made", reason, err) : PFD_OK;
}

/* ---- Opening it ------------------------------------------------------------------------------ */

/* Whether the mapped file is whole, and of this object. */
static int32_t is_of(const uint8_t *mapping, const pfd_cache_key *key, const head *of)
{
    const char *url = (const char *)mapping + start_bytes(of) - of->text_bytes;
    size_t bytes = strlen(key->url) + 1;
    return !memcmp(mapping, of, sizeof *of) && !memcmp(url, key->url, bytes) &&
           !memcmp(url + bytes, key->tag, strlen(key->tag) + 1);
}

/* *found 0: the file is not there (inode 0), or not whole. */
static pfd_status map_file(pfd_block_cache *self, const pfd_cache_key *key, const head *of,
                           int32_t *found, pfd_error *err)
{
    struct stat st = {0};
    *found = 0;
    self->inode = 0;
    int fd = open(self->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? PFD_OK : fail_cache(self->path, "opened", errno, err);
    int reason = fstat(fd, &st) != 0 ? errno : 0;
    int32_t is_foreign = !reason && (!S_ISREG(st.st_mode) || st.st_uid != geteuid());
    if (is_foreign) reason = EPERM;
    if (!reason && st.st_size == self->mapped_bytes) {
        uint8_t *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) reason = errno;
        else if (!is_of(at, key, of)) (void)munmap(at, (size_t)st.st_size);
        else self->mapping = at, *found = 1;
    }
    close(fd);
    self->device = (uint64_t)st.st_dev;
    self->inode = (uint64_t)st.st_ino;
    const char *what = is_foreign ? "trusted, because another user made it" : "mapped";
    return reason ? fail_cache(self->path, what, reason, err) : PFD_OK;
}

static pfd_status open_path(pfd_block_cache *self, const pfd_cache_key *key, const head *of,
                            pfd_error *err)
{
    int32_t found = 0;
    PFD_TRY(map_file(self, key, of, &found, err));
    for (int32_t tries = 0; !found && tries < 2; tries++) { /* another may remove what we made */
        PFD_TRY(make_file(self->path, key, of, self->inode != 0, err));
        PFD_TRY(map_file(self, key, of, &found, err));
    }
    if (!found) return fail_cache(self->path, "made", EAGAIN, err);
    self->blocks = (cached_block *)(void *)(self->mapping + entries_at);
    self->data = self->mapping + of->data_at;
    return PFD_OK;
}

pfd_status pfd_block_cache_open(pfd_block_cache *self, const char *folder,
                                const pfd_cache_key *key, pfd_error *err)
{
    const head of = head_of(key);
    *self = (pfd_block_cache){.size = key->size, .num_blocks = of.blocks, .data_at = of.data_at,
                              .mapped_bytes = of.data_at + key->size};
    self->path = path_of(folder, key);
    self->seen = calloc((size_t)of.blocks + 1, sizeof *self->seen);
    pfd_status status = self->path && self->seen ? open_path(self, key, &of, err)
                                                 : pfd_fail_memory(err, of.blocks, "a cached file");
    if (status != PFD_OK) pfd_block_cache_close(self);
    return status;
}

void pfd_block_cache_close(pfd_block_cache *self)
{
    if (self->mapping) (void)munmap(self->mapping, (size_t)self->mapped_bytes);
    free(self->path);
    free((void *)self->seen);
    *self = (pfd_block_cache){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int64_t bytes_of(const pfd_block_cache *self, int64_t block)
{
    int64_t left = self->size - block * block_bytes;
    return left < block_bytes ? left : block_bytes;
}

static void note_time(cached_block *entry)
{
    int64_t now = pfd_coarse_unix_ms();
    if (atomic_load_explicit(&entry->used_ms, memory_order_relaxed) != now)
        atomic_store_explicit(&entry->used_ms, now, memory_order_relaxed);
}

/* Whether the block is as it was when it was put; a block that has changed is dropped. */
static int32_t compare(pfd_block_cache *self, int64_t block, uint32_t state)
{
    cached_block *entry = &self->blocks[block];
    uint64_t wanted = atomic_load_explicit(&entry->checksum, memory_order_acquire);
    int32_t is_good =
        pfd_xxh64(self->data + block * block_bytes, bytes_of(self, block)) == wanted;
    if (is_good && atomic_load(&entry->state) == state) {
        atomic_store_explicit(&self->seen[block], state, memory_order_release);
        return 1;
    }
    (void)atomic_compare_exchange_strong(&entry->state, &state, state + 1);
    return 0;
}

int32_t pfd_block_cache_copy(pfd_block_cache *self, int64_t offset, int64_t size, uint8_t *out)
{
    int64_t block = offset / block_bytes;
    cached_block *entry = &self->blocks[block];
    uint32_t state = atomic_load_explicit(&entry->state, memory_order_acquire);
    if (state % 2 == 0) return 0;
    if (atomic_load_explicit(&self->seen[block], memory_order_acquire) != state &&
        !compare(self, block, state))
        return 0;
    memcpy(out, self->data + offset, (size_t)size);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&entry->state, memory_order_relaxed) != state) return 0;
    atomic_fetch_add_explicit(&entry->used, (uint32_t)size, memory_order_relaxed);
    note_time(entry);
    return 1;
}

int32_t pfd_block_cache_want(pfd_block_cache *self, int64_t block)
{
    cached_block *entry = &self->blocks[block];
    if (atomic_load_explicit(&entry->state, memory_order_relaxed) % 2 == 0) return 0;
    if (atomic_load_explicit(&entry->used, memory_order_relaxed) >= PFD_CACHE_PASSED_BYTES)
        atomic_store_explicit(&entry->used, 0, memory_order_relaxed);
    note_time(entry);
    return 1;
}

int64_t pfd_block_cache_missing(const pfd_block_cache *self, int64_t block)
{
    uint32_t state = atomic_load_explicit(&self->blocks[block].state, memory_order_relaxed);
    return state % 2 ? 0 : bytes_of(self, block);
}

void pfd_block_cache_note_next(pfd_block_cache *self, int64_t block, int64_t now, int64_t next_ms,
                               int32_t is_shared)
{
    _Atomic int64_t *noted = &self->blocks[block].next_ms;
    int64_t before = atomic_load_explicit(noted, memory_order_relaxed);
    if (!is_shared || before <= now || before > next_ms)
        atomic_store_explicit(noted, next_ms, memory_order_relaxed);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int lock_block(int fd, int64_t block)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1,
                         .l_start = entries_at + block * (int64_t)sizeof(cached_block)};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

/* Opens the file again: a lock belongs to one opening of a file. */
static int open_again(const char *path, const pfd_block_cache *self)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0 || !self) return fd;
    if (fstat(fd, &st) == 0 && st.st_ino == self->inode && st.st_dev == self->device) return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

static int32_t is_there(const pfd_block_cache *self, int64_t block)
{
    return atomic_load(&self->blocks[block].state) % 2 != 0;
}

pfd_status pfd_block_cache_claim(const pfd_block_cache *self, int64_t first, int64_t n, int *fd,
                                 int64_t *claimed, pfd_error *err)
{
    *claimed = 0;
    *fd = open_again(self->path, self);
    if (*fd < 0 && (errno == ESTALE || errno == ENOENT))
        return fail_cache(self->path, "used any more, because it was removed while "
                                      "open", errno, err);
    if (*fd < 0) return fail_cache(self->path, "opened", errno, err);
    while (*claimed < n && !is_there(self, first + *claimed) &&
           lock_block(*fd, first + *claimed) == 0 && !is_there(self, first + *claimed))
        ++*claimed;
    return PFD_OK;
}

pfd_status pfd_block_cache_put(pfd_block_cache *self, int fd, int64_t block, const uint8_t *data,
                               int64_t size, pfd_error *err)
{
    cached_block *entry = &self->blocks[block];
    if (size != bytes_of(self, block))
        return pfd_fail(err, PFD_INTERNAL, "block %" PRId64 " has %" PRId64 " bytes, not %" PRId64,
                        block, bytes_of(self, block), size);
    int reason = write_all(fd, data, size, self->data_at + block * block_bytes);
    if (reason) return fail_cache(self->path, "written", reason, err);
    uint32_t state = atomic_load(&entry->state) + 1;
    atomic_store(&entry->checksum, pfd_xxh64(data, size));
    atomic_store(&entry->used, 0);
    note_time(entry);
    atomic_store_explicit(&self->seen[block], state, memory_order_release);
    atomic_store(&entry->state, state);
    return PFD_OK;
}

/* ---- For those who look after the folder ----------------------------------------------------- */

/* Reads the head of a file; 0: it is not of this cache. */
static int32_t read_head(int fd, head *out)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           pread(fd, out, sizeof *out, 0) == (ssize_t)sizeof *out &&
           !memcmp(out->magic, magic, sizeof magic) && out->version == version &&
           out->block_bytes == block_bytes && out->size >= 0 &&
           out->blocks == blocks_of(out->size) && out->text_bytes > 0 &&
           out->data_at % data_align == 0 && st.st_size == out->data_at + out->size &&
           out->data_at >= start_bytes(out);
}

int64_t pfd_cached_blocks_read(const char *path, pfd_cached_block *out, int64_t room, char *url,
                               int64_t url_room)
{
    head of;
    int fd = open_again(path, NULL);
    if (fd < 0) return -1;
    int64_t n = read_head(fd, &of) ? of.blocks : -1, some = n < room ? n : room;
    if (some > 0 && pread(fd, out, (size_t)some * sizeof *out, entries_at) !=
                        some * (ssize_t)sizeof *out)
        n = -1;
    if (n >= 0 && url_room > 0) {
        int64_t at = start_bytes(&of) - of.text_bytes;
        int64_t bytes = of.text_bytes < url_room ? of.text_bytes : url_room;
        ssize_t got = pread(fd, url, (size_t)bytes, at);
        url[got > 0 ? got - 1 : 0] = '\0';
    }
    close(fd);
    return n;
}

/* Makes a hole of a locked block. */
static int64_t drop(int fd, const head *of, cached_block *entry, int64_t block)
{
    uint32_t state = atomic_load(&entry->state);
    int64_t left = of->size - block * block_bytes, at = of->data_at + block * block_bytes;
    int64_t bytes = left < block_bytes ? left : block_bytes;
    if (state % 2) (void)atomic_compare_exchange_strong(&entry->state, &state, state + 1);
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes) == 0 ? bytes : 0;
}

int64_t pfd_cached_blocks_drop(const char *path, const int64_t *blocks, int64_t n)
{
    head of;
    int64_t bytes = 0;
    int fd = open_again(path, NULL);
    if (fd < 0) return 0;
    size_t size = read_head(fd, &of) ? (size_t)of.data_at : 0;
    void *at = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    cached_block *entries = at == MAP_FAILED ? NULL
                                             : (void *)((uint8_t *)at + entries_at);
    for (int64_t i = 0; entries && i < n; i++)
        if (blocks[i] >= 0 && blocks[i] < of.blocks && lock_block(fd, blocks[i]) == 0)
            bytes += drop(fd, &of, &entries[blocks[i]], blocks[i]);
    if (entries) (void)munmap(at, size);
    close(fd);
    return bytes;
}
