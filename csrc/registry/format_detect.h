/* registry/format_detect.h -- detects the format of bytes; for files use pfd_format_detect(). */
#ifndef PFD_REGISTRY_FORMAT_DETECT_H
#define PFD_REGISTRY_FORMAT_DETECT_H
#include "pyflowdata/op.h"

/* host->looks_like(). */
const char *pfd_looks_like(const uint8_t *data, int64_t size, const char *own);
#endif
