/* A reader without a fault that uses much of the process, and leaves it as it was: a lock, a thread
 * of its own, rounding, descriptors, its own locale, the time.  It has a format, too. */
#include "box.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef struct shared {
    pthread_mutex_t lock; /* of the fields below */
    pthread_cond_t changed;
    pthread_t thread;
    int32_t ends;
    int fd;
    int64_t seconds_open;
} shared;

static void *wait_for_the_end(void *ctx)
{
    shared *own = ctx;
    pthread_mutex_lock(&own->lock);
    while (!own->ends) pthread_cond_wait(&own->changed, &own->lock);
    own->seconds_open = time(NULL) - own->seconds_open;
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

static void end(shared *own)
{
    pthread_mutex_lock(&own->lock);
    own->ends = 1;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
    (void)pthread_join(own->thread, NULL);
    if (own->fd >= 0) (void)close(own->fd);
    free(own);
}

static shared *begin(const char *path)
{
    shared *own = calloc(1, sizeof *own);
    if (!own) return NULL;
    own->fd = open(path, O_RDONLY | O_CLOEXEC);
    own->seconds_open = time(NULL);
    pthread_mutex_init(&own->lock, NULL);
    pthread_cond_init(&own->changed, NULL);
    if (!pthread_create(&own->thread, NULL, wait_for_the_end, own)) return own;
    if (own->fd >= 0) (void)close(own->fd);
    free(own);
    return NULL;
}

static void close_all(void *source)
{
    if (((box *)source)->kept) end((shared *)(uintptr_t)((box *)source)->kept);
    box_close(source);
}

static const pfd_source_methods methods;
static pfd_status open_all(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    PFD_TRY(box_open_with(args, out, &methods, box_index_file, err));
    shared *own = begin(args->files[0]->path);
    ((box *)out->self)->kept = (const uint8_t *)own;
    if (own) return PFD_OK;
    box_close(out->self);
    return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a thread");
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    shared *own = (shared *)(uintptr_t)((box *)source)->kept;
    pthread_mutex_lock(&own->lock);
    pfd_status status = box_at(source, ordinals, n, scratch, out, err);
    pthread_mutex_unlock(&own->lock);
    return status;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    int before = fegetround();
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), outer = uselocale(plain);
    (void)fesetround(FE_TOWARDZERO);
    pfd_status status = strtod("1.5", NULL) == 1.5 ? box_compute(args, err) : PFD_INTERNAL;
    (void)fesetround(before);
    (void)uselocale(outer);
    freelocale(plain);
    return status;
}

static int32_t probe(const pfd_probe_args *args)
{
    if (args->size < 4 || memcmp(args->data, "BOX1", 4) != 0) return PFD_PROBE_NO;
    return args->size < BOX_HEADER ? PFD_PROBE_LIKELY : PFD_PROBE_CERTAIN;
}

static const pfd_source_methods methods = {
    PFD_SIZE(pfd_source_methods),
    .close = close_all,
    .size = box_size,
    .at = at,
};
#define BOX_OPEN open_all
#define BOX_COMPUTE compute
#define BOX_METHODS
#define BOX_PROBE probe
#include "box_plugin.h"
