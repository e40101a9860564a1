/* parse/number_pairs.h -- two comma-separated decimal numbers a record, many records at once. */
#ifndef PFD_PARSE_NUMBER_PAIRS_H
#define PFD_PARSE_NUMBER_PAIRS_H
#include "pyflowdata/op.h"

#define PFD_PAIRS_AT_ONCE 64

/* Parses records[0, n), n <= PFD_PAIRS_AT_ONCE, none of them empty, into rows[0, 2 * n).  Returns
 * the records that were left (bit i: record i), whose rows are undefined: all that is not two plain
 * decimal numbers, each [-]digits with at most one point, and one comma between, and what is too
 * long for the fast way.  The numbers are those of pfd_parse_double(), bit for bit. */
typedef uint64_t (*pfd_pairs_fn)(const pfd_record *records, int64_t n, double *rows);

/* Parses any number of records by the fastest way that this processor has, and those that it leaves
 * by parse(ctx, record, pair, err), whose first failure ends it. */
typedef pfd_status (*pfd_parse_pair_fn)(const void *ctx, int64_t record, double *pair,
                                        pfd_error *err);
pfd_status pfd_parse_pairs(const pfd_record *records, int64_t n, double *rows,
                           pfd_parse_pair_fn parse, const void *ctx, pfd_error *err);

/* The way for a level of core/simd.h; it may be to leave all records. */
pfd_pairs_fn pfd_pairs_at(int32_t simd_level);

uint64_t pfd_pairs_avx512(const pfd_record *records, int64_t n, double *rows); /* x86-64 */
uint64_t pfd_pairs_avx2(const pfd_record *records, int64_t n, double *rows);   /* x86-64 */
uint64_t pfd_pairs_neon(const pfd_record *records, int64_t n, double *rows);   /* aarch64 */
#endif
