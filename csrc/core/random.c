/* Counter-based random numbers. */
#include "core/random.h"
#include "core/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

__extension__ typedef unsigned __int128 uint128;

/* 2^64 divided by the golden ratio, odd: the step of Weyl sequences (Knuth, vol. 3, 6.4). */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Bijections in which every input bit flips every output bit with probability near one half.
 * Constants: D. Stafford's "Mix13", the finalizer of SplitMix64 (Steele, Lea, Flood: Fast
 * splittable pseudorandom number generators, 2014), and that of MurmurHash3 (A. Appleby). */
static inline uint64_t mix13(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t mix_murmur(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

static uint64_t absorb(uint64_t hash, uint64_t word)
{
    return mix13((hash ^ word) + GOLDEN);
}

uint64_t pfd_random_key(int64_t seed, int64_t epoch, const char *name)
{
    uint64_t hash = absorb(absorb(0, (uint64_t)seed), (uint64_t)epoch);
    uint64_t size = strlen(name);
    uint64_t word = 0;
    for (uint64_t i = 0; i < size; i++) { /* little-endian words, on every machine */
        word |= (uint64_t)(uint8_t)name[i] << (8 * (i % 8));
        if (i % 8 == 7) {
            hash = absorb(hash, word);
            word = 0;
        }
    }
    return mix_murmur(absorb(absorb(hash, word), size));
}

/* The key goes in twice, so that the numbers of two keys are not one sequence shifted. */
uint64_t pfd_random_bits(uint64_t key, uint64_t counter)
{
    return mix_murmur(mix13(counter * GOLDEN + key) ^ (key >> 32 | key << 32));
}

/* D. Lemire: Fast random integer generation in an interval, 2019. */
int64_t pfd_random_below(uint64_t key, uint64_t counter, int64_t n)
{
    uint64_t range = (uint64_t)n;
    uint128 product = (uint128)pfd_random_bits(key, counter) * range;
    if ((uint64_t)product < range) {
        uint64_t threshold = (UINT64_MAX - range + 1) % range; /* 2^64 mod n */
        while ((uint64_t)product < threshold) {
            key = absorb(key, range); /* next draw: same counter, another key */
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
    return pfd_random_bits(absorb(place, (uint64_t)getpid()), (uint64_t)pfd_clock_ns());
}
