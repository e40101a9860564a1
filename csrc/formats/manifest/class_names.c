/* A set of names that counts them. */
#include "formats/manifest/class_names.h"

#include "core/hash.h"

#include <stdlib.h>
#include <string.h>

/* The slot that has the name, or would have it. */
static int64_t slot_of(const pfd_class_names *names, const char *name, int64_t size)
{
    uint64_t hash = pfd_hash_bytes(0, name, size);
    for (uint64_t i = hash;; i++) {
        int64_t slot = (int64_t)(i & (uint64_t)(names->room - 1)), number = names->slots[slot];
        if (number < 0) return slot;
        const char *known = names->names[number];
        if (strlen(known) == (size_t)size && !memcmp(known, name, (size_t)size)) return slot;
    }
}

int64_t pfd_class_names_find(const pfd_class_names *names, const char *name, int64_t size)
{
    return names->room > 0 ? names->slots[slot_of(names, name, size)] : -1;
}

static int32_t grow(pfd_class_names *names)
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

int32_t pfd_class_names_add(pfd_class_names *names, const char *name, int64_t size)
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

void pfd_class_names_free(pfd_class_names *names)
{
    for (int64_t i = 0; i < names->size; i++) free(names->names[i]);
    free(names->names);
    free(names->slots);
    *names = (pfd_class_names){0};
}
