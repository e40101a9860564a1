/* kit/op_bench.h -- what the parts of the benchmark of ops share. */
#ifndef PFD_KIT_OP_BENCH_H
#define PFD_KIT_OP_BENCH_H
#include "pyflowdata/kit.h"

pfd_status pfd_bench_check_options(const pfd_bench_options *options, pfd_error *err);
#endif
