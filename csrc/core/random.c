/* Counter-based random numbers. */
#include "core/random.h"
#include "core/cpu.h"
#include "core/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

__extension__ typedef unsigned __int128 uint128;

/* 2^64 divided by the golden ratio, odd: the step of Weyl sequences (Knuth, vol. 3, 6.4). */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* As pfd_mix64, with the constants of MurmurHash3's finalizer (A. Appleby): applying both in turn
 * does not cancel out. */
static inline uint64_t mix_murmur(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

uint64_t pfd_random_key(int64_t seed, int64_t epoch, const char *name)
{
    uint64_t hash = pfd_hash_word(pfd_hash_word(0, (uint64_t)seed), (uint64_t)epoch);
    return mix_murmur(pfd_hash_bytes(hash, name, (int64_t)strlen(name)));
}

/* The key goes in twice, so that the numbers of two keys are not one sequence shifted. */
uint64_t pfd_random_bits(uint64_t key, uint64_t counter)
{
    return mix_murmur(pfd_mix64(counter * GOLDEN + key) ^ (key >> 32 | key << 32));
}

/* D. Lemire: Fast random integer generation in an interval, 2019. */
int64_t pfd_random_below(uint64_t key, uint64_t counter, int64_t n)
{
    uint64_t range = (uint64_t)n;
    uint128 product = (uint128)pfd_random_bits(key, counter) * range;
    if ((uint64_t)product < range) {
        uint64_t threshold = (UINT64_MAX - range + 1) % range; /* 2^64 mod n */
        while ((uint64_t)product < threshold) {
            key = pfd_hash_word(key, range); /* next draw: same counter, another key */
            product = (uint128)pfd_random_bits(key, counter) * range;
        }
    }
    return (int64_t)(uint64_t)(product >> 64);
}

static int read_urandom(void *out, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t got;
    do {
        got = read(fd, out, size);
    } while (got < 0 && errno == EINTR);
    (void)close(fd);
    return got == (ssize_t)size;
}

uint64_t pfd_random_entropy(void)
{
    uint64_t bits = 0;
    ssize_t got;
    do {
        got = getrandom(&bits, sizeof bits, 0);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof bits || read_urandom(&bits, sizeof bits)) return bits;

    /* A seed need not be secret, only different from run to run. */
    uint64_t place = (uint64_t)(uintptr_t)&bits;
    return pfd_random_bits(pfd_hash_word(place, (uint64_t)getpid()), (uint64_t)pfd_clock_ns());
}
