/* The paths of parts: the text before the number, and the number. */
#include "files/part_names.h"

#include "core/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pfd_path_stem_free(pfd_path_stem *stem)
{
    free(stem->text);
    free(stem->folder);
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder);
    const char *slash = size > 0 && folder[size - 1] == '/' ? "" : "/";
    char *path;
    return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

pfd_status pfd_path_stem_make(const pfd_file_attrs *attrs, pfd_path_stem *out, pfd_error *err)
{
    *out = (pfd_path_stem){.text = join(attrs->data_dir, attrs->part_name_prefix)};
    if (out->text) {
        const char *slash = strrchr(out->text, '/');
        size_t size = (size_t)(slash - out->text);
        out->base = slash + 1;
        out->folder = strndup(out->text, size > 0 ? size : 1); /* "/" itself keeps its slash */
    }
    if (out->folder) return PFD_OK;
    pfd_path_stem_free(out);
    return pfd_fail_memory(err, (int64_t)strlen(attrs->data_dir), "a path");
}

pfd_digits pfd_digits_of(const char *all, size_t size)
{
    const char *significant = all;
    while (significant < all + size && *significant == '0') significant++;
    return (pfd_digits){all, significant, size, (size_t)(all + size - significant)};
}

static int32_t is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

pfd_digits pfd_last_digits(const char *name)
{
    size_t size = strlen(name), begin = size;
    while (begin > 0 && is_digit(name[begin - 1])) begin--;
    return pfd_digits_of(name + begin, size - begin);
}

int32_t pfd_compare_digits(const pfd_digits *a, const pfd_digits *b)
{
    if (a->significant_size != b->significant_size) {
        return a->significant_size < b->significant_size ? -1 : 1;
    }
    return memcmp(a->significant, b->significant, a->significant_size);
}

int32_t pfd_is_part_name(const char *name, const char *base, int32_t suffix_length,
                         pfd_digits *number)
{
    size_t size = strlen(base);
    if (strncmp(name, base, size) != 0 || !name[size]) return 0;
    for (const char *c = name + size; *c; c++) {
        if (!is_digit(*c)) return 0;
    }
    *number = pfd_digits_of(name + size, strlen(name + size));
    if (suffix_length <= 0) return 1;
    if (number->size == (size_t)suffix_length) return 1;
    return number->size > (size_t)suffix_length && number->size == number->significant_size;
}
