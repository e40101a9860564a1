/* Copies the fields of descriptors that the author's header had. */
#include "registry/op_copy.h"

#include "core/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char NO_DOC[] = "Not documented.";

enum { most_bytes = 4096 }; /* no struct grows beyond; larger is memory that was never set */

/* What every header had. */
enum {
    least_op = offsetof(pfd_op, group),
    least_attr = offsetof(pfd_attr, doc),
    least_port = offsetof(pfd_port, doc)
};

static pfd_status check_size(const pfd_op *op, const char *field, const char *type, uint32_t size,
                             uint32_t least, pfd_error *err)
{
    if (size >= least && size <= most_bytes) return PFD_OK;
    /* If struct_size is wrong, the name may be any pointer. */
    const char *name =
        op->struct_size >= least_op && op->struct_size <= most_bytes && op->name ? op->name : "?";
    return pfd_fail(err, PFD_INTERNAL,
                    "descriptor of op '%.64s': %s is %" PRIu32 "; it must be sizeof(%s): begin the "
                    "descriptor with PFD_OP_SIZES",
                    name, field, size, type);
}

/* Copies `n` rows of `size` bytes each into rows of `room` bytes. */
static void copy_rows(void *to, size_t room, const void *from, size_t size, size_t n)
{
    for (size_t i = 0; from && i < n; i++)
        memcpy((char *)to + i * room, (const char *)from + i * size, size < room ? size : room);
}

static void copy_ports(pfd_port *to, const pfd_port *from, uint32_t size, uint32_t n)
{
    copy_rows(to, sizeof *to, from, size, n);
    for (uint32_t i = 0; from && i < n && size < sizeof *to; i++) to[i].doc = NO_DOC;
}

pfd_status pfd_op_copy(const pfd_op *op, pfd_op **out, pfd_error *err)
{
    PFD_TRY(check_size(op, "struct_size", "pfd_op", op->struct_size, least_op, err));
    PFD_TRY(check_size(op, "attr_size", "pfd_attr", op->attr_size, least_attr, err));
    PFD_TRY(check_size(op, "port_size", "pfd_port", op->port_size, least_port, err));
    size_t num_ports = (size_t)op->num_inputs + op->num_outputs;
    if (op->num_attrs > most_bytes || num_ports > most_bytes)
        return pfd_fail(err, PFD_INTERNAL,
                        "descriptor of op '%.64s': num_attrs = %" PRIu32 ", num_inputs = %" PRIu32
                        ", num_outputs = %" PRIu32 "; an op cannot have so many",
                        op->name ? op->name : "NULL", op->num_attrs, op->num_inputs,
                        op->num_outputs);
    struct {
        pfd_op op;
        pfd_attr attrs[];
    } *copy =
        calloc(1, sizeof(pfd_op) + op->num_attrs * sizeof(pfd_attr) + num_ports * sizeof(pfd_port));
    if (!copy) return pfd_fail_memory(err, sizeof(pfd_op), "the registry");
    pfd_attr *attrs = copy->attrs;
    pfd_port *ports = (pfd_port *)(void *)(attrs + op->num_attrs);
    copy_rows(&copy->op, sizeof(pfd_op), op, op->struct_size, 1);
    copy_rows(attrs, sizeof *attrs, op->attrs, op->attr_size, op->num_attrs);
    for (uint32_t i = 0; i < op->num_attrs && op->attr_size <= least_attr; i++)
        attrs[i].doc = NO_DOC;
    copy_ports(ports, op->inputs, op->port_size, op->num_inputs);
    copy_ports(ports + op->num_inputs, op->outputs, op->port_size, op->num_outputs);
    copy->op.struct_size = sizeof(pfd_op);
    copy->op.attr_size = sizeof(pfd_attr);
    copy->op.port_size = sizeof(pfd_port);
    copy->op.attrs = op->attrs ? attrs : NULL;
    copy->op.inputs = op->inputs ? ports : NULL;
    copy->op.outputs = op->outputs ? ports + op->num_inputs : NULL;
    *out = &copy->op;
    return PFD_OK;
}
