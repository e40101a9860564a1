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

/* Words are little-endian: the same on machines of either byte order. */
uint64_t pfd_hash_bytes(uint64_t hash, const void *data, int64_t size)
{
    const uint8_t *bytes = data;
    int64_t i = 0, whole = size - size % 8;
    uint64_t rest = 0;
    for (; i < whole; i += 8) hash = pfd_hash_word(hash, pfd_load_le64(bytes + i));
    for (; i < size; i++) rest |= (uint64_t)bytes[i] << (8 * (i % 8));
    return pfd_hash_word(pfd_hash_word(hash, rest), (uint64_t)size);
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
 * It has a latency of three cycles and a throughput of one: so three chunks of a long buffer are
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
enum { long_chunk = 4096, short_chunk = 512 }; /* bytes of one of three chunks */

/* The factor that advances a state over this many bytes of 0: x to the power of 8 * bytes - 33 or,
 * where it is multiplied by shifts, of 8 * bytes; modulo the polynomial, reflected. */
typedef struct chunk_powers {
    uint32_t one, two; /* chunks */
} chunk_powers;

#if defined(__x86_64__)
static const chunk_powers long_powers = {0x82f89c77, 0x54a86326};
static const chunk_powers short_powers = {0xdd7e3b0c, 0x170076fa};

/* The product has 64 bits, and the instruction itself reduces it to 32. */
TARGET PFD_INLINE uint64_t shifted(uint64_t state, uint32_t power)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)state),
                                           _mm_cvtsi32_si128((int32_t)power), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}
#else
static const chunk_powers long_powers = {0x35d73a62, 0x28461564};
static const chunk_powers short_powers = {0x74c360a4, 0xe4172b16};

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

TARGET PFD_INLINE uint64_t three_chunks(uint64_t state, const uint8_t *data, int64_t chunk,
                                        chunk_powers powers)
{
    uint64_t second = 0, third = 0;
    for (int64_t i = 0; i < chunk; i += 8) {
        state = step64(state, pfd_load_le64(data + i));
        second = step64(second, pfd_load_le64(data + chunk + i));
        third = step64(third, pfd_load_le64(data + 2 * chunk + i));
    }
    return shifted(state, powers.two) ^ shifted(second, powers.one) ^ third;
}

TARGET static uint32_t crc_instruction(uint32_t crc, const uint8_t *data, int64_t size)
{
    uint64_t state = ~crc;
    for (; size >= 3 * long_chunk; data += 3 * long_chunk, size -= 3 * long_chunk)
        state = three_chunks(state, data, long_chunk, long_powers);
    for (; size >= 3 * short_chunk; data += 3 * short_chunk, size -= 3 * short_chunk)
        state = three_chunks(state, data, short_chunk, short_powers);
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

/* All whole stripes, in four independent lanes. */
static uint64_t hash_stripes(const uint8_t *data, int64_t stripes)
{
    uint64_t lane[lanes] = {PRIME_1 + PRIME_2, PRIME_2, 0, 0 - PRIME_1};
    for (; stripes > 0; stripes--, data += stripe_bytes)
        for (int i = 0; i < lanes; i++) lane[i] = mix(lane[i], pfd_load_le64(data + 8 * i));
    uint64_t hash =
        rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (int i = 0; i < lanes; i++) hash = (hash ^ mix(0, lane[i])) * PRIME_1 + PRIME_4;
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

/* ---- XXH3, 128 bits -------------------------------------------------------------------------- */

#define PRIME_32_1 UINT64_C(0x9e3779b1)
#define PRIME_32_2 UINT64_C(0x85ebca77)
#define PRIME_32_3 UINT64_C(0xc2b2ae3d)
#define MIX_1 UINT64_C(0x165667919e3779f9)
#define MIX_2 UINT64_C(0x9fb21c651e98df25)

enum {
    secret_bytes = 192,
    least_secret = 136,
    most_short = 240,    /* bytes that are hashed without the sums */
    sums = 8,            /* of 64 bits each, over long data */
    strip_bytes = 64,    /* what is added to the sums in a step */
    strips_of_block = 16 /* between two scrambles; the secret moves 8 bytes for each */
};

/* The default secret of the algorithm. */
static const uint8_t secret[secret_bytes] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

typedef struct hash128 {
    uint64_t low, high;
} hash128;

static inline hash128 multiply(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (hash128){(uint64_t)product, (uint64_t)(product >> 64)};
}

static inline uint64_t multiply_fold(uint64_t a, uint64_t b)
{
    hash128 product = multiply(a, b);
    return product.low ^ product.high;
}

static inline uint64_t avalanche(uint64_t x)
{
    x = (x ^ x >> 37) * MIX_1;
    return x ^ x >> 32;
}

static inline uint64_t avalanche_xxh64(uint64_t x)
{
    x = (x ^ x >> 33) * PRIME_2;
    x = (x ^ x >> 29) * PRIME_3;
    return x ^ x >> 32;
}

/* Two words of the secret, combined. */
static inline uint64_t key_at(int64_t at)
{
    return pfd_load_le64(secret + at) ^ pfd_load_le64(secret + at + 8);
}

static hash128 hash_to_3(const uint8_t *data, uint32_t size)
{
    uint32_t low = (uint32_t)data[0] << 16 | (uint32_t)data[size / 2] << 24 | data[size - 1] |
                   size << 8;
    uint32_t swapped = __builtin_bswap32(low), high = swapped << 13 | swapped >> 19;
    uint32_t low_key = pfd_load_le32(secret) ^ pfd_load_le32(secret + 4);
    uint32_t high_key = pfd_load_le32(secret + 8) ^ pfd_load_le32(secret + 12);
    return (hash128){avalanche_xxh64(low ^ low_key), avalanche_xxh64(high ^ high_key)};
}

static hash128 hash_to_8(const uint8_t *data, uint64_t size)
{
    uint64_t word = pfd_load_le32(data) | (uint64_t)pfd_load_le32(data + size - 4) << 32;
    hash128 hash = multiply(word ^ key_at(16), PRIME_1 + (size << 2));
    hash.high += hash.low << 1;
    hash.low ^= hash.high >> 3;
    hash.low = (hash.low ^ hash.low >> 35) * MIX_2;
    hash.low ^= hash.low >> 28;
    hash.high = avalanche(hash.high);
    return hash;
}

static hash128 hash_to_16(const uint8_t *data, uint64_t size)
{
    uint64_t first = pfd_load_le64(data), last = pfd_load_le64(data + size - 8);
    hash128 product = multiply(first ^ last ^ key_at(32), PRIME_1);
    product.low += (size - 1) << 54;
    last ^= key_at(48);
    product.high += last + (last & UINT32_MAX) * (PRIME_32_2 - 1);
    product.low ^= __builtin_bswap64(product.high);
    hash128 hash = multiply(product.low, PRIME_2);
    hash.high += product.high * PRIME_2;
    return (hash128){avalanche(hash.low), avalanche(hash.high)};
}

static inline uint64_t mix_16(const uint8_t *data, const uint8_t *key)
{
    return multiply_fold(pfd_load_le64(data) ^ pfd_load_le64(key),
                         pfd_load_le64(data + 8) ^ pfd_load_le64(key + 8));
}

static inline void mix_32(hash128 *sum, const uint8_t *one, const uint8_t *two, const uint8_t *key)
{
    sum->low += mix_16(one, key);
    sum->low ^= pfd_load_le64(two) + pfd_load_le64(two + 8);
    sum->high += mix_16(two, key + 16);
    sum->high ^= pfd_load_le64(one) + pfd_load_le64(one + 8);
}

/* 129 to 240 bytes. */
static void mix_medium(hash128 *sum, const uint8_t *data, int64_t size)
{
    for (int64_t i = 0; i < 128; i += 32) mix_32(sum, data + i, data + i + 16, secret + i);
    *sum = (hash128){avalanche(sum->low), avalanche(sum->high)};
    for (int64_t i = 128; i + 32 <= size; i += 32)
        mix_32(sum, data + i, data + i + 16, secret + 3 + i - 128);
    mix_32(sum, data + size - 16, data + size - 32, secret + least_secret - 17 - 16);
}

/* 17 to 240 bytes. */
static hash128 hash_to_240(const uint8_t *data, int64_t size)
{
    uint64_t bytes = (uint64_t)size;
    hash128 sum = {bytes * PRIME_1, 0};
    if (size > 128) mix_medium(&sum, data, size);
    for (int64_t i = size > 128 ? -1 : (size - 1) / 32; i >= 0; i--)
        mix_32(&sum, data + 16 * i, data + size - 16 * (i + 1), secret + 32 * i);
    uint64_t high = sum.low * PRIME_1 + sum.high * PRIME_4 + bytes * PRIME_2;
    return (hash128){avalanche(sum.low + sum.high), 0 - avalanche(high)};
}

/* Adds a strip to the sums: independent lanes, of which compilers make vectors. */
PFD_INLINE void add_strip(uint64_t *sum, const uint8_t *data, const uint8_t *key)
{
    for (int i = 0; i < sums; i++) {
        uint64_t mixed = pfd_load_le64(data + 8 * i) ^ pfd_load_le64(key + 8 * i);
        sum[i] += pfd_load_le64(data + 8 * (i ^ 1)) + (mixed & UINT32_MAX) * (mixed >> 32);
    }
}

PFD_INLINE void add_strips(uint64_t *sum, const uint8_t *data, int64_t strips)
{
    for (int64_t i = 0; i < strips; i++) add_strip(sum, data + strip_bytes * i, secret + 8 * i);
}

/* Adds whole blocks, each with a scramble after it. */
PFD_INLINE void add_blocks(uint64_t *out, const uint8_t *data, int64_t blocks)
{
    const uint8_t *key = secret + secret_bytes - strip_bytes;
    uint64_t sum[sums];
    memcpy(sum, out, sizeof sum);
    for (; blocks > 0; blocks--, data += strips_of_block * strip_bytes) {
        add_strips(sum, data, strips_of_block);
        for (int i = 0; i < sums; i++)
            sum[i] = (sum[i] ^ sum[i] >> 47 ^ pfd_load_le64(key + 8 * i)) * PRIME_32_1;
    }
    memcpy(out, sum, sizeof sum);
}

PFD_WITH_AVX2(PFD_TARGET_AVX2, add_blocks, (uint64_t *sum, const uint8_t *data, int64_t blocks),
              (sum, data, blocks))

static uint64_t fold_sums(const uint64_t *sum, const uint8_t *key, uint64_t start)
{
    for (int i = 0; i < sums; i += 2)
        start += multiply_fold(sum[i] ^ pfd_load_le64(key + 8 * i),
                               sum[i + 1] ^ pfd_load_le64(key + 8 * i + 8));
    return avalanche(start);
}

static hash128 hash_long(const uint8_t *data, int64_t size)
{
    uint64_t sum[sums] = {PRIME_32_3, PRIME_1,    PRIME_2, PRIME_3,
                          PRIME_4,    PRIME_32_2, PRIME_5, PRIME_32_1};
    const int64_t block = strips_of_block * strip_bytes;
    int64_t blocks = (size - 1) / block, done = blocks * block;
    add_blocks_best(sum, data, blocks);
    add_strips(sum, data + done, (size - 1 - done) / strip_bytes);
    add_strip(sum, data + size - strip_bytes, secret + secret_bytes - strip_bytes - 7);
    uint64_t bytes = (uint64_t)size;
    return (hash128){fold_sums(sum, secret + 11, bytes * PRIME_1),
                     fold_sums(sum, secret + secret_bytes - strip_bytes - 11, ~(bytes * PRIME_2))};
}

static hash128 hash_any(const uint8_t *data, int64_t size)
{
    if (size > most_short) return hash_long(data, size);
    if (size > 16) return hash_to_240(data, size);
    if (size > 8) return hash_to_16(data, (uint64_t)size);
    if (size > 3) return hash_to_8(data, (uint64_t)size);
    if (size > 0) return hash_to_3(data, (uint32_t)size);
    return (hash128){avalanche_xxh64(key_at(64)), avalanche_xxh64(key_at(80))};
}

void pfd_xxh128(const void *data, int64_t size, uint8_t *digest)
{
    hash128 hash = hash_any(data, size);
    for (int i = 0; i < 8; i++) {
        digest[i] = (uint8_t)(hash.high >> (56 - 8 * i));
        digest[8 + i] = (uint8_t)(hash.low >> (56 - 8 * i));
    }
}
