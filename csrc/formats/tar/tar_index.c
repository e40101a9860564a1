/* Compares DALI's index files with the tar files that they describe. */
#include "formats/tar/tar_index.h"

#include "core/scratch.h"
#include "files/input_files.h"
#include "formats/tar/tar_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* -1: not a number.  */
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
                         "file; a name must not have a blank in it");
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

pfd_status pfd_tar_indexes_check(const pfd_open_args *args, int64_t num_tars,
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
