/* Gives the inputs of compute() other bytes: what an op before the one under check could deliver.
 * Types, shapes and sizes stay as they are. */
#include "core/random.h"
#include "core/scratch.h"
#include "check/run_state.h"

#include <string.h>

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

/* A ragged row may lie in the record's bytes, which belong to others: it is copied first. */
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
