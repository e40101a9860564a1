/* loader/ring/stream_producer.h -- where a reader is a stream: one loop in the pool that reads the
 * records of batch after batch, until the ring is full, and starts the stages of each.
 *
 * THREADS  With the loader's `lock` held.
 */
#ifndef PFD_LOADER_STREAM_PRODUCER_H
#define PFD_LOADER_STREAM_PRODUCER_H
#include "loader/ring/loader_fields.h"

/* Starts the producer, unless it runs or the ring has no room. */
void pfd_stream_producer_start(pfd_loader *loader);
#endif
