/* The dense index: the bytes from each record to the next, in groups of one cache line.
 *
 * A group has 56 strides of one byte, 28 of two or 14 of four, depending on the length of
 * records.  If these are short, a stride covers 2, 4 or 8 records.  A group is irregular if it
 * has blank lines or a stride that is too large for its bytes.
 *
 * Measured on 5 M rows of 24 bytes in random order (1.14 bytes of index a row), one thread: 37
 * ns a row; with offsets of every 4th record (1 byte a row) 107 ns, of every 64th 440 ns. */
#include "core/cpu.h"
#include "index/record_index.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
        pairs += i < n ? (int32_t)pfd_get_stride(group->strides, 1, i) : 0;
    for (int64_t i = 0; width == 2 && i < n; i++) fours += pfd_get_stride(group->strides, 2, i);
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
    int64_t high = num_files;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (files[middle].first_record <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
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
    int64_t low = (int64_t)(group->head >> 2 & PFD_GROUP_MOST_FILE);
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
        int64_t bytes = pfd_get_stride(index->groups[group].strides, index->width, stride);
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
        int64_t size = pfd_get_stride(group->strides, index->width, stride) - 1;
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
