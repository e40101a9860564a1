/* loader/interruptible.h -- a stream that another thread can stop between two next() calls. */
#ifndef PFD_LOADER_INTERRUPTIBLE_H
#define PFD_LOADER_INTERRUPTIBLE_H
#include "pyflowdata/op.h"

/* Wraps *ds as the decorators do (dataset/dataset.h). While *interrupt is not 0, next() and seek()
 * return PFD_CANCELLED. *interrupt is borrowed until close. */
pfd_status pfd_interruptible_wrap(pfd_dataset **ds, const _Atomic int32_t *interrupt,
                                  pfd_error *err);
#endif
