/* Notes which random numbers compute() draws: with which key, for which record. */
#include "core/random.h"
#include "check/run_state.h"

static pfd_kit_draw describe(const pfd_compute_args *args, uint64_t key, int64_t ordinal,
                             int64_t draw)
{
    return (pfd_kit_draw){.key = key,
                          .ordinal = ordinal,
                          .draw = draw,
                          .first = args->records[0].ordinal,
                          .first_offset = args->records[0].offset,
                          .num_rows = args->num_rows};
}

uint64_t pfd_kit_random_bits(uint64_t key, int64_t ordinal, int64_t draw)
{
    uint64_t bits = pfd_host_table()->random_bits(key, ordinal, draw);
    const pfd_kit_call *call = pfd_kit_active;
    if (!call || !call->computing) return bits;
    const pfd_kit_options *options = call->run->options;
    pfd_kit_result *result = call->run->result;
    if (options->num_threads > 1) return bits; /* the order would be another one each time */
    int64_t number = result->num_draws++;
    if (number < options->draws.capacity)
        options->draws.list[number] = describe(call->computing, key, ordinal, draw);
    /* The complement changes most decisions that the number makes. */
    return number + 1 == options->changed_draw ? ~bits : bits;
}
