/* Messages for missing parts: what the folder has instead, and which attr would fit. */
#include "files/part_hints.h"

#include "core/error.h"
#include "files/missing_file_words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { hint_size = 2 * NAME_MAX, names_size = 512 };

/* How a name differs from the one wanted: better hints come first. */
enum { other_length, other_prefix, other_both, no_hint };

typedef struct near_name {
    int hint;
    const char *name; /* "" where there is no hint */
} near_name;

static void note_hint(near_name *near, const char *name, const char *base, const char *suffix)
{
    pfd_digits number = pfd_last_digits(name), wanted = pfd_digits_of(suffix, strlen(suffix));
    if (number.size == 0 || pfd_compare_digits(&number, &wanted) != 0) return;
    size_t prefix = (size_t)(number.all - name);
    int same_prefix = prefix == strlen(base) && strncmp(name, base, prefix) == 0;
    int same_length = number.size == wanted.size;
    int hint = same_prefix ? other_length : same_length ? other_prefix : other_both;
    if (same_prefix && same_length) return;
    if (hint > near->hint) return;
    if (hint == near->hint && strcmp(name, near->name) >= 0) return;
    *near = (near_name){hint, name};
}

/* "; did you mean part_name_suffix_length=3?" or "". */
static void write_hint(const near_name *near, char *out)
{
    pfd_digits number = pfd_last_digits(near->name);
    int prefix = (int)(number.all - near->name);
    int length = number.size == number.significant_size || number.size == 1 ? -1 : (int)number.size;
    out[0] = '\0';
    if (near->hint == other_length) {
        (void)snprintf(out, hint_size, "; did you mean part_name_suffix_length=%d?", length);
    } else if (near->hint == other_prefix) {
        (void)snprintf(out, hint_size, "; did you mean part_name_prefix=\"%.*s\"?", prefix,
                       near->name);
    } else if (near->hint == other_both) {
        (void)snprintf(out, hint_size,
                       "; did you mean part_name_prefix=\"%.*s\", part_name_suffix_length=%d?",
                       prefix, near->name, length);
    }
}

/* Writes what the folder of the parts holds, and a hint for the part that ends with `suffix`.  A
 * folder that cannot be read counts as empty. */
static void describe_folder(const pfd_path_stem *stem, const char *suffix, char *holds, char *hint)
{
    const pfd_list_string all = {0};
    pfd_folder_names names = {0};
    near_name near = {no_hint, ""};
    (void)pfd_folder_names_read(AT_FDCWD, stem->folder, &all, &names);
    for (int64_t i = 0; i < names.files.size; i++)
        note_hint(&near, names.files.paths[i], stem->base, suffix);
    for (int64_t i = 0; i < names.folders.size; i++)
        note_hint(&near, names.folders.paths[i], stem->base, suffix);
    write_hint(&near, hint);
    pfd_write_names(&names, 0, holds, names_size);
    pfd_folder_names_free(&names);
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
    struct stat st;
    char hint[hint_size], names[names_size], found[64] = "";
    if (lstat(path, &st) == 0) {
        return pfd_fail_file(err, path, "this is a link to something that is not there");
    }
    describe_folder(stem, path + strlen(stem->text), names, hint);
    if (part > 0) (void)snprintf(found, sizeof found, " (there are %d)", (int)part);
    return pfd_fail_file(err, path,
                         "no such part; data_part_num = %d%s%s; the folder %s",
                         (int)attrs->data_part_num, found, hint, names);
}

pfd_status pfd_fail_no_part(const pfd_file_attrs *attrs, const pfd_path_stem *stem, pfd_error *err)
{
    char hint[hint_size], names[names_size], suffix[PFD_MAX_SUFFIX_LENGTH + 1];
    char pattern[PATH_MAX], length[32] = "a number";
    int digits_wanted = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    (void)snprintf(suffix, sizeof suffix, "%0*d", digits_wanted, 0);
    if (digits_wanted > 1) (void)snprintf(length, sizeof length, "%d digits", digits_wanted);
    describe_folder(stem, suffix, names, hint);
    (void)pfd_suggest_pattern(stem->folder, pattern, sizeof pattern);
    return pfd_fail_file(err, stem->folder,
                         "no part found: the name of a part is '%.100s' and %s%s; the folder "
                         "%s%s%.300s%s", stem->base, length, hint, names,
                         *pattern ? "; to read files of other names, give files = \"" : "", pattern,
                         *pattern ? "\" in place of data_dir" : "");
}
