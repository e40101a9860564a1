/* Infers the fields of a tar file's samples if the user left them out. */
#include "formats/tar/tar_infer.h"

#include "core/error.h"
#include "files/input_files.h"
#include "formats/tar/tar_end.h"
#include "sources/fields.h"

#include <inttypes.h>
#include <string.h>

/* How much of a file is read if it has a sample. A file without one is read to its end. */
enum {
    most_members = 256,
    most_bytes = 1 << 24, /* of a compressed file */
};

typedef struct extension {
    const char *name; /* in lower case, ends with a 0 */
    int64_t size;
    int64_t samples; /* how many samples have it */
    int64_t latest;  /* the last sample that has it, counted from 1 */
} extension;

typedef struct walker {
    const pfd_propose_args *args;
    const pfd_file *file;
    pfd_tar_bytes bytes;
    extension *found;
    int64_t num_found;
    int64_t samples;
    pfd_tar_name key; /* of the current sample */
} walker;

/* '=' and '|' have a meaning in a field. */
static int32_t can_be_asked_for(const pfd_tar_name *name)
{
    for (int64_t i = 0; i < name->extension_size; i++)
        if (strchr("=|", name->extension[i])) return 0; /* or a 0 */
    return name->extension_size > 0;
}

static pfd_status copy_lower(const walker *self, const pfd_tar_name *name, const char **out,
                             pfd_error *err)
{
    char *text = self->args->host->alloc(self->args->scratch, name->extension_size + 1);
    if (!text)
        return self->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an extension");
    for (int64_t i = 0; i < name->extension_size; i++) {
        char c = name->extension[i];
        text[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    text[name->extension_size] = '\0';
    *out = text;
    return PFD_OK;
}

static pfd_status take_extension(walker *self, const pfd_tar_name *name, pfd_error *err)
{
    const char *text = NULL;
    int64_t i = 0;
    if (!can_be_asked_for(name)) return PFD_OK;
    PFD_TRY(copy_lower(self, name, &text, err));
    while (i < self->num_found && strcmp(self->found[i].name, text) != 0) i++;
    if (i == self->num_found)
        self->found[self->num_found++] = (extension){.name = text, .size = name->extension_size};
    extension *one = &self->found[i];
    one->samples += one->latest != self->samples;
    one->latest = self->samples;
    return PFD_OK;
}

static pfd_status take_member(walker *self, const pfd_tar_member *member, pfd_error *err)
{
    pfd_tar_name name;
    if (!pfd_tar_name_split(member, &name)) return PFD_OK;
    int32_t is_same = self->samples > 0 && name.key_size == self->key.key_size &&
                      !memcmp(name.key, self->key.key, (size_t)name.key_size);
    self->samples += !is_same;
    self->key = name;
    return take_extension(self, &name, err);
}

/* Reads one member and sets *at to the beginning of the next one. */
static pfd_status step(walker *self, int64_t *at, int32_t *is_end, pfd_error *err)
{
    pfd_tar_member member;
    PFD_TRY(pfd_file_ends_at(self->file, *at, self->args->scratch, is_end, err));
    if (*is_end) return PFD_OK;
    PFD_TRY(pfd_tar_look(&self->bytes, *at, &member, err));
    *is_end = member.is_end;
    if (*is_end) return PFD_OK;
    if (member.data > self->file->size || member.size > self->file->size - member.data)
        return self->args->host->fail_file(err, self->file, *at, PFD_CORRUPT_DATA,
                                           "the member of %" PRId64
                                           " bytes goes past the end of the file", member.size);
    PFD_TRY(take_member(self, &member, err));
    *at = member.next;
    return PFD_OK;
}

/* Whether to read another member. Until a sample is found, only the end of the file stops it. */
static int32_t goes_on(const walker *self, int64_t members, int64_t at)
{
    if (self->num_found == 0) return 1;
    return members < most_members && (self->file->size < INT64_MAX || at <= most_bytes);
}

/* Reads the members of the file.  Damage after the first sample is left for the reader to report.
 */
static pfd_status walk(walker *self, pfd_error *err)
{
    int32_t is_end = 0;
    int64_t at = 0;
    pfd_status status = PFD_OK;
    for (int64_t i = 0; goes_on(self, i, at) && !is_end && status == PFD_OK; i++)
        status = step(self, &at, &is_end, err);
    if (status == PFD_CORRUPT_DATA && self->num_found > 0) {
        pfd_error_clear(err);
        status = PFD_OK;
    }
    if (status != PFD_OK) {
        if (err->file[0] == '\0') pfd_error_set_file(err, self->file->path);
        return status;
    }
    if (is_end || self->samples == 1) return PFD_OK;
    for (int64_t i = 0; i < self->num_found; i++) /* the last sample may have unread members */
        self->found[i].samples -= self->found[i].latest == self->samples;
    self->samples--;
    return PFD_OK;
}

static pfd_status set_fields(const walker *self, pfd_error *err)
{
    int64_t n = self->num_found + 1;
    pfd_inferred_field *fields =
        self->args->host->alloc(self->args->scratch, n * (int64_t)sizeof *fields);
    if (!fields) return self->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    fields[0] = (pfd_inferred_field){.key = "__key__", .key_size = 7, .type = "bytes"};
    for (int64_t i = 0; i < self->num_found; i++) {
        const extension *one = &self->found[i];
        fields[i + 1] = (pfd_inferred_field){.key = one->name, .key_size = one->size};
        if (one->samples == self->samples)
            memcpy(fields[i + 1].type, "bytes", sizeof "bytes");
        else
            memcpy(fields[i + 1].type, "bytes=", sizeof "bytes=");
    }
    return pfd_inferred_fields_set(self->args, "fields", self->file, fields, n, err);
}

static pfd_status infer_from_file(const pfd_propose_args *args, const pfd_file *file,
                                  int32_t *is_found, pfd_error *err)
{
    const pfd_frame_args frame = {
        PFD_SIZE(pfd_frame_args), args->host, args->attrs, file, 0, args->scratch};
    walker self = {.args = args,
                   .file = file,
                   .bytes = {pfd_tar_get_from_file, &frame, args->host, args->scratch}};
    self.found = args->host->alloc(args->scratch, most_members * (int64_t)sizeof *self.found);
    if (!self.found) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for extensions");
    PFD_TRY(walk(&self, err));
    *is_found = self.num_found > 0;
    return *is_found ? set_fields(&self, err) : PFD_OK;
}

pfd_status pfd_tar_infer(const pfd_propose_args *args, int64_t num_tars, pfd_error *err)
{
    const pfd_file *file = NULL;
    int32_t is_found = 0;
    for (int64_t i = 0; i < num_tars && !is_found; i++) {
        PFD_TRY(args->open(args->found, i, &file, err));
        PFD_TRY(infer_from_file(args, file, &is_found, err));
    }
    if (is_found) return PFD_OK;
    (void)args->host->fail(err, PFD_CORRUPT_DATA,
                           "the files have no samples, so there are no fields");
    if (file) pfd_error_set_file(err, file->path);
    return pfd_error_set_reason(err, PFD_REASON_NO_RECORDS);
}
