/* Memory between forbidden pages. */
#include "check/guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most_regions = 16384, most_released = 256, large = 1 << 20 };
enum { most_pooled = 1024, most_pages = 64 };

static pfd_guarded table[most_regions];
static int32_t table_end; /* entries from here on were never used */
static int32_t free_entries[most_regions], num_free;
static int32_t released[most_released], num_released; /* the oldest region first */
/* Mapped regions to be used again, by their number of pages: the first + 1, others by `next`. */
static int32_t pools[most_pages + 1], num_pooled;
static _Atomic int64_t mapped_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Takes an entry: a region with so many pages if one is pooled, else an entry without pages. */
static int32_t take_entry(int64_t pages)
{
    pthread_mutex_lock(&lock);
    int32_t entry = -1;
    if (pages <= most_pages && pools[pages] > 0) {
        entry = pools[pages] - 1;
        pools[pages] = table[entry].next + 1;
        num_pooled--;
    } else if (num_free > 0) {
        entry = free_entries[--num_free];
    } else if (table_end < most_regions) {
        entry = table_end++;
    }
    pthread_mutex_unlock(&lock);
    return entry;
}

/* With the lock held. */
static void unmap(int32_t region)
{
    pfd_guarded *entry = &table[region];
    uint8_t *map = entry->map;
    int64_t bytes = entry->map_bytes;
    entry->kind = 0;
    entry->map = NULL;
    atomic_fetch_sub(&mapped_bytes, bytes);
    munmap(map, (size_t)bytes);
    free_entries[num_free++] = region;
}

/* With the lock held: puts a region into its pool, and unmaps one of many pages. */
static void recycle(int32_t region)
{
    int64_t pages = table[region].page_bytes / sysconf(_SC_PAGESIZE);
    if (num_pooled == most_pooled || pages > most_pages) {
        unmap(region);
        return;
    }
    table[region].kind = 0;
    table[region].next = pools[pages] - 1;
    pools[pages] = region + 1;
    num_pooled++;
}

static void give_back(int32_t region)
{
    pthread_mutex_lock(&lock);
    table[region].kind = 0;
    free_entries[num_free++] = region;
    pthread_mutex_unlock(&lock);
}

static int32_t map_pages(pfd_guarded *entry, int64_t pages, int64_t page)
{
    if (!entry->map) {
        entry->page_bytes = pages * page;
        entry->map_bytes = entry->page_bytes + 2 * page;
        void *map = mmap(NULL, (size_t)entry->map_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) return 0;
        entry->map = map;
        entry->pages = entry->map + page;
        atomic_fetch_add(&mapped_bytes, entry->map_bytes);
        /* Makes these pages differ from the forbidden pages around them: otherwise the kernel would
         * merge and split the three mappings each time, which would be most of the kit's time. */
        (void)madvise(entry->pages, (size_t)entry->page_bytes, MADV_DONTDUMP);
    }
    if (mprotect(entry->pages, (size_t)entry->page_bytes, PROT_READ | PROT_WRITE) == 0) return 1;
    atomic_fetch_sub(&mapped_bytes, entry->map_bytes);
    munmap(entry->map, (size_t)entry->map_bytes);
    entry->map = NULL;
    return 0;
}

int32_t pfd_guard_make(int32_t kind, int64_t index, int64_t bytes, int64_t alignment,
                       int32_t at_front, uint8_t fill)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    if (bytes > INT64_MAX / 4) return -1;
    const int64_t pages = bytes > page ? (bytes + page - 1) / page : 1;
    int32_t region = take_entry(pages);
    if (region < 0) return -1;
    pfd_guarded *entry = &table[region];
    entry->bytes = bytes;
    entry->index = index;
    entry->next = -1;
    entry->fill = fill;
    entry->released = 0;
    if (!map_pages(entry, pages, page)) {
        give_back(region);
        return -1;
    }
    entry->data = entry->pages;
    if (!at_front) entry->data += entry->page_bytes - round_up(bytes, alignment);
    memset(entry->pages, fill, (size_t)entry->page_bytes);
    entry->kind = kind;
    return region;
}

pfd_guarded *pfd_guard_at(int32_t region)
{
    return &table[region];
}

void pfd_guard_make_read_only(int32_t region)
{
    (void)mprotect(table[region].pages, (size_t)table[region].page_bytes, PROT_READ);
}

/* Whether all bytes have this value: the first has, and each equals the byte before. */
static int32_t is_filled(const uint8_t *data, int64_t size, uint8_t value)
{
    return size == 0 || (*data == value && memcmp(data, data + 1, (size_t)size - 1) == 0);
}

int64_t pfd_guard_changed(int32_t region)
{
    const pfd_guarded *entry = &table[region];
    int64_t before = entry->data - entry->pages;
    int64_t after = entry->page_bytes - before - entry->bytes;
    if (is_filled(entry->pages, before, entry->fill) &&
        is_filled(entry->data + entry->bytes, after, entry->fill))
        return 0;
    for (const uint8_t *at = entry->data; at-- > entry->pages;)
        if (*at != entry->fill) return at - entry->data;
    const uint8_t *end = entry->data + entry->bytes;
    for (const uint8_t *at = end; at < entry->pages + entry->page_bytes; at++)
        if (*at != entry->fill) return at - end + 1;
    return 0;
}

void pfd_guard_release(int32_t region)
{
    if (region < 0) return;
    pthread_mutex_lock(&lock);
    pfd_guarded *entry = &table[region];
    entry->released = 1;
    (void)mprotect(entry->pages, (size_t)entry->page_bytes, PROT_NONE);
    if (entry->page_bytes > large) /* small regions are reused soon */
        (void)madvise(entry->pages, (size_t)entry->page_bytes, MADV_DONTNEED);
    if (num_released == most_released) {
        recycle(released[0]);
        memmove(released, released + 1, sizeof released - sizeof *released);
        num_released--;
    }
    released[num_released++] = region;
    pthread_mutex_unlock(&lock);
}

int64_t pfd_guard_mapped(void)
{
    return atomic_load(&mapped_bytes);
}

const pfd_guarded *pfd_guard_find(const void *address)
{
    uintptr_t wanted = (uintptr_t)address;
    for (int32_t i = 0; i < table_end; i++) {
        const pfd_guarded *entry = &table[i];
        uintptr_t begin = (uintptr_t)entry->map;
        if (entry->kind && wanted >= begin && wanted - begin < (uintptr_t)entry->map_bytes)
            return entry;
    }
    return NULL;
}
