/* sources/field_record.h -- records that a source composes of the fields that the user wants.
 *
 * For formats whose samples cannot be read without the header of their file, or are in several
 * pieces.  The source knows the header: it finds the wanted fields and composes a record of them.
 * compute() knows only the record: it writes the fields to rows.  If the source finds damage in a
 * sample, it composes a record with the error, and compute() fails that row: so the damage is an
 * error of this one record.
 *
 *     int64 number of fields; for each int64 offset, int64 size; then the fields, at multiples of 8
 *     int64 -1; int64 byte; the message
 *
 * OWNERSHIP  A composed record is in the scratch; rows of compute() point into it.
 */
#ifndef PFD_SOURCES_FIELD_RECORD_H
#define PFD_SOURCES_FIELD_RECORD_H
#include "parse/row_type.h"
#include "pyflowdata/op.h"

/* Parses the fields of an op's list attr, and sets the types of its outputs: uint8[?] for a field
 * without a type.  Defaults are refused, because these formats have every field in every sample.
 * `specs` may be NULL. */
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

/* Composes the record of a damaged sample.  `damage` is PFD_CORRUPT_DATA; its byte counts from
 * out->offset. */
pfd_status pfd_field_record_damaged(const pfd_host *host, const pfd_error *damage,
                                    pfd_scratch *scratch, pfd_record *out, pfd_error *err);

/* For records that need not be composed: writes the parts of one row to the outputs.  Ragged rows
 * point into the data of the parts, or into the scratch if the data are not aligned. */
pfd_status pfd_field_parts_write(const pfd_compute_args *args, int64_t row,
                                 const pfd_field_part *parts, pfd_error *err);

/* Does all of compute() for an op with n outputs. */
pfd_status pfd_field_records_compute(const pfd_compute_args *args, int64_t n, pfd_error *err);
#endif
