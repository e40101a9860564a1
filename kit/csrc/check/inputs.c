/* Makes the arguments of an op's functions: attrs that they cannot write to, and inputs, damaged
 * where the options say so. */
#include "check/guard.h"
#include "check/calls.h"
#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "registry/attrs.h"

#include <string.h>

/* ---- A copy of attrs that cannot be written to ----------------------------------------------- */
/* Copies the list of a field into `to`, and lets the field point to the copy; NULL: copies nothing.
 * Returns the bytes of the copy. */
static int64_t copy_list(const void **data, int64_t bytes, uint8_t *to)
{
    if (bytes <= 0 || !*data) return 0;
    if (to) *data = memcpy(to, *data, (size_t)bytes);
    return (bytes + 7) / 8 * 8;
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
        pfd_list_int64 list; /* elements of 8 bytes, as in the other list */
        memcpy(&list, field, sizeof list);
        const void *data = list.data;
        int64_t used = copy_list(&data, list.size * 8, to);
        list.data = data;
        memcpy(field, &list, sizeof list);
        return used;
    }
    case PFD_ATTR_LIST_STRING: return copy_strings((void *)field, to);
    default: return 0;
    }
}

/* One region has the struct; another has the strings and lists that it points to. */
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

/* ---- Damage: other bytes that an op before could deliver, of the same types and shapes ------- */
static void damage(uint8_t *data, int64_t bytes, int32_t dtype, int32_t way, uint64_t seed)
{
    if (bytes <= 0) return;
    if (dtype == PFD_BOOL) {
        for (int64_t i = 0; i < bytes; i++) data[i] ^= 1;
        return;
    }
    switch (way) {
    case 1:
        memset(data, 0, (size_t)bytes);
        break;
    case 2:
        memset(data, 0xFF, (size_t)bytes);
        break;
    case 3:
        data[0] ^= 0xFF;
        break;
    case 4:
        data[bytes / 2] ^= 0xFF;
        break;
    case 5:
        data[bytes - 1] ^= 0xFF;
        break;
    case 6: /* the second half gone */
        memset(data + bytes / 2, 0, (size_t)(bytes - bytes / 2));
        break;
    default:
        for (int64_t i = 0; i < bytes; i++) data[i] = (uint8_t)pfd_random_bits(seed, (uint64_t)i);
    }
}

/* A ragged row is copied first: it may lie in the bytes of the record. */
static void damage_row(pfd_ragged_row *row, const pfd_row_type *type, int32_t way, uint64_t seed,
                       pfd_scratch *scratch)
{
    int64_t bytes = row->num_elements * pfd_dtype_size(type->dtype);
    uint8_t *copy = bytes > 0 ? pfd_scratch_alloc(scratch, bytes) : NULL;
    if (!copy) return;
    memcpy(copy, row->data, (size_t)bytes);
    damage(copy, bytes, type->dtype, way, seed);
    row->data = copy;
}

void pfd_kit_damage_inputs(const pfd_kit_run_state *run, const pfd_tensor *const *inputs, int64_t n,
                           pfd_scratch *scratch)
{
    int32_t way = run->options->damaged_inputs;
    for (uint32_t i = 0; way > 0 && i < run->node->op->op->num_inputs; i++) {
        const pfd_tensor *in = inputs[i];
        for (int64_t row = 0; row < n; row++) {
            uint64_t seed = (uint64_t)(way + row);
            if (in->is_ragged)
                damage_row(&in->rows[row], &in->type, way, seed, scratch);
            else
                damage(in->data + row * in->row_bytes, in->row_bytes, in->type.dtype, way, seed);
        }
    }
}

/* ---- The ops upstream, computed without checks ----------------------------------------------- */
typedef struct upstream {
    const pfd_record *records;
    int64_t n;
    uint64_t random_key;
    const void *source; /* of the reader */
    pfd_scratch *scratch;
} upstream;

/* Returns the bytes of a dense row, and 1 for a ragged row. */
static int64_t row_bytes_of(const pfd_row_type *type, int32_t *is_ragged)
{
    int64_t bytes = pfd_dtype_size(type->dtype);
    *is_ragged = 0;
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0) *is_ragged = 1;
        bytes *= type->shape[i];
    }
    return *is_ragged ? 0 : bytes;
}

static int32_t make_tensor(const upstream *at, const pfd_row_type *type, pfd_tensor *out)
{
    int32_t is_ragged;
    int64_t row_bytes = row_bytes_of(type, &is_ragged);
    int64_t row = is_ragged ? (int64_t)sizeof(pfd_ragged_row) : row_bytes;
    void *memory = pfd_scratch_alloc(at->scratch, at->n * row + 1);
    if (!memory) return 0;
    memset(memory, 0, (size_t)(at->n * row));
    *out = (pfd_tensor){.struct_size = sizeof *out,
                        .is_ragged = is_ragged,
                        .type = *type,
                        .data = is_ragged ? NULL : memory,
                        .row_bytes = row_bytes,
                        .rows = is_ragged ? memory : NULL};
    return 1;
}

/* The outputs that the host fills itself. */
static pfd_status evaluate(const upstream *at, const pfd_node *node, pfd_tensor *outputs,
                           pfd_error *err);

static pfd_status make_inputs(const upstream *at, const pfd_node *node, const pfd_tensor **inputs,
                              pfd_error *err)
{
    for (uint32_t i = 0; i < node->op->op->num_inputs; i++) {
        const pfd_blob *blob = &node->inputs[i];
        uint32_t n = blob->node->op->public_op->num_outputs;
        pfd_tensor *outputs = pfd_scratch_alloc(at->scratch, (int64_t)(n * sizeof(pfd_tensor)));
        if (!outputs) return pfd_fail_memory(err, n, "tensors");
        PFD_TRY(evaluate(at, blob->node, outputs, err));
        inputs[i] = &outputs[blob->output];
    }
    return PFD_OK;
}

static pfd_status evaluate(const upstream *at, const pfd_node *node, pfd_tensor *outputs,
                           pfd_error *err)
{
    const pfd_op *op = node->op->op, *public_op = node->op->public_op;
    int64_t pointers = (int64_t)((op->num_inputs + public_op->num_outputs) * sizeof(void *));
    const pfd_tensor **inputs = pfd_scratch_alloc(at->scratch, pointers);
    if (!inputs) return pfd_fail_memory(err, pointers, "tensors");
    pfd_tensor **ports = (pfd_tensor **)(void *)(inputs + op->num_inputs);
    PFD_TRY(make_inputs(at, node, inputs, err));
    for (uint32_t i = 0; i < public_op->num_outputs; i++) {
        ports[i] = &outputs[i];
        if (!make_tensor(at, &node->outputs[i], &outputs[i]))
            return pfd_fail_memory(err, at->n, "a tensor");
    }
    pfd_compute_args args = {.struct_size = sizeof args,
                             .host = pfd_host_table(),
                             .attrs = pfd_attrs_struct(node->attrs),
                             .num_rows = at->n,
                             .records = at->records,
                             .inputs = inputs,
                             .outputs = ports,
                             .scratch = at->scratch,
                             .random_key = at->random_key,
                             .num_inputs = op->num_inputs,
                             .num_outputs = op->num_outputs,
                             .source = pfd_op_is_reader(op) ? at->source : NULL};
    pfd_error_clear(err);
    PFD_TRY(pfd_check_returned(op->compute(&args, err), "compute", err));
    if (pfd_op_is_reader(op))
        pfd_reader_ports_fill(at->records, at->n, outputs[op->num_outputs].data,
                              (int64_t *)(void *)outputs[op->num_outputs + 1].data);
    return PFD_OK;
}

pfd_status pfd_kit_inputs_make(const pfd_node *node, const pfd_record *records, int64_t n,
                               uint64_t random_key, const void *source, pfd_scratch *scratch,
                               const pfd_tensor **inputs, pfd_error *err)
{
    return make_inputs(&(upstream){records, n, random_key, source, scratch}, node, inputs, err);
}

const pfd_node *pfd_kit_reader_of(const pfd_node *node)
{
    const pfd_node *reader = NULL;
    if (pfd_op_is_reader(node->op->op)) return node;
    for (uint32_t i = 0; i < node->op->op->num_inputs; i++) {
        const pfd_node *found = pfd_kit_reader_of(node->inputs[i].node);
        if (!found || (reader && found != reader)) return NULL;
        reader = found;
    }
    return reader;
}
