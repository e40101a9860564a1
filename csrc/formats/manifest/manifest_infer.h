/* formats/manifest/manifest_infer.h -- the classes of manifests, and what finding them shares
 * with reading. */
#ifndef PFD_FORMATS_MANIFEST_INFER_H
#define PFD_FORMATS_MANIFEST_INFER_H
#include "parse/json.h"
#include "pyflowdata/op.h"

/* Infers the attr `classes`: all labels of the files, sorted by bytes. */
pfd_status pfd_manifest_infer_classes(const pfd_propose_args *args, pfd_error *err);

/* A label, which is not followed by a 0 byte; NULL: out of memory. */
const char *pfd_manifest_label(const pfd_host *host, const pfd_json_text *text,
                               pfd_scratch *scratch, int64_t *size);

/* What is wrong at byte `at` of line `number`; -1: not known yet. */
pfd_status pfd_manifest_fail_line(const pfd_host *host, const char *path, int64_t number,
                                  int64_t at, const char *problem, pfd_error *err);
pfd_status pfd_manifest_fail_compressed(const pfd_host *host, const char *path, pfd_error *err);
pfd_status pfd_manifest_fail_memory(const pfd_host *host, pfd_error *err);
#endif
