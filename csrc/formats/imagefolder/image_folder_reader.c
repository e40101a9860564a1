/* ImageFolderReader: image files in a folder for each class. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/multi_thread_loop.h"
#include "core/op_shorthand.h"
#include "core/search.h"
#include "core/system_calls.h"
#include "files/file_names.h"
#include "files/file_read.h"
#include "files/remote_file.h"
#include "index/index_image.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/class_numbers.h"
#include "sources/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The list of files below the folders, as an index ---------------------------------------- */

/* Each file is a record.  The parts of the index:
 *
 *   head of 64 bytes | folders, 32 bytes each | where each file's name begins, 8 bytes | names |
 *   the path of a file that is left out
 *
 * Files are in the order of the folders.  A folder has the time of its last change, so that opening
 * the list again takes a look at each folder, and at no file. */

/* At the beginning of the entries of the image. */
typedef struct list_head {
    int64_t num_files, num_folders, name_bytes, scanned_ns;
    uint64_t hash;
    int64_t others_and_1; /* files that are left out, and 1; 0: written before they were counted */
    int64_t reserved[2];
} list_head;

typedef struct folder_entry {
    int64_t changed_ns;
    int64_t first_file; /* of all files; the next folder's is its end */
    int64_t path_at;    /* in the names */
    int32_t root, group;
} folder_entry;

/* ---- Drafts ---------------------------------------------------------------------------------- */

/* A folder whose files are in the list. */
typedef struct listed_folder {
    char *path;          /* below its root, "." for the root itself; owned */
    pfd_path_list files; /* names, in order; owned */
    int64_t changed_ns;  /* as in files/file_names.h */
    int32_t root;        /* which of the reader's folders it is in */
    int32_t group;       /* of its files: the number of a class */
} listed_folder;

typedef struct file_list_draft {
    listed_folder *folders;
    int64_t size, capacity;
    int64_t num_others;   /* files of these folders that are left out */
    pfd_path_list others; /* paths of some of them below their root, one for each suffix; owned */
} file_list_draft;

static void free_folder(listed_folder *folder)
{
    free(folder->path);
    pfd_path_list_free(&folder->files);
}

/* Takes the folder over, also if it fails.  0: no memory. */
static int32_t file_list_draft_add(file_list_draft *draft, listed_folder *folder)
{
    if (draft->size == draft->capacity) {
        int64_t capacity = draft->capacity > 0 ? 2 * draft->capacity : 4;
        listed_folder *grown = realloc(draft->folders, (size_t)capacity * sizeof *grown);
        if (!grown) {
            free_folder(folder);
            return 0;
        }
        draft->folders = grown;
        draft->capacity = capacity;
    }
    draft->folders[draft->size++] = *folder;
    return 1;
}

static void file_list_draft_free(file_list_draft *draft)
{
    for (int64_t i = 0; i < draft->size; i++) free_folder(&draft->folders[i]);
    free(draft->folders);
    pfd_path_list_free(&draft->others);
    *draft = (file_list_draft){0};
}

/* ---- Building -------------------------------------------------------------------------------- */

static int64_t text_bytes(const char *text)
{
    return (int64_t)strlen(text) + 1;
}

enum { OTHERS_BYTES = 600 };

/* Writes paths of files that are left out, one for each suffix; "": there are none. */
static void write_others(const file_list_draft *drafts, int64_t num_drafts, char *out)
{
    pfd_path_list found = {0};
    int64_t all = 0;
    size_t used = 0;
    *out = '\0';
    for (int64_t i = 0; i < num_drafts; i++) {
        all += drafts[i].num_others;
        for (int64_t k = 0; k < drafts[i].others.size; k++)
            (void)pfd_note_example(&found, drafts[i].others.paths[k]); /* only shown */
    }
    for (int64_t i = 0; i < found.size && used < OTHERS_BYTES / 2; i++)
        used += (size_t)snprintf(out + used, OTHERS_BYTES - used, "%s%.150s", i > 0 ? ", " : "",
                                 found.paths[i]);
    if (found.size > 0 && all > found.size)
        (void)snprintf(out + used, OTHERS_BYTES - used, " and others");
    pfd_path_list_free(&found);
}

/* Folders without files do not count. */
static uint64_t hash_folder(uint64_t hash, const listed_folder *folder)
{
    if (folder->files.size == 0) return hash;
    hash = pfd_hash_bytes(hash, folder->path, text_bytes(folder->path));
    hash = pfd_hash_word(hash, (uint64_t)folder->group);
    hash = pfd_hash_word(hash, (uint64_t)folder->files.size);
    for (int64_t i = 0; i < folder->files.size; i++)
        hash = pfd_hash_bytes(hash, folder->files.paths[i], text_bytes(folder->files.paths[i]));
    return hash;
}

static list_head measure(const file_list_draft *drafts, int64_t num_drafts, int64_t scanned_ns,
                         const char *others)
{
    list_head head = {.scanned_ns = scanned_ns, .hash = 1, .others_and_1 = 1};
    head.name_bytes = text_bytes(others);
    for (int64_t i = 0; i < num_drafts; i++) {
        head.others_and_1 += drafts[i].num_others;
        head.num_folders += drafts[i].size;
        for (int64_t j = 0; j < drafts[i].size; j++) {
            const listed_folder *folder = &drafts[i].folders[j];
            head.num_files += folder->files.size;
            head.hash = hash_folder(head.hash, folder);
            head.name_bytes += text_bytes(folder->path);
            for (int64_t k = 0; k < folder->files.size; k++)
                head.name_bytes += text_bytes(folder->files.paths[k]);
        }
    }
    return head;
}

static int64_t bytes_of(const list_head *head)
{
    return (int64_t)sizeof *head + head->num_folders * (int64_t)sizeof(folder_entry) +
           head->num_files * (int64_t)sizeof(int64_t) + head->name_bytes;
}

/* An image that is being written. */
typedef struct list_writer {
    folder_entry *folders;
    int64_t *names_at;
    char *names;
    int64_t num_folders, num_files, name_bytes; /* so far */
} list_writer;

static int64_t put_text(list_writer *self, const char *text)
{
    int64_t at = self->name_bytes, bytes = text_bytes(text);
    memcpy(self->names + at, text, (size_t)bytes);
    self->name_bytes += bytes;
    return at;
}

static void put_folder(list_writer *self, const listed_folder *folder)
{
    self->folders[self->num_folders++] = (folder_entry){.changed_ns = folder->changed_ns,
                                                        .first_file = self->num_files,
                                                        .path_at = put_text(self, folder->path),
                                                        .root = folder->root,
                                                        .group = folder->group};
    for (int64_t i = 0; i < folder->files.size; i++)
        self->names_at[self->num_files++] = put_text(self, folder->files.paths[i]);
}

/* Sets the first file of each root; a root without files begins where the next root does. */
static void count_roots(const list_writer *self, int64_t num_roots, pfd_index_file *roots)
{
    for (int64_t i = self->num_folders - 1; i >= 0; i--)
        roots[self->folders[i].root].first_record = self->folders[i].first_file;
    roots[num_roots].first_record = self->num_files;
}

/* The drafts' folders, one after the other, in the order of their roots.  `scanned_ns`: by the
 * machine's clock, before the first folder was read. */
static pfd_status file_list_build(const file_list_draft *drafts, int64_t num_drafts,
                                  int64_t num_roots, int64_t scanned_ns, pfd_index_image **out,
                                  pfd_error *err)
{
    char others[OTHERS_BYTES];
    write_others(drafts, num_drafts, others);
    list_head head = measure(drafts, num_drafts, scanned_ns, others);
    int64_t entries = (bytes_of(&head) + PFD_INDEX_ENTRY_BYTES - 1) / PFD_INDEX_ENTRY_BYTES;
    PFD_TRY(pfd_index_image_create(PFD_INDEX_FOLDERS, num_roots, entries, out, err));
    memcpy((*out)->entries, &head, sizeof head);
    list_writer self = {.folders = (void *)((uint8_t *)(*out)->entries + sizeof head)};
    self.names_at = (void *)(self.folders + head.num_folders);
    self.names = (void *)(self.names_at + head.num_files);
    for (int64_t i = 0; i < num_drafts; i++)
        for (int64_t j = 0; j < drafts[i].size; j++) put_folder(&self, &drafts[i].folders[j]);
    (void)put_text(&self, others);
    count_roots(&self, num_roots, (*out)->files);
    (*out)->header->num_records = head.num_files;
    return PFD_OK;
}

/* ---- Looking up ------------------------------------------------------------------------------ */

/* It borrows its image. */
typedef struct file_list {
    int64_t num_files, num_folders, name_bytes, scanned_ns;
    uint64_t hash; /* of all paths and groups, without the roots: the same on every machine */
    const folder_entry *folders;
    const int64_t *names_at;
    const char *names;
    int64_t num_others; /* files that are left out; -1: an older list, which does not say */
    const char *others; /* paths of some of them below their root; "": there are none */
} file_list;

typedef struct listed_file {
    int32_t root, group;
    int32_t size;        /* of the path */
    char path[PATH_MAX]; /* below its root */
} listed_file;

/* Returns 0 if the numbers of the image contradict each other. */
static int32_t file_list_init(file_list *list, const pfd_index_image *image)
{
    list_head head;
    int64_t most = pfd_index_image_head(image, &head, sizeof head);
    if (most == 0 || bytes_of(&head) > most) return 0;
    const folder_entry *folders = (const void *)((const uint8_t *)image->entries + sizeof head);
    const int64_t *names_at = (const void *)(folders + head.num_folders);
    const char *names = (const void *)(names_at + head.num_files);
    *list = (file_list){.num_files = head.num_files,
                        .num_folders = head.num_folders,
                        .name_bytes = head.name_bytes,
                        .scanned_ns = head.scanned_ns,
                        .hash = head.hash,
                        .folders = folders,
                        .names_at = names_at,
                        .names = names,
                        .num_others = head.others_and_1 - 1,
                        .others = ""};
    int64_t last = head.name_bytes - 1; /* of the text at the end, with its zero */
    if (head.others_and_1 < 1 || last < 0 || names[last]) return 1;
    while (last > 0 && names[last - 1]) last--;
    list->others = names + last;
    return 1;
}

/* Appends a text of the names to a path; 0: there is none at that place, or it is too long. */
static int32_t append(const file_list *list, int64_t at, listed_file *out)
{
    if (at < 0 || at >= list->name_bytes) return 0;
    const char *text = list->names + at;
    int64_t most = list->name_bytes - at, room = (int64_t)sizeof out->path - out->size;
    int64_t size = (int64_t)strnlen(text, (size_t)(most < room ? most : room));
    if (size == 0 || size == most || size == room) return 0;
    memcpy(out->path + out->size, text, (size_t)size);
    out->size += (int32_t)size;
    return 1;
}

/* The last folder that begins at or before a file: an empty folder begins where the next folder
 * does. */
static folder_entry folder_of(const file_list *list, int64_t file)
{
    return list->folders[pfd_last_at_most(&list->folders->first_file,
                                          (int64_t)sizeof *list->folders, 0, list->num_folders,
                                          file)];
}

/* File number i, in [0, num_files).  0: the image was changed or cut short while it was in use. */
static int32_t file_list_at(const file_list *list, int64_t i, listed_file *out)
{
    if (list->num_folders == 0) return 0;
    folder_entry folder = folder_of(list, i);
    out->root = folder.root;
    out->group = folder.group;
    out->size = 0;
    if (!append(list, folder.path_at, out) || out->size == sizeof out->path - 1) return 0;
    out->path[out->size++] = '/';
    if (!append(list, list->names_at[i], out)) return 0;
    out->path[out->size] = '\0';
    return 1;
}

/* The group of file i's folder; -1: the image was changed, as above. */
static int32_t file_list_group(const file_list *list, int64_t i)
{
    return list->num_folders > 0 ? folder_of(list, i).group : -1;
}

/* Whether it says what is left out, and no folder has changed since it was read; `roots` are open
 * descriptors. */
static int32_t file_list_is_current(const file_list *list, const int *roots, int64_t num_roots)
{
    if (list->num_others < 0) return 0;
    for (int64_t i = 0; i < list->num_folders; i++) {
        folder_entry folder = list->folders[i];
        listed_file path = {.size = 0};
        if (folder.root < 0 || folder.root >= num_roots) return 0;
        if (pfd_is_just_changed(folder.changed_ns, list->scanned_ns)) return 0;
        if (!append(list, folder.path_at, &path)) return 0;
        path.path[path.size] = '\0';
        if (pfd_folder_changed_ns(roots[folder.root], path.path) != folder.changed_ns) return 0;
    }
    return 1;
}

/* ---- Folders with a folder for each class: what is in them ----------------------------------- */

/* What to list. */
typedef struct class_folders {
    const pfd_host *host;
    const pfd_file *const *files; /* the reader's folders */
    const int *roots;             /* descriptors of these folders */
    int64_t num_roots;
    const pfd_list_string *classes, *suffixes;
    int32_t allow_empty;
    const pfd_scratch *scratch; /* of open(); it says whether the loader is closing */
} class_folders;

typedef struct lister {
    const class_folders *wanted;
    int64_t num_classes;
    int64_t *by_name;            /* the numbers of the classes in the order of their names */
    file_list_draft *drafts; /* for each root: its own, then its classes by name */
} lister;

typedef struct folder_id {
    uint64_t device, inode;
} folder_id;

static pfd_status fail_folder(const pfd_host *host, const char *path, int reason, pfd_error *err)
{
    pfd_status status = reason == ENOMEM ? PFD_OUT_OF_MEMORY : PFD_IO;
    (void)host->fail(err, status, "the folder cannot be read: %s", strerror(reason));
    pfd_error_set_file(err, path);
    return pfd_error_set_errno(err, reason);
}

static pfd_status fail_list_memory(const class_folders *wanted, pfd_error *err)
{
    return wanted->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the list of files");
}

/* An error for the link of this name that leads nowhere: what it stands for would be left out. */
static pfd_status check_link(const pfd_host *host, const char *folder, const char *name,
                             pfd_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the list of files");
    pfd_status status = pfd_check_links(path, err);
    free(path);
    return status;
}

typedef struct walk {
    lister *lister;
    int32_t root, class_number;
    file_list_draft *draft;
    void **seen; /* a tree of folder_id: the folders seen so far, to which a link may lead back */
} walk;

static pfd_status fail_listing(const walk *self, const char *path, int reason, pfd_error *err)
{
    const class_folders *wanted = self->lister->wanted;
    char *whole = NULL;
    if (reason == ENOMEM || asprintf(&whole, "%s/%s", wanted->files[self->root]->path, path) < 0)
        return fail_list_memory(wanted, err);
    (void)fail_folder(wanted->host, whole, reason, err);
    free(whole);
    return PFD_IO;
}

static pfd_status check_link_below(const walk *self, const char *path, const char *name,
                                   pfd_error *err)
{
    char *below;
    const class_folders *wanted = self->lister->wanted;
    if (asprintf(&below, "%s/%s", path, name) < 0) return fail_list_memory(wanted, err);
    pfd_status status = check_link(wanted->host, wanted->files[self->root]->path, below, err);
    free(below);
    return status;
}

static pfd_status walk_folder(const walk *self, const char *path, pfd_error *err);

static pfd_status walk_below(const walk *self, const char *path, const pfd_path_list *names,
                             pfd_error *err)
{
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < names->size && status == PFD_OK; i++) {
        char *below;
        if (asprintf(&below, "%s/%s", path, names->paths[i]) < 0)
            return fail_listing(self, path, ENOMEM, err);
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

/* Adds a folder to `seen`.  1: it is new; 0: it was seen before; -1: no memory. */
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

/* Adds a folder to the draft, which takes the names of its files over. */
static pfd_status note_folder(const walk *self, const char *path, pfd_folder_names *names,
                              pfd_error *err)
{
    listed_folder listed = {.path = strdup(path),
                            .files = names->files,
                            .changed_ns = names->changed_ns,
                            .root = self->root,
                            .group = self->class_number};
    names->files = (pfd_path_list){0};
    self->draft->num_others += names->num_others;
    for (int64_t i = 0; i < names->others.size; i++) {
        char *other;
        if (asprintf(&other, "%s/%s", path, names->others.paths[i]) < 0) break; /* only shown */
        (void)pfd_note_example(&self->draft->others, other);
        free(other);
    }
    if (listed.path && file_list_draft_add(self->draft, &listed)) return PFD_OK;
    if (!listed.path) pfd_path_list_free(&listed.files);
    return fail_listing(self, path, ENOMEM, err);
}

enum { LOOKS = 1024 };

/* Adds to the names of objects a line with their sizes and versions. */
static pfd_status add_versions(const walk *self, const char *folder, pfd_path_list *names,
                               pfd_error *err)
{
    pfd_status status = PFD_OK;
    char **urls = calloc(LOOKS, sizeof *urls);
    pfd_remote_facts *facts = calloc(LOOKS, sizeof *facts);
    if (!urls || !facts) status = fail_list_memory(self->lister->wanted, err);
    for (int64_t begin = 0; begin < names->size && status == PFD_OK; begin += LOOKS) {
        char **some = names->paths + begin;
        int64_t n = names->size - begin < LOOKS ? names->size - begin : LOOKS, made = 0;
        while (made < n && asprintf(&urls[made], "%s/%s", folder, some[made]) >= 0) made++;
        status = made == n ? pfd_remote_look(urls, n, facts, err)
                           : fail_list_memory(self->lister->wanted, err);
        for (int64_t i = 0; i < made; i++) free(urls[i]);
        for (int64_t i = 0; i < n && status == PFD_OK; i++) {
            char *whole;
            if (asprintf(&whole, "%s\n%" PRId64 " %s", some[i], facts[i].size, facts[i].tag) < 0)
                status = fail_list_memory(self->lister->wanted, err);
            else free(some[i]), some[i] = whole;
        }
    }
    free(urls);
    free(facts);
    return status;
}

/* A folder in a store, in which no link can lead back. */
static pfd_status walk_objects(const walk *self, const char *path, pfd_error *err)
{
    const class_folders *wanted = self->lister->wanted;
    pfd_folder_names names = {0};
    char *folder;
    if (asprintf(&folder, "%s/%s", wanted->files[self->root]->path, path) < 0)
        return fail_list_memory(wanted, err);
    pfd_status status = pfd_folder_objects_read(folder, wanted->suffixes, &names, err);
    int32_t is_there = names.files.size + names.folders.size + names.num_others > 0;
    if (status == PFD_OK) status = add_versions(self, folder, &names.files, err);
    if (status == PFD_OK && is_there) status = note_folder(self, path, &names, err);
    if (status == PFD_OK) status = walk_below(self, path, &names.folders, err);
    pfd_folder_names_free(&names);
    free(folder);
    return status;
}

static pfd_status walk_folder(const walk *self, const char *path, pfd_error *err)
{
    const class_folders *wanted = self->lister->wanted;
    pfd_folder_names names = {0};
    if (wanted->host->is_cancelled(wanted->scratch))
        return wanted->host->fail(err, PFD_CANCELLED, "the loader is closing");
    if (pfd_path_is_remote(wanted->files[self->root]->path)) return walk_objects(self, path, err);
    int reason = pfd_folder_names_read(wanted->roots[self->root], path, wanted->suffixes, &names);
    pfd_status status = reason ? fail_listing(self, path, reason, err) : PFD_OK;
    if (names.broken && !reason) status = check_link_below(self, path, names.broken, err);
    int32_t is_new = status != PFD_OK ? 0 : note_seen(self, names.device, names.inode);
    if (is_new < 0) status = fail_list_memory(wanted, err);
    if (is_new > 0) status = note_folder(self, path, &names, err);
    if (is_new > 0 && status == PFD_OK) status = walk_below(self, path, &names.folders, err);
    pfd_folder_names_free(&names);
    return status;
}

/* Adds the root itself without its files: it changes when a class is added. */
static pfd_status note_root(const walk *self, int root, pfd_error *err)
{
    pfd_folder_names names = {0};
    if (root >= 0) names.changed_ns = pfd_folder_changed_ns(root, ".");
    if (names.changed_ns < 0) return fail_listing(self, ".", (int)-names.changed_ns, err);
    return note_folder(self, ".", &names, err);
}

static pfd_status walk_class(const walk *self, int root, const char *name, pfd_error *err)
{
    const pfd_bounds *bounds = pfd_scratch_bounds(self->lister->wanted->scratch);
    struct stat st, of_root;
    if (root < 0) return walk_folder(self, name, err);
    if (pfd_sys_stat(bounds, root, name, &st) != 0) {
        int reason = errno;
        if (pfd_errno_class(reason, 0) == PFD_REASON_NONE)
            return check_link(self->lister->wanted->host,
                              self->lister->wanted->files[self->root]->path, name, err);
        return fail_listing(self, name, reason, err);
    }
    if (!S_ISDIR(st.st_mode)) return PFD_OK; /* check_found_classes() fails then */
    if (pfd_sys_fstat(bounds, root, &of_root) != 0) return fail_listing(self, ".", errno, err);
    if (note_seen(self, of_root.st_dev, of_root.st_ino) < 0)
        return fail_list_memory(self->lister->wanted, err);
    return walk_folder(self, name, err);
}

static int by_path(const void *a, const void *b)
{
    const listed_folder *left = a, *right = b;
    return strcmp(left->path, right->path);
}

/* Task i is about the root i / (classes + 1): i % (classes + 1) is 0 for the root itself, or the
 * place of a class by name, from 1. */
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

/* ---- All classes ----------------------------------------------------------------------------- */

static int by_class_name(const void *a, const void *b, void *classes)
{
    const pfd_list_string *names = classes;
    return strcmp(names->data[*(const int64_t *)a], names->data[*(const int64_t *)b]);
}

/* Appends the names of up to five classes with this state. */
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

static pfd_status fail_missing_class(const lister *self, const int32_t *states, int32_t state,
                                     pfd_error *err)
{
    char names[512] = "", others[80] = "";
    const pfd_host *host = self->wanted->host;
    write_classes(self, states, state, names, sizeof names);
    if (state == NO_FOLDER)
        (void)host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                            ": there is no folder for %s; take the class out, or use "
                            "allow_empty=true", names);
    int64_t num_others = 0;
    for (int64_t i = 0; i < self->wanted->num_roots * (self->num_classes + 1); i++)
        num_others += self->drafts[i].num_others;
    if (num_others > 0)
        (void)snprintf(others, sizeof others, " (%" PRId64 " files have other extensions)",
                       num_others);
    if (state == NO_FILES)
        (void)host->fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                            ": the folders of %s have no file with one of the extensions%s; list "
                            "only the other classes, or use allow_empty=true", names, others);
    pfd_error_set_file(err, self->wanted->files[0]->path);
    return PFD_INVALID_ARGUMENT;
}

static pfd_status check_found_classes(const lister *self, pfd_error *err)
{
    int32_t *states = calloc((size_t)self->num_classes + 1, sizeof *states);
    if (!states) return fail_list_memory(self->wanted, err);
    for (int64_t i = 0; i < self->wanted->num_roots * (self->num_classes + 1); i++) {
        for (int64_t j = 0; j < self->drafts[i].size; j++) {
            const listed_folder *folder = &self->drafts[i].folders[j];
            int32_t found = folder->files.size > 0 ? HAS_FILES : NO_FILES;
            if (folder->group >= 0 && states[folder->group] < found) states[folder->group] = found;
        }
    }
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < self->num_classes && status == PFD_OK; i++)
        if (states[i] != HAS_FILES) status = fail_missing_class(self, states, states[i], err);
    free(states);
    return status;
}

static pfd_status list_all(lister *self, int32_t num_threads, pfd_index_image **out, pfd_error *err)
{
    int64_t tasks = self->wanted->num_roots * (self->num_classes + 1);
    self->by_name = malloc((size_t)(self->num_classes + 1) * sizeof *self->by_name);
    self->drafts = calloc((size_t)tasks + 1, sizeof *self->drafts);
    if (!self->by_name || !self->drafts) return fail_list_memory(self->wanted, err);
    for (int64_t i = 0; i < self->num_classes; i++) self->by_name[i] = i;
    qsort_r(self->by_name, (size_t)self->num_classes, sizeof *self->by_name, by_class_name,
            (void *)(uintptr_t)self->wanted->classes);
    int64_t scanned_ns = pfd_unix_ns();
    PFD_TRY(pfd_parallel_for(num_threads, tasks, 1, list_some, self, err));
    if (!self->wanted->allow_empty) PFD_TRY(check_found_classes(self, err));
    return file_list_build(self->drafts, tasks, self->wanted->num_roots, scanned_ns, out, err);
}

/* Lists the files of all classes by the name of the class, then by folder and name.  A file's group
 * is the number of its class in `classes`.  A pfd_index_build_fn; `ctx` is a class_folders.
 * ERRORS  PFD_IO names the folder that cannot be read; PFD_INVALID_ARGUMENT names the classes
 *         without folder or files. */
static pfd_status class_folders_list(void *ctx, int32_t num_threads, pfd_index_image **out,
                                     pfd_error *err)
{
    const class_folders *wanted = ctx;
    lister self = {.wanted = wanted, .num_classes = wanted->classes->size};
    pfd_status status = list_all(&self, num_threads, out, err);
    int64_t tasks = wanted->num_roots * (self.num_classes + 1);
    for (int64_t i = 0; self.drafts && i < tasks; i++) file_list_draft_free(&self.drafts[i]);
    free(self.drafts);
    free(self.by_name);
    return status;
}

/* Whether no folder has changed since an index was made: pfd_index_maker.is_current. */
static int32_t class_folders_are_as_listed(void *ctx, const pfd_index_image *image)
{
    const class_folders *wanted = ctx;
    file_list list;
    return file_list_init(&list, image) &&
           file_list_is_current(&list, wanted->roots, wanted->num_roots);
}

/* ---- Attrs ----------------------------------------------------------------------------------- */

/* Listing fewer files is faster than looking for a cached index. */
enum { least_cached_files = 4096 };

typedef struct image_folder_attrs {
    pfd_list_string classes;
    pfd_list_int64 class_numbers;
    pfd_list_string extensions;
    int32_t allow_empty;
} image_folder_attrs;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the names of the folders in a folder, and the number of its files to *num_files. */
static pfd_status add_folders(const pfd_host *host, const char *path, pfd_path_list *out,
                              int64_t *num_files, pfd_error *err)
{
    static const pfd_list_string all = {0};
    pfd_folder_names names = {0};
    int32_t is_remote = pfd_path_is_remote(path);
    int reason = is_remote ? 0 : pfd_folder_names_read(AT_FDCWD, path, &all, &names);
    pfd_status status = is_remote ? pfd_folder_objects_read(path, &all, &names, err)
                        : reason  ? fail_folder(host, path, reason, err)
                                  : PFD_OK;
    if (names.broken && !reason) status = check_link(host, path, names.broken, err);
    *num_files += names.files.size;
    for (int64_t i = 0; i < names.folders.size && status == PFD_OK; i++)
        status = pfd_path_list_take(out, strdup(names.folders.paths[i]), err);
    pfd_folder_names_free(&names);
    return status;
}

/* Sorts the names and moves repeated ones to the end.  Returns how many differ. */
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
                                  " files: put them into a folder for each class; for images "
                                  "without classes, give the folder above, and this folder's name "
                                  "as the only one of classes", num_files);
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
    file_list list;
    int64_t mean_bytes; /* of a file; estimated from some of them */
    pfd_store_objects *store; /* NULL: all folders are on disk */
} image_folders;

static void close_source(void *source)
{
    image_folders *self = source;
    for (int64_t i = 0; self->roots && i < self->num_roots; i++)
        if (self->roots[i] >= 0) close(self->roots[i]);
    pfd_index_image_free(self->image);
    pfd_store_objects_free(self->store);
    free(self->roots);
    free(self);
}

PFD_SOURCE_NUMBER(num_records, image_folders, list.num_files)

static pfd_status fail_lost(const image_folders *self, int64_t row, pfd_error *err)
{
    PFD_TRY(pfd_index_image_check_disk(self->image, err));
    return self->host->fail_row(err, row, -1, PFD_IO,
                                "the index has no such file: was it changed while it was in use?");
}

/* Finds file i of the list.  0: the index was changed while it was in use. */
static int32_t find_listed(const image_folders *self, int64_t i, listed_file *out)
{
    return file_list_at(&self->list, i, out) && out->root >= 0 && out->root < self->num_roots;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const image_folders *self = source;
    for (int64_t i = 0; i < n; i++) {
        listed_file file;
        if (!find_listed(self, ordinals[i], &file)) return fail_lost(self, i, err);
        uint8_t *path = self->host->alloc(scratch, file.size);
        if (!path) return fail_memory(self->host, err);
        memcpy(path, file.path, (size_t)file.size);
        out[i] = (pfd_record){
            .data = path, .size = file.size, .ordinal = ordinals[i], .file = file.root};
    }
    return pfd_index_image_check(self->image, err);
}

/* What follows the name of an object, which ends there from now on; NULL: nothing. */
static char *version_in(char *path)
{
    char *line = strrchr(path, '\n');
    if (line) *line++ = '\0';
    return line;
}

/* Lets an error name the path of the file in place of its root's path. No byte of the file is
 * known. */
static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const image_folders *self = source;
    listed_file file;
    char *path;
    if (record->ordinal < 0 || record->ordinal >= self->list.num_files) return;
    if (!find_listed(self, record->ordinal, &file)) return;
    if (self->roots[file.root] < 0) (void)version_in(file.path);
    if (asprintf(&path, "%s/%s", self->files[file.root]->path, file.path) < 0) return;
    pfd_error_set_file(err, path);
    err->byte = -1;
    free(path);
}

static uint64_t fingerprint(void *source)
{
    const image_folders *self = source;
    return self->list.hash;
}

PFD_SOURCE_NUMBER(record_bytes, image_folders, mean_bytes)

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch);

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = num_records,
    .at = at,
    .describe = describe,
    .fingerprint = fingerprint,
    .record_bytes = record_bytes,
    .need = need,
};

static pfd_status open_roots(image_folders *self, const pfd_bounds *bounds, pfd_error *err)
{
    for (int64_t i = 0; i < self->num_roots; i++) self->roots[i] = -1;
    for (int64_t i = 0; i < self->num_roots; i++) {
        const char *path = pfd_input_file_of(self->files[i])->absolute;
        if (pfd_path_is_remote(path)) {
            if (!self->store && !(self->store = pfd_store_objects_create()))
                return fail_memory(self->host, err);
            continue;
        }
        self->roots[i] = pfd_sys_open(bounds, AT_FDCWD, path, O_DIRECTORY);
        if (self->roots[i] < 0) return fail_folder(self->host, self->files[i]->path, errno, err);
    }
    return PFD_OK;
}

/* Bytes of file i; 0: not known. */
static int64_t size_of(void *ctx, int64_t i)
{
    const image_folders *self = ctx;
    listed_file file;
    if (!find_listed(self, i, &file)) return 0;
    const char *version = self->roots[file.root] < 0 ? version_in(file.path) : NULL;
    if (version) return strtoll(version, NULL, 10);
    return pfd_whole_file_size(self->roots[file.root], file.path);
}

static pfd_status list_files(image_folders *self, const pfd_open_args *args, pfd_error *err)
{
    int32_t are_on_disk = 1; /* a list of a store is asked for again by each opening */
    for (int64_t i = 0; i < self->num_roots; i++) are_on_disk &= self->roots[i] >= 0;
    class_folders wanted = {.host = args->host,
                            .files = self->files,
                            .roots = self->roots,
                            .num_roots = self->num_roots,
                            .classes = &self->attrs->classes,
                            .suffixes = &self->attrs->extensions,
                            .allow_empty = self->attrs->allow_empty,
                            .scratch = args->scratch};
    const pfd_index_maker maker = {.kind = PFD_INDEX_FOLDERS,
                                   .build = class_folders_list,
                                   .ctx = &wanted,
                                   .is_current = class_folders_are_as_listed,
                                   .least_cached_records =
                                       are_on_disk ? least_cached_files : INT64_MAX};
    PFD_TRY(pfd_index_make(args, &maker, &self->image, err));
    if (!file_list_init(&self->list, self->image)) return fail_lost(self, -1, err);
    if (self->list.num_others > 0)
        pfd_index_notice(args, "%" PRId64 " file%s left out, as 'extensions' does not have %s: "
                         "%.600s", self->list.num_others,
                         self->list.num_others == 1 ? " is" : "s are",
                         self->list.num_others == 1 ? "its ending" : "their endings",
                         self->list.others);
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
    pfd_status status = self->roots ? open_roots(self, pfd_scratch_bounds(args->scratch), err)
                                    : fail_memory(args->host, err);
    if (status == PFD_OK) status = list_files(self, args, err);
    return pfd_source_opened(status, &methods, self, out);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pfd_status find_object(const pfd_compute_args *args, int64_t row, char *path,
                              pfd_whole_file *out, pfd_error *err)
{
    const image_folders *self = args->source;
    const char *root = self->files[args->records[row].file]->path, *version = version_in(path);
    char *end = NULL;
    out->size = version ? strtoll(version, &end, 10) : -1;
    if (!version || end == version || out->size < 0 || *end != ' ')
        return fail_lost(self, row, err);
    out->tag = end + 1;
    return pfd_whole_file_inside(args, root, path, &out->url, err);
}

static pfd_status find_image(const pfd_compute_args *args, int64_t row, pfd_whole_file *out,
                             pfd_error *err)
{
    const image_folders *self = args->source;
    const pfd_record *record = &args->records[row];
    if (record->size >= PATH_MAX || record->file < 0 || record->file >= self->num_roots)
        return fail_lost(self, row, err);
    char *path = args->host->alloc(args->scratch, record->size + 1);
    if (!path) return fail_memory(self->host, err);
    memcpy(path, record->data, (size_t)record->size); /* a copy of the record has no 0 byte */
    path[record->size] = '\0';
    *out = (pfd_whole_file){.folder = self->roots[record->file],
                            .path = path,
                            .counted = self->files[record->file],
                            .is_listed = 1};
    return out->folder < 0 ? find_object(args, row, path, out, err) : PFD_OK;
}

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    const image_folders *self = source;
    const pfd_whole_file_finder finder = {self->host, source, at, find_image};
    return pfd_whole_files_need(self->store, &finder, ordinals, n, scratch);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const image_folders *self = args->source;
    int64_t *labels = (void *)args->outputs[1]->data;
    pfd_bytes *images;
    pfd_whole_file *files = pfd_whole_files_alloc(args, &images);
    if (!files) return fail_memory(self->host, err);
    for (int64_t row = 0; row < args->num_rows; row++)
        PFD_TRY(find_image(args, row, &files[row], err));
    PFD_TRY(pfd_whole_files_read(args, files, self->store, images, err));
    for (int64_t row = 0; row < args->num_rows; row++) {
        int64_t ordinal = args->records[row].ordinal, label = -1;
        pfd_set_row(args, 0, row, images[row].data, images[row].size);
        if (ordinal >= 0 && ordinal < self->list.num_files)
            label = file_list_group(&self->list, ordinal);
        if (label < 0 || label >= self->attrs->classes.size) return fail_lost(self, row, err);
        labels[row] = pfd_class_number(&self->attrs->class_numbers, label);
    }
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attr_table[] = {
    PFD_FOUND_ATTR_ROW(image_folder_attrs, classes, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "The classes in the order of their numbers, each the name of a folder in "
                       "data_dir; other folders are not read. If left out, all folders, sorted by "
                       "the bytes of their names."),
    PFD_CLASS_NUMBERS_ATTR(image_folder_attrs),
    /* A state has the names of the files, which say more. */
    PFD_ATTR_ROW_WITH(image_folder_attrs, extensions, PFD_ATTR_LIST_STRING,
                      ".jpg,.jpeg,.png,.ppm,.bmp,.pgm,.webp,.pbm", 0, 0, NULL,
                      "The suffixes of image files, in upper or lower case; other files are left "
                      "out, and a warning counts them. The default has the formats that "
                      "ImageDecoder decodes. An empty list takes every file.",
                      PFD_NOT_IN_SPEC),
    PFD_BOOL_ATTR(image_folder_attrs, allow_empty, "false",
                  "Whether a class may be without files, or without a folder."),
};

static const pfd_port outputs[] = {
    {"image", "The bytes of each file, uint8 (None,), unchanged: a decoder follows."},
    {"label", "The number of the file's class, int64."},
};

const pfd_op pfd_op_image_folder_reader = {
    PFD_READER(PFD_READS_FILES | PFD_READS_FOLDERS, outputs),
    .name = "ImageFolderReader",
    .doc = "Reads the image files of a folder that has a folder for each class. data_dir is that "
           "folder, or files names several such folders, whose classes are merged. The records are "
           "those of torchvision's ImageFolder (except for TIFF), in its order: by the name of the "
           "class, then by folder and file name, compared as bytes. Files in subfolders of a class "
           "belong to the class, at any depth; symbolic links are followed, and a folder is listed "
           "once for a class. Files and folders whose names begin with a period are left out. The "
           "list of 4096 files or more is an index, which is kept like other indexes; when it is "
           "opened again, each folder is examined, but no file. Each file is opened, read and "
           "closed when its record is needed; an empty file is a damaged record, a file that is "
           "gone is an error.",
    PFD_OP_ATTRS(image_folder_attrs, attr_table),
    .propose = propose,
};
