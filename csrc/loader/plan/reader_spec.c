/* The spec of a reader as a text that grows. */
#include "loader/plan/reader_spec.h"

#include "core/tables.h"
#include "dataset/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `bytes` more; NULL: memory is short. */
static char *reserve(pfd_spec *spec, size_t bytes)
{
    char *grown = spec->failed ? NULL : realloc(spec->text, spec->used + bytes);
    if (!grown) {
        spec->failed = 1;
        return NULL;
    }
    spec->text = grown;
    return grown + spec->used;
}

static void add_text(pfd_spec *spec, const char *text)
{
    size_t length = strlen(text);
    char *to = reserve(spec, length + 1);
    if (!to) return;
    memcpy(to, text, length);
    spec->used += length;
}

void pfd_spec_add(pfd_spec *spec, const char *prefix, const char *line)
{
    add_text(spec, prefix);
    add_text(spec, line);
    add_text(spec, "\n");
}

void pfd_spec_add_attr(pfd_spec *spec, const char *prefix, const pfd_attrs *attrs,
                       const pfd_attr *row)
{
    add_text(spec, prefix);
    for (size_t room = 128;; room *= 2) {
        char *to = reserve(spec, room);
        if (!to) return;
        pfd_attrs_format(attrs, row, to, room - 1);
        size_t length = strlen(to);
        if (length + 2 >= room) continue; /* the value may have been cut */
        spec->used += length;
        break;
    }
    add_text(spec, "\n");
}

static void add_object(pfd_spec *spec, const char *prefix, const pfd_attrs *attrs,
                       const pfd_attr *row)
{
    const char *at = (const char *)pfd_attrs_struct(attrs) + row->offset;
    pfd_error ignored = {.struct_size = sizeof ignored};
    pfd_table table;
    char line[160];
    if (pfd_table_find(*(const int64_t *)(const void *)at, &table, &ignored) != PFD_OK) return;
    snprintf(line, sizeof line, "%.64s=%" PRId64 " values #%016" PRIx64, row->name, table.count,
             table.fingerprint);
    pfd_spec_add(spec, prefix, line);
}

void pfd_spec_add_own_attrs(pfd_spec *spec, const char *prefix, const pfd_node *node)
{
    const pfd_op *op = node->op->op;
    int32_t is_view = (op->flags & PFD_VIEW) != 0;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        int32_t names_fields =
            is_view && op->outputs_attr && !strcmp(op->attrs[i].name, op->outputs_attr);
        if (names_fields) continue; /* records are the same whatever their fields are called */
        if (op->attrs[i].flags & PFD_NOT_IN_SPEC) continue;
        if (op->attrs[i].type == PFD_ATTR_OBJECT)
            add_object(spec, prefix, node->attrs, &op->attrs[i]);
        else
            pfd_spec_add_attr(spec, prefix, node->attrs, &op->attrs[i]);
    }
}

void pfd_spec_add_reader_attrs(pfd_spec *spec, const pfd_node *node, uint64_t flags)
{
    for (uint32_t i = 0; i < pfd_reader_attr_count; i++) {
        const pfd_attr *row = &pfd_reader_attr_table[i];
        if (row->flags & flags) pfd_spec_add_attr(spec, "", node->reader_attrs, row);
    }
}

char *pfd_spec_take(pfd_spec *spec)
{
    if (spec->failed || spec->used == 0) {
        free(spec->text);
        return NULL;
    }
    spec->text[spec->used - 1] = '\0'; /* in place of the last line's end */
    return spec->text;
}
