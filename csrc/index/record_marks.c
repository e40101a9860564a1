/* Lists marks of records as strides, numbers them, and writes them into groups. */
#include "index/record_marks.h"

#include "core/error.h"
#include "core/multi_thread_loop.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { huge_page = 2 * 1024 * 1024 };

void pfd_mark_list_free(pfd_mark_list *list)
{
    free(list->strides);
    free(list->large);
    free(list->flags);
    *list = (pfd_mark_list){0};
}

void pfd_mark_list_reserve(pfd_mark_list *list, int64_t strides)
{
    size_t bytes = (size_t)strides << list->width;
    bytes = (bytes + huge_page - 1) / huge_page * huge_page;
    void *memory = aligned_alloc(huge_page, bytes);
    if (!memory) return;
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    free(list->strides);
    list->strides = memory;
    list->capacity = (int64_t)(bytes >> list->width);
}

/* ---- Listing --------------------------------------------------------------------------------- */

/* Makes room for n more items.  Returns 0 if out of memory. */
static int grow(void **memory, int64_t *capacity, int64_t used, int64_t n, size_t item)
{
    if (used + n <= *capacity) return 1;
    int64_t more = *capacity + *capacity / 2 > used + n ? *capacity + *capacity / 2 : used + n + 64;
    void *grown = realloc(*memory, (size_t)more * item);
    if (!grown) return 0;
    *memory = grown;
    *capacity = more;
    return 1;
}

static int64_t largest_of(int width)
{
    return (INT64_C(1) << (8 << width)) - 1;
}

static inline void put_number(uint8_t *numbers, int width, int64_t i, int64_t value)
{
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    if (width == 0)
        numbers[i] = (uint8_t)value;
    else if (width == 1)
        memcpy(numbers + 2 * i, &two, sizeof two);
    else
        memcpy(numbers + 4 * i, &four, sizeof four);
}

static pfd_status add_stride(pfd_mark_list *list, int64_t stride, pfd_error *err)
{
    int64_t most = largest_of(list->width);
    put_number(list->strides, list->width, list->used++, stride < most ? stride : most);
    if (stride < most) return PFD_OK;
    void *memory = list->large;
    int ok = grow(&memory, &list->large_capacity, list->num_large, 1, sizeof *list->large);
    list->large = memory;
    if (!ok) return pfd_fail_memory(err, list->num_large * 8, "long records of the index");
    list->large[list->num_large++] = stride;
    return PFD_OK;
}

static pfd_status make_room(pfd_mark_list *list, int64_t n, pfd_error *err)
{
    void *memory = list->strides;
    int ok = grow(&memory, &list->capacity, list->used, n, (size_t)1 << list->width);
    list->strides = memory;
    return ok ? PFD_OK : pfd_fail_memory(err, (list->used + n) << list->width, "the index");
}

void pfd_mark_piece_begin(pfd_mark_piece *piece, const pfd_mark_list *list, int32_t number,
                          int64_t file)
{
    *piece = (pfd_mark_piece){.file = file,
                              .list = number,
                              .stride = list->used,
                              .large = list->num_large,
                              .flags = list->num_flags};
}

pfd_status pfd_mark_piece_add_one(pfd_mark_piece *piece, pfd_mark_list *list, int64_t place,
                                  pfd_error *err)
{
    PFD_TRY(make_room(list, 1, err));
    if (piece->num_marks++ == 0)
        piece->first_mark = place;
    else
        PFD_TRY(add_stride(list, place - piece->last_mark, err));
    piece->last_mark = place;
    piece->num_large = list->num_large - piece->large;
    return PFD_OK;
}

/* Sixteen strides of one byte between 17 places: those that do not fit become 255. */
static inline void pack_16(const uint32_t *restrict places, uint8_t *restrict out)
{
#if defined(__SSE2__)
    __m128i four[4];
    for (int j = 0; j < 4; j++)
        four[j] = _mm_sub_epi32(_mm_loadu_si128((const void *)(places + 4 * j + 1)),
                                _mm_loadu_si128((const void *)(places + 4 * j)));
    __m128i low = _mm_packs_epi32(four[0], four[1]), high = _mm_packs_epi32(four[2], four[3]);
    _mm_storeu_si128((void *)out, _mm_packus_epi16(low, high));
#else
    for (int j = 0; j < 16; j++) { /* compilers vectorise this loop */
        uint32_t stride = places[j + 1] - places[j];
        out[j] = (uint8_t)(stride < 255 ? stride : 255);
    }
#endif
}

/* The same of n strides.  Returns whether there may be one that does not fit. */
static inline int pack_strides(const uint32_t *places, int64_t n, uint8_t *out)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) pack_16(places + i, out + i);
    for (; i < n; i++) {
        uint32_t stride = places[i + 1] - places[i];
        out[i] = (uint8_t)(stride < 255 ? stride : 255);
    }
    return memchr(out, 255, (size_t)n) != NULL;
}

pfd_status pfd_mark_piece_add(pfd_mark_piece *piece, pfd_mark_list *list, int64_t base,
                              const uint32_t *places, int64_t n, pfd_error *err)
{
    if (n == 0) return PFD_OK;
    PFD_TRY(pfd_mark_piece_add_one(piece, list, base + places[0], err));
    PFD_TRY(make_room(list, n, err));
    if (list->width == 0 && !pack_strides(places, n - 1, list->strides + list->used))
        list->used += n - 1;
    else
        for (int64_t i = 1; i < n; i++)
            PFD_TRY(add_stride(list, (int64_t)places[i] - places[i - 1], err));
    piece->num_marks += n - 1;
    piece->last_mark = base + places[n - 1];
    piece->num_large = list->num_large - piece->large;
    return PFD_OK;
}

pfd_status pfd_mark_piece_flag(pfd_mark_piece *piece, pfd_mark_list *list, int64_t begin,
                               uint64_t flags, pfd_error *err)
{
    pfd_mark_flags *last = piece->num_flags > 0 ? &list->flags[list->num_flags - 1] : NULL;
    if (last && last->flags == flags && last->end == begin) {
        last->end = piece->num_marks;
        return PFD_OK;
    }
    void *memory = list->flags;
    int ok = grow(&memory, &list->flags_capacity, list->num_flags, 1, sizeof *list->flags);
    list->flags = memory;
    if (!ok) return pfd_fail_memory(err, list->num_flags, "flags of the index");
    list->flags[list->num_flags++] = (pfd_mark_flags){begin, piece->num_marks, flags};
    piece->num_flags++;
    return PFD_OK;
}

/* Strides of a piece, read in order. */
typedef struct stride_cursor {
    const pfd_mark_list *list;
    int64_t at, large;
} stride_cursor;

static stride_cursor strides_of(const pfd_mark_piece *piece, const pfd_mark_list *lists)
{
    return (stride_cursor){&lists[piece->list], piece->stride, piece->large};
}

static inline int64_t next_stride(stride_cursor *cursor)
{
    int64_t stride = pfd_get_stride(cursor->list->strides, cursor->list->width, cursor->at++);
    if (stride < largest_of(cursor->list->width)) return stride;
    return cursor->list->large[cursor->large++];
}

void pfd_mark_piece_drop_first(pfd_mark_piece *piece, const pfd_mark_list *lists)
{
    stride_cursor cursor = strides_of(piece, lists);
    if (--piece->num_marks > 0) piece->first_mark += next_stride(&cursor);
    piece->num_large -= cursor.large - piece->large;
    piece->large = cursor.large;
    piece->stride = cursor.at;
    for (int64_t i = 0; i < piece->num_flags; i++) {
        pfd_mark_flags *range = &lists[piece->list].flags[piece->flags + i];
        if (range->begin > 0) range->begin--;
        if (range->end > 0) range->end--;
    }
}

/* ---- Numbering ------------------------------------------------------------------------------- */

/* The place of mark number `wanted`, which must be one of the last marks of the piece. */
static int64_t place_of(const pfd_record_marks *marks, const pfd_mark_piece *piece, int64_t wanted)
{
    const pfd_mark_list *list = &marks->lists[piece->list];
    int64_t place = piece->last_mark, large = piece->large + piece->num_large;
    int64_t stride = piece->stride + piece->num_marks - 1;
    for (int64_t number = piece->number + piece->num_marks - 1; number > wanted; number--) {
        int64_t last = pfd_get_stride(list->strides, list->width, --stride);
        place -= last < largest_of(list->width) ? last : list->large[--large];
    }
    return place;
}

void pfd_record_marks_place(pfd_record_marks *marks, pfd_index_file *files, int64_t num_files)
{
    const int64_t step = INT64_C(1) << marks->shift;
    int64_t number = marks->first_number, open_byte = 0, file = 0;
    for (int64_t i = 0; i < marks->num_pieces; i++) {
        pfd_mark_piece *piece = &marks->pieces[i];
        for (; file <= piece->file; file++) files[file].first_record = number - marks->first_number;
        piece->number = number;
        piece->open_byte = open_byte;
        number += piece->num_marks;
        int64_t begins = (number - 1) / step * step;
        if (piece->num_marks > 0 && begins >= piece->number)
            open_byte = files[piece->file].first_place + place_of(marks, piece, begins);
    }
    for (; file <= num_files; file++) files[file].first_record = number - marks->first_number;
}

/* ---- Writing --------------------------------------------------------------------------------- */
typedef struct marks_writer {
    const pfd_record_marks *marks;
    const pfd_index_file *files;
    pfd_index_group *groups;
    int64_t num_groups, num_records;
    int64_t per_group; /* strides */
} marks_writer;

/* Atomic, because two threads may write the head of a group that two pieces share. */
static void add_to_head(const marks_writer *self, int64_t group, uint64_t bits)
{
    if (group < self->num_groups)
        __atomic_fetch_or(&self->groups[group].head, bits, __ATOMIC_RELAXED);
}

static void set_head(const marks_writer *self, int64_t group, int64_t file, int64_t byte)
{
    uint64_t number = (uint64_t)(file < PFD_GROUP_MOST_FILE ? file : PFD_GROUP_MOST_FILE);
    add_to_head(self, group, (uint64_t)byte << 18 | number << 2);
}

static void put_stride(const marks_writer *self, int64_t i, int64_t stride)
{
    int64_t group = i / self->per_group;
    int width = self->marks->width;
    if (group >= self->num_groups) return;
    put_number(self->groups[group].strides, width, i % self->per_group, stride);
    if (stride > largest_of(width)) add_to_head(self, group, PFD_GROUP_IS_IRREGULAR);
}

/* Writes the piece's first `end` marks, one by one; returns the place of the last. */
static int64_t fill_marks(const marks_writer *self, const pfd_mark_piece *piece, int64_t end)
{
    const int shift = self->marks->shift;
    stride_cursor cursor = strides_of(piece, self->marks->lists);
    int64_t base = self->files[piece->file].first_place, open = piece->open_byte;
    int64_t byte = base + piece->first_mark;
    for (int64_t i = 0; i < end; i++) {
        int64_t number = piece->number + i, stride = number >> shift;
        if (i > 0) byte += next_stride(&cursor);
        if (stride << shift != number) continue;
        if (number > 0) put_stride(self, stride - 1, byte - open);
        open = byte;
        if (stride % self->per_group == 0)
            set_head(self, stride / self->per_group, piece->file, byte);
    }
    return byte;
}

/* The sum of n bytes, n <= 64: four sums of 16 bits each, in one word. */
static inline int64_t add_up(const uint8_t *bytes, int64_t n)
{
    const uint64_t even = UINT64_C(0x00ff00ff00ff00ff), ones = UINT64_C(0x0001000100010001);
    uint64_t sums = 0, word;
    int64_t i = 0, sum = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&word, bytes + i, sizeof word);
        sums += (word & even) + (word >> 8 & even);
    }
    for (; i < n; i++) sum += bytes[i];
    return sum + (int64_t)(sums * ones >> 48);
}

/* The same if the index has the strides of the list: bytes, one for each record. */
static void fill_bytes(const marks_writer *self, const pfd_mark_piece *piece)
{
    const uint8_t *strides = self->marks->lists[piece->list].strides + piece->stride;
    int64_t byte = fill_marks(self, piece, 1), last = piece->num_marks - 1;
    for (int64_t i = 0; i < last;) {
        int64_t stride = piece->number + i, group = stride / self->per_group;
        int64_t used = stride % self->per_group, n = self->per_group - used;
        if (n > last - i) n = last - i;
        if (group < self->num_groups)
            memcpy(self->groups[group].strides + used, strides + i, (size_t)n);
        byte += add_up(strides + i, n);
        i += n;
        if (used + n == self->per_group) set_head(self, group + 1, piece->file, byte);
    }
}

/* The same if a stride of the index is the sum of several. */
static void fill_sums(const marks_writer *self, const pfd_mark_piece *piece)
{
    const uint8_t *listed = self->marks->lists[piece->list].strides + piece->stride;
    const int64_t step = INT64_C(1) << self->marks->shift, last = piece->num_marks - 1;
    int64_t first = -piece->number & (step - 1); /* the first mark that begins a stride */
    if (first > last) return;
    int64_t byte = fill_marks(self, piece, first + 1);
    int64_t stride = (piece->number + first) >> self->marks->shift;
    int64_t group = stride / self->per_group, used = stride % self->per_group;
    for (int64_t i = first; i + step <= last; i += step) {
        int64_t sum = 0;
        for (int64_t j = 0; j < step; j++) sum += listed[i + j];
        if (group < self->num_groups) self->groups[group].strides[used] = (uint8_t)sum;
        if (sum > UINT8_MAX) add_to_head(self, group, PFD_GROUP_IS_IRREGULAR);
        byte += sum;
        if (++used < self->per_group) continue;
        used = 0;
        set_head(self, ++group, piece->file, byte);
    }
}

static void fill_flags(const marks_writer *self, const pfd_mark_piece *piece)
{
    const pfd_mark_flags *ranges = self->marks->lists[piece->list].flags + piece->flags;
    const int shift = self->marks->shift;
    int64_t open = piece->number > 0 ? piece->number - 1 : 0;
    add_to_head(self, (open >> shift) / self->per_group, piece->open_flags);
    for (int64_t i = 0; i < piece->num_flags; i++) {
        int64_t first = piece->number + ranges[i].begin - 1,
                last = piece->number + ranges[i].end - 1;
        if (first < 0) first = 0;
        int64_t end = (last >> shift) / self->per_group;
        for (int64_t group = (first >> shift) / self->per_group; group <= end; group++)
            add_to_head(self, group, ranges[i].flags);
    }
}

static pfd_status fill_pieces(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)worker, (void)err;
    const marks_writer *self = ctx;
    for (int64_t i = begin; i < end; i++) {
        const pfd_mark_piece *piece = &self->marks->pieces[i];
        int in_bytes = self->marks->width == 0 && piece->num_large == 0 &&
                       self->marks->lists[piece->list].width == 0 && piece->num_marks > 0;
        if (in_bytes && self->marks->shift == 0)
            fill_bytes(self, piece);
        else if (in_bytes)
            fill_sums(self, piece);
        else if (piece->num_marks > 0)
            (void)fill_marks(self, piece, piece->num_marks);
        fill_flags(self, piece);
    }
    return PFD_OK;
}

int64_t pfd_record_marks_groups(const pfd_record_marks *marks, int64_t num_records)
{
    int64_t strides = num_records > 0 ? ((num_records - 1) >> marks->shift) + 1 : 0;
    int64_t per_group = PFD_GROUP_STRIDE_BYTES >> marks->width;
    return (strides + per_group - 1) / per_group;
}

pfd_status pfd_record_marks_fill(const pfd_record_marks *marks, int64_t num_records,
                                 int32_t num_threads, pfd_index_image *image, pfd_error *err)
{
    marks_writer self = {.marks = marks,
                    .files = image->files,
                    .groups = image->entries,
                    .num_groups = image->header->num_entries,
                    .num_records = num_records,
                    .per_group = PFD_GROUP_STRIDE_BYTES >> marks->width};
    image->header->num_records = num_records;
    image->header->shift = marks->shift;
    image->header->width = marks->width;
    return pfd_parallel_for(num_threads, marks->num_pieces, 4, fill_pieces, &self, err);
}
