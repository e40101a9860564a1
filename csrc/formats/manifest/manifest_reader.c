/* ManifestReader: images that the lines of a JSON file name, with their labels. */
#include "core/error.h"
#include "core/hash.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "core/system_calls.h"
#include "files/file_read.h"
#include "files/file_stream.h"
#include "files/remote_file.h"
#include "formats/manifest/manifest_line.h"
#include "parse/json.h"
#include "sources/class_numbers.h"
#include "sources/text.h"
#include "sources/whole_file.h"
#include "sources/wrapped_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names of classes, each with its number -------------------------------------------------- */

typedef struct class_names {
    char **names; /* in the order of their numbers */
    int64_t size;
    int64_t *slots; /* numbers, by open addressing; -1: free */
    int64_t room;
} class_names;

/* The slot of a name, or the free slot where it would be. */
static int64_t slot_of(const class_names *names, const char *name, int64_t size)
{
    uint64_t hash = pfd_hash_bytes(0, name, size);
    for (uint64_t i = hash;; i++) {
        int64_t slot = (int64_t)(i & (uint64_t)(names->room - 1)), number = names->slots[slot];
        if (number < 0) return slot;
        const char *known = names->names[number];
        if (strlen(known) == (size_t)size && !memcmp(known, name, (size_t)size)) return slot;
    }
}

static int32_t grow(class_names *names)
{
    int64_t room = names->room > 0 ? 2 * names->room : 64;
    char **grown = realloc(names->names, (size_t)room / 2 * sizeof *grown);
    if (grown) names->names = grown;
    int64_t *slots = grown ? malloc((size_t)room * sizeof *slots) : NULL;
    if (!slots) return 0;
    free(names->slots);
    names->slots = slots;
    names->room = room;
    for (int64_t i = 0; i < room; i++) slots[i] = -1;
    for (int64_t i = 0; i < names->size; i++) {
        const char *name = names->names[i];
        slots[slot_of(names, name, (int64_t)strlen(name))] = i;
    }
    return 1;
}

/* Adds a name, which has no 0 byte, unless it is there; 0: out of memory. */
static int32_t class_names_add(class_names *names, const char *name, int64_t size)
{
    if (names->size >= names->room / 2 && !grow(names)) return 0;
    int64_t slot = slot_of(names, name, size);
    if (names->slots[slot] >= 0) return 1;
    char *copy = strndup(name, (size_t)size);
    if (!copy) return 0;
    names->slots[slot] = names->size;
    names->names[names->size++] = copy;
    return 1;
}

static void class_names_free(class_names *names)
{
    for (int64_t i = 0; i < names->size; i++) free(names->names[i]);
    free(names->names);
    free(names->slots);
    *names = (class_names){0};
}

/* ---- Failures -------------------------------------------------------------------------------- */

static pfd_status manifest_fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the lines of a manifest");
}

/* Reports what is wrong at byte `at` of line `number`; -1: the number is not known yet. */
static pfd_status manifest_fail_line(const pfd_host *host, const char *path, int64_t number,
                                     int64_t at, const char *problem, pfd_error *err)
{
    (void)host->fail(err, PFD_CORRUPT_DATA, "byte %" PRId64 " of the line: %s", at, problem);
    pfd_error_set_file(err, path);
    err->line = number;
    return PFD_CORRUPT_DATA;
}

static pfd_status manifest_fail_compressed(const pfd_host *host, const char *path, pfd_error *err)
{
    (void)host->fail(err, PFD_UNSUPPORTED, "the manifest is compressed; decompress it");
    pfd_error_set_file(err, path);
    return PFD_UNSUPPORTED;
}

/* The text of a label, which does not end with a 0; NULL: out of memory. */
static const char *manifest_label(const pfd_host *host, const pfd_json_text *text,
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
                             pfd_scratch *scratch, class_names *names, pfd_error *err)
{
    pfd_json labels = pfd_manifest_labels_of(line);
    pfd_json_text text;
    while (pfd_manifest_labels_next(&labels, &text)) {
        int64_t size;
        const char *name = manifest_label(host, &text, scratch, &size);
        if (!name || !class_names_add(names, name, size)) return manifest_fail_memory(host, err);
    }
    return PFD_OK;
}

static int32_t is_blank(const uint8_t *line, int64_t size)
{
    while (size > 0 && (*line == ' ' || *line == '\t' || *line == '\r')) line++, size--;
    return size == 0;
}

static pfd_status add_classes(const pfd_propose_args *args, const pfd_file *file,
                              class_names *names, pfd_error *err)
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
                return manifest_fail_line(args->host, file->path, number, wrong, problem, err);
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

static pfd_status find_classes(const pfd_propose_args *args, class_names *names, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        const pfd_file *file;
        PFD_TRY(args->open(args->found, i, &file, err));
        if (file->size == INT64_MAX)
            return manifest_fail_compressed(args->host, args->paths[i], err);
        PFD_TRY(add_classes(args, file, names, err));
    }
    if (names->size > 0)
        qsort(names->names, (size_t)names->size, sizeof *names->names, by_bytes);
    return args->set_strings(args->found, "classes", (const char *const *)names->names,
                             names->size, err);
}

/* Infers the attr `classes`: all labels of the files, sorted by bytes. */
static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    class_names names = {0};
    pfd_status status = find_classes(args, &names, err);
    class_names_free(&names);
    return status;
}

/* ---- Attrs ----------------------------------------------------------------------------------- */

enum { lines_at_once = 256 };

typedef struct manifest_attrs {
    const char *usage;
    pfd_list_string classes;
    pfd_list_int64 class_numbers;
    int32_t multi_label;
} manifest_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const manifest_attrs *attrs = args->attrs;
    PFD_TRY(pfd_check_class_numbers(args->host, &attrs->class_numbers, attrs->classes.size, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    args->outputs[1] = (pfd_row_type){
        .dtype = PFD_INT64, .ndim = attrs->multi_label ? 1 : 0, .shape = {-1}};
    if (!attrs->multi_label) args->outputs[1].shape[0] = 0;
    return PFD_OK;
}

/* ---- The source: the lines that are wanted --------------------------------------------------- */

typedef struct manifest {
    const pfd_host *host;
    const manifest_attrs *attrs;
    const pfd_file *const *files;
    int64_t num_files;
    int *folders;     /* descriptors of the folders that the files are in */
    pfd_source lines; /* owned, once it has methods */
    int64_t *kept;    /* numbers of the lines that are records; room for all lines */
    int64_t size;     /* how many are kept */
    class_names classes;
    int64_t mean_bytes; /* of an image file; estimated from some of them */
    pfd_store_objects *store; /* NULL: all images are on disk */
} manifest;

static void close_source(void *source)
{
    manifest *self = source;
    for (int64_t i = 0; self->folders && i < self->num_files; i++)
        if (self->folders[i] >= 0) close(self->folders[i]);
    if (self->lines.methods) self->lines.methods->close(self->lines.self);
    class_names_free(&self->classes);
    pfd_store_objects_free(self->store);
    free(self->folders);
    free(self->kept);
    free(self);
}

PFD_SOURCE_NUMBER(num_records, manifest, size)

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const manifest *self = source;
    int64_t *numbers = self->host->alloc(scratch, n * (int64_t)sizeof *numbers);
    if (!numbers) return manifest_fail_memory(self->host, err);
    for (int64_t i = 0; i < n; i++) numbers[i] = self->kept[ordinals[i]];
    PFD_TRY(self->lines.methods->at(self->lines.self, numbers, n, scratch, out, err));
    for (int64_t i = 0; i < n; i++) out[i].ordinal = ordinals[i];
    return PFD_OK;
}

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const manifest *self = source;
    self->lines.methods->describe(self->lines.self, record, err);
}

PFD_SOURCE_NUMBER(record_bytes, manifest, mean_bytes)

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch);

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = num_records,
    .at = at,
    .describe = describe,
    .record_bytes = record_bytes,
    .need = need,
};

/* ---- Open ------------------------------------------------------------------------------------ */

static pfd_status open_folders(manifest *self, pfd_error *err)
{
    for (int64_t i = 0; i < self->num_files; i++) self->folders[i] = -1;
    for (int64_t i = 0; i < self->num_files; i++) {
        const char *path = pfd_input_file_of(self->files[i])->absolute;
        if (pfd_path_is_remote(path)) continue; /* so are its images, or their paths are absolute */
        char *folder = strndup(path, (size_t)(strrchr(path, '/') - path) + 1);
        if (!folder) return manifest_fail_memory(self->host, err);
        self->folders[i] = pfd_sys_open(NULL, AT_FDCWD, folder, O_DIRECTORY);
        int reason = errno;
        free(folder);
        if (self->folders[i] >= 0) continue;
        (void)self->host->fail_file(err, self->files[i], -1, PFD_IO,
                                    "the folder that it is in cannot be opened: %s",
                                    strerror(reason));
        return pfd_error_set_errno(err, reason);
    }
    return PFD_OK;
}

/* Writes the numbers of a line's labels, each once and at most `room`. *count is the number of
 * these, *others the number of labels that are no class. */
static pfd_status number_labels(const manifest *self, const pfd_manifest_line *line,
                                pfd_scratch *scratch, int64_t *numbers, int64_t room,
                                int64_t *count, int64_t *others, pfd_error *err)
{
    pfd_json labels = pfd_manifest_labels_of(line);
    pfd_json_text text;
    *count = *others = 0;
    while (pfd_manifest_labels_next(&labels, &text)) {
        int64_t size, known = 0;
        const char *name = manifest_label(self->host, &text, scratch, &size);
        if (!name) return manifest_fail_memory(self->host, err);
        const class_names *classes = &self->classes;
        int64_t number = classes->room > 0 ? classes->slots[slot_of(classes, name, size)] : -1;
        while (known < *count && known < room && numbers[known] != number) known++;
        if (number < 0) ++*others;
        else if (known == *count || known == room) {
            if (*count < room) numbers[*count] = number;
            ++*count;
        }
    }
    return PFD_OK;
}

/* Up to four usages of lines that are not wanted, for a message. */
typedef struct other_usages {
    char text[200];
    int32_t count;
} other_usages;

static void note_usage(other_usages *others, const pfd_json_text *usage)
{
    char quoted[64];
    (void)snprintf(quoted, sizeof quoted, "'%.*s'", (int)(usage->size < 40 ? usage->size : 40),
                   (const char *)usage->data);
    if (others->count >= 4 || strstr(others->text, quoted)) return;
    size_t used = strlen(others->text);
    (void)snprintf(others->text + used, sizeof others->text - used, "%s%s", used ? ", " : "",
                   quoted);
    others->count++;
}

/* Writes the path of a record's image. */
static pfd_status path_of(const manifest *self, const pfd_json_text *source, int64_t row,
                          char path[PATH_MAX], pfd_error *err)
{
    if (source->size >= PATH_MAX)
        return self->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                    "source: the path of %" PRId64 " bytes is too long",
                                    source->size);
    path[pfd_json_decode(source, path)] = '\0';
    return PFD_OK;
}

/* Notes whether the image of a line is in a store. */
static pfd_status note_object(manifest *self, const pfd_record *record,
                              const pfd_manifest_line *line, pfd_error *err)
{
    char path[PATH_MAX];
    pfd_error ignored = {.struct_size = sizeof ignored}; /* the row tells it */
    if (self->store || path_of(self, &line->source, 0, path, &ignored) != PFD_OK) return PFD_OK;
    if (!pfd_path_is_remote(path) && (path[0] == '/' || self->folders[record->file] >= 0))
        return PFD_OK;
    self->store = pfd_store_objects_create();
    return self->store ? PFD_OK : manifest_fail_memory(self->host, err);
}

/* Keeps a line that is wanted. */
static pfd_status look_at(manifest *self, const pfd_record *record, pfd_scratch *scratch,
                          other_usages *usages, pfd_error *err)
{
    pfd_manifest_line line;
    int64_t wrong, count, others;
    const char *problem = pfd_manifest_line_parse(record->data, record->size, &line, &wrong);
    if (problem) {
        const char *path = self->files[record->file]->path;
        (void)manifest_fail_line(self->host, path, -1, wrong, problem, err);
        self->lines.methods->describe(self->lines.self, record, err);
        return PFD_CORRUPT_DATA;
    }
    const char *wanted = self->attrs->usage; /* compared in any case, as in MindData */
    if (*wanted && !pfd_json_equals_folded(&line.usage, wanted)) {
        note_usage(usages, &line.usage);
        return PFD_OK;
    }
    PFD_TRY(number_labels(self, &line, scratch, NULL, 0, &count, &others, err));
    if (count == 0 && others > 0) return PFD_OK;
    self->kept[self->size++] = record->ordinal;
    return note_object(self, record, &line, err);
}

static pfd_status fail_empty(const manifest *self, const other_usages *usages, pfd_error *err)
{
    (void)self->host->fail_attr(err, "usage", self->files[0], PFD_CORRUPT_DATA,
                                " = '%.100s', and no line has it together with one of the "
                                "classes; there are lines with %s",
                                self->attrs->usage, usages->count ? usages->text : "that alone");
    return pfd_error_set_reason(err, PFD_REASON_NO_RECORDS);
}

static pfd_status look_at_all(manifest *self, const pfd_open_args *args, pfd_scratch *scratch,
                              other_usages *usages, pfd_error *err)
{
    const pfd_source *lines = &self->lines;
    int64_t total = lines->methods->size(lines->self);
    int64_t numbers[lines_at_once];
    pfd_record records[lines_at_once];
    self->kept = malloc((size_t)total * sizeof *self->kept + 1);
    if (!self->kept) return manifest_fail_memory(self->host, err);
    for (int64_t begin = 0; begin < total; begin += lines_at_once) {
        int64_t n = total - begin < lines_at_once ? total - begin : lines_at_once;
        if (args->host->is_cancelled(args->scratch))
            return self->host->fail(err, PFD_CANCELLED, "the loader is closing");
        for (int64_t i = 0; i < n; i++) numbers[i] = begin + i;
        pfd_scratch_reset(scratch);
        PFD_TRY(lines->methods->at(lines->self, numbers, n, scratch, records, err));
        for (int64_t i = 0; i < n; i++)
            PFD_TRY(look_at(self, &records[i], scratch, usages, err));
    }
    return self->size == 0 && total > 0 ? fail_empty(self, usages, err) : PFD_OK;
}

static pfd_status choose_lines(manifest *self, const pfd_open_args *args, pfd_error *err)
{
    other_usages usages = {.count = 0};
    pfd_scratch *scratch = pfd_scratch_create(); /* emptied for each group of lines */
    if (!scratch) return manifest_fail_memory(args->host, err);
    pfd_scratch_inherit(scratch, args->scratch);
    pfd_status status = look_at_all(self, args, scratch, &usages, err);
    pfd_scratch_free(scratch);
    return status;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pfd_status find_image_of(const pfd_compute_args *args, int64_t row,
                                const pfd_manifest_line *line, pfd_whole_file *out, pfd_error *err)
{
    const manifest *self = args->source;
    char found[PATH_MAX];
    int32_t of = args->records[row].file;
    PFD_TRY(path_of(self, &line->source, row, found, err));
    int64_t size = (int64_t)strlen(found) + 1;
    char *path = args->host->alloc(args->scratch, size);
    if (!path) return manifest_fail_memory(self->host, err);
    memcpy(path, found, (size_t)size);
    *out = (pfd_whole_file){.folder = self->folders[of],
                            .path = path,
                            .shown = path,
                            .counted = self->files[of]};
    PFD_TRY(pfd_whole_file_address(args, self->files[of]->path, path, &out->url, err));
    if (pfd_path_is_remote(path)) out->shown = out->url; /* when read, without a signature */
    return PFD_OK;
}

/* Writes the only label of a line. */
static pfd_status write_label(const pfd_compute_args *args, int64_t row,
                              const pfd_manifest_line *line, pfd_error *err)
{
    const manifest *self = args->source;
    int64_t *label = (int64_t *)(void *)args->outputs[1]->data + row, number = 0, count, others;
    PFD_TRY(number_labels(self, line, args->scratch, &number, 1, &count, &others, err));
    *label = 0;
    if (count > 1)
        return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                    "the line has more than one label; with multi_label=true the "
                                    "output label has all of them");
    if (count == 0)
        return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                    "the line has no label: its annotation has no name");
    *label = pfd_class_number(&self->attrs->class_numbers, number);
    return PFD_OK;
}

static pfd_status write_labels(const pfd_compute_args *args, int64_t row,
                               const pfd_manifest_line *line, pfd_error *err)
{
    const manifest *self = args->source;
    int64_t room = self->classes.size, count, others;
    int64_t *labels = args->host->alloc(args->scratch, room * (int64_t)sizeof *labels);
    if (!labels) return manifest_fail_memory(args->host, err);
    PFD_TRY(number_labels(self, line, args->scratch, labels, room, &count, &others, err));
    for (int64_t i = 0; i < count; i++)
        labels[i] = pfd_class_number(&self->attrs->class_numbers, labels[i]);
    pfd_set_row(args, 1, row, labels, count);
    return PFD_OK;
}

static pfd_status parse(const pfd_compute_args *args, int64_t row, pfd_manifest_line *line,
                        pfd_error *err)
{
    const manifest *self = args->source;
    const pfd_record *record = &args->records[row];
    int64_t wrong;
    const char *problem = pfd_manifest_line_parse(record->data, record->size, line, &wrong);
    if (problem) return args->host->fail_row(err, row, wrong, PFD_CORRUPT_DATA, "%s", problem);
    if (record->file < 0 || record->file >= self->num_files)
        return args->host->fail_row(err, row, -1, PFD_INTERNAL, "there is no such file");
    return PFD_OK;
}

static pfd_status find_image(const pfd_compute_args *args, int64_t row, pfd_whole_file *out,
                             pfd_error *err)
{
    pfd_manifest_line line;
    PFD_TRY(parse(args, row, &line, err));
    return find_image_of(args, row, &line, out, err);
}

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    const manifest *self = source;
    const pfd_whole_file_finder finder = {self->host, source, at, find_image};
    return pfd_whole_files_need(self->store, &finder, ordinals, n, scratch);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const manifest *self = args->source;
    pfd_bytes *images;
    pfd_whole_file *files = pfd_whole_files_alloc(args, &images);
    if (!files) return manifest_fail_memory(self->host, err);
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_manifest_line line;
        PFD_TRY(parse(args, row, &line, err));
        PFD_TRY(self->attrs->multi_label ? write_labels(args, row, &line, err)
                                         : write_label(args, row, &line, err));
        PFD_TRY(find_image_of(args, row, &line, &files[row], err));
    }
    PFD_TRY(pfd_whole_files_read(args, files, self->store, images, err));
    for (int64_t row = 0; row < args->num_rows; row++)
        pfd_set_row(args, 0, row, images[row].data, images[row].size);
    return PFD_OK;
}

typedef struct sized {
    const manifest *reader;
    pfd_scratch *scratch;
} sized;

/* Bytes of the image of record i; 0: not known. */
static int64_t size_of(void *ctx, int64_t i)
{
    const sized *of = ctx;
    const manifest *self = of->reader;
    const pfd_source *lines = &self->lines;
    char path[PATH_MAX];
    pfd_record record;
    pfd_manifest_line line;
    int64_t wrong;
    pfd_error ignored;
    pfd_error_init(&ignored);
    if (lines->methods->at(lines->self, &self->kept[i], 1, of->scratch, &record, &ignored) !=
            PFD_OK ||
        pfd_manifest_line_parse(record.data, record.size, &line, &wrong) ||
        path_of(self, &line.source, 0, path, &ignored) != PFD_OK)
        return 0;
    if (pfd_path_is_remote(path) || self->folders[record.file] < 0) return 0;
    return pfd_whole_file_size(self->folders[record.file], path);
}

static pfd_status open_lines(manifest *self, const pfd_open_args *args, pfd_error *err)
{
    const pfd_source_wrap wrap = {.text = args};
    if (pfd_files_are_stream(args))
        return manifest_fail_compressed(args->host, args->files[0]->path, err);
    PFD_TRY(pfd_text_check(args, 0, 0, err));
    PFD_TRY(args->host->open_lines(args, &self->lines, err));
    pfd_status status = pfd_source_wrap_open(&wrap, &self->lines, err);
    if (status != PFD_OK) self->lines.methods = NULL; /* the wrapper has closed them */
    return status;
}

static pfd_status open_all(manifest *self, const pfd_open_args *args, pfd_error *err)
{
    const pfd_list_string *classes = &self->attrs->classes;
    for (int64_t i = 0; i < classes->size; i++)
        if (!class_names_add(&self->classes, classes->data[i], (int64_t)strlen(classes->data[i])))
            return manifest_fail_memory(args->host, err);
    if (self->classes.size < classes->size)
        return args->host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                                     " has a name twice");
    self->folders = malloc((size_t)self->num_files * sizeof *self->folders + 1);
    if (!self->folders) return manifest_fail_memory(args->host, err);
    PFD_TRY(open_folders(self, err));
    PFD_TRY(open_lines(self, args, err));
    PFD_TRY(choose_lines(self, args, err));
    self->mean_bytes =
        pfd_whole_files_mean(self->size, size_of, &(sized){self, args->scratch});
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    manifest *self = calloc(1, sizeof *self);
    if (!self) return manifest_fail_memory(args->host, err);
    *self = (manifest){.host = args->host,
                       .attrs = args->attrs,
                       .files = args->files,
                       .num_files = args->num_files,
                       .lines = {.struct_size = sizeof(pfd_source)}};
    pfd_status status = open_all(self, args, err);
    return pfd_source_opened(status, &methods, self, out);
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(manifest_attrs, usage, "train",
                    "Which lines are records: those with this usage, in upper or lower case; empty "
                    "for all."),
    PFD_FOUND_ATTR_ROW(manifest_attrs, classes, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "The labels in the order of their numbers; lines that have only other "
                       "labels are left out. If the attr is left out, all labels of the files, of "
                       "every usage, sorted by bytes."),
    PFD_CLASS_NUMBERS_ATTR(manifest_attrs),
    PFD_BOOL_ATTR(manifest_attrs, multi_label, "false",
                  "Whether a line may have any number of labels: the output label is then ragged."),
};

static const pfd_port outputs[] = {
    {"image", "The bytes of each image file, uint8 (None,), unchanged: a decoder follows."},
    {"label", "The number of the line's label, int64; with multi_label the numbers of all its "
              "labels, each once, int64 (None,)."},
};

const pfd_op pfd_op_manifest_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "ManifestReader",
    .doc = "Reads the images that a manifest names, as MindData's ManifestDataset does. A manifest "
           "has a JSON object a line, with source (the path of an image), usage and annotation (a "
           "list of objects with a name, the label). Paths are relative to the manifest's folder, "
           "or addresses. All lines are checked when the reader opens; an image is opened, read "
           "and closed when its record is needed, and an image that is missing, empty or "
           "unreadable is a damaged record, as is a line without a label.",
    PFD_OP_ATTRS(manifest_attrs, attr_table),
    .propose = propose,
};
