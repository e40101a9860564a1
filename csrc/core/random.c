/* Counter-based random numbers and a keyed permutation. */
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

static inline uint64_t multiply_high(uint64_t a, uint64_t b)
{
    return (uint64_t)(((uint128)a * b) >> 64);
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

/* ---- Keyed permutation --------------------------------------------------------------------------
 *
 * i is written as two digits (l, r) of a mixed-radix number, l < left, r < right, and each round
 * adds a keyed hash of one digit to the other: a Feistel network (Luby and Rackoff, 1988) over
 * integers instead of bits, so that the domain left * right can follow n closely.  What falls
 * outside of [0, n) is sent through again until it falls inside: cycle walking (Black and Rogaway:
 * Ciphers with arbitrary finite domains, 2002).  As the network is a bijection of its domain, the
 * walk ends, and the result is a bijection of [0, n).
 *
 * Digits are at least 16 wide: the rounds over a narrower domain reach only some of the n! orders.
 * For n > 256 the domain exceeds n by less than 2 * sqrt(n), and hardly anything is walked.
 *
 * Eight rounds: neighbours i, i + 1 stay neighbours when every second round's hashes collide, for
 * 2k rounds with probability sqrt(n)^-k.  With 6 rounds and n = 256 that is seen (5 % more such
 * pairs than in a true shuffle), with 8 it is 1 / n pairs in a whole epoch. */
enum { LEAST_WIDTH = 16 };

/* The smallest s with s * s >= n. */
static uint64_t ceil_sqrt(uint64_t n)
{
    uint64_t low = 0, high = UINT64_C(1) << 31;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (middle * middle >= n)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void pfd_permutation_init(pfd_permutation *permutation, uint64_t key, int64_t n)
{
    uint64_t size = (uint64_t)n;
    uint64_t left = ceil_sqrt(size);
    if (left < LEAST_WIDTH) left = LEAST_WIDTH;
    uint64_t right = size / left + (size % left != 0);
    if (right < LEAST_WIDTH) right = LEAST_WIDTH;
    permutation->n = n;
    permutation->left = left;
    permutation->right = right;
    permutation->reciprocal = UINT64_MAX / right; /* off by one for a power of two: corrected for */
    for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round++)
        permutation->keys[round] = pfd_random_bits(key, (uint64_t)round);
}

/* (digit + hash of other) mod width, where digit < width.  The key is factor and summand: with a
 * fixed factor the hashes of neighbours would differ by a constant, and neighbours would stay
 * neighbours. */
static inline uint64_t add_hash(uint64_t digit, uint64_t width, uint64_t other, uint64_t key)
{
    uint128 product = (uint128)(other ^ key) * (key | 1);
    uint64_t hash = (uint64_t)(product >> 64) ^ (uint64_t)product;
    uint64_t sum = digit + multiply_high(hash, width);
    return sum < width ? sum : sum - width;
}

int64_t pfd_permute(const pfd_permutation *permutation, int64_t i)
{
    const uint64_t left = permutation->left, right = permutation->right;
    const uint64_t *keys = permutation->keys;
    if (permutation->n < 2) return i;

    uint64_t l = multiply_high((uint64_t)i, permutation->reciprocal);
    uint64_t r = (uint64_t)i - l * right;
    if (r >= right) { /* the reciprocal is rounded down: at most one too few */
        l++;
        r -= right;
    }
    uint64_t result;
    do {
#pragma GCC unroll 8
        for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round += 2) {
            l = add_hash(l, left, r, keys[round]);
            r = add_hash(r, right, l, keys[round + 1]);
        }
        result = l * right + r;
    } while (result >= (uint64_t)permutation->n);
    return (int64_t)result;
}
