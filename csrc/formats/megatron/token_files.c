/* Opens pairs of .bin and .idx, and flat files of tokens. */
#include "formats/megatron/token_files.h"

#include "core/convert.h"
#include "files/codecs.h"
#include "files/input_files.h"
#include "formats/megatron/widen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ----------------------------------------------------------------------------------- */
static int32_t ends_with(const char *path, const char *suffix)
{
    size_t size = strlen(path), tail = strlen(suffix);
    return size > tail && !strcmp(path + size - tail, suffix);
}

/* Whether two paths differ only by .bin and .idx at their ends. */
static int32_t are_a_pair(const char *path, const char *other)
{
    size_t size = strlen(path);
    return strlen(other) == size && strncmp(path, other, size - 4) == 0;
}

static const pfd_file *find_partner(const pfd_open_args *args, const pfd_file *file,
                                    const char *suffix)
{
    for (int64_t i = 0; i < args->num_files; i++)
        if (ends_with(args->files[i]->path, suffix) && are_a_pair(args->files[i]->path, file->path))
            return args->files[i];
    return NULL;
}

/* Adds a path: the first `size` characters of `path` and a suffix. */
static pfd_status add(const pfd_companion_args *args, const char *path, size_t size,
                      const char *suffix, int32_t must_be, pfd_error *err)
{
    char *partner = malloc(size + strlen(suffix) + 1);
    if (!partner) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a path");
    memcpy(partner, path, size);
    strcpy(partner + size, suffix);
    int32_t adds = must_be || access(partner, F_OK) == 0;
    for (int64_t i = 0; i < args->num_paths && adds; i++)
        adds = strcmp(args->paths[i], partner) != 0;
    pfd_status status = adds ? args->add(args->list, partner, err) : PFD_OK;
    free(partner);
    return status;
}

/* A path that does not exist may be the common prefix of a pair.  Then *out is its .bin, or the
 * file of the pair that exists; otherwise *out is NULL.  The caller must free() it. */
static pfd_status find_half(const pfd_host *host, const char *path, int32_t has_index, char **out,
                            pfd_error *err)
{
    static const char *const endings[] = {".bin", ".idx"};
    *out = NULL;
    if (access(path, F_OK) == 0) return PFD_OK;
    for (int32_t k = 0; k <= has_index; k++) {
        if (asprintf(out, "%s%s", path, endings[k]) < 0) {
            *out = NULL;
            return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a path");
        }
        if (access(*out, F_OK) == 0) return PFD_OK;
        free(*out);
        *out = NULL;
    }
    return PFD_OK;
}

/* Adds the other half of a pair. If the pair was given by its prefix, open() reports a missing
 * half. */
static pfd_status add_partner(const pfd_companion_args *args, const char *path, int32_t format,
                              int32_t is_named, pfd_error *err)
{
    size_t size = strlen(path);
    int32_t needs_index = is_named && format == PFD_TOKENS_MEGATRON;
    if (format == PFD_TOKENS_FLAT) return PFD_OK;
    if (ends_with(path, ".bin")) return add(args, path, size - 4, ".idx", needs_index, err);
    return ends_with(path, ".idx") ? add(args, path, size - 4, ".bin", is_named, err) : PFD_OK;
}

pfd_status pfd_token_companions(const pfd_companion_args *args, int32_t format, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        char *half;
        PFD_TRY(find_half(args->host, args->paths[i], format != PFD_TOKENS_FLAT, &half, err));
        pfd_status status = half ? args->replace(args->list, i, half, err) : PFD_OK;
        if (status == PFD_OK)
            status = add_partner(args, half ? half : args->paths[i], format, !half, err);
        free(half);
        PFD_TRY(status);
    }
    return PFD_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */
static pfd_status fail_unpaired(const pfd_host *host, const pfd_file *file, int32_t is_index,
                                pfd_error *err)
{
    if (is_index)
        return host->fail_file(err, file, -1, PFD_INVALID_ARGUMENT,
                               "the .bin of this .idx is not among the files");
    return host->fail_file(
        err, file, -1, PFD_INVALID_ARGUMENT,
        "the file has no .idx, which would give its dtype and documents; if it has "
        "only tokens (as nanoGPT writes them), set file_dtype, usually to "
        "'uint16'");
}

/* The compression of the .bin of an .idx is not detected: tokens may look like the beginning of a
 * compressed file, and the .idx gives their number. */
static pfd_status open_pair(const pfd_open_args *args, const pfd_token_options *options,
                            const pfd_file *idx, pfd_token_file *out, pfd_error *err)
{
    PFD_TRY(pfd_compression_refuse(idx, err));
    PFD_TRY(pfd_megatron_index_open(args->host, idx, out->bin, options->gaps, args->scratch,
                                    &out->index, err));
    out->dtype = out->index.dtype;
    if (options->header_bytes > 0)
        return args->host->fail_attr(err, "header_bytes", out->bin, PFD_INVALID_ARGUMENT,
                                     " = %" PRId64
                                     ", but files with an .idx have no header; leave it out, "
                                     "or set format='flat'",
                                     options->header_bytes);
    if (options->file_dtype && options->file_dtype != out->dtype)
        return args->host->fail_attr(
            err, "file_dtype", idx, PFD_INVALID_ARGUMENT,
            " = '%s', and the .idx says %s; leave it out, or set format='flat' if "
            "the .idx is of another file",
            pfd_dtype_name(options->file_dtype), pfd_dtype_name(out->dtype));
    return PFD_OK;
}

static pfd_status open_flat(const pfd_host *host, const pfd_token_options *options,
                            pfd_token_file *out, pfd_error *err)
{
    PFD_TRY(pfd_compression_refuse(out->bin, err));
    const pfd_file *bin = out->bin;
    out->dtype = options->file_dtype;
    out->header_bytes = options->header_bytes;
    int64_t each = pfd_dtype_size(out->dtype), bytes = bin->size - out->header_bytes;
    if (bytes < 0)
        return host->fail_file(err, bin, bin->size, PFD_CORRUPT_DATA,
                               "the file ends at byte %" PRId64 ", and header_bytes = %" PRId64,
                               bin->size, out->header_bytes);
    if (bytes % each == 0) return PFD_OK;
    return host->fail_file(err, bin, bin->size - bytes % each, PFD_CORRUPT_DATA,
                           "the last token, which begins here, has %" PRId64 " of %" PRId64
                           " bytes; is the file truncated, or is its dtype not %s?",
                           bytes % each, each, pfd_dtype_name(out->dtype));
}

/* Computes where the next file begins. */
static pfd_status add_up(const pfd_host *host, const pfd_token_file *file, pfd_token_file *next,
                         pfd_error *err)
{
    const pfd_megatron_index *index = &file->index;
    int64_t tokens = index->num_tokens;
    if (!index->file) tokens = (file->bin->size - file->header_bytes) / file->element_bytes;
    if (tokens > INT64_MAX / 16 - file->first_token)
        return host->fail(err, PFD_INVALID_ARGUMENT, "the files have too many tokens together");
    next->first_token = file->first_token + tokens;
    next->first_sequence = file->first_sequence + index->num_sequences;
    next->first_document = file->first_document + index->num_documents;
    return PFD_OK;
}

static pfd_status check_row_dtype(const pfd_host *host, const pfd_token_file *file,
                                  int32_t row_dtype, pfd_error *err)
{
    if (pfd_widen_best(file->dtype, row_dtype)) return PFD_OK;
    return host->fail_attr(err, "dtype", file->bin, PFD_INVALID_ARGUMENT,
                           " = '%s', and the tokens of the file are %s, which do not all fit into "
                           "it; take that, or a wider one such as 'int64'",
                           pfd_dtype_name(row_dtype), pfd_dtype_name(file->dtype));
}

static pfd_status open_one(const pfd_open_args *args, const pfd_token_options *options,
                           const pfd_file *idx, pfd_token_file *file, pfd_error *err)
{
    if (idx)
        PFD_TRY(open_pair(args, options, idx, file, err));
    else
        PFD_TRY(open_flat(args->host, options, file, err));
    file->element_bytes = pfd_dtype_size(file->dtype);
    PFD_TRY(check_row_dtype(args->host, file, options->row_dtype, err));
    return add_up(args->host, file, file + 1, err);
}

static pfd_status check_dtypes(const pfd_token_files *files, pfd_error *err)
{
    for (int64_t i = 1; i < files->num_files; i++) {
        const pfd_token_file *file = &files->files[i];
        if (file->dtype == files->files[0].dtype) continue;
        return files->host->fail_file(
            err, file->bin, -1, PFD_INVALID_ARGUMENT,
            "the file has tokens of %s, and the first file, %s, of %s; windows that "
            "go from one to the other need one dtype: are both of one tokenizer?",
            pfd_dtype_name(file->dtype), files->files[0].bin->path,
            pfd_dtype_name(files->files[0].dtype));
    }
    return PFD_OK;
}

/* Finds the .bin and the .idx of a file; the .idx of a flat file is NULL.  *bin is NULL if the
 * other half of the pair was given before. */
static pfd_status find_pair(const pfd_open_args *args, const pfd_token_options *options, int64_t i,
                            const pfd_file **bin, const pfd_file **idx, pfd_error *err)
{
    const pfd_file *file = args->files[i], *partner = NULL;
    int32_t is_index = ends_with(file->path, ".idx");
    if (options->format != PFD_TOKENS_FLAT && (is_index || ends_with(file->path, ".bin")))
        partner = find_partner(args, file, is_index ? ".bin" : ".idx");
    *bin = is_index && partner ? partner : file;
    *idx = is_index && partner ? file : partner;
    int32_t may_be_flat = options->format == PFD_TOKENS_FLAT ||
                          (options->format == PFD_TOKENS_AUTO && options->file_dtype && !is_index);
    if (!partner && !may_be_flat) return fail_unpaired(args->host, file, is_index, err);
    for (int64_t k = 0; k < i; k++)
        if (partner && args->files[k] == partner) *bin = NULL;
    return PFD_OK;
}

static pfd_status open_all(const pfd_open_args *args, const pfd_token_options *options,
                           pfd_token_files *out, pfd_error *err)
{
    if (options->format == PFD_TOKENS_FLAT && !options->file_dtype)
        return args->host->fail_attr(
            err, "format", NULL, PFD_INVALID_ARGUMENT,
            " = 'flat' needs file_dtype too, usually 'uint16': a flat file does not "
            "state the dtype of its tokens");
    for (int64_t i = 0; i < args->num_files; i++) {
        const pfd_file *bin, *idx;
        PFD_TRY(find_pair(args, options, i, &bin, &idx, err));
        if (!bin) continue;
        out->files[out->num_files].bin = bin;
        PFD_TRY(open_one(args, options, idx, &out->files[out->num_files++], err));
    }
    const pfd_token_file *end = &out->files[out->num_files];
    out->num_tokens = end->first_token;
    out->num_sequences = end->first_sequence;
    out->num_documents = end->first_document;
    return options->same_dtype ? check_dtypes(out, err) : PFD_OK;
}

pfd_status pfd_token_files_open(const pfd_open_args *args, const pfd_token_options *options,
                                pfd_token_files *out, pfd_error *err)
{
    *out = (pfd_token_files){.host = args->host,
                             .files = calloc((size_t)args->num_files + 1, sizeof *out->files)};
    if (!out->files) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for files");
    pfd_status status = open_all(args, options, out, err);
    if (status != PFD_OK) pfd_token_files_close(out);
    return status;
}

void pfd_token_files_close(pfd_token_files *files)
{
    for (int64_t i = 0; files->files && i < files->num_files; i++)
        pfd_megatron_index_close(&files->files[i].index);
    free(files->files);
    *files = (pfd_token_files){0};
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Finds the last file whose `first` is not above the number, so empty files before it are
 * skipped. */
#define FILE_OF(name, first)                                                                       \
    const pfd_token_file *name(const pfd_token_files *files, int64_t number)                       \
    {                                                                                              \
        int64_t low = 0, high = files->num_files - 1;                                              \
        while (low < high) {                                                                       \
            int64_t middle = high - (high - low) / 2;                                              \
            if (files->files[middle].first <= number)                                              \
                low = middle;                                                                      \
            else                                                                                   \
                high = middle - 1;                                                                 \
        }                                                                                          \
        return &files->files[low];                                                                 \
    }
FILE_OF(pfd_file_of_token, first_token)
FILE_OF(pfd_file_of_sequence, first_sequence)
FILE_OF(pfd_file_of_document, first_document)

pfd_status pfd_token_place(const pfd_token_file *file, int64_t token, pfd_scratch *scratch,
                           pfd_token_range *out, pfd_error *err)
{
    int64_t number = token - file->first_token;
    if (file->index.file && !file->index.is_contiguous)
        return pfd_megatron_find_token(&file->index, number, scratch, out, err);
    *out = (pfd_token_range){file->header_bytes + number * file->element_bytes,
                             file[1].first_token - token};
    return PFD_OK;
}
