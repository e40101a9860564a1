/* Every epoch in a random order: a keyed permutation of the positions. */
#include "core/error.h"
#include "core/random.h"
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

typedef struct random_shuffle {
    pfd_dataset base;
    int64_t seed;
    char *order_key;
    int32_t reshuffle;
} random_shuffle;

static void random_shuffle_close(pfd_dataset *ds)
{
    random_shuffle *self = (random_shuffle *)ds;
    pfd_dataset_close(ds->inner);
    free(self->order_key);
    free(self);
}

static int64_t random_shuffle_size(const pfd_dataset *ds)
{
    return ds->inner->methods->size(ds->inner);
}

static void permute(const void *permutation, const int64_t *positions, int64_t count,
                    int64_t *permuted)
{
    pfd_permute(permutation, positions, count, permuted);
}

static pfd_status random_shuffle_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                    int64_t n, pfd_scratch *scratch, pfd_record *out,
                                    pfd_error *err)
{
    const random_shuffle *self = (const random_shuffle *)ds;
    const pfd_dataset *inner = ds->inner;
    pfd_permutation permutation;
    pfd_permutation_init(&permutation,
                         pfd_random_key(self->seed, self->reshuffle ? epoch : 0, self->order_key),
                         inner->methods->size(inner));
    return pfd_dataset_at_mapped(inner, epoch, positions, n, permute, &permutation, scratch, out,
                                 err);
}

static const pfd_dataset_methods random_shuffle_methods = {
    .name = "RandomShuffle",
    .close = random_shuffle_close,
    .size = random_shuffle_size,
    .at = random_shuffle_at,
};

pfd_status pfd_random_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, pfd_error *err)
{
    random_shuffle *self = calloc(1, sizeof *self);
    char *key = strdup(order_key);
    if (!self || !key) {
        free(self);
        free(key);
        return pfd_fail_memory(err, (int64_t)sizeof *self, "RandomShuffle");
    }
    *self = (random_shuffle){.base = {.methods = &random_shuffle_methods, .inner = *ds},
                             .seed = seed, .order_key = key, .reshuffle = reshuffle};
    *ds = &self->base;
    return PFD_OK;
}
