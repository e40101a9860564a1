/* Checks the rules for descriptors of file formats. */
#include "registry/format_check.h"

#include "core/error.h"
#include "registry/attr_value.h"
#include "registry/descriptor.h"

#include <inttypes.h>
#include <string.h>

enum {
    least_bytes = offsetof(pfd_format, probe) + sizeof(void *), /* of the first header */
    most_bytes = 4096 /* no struct is larger; a larger size is memory that was never set */
};

static pfd_status fault(const char *format, const char *field, const char *found, pfd_error *err)
{
    return pfd_fail(err, PFD_INTERNAL, "descriptor of format '%.64s': %s %s",
                    format ? format : "NULL", field, found);
}

pfd_status pfd_format_copy(const pfd_format *author, pfd_format *out, pfd_error *err)
{
    size_t size = author->struct_size;
    if (size < least_bytes || size > most_bytes)
        return pfd_fail(err, PFD_INTERNAL,
                        "descriptor of a format: struct_size is %" PRIu32
                        "; it must be sizeof(pfd_format)",
                        author->struct_size);
    *out = (pfd_format){0};
    memcpy(out, author, size < sizeof *out ? size : sizeof *out);
    out->struct_size = sizeof *out;
    return PFD_OK;
}

/* Whether a text is a suffix such as ".tfr": a period, then lower-case characters of file names. */
static int32_t is_suffix(const char *text)
{
    size_t size = strlen(text);
    return size >= 2 && text[0] == '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

static int32_t are_suffixes(const char *suffixes)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = pfd_split_choices(suffixes, buffer, names);
    for (int64_t i = 0; i < n; i++)
        if (!is_suffix(names[i])) return 0;
    return n > 0;
}

static pfd_status check_reader(const pfd_format *format,
                               const pfd_op *(*find_op)(const char *name), pfd_error *err)
{
    const pfd_op *op = format->reader ? find_op(format->reader) : NULL;
    if (!op) return fault(format->name, "reader", "must be the name of an op", err);
    if (!op->open || !(op->flags & PFD_READS_FILES))
        return fault(format->name, "reader", "must be an op that reads files, PFD_READS_FILES",
                     err);
    int32_t takes_folders = (op->flags & PFD_READS_FOLDERS) != 0;
    if (takes_folders != (format->probe_folder != NULL))
        return fault(format->name, "probe_folder",
                     takes_folders ? "is NULL, and the reader has PFD_READS_FOLDERS"
                                   : "is there, and the reader lacks PFD_READS_FOLDERS",
                     err);
    return PFD_OK;
}

static pfd_status check_decoders(const pfd_format *format,
                                 const pfd_op *(*find_op)(const char *name), pfd_error *err)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    if (!format->decoders) return PFD_OK;
    int64_t n = pfd_split_choices(format->decoders, buffer, names);
    if (n <= 0) return fault(format->name, "decoders", "must be names separated by |", err);
    for (int64_t i = 0; i < n; i++) {
        const pfd_op *op = find_op(names[i]);
        if (!op) return fault(format->name, "decoders", "must be names of ops", err);
        if (op->open) return fault(format->name, "decoders", "must not be readers", err);
    }
    return PFD_OK;
}

pfd_status pfd_format_check(const pfd_format *format, const pfd_op *(*find_op)(const char *name),
                            pfd_error *err)
{
    const char *name = format->name;
    if (!pfd_is_snake_case(name))
        return fault(name, "name", "must be in lower_snake_case, at most 63 letters", err);
    if (!format->title || !format->title[0])
        return fault(name, "title", "is missing: the name as users of the format write it", err);
    if (!pfd_is_sentence(format->doc))
        return fault(name, "doc", "must be a sentence that ends with a period", err);
    if (format->flags & ~(PFD_FORMAT_TEXT | PFD_FORMAT_SHARED_SUFFIXES))
        return fault(name, "flags", "has unknown bits", err);
    if (format->suffixes && !are_suffixes(format->suffixes))
        return fault(name, "suffixes", "must be like '.tfrecord|.tfr', in lower case", err);
    if (!format->probe && !format->probe_folder &&
        (!format->suffixes || format->flags & PFD_FORMAT_SHARED_SUFFIXES))
        return fault(name, "probe", "is NULL, but the format has no suffix of its own to recognise "
                                    "a file",
                     err);
    if (format->folder_file && (!format->folder_file[0] || strchr(format->folder_file, '/')))
        return fault(name, "folder_file", "must be the name of a file", err);
    PFD_TRY(check_reader(format, find_op, err));
    return check_decoders(format, find_op, err);
}
