/* formats/mds/mds_sample.h -- chooses columns of MDS shards, and finds them in samples.
 *
 * A sample is a size (uint32) for each column whose size varies, then the bytes of all columns.
 */
#ifndef PFD_FORMATS_MDS_MDS_SAMPLE_H
#define PFD_FORMATS_MDS_MDS_SAMPLE_H
#include "formats/mds/mds_columns.h"
#include "sources/fields.h"

/* A chosen column, and the output that it goes to. */
typedef struct pfd_mds_choice {
    int64_t column, output;
} pfd_mds_choice;

/* Finds the columns of the n fields, and compares their types with those of the outputs.  `out` has
 * room for n choices, and is in the order of the columns. */
pfd_status pfd_mds_choose(const pfd_host *host, const char *attr, const pfd_field_spec *specs,
                          const pfd_row_type *types, int64_t n, const pfd_mds_columns *columns,
                          pfd_mds_choice *out, pfd_error *err);

/* Finds the chosen columns of one sample.  parts[i] is for output i and points into the sample or
 * into itself.  PFD_CORRUPT_DATA: err->byte is an offset in the sample. */
pfd_status pfd_mds_sample_parts(const pfd_host *host, const pfd_mds_columns *columns,
                                const pfd_mds_choice *choices, int64_t n, const pfd_row_type *types,
                                const uint8_t *sample, int64_t size, pfd_field_part *parts,
                                pfd_error *err);
#endif
