/* Finds the files of the shards that an index.json lists. */
#include "formats/mds/mds_files.h"

#include "files/codecs.h"
#include "files/file_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes the path of a file that an index lists.  NULL: it failed. */
static char *named_path(const pfd_host *host, const char *index, const pfd_json_text *name,
                        pfd_error *err)
{
    char *text = malloc((size_t)name->size + 1), *path = NULL;
    int64_t size = text ? pfd_json_decode(name, text) : 0;
    if (text && !pfd_path_is_below(text, size))
        host->fail(err, PFD_CORRUPT_DATA,
                   "%s lists the shard '%.*s', which is not in its folder", index, (int)size,
                   text);
    else if (!text || !(path = pfd_path_beside(index, text, size)))
        host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the path of a shard");
    free(text);
    return path;
}

int32_t pfd_mds_is_index(const char *path)
{
    size_t size = strlen(path);
    return size >= 5 && strcmp(path + size - 5, ".json") == 0;
}

/* Returns the opened file with this path, which is probably file *hint.  NULL: there is none. */
static const pfd_file *find_file(const pfd_open_args *args, const char *path, int64_t *hint)
{
    for (int64_t i = 0; i < args->num_files; i++) {
        int64_t k = (*hint + i) % args->num_files;
        if (strcmp(args->files[k]->path, path) != 0) continue;
        *hint = k + 1;
        return args->files[k];
    }
    return NULL;
}

/* *file is NULL if it was not opened. */
static pfd_status find_named(const pfd_open_args *args, const char *index,
                             const pfd_json_text *name, int64_t *hint, const pfd_file **file,
                             pfd_error *err)
{
    char *path = named_path(args->host, index, name, err);
    if (!path) return err->status;
    *file = find_file(args, path, hint);
    free(path);
    return PFD_OK;
}

static int32_t compression_of(const pfd_json_text *text)
{
    const uint8_t *colon = memchr(text->data, ':', (size_t)text->size);
    int64_t size = colon ? colon - text->data : text->size;
    if (size == 4 && memcmp(text->data, "zstd", 4) == 0) return PFD_COMPRESSION_ZSTD;
    return size == 2 && memcmp(text->data, "gz", 2) == 0 ? PFD_COMPRESSION_GZIP : -1;
}

pfd_status pfd_mds_find_shard(const pfd_open_args *args, const char *index,
                              const pfd_mds_shard *named, int64_t *hint, const pfd_file **file,
                              int32_t *compression, pfd_error *err)
{
    const pfd_json_text *raw = &named->raw_name, *zip = &named->zip_name;
    *compression = PFD_COMPRESSION_NONE;
    PFD_TRY(find_named(args, index, raw, hint, file, err));
    if (*file) return PFD_OK;
    if (zip->size > 0) PFD_TRY(find_named(args, index, zip, hint, file, err));
    if (!*file)
        return args->host->fail(
            err, PFD_IO, "%s lists the shard '%.*s', which is not among the files that were opened",
            index, (int)raw->size, (const char *)raw->data);
    *compression = compression_of(&named->compression);
    if (*compression >= 0) return PFD_OK;
    return args->host->fail_file(
        err, *file, -1, PFD_UNSUPPORTED,
        "the shard is compressed with '%.*s', which is not supported; zstd and gz are; decompress "
        "it to '%.*s' in the same folder, or write the dataset again",
        (int)named->compression.size, (const char *)named->compression.data, (int)raw->size,
        (const char *)raw->data);
}

/* ---- Before they are opened ------------------------------------------------------------------ */

/* Whether the user gave this path too, probably as path *hint. */
static int32_t is_named(const pfd_companion_args *args, const char *path, int64_t *hint)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        int64_t k = (*hint + i) % args->num_paths;
        if (strcmp(args->paths[k], path) != 0) continue;
        *hint = k + 1;
        return 1;
    }
    return 0;
}

/* The paths of the shards of one index, in order. */
typedef struct shard_paths {
    const char *index;
    char **paths;
    int64_t count, room;
} shard_paths;

static pfd_status remember_path(const pfd_host *host, shard_paths *all, char *path, pfd_error *err)
{
    if (all->count == all->room) {
        int64_t room = all->room ? 2 * all->room : 64;
        char **grown = realloc(all->paths, (size_t)room * sizeof *grown);
        if (!grown) {
            free(path);
            return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the paths of shards");
        }
        all->paths = grown;
        all->room = room;
    }
    all->paths[all->count++] = path;
    return PFD_OK;
}

/* Adds a shard, unless the user gave its path too. */
static pfd_status add_companion(const pfd_companion_args *args, shard_paths *all,
                                const pfd_mds_shard *named, int64_t *hint, pfd_error *err)
{
    char *path = named_path(args->host, all->index, &named->raw_name, err);
    if (path && !pfd_file_is_there(path) && named->zip_name.size > 0) {
        free(path);
        path = named_path(args->host, all->index, &named->zip_name, err);
    }
    if (!path) return err->status;
    PFD_TRY(remember_path(args->host, all, path, err));
    if (!pfd_file_is_there(path))
        return args->host->fail(err, PFD_IO, "%s lists a shard that does not exist: %s", all->index,
                                path);
    return is_named(args, path, hint) ? PFD_OK : args->add(args->list, path, err);
}

static int compare_paths(const void *left, const void *right)
{
    char *const *const *a = left, *const *const *b = right;
    int order = strcmp(**a, **b);
    return order ? order : (*a > *b) - (*a < *b);
}

/* A shard that is listed twice would be read twice. */
static pfd_status check_paths(const pfd_host *host, const shard_paths *all, pfd_error *err)
{
    char ***sorted = malloc((size_t)all->count * sizeof *sorted + 1);
    if (!sorted) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the paths of shards");
    for (int64_t i = 0; i < all->count; i++) sorted[i] = all->paths + i;
    qsort(sorted, (size_t)all->count, sizeof *sorted, compare_paths);
    pfd_status status = PFD_OK;
    for (int64_t i = 1; i < all->count && status == PFD_OK; i++)
        if (strcmp(*sorted[i - 1], *sorted[i]) == 0)
            status = host->fail(err, PFD_CORRUPT_DATA,
                                "%s lists the shard %s twice, as entries %" PRId64 " and %" PRId64
                                " of its shards, counted from 0; its samples would be read twice: "
                                "remove one of the entries",
                                all->index, *sorted[i], (int64_t)(sorted[i - 1] - all->paths),
                                (int64_t)(sorted[i] - all->paths));
    free(sorted);
    return status;
}

static pfd_status add_shards_of(const pfd_companion_args *args, const char *path, pfd_error *err)
{
    uint8_t *text;
    int64_t size, file_size, hint = 0;
    pfd_mds_index index;
    pfd_mds_shard named;
    shard_paths all = {.index = path};
    PFD_TRY(
        pfd_file_start_read(path, PFD_MDS_MOST_INDEX_BYTES, &text, &size, &file_size, err));
    pfd_status status = PFD_OK;
    pfd_mds_index_begin(text, size, &index);
    while (status == PFD_OK && pfd_mds_index_next(&index, &named))
        status = add_companion(args, &all, &named, &hint, err);
    if (status == PFD_OK && index.json.problem)
        status = args->host->fail(err, PFD_CORRUPT_DATA,
                                  "%s, byte %" PRId64 ": the JSON that describes the shards: %s",
                                  path, index.json.at, index.json.problem);
    if (status == PFD_OK) status = check_paths(args->host, &all, err);
    for (int64_t i = 0; i < all.count; i++) free(all.paths[i]);
    free(all.paths);
    free(text);
    return status;
}

/* Replaces a folder by the index.json in it. */
static pfd_status add_folder(const pfd_companion_args *args, int64_t i, pfd_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/index.json", args->paths[i]) < 0)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the path of an index");
    pfd_status status = PFD_OK;
    if (pfd_file_is_there(path)) {
        status = args->replace(args->list, i, path, err);
        if (status == PFD_OK) status = add_shards_of(args, path, err);
    }
    free(path);
    return status;
}

pfd_status pfd_mds_add_shards(const pfd_companion_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        const char *path = args->paths[i];
        pfd_status status = PFD_OK;
        if (!pfd_file_is_there(path)) status = add_folder(args, i, err);
        else if (pfd_mds_is_index(path)) status = add_shards_of(args, path, err);
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}
