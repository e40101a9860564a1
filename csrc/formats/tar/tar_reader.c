/* TarReader: reads samples of several files each, as WebDataset packs them into tar files. */
#include "formats/tar/tar_end.h"
#include "formats/tar/tar_index.h"
#include "formats/tar/tar_infer.h"
#include "parse/row_type.h"
#include "pyflowdata/op.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
                     "Index files of DALI, one for each file, which are compared with the files."),
};

/* ---- Samples in the file --------------------------------------------------------------------- */
static int32_t is_same_key(const pfd_tar_name *a, const pfd_tar_name *b)
{
    return a->key_size == b->key_size && !memcmp(a->key, b->key, (size_t)a->key_size);
}

/* Finds a sample: it is from the headers of its first file to the content of its last one. */
static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const pfd_tar_bytes bytes = {pfd_tar_get_from_file, args, args->host, args->scratch};
    pfd_tar_member member;
    pfd_tar_name first, name;
    PFD_TRY(pfd_tar_look(&bytes, 0, &member, err));
    if (member.is_end) return pfd_tar_pass_end(&bytes, out, err);
    out->next = args->offset + member.next;
    out->is_record = pfd_tar_name_split(&member, &first);
    if (!out->is_record) return PFD_OK;
    out->data = args->offset;
    out->size = member.data + member.size;
    for (;;) {
        PFD_TRY(pfd_tar_look(&bytes, out->next - args->offset, &member, err));
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

/* ---- Fields ---------------------------------------------------------------------------------- */
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
    return pfd_tar_infer(args, args->num_paths - own->index_files.size, err);
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
    if (own->index_files.size > 0) status = pfd_tar_indexes_check(args, tars.num_files, out, err);
    if (status != PFD_OK) out->methods->close(out->self);
    return status;
}

/* ---- One sample ------------------------------------------------------------------------------ */
typedef struct slot {
    const uint8_t *data; /* NULL: not found */
    int64_t size, rank;  /* rank: which of the field's alternatives it is */
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

static uint8_t lower(char c)
{
    return (uint8_t)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

static int32_t is_same_text(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    int64_t i = 0;
    if (a_size != b_size) return 0;
    while (i < a_size && lower(a[i]) == lower(b[i])) i++;
    return i == a_size;
}

/* The entry of an extension, or the free entry where it would be. */
static pfd_tar_name *look_up(const extension_set *set, const pfd_tar_name *name)
{
    uint64_t hash = 14695981039346656037u;
    for (int64_t i = 0; i < name->extension_size; i++)
        hash = (hash ^ lower(name->extension[i])) * 1099511628211u;
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
        pfd_status status = pfd_tar_member_at(&bytes, at, &member, err);
        if (status != PFD_OK) {
            err->row = row;
            return status;
        }
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
        memcpy(found + used, " ", 1);
        memcpy(found + used + 1, name->extension, (size_t)shown);
        used += 1 + (size_t)shown;
        found[used] = 0;
    }
    return self->args->host->fail_row(
        err, row, 0, PFD_CORRUPT_DATA,
        "sample '%.*s' has no file '%.*s'; its extensions are:%s%s; with '%.*s:bytes=' a missing "
        "file is an empty row",
        (int)self->first.key_size, self->first.key, (int)field->key_size, field->key, found,
        field->key[0] == '.' ? " (without the dot that ends the key)" : "",
        (int)field->key_size, field->key);
}

static int32_t is_key(const pfd_field_spec *field)
{
    return field->key_size == 7 && !memcmp(field->key, "__key__", 7);
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
        if (is_key(field)) found = (slot){(const void *)self->first.key, self->first.key_size, 0};
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

static const pfd_port outputs[] = {
    {"field", "The bytes of a file of each sample, or its key."},
};

const pfd_op pfd_op_tar_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "TarReader",
    .aliases = "WebDatasetReader",
    .doc = "Reads tar files of samples as WebDataset packs them. Consecutive files with the same "
           "key are a sample: the key is the path up to the first dot of the file's name, the "
           "extension is the rest after that dot, in lower case. Entries other than files, names "
           "that begin with a dot or have none, and names like __this__ are skipped. ustar, GNU "
           "and pax headers are read.",
    PFD_OP_ATTRS(tar_reader, attrs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .propose = propose,
    .open = open_source,
    .compute = compute,
    .outputs_attr = "fields",
    .companions = add_companions,
};
