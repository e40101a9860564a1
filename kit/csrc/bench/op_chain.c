/* Collects the ops that some blobs depend on, in order, with memory for their outputs, and calls
 * them. */
#include "bench/op_chain.h"
#include "core/error.h"
#include "core/random.h"
#include "registry/attrs.h"

#include <stdlib.h>
#include <string.h>

static pfd_chain_op *find(const pfd_op_chain *chain, const pfd_node *node)
{
    for (int32_t i = 0; i < chain->num_ops; i++)
        if (chain->ops[i].node == node) return &chain->ops[i];
    return NULL;
}

static uint64_t random_key(const pfd_node *node)
{
    return pfd_random_key(0, 0, node->name[0] ? node->name : node->op->op->name);
}

/* Adds the node after those of its inputs. */
static pfd_status add(pfd_op_chain *chain, const pfd_node *node, pfd_error *err)
{
    if (find(chain, node)) return PFD_OK;
    const pfd_op *op = node->op->op, *public_op = node->op->public_op;
    for (uint32_t i = 0; i < op->num_inputs; i++) PFD_TRY(add(chain, node->inputs[i].node, err));
    if (pfd_op_is_reader(op) && chain->num_ops)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the blobs depend on the readers %s and %s; one reader is measured at a "
                        "time",
                        chain->ops[0].node->op->op->name, op->name);
    if (!pfd_op_is_reader(op) && !chain->num_ops)
        return pfd_fail(err, PFD_UNSUPPORTED, "no reader is upstream of %s; give it an input",
                        op->name);
    pfd_chain_op *grown = realloc(chain->ops, (size_t)(chain->num_ops + 1) * sizeof *grown);
    if (!grown) return pfd_fail_memory(err, (int64_t)sizeof *grown, "an op");
    chain->ops = grown;
    pfd_chain_op *added = &grown[chain->num_ops++];
    *added = (pfd_chain_op){.node = node, .random_key = random_key(node)};
    added->tensors = calloc(public_op->num_outputs + 1, sizeof *added->tensors);
    added->outputs = calloc(public_op->num_outputs + 1, sizeof *added->outputs);
    added->inputs = calloc(op->num_inputs + 1, sizeof *added->inputs);
    if (!added->tensors || !added->outputs || !added->inputs)
        return pfd_fail_memory(err, (int64_t)sizeof *added->tensors, "an op's tensors");
    if (op->flags & PFD_WHOLE_BATCH) chain->whole_batch = 1;
    return PFD_OK;
}

static void describe(pfd_tensor *tensor, const pfd_row_type *type)
{
    int64_t bytes = pfd_dtype_size(type->dtype);
    *tensor = (pfd_tensor){.struct_size = sizeof *tensor, .type = *type};
    for (int32_t d = 0; d < type->ndim; d++) {
        if (type->shape[d] < 0) tensor->is_ragged = 1;
        bytes *= type->shape[d];
    }
    if (!tensor->is_ragged) tensor->row_bytes = bytes;
}

static int64_t memory_of_row(const pfd_tensor *tensor)
{
    return tensor->is_ragged ? (int64_t)sizeof(pfd_ragged_row) : tensor->row_bytes;
}

/* Sets pointers to tensors; the list of ops must be complete, because it moves when it grows. */
static void connect(pfd_op_chain *chain)
{
    for (int32_t i = 0; i < chain->num_ops; i++) {
        pfd_chain_op *op = &chain->ops[i];
        for (uint32_t k = 0; k < op->node->op->public_op->num_outputs; k++) {
            describe(&op->tensors[k], &op->node->outputs[k]);
            op->outputs[k] = &op->tensors[k];
            chain->row_bytes += memory_of_row(&op->tensors[k]);
        }
        for (uint32_t k = 0; k < op->node->op->op->num_inputs; k++) {
            const pfd_blob *blob = &op->node->inputs[k];
            op->inputs[k] = &find(chain, blob->node)->tensors[blob->output];
        }
    }
}

pfd_status pfd_op_chain_open(pfd_op_chain *chain, const pfd_blob *blobs, int64_t num_blobs,
                             pfd_error *err)
{
    *chain = (pfd_op_chain){0};
    if (num_blobs < 1) return pfd_fail(err, PFD_INVALID_ARGUMENT, "no blob is given");
    for (int64_t i = 0; i < num_blobs; i++) PFD_TRY(add(chain, blobs[i].node, err));
    connect(chain);
    return PFD_OK;
}

pfd_status pfd_op_chain_allocate(pfd_op_chain *chain, int64_t rows, pfd_error *err)
{
    chain->rows = rows;
    for (int32_t i = 0; i < chain->num_ops; i++) {
        pfd_chain_op *op = &chain->ops[i];
        for (uint32_t k = 0; k < op->node->op->public_op->num_outputs; k++) {
            pfd_tensor *tensor = &op->tensors[k];
            size_t bytes = ((size_t)(rows * memory_of_row(tensor)) / 64 + 1) * 64;
            void *memory = aligned_alloc(64, bytes);
            if (!memory) return pfd_fail_memory(err, (int64_t)bytes, "the rows of a range");
            memset(memory, 0, bytes);
            if (tensor->is_ragged)
                tensor->rows = memory;
            else
                tensor->data = memory;
        }
    }
    return PFD_OK;
}

void pfd_op_chain_close(pfd_op_chain *chain)
{
    for (int32_t i = 0; i < chain->num_ops; i++) {
        pfd_chain_op *op = &chain->ops[i];
        for (uint32_t k = 0; op->tensors && k < op->node->op->public_op->num_outputs; k++) {
            free(op->tensors[k].data);
            free(op->tensors[k].rows);
        }
        free(op->tensors);
        free(op->outputs);
        free(op->inputs);
    }
    free(chain->ops);
    *chain = (pfd_op_chain){0};
}

void pfd_op_chain_clear(pfd_op_chain *chain, int64_t rows)
{
    for (int32_t i = 0; i < chain->num_ops; i++)
        for (uint32_t k = 0; k < chain->ops[i].node->op->public_op->num_outputs; k++) {
            pfd_tensor *tensor = &chain->ops[i].tensors[k];
            if (tensor->is_ragged) memset(tensor->rows, 0, (size_t)rows * sizeof *tensor->rows);
        }
}

pfd_status pfd_op_chain_compute(pfd_op_chain *chain, int32_t i, const pfd_host *host,
                                const pfd_record *records, int64_t n, pfd_scratch *scratch,
                                pfd_error *err)
{
    pfd_chain_op *op = &chain->ops[i];
    pfd_compute_args args = {.struct_size = sizeof args,
                             .host = host,
                             .attrs = pfd_attrs_struct(op->node->attrs),
                             .num_rows = n,
                             .records = records,
                             .inputs = op->inputs,
                             .outputs = op->outputs,
                             .scratch = scratch,
                             .random_key = op->random_key,
                             .num_inputs = op->node->op->op->num_inputs,
                             .num_outputs = op->node->op->op->num_outputs,
                             .source = pfd_op_is_reader(op->node->op->op) ? chain->source : NULL};
    pfd_error_clear(err);
    return pfd_check_returned(op->node->op->op->compute(&args, err), "compute", err);
}

void pfd_op_chain_fill_reader_ports(pfd_op_chain *chain, const pfd_record *records, int64_t n)
{
    pfd_chain_op *reader = &chain->ops[0];
    const pfd_tensor *mask = &reader->tensors[reader->node->op->op->num_outputs];
    pfd_reader_ports_fill(records, n, mask[0].data, (int64_t *)(void *)mask[1].data);
}
