/* Reads ahead in a thread that close() does not wait for.
 *
 * group: state
 * finding: leaves-thread
 * says: a thread \("[-a-z]+"\) that the op started is running after close\(\) */
#include "box.h"

#include <pthread.h>
#include <unistd.h>

static void *read_ahead(void *unused)
{
    (void)unused;
    (void)pause();
    return NULL;
}

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    pthread_t thread;
    pfd_status status = box_index_file(self, args, index, err);
    if (index > 0 || pthread_create(&thread, NULL, read_ahead, NULL)) return status;
    (void)pthread_setname_np(thread, "box-ahead");
    (void)pthread_detach(thread);
    return status;
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
