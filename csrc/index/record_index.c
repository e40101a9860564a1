/* The dense index: the bytes from each record to the next, in groups of one cache line.
 *
 * A group has 56 strides of one byte, 28 of two or 14 of four, depending on the length of
 * records.  If these are short, a stride covers 2, 4 or 8 records.  A group is irregular if it
 * has blank lines or a stride that is too large for its bytes.
 *
 * Measured on 5 M rows of 24 bytes in random order (1.14 bytes of index a row), one thread: 37
 * ns a row; with offsets of every 4th record (1 byte a row) 107 ns, of every 64th 440 ns. */
#include "index/record_index.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "core/search.h"
#include "files/file_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* The largest number of a file in a head; larger numbers are searched for. */
enum { GROUP_MOST_FILE = UINT16_MAX };

/* Number i of strides that are stored in 2^width bytes each. */
static inline int64_t get_stride(const uint8_t *strides, int width, int64_t i)
{
    uint16_t two;
    uint32_t four;
    if (width == 0) return strides[i];
    if (width == 1) return memcpy(&two, strides + 2 * i, sizeof two), two;
    return memcpy(&four, strides + 4 * i, sizeof four), four;
}

int32_t pfd_record_index_init(pfd_record_index *index, const pfd_index_image *image,
                              const uint8_t *const *texts)
{
    const pfd_index_header *header = image->header;
    if (header->shift < 0 || header->shift > 3 || header->width < 0 || header->width > 2) return 0;
    int64_t per_group = (PFD_GROUP_STRIDE_BYTES >> header->width) << header->shift;
    int64_t groups = header->num_records / per_group + (header->num_records % per_group != 0);
    if (groups != header->num_entries) return 0;
    *index = (pfd_record_index){.texts = texts,
                                .num_files = header->num_files,
                                .num_records = header->num_records,
                                .num_groups = header->num_entries,
                                .shift = header->shift,
                                .width = header->width,
                                .files = image->files,
                                .groups = image->entries};
    return 1;
}

/* ---- Sums of strides ------------------------------------------------------------------------ */

/* The sum of n bytes, n <= PFD_GROUP_STRIDE_BYTES. */
static inline int64_t sum_bytes(const uint8_t *bytes, int64_t n)
{
    static const uint8_t masks[2 * PFD_GROUP_STRIDE_BYTES] = {
#define EIGHT 255, 255, 255, 255, 255, 255, 255, 255
        EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT};
    const uint8_t *mask = masks + PFD_GROUP_STRIDE_BYTES - n;
#if defined(__SSE2__)
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
#else
    uint16_t sum = 0; /* in which compilers add up vectors */
    for (int i = 0; i < PFD_GROUP_STRIDE_BYTES; i++) sum = (uint16_t)(sum + (bytes[i] & mask[i]));
    return sum;
#endif
}

/* The sum of a group's first n strides, of 2^width bytes each. */
typedef int64_t (*sum_fn)(const pfd_index_group *group, int width, int64_t n);

/* Sums all strides of one or two bytes with a mask, because a branch would be mispredicted. */
static int64_t sum_plain(const pfd_index_group *group, int width, int64_t n)
{
    enum { most_pairs = PFD_GROUP_STRIDE_BYTES / 2 };
    int32_t pairs = 0;
    int64_t fours = 0;
    if (width == 0) return sum_bytes(group->strides, n);
    for (int64_t i = 0; width == 1 && i < most_pairs; i++)
        pairs += i < n ? (int32_t)get_stride(group->strides, 1, i) : 0;
    for (int64_t i = 0; width == 2 && i < n; i++) fours += get_stride(group->strides, 2, i);
    return width == 1 ? pairs : fours;
}

#if defined(__x86_64__)
/* Loads only the cache line of the group: a load that continues in the next line waits for that
 * line, even if the mask excludes it. */
PFD_TARGET_AVX512 PFD_INLINE int64_t sum_avx512(const pfd_index_group *group, int width, int64_t n)
{
    uint64_t wanted = _bzhi_u64(UINT64_MAX, (unsigned)(n << width)) << sizeof group->head;
    __m512i strides = _mm512_maskz_loadu_epi8(_cvtu64_mask64(wanted), group), sums;
    const __m512i zero = _mm512_setzero_si512();
    if (width == 0) {
        sums = _mm512_sad_epu8(strides, zero);
    } else if (width == 1) {
        __m512i low = _mm512_and_si512(strides, _mm512_set1_epi16(255));
        __m512i high = _mm512_sad_epu8(_mm512_srli_epi16(strides, 8), zero);
        sums = _mm512_add_epi64(_mm512_sad_epu8(low, zero), _mm512_slli_epi64(high, 8));
    } else {
        __m512i low = _mm512_and_si512(strides, _mm512_set1_epi64(UINT32_MAX));
        sums = _mm512_add_epi64(low, _mm512_srli_epi64(strides, 32));
    }
    return _mm512_reduce_add_epi64(sums);
}
#endif

/* The last file from `low` on that begins at or before the record. */
static int64_t file_from(const pfd_index_file *files, int64_t num_files, int64_t position,
                         int64_t low)
{
    if (position < files[low + 1].first_record) return low;
    return pfd_last_at_most(&files->first_record, (int64_t)sizeof *files, low, num_files, position);
}

int64_t pfd_index_file_of(const pfd_index_file *files, int64_t num_files, int64_t position)
{
    return file_from(files, num_files, position, 0);
}

/* The group of a position, and the number of the stride in it. */
static inline int64_t group_of(const pfd_record_index *index, int64_t position, int64_t *stride)
{
    uint64_t at = (uint64_t)(position >> index->shift) << index->width;
    *stride = (int64_t)(at % PFD_GROUP_STRIDE_BYTES) >> index->width;
    return (int64_t)(at / PFD_GROUP_STRIDE_BYTES);
}

/* The file of a group.  A damaged head may have any number, which becomes 0. */
static inline int64_t file_of(const pfd_record_index *index, const pfd_index_group *group,
                              int64_t position)
{
    int64_t low = (int64_t)(group->head >> 2 & GROUP_MOST_FILE);
    return file_from(index->files, index->num_files, position, low < index->num_files ? low : 0);
}

PFD_INLINE pfd_record_start find(const pfd_record_index *index, int64_t position, sum_fn sum)
{
    int64_t stride, i = group_of(index, position, &stride);
    const pfd_index_group *group = &index->groups[i];
    int64_t file = file_of(index, group, position);
    const pfd_index_file *place = &index->files[file];
    int64_t first_record = (position >> index->shift) << index->shift;
    int64_t byte = (int64_t)(group->head >> 18) - place->first_place;
    if (group->head & PFD_GROUP_IS_IRREGULAR)
        first_record -= stride << index->shift;
    else
        byte += sum(group, index->width, stride);
    if (first_record < place->first_record || byte < 0) {
        first_record = place->first_record;
        byte = 0;
    }
    return (pfd_record_start){file, byte, position - first_record};
}

pfd_record_start pfd_record_index_find(const pfd_record_index *index, int64_t position)
{
    return find(index, position, sum_plain);
}

static inline void fetch_group(const pfd_record_index *index, int64_t position)
{
    int64_t stride;
    __builtin_prefetch(&index->groups[group_of(index, position, &stride)], 0, 2);
}

/* The address of a place in a text.  It may be invalid: the text may not be mapped, or be
 * shorter. */
static inline const uint8_t *text_at(const pfd_record_index *index, int64_t file, int64_t offset)
{
    return (const uint8_t *)((uintptr_t)index->texts[file] + (uintptr_t)offset);
}

/* The text that a walk to a record begins with. */
static pfd_record make_unknown(const pfd_record_index *index, int64_t position)
{
    pfd_record_start from = pfd_record_index_find(index, position);
    return (pfd_record){.data = text_at(index, from.file, from.offset), .size = -1};
}

/* ---- Many at once ----------------------------------------------------------------------------
 *
 * The loops are short, so that many of their memory accesses overlap: one loop for everything was
 * slower. */

/* Prefetches the cache lines from a place on. */
static inline void fetch(const uint8_t *text, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(text + i, 0, 2);
}

PFD_INLINE void find_all(const pfd_record_index *index, const int64_t *positions, int64_t n,
                         int64_t most_fetched, pfd_record_start *out, sum_fn sum)
{
    for (int64_t i = 0; i < n; i++) fetch_group(index, positions[i]);
    for (int64_t i = 0; i < n; i++) {
        out[i] = find(index, positions[i], sum);
        if (!index->texts[out[i].file]) continue;
        int64_t stride, group = group_of(index, positions[i], &stride);
        int64_t bytes = get_stride(index->groups[group].strides, index->width, stride);
        fetch(text_at(index, out[i].file, out[i].offset),
              bytes < most_fetched ? bytes : most_fetched);
    }
}

PFD_INLINE int64_t look_up(const pfd_record_index *index, const int64_t *positions, int64_t n,
                           pfd_record *out, sum_fn sum)
{
    int64_t num_unknown = 0;
    /* Until the records are made, data is that of the group, and size the number of the stride. */
    for (int64_t i = 0; i < n; i++) {
        int64_t group = group_of(index, positions[i], &out[i].size);
        out[i].data = (const uint8_t *)&index->groups[group];
        __builtin_prefetch(out[i].data, 0, 2);
    }
    for (int64_t i = 0; i < n; i++) {
        const pfd_index_group *group = (const void *)out[i].data;
        int64_t stride = out[i].size, file = file_of(index, group, positions[i]);
        const pfd_index_file *place = &index->files[file];
        int64_t size = get_stride(group->strides, index->width, stride) - 1;
        int64_t offset = (int64_t)(group->head >> 18) - place->first_place +
                         sum(group, index->width, stride);
        int32_t is_odd = (group->head & (PFD_GROUP_IS_IRREGULAR | PFD_GROUP_HAS_RETURNS)) != 0;
        is_odd |= offset < 0 || size < 0; /* the index is damaged */
        is_odd |= offset + size >= place[1].first_place - place->first_place;
        if (is_odd || index->shift > 0) {
            out[i] = make_unknown(index, positions[i]);
            num_unknown++;
            continue;
        }
        out[i] = (pfd_record){.data = text_at(index, file, offset),
                              .size = size,
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

#if defined(__x86_64__)
PFD_TARGET_AVX512 static void find_all_avx512(const pfd_record_index *index,
                                              const int64_t *positions, int64_t n,
                                              int64_t most_fetched, pfd_record_start *out)
{
    find_all(index, positions, n, most_fetched, out, sum_avx512);
}

PFD_TARGET_AVX512 static int64_t
look_up_avx512(const pfd_record_index *index, const int64_t *positions, int64_t n, pfd_record *out)
{
    return look_up(index, positions, n, out, sum_avx512);
}
#endif

void pfd_record_index_find_all(const pfd_record_index *index, const int64_t *positions, int64_t n,
                               int64_t most_fetched, pfd_record_start *out)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX512) {
        find_all_avx512(index, positions, n, most_fetched, out);
        return;
    }
#endif
    find_all(index, positions, n, most_fetched, out, sum_plain);
}

int64_t pfd_record_index_look_up(const pfd_record_index *index, const int64_t *positions, int64_t n,
                                 pfd_record *out)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX512) return look_up_avx512(index, positions, n, out);
#endif
    return look_up(index, positions, n, out, sum_plain);
}

/* ---- An index from marks --------------------------------------------------------------------- */

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

/* ---- An index from marks: listing ------------------------------------------------------------ */

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

/* Packs n strides alike.  Returns whether there may be one that does not fit. */
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
    int64_t stride = get_stride(cursor->list->strides, cursor->list->width, cursor->at++);
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

/* ---- An index from marks: numbering ---------------------------------------------------------- */

/* The place of mark number `wanted`, which must be one of the last marks of the piece. */
static int64_t place_of(const pfd_record_marks *marks, const pfd_mark_piece *piece, int64_t wanted)
{
    const pfd_mark_list *list = &marks->lists[piece->list];
    int64_t place = piece->last_mark, large = piece->large + piece->num_large;
    int64_t stride = piece->stride + piece->num_marks - 1;
    for (int64_t number = piece->number + piece->num_marks - 1; number > wanted; number--) {
        int64_t last = get_stride(list->strides, list->width, --stride);
        place -= last < largest_of(list->width) ? last : list->large[--large];
    }
    return place;
}

void pfd_record_marks_choose(pfd_record_marks *marks, int64_t bytes, int64_t records)
{
    enum { bytes_per_stride = 16 };
    while ((bytes << marks->shift) / records < bytes_per_stride && marks->shift < 3) marks->shift++;
    int64_t stride = (bytes << marks->shift) / records;
    marks->width = stride < 64 ? 0 : stride < 64 * 256 ? 1 : 2;
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

/* ---- An index from marks: writing ------------------------------------------------------------ */

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
    uint64_t number = (uint64_t)(file < GROUP_MOST_FILE ? file : GROUP_MOST_FILE);
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

/* Writes a piece if the index has the strides of the list: bytes, one for each record. */
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

/* Writes a piece if a stride of the index is the sum of several of the list. */
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
        int64_t first = piece->number + ranges[i].begin - 1;
        if (first < 0) first = 0;
        int64_t end = ((piece->number + ranges[i].end - 1) >> shift) / self->per_group;
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

/* ---- Shards that state how many records they have -------------------------------------------- */

pfd_status pfd_shard_table_add(pfd_shard_table *table, int64_t num_records, pfd_error *err)
{
    if (table->size + 1 >= table->capacity) {
        int64_t capacity = table->capacity > 0 ? 2 * table->capacity : 64;
        int64_t *grown = realloc(table->first, (size_t)capacity * sizeof *grown);
        if (!grown) return pfd_fail_memory(err, capacity * (int64_t)sizeof *grown, "shards");
        table->first = grown;
        table->capacity = capacity;
        if (table->size == 0) grown[0] = 0;
    }
    int64_t all;
    if (__builtin_add_overflow(table->first[table->size], num_records, &all))
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "the shards have more than 2^63 records");
    table->first[++table->size] = table->num_records = all;
    table->shards_each = all ? (double)table->size / (double)all : 0;
    return PFD_OK;
}

void pfd_shard_table_free(pfd_shard_table *table)
{
    free(table->first);
    *table = (pfd_shard_table){0};
}

/* Most shards have about as many records: a guess is right, or one off. */
int64_t pfd_shard_of(const pfd_shard_table *table, int64_t ordinal)
{
    const int64_t *first = table->first;
    if (ordinal < 0 || table->size == 0) return 0;
    if (ordinal >= table->num_records) return table->size - 1;
    int64_t guess = (int64_t)((double)ordinal * table->shards_each);
    if (guess > table->size - 1) guess = table->size - 1;
    guess += (ordinal >= first[guess + 1]) - (ordinal < first[guess]);
    if (ordinal >= first[guess] && ordinal < first[guess + 1]) return guess;
    return pfd_last_at_most(table->first, (int64_t)sizeof *table->first, 0, table->size, ordinal);
}

void pfd_shard_prefetch(const pfd_file *file, int64_t offset, int64_t size)
{
    enum { LINE = 64, LINES = 4 };
    const uint8_t *data = pfd_file_data(file);
    for (int64_t at = 0; data && at < size && at < LINES * LINE; at += LINE)
        __builtin_prefetch(data + offset + at);
}
