/* CRC-32C by the processor's own instruction, else eight bytes at once by tables. */
#include "core/crc32c.h"
#include "core/bytes.h"
#include "core/simd.h"
#include "core/x86_features.h"
#include "pyflowdata/pyflowdata.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define REFLECTED_POLYNOMIAL UINT32_C(0x82f63b78)

/* ---- The reference --------------------------------------------------------------------------- */
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

/* ---- The processor's instruction -------------------------------------------------------------
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

/* ---- Which one ------------------------------------------------------------------------------- */
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
