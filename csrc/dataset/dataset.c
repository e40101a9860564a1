/* Calling a dataset of either form: next() and seek() over random access, describe, close. */
#include "dataset/dataset.h"

#include <inttypes.h>

int32_t pfd_dataset_is_random_access(const pfd_dataset *ds)
{
    return ds->methods->size && ds->methods->at;
}

/* The records at [begin, begin + n); positions are made in pieces, on the stack. */
static pfd_status at_range(const pfd_dataset *ds, int64_t begin, int64_t n, pfd_scratch *scratch,
                           pfd_record *out, pfd_error *err)
{
    int64_t positions[PFD_POSITIONS_PER_PIECE];
    for (int64_t done = 0; done < n;) {
        int64_t piece = n - done < PFD_POSITIONS_PER_PIECE ? n - done : PFD_POSITIONS_PER_PIECE;
        for (int64_t i = 0; i < piece; i++) positions[i] = begin + done + i;
        PFD_TRY(pfd_dataset_at_piece(ds, ds->epoch, positions, piece, done, scratch, out, err));
        done += piece;
    }
    return PFD_OK;
}

pfd_status pfd_dataset_at_mapped(const pfd_dataset *inner, int64_t epoch, const int64_t *positions,
                                 int64_t n, pfd_map_positions map, const void *ctx,
                                 pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t mapped[PFD_POSITIONS_PER_PIECE];
    for (int64_t done = 0; done < n;) {
        int64_t piece = n - done < PFD_POSITIONS_PER_PIECE ? n - done : PFD_POSITIONS_PER_PIECE;
        map(ctx, positions + done, piece, mapped);
        PFD_TRY(pfd_dataset_at_piece(inner, epoch, mapped, piece, done, scratch, out, err));
        done += piece;
    }
    return PFD_OK;
}

static pfd_status next_batch(pfd_dataset *ds, int64_t max, pfd_scratch *scratch, pfd_record *out,
                             int64_t *n, pfd_error *err)
{
    if (ds->position >= ds->methods->num_batches(ds)) return PFD_END;
    int64_t begin, end;
    ds->methods->batch(ds, ds->epoch, ds->position, &begin, &end);
    PFD_TRY(pfd_dataset_check_room(ds, max, end - begin, err));
    ds->position++; /* a batch that fails is passed over */
    PFD_TRY(at_range(ds, begin, end - begin, scratch, out, err));
    *n = end - begin;
    return PFD_OK;
}

/* A failure is reported by the call that starts at the failed record, so that no good record is
 * lost; a damaged record is then skipped. */
static pfd_status next_records(pfd_dataset *ds, int64_t max, pfd_scratch *scratch, pfd_record *out,
                               int64_t *n, pfd_error *err)
{
    int64_t left = ds->methods->size(ds) - ds->position;
    if (left <= 0) return PFD_END;
    int64_t count = left < max ? left : max;
    pfd_status status = at_range(ds, ds->position, count, scratch, out, err);
    if (status != PFD_OK && err->row > 0 && err->row < count) {
        count = err->row;
        status = at_range(ds, ds->position, count, scratch, out, err);
    }
    if (status == PFD_OK) {
        ds->position += count;
        *n = count;
    } else if (status == PFD_CORRUPT_DATA && err->row == 0) {
        ds->position++;
    }
    return status;
}

pfd_status pfd_dataset_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch, pfd_record *out,
                            int64_t *n, pfd_error *err)
{
    *n = 0;
    if (!pfd_dataset_is_random_access(ds)) {
        return ds->methods->next(ds, max, scratch, out, n, err);
    }
    if (ds->methods->num_batches) return next_batch(ds, max, scratch, out, n, err);
    return next_records(ds, max, scratch, out, n, err);
}

pfd_status pfd_dataset_seek(pfd_dataset *ds, int64_t epoch, int64_t position, pfd_error *err)
{
    if (epoch < 0 || position < 0) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "seek to epoch %" PRId64 ", position %" PRId64 "; both must be >= 0", epoch,
                        position);
    }
    if (!pfd_dataset_is_random_access(ds)) return ds->methods->seek(ds, epoch, position, err);
    ds->epoch = epoch;
    ds->position = position;
    return PFD_OK;
}

void pfd_dataset_describe(const pfd_dataset *ds, const pfd_record *record, pfd_error *err)
{
    while (ds->inner && !ds->methods->describe) ds = ds->inner;
    if (ds->methods->describe) ds->methods->describe(ds, record, err);
}

void pfd_dataset_close(pfd_dataset *ds)
{
    if (ds) ds->methods->close(ds);
}

pfd_status pfd_dataset_check_room(const pfd_dataset *ds, int64_t max, int64_t rows, pfd_error *err)
{
    if (rows <= max) return PFD_OK;
    return pfd_fail(err, PFD_INTERNAL,
                    "%s: next() was given room for %" PRId64 " records; a batch has up to %" PRId64,
                    ds->methods->name, max, rows);
}

pfd_status pfd_dataset_fail_count(int64_t n, int64_t max, pfd_error *err)
{
    return pfd_fail(err, PFD_INTERNAL,
                    "next() gave %" PRId64 " records; it must give 1 to %" PRId64
                    " or return PFD_END",
                    n, max);
}
