/* Messages for missing parts: what the folder has instead, and which attr would fit. */
#include "files/part_hints.h"

#include "core/error.h"
#include "files/missing_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { shown_names = 5 };

/* How a name differs from the one wanted: better hints come first. */
enum { other_length, other_prefix, other_both, no_hint };

typedef struct folder_view {
    int64_t num_names;
    char names[shown_names][NAME_MAX + 1]; /* the first ones in order */
    int hint;
    char hint_name[NAME_MAX + 1];
} folder_view;

static int name_order(const char *a, const char *b)
{
    size_t size_a = strlen(a), size_b = strlen(b);
    if (size_a != size_b && pfd_last_digits(a).size > 0 && pfd_last_digits(b).size > 0) {
        return size_a < size_b ? -1 : 1; /* part-2 before part-10 */
    }
    return strcmp(a, b);
}

static void copy_name(char *out, const char *name)
{
    (void)snprintf(out, NAME_MAX + 1, "%s", name);
}

static void note_name(folder_view *view, const char *name)
{
    int64_t filled = view->num_names < shown_names ? view->num_names : shown_names;
    int64_t at = filled;
    view->num_names++;
    while (at > 0 && name_order(name, view->names[at - 1]) < 0) at--;
    if (at == shown_names) return;
    int64_t moved = (filled < shown_names ? filled : shown_names - 1) - at;
    memmove(view->names[at + 1], view->names[at], (size_t)moved * sizeof view->names[0]);
    copy_name(view->names[at], name);
}

static void note_hint(folder_view *view, const char *name, const char *base, const char *suffix)
{
    pfd_digits number = pfd_last_digits(name), wanted = pfd_digits_of(suffix, strlen(suffix));
    if (number.size == 0 || pfd_compare_digits(&number, &wanted) != 0) return;
    size_t prefix = (size_t)(number.all - name);
    int same_prefix = prefix == strlen(base) && strncmp(name, base, prefix) == 0;
    int same_length = number.size == wanted.size;
    int hint = same_prefix ? other_length : same_length ? other_prefix : other_both;
    if (same_prefix && same_length) return;
    if (hint > view->hint) return;
    if (hint == view->hint && strcmp(name, view->hint_name) >= 0) return;
    view->hint = hint;
    copy_name(view->hint_name, name);
}

/* Lists a folder for messages; a folder that cannot be read counts as empty. */
static void view_folder(const char *folder, const char *base, const char *suffix, folder_view *view)
{
    *view = (folder_view){.hint = no_hint};
    DIR *directory = opendir(folder);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        note_name(view, entry->d_name);
        note_hint(view, entry->d_name, base, suffix);
    }
    closedir(directory);
}

/* "; did you mean part_name_suffix_length=3?" or "". */
static void write_hint(const folder_view *view, char *out, size_t capacity)
{
    pfd_digits number = pfd_last_digits(view->hint_name);
    int prefix = (int)(number.all - view->hint_name);
    int length = number.size == number.significant_size || number.size == 1 ? -1 : (int)number.size;
    out[0] = '\0';
    if (view->hint == other_length) {
        (void)snprintf(out, capacity, "; did you mean part_name_suffix_length=%d?", length);
    } else if (view->hint == other_prefix) {
        (void)snprintf(out, capacity, "; did you mean part_name_prefix=\"%.*s\"?", prefix,
                       view->hint_name);
    } else if (view->hint == other_both) {
        (void)snprintf(out, capacity,
                       "; did you mean part_name_prefix=\"%.*s\", part_name_suffix_length=%d?",
                       prefix, view->hint_name, length);
    }
}

/* "holds 'a', 'b' and 7 more" or "is empty". */
static void write_names(const folder_view *view, char *out, size_t capacity)
{
    size_t used = (size_t)snprintf(out, capacity, "%s", view->num_names ? "holds " : "is empty");
    for (int64_t i = 0; i < view->num_names && i < shown_names && used < capacity; i++) {
        used += (size_t)snprintf(out + used, capacity - used, "%s'%.60s'", i ? ", " : "",
                                 view->names[i]);
    }
    if (view->num_names > shown_names && used < capacity) {
        (void)snprintf(out + used, capacity - used, " and %" PRId64 " more",
                       view->num_names - shown_names);
    }
}

/* ---- Errors ---------------------------------------------------------------------------------- */

pfd_status pfd_fail_folder(const char *folder, int reason, pfd_error *err)
{
    char names[512] = "", above[256];
    const char *slash = strrchr(folder, '/');
    if (reason == ENOTDIR) {
        return pfd_fail_file(err, folder,
                             "this is not a folder; data_dir is the folder of the part files");
    }
    if (reason != ENOENT) {
        return pfd_fail_file(err, folder, "the folder cannot be read: %s", strerror(reason));
    }
    if (!slash) {
        if (!getcwd(above, sizeof above)) (void)snprintf(above, sizeof above, ".");
    } else { /* the root keeps its slash */
        (void)snprintf(above, sizeof above, "%.*s", slash > folder ? (int)(slash - folder) : 1,
                       folder);
    }
    if (folder[0] == '~')
        return pfd_fail_file(err, folder, "%s",
                             pfd_missing_file_words(folder, names, sizeof names));
    if (*pfd_folder_holds(above, names, sizeof names))
        return pfd_fail_file(err, folder, "no such folder; '%.200s' %s", above, names);
    return pfd_fail_file(err, folder, "no such folder, and none above it either");
}

pfd_status pfd_fail_missing_part(const pfd_file_attrs *attrs, const pfd_path_stem *stem,
                                 const char *path, int32_t part, pfd_error *err)
{
    folder_view view;
    struct stat st;
    char hint[2 * NAME_MAX], names[512], found[64] = "";
    if (lstat(path, &st) == 0) {
        return pfd_fail_file(err, path, "this is a link to something that is not there");
    }
    const char *suffix = path + strlen(stem->text);
    view_folder(stem->folder, stem->base, suffix, &view);
    write_hint(&view, hint, sizeof hint);
    write_names(&view, names, sizeof names);
    if (part > 0) (void)snprintf(found, sizeof found, " (there are %d)", (int)part);
    return pfd_fail_file(err, path,
                         "no such part; data_part_num = %d%s%s; the folder %s",
                         (int)attrs->data_part_num, found, hint, names);
}

pfd_status pfd_fail_no_part(const pfd_file_attrs *attrs, const pfd_path_stem *stem, pfd_error *err)
{
    folder_view view;
    char hint[2 * NAME_MAX], names[512], suffix[PFD_MAX_SUFFIX_LENGTH + 1], length[32] = "a number";
    char pattern[PATH_MAX];
    int digits_wanted = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    (void)snprintf(suffix, sizeof suffix, "%0*d", digits_wanted, 0);
    if (digits_wanted > 1) (void)snprintf(length, sizeof length, "%d digits", digits_wanted);
    view_folder(stem->folder, stem->base, suffix, &view);
    write_hint(&view, hint, sizeof hint);
    write_names(&view, names, sizeof names);
    (void)pfd_folder_pattern(stem->folder, pattern, sizeof pattern);
    return pfd_fail_file(err, stem->folder,
                         "no part found: the name of a part is '%.100s' and %s%s; the folder "
                         "%s%s%.300s%s", stem->base, length, hint, names,
                         *pattern ? "; to read files of other names, give files = \"" : "", pattern,
                         *pattern ? "\" in place of data_dir" : "");
}
