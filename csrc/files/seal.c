/* Seals: their bytes, made and compared, and open files that are compared block by block. */
#include "files/seal.h"

#include "core/bytes.h"
#include "core/hash.h"
#include "core/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The bytes of a seal --------------------------------------------------------------------- */

enum {
    block_bytes = 256 * 1024,
    digest_bytes = PFD_XXH128_BYTES,
    at_version = 8,
    at_block_bytes = 12,
    at_files = 16,
    at_records = 24,
    at_bytes = 32,
    at_names_bytes = 40,
    at_root = 48,
    head_bytes = 64,
    entry_bytes = 24, /* size, first block, place of the name */
    names_unit = 16,
    version = 1
};

static const char magic[] = "\x89PFDSEAL"; /* 8 bytes */

struct pfd_seal {
    uint8_t *image; /* owned */
    int64_t size;   /* of the image */
    int64_t files, names_bytes, blocks;
};

static int64_t int_at(const pfd_seal *seal, int64_t at)
{
    return (int64_t)pfd_load_le64(seal->image + at);
}

static int64_t blocks_of(int64_t bytes)
{
    return bytes / block_bytes + (bytes % block_bytes > 0);
}

static int64_t size_of(const pfd_seal *seal, int64_t i)
{
    return int_at(seal, head_bytes + entry_bytes * i);
}

static int64_t first_block(const pfd_seal *seal, int64_t i)
{
    return int_at(seal, head_bytes + entry_bytes * i + 8);
}

static uint8_t *names_of(const pfd_seal *seal)
{
    return seal->image + head_bytes + entry_bytes * seal->files;
}

static uint8_t *digest_of(const pfd_seal *seal, int64_t block)
{
    return names_of(seal) + seal->names_bytes + digest_bytes * block;
}

static void find_root(const pfd_seal *seal, uint8_t *root)
{
    uint8_t kept[digest_bytes];
    memcpy(kept, seal->image + at_root, sizeof kept);
    memset(seal->image + at_root, 0, sizeof kept);
    pfd_xxh128(seal->image, seal->size, root);
    memcpy(seal->image + at_root, kept, sizeof kept);
}

void pfd_seal_release(pfd_seal *seal)
{
    if (!seal) return;
    free(seal->image);
    free(seal);
}

const char *pfd_seal_suffix(void)
{
    return PFD_SEAL_SUFFIX;
}

const void *pfd_seal_image(const pfd_seal *seal, int64_t *size)
{
    *size = seal->size;
    return seal->image;
}

void pfd_seal_facts_of(const pfd_seal *seal, pfd_seal_facts *out)
{
    out->files = seal->files;
    out->bytes = int_at(seal, at_bytes);
    out->records = int_at(seal, at_records);
    out->block_bytes = block_bytes;
    memcpy(out->root, seal->image + at_root, digest_bytes);
}

const char *pfd_seal_file_name(const pfd_seal *seal, int64_t i)
{
    if (i < 0 || i >= seal->files) return NULL;
    return (const char *)names_of(seal) + int_at(seal, head_bytes + entry_bytes * i + 16);
}

/* ---- Reading a seal -------------------------------------------------------------------------- */

/* Whether the head (it is there) and the table fit the size; sets what the struct has of them. */
static int32_t is_intact(pfd_seal *seal)
{
    seal->files = int_at(seal, at_files);
    seal->names_bytes = int_at(seal, at_names_bytes);
    int64_t left = seal->size - head_bytes;
    if (seal->files < 1 || seal->files > left / entry_bytes) return 0;
    left -= seal->files * entry_bytes;
    if (seal->names_bytes < names_unit || seal->names_bytes > left) return 0;
    left -= seal->names_bytes;
    seal->blocks = left / digest_bytes;
    return left % digest_bytes == 0 && names_of(seal)[seal->names_bytes - 1] == 0;
}

static int32_t has_valid_table(const pfd_seal *seal)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < seal->files; i++) {
        int64_t size = size_of(seal, i);
        int64_t name = int_at(seal, head_bytes + entry_bytes * i + 16);
        if (size < 0 || first_block(seal, i) != blocks) return 0;
        if (name < 0 || name >= seal->names_bytes) return 0;
        if (blocks_of(size) > seal->blocks - blocks) return 0;
        blocks += blocks_of(size);
    }
    return blocks == seal->blocks;
}

static pfd_status fail_seal(const char *path, const char *why, pfd_error *err)
{
    (void)pfd_fail(err, PFD_CORRUPT_DATA,
                   "%s; if the data are right, make a new seal with `pyflowdata seal --replace`",
                   why);
    pfd_error_set_file(err, path);
    return PFD_CORRUPT_DATA;
}

static pfd_status check_image(pfd_seal *seal, const char *path, pfd_error *err)
{
    uint8_t root[digest_bytes];
    if (seal->size < head_bytes || memcmp(seal->image, magic, at_version) != 0)
        return fail_seal(path, "this is not a seal, or it is damaged", err);
    find_root(seal, root);
    if (memcmp(root, seal->image + at_root, sizeof root) != 0)
        return fail_seal(path, "the seal itself is damaged: its root is not the digest of the rest",
                         err);
    if (pfd_load_le32(seal->image + at_version) != version ||
        pfd_load_le32(seal->image + at_block_bytes) != block_bytes)
        return fail_seal(path, "the seal has a version that this pyflowdata does not know", err);
    if (is_intact(seal) && has_valid_table(seal)) return PFD_OK;
    return fail_seal(path, "the table of the seal is not valid", err);
}

/* The path of the seal of a file or folder, in memory that the caller frees; NULL: out of memory.
 */
static char *seal_path(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *out = NULL;
    if (asprintf(&out, "%.*s" PFD_SEAL_SUFFIX, (int)length, path) < 0) return NULL;
    return out;
}

static pfd_status read_seal(const char *own, pfd_seal *seal, pfd_error *err)
{
    int64_t all;
    PFD_TRY(pfd_file_start_read(own, INT64_MAX, &seal->image, &seal->size, &all, err));
    return check_image(seal, own, err);
}

pfd_status pfd_seal_open(const char *path, pfd_seal **out, pfd_error *err)
{
    char *own = seal_path(path);
    pfd_seal *seal = calloc(1, sizeof *seal);
    pfd_status status;
    *out = NULL;
    if (!own || !seal)
        status = pfd_fail_memory(err, (int64_t)sizeof *seal, "a seal");
    else if (access(own, F_OK) != 0 && errno == ENOENT)
        status = pfd_fail_file(err, path,
                               "there is no seal, %s, beside it: `pyflowdata seal` makes it, and "
                               "check='format' reads without it",
                               own);
    else
        status = read_seal(own, seal, err);
    free(own);
    if (status == PFD_OK) *out = seal;
    else pfd_seal_release(seal);
    return status;
}

/* ---- Blocks of files ------------------------------------------------------------------------- */

/* A file as a seal is made or compared with it. */
typedef struct block_walk {
    char *path; /* owned */
    int fd;
    int64_t size;
    uint8_t *block; /* owned; the bytes of the last block that was read */
} block_walk;

static void end_walk(block_walk *walk)
{
    if (walk->fd >= 0) close(walk->fd);
    free(walk->path);
    free(walk->block);
}

static pfd_status fail_walk(const block_walk *walk, const char *what, int reason, pfd_error *err)
{
    (void)pfd_fail_file(err, walk->path, "the file cannot be %s: %s", what, strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status begin_walk(const char *path, const char *name, block_walk *walk, pfd_error *err)
{
    struct stat st;
    walk->fd = -1;
    walk->path = NULL;
    if (asprintf(&walk->path, *name ? "%s/%s" : "%s%s", path, name) < 0) walk->path = NULL;
    walk->block = malloc(block_bytes);
    if (!walk->path || !walk->block) return pfd_fail_memory(err, block_bytes, "a block of a file");
    walk->fd = pfd_sys_open(NULL, AT_FDCWD, walk->path, O_NONBLOCK);
    if (walk->fd < 0) return fail_walk(walk, "opened", errno, err);
    if (pfd_sys_fstat(NULL, walk->fd, &st) != 0) return fail_walk(walk, "examined", errno, err);
    if (!S_ISREG(st.st_mode))
        return pfd_fail_file(err, walk->path, "this is not a regular file, and only regular files "
                                              "have seals");
    walk->size = st.st_size;
    (void)posix_fadvise(walk->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return PFD_OK;
}

/* Reads a block of the file, of *size bytes. */
static pfd_status read_block(block_walk *walk, int64_t block, int64_t *size, pfd_error *err)
{
    int64_t begin = block * block_bytes, left = walk->size - begin;
    int reason;
    *size = left < block_bytes ? left : block_bytes;
    int64_t got = pfd_sys_read(NULL, walk->fd, begin, *size, walk->block, &reason);
    if (reason) return fail_walk(walk, "read", reason, err);
    if (got == *size) return PFD_OK;
    return pfd_fail_file(err, walk->path, "the file became shorter while it was read");
}

/* ---- Making a seal --------------------------------------------------------------------------- */

static const char no_name[] = "";

/* Makes the image with all but digests and root; `sizes` has those of the files. */
static pfd_status lay_out(const char *const *names, const int64_t *sizes, int64_t n,
                          int64_t records, pfd_seal *seal, pfd_error *err)
{
    int64_t text = 0, bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        text += (int64_t)strlen(names[i]) + 1;
        bytes += sizes[i];
        seal->blocks += blocks_of(sizes[i]);
    }
    seal->files = n;
    seal->names_bytes = (text / names_unit + 1) * names_unit;
    seal->size = head_bytes + entry_bytes * n + seal->names_bytes + digest_bytes * seal->blocks;
    seal->image = calloc(1, (size_t)seal->size);
    if (!seal->image) return pfd_fail_memory(err, seal->size, "a seal");
    memcpy(seal->image, magic, at_version);
    pfd_store_le32(version, seal->image + at_version);
    pfd_store_le32(block_bytes, seal->image + at_block_bytes);
    pfd_store_le64((uint64_t)n, seal->image + at_files);
    pfd_store_le64((uint64_t)records, seal->image + at_records);
    pfd_store_le64((uint64_t)bytes, seal->image + at_bytes);
    pfd_store_le64((uint64_t)seal->names_bytes, seal->image + at_names_bytes);
    uint8_t *entry = seal->image + head_bytes;
    int64_t block = 0, name = 0;
    for (int64_t i = 0; i < n; i++, entry += entry_bytes) {
        size_t length = strlen(names[i]) + 1;
        pfd_store_le64((uint64_t)sizes[i], entry);
        pfd_store_le64((uint64_t)block, entry + 8);
        pfd_store_le64((uint64_t)name, entry + 16);
        memcpy(names_of(seal) + name, names[i], length);
        name += (int64_t)length;
        block += blocks_of(sizes[i]);
    }
    return PFD_OK;
}

static pfd_status note_size(const char *path, const char *name, int64_t *size, pfd_error *err)
{
    block_walk walk;
    pfd_status status = begin_walk(path, name, &walk, err);
    *size = status == PFD_OK ? walk.size : 0;
    end_walk(&walk);
    return status;
}

static pfd_status hash_file(const char *path, const char *name, int64_t i, pfd_seal *seal,
                            pfd_error *err)
{
    block_walk walk;
    pfd_status status = begin_walk(path, name, &walk, err);
    if (status == PFD_OK && walk.size != size_of(seal, i))
        status = pfd_fail_file(err, walk.path, "the file changed while it was sealed");
    int64_t blocks = blocks_of(size_of(seal, i));
    for (int64_t block = 0; block < blocks && status == PFD_OK; block++) {
        int64_t size = 0;
        status = read_block(&walk, block, &size, err);
        if (status == PFD_OK)
            pfd_xxh128(walk.block, size, digest_of(seal, first_block(seal, i) + block));
    }
    end_walk(&walk);
    return status;
}

static pfd_status fill_seal(const char *path, const char *const *names, int64_t n, int64_t records,
                            int64_t *sizes, pfd_seal *seal, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++) PFD_TRY(note_size(path, names[i], &sizes[i], err));
    PFD_TRY(lay_out(names, sizes, n, records, seal, err));
    for (int64_t i = 0; i < n; i++) PFD_TRY(hash_file(path, names[i], i, seal, err));
    uint8_t root[digest_bytes];
    find_root(seal, root);
    memcpy(seal->image + at_root, root, sizeof root);
    return PFD_OK;
}

pfd_status pfd_seal_make(const char *path, const char *const *names, int64_t n, int64_t records,
                         pfd_seal **out, pfd_error *err)
{
    const char *const itself[] = {no_name};
    if (n == 0) names = itself, n = 1;
    for (int64_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) >= 0)
            return pfd_fail(err, PFD_INTERNAL, "the names of the files of a seal are not sorted");
    pfd_seal *seal = calloc(1, sizeof *seal);
    int64_t *sizes = calloc((size_t)n, sizeof *sizes);
    pfd_status status = seal && sizes ? fill_seal(path, names, n, records, sizes, seal, err)
                                      : pfd_fail_memory(err, n * 8, "a seal");
    free(sizes);
    *out = status == PFD_OK ? seal : NULL;
    if (status != PFD_OK) pfd_seal_release(seal);
    return status;
}

/* ---- Comparing whole files ------------------------------------------------------------------- */

static int32_t is_block_intact(const pfd_seal *seal, int64_t block, const uint8_t *data,
                              int64_t size)
{
    uint8_t digest[digest_bytes];
    pfd_xxh128(data, size, digest);
    return !memcmp(digest, digest_of(seal, block), sizeof digest);
}

/* The next run of blocks that differ. If the sizes differ, bytes that only one of the two has
 * belong to the run. */
static pfd_status find_damage(const pfd_seal *seal, int64_t i, block_walk *walk, int64_t from,
                              int64_t *begin, int64_t *end, pfd_error *err)
{
    int64_t sealed = size_of(seal, i);
    int64_t most = walk->size > sealed ? walk->size : sealed;
    *begin = *end = -1;
    for (int64_t block = blocks_of(from); block * block_bytes < most; block++) {
        int64_t at = block * block_bytes, next = at + block_bytes;
        if (next > most) next = most;
        int32_t differs = at >= walk->size || at >= sealed;
        if (!differs) {
            int64_t size;
            PFD_TRY(read_block(walk, block, &size, err));
            differs = !is_block_intact(seal, first_block(seal, i) + block, walk->block, size);
        }
        if (!differs && *begin >= 0) break;
        if (!differs) continue;
        if (*begin < 0) *begin = at;
        *end = next;
    }
    return *begin < 0 ? PFD_END : PFD_OK;
}

pfd_status pfd_seal_find_damage(const pfd_seal *seal, const char *path, int64_t i, int64_t from,
                                int64_t *begin, int64_t *end, pfd_error *err)
{
    block_walk walk;
    const char *name = pfd_seal_file_name(seal, i);
    if (!name || from < 0) return pfd_fail(err, PFD_INTERNAL, "file %" PRId64 " of a seal", i);
    pfd_status status = begin_walk(path, name, &walk, err);
    if (status == PFD_OK) status = find_damage(seal, i, &walk, from, begin, end, err);
    end_walk(&walk);
    return status;
}

/* ---- Open files ------------------------------------------------------------------------------ */

typedef enum block_state { NOT_COMPARED, IS_INTACT, DIFFERS } block_state;

struct pfd_sealed_file {
    pfd_input_file file; /* first: the methods get a pointer to it */
    const pfd_input_file *plain;
    pfd_seal *seal;          /* owned */
    _Atomic uint8_t *states; /* a block_state for each block; owned */
};

static const pfd_sealed_file *sealed_of(const pfd_input_file *file)
{
    return (const pfd_sealed_file *)(const void *)file;
}

static block_state state_of(const pfd_sealed_file *self, int64_t block)
{
    return (block_state)atomic_load_explicit(&self->states[block], memory_order_relaxed);
}

static pfd_status fail_block(const pfd_sealed_file *self, int64_t block, pfd_error *err)
{
    const pfd_file *file = &self->plain->file;
    int64_t begin = block * block_bytes, end = begin + block_bytes;
    if (end > file->size) end = file->size;
    return pfd_fail_at(err, file, begin, PFD_CORRUPT_DATA,
                       "bytes %" PRId64 " to %" PRId64 " differ from the seal, %s" PFD_SEAL_SUFFIX
                       ": they were changed or damaged after it was made",
                       begin, end - 1, file->path);
}

/* Compares whole blocks that were not compared yet, whose bytes are in `data`; returns the first
 * block that differs, or the block after the last. */
static int64_t compare(const pfd_sealed_file *self, int64_t block, const uint8_t *data,
                       int64_t size)
{
    for (; size > 0; block++, data += block_bytes, size -= block_bytes) {
        if (state_of(self, block) == NOT_COMPARED) {
            int64_t some = size < block_bytes ? size : block_bytes;
            uint8_t found = is_block_intact(self->seal, block, data, some) ? IS_INTACT : DIFFERS;
            atomic_store_explicit(&self->states[block], found, memory_order_relaxed);
        }
        if (state_of(self, block) == DIFFERS) break;
    }
    return block;
}

/* The first block in [block, end) that was not found intact, or `end`. */
static int64_t skip_intact(const pfd_sealed_file *self, int64_t block, int64_t end)
{
    while (block < end && state_of(self, block) == IS_INTACT) block++;
    return block;
}

/* Reads whole blocks as long as one of them was not compared yet. */
static pfd_status read_compared(const pfd_input_file *file, int64_t offset, int64_t size,
                                pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    const pfd_sealed_file *self = sealed_of(file);
    const pfd_input_file *plain = self->plain;
    int64_t first = offset / block_bytes, end = blocks_of(offset + size);
    if (size == 0 || offset + size > plain->file.size)
        return plain->methods->read(plain, offset, size, scratch, data, err);
    int64_t block = skip_intact(self, first, end);
    if (block == end) return plain->methods->read(plain, offset, size, scratch, data, err);
    if (state_of(self, block) == DIFFERS) return fail_block(self, block, err);
    int64_t begin = first * block_bytes, most = plain->file.size - begin;
    int64_t bytes = (end - first) * block_bytes;
    if (bytes > most) bytes = most;
    const uint8_t *blocks;
    PFD_TRY(plain->methods->read(plain, begin, bytes, scratch, &blocks, err));
    block = compare(self, first, blocks, bytes);
    if (block < end) return fail_block(self, block, err);
    *data = blocks + (offset - begin);
    return PFD_OK;
}

static pfd_status find_end(const pfd_input_file *file, int64_t wanted, const pfd_scratch *bounds,
                           int64_t *end, pfd_error *err)
{
    const pfd_input_file *plain = sealed_of(file)->plain;
    return plain->methods->find_end(plain, wanted, bounds, end, err);
}

static void will_need(const pfd_input_file *file, int64_t offset, int64_t size)
{
    const pfd_input_file *plain = sealed_of(file)->plain;
    plain->methods->will_need(plain, offset, size);
}

/* ---- Open files: those below a folder -------------------------------------------------------- */

static int32_t is_folder_seal(const pfd_seal *seal)
{
    return *pfd_seal_file_name(seal, 0) != 0;
}

/* The number of a file in the seal; -1: it has none of this name. */
static int64_t find_member(const pfd_seal *seal, const char *name)
{
    int64_t low = 0, high = seal->files;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(pfd_seal_file_name(seal, middle), name);
        if (order == 0) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

static pfd_status check_member(const pfd_input_file *folder, const char *name, pfd_bytes data,
                               pfd_error *err)
{
    const pfd_sealed_file *self = sealed_of(folder);
    const char *path = folder->file.path;
    if (!is_folder_seal(self->seal)) return PFD_OK; /* of the file that names these */
    int64_t i = find_member(self->seal, name);
    if (i < 0)
        return pfd_fail(err, PFD_CORRUPT_DATA, "it is not in the seal, %s" PFD_SEAL_SUFFIX, path);
    if (size_of(self->seal, i) != data.size)
        return pfd_fail(err, PFD_CORRUPT_DATA,
                        "it has %" PRId64 " bytes, but in the seal, %s" PFD_SEAL_SUFFIX
                        ", %" PRId64,
                        data.size, path, size_of(self->seal, i));
    int64_t first = first_block(self->seal, i);
    int64_t differs = compare(self, first, data.data, data.size) - first;
    if (differs == blocks_of(data.size)) return PFD_OK;
    return pfd_fail(err, PFD_CORRUPT_DATA,
                    "its bytes from %" PRId64 " on differ from the seal, %s" PFD_SEAL_SUFFIX
                    ": they were changed or damaged after it was made",
                    differs * block_bytes, path);
}

static const pfd_file_methods sealed_file = {read_compared, find_end, will_need, check_member};

const pfd_file *pfd_sealed_file_of(const pfd_sealed_file *sealed)
{
    return &sealed->file.file;
}

const pfd_file *pfd_file_uncompared(const pfd_file *file)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    return opened->methods == &sealed_file ? &sealed_of(opened)->plain->file : file;
}

pfd_status pfd_file_compare(const pfd_file *file, int64_t offset, int64_t size,
                            pfd_scratch *scratch, pfd_error *err)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    const uint8_t *data;
    if (opened->methods != &sealed_file) return PFD_OK;
    if (size > file->size - offset) size = file->size - offset;
    int64_t first = offset / block_bytes, end = blocks_of(offset + size);
    if (size <= 0 || skip_intact(sealed_of(opened), first, end) == end) return PFD_OK;
    return read_compared(opened, offset, size, scratch, &data, err);
}

void pfd_sealed_file_close(pfd_sealed_file *sealed)
{
    if (!sealed) return;
    pfd_seal_release(sealed->seal);
    free(sealed->states);
    free(sealed);
}

static pfd_status check_kind(const pfd_sealed_file *self, int32_t is_folder, pfd_error *err)
{
    const pfd_file *file = &self->plain->file;
    int64_t sealed = size_of(self->seal, 0);
    if (is_folder != is_folder_seal(self->seal))
        return pfd_fail_file(err, file->path, "%s" PFD_SEAL_SUFFIX " is the seal of a %s",
                             file->path, is_folder ? "file, and this is a folder"
                                                   : "folder, and this is a file");
    if (is_folder || sealed == file->size) return PFD_OK;
    return pfd_fail_at(err, file, sealed < file->size ? sealed : file->size, PFD_CORRUPT_DATA,
                       "the file has %" PRId64 " bytes, and %s" PFD_SEAL_SUFFIX
                       " is the seal of one with %" PRId64
                       ": the file was changed after it was sealed, or the seal is another file's",
                       file->size, file->path, sealed);
}

pfd_status pfd_sealed_file_open(const pfd_input_file *plain, pfd_sealed_file **out, pfd_error *err)
{
    int32_t kind;
    PFD_TRY(pfd_path_kind(plain->absolute, &kind, err));
    pfd_sealed_file *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a sealed file");
    *self = (pfd_sealed_file){.file = *plain, .plain = plain};
    self->file.methods = &sealed_file;
    self->file.data = NULL;
    pfd_status status = pfd_seal_open(plain->file.path, &self->seal, err);
    if (status == PFD_OK) {
        self->states = calloc((size_t)self->seal->blocks + 1, sizeof *self->states);
        status = self->states ? check_kind(self, kind == PFD_PATH_FOLDER, err)
                              : pfd_fail_memory(err, self->seal->blocks, "a sealed file");
    }
    if (status == PFD_OK) *out = self;
    else pfd_sealed_file_close(self);
    return status;
}
