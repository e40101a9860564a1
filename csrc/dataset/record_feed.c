/* A dataset's records one by one, fetched in pieces. */
#include "dataset/decorator.h"

#include "core/error.h"

pfd_status pfd_record_feed_open(pfd_record_feed *feed, pfd_dataset *inner, pfd_error *err)
{
    feed->inner = inner;
    feed->scratch = pfd_scratch_create();
    if (!feed->scratch) return pfd_fail_memory(err, PFD_RECORDS_PER_FEED, "records read ahead");
    return PFD_OK;
}

void pfd_record_feed_close(pfd_record_feed *feed)
{
    pfd_scratch_free(feed->scratch);
    feed->scratch = NULL;
}

pfd_status pfd_record_feed_seek(pfd_record_feed *feed, int64_t epoch, pfd_error *err)
{
    feed->next = feed->count = 0;
    feed->ended = 0;
    return pfd_dataset_seek(feed->inner, epoch, 0, err);
}

pfd_status pfd_record_feed_peek(pfd_record_feed *feed, const pfd_record **record, pfd_error *err)
{
    if (feed->next == feed->count) {
        if (feed->ended) return PFD_END;
        feed->next = feed->count = 0;
        pfd_scratch_reset(feed->scratch);
        int64_t n = 0;
        pfd_status status = pfd_dataset_next(feed->inner, PFD_RECORDS_PER_FEED, feed->scratch,
                                             feed->records, &n, err);
        if (status == PFD_END) feed->ended = 1;
        if (status < 0) err->row = -1;
        if (status != PFD_OK) return status;
        if (n < 1 || n > PFD_RECORDS_PER_FEED) {
            return pfd_dataset_fail_count(n, PFD_RECORDS_PER_FEED, err);
        }
        feed->count = n;
    }
    *record = &feed->records[feed->next];
    return PFD_OK;
}

void pfd_record_feed_take(pfd_record_feed *feed)
{
    feed->next++;
}

int32_t pfd_record_feed_is_ready(const pfd_record_feed *feed)
{
    return feed->ended || feed->next < feed->count;
}
