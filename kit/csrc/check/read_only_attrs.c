/* Gives the op under check a copy of its attrs that it cannot write to. */
#include "check/guard.h"
#include "check/run_state.h"

#include <string.h>

static int64_t round_up(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Copies what a field points to to `to`, and lets the field point there; NULL: nothing is copied.
 * Returns how many bytes it takes. */
static int64_t copy_list(const void **data, int64_t bytes, uint8_t *to)
{
    if (bytes <= 0 || !*data) return 0;
    if (to) *data = memcpy(to, *data, (size_t)bytes);
    return round_up(bytes);
}

static int64_t copy_strings(pfd_list_string *list, uint8_t *to)
{
    int64_t used = list->size * (int64_t)sizeof *list->data;
    if (list->size <= 0) return 0;
    const char **copies = (void *)to;
    for (int64_t i = 0; i < list->size; i++) {
        const void *string = list->data[i];
        int64_t bytes = (int64_t)strlen(string) + 1;
        used += copy_list(&string, bytes, to ? to + used : NULL);
        if (to) copies[i] = string;
    }
    if (to) list->data = copies;
    return used;
}

static int64_t copy_pointed(const pfd_attr *row, uint8_t *field, uint8_t *to)
{
    switch (row->type) {
    case PFD_ATTR_STRING: {
        const void **string = (void *)field;
        return *string ? copy_list(string, (int64_t)strlen(*string) + 1, to) : 0;
    }
    case PFD_ATTR_SHAPE:
    case PFD_ATTR_LIST_INT64:
    case PFD_ATTR_LIST_FLOAT64: {
        pfd_list_int64 list; /* of 8 bytes each, as the other */
        memcpy(&list, field, sizeof list);
        const void *data = list.data;
        int64_t used = copy_list(&data, list.size * 8, to);
        list.data = data;
        memcpy(field, &list, sizeof list);
        return used;
    }
    case PFD_ATTR_LIST_STRING:
        return copy_strings((void *)field, to);
    default: return 0;
    }
}

/* One region for the struct, one for the strings and lists that it points to. */
int32_t pfd_kit_attrs_open(pfd_kit_run_state *run, const void *attrs)
{
    const pfd_op *op = run->node->op->op;
    int64_t bytes = op->attrs_struct_size, texts = 0;
    int32_t *regions = run->attr_regions;
    regions[1] = -1;
    regions[0] = pfd_guard_make(PFD_GUARD_ATTRS, 0, bytes, 8, 0, 0);
    if (regions[0] < 0) return 0;
    uint8_t *copy = pfd_guard_at(regions[0])->data;
    if (bytes > 0) memcpy(copy, attrs, (size_t)bytes);
    for (uint32_t i = 0; i < op->num_attrs; i++)
        texts += copy_pointed(&op->attrs[i], copy + op->attrs[i].offset, NULL);
    regions[1] = pfd_guard_make(PFD_GUARD_ATTRS, 0, texts, 8, 0, 0);
    if (regions[1] < 0) return 0;
    uint8_t *to = pfd_guard_at(regions[1])->data;
    for (uint32_t i = 0; i < op->num_attrs; i++)
        to += copy_pointed(&op->attrs[i], copy + op->attrs[i].offset, to);
    pfd_guard_make_read_only(regions[0]);
    pfd_guard_make_read_only(regions[1]);
    run->attrs = copy;
    return 1;
}

void pfd_kit_attrs_close(pfd_kit_run_state *run)
{
    pfd_guard_release(run->attr_regions[0]);
    pfd_guard_release(run->attr_regions[1]);
}
