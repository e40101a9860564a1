/* MDSReader: samples of MDS shards, the format of Mosaic's streaming datasets.
 *
 * A shard is a count (uint32), offsets of the samples and of the end (uint32), a JSON text that
 * describes the columns, and the samples.  index.json in the same folder lists the shards and
 * repeats the description of each.  A shard may be compressed as a whole: then the source is a
 * stream that decompresses one shard after the other. */
#include "core/bytes.h"
#include "core/error.h"
#include "files/codecs.h"
#include "files/input_files.h"
#include "formats/mds/mds_files.h"
#include "formats/mds/mds_json.h"
#include "formats/mds/mds_sample.h"
#include "formats/mds/mds_shard.h"
#include "index/record_index.h"
#include "pyflowdata/op.h"
#include "sources/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct mds_attrs {
    pfd_list_string columns;
} mds_attrs;

/* Columns, and which of them go to the outputs. Shards with equal columns share one layout. */
typedef struct layout {
    pfd_mds_columns columns;
    pfd_mds_choice *choices;
} layout;

typedef struct shard {
    pfd_mds_bytes bytes;
    int64_t layout;
    int32_t compression; /* PFD_COMPRESSION_NONE: read from the file at random */
} shard;

typedef struct mds {
    const pfd_host *host;
    int64_t num_outputs, num_layouts;
    pfd_field_spec *specs;
    pfd_row_type *types;
    pfd_shard_table table;
    shard *shards; /* table.size */
    int64_t shards_capacity;
    layout *layouts;
    int32_t is_stream;
    /* Of a stream: */
    int64_t position, loaded; /* next record; number of the shard in `inflated`, -1: none */
    pfd_inflated inflated;
    int64_t damaged;  /* the last shard that could not be decompressed, -1: none */
    pfd_error damage; /* of that shard: its records fail without decompressing it again */
} mds;

static void close_mds(void *source)
{
    mds *self = source;
    for (int64_t i = 0; i < self->num_layouts; i++) {
        pfd_mds_columns_free(&self->layouts[i].columns);
        free(self->layouts[i].choices);
    }
    free(self->layouts);
    pfd_shard_table_free(&self->table);
    free(self->shards);
    free(self->specs);
    free(self->types);
    free(self->inflated.data);
    free(self);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the shards of an MDS dataset");
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Makes record `ordinal`: the bytes of its sample.  If the offsets of the sample are wrong, the
 * record is these offsets: compute() recognises that by the place, which no sample can have. */
static pfd_status make_record(const mds *self, int64_t number, int64_t ordinal,
                              pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const pfd_mds_bytes *from = &self->shards[number].bytes;
    *out = (pfd_record){.ordinal = ordinal, .file = from->file->index};
    return pfd_mds_find_sample(self->host, from, ordinal - self->table.first[number],
                               scratch, out, err);
}

/* ---- The source, where no shard is compressed ------------------------------------------------ */
static int64_t num_records(void *source)
{
    const mds *self = source;
    return pfd_shard_table_records(&self->table);
}

/* In shuffled order an offset and its sample are not in the cache: both are prefetched. */
static void prefetch(const mds *self, const int64_t *ordinals, int64_t i, int64_t n)
{
    enum { OFFSETS_AHEAD = 16, SAMPLES_AHEAD = 8 };
    for (int64_t k = SAMPLES_AHEAD; k <= OFFSETS_AHEAD; k += OFFSETS_AHEAD - SAMPLES_AHEAD) {
        if (i + k >= n) return;
        int64_t number = pfd_shard_of(&self->table, ordinals[i + k]);
        const shard *from = &self->shards[number];
        const uint8_t *data = pfd_file_data(from->bytes.file);
        if (!data) return;
        const uint8_t *offset =
            data + PFD_MDS_WORD * (1 + ordinals[i + k] - self->table.first[number]);
        if (k == OFFSETS_AHEAD) {
            __builtin_prefetch(offset);
            continue;
        }
        uint32_t begin;
        memcpy(&begin, offset, sizeof begin);
        pfd_shard_prefetch(from->bytes.file, begin, from->bytes.size - begin);
    }
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const mds *self = source;
    int64_t number = -1;
    for (int64_t i = 0; i < n; i++) {
        if (number < 0 || ordinals[i] < self->table.first[number] ||
            ordinals[i] >= self->table.first[number + 1])
            number = pfd_shard_of(&self->table, ordinals[i]);
        prefetch(self, ordinals, i, n);
        PFD_TRY(make_record(self, number, ordinals[i], scratch, &out[i], err));
    }
    return PFD_OK;
}

/* Computes places as if all samples of a shard had the same size. */
static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const mds *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = pfd_shard_of(&self->table, ordinals[i]);
        const shard *from = &self->shards[number];
        int64_t sample = ordinals[i] - self->table.first[number];
        double part = (double)sample / (double)from->bytes.samples;
        out[i] = (pfd_place){.offset = (int64_t)(part * (double)from->bytes.size),
                             .file = from->bytes.file->index};
    }
}

static const pfd_source_methods random_access = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_mds,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- The source, where one is ---------------------------------------------------------------- */
static pfd_status inflate_shard(mds *self, int64_t number, pfd_scratch *scratch, pfd_error *err)
{
    shard *from = &self->shards[number];
    int64_t begin;
    if (self->loaded >= 0) self->shards[self->loaded].bytes.inflated = NULL;
    self->loaded = -1;
    PFD_TRY(pfd_inflate_file(from->bytes.file, from->compression, from->bytes.size, scratch,
                             &self->inflated, err));
    if (self->inflated.size != from->bytes.size)
        return self->host->fail_file(err, from->bytes.file, -1, PFD_CORRUPT_DATA,
                                     "the shard has %" PRId64 " bytes after decompression; its "
                                     "index.json states %" PRId64,
                                     self->inflated.size, from->bytes.size);
    from->bytes.inflated = self->inflated.data;
    self->loaded = number;
    pfd_status status = pfd_mds_check_head(self->host, &from->bytes, scratch, &begin, err);
    if (status == PFD_OK) status = pfd_mds_check_offsets(self->host, &from->bytes, err);
    if (status != PFD_OK) self->loaded = -1, from->bytes.inflated = NULL;
    return status;
}

static pfd_status load_shard(mds *self, int64_t number, pfd_scratch *scratch, pfd_error *err)
{
    if (self->damaged == number) {
        pfd_error_copy(err, &self->damage);
        return err->status;
    }
    pfd_status status = inflate_shard(self, number, scratch, err);
    if (status != PFD_CORRUPT_DATA) return status;
    self->damaged = number;
    pfd_error_copy(&self->damage, err);
    return status;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    mds *self = source;
    *n = 0;
    if (self->position >= pfd_shard_table_records(&self->table)) return PFD_END;
    int64_t number = pfd_shard_of(&self->table, self->position);
    const shard *from = &self->shards[number];
    if (from->compression != PFD_COMPRESSION_NONE && self->loaded != number)
        PFD_TRY(load_shard(self, number, scratch, err));
    while (*n < max && self->position < self->table.first[number + 1]) {
        PFD_TRY(make_record(self, number, self->position, scratch, &out[*n], err));
        self->position++;
        ++*n;
    }
    return PFD_OK;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    (void)epoch, (void)scratch, (void)err;
    mds *self = source;
    self->position = position;
    return PFD_OK;
}

static const pfd_source_methods stream = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_mds,
    .next = next,
    .seek = seek,
};

/* ---- Opening shards -------------------------------------------------------------------------- */
/* Finds or adds the layout with these columns, and takes ownership of them. */
static pfd_status add_layout(mds *self, pfd_mds_columns *columns, int64_t *number, pfd_error *err)
{
    for (int64_t i = self->num_layouts - 1; i >= 0; i--) {
        if (!pfd_mds_columns_equal(&self->layouts[i].columns, columns)) continue;
        pfd_mds_columns_free(columns);
        *number = i;
        return PFD_OK;
    }
    layout *grown = realloc(self->layouts, (size_t)(self->num_layouts + 1) * sizeof *grown);
    if (grown) self->layouts = grown;
    pfd_mds_choice *choices = calloc((size_t)self->num_outputs, sizeof *choices);
    if (!grown || !choices) {
        pfd_mds_columns_free(columns);
        free(choices);
        return fail_memory(self->host, err);
    }
    *number = self->num_layouts++;
    self->layouts[*number] = (layout){.columns = *columns, .choices = choices};
    return pfd_mds_choose(self->host, "columns", self->specs, self->types, self->num_outputs,
                          columns, choices, err);
}

static pfd_status parse_layout(mds *self, const pfd_file *file, int64_t begin,
                               const pfd_mds_arrays *arrays, int64_t *number, pfd_error *err)
{
    pfd_mds_columns columns;
    pfd_json json;
    pfd_status status = pfd_mds_columns_parse(self->host, arrays, &columns, &json, err);
    if (status == PFD_OK) return add_layout(self, &columns, number, err);
    pfd_mds_columns_free(&columns);
    if (status != PFD_CORRUPT_DATA) return status;
    return pfd_mds_fail_json(self->host, file, begin, &json, err);
}

static pfd_status add_shard(mds *self, const shard *added, pfd_error *err)
{
    int64_t n = self->table.size;
    if (n == self->shards_capacity) {
        int64_t capacity = self->shards_capacity ? 2 * self->shards_capacity : 64;
        shard *grown = realloc(self->shards, (size_t)capacity * sizeof *grown);
        if (!grown) return fail_memory(self->host, err);
        self->shards = grown;
        self->shards_capacity = capacity;
    }
    self->shards[n] = *added;
    if (added->compression != PFD_COMPRESSION_NONE) self->is_stream = 1;
    return pfd_shard_table_add(&self->table, added->bytes.samples, err);
}

/* Opens a shard without an index.json: its own JSON has the columns. */
static pfd_status open_shard(mds *self, const pfd_file *file, pfd_scratch *scratch, pfd_error *err)
{
    int64_t begin;
    pfd_mds_arrays arrays;
    shard added = {.compression = PFD_COMPRESSION_NONE};
    PFD_TRY(pfd_mds_read_config(self->host, file, scratch, &added.bytes, &arrays, &begin, err));
    PFD_TRY(parse_layout(self, file, begin, &arrays, &added.layout, err));
    return add_shard(self, &added, err);
}

/* ---- Opening index.json ---------------------------------------------------------------------- */
static pfd_status add_named_shard(mds *self, const pfd_open_args *args, const pfd_file *index,
                                  const pfd_mds_shard *named, int64_t *hint, pfd_error *err)
{
    int64_t begin;
    shard added = {.bytes = {.samples = named->samples, .size = named->raw_bytes}};
    PFD_TRY(pfd_mds_find_shard(args, index->path, named, hint, &added.bytes.file,
                               &added.compression, err));
    const pfd_file *file = added.bytes.file;
    int32_t is_plain = added.compression == PFD_COMPRESSION_NONE;
    int64_t bytes = is_plain ? named->raw_bytes : named->zip_bytes;
    if (file->size != bytes)
        return self->host->fail_file(err, file, -1, PFD_CORRUPT_DATA,
                                     "the shard has %" PRId64 " bytes, but its index.json states "
                                     "%" PRId64 "; is it truncated?", file->size, bytes);
    if (added.bytes.size > UINT32_MAX)
        return self->host->fail_file(err, file, -1, PFD_CORRUPT_DATA,
                                     "index.json states that the shard has %" PRId64
                                     " bytes; a shard must be smaller than 2^32",
                                     added.bytes.size);
    if (is_plain) PFD_TRY(pfd_mds_check_head(self->host, &added.bytes, args->scratch, &begin, err));
    PFD_TRY(parse_layout(self, index, 0, &named->columns, &added.layout, err));
    return add_shard(self, &added, err);
}

static pfd_status open_index(mds *self, const pfd_open_args *args, const pfd_file *file,
                             int64_t *hint, pfd_error *err)
{
    const uint8_t *text;
    pfd_mds_index index;
    pfd_mds_shard named;
    PFD_TRY(pfd_mds_read_index(self->host, file, args->scratch, &text, err));
    pfd_mds_index_begin(text, file->size, &index);
    while (pfd_mds_index_next(&index, &named)) {
        if (self->host->is_cancelled(args->scratch))
            return self->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(add_named_shard(self, args, file, &named, hint, err));
    }
    return index.json.problem ? pfd_mds_fail_json(self->host, file, 0, &index.json, err) : PFD_OK;
}

/* Opens indexes and their shards, or shards alone. With an index, all other files must be shards
 * that it lists. */
static pfd_status open_all(mds *self, const pfd_open_args *args, pfd_error *err)
{
    int64_t indexes = 0, hint = 0;
    for (int64_t i = 0; i < args->num_files; i++) {
        if (!pfd_mds_is_index(args->files[i]->path)) continue;
        PFD_TRY(open_index(self, args, args->files[i], &hint, err));
        indexes++;
    }
    if (indexes && indexes + self->table.size != args->num_files)
        return self->host->fail(err, PFD_INVALID_ARGUMENT,
                                "%" PRId64 " files were given besides index.json, but it lists "
                                "%" PRId64 " shards; give index.json alone",
                                args->num_files - indexes, self->table.size);
    for (int64_t i = 0; !indexes && i < args->num_files; i++)
        PFD_TRY(open_shard(self, args->files[i], args->scratch, err));
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */
static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const mds_attrs *attrs = args->attrs;
    return pfd_field_record_types(args->host, "columns", &attrs->columns, NULL, args->outputs, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const mds_attrs *attrs = args->attrs;
    mds *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    *self = (mds){
        .host = args->host, .num_outputs = attrs->columns.size, .loaded = -1, .damaged = -1};
    pfd_error_init(&self->damage);
    self->specs = calloc((size_t)self->num_outputs, sizeof *self->specs);
    self->types = calloc((size_t)self->num_outputs, sizeof *self->types);
    pfd_status status = self->specs && self->types
                            ? pfd_field_record_types(args->host, "columns", &attrs->columns,
                                                     self->specs, self->types, err)
                            : fail_memory(args->host, err);
    if (status == PFD_OK) status = open_all(self, args, err);
    if (status != PFD_OK) {
        close_mds(self);
        return status;
    }
    out->methods = self->is_stream ? &stream : &random_access;
    out->self = self;
    return PFD_OK;
}

/* Writes one sample. The columns are those of its shard. */
static pfd_status write_sample(const pfd_compute_args *args, int64_t row, pfd_field_part *parts,
                               pfd_error *err)
{
    const mds *self = args->source;
    const pfd_record *record = &args->records[row];
    const shard *from = &self->shards[pfd_shard_of(&self->table, record->ordinal)];
    const layout *like = &self->layouts[from->layout];
    int32_t is_plain = from->compression == PFD_COMPRESSION_NONE;
    if (is_plain && record->offset < PFD_MDS_WORD * (from->bytes.samples + 2))
        return pfd_mds_fail_offsets(args->host, &from->bytes, record, row, err);
    pfd_status status = pfd_mds_sample_parts(args->host, &like->columns, like->choices,
                                             self->num_outputs, self->types, record->data,
                                             record->size, parts, err);
    if (status == PFD_OK) return pfd_field_parts_write(args, row, parts, err);
    err->row = row;
    if (!is_plain) err->byte = -1;
    return status;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t bytes = args->num_outputs * (int64_t)sizeof(pfd_field_part);
    pfd_field_part *parts = args->host->alloc(args->scratch, bytes);
    if (!parts) return fail_memory(args->host, err);
    for (int64_t row = 0; row < args->num_rows; row++)
        PFD_TRY(write_sample(args, row, parts, err));
    return PFD_OK;
}

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(mds_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Columns to read, each [NAME=]COLUMN[:TYPE]: 'label:int64', 'image' "
                       "(bytes), 'x:float32[?,3]'; if left out, all columns of the first shard."),
};

static const pfd_port outputs[] = {
    {"out", "A column: numbers with the dtype of the column, arrays with the shape of the field, "
            "everything else as ragged uint8."},
};

const pfd_op pfd_op_mds_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "MDSReader",
    .doc = "Reads the shards of Mosaic's streaming datasets (MDS). Give the dataset's folder, "
           "its index.json, or single shards. "
           "Numbers (int, int8 ... float64, str_int, str_float) and ndarrays need their type in "
           "the field; bytes, str, json, jpeg, png and all others are ragged uint8, unchanged. "
           "Pickles are not loaded. Plain shards are read in any order; if a shard is compressed "
           "(zstd, gz), the dataset is a stream that decompresses one shard after the other.",
    PFD_OP_ATTRS(mds_attrs, attrs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
    .outputs_attr = "columns",
    .companions = pfd_mds_add_shards,
    .propose = pfd_mds_infer,
};
