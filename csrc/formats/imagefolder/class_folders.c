/* Lists the files of each class, classes on several threads. */
#include "formats/imagefolder/class_folders.h"

#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "files/file_names.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct lister {
    const pfd_class_folders *wanted;
    int64_t num_classes;
    int64_t *by_name;            /* classes in the order of their names */
    pfd_file_list_draft *drafts; /* of each root: itself, then its classes by name */
    _Atomic int64_t num_others;  /* files without one of the suffixes */
} lister;

typedef struct folder_id {
    uint64_t device, inode;
} folder_id;

static pfd_status fail_memory(const pfd_class_folders *wanted, pfd_error *err)
{
    return wanted->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the list of files");
}

/* ---- One class ------------------------------------------------------------------------------- */
typedef struct walk {
    lister *lister;
    int32_t root, class_number;
    pfd_file_list_draft *draft;
    void **seen; /* a tree of folder_id: a link may lead to any of them */
} walk;

static pfd_status fail_folder(const walk *self, const char *path, int reason, pfd_error *err)
{
    const pfd_class_folders *wanted = self->lister->wanted;
    char *whole = NULL;
    if (reason == ENOMEM || asprintf(&whole, "%s/%s", wanted->files[self->root]->path, path) < 0)
        return fail_memory(wanted, err);
    (void)wanted->host->fail(err, PFD_IO, "the folder cannot be read: %s", strerror(reason));
    pfd_error_set_file(err, whole);
    free(whole);
    return PFD_IO;
}

static pfd_status walk_folder(const walk *self, const char *path, pfd_error *err);

static pfd_status walk_below(const walk *self, const char *path, const pfd_path_list *names,
                             pfd_error *err)
{
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < names->size && status == PFD_OK; i++) {
        char *below;
        if (asprintf(&below, "%s/%s", path, names->paths[i]) < 0)
            return fail_folder(self, path, ENOMEM, err);
        status = walk_folder(self, below, err);
        free(below);
    }
    return status;
}

static int by_id(const void *a, const void *b)
{
    const folder_id *left = a, *right = b;
    if (left->device != right->device) return left->device < right->device ? -1 : 1;
    return left->inode == right->inode ? 0 : left->inode < right->inode ? -1 : 1;
}

/* 1: the folder is now among those that were seen; 0: it was; -1: no memory. */
static int32_t note_seen(const walk *self, uint64_t device, uint64_t inode)
{
    folder_id *own = malloc(sizeof *own);
    if (!own) return -1;
    *own = (folder_id){device, inode};
    folder_id **found = tsearch(own, self->seen, by_id);
    int32_t is_new = !found ? -1 : *found == own;
    if (is_new != 1) free(own);
    return is_new;
}

/* Takes the names over. */
static pfd_status note_folder(const walk *self, const char *path, pfd_folder_names *names,
                              pfd_error *err)
{
    pfd_listed_folder listed = {.path = strdup(path),
                                .files = names->files,
                                .changed_ns = names->changed_ns,
                                .root = self->root,
                                .group = self->class_number};
    names->files = (pfd_path_list){0};
    self->lister->num_others += names->num_others;
    if (listed.path) return pfd_file_list_draft_add(self->draft, &listed, err);
    pfd_path_list_free(&listed.files);
    return fail_folder(self, path, ENOMEM, err);
}

static pfd_status walk_folder(const walk *self, const char *path, pfd_error *err)
{
    const pfd_class_folders *wanted = self->lister->wanted;
    pfd_folder_names names = {0};
    if (wanted->host->is_cancelled(wanted->scratch))
        return wanted->host->fail(err, PFD_CANCELLED, "the loader is closing");
    int reason = pfd_folder_names_read(wanted->roots[self->root], path, wanted->suffixes, &names);
    pfd_status status = reason ? fail_folder(self, path, reason, err) : PFD_OK;
    int32_t is_new = reason ? 0 : note_seen(self, names.device, names.inode);
    if (is_new < 0) status = fail_memory(wanted, err);
    if (is_new > 0) status = note_folder(self, path, &names, err);
    if (is_new > 0 && status == PFD_OK) status = walk_below(self, path, &names.folders, err);
    pfd_folder_names_free(&names);
    return status;
}

/* The root itself, whose files are not listed: new classes change it. */
static pfd_status note_root(const walk *self, int root, pfd_error *err)
{
    pfd_folder_names names = {.changed_ns = pfd_folder_changed_ns(root, ".")};
    if (names.changed_ns < 0) return fail_folder(self, ".", (int)-names.changed_ns, err);
    return note_folder(self, ".", &names, err);
}

static pfd_status walk_class(const walk *self, int root, const char *name, pfd_error *err)
{
    struct stat st, of_root;
    if (fstatat(root, name, &st, 0) != 0 || !S_ISDIR(st.st_mode)) return PFD_OK; /* found later */
    if (fstat(root, &of_root) != 0) return fail_folder(self, ".", errno, err);
    if (note_seen(self, of_root.st_dev, of_root.st_ino) < 0)
        return fail_memory(self->lister->wanted, err);
    return walk_folder(self, name, err);
}

static int by_path(const void *a, const void *b)
{
    const pfd_listed_folder *left = a, *right = b;
    return strcmp(left->path, right->path);
}

/* Task i: the root i / (classes + 1), and of it the root itself or a class. */
static pfd_status list_some(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)worker;
    lister *self = ctx;
    const pfd_list_string *classes = self->wanted->classes;
    for (int64_t i = begin; i < end; i++) {
        int64_t place = i % (self->num_classes + 1), root = i / (self->num_classes + 1);
        walk one = {.lister = self,
                    .root = (int32_t)root,
                    .class_number = -1,
                    .draft = &self->drafts[i]};
        int folder = self->wanted->roots[root];
        if (place == 0) {
            PFD_TRY(note_root(&one, folder, err));
            continue;
        }
        one.class_number = (int32_t)self->by_name[place - 1];
        void *seen = NULL;
        one.seen = &seen;
        pfd_status status = walk_class(&one, folder, classes->data[one.class_number], err);
        tdestroy(seen, free);
        PFD_TRY(status);
        if (one.draft->size > 1)
            qsort(one.draft->folders, (size_t)one.draft->size, sizeof *one.draft->folders, by_path);
    }
    return PFD_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */
static int by_class_name(const void *a, const void *b, void *classes)
{
    const pfd_list_string *names = classes;
    return strcmp(names->data[*(const int64_t *)a], names->data[*(const int64_t *)b]);
}

/* Appends the names of some classes that are without folders, or without files. */
static void write_classes(const lister *self, const int32_t *states, int32_t state, char *text,
                          size_t room)
{
    int64_t n = 0;
    for (int64_t i = 0; i < self->num_classes; i++) {
        if (states[i] != state || ++n > 5) continue;
        size_t used = strlen(text);
        (void)snprintf(text + used, room - used, "%s'%.60s'", n > 1 ? ", " : "",
                       self->wanted->classes->data[i]);
    }
    size_t used = strlen(text);
    if (n > 5) (void)snprintf(text + used, room - used, " and %" PRId64 " more", n - 5);
}

enum { NO_FOLDER, NO_FILES, HAS_FILES };

static pfd_status fail_class(const lister *self, const int32_t *states, int32_t state,
                             pfd_error *err)
{
    char names[512] = "", others[80] = "";
    const pfd_host *host = self->wanted->host;
    write_classes(self, states, state, names, sizeof names);
    if (state == NO_FOLDER)
        (void)host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                            ": there is no folder for %s; take the class out, or use "
                            "allow_empty=true", names);
    if (self->num_others > 0)
        (void)snprintf(others, sizeof others, " (%" PRId64 " files have other extensions)",
                       self->num_others);
    if (state == NO_FILES)
        (void)host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                            ": the folders of %s have no file with one of the extensions%s; name "
                            "the other classes alone, or use allow_empty=true", names, others);
    pfd_error_set_file(err, self->wanted->files[0]->path);
    return PFD_INVALID_ARGUMENT;
}

static pfd_status check_classes(const lister *self, pfd_error *err)
{
    int32_t *states = calloc((size_t)self->num_classes + 1, sizeof *states);
    if (!states) return fail_memory(self->wanted, err);
    for (int64_t i = 0; i < self->wanted->num_roots * (self->num_classes + 1); i++) {
        for (int64_t j = 0; j < self->drafts[i].size; j++) {
            const pfd_listed_folder *folder = &self->drafts[i].folders[j];
            int32_t found = folder->files.size > 0 ? HAS_FILES : NO_FILES;
            if (folder->group >= 0 && states[folder->group] < found) states[folder->group] = found;
        }
    }
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < self->num_classes && status == PFD_OK; i++)
        if (states[i] != HAS_FILES) status = fail_class(self, states, states[i], err);
    free(states);
    return status;
}

static pfd_status list_all(lister *self, int32_t num_threads, pfd_index_image **out, pfd_error *err)
{
    int64_t tasks = self->wanted->num_roots * (self->num_classes + 1);
    self->by_name = malloc((size_t)(self->num_classes + 1) * sizeof *self->by_name);
    self->drafts = calloc((size_t)tasks + 1, sizeof *self->drafts);
    if (!self->by_name || !self->drafts) return fail_memory(self->wanted, err);
    for (int64_t i = 0; i < self->num_classes; i++) self->by_name[i] = i;
    qsort_r(self->by_name, (size_t)self->num_classes, sizeof *self->by_name, by_class_name,
            (void *)(uintptr_t)self->wanted->classes);
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t scanned_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    PFD_TRY(pfd_parallel_for(num_threads, tasks, 1, list_some, self, err));
    if (!self->wanted->allow_empty) PFD_TRY(check_classes(self, err));
    return pfd_file_list_build(self->drafts, tasks, self->wanted->num_roots, scanned_ns, out, err);
}

pfd_status pfd_class_folders_list(void *ctx, int32_t num_threads, pfd_index_image **out,
                                  pfd_error *err)
{
    const pfd_class_folders *wanted = ctx;
    lister self = {.wanted = wanted, .num_classes = wanted->classes->size};
    pfd_status status = list_all(&self, num_threads, out, err);
    int64_t tasks = wanted->num_roots * (self.num_classes + 1);
    for (int64_t i = 0; self.drafts && i < tasks; i++) pfd_file_list_draft_free(&self.drafts[i]);
    free(self.drafts);
    free(self.by_name);
    return status;
}

int32_t pfd_class_folders_are_as_listed(void *ctx, const pfd_index_image *image)
{
    const pfd_class_folders *wanted = ctx;
    pfd_file_list list;
    return pfd_file_list_init(&list, image) &&
           pfd_file_list_is_current(&list, wanted->roots, wanted->num_roots);
}
