/* Lists of files as index images: made, looked up, compared with the folders. */
#include "index/file_list.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/search.h"

#include <stdlib.h>
#include <string.h>

/* At the beginning of the entries of the image. */
typedef struct list_head {
    int64_t num_files, num_folders, name_bytes, scanned_ns;
    uint64_t hash;
    int64_t reserved[3];
} list_head;

typedef struct folder_entry {
    int64_t changed_ns;
    int64_t first_file; /* of all files; the next folder's is its end */
    int64_t path_at;    /* in the names */
    int32_t root, group;
} folder_entry;

/* ---- Drafts ---------------------------------------------------------------------------------- */
static void free_folder(pfd_listed_folder *folder)
{
    free(folder->path);
    pfd_path_list_free(&folder->files);
}

pfd_status pfd_file_list_draft_add(pfd_file_list_draft *draft, pfd_listed_folder *folder,
                                   pfd_error *err)
{
    if (draft->size == draft->capacity) {
        int64_t capacity = draft->capacity > 0 ? 2 * draft->capacity : 4;
        pfd_listed_folder *grown = realloc(draft->folders, (size_t)capacity * sizeof *grown);
        if (!grown) {
            free_folder(folder);
            return pfd_fail_memory(err, capacity * (int64_t)sizeof *grown, "a list of folders");
        }
        draft->folders = grown;
        draft->capacity = capacity;
    }
    draft->folders[draft->size++] = *folder;
    return PFD_OK;
}

void pfd_file_list_draft_free(pfd_file_list_draft *draft)
{
    for (int64_t i = 0; i < draft->size; i++) free_folder(&draft->folders[i]);
    free(draft->folders);
    *draft = (pfd_file_list_draft){0};
}

/* ---- Building -------------------------------------------------------------------------------- */
static int64_t text_bytes(const char *text)
{
    return (int64_t)strlen(text) + 1;
}

/* Folders without files do not count. */
static uint64_t hash_folder(uint64_t hash, const pfd_listed_folder *folder)
{
    if (folder->files.size == 0) return hash;
    hash = pfd_hash_bytes(hash, folder->path, text_bytes(folder->path));
    hash = pfd_hash_word(hash, (uint64_t)folder->group);
    hash = pfd_hash_word(hash, (uint64_t)folder->files.size);
    for (int64_t i = 0; i < folder->files.size; i++)
        hash = pfd_hash_bytes(hash, folder->files.paths[i], text_bytes(folder->files.paths[i]));
    return hash;
}

static list_head measure(const pfd_file_list_draft *drafts, int64_t num_drafts, int64_t scanned_ns)
{
    list_head head = {.scanned_ns = scanned_ns, .hash = 1};
    for (int64_t i = 0; i < num_drafts; i++) {
        head.num_folders += drafts[i].size;
        for (int64_t j = 0; j < drafts[i].size; j++) {
            const pfd_listed_folder *folder = &drafts[i].folders[j];
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

static void put_folder(list_writer *self, const pfd_listed_folder *folder)
{
    self->folders[self->num_folders++] = (folder_entry){.changed_ns = folder->changed_ns,
                                                        .first_file = self->num_files,
                                                        .path_at = put_text(self, folder->path),
                                                        .root = folder->root,
                                                        .group = folder->group};
    for (int64_t i = 0; i < folder->files.size; i++)
        self->names_at[self->num_files++] = put_text(self, folder->files.paths[i]);
}

/* The first file of each root; a root without files begins where the next one does. */
static void count_roots(const list_writer *self, int64_t num_roots, pfd_index_file *roots)
{
    for (int64_t i = self->num_folders - 1; i >= 0; i--)
        roots[self->folders[i].root].first_record = self->folders[i].first_file;
    roots[num_roots].first_record = self->num_files;
}

pfd_status pfd_file_list_build(const pfd_file_list_draft *drafts, int64_t num_drafts,
                               int64_t num_roots, int64_t scanned_ns, pfd_index_image **out,
                               pfd_error *err)
{
    list_head head = measure(drafts, num_drafts, scanned_ns);
    int64_t entries = (bytes_of(&head) + PFD_INDEX_ENTRY_BYTES - 1) / PFD_INDEX_ENTRY_BYTES;
    PFD_TRY(pfd_index_image_create(PFD_INDEX_FOLDERS, num_roots, entries, out, err));
    memcpy((*out)->entries, &head, sizeof head);
    list_writer self = {.folders = (void *)((uint8_t *)(*out)->entries + sizeof head)};
    self.names_at = (void *)(self.folders + head.num_folders);
    self.names = (void *)(self.names_at + head.num_files);
    for (int64_t i = 0; i < num_drafts; i++)
        for (int64_t j = 0; j < drafts[i].size; j++) put_folder(&self, &drafts[i].folders[j]);
    count_roots(&self, num_roots, (*out)->files);
    (*out)->header->num_records = head.num_files;
    return PFD_OK;
}

/* ---- Looking up ------------------------------------------------------------------------------ */
int32_t pfd_file_list_init(pfd_file_list *list, const pfd_index_image *image)
{
    list_head head;
    int64_t most = image->header->num_entries * PFD_INDEX_ENTRY_BYTES;
    if (most < (int64_t)sizeof head) return 0;
    memcpy(&head, image->entries, sizeof head);
    if (head.num_files < 0 || head.num_folders < 0 || head.name_bytes < 0) return 0;
    if (head.num_files > most || head.num_folders > most || head.name_bytes > most) return 0;
    if (bytes_of(&head) > most || head.num_files != image->header->num_records) return 0;
    const folder_entry *folders = (const void *)((const uint8_t *)image->entries + sizeof head);
    const int64_t *names_at = (const void *)(folders + head.num_folders);
    *list = (pfd_file_list){.num_files = head.num_files,
                            .num_folders = head.num_folders,
                            .name_bytes = head.name_bytes,
                            .scanned_ns = head.scanned_ns,
                            .hash = head.hash,
                            .folders = folders,
                            .names_at = names_at,
                            .names = (const void *)(names_at + head.num_files)};
    return 1;
}

/* Appends a text of the names to a path; 0: there is none at that place, or it is too long. */
static int32_t append(const pfd_file_list *list, int64_t at, pfd_listed_file *out)
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

/* The last folder that begins at or before a file: one without files begins where the next does. */
static folder_entry folder_of(const pfd_file_list *list, int64_t file)
{
    const folder_entry *folders = list->folders;
    return folders[pfd_last_at_most(&folders->first_file, (int64_t)sizeof *folders, 0,
                                    list->num_folders, file)];
}

int32_t pfd_file_list_at(const pfd_file_list *list, int64_t i, pfd_listed_file *out)
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

int32_t pfd_file_list_group(const pfd_file_list *list, int64_t i)
{
    return list->num_folders > 0 ? folder_of(list, i).group : -1;
}

int32_t pfd_file_list_is_current(const pfd_file_list *list, const int *roots, int64_t num_roots)
{
    const folder_entry *folders = list->folders;
    for (int64_t i = 0; i < list->num_folders; i++) {
        folder_entry folder = folders[i];
        pfd_listed_file path = {.size = 0};
        if (folder.root < 0 || folder.root >= num_roots) return 0;
        if (pfd_is_just_changed(folder.changed_ns, list->scanned_ns)) return 0;
        if (!append(list, folder.path_at, &path)) return 0;
        path.path[path.size] = '\0';
        if (pfd_folder_changed_ns(roots[folder.root], path.path) != folder.changed_ns) return 0;
    }
    return 1;
}
