/* Writes out the ports of a node whose op leaves them to attrs. */
#include "registry/node_ports.h"

#include "core/error.h"
#include "parse/row_type.h"
#include "registry/attr_text.h"
#include "registry/node_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ports = 4096, input_name_bytes = 96 };

/* One allocation: the op twice, its ports, and their names. */
typedef struct own_op {
    pfd_registered_op registered;
    pfd_op op, public_op;
    pfd_port ports[]; /* inputs, then the public outputs, which begin with the op's own */
} own_op;

static const pfd_list_string *output_list(const pfd_op *op, const void *attrs)
{
    for (uint32_t i = 0; op->outputs_attr && i < op->num_attrs; i++)
        if (!strcmp(op->attrs[i].name, op->outputs_attr))
            return (const void *)((const char *)attrs + op->attrs[i].offset);
    return NULL;
}

static size_t name_size(const char *element)
{
    return (size_t)pfd_field_name_size(element);
}

static pfd_status fail_element(const pfd_op *op, const char *element, const char *found,
                               pfd_error *err)
{
    char data[600];
    pfd_text text = pfd_text_in(data, sizeof data);
    pfd_text_add_quoted(&text, element);
    return pfd_fail_attr(err, op->outputs_attr, NULL, PFD_INVALID_ARGUMENT, ": element %s %s", data,
                         found);
}

static int32_t is_name(const char *element, size_t size, const char *name)
{
    return strlen(name) == size && !memcmp(element, name, size);
}

static pfd_status check_output(const pfd_registered_op *from, const pfd_list_string *list,
                               int64_t i, pfd_error *err)
{
    const pfd_op *op = from->op;
    const char *element = list->data[i];
    size_t size = name_size(element);
    if (size == 0)
        return fail_element(op, element, "does not begin with the name of an output", err);
    for (int64_t j = 0; j < i; j++)
        if (name_size(list->data[j]) == size && !memcmp(list->data[j], element, size))
            return fail_element(op, element,
                                "has the name of one before; give it one of its own, NAME=...",
                                err);
    for (uint32_t j = op->num_outputs; j < from->public_op->num_outputs; j++)
        if (is_name(element, size, from->public_op->outputs[j].name))
            return fail_element(op, element,
                                "has a name that an output of every reader has (mask, id); give "
                                "it another one, NAME=...",
                                err);
    return PFD_OK;
}

static pfd_status check(const pfd_registered_op *from, const pfd_list_string *list,
                        int64_t num_inputs, pfd_error *err)
{
    int64_t size = list ? list->size : 1;
    if (size > most_ports)
        return pfd_fail_attr(err, from->op->outputs_attr, NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " elements, an output each, and a node can have %d: "
                             "choose some, or let an element be several columns as one array, as "
                             "'x=0..%" PRId64 ":float32' of a CSV file",
                             size, most_ports, size - 1);
    if (num_inputs > most_ports)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the node has %" PRId64 " inputs; it can have %d at most", num_inputs,
                        most_ports);
    if (size == 0)
        return pfd_fail_attr(err, from->op->outputs_attr, NULL, PFD_INVALID_ARGUMENT,
                             " is empty; it must name at least one output");
    for (int64_t i = 0; list && i < size; i++) PFD_TRY(check_output(from, list, i, err));
    return PFD_OK;
}

static char *name_inputs(pfd_port *ports, uint32_t n, const pfd_port *declared, char *text)
{
    for (uint32_t i = 0; i < n; i++, text += input_name_bytes) {
        snprintf(text, input_name_bytes, "%.64s[%" PRIu32 "]", declared->name, i);
        ports[i] = (pfd_port){.name = text, .doc = declared->doc};
    }
    return text;
}

static void name_outputs(pfd_port *ports, const pfd_list_string *list, const pfd_port *declared,
                         char *text)
{
    for (int64_t i = 0; i < list->size; i++) {
        size_t size = name_size(list->data[i]);
        memcpy(text, list->data[i], size);
        text[size] = '\0';
        ports[i] = (pfd_port){.name = text, .doc = declared->doc};
        text += size + 1;
    }
}

static pfd_status create(const pfd_registered_op *from, const pfd_list_string *list,
                         int64_t num_inputs, pfd_registered_op **out, pfd_error *err)
{
    const pfd_op *op = from->op, *public_op = from->public_op;
    int32_t has_many = (op->flags & PFD_MANY_INPUTS) != 0 && num_inputs > 0;
    int32_t lacks_last =
        (op->flags & PFD_OPTIONAL_INPUT) != 0 && num_inputs == (int64_t)op->num_inputs - 1;
    *out = NULL;
    if (!list && !has_many && !lacks_last) return PFD_OK;
    PFD_TRY(check(from, list, num_inputs, err));
    uint32_t inputs = has_many || lacks_last ? (uint32_t)num_inputs : op->num_inputs;
    uint32_t outputs = list ? (uint32_t)list->size : op->num_outputs;
    uint32_t added = public_op->num_outputs - op->num_outputs;
    size_t names = (size_t)inputs * input_name_bytes;
    for (int64_t i = 0; list && i < list->size; i++) names += name_size(list->data[i]) + 1;
    size_t ports = (size_t)inputs + outputs + added;
    own_op *own = calloc(1, sizeof *own + ports * sizeof(pfd_port) + names);
    if (!own) return pfd_fail_memory(err, (int64_t)names, "a node's inputs and outputs");
    pfd_port *own_inputs = own->ports, *own_outputs = own->ports + inputs;
    char *text = (char *)(own->ports + ports);
    if (has_many)
        text = name_inputs(own_inputs, inputs, op->inputs, text);
    else if (inputs > 0)
        memcpy(own_inputs, op->inputs, inputs * sizeof *own_inputs);
    if (list)
        name_outputs(own_outputs, list, op->outputs, text);
    else
        memcpy(own_outputs, op->outputs, outputs * sizeof *own_outputs);
    if (added > 0)
        memcpy(own_outputs + outputs, public_op->outputs + op->num_outputs,
               added * sizeof *own_outputs);
    own->op = *op;
    own->public_op = *public_op;
    own->op.inputs = own->public_op.inputs = own_inputs;
    own->op.num_inputs = own->public_op.num_inputs = inputs;
    own->op.outputs = own->public_op.outputs = own_outputs;
    own->op.num_outputs = outputs;
    own->public_op.num_outputs = outputs + added;
    own->registered = *from;
    own->registered.op = &own->op;
    own->registered.public_op = &own->public_op;
    *out = &own->registered;
    return PFD_OK;
}

/* A view has as many outputs as it has fields; where they are not named, the inputs' names. */
static pfd_status create_view(const pfd_registered_op *from, const void *attrs,
                              const pfd_list_string *list, const pfd_blob *inputs,
                              int64_t num_inputs, pfd_registered_op **out, pfd_error *err)
{
    if (num_inputs < 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "%s needs the fields of a data set",
                        from->op->name);
    pfd_list_string own;
    PFD_TRY(pfd_view_field_names(from, attrs, inputs, num_inputs, &own, err));
    pfd_status status = PFD_OK;
    int32_t adds_fields = pfd_view_op_of(from)->kind == PFD_VIEW_JOIN; /* after the others */
    if (list->size > 0 && (list->size < own.size || (list->size > own.size && !adds_fields)))
        status = pfd_fail_attr(err, from->op->outputs_attr, NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " names, and there are %" PRId64 " fields",
                               list->size, own.size);
    if (status == PFD_OK)
        status = create(from, list->size > 0 ? list : &own, num_inputs, out, err);
    free((void *)(uintptr_t)own.data);
    return status;
}

pfd_status pfd_node_ports_create(const pfd_registered_op *from, const void *attrs,
                                 const pfd_blob *inputs, int64_t num_inputs,
                                 pfd_registered_op **out, pfd_error *err)
{
    const pfd_list_string *list = output_list(from->op, attrs);
    if (list && inputs && (from->op->flags & PFD_VIEW))
        return create_view(from, attrs, list, inputs, num_inputs, out, err);
    return create(from, list, num_inputs, out, err);
}
