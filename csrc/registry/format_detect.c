/* Detects the format of a file by the scores of the probes and by the suffix, and knows how
 * files of other programs begin. */
#include "core/error.h"
#include "core/system_calls.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "files/input_files.h"
#include "parse/first_bytes.h"
#include "registry/attr_value.h"
#include "registry/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *foreign_name(const uint8_t *data, int64_t size)
{
    int32_t compression = size >= 3 ? pfd_compression_of_bytes(data, size) : PFD_COMPRESSION_NONE;
    if (compression != PFD_COMPRESSION_NONE) return pfd_compression_name(compression);
    return pfd_foreign_file(data, size);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int32_t ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && !strncasecmp(text + length - size, end, size);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int32_t has_suffix(const pfd_format *format, const char *name, size_t length)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *suffixes[PFD_MAX_CHOICES];
    if (!format->suffixes || format->flags & PFD_FORMAT_SHARED_SUFFIXES) return 0;
    int64_t n = pfd_split_choices(format->suffixes, buffer, suffixes);
    for (int64_t i = 0; i < n; i++)
        if (ends_with(name, length, suffixes[i])) return 1;
    return 0;
}

/* Whether the name is that of the index of a data set, and a part of one lies beside it: other
 * programs have an index.json too.  *failure: an errno, if that cannot be told. */
static int32_t is_index_of_parts(const pfd_format *format, const char *path, int *failure)
{
    char folder[PATH_MAX];
    const char *name = last_part(path);
    if (!format->folder_file || strcmp(name, format->folder_file) != 0) return 0;
    if (snprintf(folder, sizeof folder, "%.*s.", (int)(name - path), path) >= (int)sizeof folder)
        return 0;
    DIR *names = pfd_sys_opendir(NULL, AT_FDCWD, folder);
    int32_t found = 0;
    int reason = names ? 0 : errno;
    while (names && !found) {
        const struct dirent *one = pfd_sys_readdir(NULL, names);
        if (!one) {
            reason = errno;
            break;
        }
        found = has_suffix(format, one->d_name, pfd_compression_plain_length(one->d_name));
    }
    if (reason != 0 && pfd_errno_class(reason, 0) != PFD_REASON_NONE) *failure = reason;
    if (names) (void)closedir(names);
    return found;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* The candidates for a file: the format by content and suffix, and the first one by suffix alone.
 */
typedef struct candidates {
    const pfd_registered_format *best, *named;
    int32_t score;
    int failure; /* an errno: a score is not known; else 0 */
} candidates;

static int32_t score_of(const pfd_format *format, const pfd_probe_args *args, int32_t is_named,
                        int *failure)
{
    int32_t score = format->probe ? format->probe(args) : PFD_PROBE_NO;
    if (score == PFD_PROBE_FAILED) *failure = errno;
    if (score < PFD_PROBE_NO || score > PFD_PROBE_CERTAIN) return PFD_PROBE_NO;
    if (score == PFD_PROBE_NO || score == PFD_PROBE_CERTAIN) return score;
    if (is_named) score += PFD_PROBE_SUFFIX;
    return score < PFD_PROBE_CERTAIN ? score : PFD_PROBE_CERTAIN - 1;
}

static candidates look(const pfd_probe_args *args)
{
    candidates found = {0};
    int32_t is_best_named = 0;
    const pfd_format_list *list = pfd_formats_list();
    const char *name = args->path ? last_part(args->path) : "";
    size_t length = pfd_compression_plain_length(name);
    for (int64_t i = 0; list && i < list->size; i++) {
        const pfd_registered_format *one = list->formats[i];
        int32_t is_index =
            args->path && is_index_of_parts(&one->format, args->path, &found.failure);
        int32_t is_named = is_index || has_suffix(&one->format, name, length);
        int32_t score = score_of(&one->format, args, is_named, &found.failure);
        if (is_index || (is_named && !found.named)) found.named = one;
        int32_t is_equal = score > PFD_PROBE_NO && score == found.score;
        if (score > found.score || (is_equal && is_named && !is_best_named)) {
            is_best_named = is_named;
            found.best = one;
            found.score = score;
        }
    }
    return found;
}

/* ---- What a file looks like, and its format -------------------------------------------------- */

const char *pfd_looks_like(const uint8_t *data, int64_t size, const char *own)
{
    pfd_error ignored = {.struct_size = sizeof ignored};
    if (size <= 0 || pfd_registry_check(&ignored) != PFD_OK) return NULL;
    pfd_probe_args args = {PFD_SIZE(pfd_probe_args), data, size, -1, NULL};
    candidates found = look(&args);
    const char *foreign = found.score < PFD_PROBE_CERTAIN ? foreign_name(data, size) : NULL;
    if (foreign) return foreign;
    if (!found.best) {
        int32_t guess = pfd_compression_guess(data, size);
        return guess != PFD_COMPRESSION_NONE ? pfd_compression_name(guess) : NULL;
    }
    return own && !strcmp(found.best->format.name, own) ? NULL : found.best->words;
}

static pfd_status fail_look(int reason, pfd_error *err)
{
    (void)pfd_fail(err, PFD_IO,
                   "its format cannot be detected, because the files beside it cannot be examined: "
                   "%s",
                   strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status fail_unknown(const uint8_t *data, int64_t size, pfd_error *err)
{
    char names[600];
    pfd_text text = pfd_text_in(names, sizeof names);
    const pfd_format_list *list = pfd_formats_list();
    for (int64_t i = 0; i < list->size; i++)
        pfd_text_add(&text, i > 0 ? ", %s" : "%s", list->formats[i]->format.name);
    const char *foreign = foreign_name(data, size);
    if (foreign)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "it looks like %s; no reader takes such a file without others", foreign);
    (void)pfd_fail(err, PFD_INVALID_ARGUMENT,
                   "its content has none of the supported formats; these are %s, and the formats "
                   "of plugins that are loaded, or whose packages are imported; for rows of one "
                   "size give format=\"raw\", dtype and shape; `pyflowdata new reader NAME` writes "
                   "a reader for another one",
                   names);
    static const char argument[] = "format"; /* the argument by which a user can state the format */
    if (err->struct_size >= sizeof *err) memcpy(err->attr, argument, sizeof argument);
    return PFD_INVALID_ARGUMENT;
}

/* Refuses a file whose name says how it is compressed, but whose content is neither compressed so
 * nor of a known format. */
static pfd_status check_compression(const pfd_probe_args *args, const candidates *found,
                                    pfd_error *err)
{
    const char *name = last_part(args->path);
    int32_t named = pfd_compression_of_name(name);
    if (pfd_compression_is_named(name, args->data, args->size))
        return pfd_fail(err, PFD_CORRUPT_DATA,
                        "it begins like compressed data, but the rest of the header is damaged");
    int32_t is_known = found->best && !(found->best->format.flags & PFD_FORMAT_TEXT);
    if (named == PFD_COMPRESSION_NONE || (is_known && args->size > 0)) return PFD_OK;
    if (pfd_foreign_file(args->data, args->size)) return PFD_OK; /* which is said of it */
    return pfd_fail(err, PFD_CORRUPT_DATA, "the name says %s, but the file %s",
                    pfd_compression_name(named),
                    args->size > 0 ? "does not begin like that, nor like any format but text"
                                   : "is empty");
}

/* Refuses a file whose name is that of an archive, but whose content is not one; no reader takes
 * such archives. */
static pfd_status check_archive(const pfd_probe_args *args, pfd_error *err)
{
    const char *name = last_part(args->path);
    int32_t is_named = ends_with(name, pfd_compression_plain_length(name), ".npz");
    if (!is_named || pfd_foreign_file(args->data, args->size)) return PFD_OK;
    return pfd_fail(err, PFD_CORRUPT_DATA,
                    "the name says NumPy .npz, which is a zip archive, but the file does not begin "
                    "like one; no reader takes .npz files: save each array as a .npy file");
}

/* Whether the suffix counts more than content that may be any text: then the file is a damaged one
 * of the format that its name says. */
static int32_t is_bound(const candidates *found)
{
    const pfd_registered_format *named = found->named, *best = found->best;
    return named && best && best != named && named->format.probe &&
           !(named->format.flags & PFD_FORMAT_TEXT) && (best->format.flags & PFD_FORMAT_TEXT);
}

static pfd_status detect(const pfd_probe_args *args, const pfd_registered_format **out,
                         pfd_error *err)
{
    candidates found = look(args);
    const pfd_registered_format *named = found.named;
    int32_t may_be_text = !named || named->format.flags & PFD_FORMAT_TEXT;
    *out = found.best;
    if (found.score == PFD_PROBE_CERTAIN) return PFD_OK;
    if (found.failure) return fail_look(found.failure, err);
    if (found.best && found.best->format.flags & PFD_FORMAT_TEXT &&
        pfd_foreign_file(args->data, args->size))
        return fail_unknown(args->data, args->size, err);
    const char *encoding = pfd_marked_encoding(args->data, args->size);
    if (!encoding && !found.best && named && may_be_text &&
        pfd_unmarked_encoding(args->data, args->size))
        encoding = "UTF-16";
    if (may_be_text && encoding)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "it looks like %s; convert it to UTF-8",
                        encoding);
    int32_t is_decompressed = args->file_size < 0;
    if (!is_decompressed) PFD_TRY(check_compression(args, &found, err));
    if (!found.best || found.best->format.flags & PFD_FORMAT_TEXT)
        PFD_TRY(check_archive(args, err));
    if (!found.best || (args->size == 0 && named) || is_bound(&found)) *out = named;
    return *out ? PFD_OK : fail_unknown(args->data, args->size, err);
}

/* The binary format whose suffix a name has; NULL: there is none. */
static const pfd_format *binary_of_name(const char *name)
{
    const pfd_format *format;
    size_t length = pfd_compression_plain_length(name);
    for (int64_t i = 0; (format = pfd_format_at(i)); i++)
        if (!(format->flags & PFD_FORMAT_TEXT) && format->probe && has_suffix(format, name, length))
            return format;
    return NULL;
}

static int32_t reads_text(const char *reader)
{
    const pfd_format *format;
    for (int64_t i = 0; (format = pfd_format_at(i)); i++)
        if (format->reader && !strcmp(format->reader, reader))
            return (format->flags & PFD_FORMAT_TEXT) != 0;
    return 0;
}

pfd_status pfd_check_text_reader(const char *reader, const pfd_file *file, pfd_scratch *scratch,
                                 pfd_error *err)
{
    enum { head = 512 };
    const pfd_format *named = binary_of_name(last_part(file->path));
    if (!named || !reads_text(reader)) return PFD_OK;
    const uint8_t *data;
    int64_t size = file->size < head ? file->size : head;
    if (size == 0 || pfd_file_compression(file) != PFD_COMPRESSION_NONE) return PFD_OK;
    PFD_TRY(pfd_file_read(file, 0, size, scratch, &data, err));
    if (pfd_is_text(data, size)) return PFD_OK;
    return pfd_fail_at(err, file, 0, PFD_INVALID_ARGUMENT,
                       "the name says %s, which %s reads, but the file is not text; give a text "
                       "file another name",
                       named->title, named->reader);
}

pfd_status pfd_format_detect(const char *path, const uint8_t *data, int64_t size,
                             int64_t file_size, const pfd_format **out, pfd_error *err)
{
    PFD_TRY(pfd_registry_check(err));
    pfd_error_clear(err);
    pfd_probe_args args = {PFD_SIZE(pfd_probe_args), data, size, file_size, path};
    const pfd_registered_format *found;
    pfd_status status = detect(&args, &found, err);
    if (status == PFD_OK) *out = &found->format;
    if (status != PFD_OK) pfd_error_set_file(err, path);
    return status;
}

pfd_status pfd_format_of_folder(const char *path, const pfd_format **out, pfd_error *err)
{
    const pfd_probe_folder_args args = {PFD_SIZE(pfd_probe_folder_args), path};
    const pfd_format *format;
    int32_t most = PFD_PROBE_NO;
    int failure = 0;
    *out = NULL;
    for (int64_t i = 0; (format = pfd_format_at(i)); i++) {
        int32_t score = format->probe_folder ? format->probe_folder(&args) : PFD_PROBE_NO;
        if (score == PFD_PROBE_FAILED) failure = errno;
        if (score <= most || score > PFD_PROBE_CERTAIN) continue;
        most = score;
        *out = format;
    }
    if (*out || !failure) return PFD_OK;
    (void)fail_look(failure, err);
    pfd_error_set_file(err, path);
    return err->status;
}

/* ---- The list as a user sees it -------------------------------------------------------------- */

static const pfd_registered_format *format_at(int64_t i)
{
    pfd_error ignored = {.struct_size = sizeof ignored};
    if (pfd_registry_check(&ignored) != PFD_OK) return NULL;
    const pfd_format_list *list = pfd_formats_list();
    return list && i >= 0 && i < list->size ? list->formats[i] : NULL;
}

const pfd_format *pfd_format_at(int64_t i)
{
    const pfd_registered_format *found = format_at(i);
    return found ? &found->format : NULL;
}

int64_t pfd_format_resync(const char *name, const uint8_t *data, int64_t size, int64_t from)
{
    const pfd_format *format;
    for (int64_t i = 0; (format = pfd_format_at(i)); i++)
        if (!strcmp(format->name, name))
            return format->resync ? format->resync(data, size, from) : -1;
    return -1;
}

const char *pfd_format_origin(int64_t i)
{
    const pfd_registered_format *found = format_at(i);
    return found ? found->origin : NULL;
}
