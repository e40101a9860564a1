/* Writes the fields of a file as the elements of a list attr. */
#include "sources/inferred_fields.h"

#include "core/error.h"
#include "parse/words.h"
#include "sources/host_outputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whether it is the name of an output that every reader has. */
static int32_t is_of_readers(const char *name)
{
    int32_t found = 0;
    for (int32_t i = 0; i < PFD_HOST_OUTPUT_COUNT; i++)
        found |= !strcmp(name, pfd_host_outputs[i].name);
    return found;
}

/* Whether an output with this name exists: one of every reader, or a field of the file. */
static int32_t is_taken(const char *name, const pfd_inferred_field *fields, int64_t n)
{
    int32_t taken = is_of_readers(name);
    for (int64_t i = 0; i < n && !taken; i++) taken = !strcmp(name, fields[i].key);
    return taken;
}

static pfd_status check_key(const pfd_propose_args *args, const char *attr, const pfd_file *file,
                            const pfd_inferred_field *field, pfd_error *err)
{
    char shown[256];
    if (field->key_size > 0 && (size_t)field->key_size == strlen(field->key) &&
        !strchr(field->key, '='))
        return PFD_OK;
    return args->host->fail_file(
        err, file, -1, PFD_UNSUPPORTED,
        "the name %s cannot be written in a list of fields, because it is empty or contains '=' or "
        "a zero byte; list the fields that are to be read in the attr '%s'",
        pfd_quote_bytes((const uint8_t *)field->key, field->key_size, shown, sizeof shown), attr);
}

static pfd_status write_element(const pfd_propose_args *args, const pfd_inferred_field *fields,
                                int64_t n, int64_t i, const char **out, pfd_error *err)
{
    const pfd_inferred_field *field = &fields[i];
    int32_t is_renamed = is_of_readers(field->key);
    size_t key = (size_t)field->key_size, capacity = 2 * key + (size_t)n + sizeof field->type + 8;
    char *text = args->host->alloc(args->scratch, (int64_t)capacity);
    if (!text) return pfd_fail_memory(err, (int64_t)capacity, "a field");
    size_t used = 0;
    if (is_renamed) {
        memcpy(text, field->key, key + 1);
        for (used = key; is_taken(text, fields, n);) {
            text[used++] = '_';
            text[used] = '\0';
        }
        text[used++] = '=';
    }
    (void)snprintf(text + used, capacity - used, "%s:%s", field->key, field->type);
    *out = text;
    return PFD_OK;
}

pfd_status pfd_inferred_fields_set(const pfd_propose_args *args, const char *attr,
                                   const pfd_file *file, const pfd_inferred_field *fields,
                                   int64_t n, pfd_error *err)
{
    int64_t bytes = n * (int64_t)sizeof(const char *);
    const char **elements = args->host->alloc(args->scratch, bytes);
    if (!elements) return pfd_fail_memory(err, bytes, "a list of fields");
    for (int64_t i = 0; i < n; i++) {
        PFD_TRY(check_key(args, attr, file, &fields[i], err));
        PFD_TRY(write_element(args, fields, n, i, &elements[i], err));
    }
    return args->set_strings(args->found, attr, elements, n, err);
}
