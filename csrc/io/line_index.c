/* The index of lines: the bytes from each record to the next, in groups of one cache line.
 *
 * A group is the place of its first record and the strides from there on: 56 of one byte, 28 of two
 * or 14 of four, as lines are long.  Where lines are short, a stride is that of 2, 4 or 8 records.
 * So a record is found by one access to the index.  A group is loose when blank lines lie in it or
 * a stride is too large for its bytes; its records are found by walking from its first one.
 *
 * Measured on 5 M rows of 24 bytes in random order (1.14 bytes of index a row), one thread: 37 ns a
 * row; with offsets of every 4th record (1 byte a row) 107 ns, of every 64th 440 ns. */
#include "io/line_index.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { stride_bytes = 56, huge_page = 2 * 1024 * 1024 };

struct pfd_line_group {
    uint64_t head; /* first byte in all of the text * 2^18 + file * 4 + flags */
    uint8_t strides[stride_bytes];
};

enum { is_loose = 1, has_returns = 2 }; /* flags: the latter where a CR lies in the group */

/* Where a file number is too large for a head. */
enum { most_file = UINT16_MAX };

enum {
    bytes_per_stride = 16, /* or more: the index is 0.6 bits per byte of text, or less */
    sample_bytes = 1024 * 1024,
    bytes_per_scan = 16 * 1024,
    most_groups = bytes_per_scan / 2 / (stride_bytes / 4) + 2 /* of a scan */
};

/* ---- Building -------------------------------------------------------------------------------- */

/* Strides of a width hold four times the mean line. */
static void choose_strides(pfd_line_index *index, const pfd_text_file *files,
                           const pfd_newline_scan *scan)
{
    int64_t bytes = 0, lines = 1;
    for (int64_t i = 0; i < index->num_files && bytes == 0; i++) {
        bytes = files[i].size < sample_bytes ? files[i].size : sample_bytes;
        lines += scan->count(files[i].data, bytes);
    }
    while ((bytes << index->shift) / lines < bytes_per_stride && index->shift < 3) index->shift++;
    int64_t stride = (bytes << index->shift) / lines;
    index->width = stride < 64 ? 0 : stride < 64 * 256 ? 1 : 2;
}

static pfd_status reserve(pfd_line_index *index, int64_t groups, pfd_error *err)
{
    if (groups <= index->capacity) return PFD_OK;
    int64_t capacity = index->capacity > 0 ? index->capacity : 64;
    while (capacity < groups) capacity *= 2;
    size_t before = (size_t)index->capacity * sizeof *index->groups;
    size_t bytes = (size_t)capacity * sizeof *index->groups;
    void *memory = index->groups ? mremap(index->groups, before, bytes, MREMAP_MAYMOVE)
                                 : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return pfd_fail_memory(err, (int64_t)bytes, "the index of lines");
    if (bytes >= 2 * huge_page) (void)madvise(memory, bytes, MADV_HUGEPAGE); /* as the kernel may */
    index->groups = memory;
    index->capacity = capacity;
    return PFD_OK;
}

/* What is being added to. */
typedef struct builder {
    pfd_line_index *index;
    const pfd_newline_scan *scan;
    int64_t file, records, last_byte; /* the last byte: where the open stride begins */
    int64_t used;                     /* strides of the last group */
} builder;

static void open_group(builder *self)
{
    uint64_t file = (uint64_t)(self->file < most_file ? self->file : most_file);
    self->index->groups[self->index->num_groups++].head =
        (uint64_t)self->last_byte << 18 | file << 2;
    self->used = 0;
}

static inline void put_stride(pfd_line_group *group, int width, int64_t i, int64_t stride)
{
    uint16_t two = (uint16_t)stride;
    uint32_t four = (uint32_t)stride;
    if (width == 0)
        group->strides[i] = (uint8_t)stride;
    else if (width == 1)
        memcpy(group->strides + 2 * i, &two, sizeof two);
    else
        memcpy(group->strides + 4 * i, &four, sizeof four);
}

/* Each mark, behind `byte`, ends a stride. */
static void add_marks(builder *self, int64_t byte, const uint32_t *marks, int64_t n)
{
    pfd_line_index *index = self->index;
    int64_t per_group = stride_bytes >> index->width;
    for (int64_t i = 0; i < n;) {
        int64_t some = per_group - self->used < n - i ? per_group - self->used : n - i;
        int64_t before = self->last_byte - byte, largest = 0;
        pfd_line_group *group = &index->groups[index->num_groups - 1];
        for (int64_t j = 0; j < some; j++) {
            int64_t stride = marks[i + j] - before;
            before = marks[i + j];
            largest |= stride;
            put_stride(group, index->width, self->used + j, stride);
        }
        if (largest >> (8 << index->width)) group->head |= is_loose;
        self->last_byte = byte + before;
        self->used += some;
        i += some;
        if (self->used == per_group) open_group(self);
    }
}

/* Flags the groups from the given one on. */
static void flag(pfd_line_index *index, int64_t first_group, uint64_t flags)
{
    for (int64_t i = first_group; i < index->num_groups; i++) index->groups[i].head |= flags;
}

/* Counts and marks the records of a file. */
static pfd_status add_file(builder *self, const pfd_text_file *file, pfd_error *err)
{
    uint32_t marks[bytes_per_scan / 2 + PFD_SPLIT_SLACK];
    pfd_line_index *index = self->index;
    const int64_t step = INT64_C(1) << index->shift;
    int64_t first_byte = index->files[self->file].first_byte;
    pfd_line_marker marker = {.left = step - self->records % step};
    for (int64_t at = 0; at < file->size; at += bytes_per_scan) {
        int64_t size = file->size - at < bytes_per_scan ? file->size - at : bytes_per_scan;
        int64_t first_group = index->num_groups - 1, left = marker.left;
        marker.blank_lines = marker.returns = 0;
        PFD_TRY(reserve(index, index->num_groups + most_groups, err));
        int64_t n = self->scan->mark(file->data + at, size, step, &marker, marks);
        self->records += n * step + left - marker.left;
        add_marks(self, first_byte + at, marks, n);
        if (marker.blank_lines > 0) flag(index, first_group, is_loose);
        if (marker.returns > 0) flag(index, first_group, has_returns);
    }
    if (file->size == 0 || file->data[file->size - 1] == '\n') return PFD_OK;
    const uint32_t mark = 1;
    self->records += (int64_t)marker.content;
    if (!marker.content)
        flag(index, index->num_groups - 1, is_loose);
    else if (marker.left == 1)
        add_marks(self, first_byte + file->size, &mark, 1);
    return PFD_OK;
}

pfd_status pfd_line_index_build(pfd_line_index *index, const pfd_text_file *files,
                                int64_t num_files, const pfd_newline_scan *scan, pfd_error *err)
{
    *index = (pfd_line_index){.texts = files, .num_files = num_files};
    size_t places = (size_t)num_files + 1;
    index->files = calloc(places, sizeof *index->files);
    if (!index->files)
        return pfd_fail_memory(err, (int64_t)(places * sizeof *index->files), "the table of files");
    choose_strides(index, files, scan);
    builder self = {.index = index, .scan = scan};
    PFD_TRY(reserve(index, 1, err));
    open_group(&self);
    int64_t bytes = 0;
    for (; self.file <= num_files; self.file++) {
        index->files[self.file] = (pfd_line_file){self.records, bytes};
        if (self.file == num_files) break;
        const pfd_text_file *file = &files[self.file];
        PFD_TRY(add_file(&self, file, err));
        bytes += file->size + (file->size > 0 && file->data[file->size - 1] != '\n');
    }
    index->num_records = self.records;
    return PFD_OK;
}

void pfd_line_index_free(pfd_line_index *index)
{
    free(index->files);
    if (index->groups) munmap(index->groups, (size_t)index->capacity * sizeof *index->groups);
    *index = (pfd_line_index){0};
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* The sum of n bytes, n <= stride_bytes. */
#if defined(__SSE2__)
static inline int64_t sum_bytes(const uint8_t *bytes, int64_t n)
{
    static const uint8_t masks[2 * stride_bytes] = {
#define EIGHT 255, 255, 255, 255, 255, 255, 255, 255
        EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT};
    const uint8_t *mask = masks + stride_bytes - n;
    const __m128i zero = _mm_setzero_si128();
    __m128i sum = _mm_sad_epu8(_mm_and_si128(_mm_loadl_epi64((const void *)(bytes + 48)),
                                             _mm_loadl_epi64((const void *)(mask + 48))),
                               zero);
    for (int i = 0; i < 48; i += 16) {
        __m128i some = _mm_and_si128(_mm_loadu_si128((const void *)(bytes + i)),
                                     _mm_loadu_si128((const void *)(mask + i)));
        sum = _mm_add_epi64(sum, _mm_sad_epu8(some, zero));
    }
    return _mm_cvtsi128_si64(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum)));
}
#else
static inline int64_t sum_bytes(const uint8_t *bytes, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < stride_bytes; i++) sum += i < n ? bytes[i] : 0;
    return sum;
}
#endif

static inline int64_t get_stride(const pfd_line_group *group, int width, int64_t i)
{
    uint16_t two;
    uint32_t four;
    if (width == 0) return group->strides[i];
    if (width == 1) return memcpy(&two, group->strides + 2 * i, sizeof two), two;
    return memcpy(&four, group->strides + 4 * i, sizeof four), four;
}

static inline int64_t sum_strides(const pfd_line_group *group, int width, int64_t n)
{
    int64_t sum = 0;
    if (width == 0) return sum_bytes(group->strides, n);
    for (int64_t i = 0; i < n; i++) sum += get_stride(group, width, i);
    return sum;
}

/* The last file from `low` on that begins at or before the record: empty files begin where the
 * next one does. */
static int64_t file_from(const pfd_line_index *index, int64_t position, int64_t low)
{
    if (position < index->files[low + 1].first_record) return low;
    int64_t high = index->num_files;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (index->files[middle].first_record <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t pfd_line_index_file_of(const pfd_line_index *index, int64_t position)
{
    return file_from(index, position, 0);
}

/* Which group, and which of its strides. */
static inline int64_t group_of(const pfd_line_index *index, int64_t position, int64_t *stride)
{
    uint64_t at = (uint64_t)(position >> index->shift) << index->width;
    *stride = (int64_t)(at % stride_bytes) >> index->width;
    return (int64_t)(at / stride_bytes);
}

static inline int64_t file_of(const pfd_line_index *index, const pfd_line_group *group,
                              int64_t position)
{
    return file_from(index, position, (int64_t)(group->head >> 2 & most_file));
}

pfd_line_start pfd_line_index_find(const pfd_line_index *index, int64_t position)
{
    int64_t stride, i = group_of(index, position, &stride);
    const pfd_line_group *group = &index->groups[i];
    int64_t file = file_of(index, group, position);
    int64_t first_record = (position >> index->shift) << index->shift;
    int64_t byte = (int64_t)(group->head >> 18) - index->files[file].first_byte;
    if (group->head & is_loose)
        first_record -= stride << index->shift;
    else
        byte += sum_strides(group, index->width, stride);
    if (first_record < index->files[file].first_record || byte < 0) {
        first_record = index->files[file].first_record;
        byte = 0;
    }
    return (pfd_line_start){file, byte, position - first_record};
}

/* The text that a walk to a record begins with. */
static pfd_record make_unknown(const pfd_line_index *index, int64_t position)
{
    pfd_line_start from = pfd_line_index_find(index, position);
    return (pfd_record){.data = index->texts[from.file].data + from.offset, .size = -1};
}

/* Short loops, so that many of their accesses to memory are under way at once: one loop for all,
 * with the work between the accesses, was slower. */
int64_t pfd_line_index_look_up(const pfd_line_index *index, const int64_t *positions, int64_t n,
                               pfd_record *out)
{
    int64_t stride, num_unknown = 0;
    for (int64_t i = 0; i < n; i++)
        __builtin_prefetch(&index->groups[group_of(index, positions[i], &stride)], 0, 2);
    for (int64_t i = 0; i < n; i++) {
        const pfd_line_group *group = &index->groups[group_of(index, positions[i], &stride)];
        if (index->shift > 0 || group->head & (is_loose | has_returns)) {
            out[i] = make_unknown(index, positions[i]);
            num_unknown++;
            continue;
        }
        int64_t file = file_of(index, group, positions[i]);
        int64_t offset = (int64_t)(group->head >> 18) - index->files[file].first_byte +
                         sum_strides(group, index->width, stride);
        out[i] = (pfd_record){.data = index->texts[file].data + offset,
                              .size = get_stride(group, index->width, stride) - 1,
                              .offset = offset,
                              .ordinal = positions[i],
                              .file = (int32_t)file};
    }
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(out[i].data, 0, 2);
        __builtin_prefetch(out[i].data + (out[i].size < 0 ? 64 : out[i].size), 0, 2);
    }
    return num_unknown;
}
