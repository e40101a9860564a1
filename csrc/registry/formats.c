/* The list of file formats: the built-in ones and those of plugins. */
#include "registry/formats.h"

#include "core/error.h"
#include "registry/format_check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const pfd_format_list *) current;

const pfd_format_list *pfd_formats_list(void)
{
    return atomic_load_explicit(&current, memory_order_acquire);
}

/* The index of the format with this name; the size of the list if there is none. */
static int64_t place_of(const pfd_format_list *list, const char *name)
{
    int64_t i = 0;
    while (i < list->size && strcmp(list->formats[i]->format.name, name) != 0) i++;
    return i;
}

static pfd_status check_place(const pfd_new_formats *added, const pfd_registered_format *known,
                              pfd_error *err)
{
    int32_t gives_way = added->replace && known->origin != added->keep &&
                        known->origin != added->origin;
    if (gives_way) return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "descriptor of format '%s': the name is that of another format (%s)",
                    known->format.name, known->origin);
}

/* The author's descriptor, copied and checked. */
static pfd_status register_format(const pfd_format *author, const pfd_new_formats *added,
                                  const pfd_registered_format **out, pfd_error *err)
{
    static const char words[] = "%s (%s reads it)";
    pfd_format format;
    PFD_TRY(pfd_format_copy(author, &format, err));
    PFD_TRY(pfd_format_check(&format, added->find_op, err));
    int length = snprintf(NULL, 0, words, format.title, format.reader);
    pfd_registered_format *made = malloc(sizeof *made + (size_t)length + 1);
    if (!made) return pfd_fail_memory(err, length, "the registry");
    *made = (pfd_registered_format){.author = author, .format = format, .origin = added->origin};
    (void)snprintf(made->words, (size_t)length + 1, words, format.title, format.reader);
    *out = made;
    return PFD_OK;
}

static pfd_status add(pfd_format_list *list, const pfd_format *author,
                      const pfd_new_formats *added, pfd_error *err)
{
    const pfd_registered_format *made = NULL;
    PFD_TRY(register_format(author, added, &made, err));
    int64_t place = place_of(list, made->format.name);
    pfd_status status = PFD_OK;
    if (place < list->size) status = check_place(added, list->formats[place], err);
    if (status != PFD_OK) {
        free((pfd_registered_format *)(uintptr_t)made);
        return status;
    }
    list->formats[place] = made;
    if (place == list->size) list->size++;
    return PFD_OK;
}

/* Frees a list that was not published, and what is new in it. */
static void drop(pfd_format_list *list)
{
    for (int64_t i = 0; i < list->size; i++) {
        int32_t is_old = list->former && i < list->former->size &&
                         list->formats[i] == list->former->formats[i];
        if (!is_old) free((pfd_registered_format *)(uintptr_t)list->formats[i]);
    }
    free(list);
}

pfd_status pfd_formats_add(const pfd_new_formats *added, pfd_error *err)
{
    if (added->size == 0) return PFD_OK;
    const pfd_format_list *old = pfd_formats_list();
    int64_t size = old ? old->size : 0;
    size_t bytes = sizeof *old + (size_t)(size + added->size) * sizeof old->formats[0];
    pfd_format_list *list = malloc(bytes);
    if (!list) return pfd_fail_memory(err, (int64_t)bytes, "the registry");
    *list = (pfd_format_list){.former = old, .size = size};
    for (int64_t i = 0; i < size; i++) list->formats[i] = old->formats[i];
    for (int64_t i = 0; i < added->size; i++) {
        pfd_status status = add(list, added->formats[i], added, err);
        if (status == PFD_OK) continue;
        drop(list);
        return status;
    }
    atomic_store_explicit(&current, list, memory_order_release);
    return PFD_OK;
}

int32_t pfd_formats_has_all(const pfd_format *const *formats, int64_t size)
{
    const pfd_format_list *list = pfd_formats_list();
    int64_t found = 0;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; list && j < list->size; j++)
            found += list->formats[j]->author == formats[i];
    return found == size;
}
