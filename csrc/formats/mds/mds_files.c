/* Parses the columns of MDS shards and the index.json that lists shards, and finds their files. */
#include "formats/mds/mds_files.h"

#include "core/convert.h"
#include "files/codecs.h"
#include "files/file_names.h"
#include "files/file_read.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Columns: names, encodings and sizes in JSON --------------------------------------------- */

/* No data set has more columns: the sizes alone would take 256 KB of each sample. */
enum { MOST_COLUMNS = 65536 };

typedef struct known {
    const char *name;
    int32_t kind, dtype;
} known;

/* Encodings with a fixed name. parse_dtype() parses encodings of numbers, parse_array() encodings
 * of arrays. infer_column() and check_column() in mds_reader.c know which outputs an encoding can
 * have. */
static const known encodings[] = {
    {"bytes", PFD_MDS_BYTES, 0},          {"str", PFD_MDS_BYTES, 0},
    {"json", PFD_MDS_BYTES, 0},           {"jpeg", PFD_MDS_BYTES, 0},
    {"png", PFD_MDS_BYTES, 0},            {"pil", PFD_MDS_BYTES, 0},
    {"jpeg_array", PFD_MDS_BYTES, 0},     {"jpegarray", PFD_MDS_BYTES, 0},
    {"list[jpeg]", PFD_MDS_BYTES, 0},     {"list[png]", PFD_MDS_BYTES, 0},
    {"list[pil]", PFD_MDS_BYTES, 0},      {"pkl", PFD_MDS_PICKLE, 0},
    {"int", PFD_MDS_SCALAR, PFD_INT64},   {"str_int", PFD_MDS_INT_TEXT, 0},
    {"str_float", PFD_MDS_FLOAT_TEXT, 0}, {"str_decimal", PFD_MDS_FLOAT_TEXT, 0},
};

/* Parses a dtype: one of NumPy's names, without bool.  Returns 0 if it is not one. */
static int32_t parse_dtype(const char *text, size_t size)
{
    char name[16];
    if (size >= sizeof name) return 0;
    memcpy(name, text, size);
    name[size] = 0;
    int32_t dtype = pfd_dtype_parse(name);
    return dtype == PFD_BOOL ? 0 : dtype;
}

/* Parses "3,224,224". */
static int32_t parse_shape(const char *text, pfd_mds_column *column, int64_t *elements)
{
    *elements = 1;
    for (column->ndim = 0; *text; column->ndim++) {
        int64_t dim = 0;
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 9) return 0;
        for (size_t i = 0; i < digits; i++) dim = dim * 10 + (text[i] - '0');
        if (dim < 1 || __builtin_mul_overflow(*elements, dim, elements)) return 0;
        if (column->ndim < PFD_MAX_DIMS) column->shape[column->ndim] = dim;
        text += digits;
        if (*text == ',' && text[1]) text++;
        else if (*text) return 0;
    }
    return column->ndim > 0;
}

/* Parses "ndarray", "ndarray:float32" or "ndarray:float32:2,3".  *size is the size of the arrays if
 * the encoding states it, else -1. */
static int32_t parse_array(const char *text, pfd_mds_column *column, int64_t *size)
{
    int64_t elements;
    column->kind = PFD_MDS_ARRAY;
    column->ndim = -1;
    *size = -1;
    if (*text++ == 0 || *text == 0) return 1;
    const char *colon = strchr(text, ':');
    column->dtype = parse_dtype(text, colon ? (size_t)(colon - text) : strlen(text));
    if (!column->dtype) return 0;
    if (!colon) return 1;
    return parse_shape(colon + 1, column, &elements) &&
           !__builtin_mul_overflow(elements, pfd_dtype_size(column->dtype), size);
}

/* Finds the kind of a column and its size, -1 if it varies.  Returns 0 if the encoding is
 * malformed. */
static int32_t parse_encoding(pfd_mds_column *column, int64_t *size)
{
    const char *text = column->encoding;
    *size = -1;
    if (strncmp(text, "ndarray", 7) == 0 && (text[7] == 0 || text[7] == ':'))
        return parse_array(text + 7, column, size);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        if (strcmp(text, encodings[i].name) != 0) continue;
        column->kind = encodings[i].kind;
        column->dtype = encodings[i].dtype;
    }
    if (!column->kind) {
        column->dtype = parse_dtype(text, strlen(text));
        column->kind = column->dtype ? PFD_MDS_SCALAR : PFD_MDS_UNKNOWN;
    }
    if (column->kind == PFD_MDS_SCALAR) *size = pfd_dtype_size(column->dtype);
    return 1;
}

/* Counts the elements of an array, and the bytes of their texts unless text_bytes is NULL; -1: the
 * array is malformed. */
static int64_t count(pfd_json json, int64_t *text_bytes)
{
    pfd_json_text text;
    int64_t n = 0;
    pfd_json_enter(&json, '[');
    while (pfd_json_element(&json)) {
        if (text_bytes && pfd_json_string(&json, &text)) *text_bytes += text.size + 1;
        else if (!text_bytes) pfd_json_skip(&json);
        n++;
    }
    return json.problem ? -1 : n;
}

static const char *take_text(pfd_json *json, char **room, int64_t *size)
{
    pfd_json_text text;
    char *begin = *room;
    if (!pfd_json_string(json, &text)) return NULL;
    *size = pfd_json_decode(&text, begin);
    begin[*size] = 0;
    *room += *size + 1;
    return begin;
}

static int32_t parse_column(pfd_mds_arrays *at, char **room, pfd_mds_column *column,
                            pfd_json **failed)
{
    int64_t unused, follows;
    *failed = &at->names;
    column->name = take_text(&at->names, room, &column->name_size);
    if (!column->name) return 0;
    *failed = &at->encodings;
    column->encoding = take_text(&at->encodings, room, &unused);
    if (!column->encoding) return 0;
    if (!parse_encoding(column, &follows))
        return pfd_json_refuse(&at->encodings, "expected an encoding such as int, bytes, "
                                               "ndarray:float32 or ndarray:float32:2,3");
    *failed = &at->sizes;
    column->size = -1;
    if (!pfd_json_null(&at->sizes)) {
        if (!pfd_json_int64(&at->sizes, &column->size)) return 0;
        if (column->size < 0 || column->size > UINT32_MAX)
            return pfd_json_refuse(&at->sizes, "expected a size of a column from 0 to 2^32 - 1");
    }
    if (column->kind != PFD_MDS_UNKNOWN && column->size != follows)
        return pfd_json_refuse(&at->sizes, "expected the size that the column's encoding has");
    return 1;
}

static int32_t parse_columns(pfd_mds_arrays *at, pfd_mds_columns *out, pfd_json **failed)
{
    char *room = out->text;
    pfd_json_enter(&at->names, '[');
    pfd_json_enter(&at->encodings, '[');
    pfd_json_enter(&at->sizes, '[');
    for (int64_t i = 0; i < out->size; i++) {
        pfd_json_element(&at->names);
        pfd_json_element(&at->encodings);
        pfd_json_element(&at->sizes);
        if (!parse_column(at, &room, &out->list[i], failed)) return 0;
    }
    return 1;
}

pfd_status pfd_mds_columns_parse(const pfd_host *host, const pfd_mds_arrays *arrays,
                                 pfd_mds_columns *out, pfd_json *json, pfd_error *err)
{
    int64_t bytes = 0, n = count(arrays->names, &bytes);
    *out = (pfd_mds_columns){.size = 0};
    *json = arrays->names;
    if (n <= 0 || n > MOST_COLUMNS || count(arrays->encodings, &bytes) != n ||
        count(arrays->sizes, NULL) != n) {
        pfd_json_refuse(json, "expected column_names, column_encodings and column_sizes of one "
                              "length, from 1 to 65536");
        return host->fail(err, PFD_CORRUPT_DATA, "%s", json->problem);
    }
    out->list = calloc((size_t)n, sizeof *out->list);
    out->text = malloc((size_t)bytes);
    out->size = n;
    if (!out->list || !out->text)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the columns of a shard");
    pfd_mds_arrays at = *arrays;
    pfd_json *failed = &at.names;
    if (parse_columns(&at, out, &failed)) return PFD_OK;
    *json = *failed;
    return host->fail(err, PFD_CORRUPT_DATA, "%s", json->problem);
}

void pfd_mds_columns_free(pfd_mds_columns *columns)
{
    free(columns->list);
    free(columns->text);
    *columns = (pfd_mds_columns){.size = 0};
}

int32_t pfd_mds_columns_equal(const pfd_mds_columns *a, const pfd_mds_columns *b)
{
    if (a->size != b->size) return 0;
    for (int64_t i = 0; i < a->size; i++) {
        const pfd_mds_column *x = &a->list[i], *y = &b->list[i];
        if (x->size != y->size || x->name_size != y->name_size ||
            memcmp(x->name, y->name, (size_t)x->name_size) != 0 ||
            strcmp(x->encoding, y->encoding) != 0)
            return 0;
    }
    return 1;
}

/* ---- The index.json, and the JSON with the same facts in a shard ----------------------------- */

/* Parses {"basename": ..., "bytes": ..., "hashes": {...}}, or null. */
static int32_t parse_file(pfd_json *json, pfd_json_text *name, int64_t *bytes)
{
    pfd_json_text key;
    *name = (pfd_json_text){.size = 0};
    *bytes = -1;
    if (pfd_json_null(json)) return 1;
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "basename")) pfd_json_string(json, name);
        else if (pfd_json_equals(&key, "bytes")) pfd_json_int64(json, bytes);
        else pfd_json_skip(json);
    }
    if (!json->problem && (name->size == 0 || *bytes < 0))
        pfd_json_refuse(json, "expected the members basename and bytes of a file before here");
    return !json->problem;
}

static int32_t parse_version(pfd_json *json)
{
    int64_t version = 0;
    if (!pfd_json_int64(json, &version)) return 0;
    return version == 2 || pfd_json_refuse(json, "expected version 2 before here");
}

static int32_t parse_format(pfd_json *json)
{
    pfd_json_text format;
    if (!pfd_json_string(json, &format)) return 0;
    return pfd_json_equals(&format, "mds") ||
           pfd_json_refuse(json, "expected shards of the format mds; shards of csv and jsonl are "
                                 "text files, which CSVReader and TextLineReader read");
}

/* Copies the cursor before a value to *place, and skips the value. */
static void remember(pfd_json *json, pfd_json *place)
{
    *place = *json;
    pfd_json_skip(json);
}

/* Parses a member that both an index and the JSON in a shard have.  Returns 0 for any
 * other member. */
static int32_t parse_common(pfd_json *json, const pfd_json_text *key, pfd_mds_arrays *columns)
{
    if (pfd_json_equals(key, "column_names")) remember(json, &columns->names);
    else if (pfd_json_equals(key, "column_encodings")) remember(json, &columns->encodings);
    else if (pfd_json_equals(key, "column_sizes")) remember(json, &columns->sizes);
    else if (pfd_json_equals(key, "version")) parse_version(json);
    else if (pfd_json_equals(key, "format")) parse_format(json);
    else return 0;
    return 1;
}

static int32_t check_columns(pfd_json *json, const pfd_mds_arrays *columns)
{
    if (columns->names.data && columns->encodings.data && columns->sizes.data) return 1;
    return pfd_json_refuse(json, "expected column_names, column_encodings and column_sizes before "
                                 "here");
}

static int32_t parse_shard(pfd_json *json, pfd_mds_shard *out)
{
    pfd_json_text key;
    *out = (pfd_mds_shard){.raw_bytes = -1, .zip_bytes = -1, .samples = -1};
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (parse_common(json, &key, &out->columns)) continue;
        if (pfd_json_equals(&key, "samples")) {
            pfd_json_int64(json, &out->samples);
        } else if (pfd_json_equals(&key, "raw_data")) {
            parse_file(json, &out->raw_name, &out->raw_bytes);
        } else if (pfd_json_equals(&key, "zip_data")) {
            parse_file(json, &out->zip_name, &out->zip_bytes);
        } else if (pfd_json_equals(&key, "compression")) {
            if (!pfd_json_null(json)) pfd_json_string(json, &out->compression);
        } else {
            pfd_json_skip(json);
        }
    }
    if (json->problem) return 0;
    if (out->samples < 0 || out->samples > UINT32_MAX || out->raw_name.size == 0)
        return pfd_json_refuse(json, "expected the members samples and raw_data of a shard before "
                                     "here");
    return check_columns(json, &out->columns);
}

int32_t pfd_mds_index_begin(const uint8_t *text, int64_t size, pfd_mds_index *out)
{
    pfd_json_text key;
    pfd_json json = pfd_json_begin(text, size), shards = {0};
    pfd_json_enter(&json, '{');
    while (pfd_json_member(&json, &key)) {
        if (pfd_json_equals(&key, "shards")) remember(&json, &shards);
        else if (pfd_json_equals(&key, "version")) parse_version(&json);
        else pfd_json_skip(&json);
    }
    if (pfd_json_end(&json) && !shards.data)
        pfd_json_refuse(&json, "expected the array \"shards\" before here");
    *out = (pfd_mds_index){.json = json.problem ? json : shards};
    return !json.problem && pfd_json_enter(&out->json, '[');
}

int32_t pfd_mds_index_next(pfd_mds_index *index, pfd_mds_shard *out)
{
    if (!pfd_json_element(&index->json) || !parse_shard(&index->json, out)) return 0;
    index->shards++;
    return 1;
}

int32_t pfd_mds_config(const uint8_t *text, int64_t size, pfd_mds_arrays *columns, pfd_json *json)
{
    pfd_json_text key;
    *json = pfd_json_begin(text, size);
    *columns = (pfd_mds_arrays){0};
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key))
        if (!parse_common(json, &key, columns)) pfd_json_skip(json);
    return pfd_json_end(json) && check_columns(json, columns);
}

/* ---- Files of the shards that an index.json lists -------------------------------------------- */

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

/* Returns the opened file with this path, searched for from file *hint on; *hint becomes the next
 * file.  NULL: there is none. */
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

/* Finds the opened file that an index lists by this name; *file is NULL if there is none. */
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

/* ---- Before the files are opened ------------------------------------------------------------- */

/* Whether the user gave this path too, searched for from path *hint on. */
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

/* The path of a shard by the one of its names by which it is there, or else by the last, in memory
 * that the caller frees; NULL: it failed. */
static char *find_shard_path(const pfd_companion_args *args, const char *index,
                             const pfd_mds_shard *named, int32_t *kind, pfd_error *err)
{
    char *path = named_path(args->host, index, &named->raw_name, err);
    if (path && pfd_path_kind(path, kind, err) == PFD_OK) {
        if (*kind == PFD_PATH_FILE || named->zip_name.size == 0) return path;
        free(path);
        path = named_path(args->host, index, &named->zip_name, err);
        if (path && pfd_path_kind(path, kind, err) == PFD_OK) return path;
    }
    free(path);
    return NULL;
}

/* Adds a shard of an index, unless the user gave its path too; `all` gets its path. */
static pfd_status add_companion(const pfd_companion_args *args, const char *index,
                                pfd_path_list *all, const pfd_mds_shard *named, int64_t *hint,
                                pfd_error *err)
{
    int32_t kind;
    char *path = find_shard_path(args, index, named, &kind, err);
    if (!path) return err->status;
    PFD_TRY(pfd_path_list_take(all, path, err));
    if (kind != PFD_PATH_FILE)
        return args->host->fail(err, PFD_IO, "%s lists a shard that does not exist: %s", index,
                                path);
    return is_named(args, path, hint) ? PFD_OK : args->add(args->list, path, err);
}

static int compare_paths(const void *left, const void *right)
{
    char *const *const *a = left, *const *const *b = right;
    int order = strcmp(**a, **b);
    return order ? order : (*a > *b) - (*a < *b);
}

/* Fails if an index lists a shard twice: it would be read twice. */
static pfd_status check_paths(const pfd_host *host, const char *index, const pfd_path_list *all,
                              pfd_error *err)
{
    char ***sorted = malloc((size_t)all->size * sizeof *sorted + 1);
    if (!sorted) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the paths of shards");
    for (int64_t i = 0; i < all->size; i++) sorted[i] = all->paths + i;
    qsort(sorted, (size_t)all->size, sizeof *sorted, compare_paths);
    pfd_status status = PFD_OK;
    for (int64_t i = 1; i < all->size && status == PFD_OK; i++)
        if (strcmp(*sorted[i - 1], *sorted[i]) == 0)
            status = host->fail(err, PFD_CORRUPT_DATA,
                                "%s lists the shard %s twice, as entries %" PRId64 " and %" PRId64
                                " of its shards, counted from 0; its samples would be read twice: "
                                "remove one of the entries",
                                index, *sorted[i], (int64_t)(sorted[i - 1] - all->paths),
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
    pfd_path_list all = {0};
    PFD_TRY(pfd_file_start_read(path, PFD_MDS_MOST_INDEX_BYTES, &text, &size, &file_size, err));
    pfd_status status = PFD_OK;
    pfd_mds_index_begin(text, size, &index);
    while (status == PFD_OK && pfd_mds_index_next(&index, &named))
        status = add_companion(args, path, &all, &named, &hint, err);
    if (status == PFD_OK && index.json.problem)
        status = args->host->fail(err, PFD_CORRUPT_DATA,
                                  "%s, byte %" PRId64 ": the JSON that describes the shards: %s",
                                  path, index.json.at, index.json.problem);
    if (status == PFD_OK) status = check_paths(args->host, path, &all, err);
    pfd_path_list_free(&all);
    free(text);
    return status;
}

/* Replaces a folder by the index.json in it, if there is one, and adds its shards. */
static pfd_status add_folder(const pfd_companion_args *args, int64_t i, pfd_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/index.json", args->paths[i]) < 0)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the path of an index");
    int32_t kind;
    pfd_status status = pfd_path_kind(path, &kind, err);
    if (status == PFD_OK && kind == PFD_PATH_FILE) {
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
        int32_t kind;
        PFD_TRY(pfd_path_kind(path, &kind, err));
        if (kind != PFD_PATH_FILE) PFD_TRY(add_folder(args, i, err));
        else if (pfd_mds_is_index(path)) PFD_TRY(add_shards_of(args, path, err));
    }
    return PFD_OK;
}
