/* Infers the classes of manifests from all of their lines. */
#include "formats/manifest/manifest_infer.h"

#include "core/error.h"
#include "formats/manifest/class_names.h"
#include "formats/manifest/manifest_line.h"
#include "sources/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the reader needs too --------------------------------------------------------------- */
pfd_status pfd_manifest_fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the lines of a manifest");
}

pfd_status pfd_manifest_fail_line(const pfd_host *host, const char *path, int64_t number,
                                  int64_t at, const char *problem, pfd_error *err)
{
    (void)host->fail(err, PFD_CORRUPT_DATA, "byte %" PRId64 " of the line: %s", at, problem);
    pfd_error_set_file(err, path);
    err->line = number;
    return PFD_CORRUPT_DATA;
}

pfd_status pfd_manifest_fail_compressed(const pfd_host *host, const char *path, pfd_error *err)
{
    (void)host->fail(err, PFD_UNSUPPORTED, "the manifest is compressed; decompress it");
    pfd_error_set_file(err, path);
    return PFD_UNSUPPORTED;
}

const char *pfd_manifest_label(const pfd_host *host, const pfd_json_text *text,
                               pfd_scratch *scratch, int64_t *size)
{
    *size = text->size;
    if (!text->has_escapes) return (const char *)text->data;
    char *out = host->alloc(scratch, text->size);
    if (out) *size = pfd_json_decode(text, out);
    return out;
}

/* ---- Classes --------------------------------------------------------------------------------- */
static pfd_status add_labels(const pfd_host *host, const pfd_manifest_line *line,
                             pfd_scratch *scratch, pfd_class_names *names, pfd_error *err)
{
    pfd_json labels = pfd_manifest_labels_of(line);
    pfd_json_text text;
    while (pfd_manifest_labels_next(&labels, &text)) {
        int64_t size;
        const char *name = pfd_manifest_label(host, &text, scratch, &size);
        if (!name || !pfd_class_names_add(names, name, size))
            return pfd_manifest_fail_memory(host, err);
    }
    return PFD_OK;
}

static int32_t is_blank(const uint8_t *line, int64_t size)
{
    while (size > 0 && (*line == ' ' || *line == '\t' || *line == '\r')) line++, size--;
    return size == 0;
}

static pfd_status add_classes(const pfd_propose_args *args, const pfd_file *file,
                              pfd_class_names *names, pfd_error *err)
{
    const uint8_t *text;
    PFD_TRY(args->host->read(file, 0, file->size, args->scratch, &text, err));
    int64_t at = pfd_text_mark_bytes(text, file->size);
    for (int64_t number = 1; at < file->size; number++) {
        const uint8_t *end = memchr(text + at, '\n', (size_t)(file->size - at));
        int64_t size = end ? end - (text + at) : file->size - at, wrong;
        pfd_manifest_line line;
        if (!is_blank(text + at, size)) {
            const char *problem = pfd_manifest_line_parse(text + at, size, &line, &wrong);
            if (problem)
                return pfd_manifest_fail_line(args->host, file->path, number, wrong, problem, err);
            PFD_TRY(add_labels(args->host, &line, args->scratch, names, err));
        }
        at += size + 1;
    }
    return PFD_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static pfd_status find_classes(const pfd_propose_args *args, pfd_class_names *names, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        const pfd_file *file;
        PFD_TRY(args->open(args->found, i, &file, err));
        if (file->size == INT64_MAX)
            return pfd_manifest_fail_compressed(args->host, args->paths[i], err);
        PFD_TRY(add_classes(args, file, names, err));
    }
    if (names->size > 0)
        qsort(names->names, (size_t)names->size, sizeof *names->names, by_bytes);
    return args->set_strings(args->found, "classes", (const char *const *)names->names,
                             names->size, err);
}

pfd_status pfd_manifest_infer_classes(const pfd_propose_args *args, pfd_error *err)
{
    pfd_class_names names = {0};
    pfd_status status = find_classes(args, &names, err);
    pfd_class_names_free(&names);
    return status;
}
