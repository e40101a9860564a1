/* sources/fields.h -- the fields of records: those that every reader has, packed ones, records that
 * are composed of them, and those that are found in a file.
 *
 * OWNERSHIP  A composed record is in the scratch.  Ragged rows point into the bytes they were read
 *            from.
 */
#ifndef PFD_SOURCES_FIELDS_H
#define PFD_SOURCES_FIELDS_H
#include "parse/row_type.h"

/* ---- Outputs that every reader has ----------------------------------------------------------- */

enum { PFD_HOST_OUTPUT_COUNT = 2 };

/* mask: bool, scalar per row; id: int64 (2,), file index and ordinal. */
extern const pfd_port pfd_host_outputs[PFD_HOST_OUTPUT_COUNT];

/* ---- Fields in one piece of memory ----------------------------------------------------------- */

/* A row, which is read in place.  Its size is a multiple of 8.
 *
 *     for each field, at a multiple of 8 bytes:
 *     dense    its elements
 *     ragged   its shape, an int64 for each dimension, then its elements at a multiple of 8 */

/* How many bytes a row of a field takes. */
int64_t pfd_packed_field_bytes(const pfd_tensor *field, int64_t row);

/* Writes a row of a field, and returns where the next field begins. */
uint8_t *pfd_packed_field_write(const pfd_tensor *field, int64_t row, uint8_t *to);

/* Takes the next field of packed bytes, at a multiple of 8 in memory, and writes it to a row of
 * an output.  0: they do not have one of its type. */
int32_t pfd_packed_field_read(pfd_tensor *out, int64_t row, const uint8_t **data, int64_t *left);

/* ---- Records made of fields ------------------------------------------------------------------ */

/* For formats whose samples cannot be read without the header of their file, or are in several
 * pieces.  The source knows the header: it finds the wanted fields and composes a record of them.
 * compute() knows only the record: it writes the fields to rows.  If the source finds damage in a
 * sample, it composes a record with the error, and compute() fails that row: so the damage is an
 * error of this one record.
 *
 *     int64 number of fields; for each int64 offset, int64 size; then the fields, at multiples of 8
 *     int64 -1; int64 byte; the message */

/* Parses the fields of an op's list attr, and sets the types of its outputs: uint8[?] for a field
 * without a type.  Defaults are refused, because these formats have every field in every sample.
 * `specs` may be NULL. */
pfd_status pfd_field_record_types(const pfd_host *host, const char *attr,
                                  const pfd_list_string *fields, pfd_field_spec *specs,
                                  pfd_row_type *types, pfd_error *err);

/* The elements of a field, one for each output of the op, in their order. */
typedef struct pfd_field_cell {
    const void *data; /* need not be aligned */
    int64_t size;     /* bytes */
    int64_t shape[PFD_MAX_DIMS]; /* shape of outputs with several dimensions of which one varies */
} pfd_field_cell;

/* Sets data and size of *out.  PFD_OUT_OF_MEMORY. */
pfd_status pfd_field_record_compose(const pfd_host *host, const pfd_row_type *types,
                                    const pfd_field_cell *cells, int64_t n, pfd_scratch *scratch,
                                    pfd_record *out, pfd_error *err);

/* Composes the record of a damaged sample.  `damage` is PFD_CORRUPT_DATA; its byte counts from
 * out->offset. */
pfd_status pfd_field_record_damaged(const pfd_host *host, const pfd_error *damage,
                                    pfd_scratch *scratch, pfd_record *out, pfd_error *err);

/* For records that need not be composed: writes the cells of one row to the outputs.  Ragged rows
 * point into the data of the cells, or into the scratch if the data are not aligned. */
pfd_status pfd_field_cells_write(const pfd_compute_args *args, int64_t row,
                                 const pfd_field_cell *cells, pfd_error *err);

/* Does all of compute() for an op with n outputs. */
pfd_status pfd_field_records_compute(const pfd_compute_args *args, int64_t n, pfd_error *err);

/* ---- The fields that a file has -------------------------------------------------------------- */

/* Each field of the file becomes an output, KEY:TYPE, in the order of the file.  A field with the
 * name of an output that every reader has (mask, id) becomes NAME=KEY:TYPE, where NAME is KEY and
 * as many '_' as make it unique. */

typedef struct pfd_inferred_field {
    const char *key; /* the name in the file; ends with a 0 */
    int64_t key_size;
    char type[120]; /* as in parse/row_type.h */
} pfd_inferred_field;

/* Sets the attr to the n fields of `file`.  PFD_UNSUPPORTED: a key cannot be written in a field. */
pfd_status pfd_inferred_fields_set(const pfd_propose_args *args, const char *attr,
                                   const pfd_file *file, const pfd_inferred_field *fields,
                                   int64_t n, pfd_error *err);
#endif
