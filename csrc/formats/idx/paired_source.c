/* A source that joins the records of two others. */
#include "formats/idx/paired_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct joined {
    const pfd_host *host;
    pfd_source first, second; /* owned */
} joined;

enum { records_at_once = 64 };

static int64_t num_records(void *source)
{
    const joined *self = source;
    return self->first.methods->size(self->first.self);
}

/* Appends the bytes of each record of `more` to the record of `out`, in new memory. */
static pfd_status append(const pfd_host *host, const pfd_record *more, int64_t n,
                         pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += out[i].size + more[i].size;
    uint8_t *at = host->alloc(scratch, bytes);
    if (!at) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for joined records");
    for (int64_t i = 0; i < n; i++) {
        memcpy(at, out[i].data, (size_t)out[i].size);
        memcpy(at + out[i].size, more[i].data, (size_t)more[i].size);
        out[i].data = at;
        out[i].size += more[i].size;
        at += out[i].size;
    }
    return PFD_OK;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const joined *self = source;
    pfd_record more[records_at_once];
    for (int64_t done = 0; done < n; done += records_at_once) {
        int64_t some = n - done < records_at_once ? n - done : records_at_once;
        pfd_status status = self->first.methods->at(self->first.self, ordinals + done, some,
                                                    scratch, out + done, err);
        if (status == PFD_OK)
            status = self->second.methods->at(self->second.self, ordinals + done, some, scratch,
                                              more, err);
        if (status == PFD_OK) status = append(self->host, more, some, scratch, out + done, err);
        if (status == PFD_OK) continue;
        if (err->row >= 0) err->row += done;
        return status;
    }
    return PFD_OK;
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const joined *self = source;
    self->first.methods->places(self->first.self, ordinals, n, out);
}

static void close_joined(void *source)
{
    joined *self = source;
    self->first.methods->close(self->first.self);
    self->second.methods->close(self->second.self);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_joined,
    .size = num_records,
    .at = at,
    .places = places,
};

pfd_status pfd_paired_source_open(const pfd_host *host, const pfd_source *first,
                                  const pfd_source *second, pfd_source *out, pfd_error *err)
{
    int64_t one = first->methods->size(first->self), other = second->methods->size(second->self);
    if (one != other)
        return host->fail(err, PFD_INTERNAL,
                          "sources of %" PRId64 " and %" PRId64 " records cannot be joined", one,
                          other);
    joined *self = malloc(sizeof *self);
    if (!self) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for joined sources");
    *self = (joined){host, *first, *second};
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}
