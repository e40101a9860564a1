/* ImageFolderReader: image files in a folder for each class. */
#include "core/error.h"
#include "files/file_names.h"
#include "files/file_read.h"
#include "formats/imagefolder/class_folders.h"
#include "index/index_image.h"
#include "pyflowdata/op.h"
#include "sources/class_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fewer files are listed faster than an index is found. */
enum { least_cached_files = 4096 };

typedef struct image_folder_attrs {
    pfd_list_string classes;
    pfd_list_int64 class_numbers;
    pfd_list_string extensions;
    int32_t allow_empty;
} image_folder_attrs;

/* ---- Attrs ----------------------------------------------------------------------------------- */
static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static pfd_status fail_folder(const pfd_host *host, const char *path, int reason, pfd_error *err)
{
    (void)host->fail(err, PFD_IO, "the folder cannot be read: %s", strerror(reason));
    pfd_error_set_file(err, path);
    return PFD_IO;
}

/* Adds the names of the folders in a folder. */
static pfd_status add_folders(const pfd_host *host, const char *path, pfd_path_list *out,
                              int64_t *num_files, pfd_error *err)
{
    static const pfd_list_string all = {0};
    pfd_folder_names names = {0};
    int reason = pfd_folder_names_read(AT_FDCWD, path, &all, &names);
    pfd_status status = reason ? fail_folder(host, path, reason, err) : PFD_OK;
    *num_files += names.files.size;
    for (int64_t i = 0; i < names.folders.size && status == PFD_OK; i++)
        status = pfd_path_list_take(out, strdup(names.folders.paths[i]), err);
    pfd_folder_names_free(&names);
    return status;
}

/* Each name once. */
static int64_t sort_names(pfd_path_list *names)
{
    int64_t n = 0;
    if (names->size > 0)
        qsort(names->paths, (size_t)names->size, sizeof *names->paths, by_bytes);
    for (int64_t i = 0; i < names->size; i++) {
        if (n > 0 && !strcmp(names->paths[n - 1], names->paths[i])) continue;
        char *kept = names->paths[n];
        names->paths[n++] = names->paths[i];
        names->paths[i] = kept; /* the list still owns it */
    }
    return n;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    pfd_path_list names = {0};
    pfd_status status = PFD_OK;
    int64_t num_files = 0;
    for (int64_t i = 0; i < args->num_paths && status == PFD_OK; i++)
        status = add_folders(args->host, args->paths[i], &names, &num_files, err);
    int64_t n = sort_names(&names);
    if (status == PFD_OK && n == 0) {
        status = args->host->fail(err, PFD_IO, "there is no folder in it, but %" PRId64
                                  " files: the reader takes a folder that has one for each class",
                                  num_files);
        pfd_error_set_file(err, args->paths[0]);
    }
    if (status == PFD_OK)
        status = args->set_strings(args->found, "classes", (const char *const *)names.paths, n,
                                   err);
    pfd_path_list_free(&names);
    return status;
}

static pfd_status fail_class(const pfd_host *host, const char *name, const char *why,
                             pfd_error *err)
{
    return host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                           ": '%.200s' %s; a class is the name of a folder in the reader's folder",
                           name, why);
}

static pfd_status check_classes(const pfd_host *host, const pfd_list_string *classes,
                                pfd_error *err)
{
    if (classes->size == 0 || classes->size > INT32_MAX)
        return host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " names; leave it out to have all folders as "
                               "classes", classes->size);
    char **sorted = malloc((size_t)classes->size * sizeof *sorted);
    if (!sorted) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a list of classes");
    memcpy(sorted, classes->data, (size_t)classes->size * sizeof *sorted);
    qsort(sorted, (size_t)classes->size, sizeof *sorted, by_bytes);
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < classes->size && status == PFD_OK; i++) {
        const char *name = sorted[i];
        if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
            status = fail_class(host, name, "is not a name", err);
        else if (i > 0 && !strcmp(name, sorted[i - 1]))
            status = fail_class(host, name, "is there twice", err);
    }
    free(sorted);
    return status;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const image_folder_attrs *attrs = args->attrs;
    PFD_TRY(check_classes(args->host, &attrs->classes, err));
    PFD_TRY(pfd_check_class_numbers(args->host, &attrs->class_numbers, attrs->classes.size, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    args->outputs[1] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the paths of files");
}

/* ---- The source: a record is the path of a file below its root ------------------------------- */
typedef struct image_folders {
    const pfd_host *host;
    const image_folder_attrs *attrs;
    const pfd_file *const *files; /* the roots, as the host opened them */
    int *roots;                   /* descriptors */
    int64_t num_roots;
    pfd_index_image *image;
    pfd_file_list list;
    int64_t mean_bytes; /* of some of the files */
} image_folders;

static void close_source(void *source)
{
    image_folders *self = source;
    for (int64_t i = 0; self->roots && i < self->num_roots; i++)
        if (self->roots[i] >= 0) close(self->roots[i]);
    pfd_index_image_free(self->image);
    free(self->roots);
    free(self);
}

static int64_t num_records(void *source)
{
    const image_folders *self = source;
    return self->list.num_files;
}

static pfd_status fail_lost(const image_folders *self, int64_t row, pfd_error *err)
{
    PFD_TRY(pfd_index_image_check_disk(self->image, err));
    return self->host->fail_row(err, row, -1, PFD_IO,
                                "the index has no such file: was it changed while it was in use?");
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const image_folders *self = source;
    for (int64_t i = 0; i < n; i++) {
        pfd_listed_file file;
        if (ordinals[i] < 0 || ordinals[i] >= self->list.num_files)
            return self->host->fail_row(err, i, -1, PFD_INTERNAL,
                                        "position = %" PRId64 "; it must be in [0, %" PRId64 ")",
                                        ordinals[i], self->list.num_files);
        if (!pfd_file_list_at(&self->list, ordinals[i], &file) || file.root < 0 ||
            file.root >= self->num_roots)
            return fail_lost(self, i, err);
        uint8_t *path = self->host->alloc(scratch, file.size);
        if (!path) return fail_memory(self->host, err);
        memcpy(path, file.path, (size_t)file.size);
        out[i] = (pfd_record){
            .data = path, .size = file.size, .ordinal = ordinals[i], .file = file.root};
    }
    return pfd_index_image_check(self->image, err);
}

/* The path of the file, in place of that of its root. */
static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const image_folders *self = source;
    pfd_listed_file file;
    char *path;
    if (record->ordinal < 0 || record->ordinal >= self->list.num_files) return;
    if (!pfd_file_list_at(&self->list, record->ordinal, &file)) return;
    if (file.root < 0 || file.root >= self->num_roots) return;
    if (asprintf(&path, "%s/%s", self->files[file.root]->path, file.path) < 0) return;
    pfd_error_set_file(err, path);
    free(path);
}

static uint64_t fingerprint(void *source)
{
    const image_folders *self = source;
    return self->list.hash;
}

static int64_t record_bytes(void *source)
{
    const image_folders *self = source;
    return self->mean_bytes;
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = num_records,
    .at = at,
    .describe = describe,
    .fingerprint = fingerprint,
    .record_bytes = record_bytes,
};

/* ---- Open ------------------------------------------------------------------------------------ */
static pfd_status open_roots(image_folders *self, pfd_error *err)
{
    for (int64_t i = 0; i < self->num_roots; i++) self->roots[i] = -1;
    for (int64_t i = 0; i < self->num_roots; i++) {
        const char *path = pfd_input_file_of(self->files[i])->absolute;
        self->roots[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (self->roots[i] < 0) return fail_folder(self->host, self->files[i]->path, errno, err);
    }
    return PFD_OK;
}

/* Bytes of file i; 0: not known. */
static int64_t size_of(void *ctx, int64_t i)
{
    const image_folders *self = ctx;
    pfd_listed_file file;
    if (!pfd_file_list_at(&self->list, i, &file)) return 0;
    if (file.root < 0 || file.root >= self->num_roots) return 0;
    return pfd_whole_file_size(self->roots[file.root], file.path);
}

static pfd_status list_files(image_folders *self, const pfd_open_args *args, pfd_error *err)
{
    pfd_class_folders wanted = {.host = args->host,
                                .files = self->files,
                                .roots = self->roots,
                                .num_roots = self->num_roots,
                                .classes = &self->attrs->classes,
                                .suffixes = &self->attrs->extensions,
                                .allow_empty = self->attrs->allow_empty,
                                .scratch = args->scratch};
    const pfd_index_maker maker = {.kind = PFD_INDEX_FOLDERS,
                                   .build = pfd_class_folders_list,
                                   .ctx = &wanted,
                                   .is_current = pfd_class_folders_are_as_listed,
                                   .least_cached_records = least_cached_files};
    PFD_TRY(pfd_index_make(args, &maker, &self->image, err));
    if (!pfd_file_list_init(&self->list, self->image)) return fail_lost(self, -1, err);
    self->mean_bytes = pfd_whole_files_mean(self->list.num_files, size_of, self);
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    image_folders *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    *self = (image_folders){.host = args->host,
                            .attrs = args->attrs,
                            .files = args->files,
                            .num_roots = args->num_files};
    self->roots = malloc((size_t)args->num_files * sizeof *self->roots + 1);
    pfd_status status = self->roots ? open_roots(self, err) : fail_memory(args->host, err);
    if (status == PFD_OK) status = list_files(self, args, err);
    if (status != PFD_OK) {
        close_source(self);
        return status;
    }
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */
static pfd_status read_image(const pfd_compute_args *args, int64_t row, pfd_error *err)
{
    const image_folders *self = args->source;
    const pfd_record *record = &args->records[row];
    char path[PATH_MAX];
    pfd_bytes image;
    if (record->size >= PATH_MAX || record->file < 0 || record->file >= self->num_roots)
        return fail_lost(self, row, err);
    memcpy(path, record->data, (size_t)record->size); /* a copy of the record has no 0 byte */
    path[record->size] = '\0';
    const pfd_whole_file file = {
        self->roots[record->file], path, NULL, self->files[record->file]};
    PFD_TRY(pfd_whole_file_read(args, row, &file, &image, err));
    args->outputs[0]->rows[row] =
        (pfd_ragged_row){.data = image.data, .num_elements = image.size};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const image_folders *self = args->source;
    int64_t *labels = (void *)args->outputs[1]->data;
    for (int64_t row = 0; row < args->num_rows; row++) {
        int64_t ordinal = args->records[row].ordinal, label = -1;
        PFD_TRY(read_image(args, row, err));
        if (ordinal >= 0 && ordinal < self->list.num_files)
            label = pfd_file_list_group(&self->list, ordinal);
        if (label < 0 || label >= self->attrs->classes.size) return fail_lost(self, row, err);
        labels[row] = pfd_class_number(&self->attrs->class_numbers, label);
    }
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */
static const pfd_attr attr_table[] = {
    PFD_FOUND_ATTR_ROW(image_folder_attrs, classes, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "The classes in the order of their numbers, each the name of a folder in "
                       "data_dir; other folders are not read. Left out, all folders, sorted by the "
                       "bytes of their names."),
    PFD_CLASS_NUMBERS_ATTR(image_folder_attrs),
    PFD_STRINGS_ATTR(image_folder_attrs, extensions,
                     ".jpg,.jpeg,.png,.ppm,.bmp,.pgm,.tif,.tiff,.webp,.pbm",
                     "How names of image files end, in any case; other files are left out. An "
                     "empty list takes every file."),
    PFD_BOOL_ATTR(image_folder_attrs, allow_empty, "false",
                  "Whether a class may be without files, or without a folder."),
};

static const pfd_port outputs[] = {
    {"image", "The bytes of each file, uint8 (None,), as they lie there: a decoder follows."},
    {"label", "The number of the file's class, int64."},
};

const pfd_op pfd_op_image_folder_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES | PFD_READS_FOLDERS,
    .name = "ImageFolderReader",
    .doc = "Reads the image files of a folder that has a folder for each class. "
           "data_dir is that folder, or files name several, whose classes are united. The records "
           "are those of torchvision's ImageFolder, in its order: by the name of the class, then "
           "by folder and name, compared as bytes. Files in folders of a class count to it, at any "
           "depth; symbolic links are followed, and a folder is listed once for a class. Names "
           "that begin with a period are left out, files and folders. The list of files is an "
           "index, kept as others are for 4096 files or more; opening it again looks at each "
           "folder, and at no file. Each file is opened, read and closed when its record is "
           "needed; one that is empty or cannot be read is a damaged record.",
    PFD_OP_ATTRS(image_folder_attrs, attr_table),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
    .propose = propose,
};
