/* Which data set the rows of a node are of, and the fields of views. */
#include "registry/node_order.h"

#include "core/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The value of an attr; NULL: the op has none of that name. */
static const void *attr_of(const pfd_op *op, const void *attrs, const char *name)
{
    for (uint32_t i = 0; i < op->num_attrs; i++)
        if (!strcmp(op->attrs[i].name, name)) return (const char *)attrs + op->attrs[i].offset;
    return NULL;
}

/* 1 for views other than those of several sources. */
static int64_t num_sources_of(const pfd_op *op, const void *attrs)
{
    const int64_t *value = attr_of(op, attrs, "num_sources");
    return value ? *value : 1;
}

/* What an input is called: the field, or the input where fields have no names. */
static const char *name_of_input(const pfd_node *node, int64_t i)
{
    const pfd_list_string *fields =
        attr_of(node->op->op, pfd_attrs_struct(node->attrs), "fields");
    if (!fields || fields->size < 1 || i / fields->size >= node->op->op->num_inputs)
        return node->op->op->inputs[i].name;
    return fields->data[i % fields->size];
}

static const pfd_node *order_of_input(const pfd_node *node, int64_t i)
{
    return node->inputs[i].node->order;
}

int64_t pfd_node_end_of_source(const pfd_node *node, int64_t begin)
{
    int64_t n = node->op->op->num_inputs, end = begin + 1;
    if (pfd_view_op_of(node->op)->kind != PFD_VIEW_ZIP)
        return begin + n / num_sources_of(node->op->op, pfd_attrs_struct(node->attrs));
    while (end < n && order_of_input(node, end) == order_of_input(node, begin)) end++;
    return end;
}

static pfd_status check_field(const pfd_node *node, int64_t i, pfd_error *err)
{
    const pfd_node *from = node->inputs[i].node, *order = from->order;
    const char *name = name_of_input(node, i);
    if (!order)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "field '%s' comes from %s, which has rows of several readers, or needs "
                        "whole batches; a view takes the fields of one data set: zip them before",
                        name, from->op->op->name);
    const pfd_reader_attrs *attrs =
        order->reader_attrs ? pfd_attrs_struct(order->reader_attrs) : NULL;
    int32_t is_batched = (order->op->op->flags & PFD_VIEW) && attrs;
    if (is_batched || from->batch_size != 1 || (attrs && attrs->random_shuffle))
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "field '%s' comes in batches or in a random order from %s; views are of "
                        "records: leave the batch and shuffle attrs of the reader out, and use "
                        "views before BatchDataset",
                        name, order->op->op->name);
    return PFD_OK;
}

/* Inputs of one data set come from one reader or view. */
static pfd_status check_source(const pfd_node *node, int64_t begin, int64_t end, pfd_error *err)
{
    for (int64_t i = begin; i < end; i++) {
        PFD_TRY(check_field(node, i, err));
        const pfd_node *first = order_of_input(node, begin), *order = order_of_input(node, i);
        if (order != first)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "field '%s' is of %s, and field '%s' of another %s; a view takes the "
                            "fields of one data set: zip the two before",
                            name_of_input(node, begin), first->op->op->name,
                            name_of_input(node, i), order->op->op->name);
    }
    return PFD_OK;
}

static pfd_status check_view(const pfd_node *node, pfd_error *err)
{
    int64_t n = node->op->op->num_inputs;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = pfd_node_end_of_source(node, begin);
        PFD_TRY(check_source(node, begin, end, err));
    }
    return PFD_OK;
}

pfd_status pfd_node_find_order(pfd_node *node, pfd_error *err)
{
    const pfd_op *op = node->op->op;
    if (op->flags & PFD_VIEW) {
        node->order = node;
        return check_view(node, err);
    }
    if (pfd_op_is_reader(op)) {
        node->order = node;
        return PFD_OK;
    }
    if (op->num_inputs == 0 || (op->flags & PFD_WHOLE_BATCH)) return PFD_OK;
    node->order = order_of_input(node, 0);
    for (uint32_t i = 1; i < op->num_inputs; i++)
        if (order_of_input(node, i) != node->order) node->order = NULL;
    return PFD_OK;
}

pfd_status pfd_view_field_names(const pfd_registered_op *op, const void *attrs,
                                const pfd_blob *inputs, int64_t num_inputs, pfd_list_string *names,
                                pfd_error *err)
{
    int64_t sources = num_sources_of(op->op, attrs), n = num_inputs / sources;
    const char **data = calloc((size_t)n + 1, sizeof *data);
    if (!data) return pfd_fail_memory(err, n * (int64_t)sizeof *data, "names of fields");
    for (int64_t i = 0; i < n; i++) {
        if (!inputs[i].node || inputs[i].output < 0 ||
            (uint32_t)inputs[i].output >= inputs[i].node->op->public_op->num_outputs) {
            free(data);
            return pfd_fail(err, PFD_INVALID_ARGUMENT, "input %" PRId64 " is not a blob", i);
        }
        data[i] = inputs[i].node->op->public_op->outputs[inputs[i].output].name;
    }
    *names = (pfd_list_string){.data = data, .size = n};
    return PFD_OK;
}
