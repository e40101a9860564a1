/* Hashes and checksums. */
#include "core/hash.h"

#include "core/bytes.h"
#include "core/cpu.h"
#include "pyflowdata/pyflowdata.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- Hashes of words and bytes --------------------------------------------------------------- */

/* Odd: 2^64 divided by the golden ratio.  It keeps a hash of zeros from staying 0. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

uint64_t pfd_hash_word(uint64_t hash, uint64_t word)
{
    return pfd_mix64((hash ^ word) + GOLDEN);
}

/* Words are put together byte by byte: the same on machines of either byte order. */
uint64_t pfd_hash_bytes(uint64_t hash, const void *data, int64_t size)
{
    const uint8_t *bytes = data;
    uint64_t word = 0;
    for (int64_t i = 0; i < size; i++) {
        word |= (uint64_t)bytes[i] << (8 * (i % 8));
        if (i % 8 == 7) {
            hash = pfd_hash_word(hash, word);
            word = 0;
        }
    }
    return pfd_hash_word(pfd_hash_word(hash, word), (uint64_t)size);
}

/* ---- CRC-32C: the reference ------------------------------------------------------------------ */

#define REFLECTED_POLYNOMIAL UINT32_C(0x82f63b78)

enum { slices = 8 };

static uint32_t tables[slices][256]; /* [k][b]: the byte b, followed by k bytes of 0 */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? REFLECTED_POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (int k = 1; k < slices; k++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
        }
    }
}

static uint32_t crc_plain(uint32_t crc, const uint8_t *data, int64_t size)
{
    uint32_t state = ~crc;
    for (; size >= slices; data += slices, size -= slices) {
        uint32_t low = state ^ pfd_load_le32(data);
        state = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
                tables[4][low >> 24] ^ tables[3][data[4]] ^ tables[2][data[5]] ^
                tables[1][data[6]] ^ tables[0][data[7]];
    }
    for (; size > 0; data++, size--) state = (state >> 8) ^ tables[0][(state ^ *data) & 255];
    return ~state;
}

/* ---- CRC-32C: the processor's instruction ----------------------------------------------------
 * It has a latency of three cycles and a throughput of one: so three parts of a long buffer are
 * computed in parallel, and joined by advancing a state over the bytes that follow it. */
#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_INSTRUCTION 1
#if defined(__clang__) && __clang_major__ >= 14
#define TARGET __attribute__((target("sse4.2,crc32,pclmul"))) /* where it is apart from SSE 4.2 */
#else
#define TARGET __attribute__((target("sse4.2,pclmul")))
#endif

static int cpu_has_instruction(void)
{
    return pfd_x86_features() & PFD_X86_CRC32C;
}

TARGET PFD_INLINE uint64_t step64(uint64_t state, uint64_t word)
{
    return _mm_crc32_u64(state, word);
}

TARGET PFD_INLINE uint64_t step8(uint64_t state, uint8_t byte)
{
    return _mm_crc32_u8((uint32_t)state, byte);
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#define HAS_INSTRUCTION 1
#define TARGET

static int cpu_has_instruction(void)
{
    return (getauxval(AT_HWCAP) & (1ul << 7)) != 0; /* HWCAP_CRC32 */
}

/* Some compilers have these intrinsics only where the target flags include the instruction. */
PFD_INLINE uint64_t step64(uint64_t state, uint64_t word)
{
    uint32_t next;
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w1, %2" : "=r"(next) : "r"(state), "r"(word));
    return next;
}

PFD_INLINE uint64_t step8(uint64_t state, uint8_t byte)
{
    uint32_t next;
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w1, %w2" : "=r"(next) : "r"(state), "r"(byte));
    return next;
}
#endif

#ifdef HAS_INSTRUCTION
enum { long_part = 4096, short_part = 512 }; /* bytes of one of three parts */

/* The factor that advances a state over this many bytes of 0: x to the power of 8 * bytes - 33 or,
 * where it is multiplied by shifts, of 8 * bytes; modulo the polynomial, reflected. */
typedef struct part_powers {
    uint32_t one, two; /* parts */
} part_powers;

#if defined(__x86_64__)
static const part_powers long_powers = {0x82f89c77, 0x54a86326};
static const part_powers short_powers = {0xdd7e3b0c, 0x170076fa};

/* The product has 64 bits, and the instruction itself reduces it to 32. */
TARGET PFD_INLINE uint64_t shifted(uint64_t state, uint32_t power)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)state),
                                           _mm_cvtsi32_si128((int32_t)power), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}
#else
static const part_powers long_powers = {0x35d73a62, 0x28461564};
static const part_powers short_powers = {0x74c360a4, 0xe4172b16};

PFD_INLINE uint64_t shifted(uint64_t state, uint32_t power)
{
    uint32_t factor = (uint32_t)state, product = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit; bit >>= 1) {
        product ^= power & bit ? factor : 0;
        factor = (factor >> 1) ^ (factor & 1 ? REFLECTED_POLYNOMIAL : 0);
    }
    return product;
}
#endif

TARGET PFD_INLINE uint64_t three_parts(uint64_t state, const uint8_t *data, int64_t part,
                                       part_powers powers)
{
    uint64_t second = 0, third = 0;
    for (int64_t i = 0; i < part; i += 8) {
        state = step64(state, pfd_load_le64(data + i));
        second = step64(second, pfd_load_le64(data + part + i));
        third = step64(third, pfd_load_le64(data + 2 * part + i));
    }
    return shifted(state, powers.two) ^ shifted(second, powers.one) ^ third;
}

TARGET static uint32_t crc_instruction(uint32_t crc, const uint8_t *data, int64_t size)
{
    uint64_t state = ~crc;
    for (; size >= 3 * long_part; data += 3 * long_part, size -= 3 * long_part)
        state = three_parts(state, data, long_part, long_powers);
    for (; size >= 3 * short_part; data += 3 * short_part, size -= 3 * short_part)
        state = three_parts(state, data, short_part, short_powers);
    for (; size >= 8; data += 8, size -= 8) state = step64(state, pfd_load_le64(data));
    for (; size > 0; data++, size--) state = step8(state, *data);
    return ~(uint32_t)state;
}
#endif

/* ---- CRC-32C: which of the two --------------------------------------------------------------- */
pfd_crc32c_fn pfd_crc32c_at(int32_t i)
{
    (void)pthread_once(&tables_once, fill_tables);
    if (i == 0) return crc_plain;
#ifdef HAS_INSTRUCTION
    if (i == 1 && cpu_has_instruction()) return crc_instruction;
#endif
    return NULL;
}

static pfd_crc32c_fn choose(void)
{
#ifdef HAS_INSTRUCTION
    if (!pfd_simd_is_plain() && cpu_has_instruction()) return crc_instruction;
#endif
    return pfd_crc32c_at(0);
}

pfd_crc32c_fn pfd_crc32c_best(void)
{
    static _Atomic(pfd_crc32c_fn) chosen; /* threads that race here choose the same one */
    pfd_crc32c_fn crc32c = atomic_load_explicit(&chosen, memory_order_acquire);
    if (!crc32c) {
        crc32c = choose();
        atomic_store_explicit(&chosen, crc32c, memory_order_release);
    }
    return crc32c;
}

uint32_t pfd_crc32c(const void *data, int64_t size)
{
    return pfd_crc32c_best()(0, data, size);
}

/* ---- XXH64 ----------------------------------------------------------------------------------- */

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

enum { lanes = 4, stripe_bytes = 32 };

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline uint64_t mix(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t merge(uint64_t hash, uint64_t lane)
{
    return (hash ^ mix(0, lane)) * PRIME_1 + PRIME_4;
}

/* All whole stripes, in four independent lanes. */
static uint64_t hash_stripes(const uint8_t *data, int64_t stripes)
{
    uint64_t lane[lanes] = {PRIME_1 + PRIME_2, PRIME_2, 0, 0 - PRIME_1};
    for (; stripes > 0; stripes--, data += stripe_bytes)
        for (int i = 0; i < lanes; i++) lane[i] = mix(lane[i], pfd_load_le64(data + 8 * i));
    uint64_t hash =
        rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (int i = 0; i < lanes; i++) hash = merge(hash, lane[i]);
    return hash;
}

uint64_t pfd_xxh64(const void *bytes, int64_t size)
{
    const uint8_t *data = bytes;
    int64_t stripes = size / stripe_bytes;
    uint64_t hash = stripes > 0 ? hash_stripes(data, stripes) : PRIME_5;
    const uint8_t *at = data + stripes * stripe_bytes;
    int64_t left = size % stripe_bytes;
    hash += (uint64_t)size;
    for (; left >= 8; left -= 8, at += 8)
        hash = rotate(hash ^ mix(0, pfd_load_le64(at)), 27) * PRIME_1 + PRIME_4;
    for (; left >= 4; left -= 4, at += 4)
        hash = rotate(hash ^ pfd_load_le32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    for (; left > 0; left--, at++) hash = rotate(hash ^ *at * PRIME_5, 11) * PRIME_1;
    hash = (hash ^ hash >> 33) * PRIME_2;
    hash = (hash ^ hash >> 29) * PRIME_3;
    return hash ^ hash >> 32;
}
