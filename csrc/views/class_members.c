/* Records sorted by their labels. */
#include "views/class_members.h"

#include "core/error.h"
#include "core/radix_sort.h"

#include <stdlib.h>
#include <string.h>

void pfd_class_members_free(pfd_class_members *members)
{
    free(members->begins);
    free(members->records);
    *members = (pfd_class_members){0};
}

static pfd_status sort_by_label(const int64_t *labels, int64_t n, uint32_t *records,
                                pfd_error *err)
{
    size_t count = (size_t)n + 1;
    uint64_t *keys = malloc(count * sizeof *keys);
    uint32_t *work = malloc(count * sizeof *work);
    pfd_status status = PFD_OK;
    if (keys && work) {
        for (int64_t i = 0; i < n; i++) keys[i] = pfd_int64_key(labels[i]);
        pfd_radix_sort(keys, n, records, work);
    } else {
        status = pfd_fail_memory(err, (n + 1) * 12, "sorting labels");
    }
    free(keys);
    free(work);
    return status;
}

/* The end of the run of one label that begins at i. */
static int64_t end_of_run(const int64_t *labels, const uint32_t *records, int64_t n, int64_t i)
{
    int64_t end = i + 1;
    while (end < n && labels[records[end]] == labels[records[i]]) end++;
    return end;
}

/* Keeps the classes that are large enough, at the front of records[]. */
static pfd_status find_classes(const int64_t *labels, int64_t n, int64_t least,
                               pfd_class_members *members, pfd_error *err)
{
    int64_t num_classes = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        end = end_of_run(labels, members->records, n, i);
        num_classes += end - i >= least;
    }
    size_t bytes = (size_t)(num_classes + 1) * sizeof *members->begins;
    members->begins = malloc(bytes);
    if (!members->begins) return pfd_fail_memory(err, (int64_t)bytes, "the classes of records");
    for (int64_t i = 0, end; i < n; i = end) {
        uint32_t *run = members->records + i;
        end = end_of_run(labels, members->records, n, i);
        if (end - i < least) continue;
        memmove(members->records + members->num_records, run, (size_t)(end - i) * sizeof *run);
        members->begins[members->num_classes++] = members->num_records;
        members->num_records += end - i;
    }
    members->begins[num_classes] = members->num_records;
    return PFD_OK;
}

pfd_status pfd_class_members_find(const int64_t *labels, int64_t n, int64_t least,
                                  pfd_class_members *out, pfd_error *err)
{
    size_t bytes = ((size_t)n + 1) * sizeof *out->records;
    *out = (pfd_class_members){.records = malloc(bytes)};
    if (!out->records) return pfd_fail_memory(err, (int64_t)bytes, "the records of classes");
    pfd_status status = sort_by_label(labels, n, out->records, err);
    if (status == PFD_OK) status = find_classes(labels, n, least, out, err);
    if (status != PFD_OK) pfd_class_members_free(out);
    return status;
}
