/* All ops by name: built once from the list of built-in ops, and never freed. */
#include "op/registry.h"

#include "core/error.h"
#include "io/part_files.h"
#include "op/attr_text.h"
#include "op/descriptor.h"
#include "op/nearest_name.h"
#include "op/reader_attrs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDED_BYTES = 64 };

static pthread_once_t built = PTHREAD_ONCE_INIT;
static struct {
    pfd_registered_op *ops;
    const char **names;
    int64_t size;
    pfd_error fault; /* PFD_OK: the registry is good */
} registry;

int32_t pfd_op_is_reader(const pfd_op *op)
{
    return op->open != NULL;
}

static void append_attrs(pfd_attr **end, const pfd_attr *rows, uint32_t count)
{
    if (count > 0) memcpy(*end, rows, count * sizeof **end);
    *end += count;
}

/* A reader as its user sees it: own attrs, file attrs, reader attrs; own outputs, mask, id. */
static pfd_status make_public_op(const pfd_op *op, const pfd_op **out, pfd_error *err)
{
    uint32_t file_attrs = (op->flags & PFD_READS_FILES) ? pfd_file_attr_count : 0;
    uint32_t num_attrs = op->num_attrs + file_attrs + pfd_reader_attr_count;
    uint32_t num_outputs = op->num_outputs + PFD_COUNT(pfd_reader_ports);
    pfd_op *public_op = malloc(sizeof *public_op);
    pfd_attr *attrs = calloc(num_attrs, sizeof *attrs);
    pfd_port *outputs = calloc(num_outputs, sizeof *outputs);
    if (!public_op || !attrs || !outputs) {
        free(public_op);
        free(attrs);
        free(outputs);
        return pfd_fail_memory(err, 0, "the registry");
    }
    pfd_attr *end = attrs;
    append_attrs(&end, op->attrs, op->num_attrs);
    append_attrs(&end, pfd_file_attr_table, file_attrs);
    append_attrs(&end, pfd_reader_attr_table, pfd_reader_attr_count);
    memcpy(outputs, op->outputs, op->num_outputs * sizeof *outputs);
    memcpy(outputs + op->num_outputs, pfd_reader_ports, sizeof pfd_reader_ports);
    *public_op = *op;
    public_op->attrs = attrs;
    public_op->num_attrs = num_attrs;
    public_op->outputs = outputs;
    public_op->num_outputs = num_outputs;
    *out = public_op;
    return PFD_OK;
}

static int32_t same_name(const char *a, const char *b)
{
    char folded_a[FOLDED_BYTES], folded_b[FOLDED_BYTES];
    return pfd_fold_name(a, folded_a, FOLDED_BYTES) > 0 &&
           pfd_fold_name(b, folded_b, FOLDED_BYTES) > 0 && strcmp(folded_a, folded_b) == 0;
}

static pfd_status add_op(const pfd_op *op, pfd_error *err)
{
    PFD_TRY(pfd_descriptor_check(op, err));
    for (int64_t i = 0; i < registry.size; i++)
        if (same_name(op->name, registry.names[i]))
            return pfd_fail(err, PFD_INTERNAL, "descriptor of op '%s': name is that of op '%s'",
                            op->name, registry.names[i]);
    const pfd_op *public_op = op;
    if (pfd_op_is_reader(op)) PFD_TRY(make_public_op(op, &public_op, err));
    registry.ops[registry.size] = (pfd_registered_op){.op = op, .public_op = public_op};
    registry.names[registry.size] = op->name;
    registry.size++;
    return pfd_descriptor_check_names(public_op, err);
}

static pfd_status add_all(pfd_error *err)
{
    PFD_TRY(pfd_attr_table_check("(every reader)", pfd_reader_attr_table, pfd_reader_attr_count,
                                 sizeof(pfd_reader_attrs), err));
    PFD_TRY(pfd_attr_table_check("(every reader of files)", pfd_file_attr_table,
                                 pfd_file_attr_count, sizeof(pfd_file_attrs), err));
    size_t n = 0;
    while (pfd_builtin_ops[n]) n++;
    registry.ops = calloc(n + 1, sizeof *registry.ops);
    registry.names = calloc(n + 1, sizeof *registry.names);
    if (!registry.ops || !registry.names) return pfd_fail_memory(err, 0, "the registry");
    for (size_t i = 0; i < n; i++) PFD_TRY(add_op(pfd_builtin_ops[i], err));
    return PFD_OK;
}

static void build(void)
{
    pfd_error_init(&registry.fault);
    (void)add_all(&registry.fault);
}

/* PFD_OK, or the fault that keeps every op from being used. */
static pfd_status ensure_built(pfd_error *err)
{
    (void)pthread_once(&built, build);
    if (registry.fault.status != PFD_OK) *err = registry.fault;
    return registry.fault.status;
}

static void fail_unknown(const char *name, pfd_error *err)
{
    char data[900];
    pfd_text text = pfd_text_in(data, sizeof data);
    pfd_text_add(&text, "unknown op ");
    pfd_text_add_quoted(&text, name);
    const char *near = pfd_nearest_name(name, registry.names, registry.size);
    if (near) pfd_text_add(&text, "; did you mean '%s'?", near);
    pfd_text_add(&text, "%s Known ops: ", near ? "" : ".");
    for (int64_t i = 0; i < registry.size; i++)
        pfd_text_add(&text, i > 0 ? ", %s" : "%s", registry.names[i]);
    (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "%s", data);
}

const pfd_registered_op *pfd_registry_find(const char *name, pfd_error *err)
{
    if (ensure_built(err) != PFD_OK) return NULL;
    if (!name) {
        (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "the name of the op is NULL");
        return NULL;
    }
    for (int64_t i = 0; i < registry.size; i++)
        if (same_name(name, registry.names[i])) return &registry.ops[i];
    fail_unknown(name, err);
    return NULL;
}

pfd_status pfd_registry_check(pfd_error *err)
{
    return ensure_built(err);
}

const pfd_op *pfd_op_at(int64_t i)
{
    pfd_error err;
    if (ensure_built(&err) != PFD_OK || i < 0 || i >= registry.size) return NULL;
    return registry.ops[i].public_op;
}

pfd_status pfd_op_find(const char *name, const pfd_op **out, pfd_error *err)
{
    const pfd_registered_op *found = pfd_registry_find(name, err);
    if (!found) return err->status;
    *out = found->public_op;
    return PFD_OK;
}
