/* Asks for the records of the sample, and computes them, in ranges of many lengths. */
#include "core/error.h"
#include "core/scratch.h"
#include "check/range_lengths.h"
#include "check/visit_records.h"

#include <inttypes.h>
#include <stdlib.h>

enum { most_records = 16, most_asked = 257 };

static pfd_status read_records(pfd_kit_call *call, const pfd_kit_source *source,
                               pfd_kit_scratch *scratch, pfd_record *records, int64_t *n,
                               pfd_error *err)
{
    if (source->size >= 0) {
        int64_t ordinals[most_records];
        *n = source->size < most_records ? source->size : most_records;
        for (int64_t i = 0; i < *n; i++) ordinals[i] = pfd_kit_ordinal(i, *n, source->size);
        return *n ? pfd_kit_source_at(call, source, ordinals, *n, scratch, records, err) : PFD_OK;
    }
    PFD_TRY(pfd_kit_source_seek(call, source, 0, err));
    for (*n = 0; *n < most_records;) {
        int64_t got;
        pfd_status status =
            pfd_kit_source_next(call, source, most_records - *n, scratch, records + *n, &got, err);
        if (status == PFD_END) return PFD_OK;
        PFD_TRY(status);
        *n += got;
    }
    return PFD_OK;
}

static pfd_status compare_asked(pfd_kit_call *call, const pfd_kit_source *source,
                                const pfd_record *known, int64_t n, int64_t asked,
                                const int64_t *ordinals, pfd_record *records, pfd_error *err)
{
    pfd_kit_scratch scratch;
    if (!pfd_kit_scratch_open(&scratch)) return pfd_fail_memory(err, 0, "a scratch");
    pfd_status status = pfd_kit_source_at(call, source, ordinals, asked, &scratch, records, err);
    for (int64_t i = 0; status == PFD_OK && i < asked; i++) {
        if (pfd_kit_hash_record(call, &records[i]) == pfd_kit_hash_record(call, &known[i % n]))
            continue;
        pfd_kit_report(call->run, "at-not-pure",
                       "record %" PRId64 " is another one when %" PRId64
                       " ordinals are asked for at once, of which it is number %" PRId64
                       ": at() must describe each as if it were alone, for any number of them",
                       ordinals[i], asked, i);
        break;
    }
    pfd_kit_scratch_reset(&scratch, call->run, "at()");
    pfd_kit_scratch_close(&scratch);
    return status;
}

static pfd_status ask(pfd_kit_call *call, const pfd_kit_source *source, const pfd_record *known,
                      int64_t n, pfd_error *err)
{
    int64_t *ordinals = calloc(most_asked, sizeof *ordinals);
    pfd_record *records = calloc(most_asked, sizeof *records);
    pfd_status status = ordinals && records ? PFD_OK : pfd_fail_memory(err, most_asked, "records");
    for (int64_t i = 0; status == PFD_OK && i < most_asked; i++) ordinals[i] = known[i % n].ordinal;
    for (int32_t i = 0; status == PFD_OK && i < PFD_KIT_NUM_LENGTHS; i++)
        if (pfd_kit_lengths[i] <= most_asked)
            status =
                compare_asked(call, source, known, n, pfd_kit_lengths[i], ordinals, records, err);
    free(ordinals);
    free(records);
    return status;
}

pfd_status pfd_kit_try_sample_ranges(pfd_kit_call *call, const pfd_kit_source *source,
                                     int64_t *longest, pfd_error *err)
{
    const pfd_node *node = call->run->node;
    pfd_record records[most_records];
    int64_t n = 0;
    pfd_kit_scratch scratch = {NULL, -1};
    pfd_scratch *plain = pfd_scratch_create();
    const pfd_tensor **inputs = calloc(node->op->op->num_inputs + 1, sizeof *inputs);
    pfd_status status = plain && inputs && pfd_kit_scratch_open(&scratch)
                            ? read_records(call, source, &scratch, records, &n, err)
                            : pfd_fail_memory(err, most_records, "records");
    *longest = 0;
    if (status == PFD_OK && n > 0) {
        if (source->is_checked && source->size >= 0) status = ask(call, source, records, n, err);
        if (status == PFD_OK)
            status = pfd_kit_inputs_make(node, records, n, 0, source->self, plain, inputs, err);
        if (status == PFD_OK)
            *longest = pfd_kit_try_ranges(call, inputs, records, n, PFD_KIT_MOST_LENGTH);
    }
    pfd_kit_scratch_reset(&scratch, call->run, "at()");
    pfd_kit_scratch_close(&scratch);
    pfd_scratch_free(plain);
    free(inputs);
    return status;
}
