/* TarReader: reads samples of several files each, as WebDataset packs them into tar files. */
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "formats/tar/tar_header.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "sources/fields.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What follows the members of a file ------------------------------------------------------ */

/* Two blocks of zeros mark the end.  A writer fills its last record of 20 blocks.  Some writers
 * (Ant, Plexus, AIX tar) fill it with the previous content of their buffer, which GNU tar ignores.
 * After that record only zeros may follow.  A second archive is an error: the reader would lose its
 * members.
 *
 * THREADS  Pure functions. */

enum {
    record_bytes = 20 * PFD_TAR_BLOCK,   /* the default of writers */
    most_end_bytes = 128 * PFD_TAR_BLOCK /* bytes of a frame, which stay in memory */
};

/* Reads up to a block; *there is the number of its bytes that are in the file. */
static pfd_status read_block(const pfd_frame_args *args, int64_t at, const uint8_t **block,
                             int64_t *there, pfd_error *err)
{
    int32_t is_end;
    PFD_TRY(pfd_file_bytes_at(args->file, at, PFD_TAR_BLOCK, args->scratch, there, &is_end, err));
    if (*there > 0) return args->host->read(args->file, at, *there, args->scratch, block, err);
    *there = 0;
    return PFD_OK;
}

static int32_t is_zero(const uint8_t *bytes, int64_t size)
{
    while (size > 0 && bytes[size - 1] == 0) size--;
    return size == 0;
}

/* Sets *is: whether two blocks of zeros begin at `at` and end by `end`.  The caller has checked the
 * first block. */
static pfd_status is_marked(const pfd_frame_args *args, int64_t at, int64_t end, int32_t *is,
                            pfd_error *err)
{
    const uint8_t *second;
    int64_t there;
    *is = 0;
    if (at + 2 * PFD_TAR_BLOCK > end) return PFD_OK;
    PFD_TRY(read_block(args, at + PFD_TAR_BLOCK, &second, &there, err));
    *is = is_zero(second, there);
    return PFD_OK;
}

/* A get() over a file.  ctx is the pfd_frame_args; offsets count from the frame's offset. */
static pfd_status tar_get_from_file(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                    const uint8_t **data, pfd_error *err)
{
    const pfd_frame_args *args = self->ctx;
    return args->host->read(args->file, args->offset + offset, size, self->scratch, data, err);
}

/* Reads the member at `offset` of the frame; bytes->ctx is the pfd_frame_args.  out->is_end is also
 * set if the file ends there, or has less than a block there and only zeros. */
static pfd_status tar_look(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                           pfd_error *err)
{
    const pfd_frame_args *args = bytes->ctx;
    const uint8_t *block;
    int64_t there;
    PFD_TRY(read_block(args, args->offset + offset, &block, &there, err));
    *out = (pfd_tar_member){.is_end = is_zero(block, there)};
    return out->is_end ? PFD_OK : pfd_tar_member_at(bytes, offset, out, err);
}

/* Whether the header at `at` begins a second archive.  A header that a writer left in its buffer
 * is followed by other remains up to the end of the record, without an end mark among them; at
 * most the first half of a mark can be at the end of the record. */
static pfd_status begins_archive(const pfd_tar_bytes *bytes, int64_t at, int64_t record_end,
                                 int32_t *does, pfd_error *err)
{
    const pfd_frame_args *args = bytes->ctx;
    PFD_TRY(pfd_file_ends_at(args->file, record_end - 1, args->scratch, does, err));
    while (!*does && at < record_end) {
        pfd_tar_member member;
        pfd_status status = pfd_tar_member_at(bytes, at - args->offset, &member, err);
        if (status == PFD_CORRUPT_DATA || status == PFD_UNSUPPORTED) return PFD_OK;
        if (status != PFD_OK) return status;
        if (member.is_end) return is_marked(args, at, record_end, does, err);
        at = args->offset + member.next;
    }
    return PFD_OK;
}

/* Makes the frame of an end that tar_look() found at the frame's offset.  PFD_CORRUPT_DATA: the
 * bytes after the end are not allowed. */
static pfd_status tar_pass_end(const pfd_tar_bytes *bytes, pfd_frame *out, pfd_error *err)
{
    const pfd_frame_args *args = bytes->ctx;
    int64_t second = args->offset + PFD_TAR_BLOCK; /* block of the two that mark the end */
    int64_t record_end = (second / record_bytes + 1) * record_bytes, zeros = args->offset;
    out->is_record = 0;
    for (int64_t at = args->offset; at < args->offset + most_end_bytes; at += PFD_TAR_BLOCK) {
        const uint8_t *block;
        int64_t there;
        int32_t is_more = 0;
        PFD_TRY(read_block(args, at, &block, &there, err));
        if (is_zero(block, there)) zeros = at;
        else if (at >= record_end || zeros < second) is_more = 1;
        else if (there == PFD_TAR_BLOCK && pfd_tar_has_checksum(block))
            PFD_TRY(begins_archive(bytes, at, record_end, &is_more, err));
        if (is_more)
            return args->host->fail_file(err, args->file, at, PFD_CORRUPT_DATA,
                                         "the archive ends before this byte, but another one "
                                         "follows; were two tar files joined by cat? use tar "
                                         "--concatenate");
        out->next = at + there;
        if (there < PFD_TAR_BLOCK) return PFD_OK;
    }
    out->next = zeros; /* the next frame continues there */
    return PFD_OK;
}

/* ---- DALI's index files, compared with the tar files that they describe ---------------------- */

/* An index file begins "v1.2 SAMPLES", and has a line of "extension offset size name" for each
 * sample; version v1.1 has no names.
 *
 * ERRORS  PFD_CORRUPT_DATA with the place in the index file, and what the index and the tar have.
 */

typedef struct index_check {
    const pfd_open_args *args;
    const pfd_source *source;
    pfd_scratch *scratch; /* of a sample */
    const pfd_file *tar, *index;
    const uint8_t *text, *end, *at; /* of the index */
    int64_t ordinal;                /* of the current sample */
    int32_t has_names;
} index_check;

typedef struct component {
    const uint8_t *extension;
    int64_t extension_size, offset, size;
} component;

static pfd_status fail_here(const index_check *self, const uint8_t *at, pfd_error *err,
                            const char *message)
{
    return self->args->host->fail_file(err, self->index, at - self->text, PFD_CORRUPT_DATA,
                                       "%s (sample %" PRId64 " of the dataset)", message,
                                       self->ordinal);
}

static void pass_blanks(index_check *self)
{
    while (self->at < self->end && (*self->at == ' ' || *self->at == '\r')) self->at++;
}

/* Takes the next word of the line.  Returns its size, 0 at the end of the line. */
static int64_t take_word(index_check *self, const uint8_t **word)
{
    pass_blanks(self);
    *word = self->at;
    while (self->at < self->end && !memchr(" \r\n", *self->at, 3)) self->at++;
    return self->at - *word;
}

/* Takes the next word as a number; -1: it is none. */
static int64_t take_number(index_check *self)
{
    const uint8_t *word;
    int64_t size = take_word(self, &word), value = 0;
    if (size == 0 || size > 18) return -1;
    for (int64_t i = 0; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') return -1;
        value = value * 10 + (word[i] - '0');
    }
    return value;
}

static pfd_status take_component(index_check *self, component *out, pfd_error *err)
{
    const uint8_t *name, *begin = self->at;
    out->extension_size = take_word(self, &out->extension);
    out->offset = take_number(self);
    out->size = take_number(self);
    if (out->offset < 0 || out->size < 0 || (self->has_names && take_word(self, &name) == 0))
        return fail_here(self, begin, err,
                         "expected an extension, an offset, a size and, in v1.2, the name of a "
                         "file; a name must not contain a blank");
    return PFD_OK;
}

static int32_t is_component(const component *found, const pfd_record *record,
                            const pfd_tar_member *member, const pfd_tar_name *name)
{
    return found->offset == record->offset + member->data && found->size == member->size &&
           found->extension_size == name->extension_size &&
           !memcmp(found->extension, name->extension, (size_t)name->extension_size);
}

/* Compares a line of the index with the files of its sample, in their order. */
static pfd_status check_sample(index_check *self, const pfd_record *record, pfd_error *err)
{
    const pfd_tar_bytes bytes = {pfd_tar_get_from_record, record, self->args->host, self->scratch};
    for (int64_t at = 0; at < record->size;) {
        pfd_tar_member member;
        pfd_tar_name name;
        component found;
        PFD_TRY(pfd_tar_member_at(&bytes, at, &member, err));
        if (member.is_end || member.next <= at) break;
        at = member.next;
        if (!pfd_tar_name_split(&member, &name)) continue;
        const uint8_t *begin = self->at;
        PFD_TRY(take_component(self, &found, err));
        if (is_component(&found, record, &member, &name)) continue;
        char message[300];
        snprintf(message, sizeof message,
                 "the index does not agree with the tar, in which '%.*s' has %" PRId64
                 " bytes at %" PRId64 "; make the index again",
                 (int)(member.name_size < 100 ? member.name_size : 100), member.name, member.size,
                 record->offset + member.data);
        return fail_here(self, begin, err, message);
    }
    pass_blanks(self);
    if (self->at < self->end && *self->at != '\n')
        return fail_here(self, self->at, err,
                         "the index has more files here than the tar has in this sample; make the "
                         "index again");
    self->at += self->at < self->end;
    return PFD_OK;
}

/* Finds the record of the current sample.  If the current tar does not have it, its size is -1. */
static pfd_status find_sample(const index_check *self, pfd_record *out, pfd_error *err)
{
    const pfd_source *source = self->source;
    *out = (pfd_record){.size = -1};
    if (self->ordinal >= source->methods->size(source->self)) return PFD_OK;
    pfd_scratch_reset(self->scratch);
    PFD_TRY(source->methods->at(source->self, &self->ordinal, 1, self->scratch, out, err));
    if (out->file != self->tar->index) out->size = -1;
    return PFD_OK;
}

static pfd_status check_index(index_check *self, pfd_error *err)
{
    const uint8_t *word;
    pfd_record record;
    int64_t size = take_word(self, &word);
    self->has_names = size == 4 && !memcmp(word, "v1.2", 4);
    if (!self->has_names && (size != 4 || memcmp(word, "v1.1", 4) != 0))
        return fail_here(self, word, err,
                         "expected v1.1 or v1.2, with which an index of DALI begins");
    int64_t samples = take_number(self);
    if (samples < 0 || take_word(self, &word) > 0)
        return fail_here(self, self->text, err, "expected the number of samples");
    self->at += self->at < self->end;
    for (int64_t i = 0; i < samples; i++, self->ordinal++) {
        PFD_TRY(find_sample(self, &record, err));
        if (record.size < 0)
            return fail_here(self, self->at, err,
                             "the index has more samples than the tar; make the index again");
        PFD_TRY(check_sample(self, &record, err));
    }
    PFD_TRY(find_sample(self, &record, err));
    if (record.size < 0) return PFD_OK;
    return fail_here(self, self->text, err,
                     "the tar has more samples than the index; make the index again");
}

static pfd_status check_all(index_check *self, int64_t num_tars, pfd_error *err)
{
    for (int64_t i = 0; i < num_tars; i++) {
        self->tar = self->args->files[i];
        self->index = self->args->files[num_tars + i];
        PFD_TRY(pfd_file_read(self->index, 0, self->index->size, self->args->scratch, &self->text,
                              err));
        self->at = self->text;
        self->end = self->text + self->index->size;
        PFD_TRY(check_index(self, err));
    }
    return PFD_OK;
}

/* Compares the index files with the samples of the source.  args->files has `num_tars` tar
 * files, then the index files; the source reads the tar files. */
static pfd_status tar_indexes_check(const pfd_open_args *args, int64_t num_tars,
                                    const pfd_source *source, pfd_error *err)
{
    if (!source->methods->at)
        return args->host->fail(err, PFD_UNSUPPORTED,
                                "index_files have offsets in tar files, but some of these are "
                                "compressed; leave index_files out");
    index_check self = {.args = args, .source = source, .scratch = pfd_scratch_create()};
    if (!self.scratch) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a scratch");
    pfd_status status = check_all(&self, num_tars, err);
    pfd_scratch_free(self.scratch);
    return status;
}

/* ---- Fields of the samples, where the user left them out ------------------------------------- */

/* How much is read of a file with samples. A file without a sample is read to its end. */
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

/* Whether an extension can be written in a field, in which '=' and '|' have a meaning. */
static int32_t can_be_asked_for(const pfd_tar_name *name)
{
    for (int64_t i = 0; i < name->extension_size; i++)
        if (strchr("=|", name->extension[i])) return 0; /* strchr() finds a 0 too */
    return name->extension_size > 0;
}

static pfd_status copy_lower(const walker *self, const pfd_tar_name *name, const char **out,
                             pfd_error *err)
{
    char *text = self->args->host->alloc(self->args->scratch, name->extension_size + 1);
    if (!text)
        return self->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an extension");
    for (int64_t i = 0; i < name->extension_size; i++) text[i] = pfd_lower(name->extension[i]);
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

static int32_t is_same_key(const pfd_tar_name *a, const pfd_tar_name *b)
{
    return a->key_size == b->key_size && !memcmp(a->key, b->key, (size_t)a->key_size);
}

static pfd_status take_member(walker *self, const pfd_tar_member *member, pfd_error *err)
{
    pfd_tar_name name;
    if (!pfd_tar_name_split(member, &name)) return PFD_OK;
    self->samples += self->samples == 0 || !is_same_key(&name, &self->key);
    self->key = name;
    return take_extension(self, &name, err);
}

/* Reads one member and sets *at to the beginning of the next one. */
static pfd_status step(walker *self, int64_t *at, int32_t *is_end, pfd_error *err)
{
    pfd_tar_member member;
    PFD_TRY(pfd_file_ends_at(self->file, *at, self->args->scratch, is_end, err));
    if (*is_end) return PFD_OK;
    PFD_TRY(tar_look(&self->bytes, *at, &member, err));
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

/* Reads the members of the file.  The reader reports damage after the first sample later. */
static pfd_status walk_members(walker *self, pfd_error *err)
{
    int32_t is_end = 0, is_enough = 0;
    int64_t at = 0, most = self->file->size < INT64_MAX ? INT64_MAX : most_bytes;
    pfd_status status = PFD_OK;
    for (int64_t n = 1; !is_enough && !is_end && status == PFD_OK; n++) {
        status = step(self, &at, &is_end, err);
        is_enough = self->num_found > 0 && (n >= most_members || at > most);
    }
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
                   .bytes = {tar_get_from_file, &frame, args->host, args->scratch}};
    self.found = args->host->alloc(args->scratch, most_members * (int64_t)sizeof *self.found);
    if (!self.found) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for extensions");
    PFD_TRY(walk_members(&self, err));
    *is_found = self.num_found > 0;
    return *is_found ? set_fields(&self, err) : PFD_OK;
}

/* Sets `fields` to the key and the extensions of the first samples of the first `num_tars`
 * paths, in their order.  An extension that some of these samples lack gets an empty default.
 * PFD_REASON_NO_RECORDS: the files are intact, but have no sample. */
static pfd_status tar_infer(const pfd_propose_args *args, int64_t num_tars, pfd_error *err)
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

/* ---- The op ---------------------------------------------------------------------------------- */

typedef struct tar_reader {
    pfd_list_string fields, index_files;
} tar_reader;

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(tar_reader, fields, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "The outputs. Each is the extension of a sample's file, without the dot "
                       "after the key: 'jpg', 'image=jpg|png', 'note=txt:bytes=' with an empty "
                       "default, 'key=__key__'. If left out, the key and the extensions of the "
                       "first samples."),
    PFD_STRINGS_ATTR(tar_reader, index_files, "",
                     "DALI's index files, one for each file; they are compared with the files."),
};

/* ---- Samples in the file --------------------------------------------------------------------- */

/* Finds a sample: from the headers of its first file to the end of its last file's content. */
static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const pfd_tar_bytes bytes = {tar_get_from_file, args, args->host, args->scratch};
    pfd_tar_member member;
    pfd_tar_name first, name;
    PFD_TRY(tar_look(&bytes, 0, &member, err));
    if (member.is_end) return tar_pass_end(&bytes, out, err);
    out->next = args->offset + member.next;
    out->is_record = pfd_tar_name_split(&member, &first);
    if (!out->is_record) return PFD_OK;
    out->data = args->offset;
    out->size = member.data + member.size;
    for (;;) {
        PFD_TRY(tar_look(&bytes, out->next - args->offset, &member, err));
        if (member.is_end) return PFD_OK;
        int32_t counts = pfd_tar_name_split(&member, &name);
        if (counts && !is_same_key(&first, &name)) return PFD_OK;
        if (counts) out->size = member.data + member.size;
        out->next = args->offset + member.next;
    }
}

static pfd_status add_companions(const pfd_companion_args *args, pfd_error *err)
{
    const tar_reader *own = args->attrs;
    pfd_status status = PFD_OK;
    if (own->index_files.size > 0 && own->index_files.size != args->num_paths)
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "index_files has %" PRId64 " paths, but there are %" PRId64
                                " files; give one for each file, in the same order, or none",
                                own->index_files.size, args->num_paths);
    for (int64_t i = 0; i < own->index_files.size && status == PFD_OK; i++)
        status = args->add(args->list, own->index_files.data[i], err);
    return status;
}

static pfd_status parse_field(const pfd_host *host, const tar_reader *own, int64_t i,
                              pfd_field_spec *out, pfd_error *err)
{
    const char *element = own->fields.data[i];
    PFD_TRY(pfd_field_spec_parse(host, "fields", element, out, err));
    int32_t is_bytes = !out->has_type || (out->type.dtype == PFD_UINT8 && out->type.ndim == 1 &&
                                          out->type.shape[0] == -1);
    if (!is_bytes)
        return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                               ": '%.200s' has another type than bytes; an output is the bytes of "
                               "a file, and decoders make arrays of them", element);
    for (int64_t j = 0, begin = 0; j <= out->key_size; j++) {
        if (j < out->key_size && out->key[j] != '|') continue;
        if (j == begin)
            return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                                   ": '%.200s' has an extension that is empty; write 'jpg', or "
                                   "'image=jpg|png' for alternatives", element);
        begin = j + 1;
    }
    return PFD_OK;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const tar_reader *own = args->attrs;
    return tar_infer(args, args->num_paths - own->index_files.size, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_outputs; i++) {
        pfd_field_spec field;
        PFD_TRY(parse_field(args->host, args->attrs, i, &field, err));
        args->outputs[i] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    }
    return PFD_OK;
}

/* ---- The source: samples, and the fields that are wanted of them ----------------------------- */

static pfd_status parse_fields(const pfd_host *host, const tar_reader *own, pfd_field_spec **out,
                               pfd_error *err)
{
    *out = calloc((size_t)own->fields.size + 1, sizeof **out);
    if (!*out) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    for (int64_t i = 0; i < own->fields.size; i++)
        PFD_TRY(parse_field(host, own, i, *out + i, err));
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    static const pfd_framing framing = {PFD_SIZE(pfd_framing), .frame = frame};
    const tar_reader *own = args->attrs;
    pfd_open_args tars = *args;
    pfd_field_spec *fields;
    tars.num_files -= own->index_files.size;
    pfd_status status = parse_fields(args->host, own, &fields, err);
    if (status == PFD_OK) status = args->host->open_frames(&tars, &framing, out, err);
    if (status != PFD_OK) {
        free(fields);
        return status;
    }
    const pfd_source_wrap wrap = {.state = fields, .free_state = free};
    PFD_TRY(pfd_source_wrap_open(&wrap, out, err));
    if (own->index_files.size > 0) status = tar_indexes_check(args, tars.num_files, out, err);
    if (status != PFD_OK) out->methods->close(out->self);
    return status;
}

/* ---- One sample ------------------------------------------------------------------------------ */

typedef struct slot {
    const uint8_t *data; /* NULL: not found */
    int64_t size, rank;  /* rank: the place of its extension among the field's alternatives */
} slot;

/* The extensions of a sample, a hash table with open addressing. */
typedef struct extension_set {
    pfd_tar_name *names; /* key NULL: free */
    int64_t room, size;
} extension_set;

typedef struct sample_parser {
    const pfd_compute_args *args;
    const pfd_field_spec *fields;
    slot *slots;
    pfd_tar_name first;
    extension_set seen;
} sample_parser;

static int32_t is_same_text(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    int64_t i = 0;
    if (a_size != b_size) return 0;
    while (i < a_size && pfd_lower(a[i]) == pfd_lower(b[i])) i++;
    return i == a_size;
}

/* The entry of an extension, or the free entry where it would be. */
static pfd_tar_name *look_up(const extension_set *set, const pfd_tar_name *name)
{
    uint64_t hash = 14695981039346656037u;
    for (int64_t i = 0; i < name->extension_size; i++)
        hash = (hash ^ (uint8_t)pfd_lower(name->extension[i])) * 1099511628211u;
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        pfd_tar_name *found = &set->names[i & (uint64_t)(set->room - 1)];
        if (!found->key || is_same_text(found->extension, found->extension_size, name->extension,
                                        name->extension_size))
            return found;
    }
}

static pfd_status grow(sample_parser *self, pfd_error *err)
{
    const pfd_host *host = self->args->host;
    extension_set larger = {.room = 2 * self->seen.room, .size = self->seen.size};
    int64_t bytes = larger.room * (int64_t)sizeof *larger.names;
    larger.names = host->alloc(self->args->scratch, bytes);
    if (!larger.names)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the names of a sample");
    memset(larger.names, 0, (size_t)bytes);
    for (int64_t i = 0; i < self->seen.room; i++)
        if (self->seen.names[i].key)
            *look_up(&larger, &self->seen.names[i]) = self->seen.names[i];
    self->seen = larger;
    return PFD_OK;
}

/* Which alternative of a field an extension is; -1: none. */
static int64_t rank_of(const pfd_field_spec *field, const pfd_tar_name *name)
{
    int64_t rank = 0;
    for (int64_t j = 0, begin = 0; j <= field->key_size; j++) {
        if (j < field->key_size && field->key[j] != '|') continue;
        if (is_same_text(field->key + begin, j - begin, name->extension, name->extension_size))
            return rank;
        begin = j + 1;
        rank++;
    }
    return -1;
}

static pfd_status take_file(sample_parser *self, int64_t row, const pfd_tar_member *member,
                            const pfd_tar_name *name, pfd_error *err)
{
    pfd_tar_name *found = look_up(&self->seen, name);
    if (found->key)
        return self->args->host->fail_row(
            err, row, member->data, PFD_CORRUPT_DATA,
            "sample '%.*s' has two files with the extension '%.*s'; the key of a sample ends at "
            "the first dot of the file's name",
            (int)name->key_size, name->key, (int)name->extension_size, name->extension);
    *found = *name;
    for (int64_t i = 0; i < self->args->num_outputs; i++) {
        slot *field = &self->slots[i];
        int64_t rank = rank_of(&self->fields[i], name);
        if (rank < 0 || (field->data && field->rank < rank)) continue;
        *field = (slot){self->args->records[row].data + member->data, member->size, rank};
    }
    if (++self->seen.size > self->seen.room / 2) return grow(self, err);
    return PFD_OK;
}

/* Finds the files of a sample. */
static pfd_status walk(sample_parser *self, int64_t row, pfd_error *err)
{
    const pfd_record *record = &self->args->records[row];
    const pfd_host *host = self->args->host;
    const pfd_tar_bytes bytes = {pfd_tar_get_from_record, record, host, self->args->scratch};
    for (int64_t at = 0; at < record->size;) {
        pfd_tar_member member;
        pfd_tar_name name;
        PFD_TRY(pfd_in_row(pfd_tar_member_at(&bytes, at, &member, err), row, err));
        if (member.is_end || member.data > record->size ||
            member.size > record->size - member.data)
            return host->fail_row(err, row, at, PFD_CORRUPT_DATA,
                                  "a file goes past the end of its sample");
        at = member.next;
        if (!pfd_tar_name_split(&member, &name)) continue;
        if (!self->first.key) self->first = name;
        PFD_TRY(take_file(self, row, &member, &name, err));
    }
    return PFD_OK;
}

static pfd_status fail_missing(const sample_parser *self, int64_t row, const pfd_field_spec *field,
                               pfd_error *err)
{
    char found[200] = "";
    size_t used = 0;
    for (int64_t i = 0; i < self->seen.room && used < sizeof found - 40; i++) {
        const pfd_tar_name *name = &self->seen.names[i];
        if (!name->key) continue;
        int shown = (int)(name->extension_size < 30 ? name->extension_size : 30);
        used += (size_t)snprintf(found + used, sizeof found - used, " %.*s", shown,
                                 name->extension);
    }
    return self->args->host->fail_row(
        err, row, 0, PFD_CORRUPT_DATA,
        "sample '%.*s' has no file '%.*s'; its extensions are:%s%s; with '%.*s:bytes=' a missing "
        "file is an empty row",
        (int)self->first.key_size, self->first.key, (int)field->key_size, field->key, found,
        field->key[0] == '.' ? " (without the dot that ends the key)" : "",
        (int)field->key_size, field->key);
}

static pfd_status parse_sample(sample_parser *self, int64_t row, pfd_error *err)
{
    pfd_tar_name names[64] = {{0}};
    self->seen = (extension_set){.names = names, .room = 64};
    self->first = (pfd_tar_name){0};
    memset(self->slots, 0, (size_t)self->args->num_outputs * sizeof *self->slots);
    PFD_TRY(walk(self, row, err));
    for (int64_t i = 0; i < self->args->num_outputs; i++) {
        const pfd_field_spec *field = &self->fields[i];
        pfd_ragged_row *out = &self->args->outputs[i]->rows[row];
        slot found = self->slots[i];
        int32_t is_key = field->key_size == 7 && !memcmp(field->key, "__key__", 7);
        if (is_key) found = (slot){(const void *)self->first.key, self->first.key_size, 0};
        if (!found.data && field->default_text)
            found = (slot){(const void *)field->default_text, field->default_size, 0};
        if (!found.data) return fail_missing(self, row, field, err);
        *out = (pfd_ragged_row){.data = found.data, .num_elements = found.size};
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    slot *slots = args->host->alloc(args->scratch, args->num_outputs * (int64_t)sizeof *slots);
    if (!slots) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    sample_parser self = {
        .args = args, .fields = pfd_wrapped_source_state(args->source), .slots = slots};
    for (int64_t i = 0; i < args->num_rows; i++) PFD_TRY(parse_sample(&self, i, err));
    return PFD_OK;
}

static const pfd_port outputs[] = {{"field", "The bytes of a file of each sample, or its key."}};

const pfd_op pfd_op_tar_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "TarReader",
    .aliases = "WebDatasetReader",
    .doc = "Reads tar files of samples as WebDataset packs them. Consecutive files with the same "
           "key are a sample: the key is the path up to the first dot of the file's name, the "
           "extension is the rest after that dot, in lower case. Entries other than files, names "
           "that begin with a dot or have none, and names like __this__ are skipped. ustar, GNU "
           "and pax headers are read.",
    PFD_OP_ATTRS(tar_reader, attrs),
    .propose = propose,
    .outputs_attr = "fields",
    .companions = add_companions,
};
