/* The division of 128-bit numbers, the only part of a compiler's runtime that the libraries call.
 *
 * zig's runtime is one object, which has a memcpy() too.  To take the division from there would put
 * that one in the place of glibc's, which knows the processor and is faster.
 */
#include <stdint.h>

__extension__ typedef unsigned __int128 uint128;

uint128 __udivti3(uint128 dividend, uint128 divisor);

/* (high, low) / divisor, where high < divisor: the quotient fits. */
static uint64_t divide_two(uint64_t high, uint64_t low, uint64_t divisor, uint64_t *rest)
{
#if defined(__x86_64__)
    uint64_t quotient;
    __asm__("divq %4" : "=a"(quotient), "=d"(*rest) : "a"(low), "d"(high), "r"(divisor) : "cc");
    return quotient;
#else
    /* Knuth's algorithm D with digits of 32 bits. */
    const uint64_t base = UINT64_C(1) << 32;
    int shift = __builtin_clzll(divisor);
    divisor <<= shift;
    uint64_t first = divisor >> 32, second = divisor & (base - 1);
    uint64_t left = shift ? high << shift | low >> (64 - shift) : high;
    low <<= shift;
    uint64_t digits[2] = {low >> 32, low & (base - 1)}, quotient = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t digit = left / first, over = left - digit * first;
        while (digit >= base || digit * second > (over << 32 | digits[i])) {
            digit--;
            over += first;
            if (over >= base) break;
        }
        left = (left << 32 | digits[i]) - digit * divisor;
        quotient = quotient << 32 | digit;
    }
    *rest = left >> shift;
    return quotient;
#endif
}

__attribute__((visibility("hidden"))) uint128 __udivti3(uint128 dividend, uint128 divisor)
{
    if (divisor > dividend) return 0;
    uint64_t high = (uint64_t)(dividend >> 64), low = (uint64_t)dividend, rest;
    if (divisor >> 64 == 0) {
        uint64_t by = (uint64_t)divisor;
        uint64_t above = high / by;
        return (uint128)above << 64 | divide_two(high % by, low, by, &rest);
    }
    /* The quotient is below 2^64: one bit after another, from the highest that it can have. */
    int shift = __builtin_clzll((uint64_t)(divisor >> 64)) - __builtin_clzll(high);
    uint64_t quotient = 0;
    divisor <<= shift;
    for (; shift >= 0; shift--, divisor >>= 1) {
        quotient <<= 1;
        if (dividend >= divisor) {
            dividend -= divisor;
            quotient |= 1;
        }
    }
    return quotient;
}
