/* The format of Apache Parquet. */
#include "core/op_shorthand.h"

#include <string.h>

static int32_t probe(const pfd_probe_args *args)
{
    static const char magic[] = "PAR1";
    if (args->size < 4 || memcmp(args->data, magic, 4) != 0) return PFD_PROBE_NO;
    return PFD_PROBE_CERTAIN;
}

const pfd_format pfd_format_parquet = {
    .struct_size = sizeof(pfd_format),
    .name = "parquet",
    .title = "Parquet",
    .doc = "Apache Parquet: tables in row groups, which the package pyarrow decodes.",
    .suffixes = ".parquet|.pq",
    .reader = "ParquetReader",
    .checks = "the footer, the pages and their checksums where the file has them, and the offsets "
              "of each row",
    .probe = probe,
};
