/* core/bytes.h -- numbers in unaligned bytes, in the byte order of a file.
 *
 * Nothing is checked: the caller has checked the size.
 */
#ifndef PFD_CORE_BYTES_H
#define PFD_CORE_BYTES_H
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PFD_LITTLE_(bits, value) __builtin_bswap##bits(value)
#else
#define PFD_LITTLE_(bits, value) (value)
#endif

/* Little-endian. */
static inline uint16_t pfd_load_le16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return PFD_LITTLE_(16, value);
}

static inline uint32_t pfd_load_le32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return PFD_LITTLE_(32, value);
}

static inline uint64_t pfd_load_le64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return PFD_LITTLE_(64, value);
}

static inline void pfd_store_le32(uint32_t value, uint8_t *at)
{
    value = PFD_LITTLE_(32, value);
    memcpy(at, &value, sizeof value);
}

static inline void pfd_store_le64(uint64_t value, uint8_t *at)
{
    value = PFD_LITTLE_(64, value);
    memcpy(at, &value, sizeof value);
}

/* Big-endian, of 1 to 8 bytes. */
static inline uint64_t pfd_load_be(const uint8_t *at, int32_t bytes)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}
#endif
