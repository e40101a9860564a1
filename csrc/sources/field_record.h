/* sources/field_record.h -- fields of a record, on their way to the outputs that a user has named.
 *
 * For formats whose samples cannot be read without the header of their file, or do not lie in one
 * piece.  The source, which knows the header, finds the fields that are wanted and composes a
 * record of them; compute(), which knows the record alone, only writes them to rows.  Damage that
 * the source finds in a sample becomes a record that says so, and a failed row of compute(): it
 * costs that one record, under its own number.
 *
 *     int64 number of fields; for each int64 offset, int64 size; then the fields, at multiples of 8
 *     int64 -1; int64 byte; the message
 *
 * OWNERSHIP  A composed record lies in the scratch; rows of compute() point into it.
 */
#ifndef PFD_SOURCES_FIELD_RECORD_H
#define PFD_SOURCES_FIELD_RECORD_H
#include "pyflowdata/op.h"
#include "parse/field_spec.h"

/* The fields of an op's list attr, and the types of its outputs: uint8[?] for a field without a
 * type.  Defaults are refused, since such formats have every field in every sample.  `specs` may be
 * NULL. */
pfd_status pfd_field_record_types(const pfd_host *host, const char *attr,
                                  const pfd_list_string *fields, pfd_field_spec *specs,
                                  pfd_row_type *types, pfd_error *err);

/* The elements of a field, one for each output of the op, in their order. */
typedef struct pfd_field_part {
    const void *data; /* need not be aligned */
    int64_t size;     /* bytes */
    int64_t shape[PFD_MAX_DIMS]; /* of outputs with several dimensions of which one varies */
} pfd_field_part;

/* Sets data and size of *out.  PFD_OUT_OF_MEMORY. */
pfd_status pfd_field_record_compose(const pfd_host *host, const pfd_row_type *types,
                                    const pfd_field_part *parts, int64_t n, pfd_scratch *scratch,
                                    pfd_record *out, pfd_error *err);

/* The same for a sample in which `damage` was found, PFD_CORRUPT_DATA; its byte counts from
 * out->offset. */
pfd_status pfd_field_record_damaged(const pfd_host *host, const pfd_error *damage,
                                    pfd_scratch *scratch, pfd_record *out, pfd_error *err);

/* For records that need not be composed: writes the parts of one row to the outputs.  Rows that
 * are ragged point into the parts' data, or into the scratch where it is not aligned. */
pfd_status pfd_field_parts_write(const pfd_compute_args *args, int64_t row,
                                 const pfd_field_part *parts, pfd_error *err);

/* All of compute(), for an op with n outputs. */
pfd_status pfd_field_records_compute(const pfd_compute_args *args, int64_t n, pfd_error *err);
#endif
