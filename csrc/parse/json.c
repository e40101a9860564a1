/* A cursor over JSON: every byte is checked.  The plain bytes of strings are passed by masks of
 * blocks of 64 bytes, with AVX2 of 32 bytes.  The functions that look at most bytes are inline, and
 * are compiled once for each. */
#include "parse/json.h"

#include "core/bytes.h"
#include "parse/number_text.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- Plain bytes ----------------------------------------------------------------------------- */

enum { BLOCK = 64, HALF = 32 };

/* A bit for each byte of a block that no string has as it is: quotes, backslashes, control
 * characters, and bytes beyond ASCII. */
#ifdef PFD_HAS_BYTES16
PFD_INLINE uint64_t special_bytes(const uint8_t *p)
{
    typedef int8_t signed16 __attribute__((vector_size(16)));
    pfd_bytes16 special[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        pfd_bytes16 v = pfd_load16(p + 16 * i);
        /* as signed numbers, bytes beyond ASCII are less than a blank too */
        special[i] = (pfd_bytes16)((v == '"') | (v == '\\') | ((signed16)v < 0x20));
    }
    return pfd_bits64(special);
}
#else
static uint64_t special_bytes(const uint8_t *p)
{
    uint64_t special = 0;
    for (int i = 0; i < BLOCK; i++) {
        uint64_t is_special = p[i] < 0x20 || p[i] >= 0x80 || p[i] == '"' || p[i] == '\\';
        special |= is_special << i;
    }
    return special;
}
#endif

/* The first special byte among the last ones of the text, fewer than a block; or the end. */
PFD_INLINE int64_t last_plain_end(const pfd_json *json, int64_t at)
{
    int64_t left = json->size - at;
    uint8_t rest[BLOCK] = {0};
    uint64_t bits = 0;
    if (json->size >= BLOCK && left > 0) { /* the last block has bytes before `at` */
        bits = special_bytes(json->data + json->size - BLOCK) >> (BLOCK - left);
    } else if (left > 0) {
        memcpy(rest, json->data + at, (size_t)left);
        bits = special_bytes(rest); /* zeros are special */
    }
    return bits ? at + __builtin_ctzll(bits) : json->size;
}

typedef int64_t (*plain_end_fn)(const pfd_json *json, int64_t at);

/* The first byte from `at` on that is not plain, or the end. */
PFD_INLINE int64_t plain_end(const pfd_json *json, int64_t at)
{
    for (; json->size - at >= BLOCK; at += BLOCK) {
        uint64_t bits = special_bytes(json->data + at);
        if (bits) return at + __builtin_ctzll(bits);
    }
    return last_plain_end(json, at);
}

#if defined(__x86_64__)
/* special_bytes() of 32 bytes. */
PFD_TARGET_AVX2 PFD_INLINE uint32_t special_avx2(__m256i v)
{
    __m256i quotes = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    __m256i backslashes = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    __m256i low = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v);
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_or_si256(quotes, backslashes), low));
}

PFD_TARGET_AVX2 PFD_INLINE int64_t plain_end_avx2(const pfd_json *json, int64_t at)
{
    for (; json->size - at >= HALF; at += HALF) {
        uint32_t bits = special_avx2(_mm256_loadu_si256((const void *)(json->data + at)));
        if (bits) return at + __builtin_ctz(bits);
    }
    return last_plain_end(json, at);
}
#endif

/* ---- The next byte --------------------------------------------------------------------------- */

static int32_t is_wide(void)
{
#if defined(__x86_64__)
    return pfd_simd_level() >= PFD_SIMD_AVX2;
#else
    return 0;
#endif
}

pfd_json pfd_json_begin(const uint8_t *data, int64_t size)
{
    return (pfd_json){.data = data, .size = size, .is_wide = is_wide()};
}

int32_t pfd_json_refuse(pfd_json *json, const char *problem)
{
    if (!json->problem) json->problem = problem;
    return 0;
}

/* The first byte from `at` on that is not blank. */
PFD_INLINE int64_t blanks_end(const pfd_json *json, int64_t at)
{
    for (; at < json->size; at++) {
        uint8_t c = json->data[at];
        if (c > ' ' || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) break;
    }
    return at;
}

/* The next byte that is not blank; -1 at the end, or after a problem. */
PFD_INLINE int32_t peek(pfd_json *json)
{
    if (json->problem) return -1;
    int64_t at = blanks_end(json, json->at);
    if (at != json->at) json->at = at; /* a store would delay the next load */
    return at < json->size ? json->data[at] : -1;
}

/* The kind of the next value: one of { [ " t f n, or 0 for a number; -1: no value, or the end. */
PFD_INLINE int32_t type_of_next(pfd_json *json)
{
    int32_t c = peek(json);
    if (c == '-' || (c >= '0' && c <= '9')) return 0;
    return c == '{' || c == '[' || c == '"' || c == 't' || c == 'f' || c == 'n' ? c : -1;
}

/* ---- Arrays and objects ---------------------------------------------------------------------- */
int32_t pfd_json_enter(pfd_json *json, char bracket)
{
    if (peek(json) != bracket)
        return pfd_json_refuse(json, bracket == '{' ? "expected an object" : "expected an array");
    if (json->depth == PFD_JSON_DEPTH)
        return pfd_json_refuse(json, "expected no more than 64 levels of arrays and objects");
    json->at++;
    json->depth++;
    json->is_fresh = 1;
    return 1;
}

/* To the next value of the innermost array or object; 0 after its last. */
PFD_INLINE int32_t advance(pfd_json *json, char bracket, const char *expected)
{
    int32_t c = peek(json);
    if (c == bracket) {
        json->at++;
        json->depth--;
        json->is_fresh = 0;
        return 0;
    }
    if (json->problem) return 0;
    if (!json->is_fresh) {
        if (c != ',') return pfd_json_refuse(json, expected);
        json->at++;
    }
    json->is_fresh = 0;
    return 1;
}

int32_t pfd_json_element(pfd_json *json)
{
    return advance(json, ']', "expected a comma or ]");
}

int32_t pfd_json_array_first(const uint8_t *text, int64_t size)
{
    pfd_json json = pfd_json_begin(text, size);
    int32_t c = peek(&json);
    if (c >= 0 && c != '[') return 0;
    json.at++;
    return peek(&json);
}

typedef int32_t (*begins_as_fn)(const uint8_t *text, int64_t left, const pfd_json_lead *lead);

/* Whether what follows, of which `left` bytes are there, begins as a lead. */
PFD_INLINE int32_t begins_as(const uint8_t *text, int64_t left, const pfd_json_lead *lead)
{
    return lead->size <= left && pfd_is_same(text, lead->text, lead->size);
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 PFD_INLINE int32_t begins_as_avx2(const uint8_t *text, int64_t left,
                                                  const pfd_json_lead *lead)
{
    if (left < HALF) return begins_as(text, left, lead);
    __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)text),
                                     _mm256_loadu_si256((const void *)lead->text));
    return !(lead->mask & ~(uint32_t)_mm256_movemask_epi8(same));
}
#endif

/* 1 + the place of the latest member in the trail. */
PFD_INLINE int32_t lead_number(int64_t members)
{
    return 1 + (int32_t)((members - 1) & (PFD_JSON_TRAIL - 1));
}

/* Notes how a member began, if a lead has room for that. */
static void note_lead(pfd_json *json, pfd_json_text *key, int64_t value)
{
    pfd_json_lead *lead = &json->trail[json->members++ & (PFD_JSON_TRAIL - 1)];
    int64_t size = value - json->at;
    lead->begins = 0;
    if (size > PFD_JSON_LEAD) return;
    key->lead = lead_number(json->members);
    *lead = (pfd_json_lead){.size = (int32_t)size,
                            .key = (int32_t)(key->data - json->data - json->at),
                            .key_size = (int32_t)key->size,
                            .begins = 1 + json->is_fresh,
                            .mask = (uint32_t)((UINT64_C(1) << size) - 1),
                            .name_bit = pfd_json_name_bit((const char *)key->data, key->size)};
    memcpy(lead->text, json->data + json->at, (size_t)size);
}

/* A member as most are: one with a plain key.  0: it is none, nothing is read. */
PFD_INLINE int32_t read_plain_key(pfd_json *json, pfd_json_text *key, plain_end_fn end_of)
{
    int64_t at = blanks_end(json, json->at), size = json->size;
    if (json->problem || at >= size || (!json->is_fresh && json->data[at++] != ',')) return 0;
    int64_t begin = blanks_end(json, at);
    if (begin >= size || json->data[begin++] != '"') return 0;
    int64_t end = end_of(json, begin);
    if (end + 1 >= size || json->data[end] != '"' || json->data[end + 1] != ':') return 0;
    int64_t value = blanks_end(json, end + 2);
    *key = (pfd_json_text){json->data + begin, end - begin, 0, 0};
    if (json->trail) note_lead(json, key, value);
    json->at = value;
    json->is_fresh = 0;
    return 1;
}

static int32_t read_any_key(pfd_json *json, pfd_json_text *key)
{
    if (!advance(json, '}', "expected a comma or }")) return 0;
    if (peek(json) != '"') return pfd_json_refuse(json, "expected a key in quotes");
    if (!pfd_json_string(json, key)) return 0;
    if (peek(json) != ':') return pfd_json_refuse(json, "expected a colon after the key");
    json->at++;
    return 1;
}

/* ---- Strings --------------------------------------------------------------------------------- */

static int32_t hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The code unit of \uXXXX at p; -1: there is none. */
static int32_t code_unit(const uint8_t *p, int64_t left)
{
    if (left < 6 || p[0] != '\\' || p[1] != 'u') return -1;
    int32_t value = 0;
    for (int i = 2; i < 6; i++) {
        int32_t digit = hex_digit(p[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* What an escape of two bytes at p stands for; 0: there is none. */
PFD_INLINE int32_t short_escape(const uint8_t *p, int64_t left)
{
    static const char meant[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    return left >= 2 ? meant[p[1]] : 0;
}

/* The character that an escape at p stands for, and how long the escape is; -1: it is none. */
static int32_t read_escape(const uint8_t *p, int64_t left, int64_t *length)
{
    int32_t meant = short_escape(p, left);
    *length = 2;
    if (meant) return meant;
    int32_t first = code_unit(p, left);
    if (first >= 0) *length = 6;
    if (first < 0xd800 || first > 0xdfff) return first;
    int32_t second = code_unit(p + 6, left - 6);
    if (first > 0xdbff || second < 0xdc00 || second > 0xdfff) return -1;
    *length = 12;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

/* Passes the characters beyond ASCII that follow each other; 0 and a problem where one is not
 * well-formed. */
static int32_t pass_utf8(pfd_json *json)
{
    while (json->at < json->size && json->data[json->at] >= 0x80) {
        int64_t length = pfd_utf8_length(json->data + json->at, json->size - json->at);
        if (!length && !json->keeps_bytes) return pfd_json_refuse(json, "expected valid UTF-8");
        json->at += length ? length : 1;
    }
    return 1;
}

static int32_t pass_escape(pfd_json *json)
{
    int64_t length;
    if (read_escape(json->data + json->at, json->size - json->at, &length) < 0)
        return pfd_json_refuse(json, length > 2 ? "expected the escapes of surrogates to be pairs, "
                                                  "such as \\ud83d\\ude00"
                                                : "expected an escape such as \\n or \\u00e9");
    json->at += length;
    return 1;
}

/* Passes a special byte that is neither a quote nor a short escape; 0: a problem. */
static int32_t pass_special(pfd_json *json, int32_t *has_escapes)
{
    uint8_t c = json->data[json->at];
    if (c < 0x20)
        return pfd_json_refuse(json, "expected control characters in strings to be escaped");
    if (c != '\\') return pass_utf8(json);
    *has_escapes = 1;
    return pass_escape(json);
}

/* To the closing quote; 0 and a problem where the string has what no string may have. */
PFD_INLINE int32_t scan_string(pfd_json *json, int32_t *has_escapes, plain_end_fn end_of)
{
    while (1) {
        json->at = end_of(json, json->at);
        int64_t left = json->size - json->at;
        const uint8_t *p = json->data + json->at;
        if (left <= 0) return pfd_json_refuse(json, "expected the closing quote of a string");
        if (*p == '"') return 1;
        if (*p == '\\' && short_escape(p, left)) {
            *has_escapes = 1;
            json->at += 2;
        } else if (!pass_special(json, has_escapes)) {
            return 0;
        }
    }
}

int32_t pfd_json_string(pfd_json *json, pfd_json_text *text)
{
    if (peek(json) != '"') return pfd_json_refuse(json, "expected a string");
    int64_t begin = ++json->at;
    int32_t has_escapes = 0;
    if (!scan_string(json, &has_escapes, plain_end)) return 0;
    *text = (pfd_json_text){json->data + begin, json->at - begin, has_escapes, 0};
    json->at++;
    return 1;
}

/* The next character of a string, as UTF-8 (at most 4 bytes). */
static int64_t decode_one(const pfd_json_text *text, int64_t *at, char out[4])
{
    int64_t length;
    if (text->data[*at] != '\\') {
        out[0] = (char)text->data[(*at)++];
        return 1;
    }
    uint32_t c = (uint32_t)read_escape(text->data + *at, text->size - *at, &length);
    *at += length;
    int64_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int64_t i = size - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[size] | c);
    return size;
}

static int compare_folded(const void *a, const void *b, size_t size)
{
    const char *left = a, *right = b;
    for (size_t i = 0; i < size; i++)
        if (pfd_lower(left[i]) != pfd_lower(right[i])) return 1;
    return 0;
}

static int32_t equals(const pfd_json_text *text, const char *with,
                      int (*compare)(const void *, const void *, size_t))
{
    int64_t size = (int64_t)strlen(with), same = 0;
    for (int64_t at = 0; at < text->size;) {
        char bytes[4];
        int64_t n = decode_one(text, &at, bytes);
        if (n > size - same || compare(with + same, bytes, (size_t)n) != 0) return 0;
        same += n;
    }
    return same == size;
}

int32_t pfd_json_equals(const pfd_json_text *text, const char *with)
{
    if (text->has_escapes) return equals(text, with, memcmp);
    size_t size = strlen(with);
    return (size_t)text->size == size && !memcmp(text->data, with, size);
}

int32_t pfd_json_equals_folded(const pfd_json_text *text, const char *with)
{
    return equals(text, with, compare_folded);
}

/* Copies from `at` to the next backslash or the end, and returns where that is.  Whole words are
 * copied, but none beyond the size of the text, since at most as much was written as was read. */
PFD_INLINE int64_t copy_to_escape(const pfd_json_text *text, int64_t at, char *out)
{
    int64_t begin = at, size = text->size;
#ifdef PFD_HAS_BYTES16
    for (; size - at >= 32; at += 32) {
        pfd_bytes16 low = pfd_load16(text->data + at), high = pfd_load16(text->data + at + 16);
        pfd_bytes16 found[4] = {(pfd_bytes16)(low == '\\'), (pfd_bytes16)(high == '\\')};
        memcpy(out + (at - begin), &low, sizeof low);
        memcpy(out + (at - begin) + 16, &high, sizeof high);
        uint64_t bits = pfd_bits64(found);
        if (bits) return at + __builtin_ctzll(bits);
    }
#endif
    for (; at < size && text->data[at] != '\\'; at++) out[at - begin] = (char)text->data[at];
    return at;
}

int64_t pfd_json_decode(const pfd_json_text *text, char *out)
{
    int64_t written = 0;
    for (int64_t at = 0; at < text->size;) {
        int64_t escape = copy_to_escape(text, at, out + written);
        written += escape - at;
        at = escape;
        if (at == text->size) break;
        int32_t meant = short_escape(text->data + at, text->size - at);
        if (meant) {
            out[written++] = (char)meant;
            at += 2;
            continue;
        }
        char bytes[4];
        int64_t n = decode_one(text, &at, bytes);
        memcpy(out + written, bytes, (size_t)n);
        written += n;
    }
    return written;
}

typedef int64_t (*copy_plain_fn)(pfd_json *json, char *out);

/* Copies up to the first special byte, in whole blocks as long as the text has them; returns how
 * many bytes count. */
PFD_INLINE int64_t copy_plain(pfd_json *json, char *out)
{
    int64_t begin = json->at, at = begin;
    for (; json->size - at >= BLOCK; at += BLOCK) {
        memcpy(out + (at - begin), json->data + at, BLOCK);
        uint64_t bits = special_bytes(json->data + at);
        if (!bits) continue;
        json->at = at + __builtin_ctzll(bits);
        return json->at - begin;
    }
    json->at = last_plain_end(json, at);
    memcpy(out + (at - begin), json->data + at, (size_t)(json->at - at));
    return json->at - begin;
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 PFD_INLINE int64_t copy_plain_avx2(pfd_json *json, char *out)
{
    int64_t begin = json->at, at = begin;
    for (; json->size - at >= HALF; at += HALF) {
        __m256i v = _mm256_loadu_si256((const void *)(json->data + at));
        uint32_t bits = special_avx2(v);
        _mm256_storeu_si256((void *)(out + (at - begin)), v);
        if (!bits) continue;
        json->at = at + __builtin_ctz(bits);
        return json->at - begin;
    }
    json->at = last_plain_end(json, at);
    memcpy(out + (at - begin), json->data + at, (size_t)(json->at - at));
    return json->at - begin;
}
#endif

/* Passes a special byte and what belongs to it, which it writes; returns how many bytes. */
static int64_t copy_special(pfd_json *json, char *out)
{
    const uint8_t *begin = json->data + json->at;
    int32_t has_escapes = 0;
    if (!pass_special(json, &has_escapes)) return 0;
    const pfd_json_text passed = {begin, json->data + json->at - begin, has_escapes, 0};
    if (has_escapes) return pfd_json_decode(&passed, out);
    memcpy(out, passed.data, (size_t)passed.size);
    return passed.size;
}

PFD_INLINE int32_t string_copy(pfd_json *json, char *out, pfd_json_text *text, copy_plain_fn copy)
{
    if (peek(json) != '"') return pfd_json_refuse(json, "expected a string");
    int64_t begin = ++json->at, written = 0;
    while (1) {
        written += copy(json, out + written);
        int64_t left = json->size - json->at;
        const uint8_t *p = json->data + json->at;
        if (left <= 0) return pfd_json_refuse(json, "expected the closing quote of a string");
        if (*p == '"') break;
        int32_t meant = *p == '\\' ? short_escape(p, left) : 0;
        if (meant) {
            out[written++] = (char)meant;
            json->at += 2;
        } else {
            written += copy_special(json, out + written);
            if (json->problem) return 0;
        }
    }
    int32_t is_copy = written < json->at - begin; /* escapes are longer than what they mean */
    *text = (pfd_json_text){is_copy ? (uint8_t *)out : json->data + begin, written, 0, 0};
    json->at++;
    return 1;
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 static int32_t string_copy_avx2(pfd_json *json, char *out, pfd_json_text *text)
{
    return string_copy(json, out, text, copy_plain_avx2);
}
#endif

int32_t pfd_json_string_copy(pfd_json *json, char *out, pfd_json_text *text)
{
#if defined(__x86_64__)
    if (json->is_wide) return string_copy_avx2(json, out, text);
#endif
    return string_copy(json, out, text, copy_plain);
}

/* ---- Numbers and words ----------------------------------------------------------------------- */

PFD_INLINE int64_t count_digits(const pfd_json *json, int64_t at)
{
    const uint64_t tens = UINT64_C(0xf0f0f0f0f0f0f0f0), zeros = UINT64_C(0x3030303030303030);
    int64_t begin = at;
    for (; json->size - at >= 8; at += 8) { /* the first byte that is no digit has a bit */
        uint64_t eight = pfd_load_le64(json->data + at);
        uint64_t others = ((eight & tens) ^ zeros) |
                          (((eight + UINT64_C(0x0606060606060606)) & tens) ^ zeros);
        if (others) return at + __builtin_ctzll(others) / 8 - begin;
    }
    while (at < json->size && json->data[at] >= '0' && json->data[at] <= '9') at++;
    return at - begin;
}

/* The size of the number's sign and digits at `at`; 0: no number begins there. */
PFD_INLINE int64_t integer_length(const pfd_json *json, int64_t at)
{
    int64_t sign = json->data[at] == '-', digits = count_digits(json, at + sign);
    if (digits > 1 && json->data[at + sign] == '0') digits = 1;
    return digits ? sign + digits : 0;
}

/* Where the number at `at` ends; if there is a problem, where that is. */
PFD_INLINE int64_t number_end(const pfd_json *json, int64_t at, const char **problem)
{
    int64_t length = integer_length(json, at), size = json->size, digits;
    *problem = length ? NULL : "expected a number";
    at += length;
    if (length && at < size && json->data[at] == '.') {
        at++;
        digits = count_digits(json, at);
        if (!digits) *problem = "expected a digit after the decimal point";
        at += digits;
    }
    if (!*problem && at < size && (json->data[at] | 0x20) == 'e') {
        at++;
        if (at < size && (json->data[at] == '+' || json->data[at] == '-')) at++;
        digits = count_digits(json, at);
        if (!digits) *problem = "expected a digit in the exponent";
        at += digits;
    }
    return at;
}

PFD_INLINE int32_t skip_number(pfd_json *json)
{
    const char *problem;
    json->at = number_end(json, json->at, &problem);
    return problem ? pfd_json_refuse(json, problem) : 1;
}

int32_t pfd_json_int64(pfd_json *json, int64_t *value)
{
    if (type_of_next(json) != 0) return pfd_json_refuse(json, "expected a whole number");
    int64_t length = integer_length(json, json->at), end = json->at + length;
    uint8_t follow = length && end < json->size ? json->data[end] : 0;
    if (!length || follow == '.' || (follow | 0x20) == 'e')
        return pfd_json_refuse(json, "expected a whole number");
    int64_t negative = json->data[json->at] == '-', sum = 0;
    for (int64_t i = json->at + negative; i < end; i++) {
        int64_t digit = json->data[i] - '0';
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, negative ? -digit : digit, &sum))
            return pfd_json_refuse(json, "expected a number that fits into 64 bits");
    }
    *value = sum;
    json->at = end;
    return 1;
}

int32_t pfd_json_double(pfd_json *json, double *value)
{
    if (type_of_next(json) != 0) return pfd_json_refuse(json, "expected a number");
    int64_t begin = json->at;
    if (!skip_number(json)) return 0;
    (void)pfd_parse_double((const char *)json->data + begin, json->at - begin, value);
    return 1;
}

int32_t pfd_json_kind(pfd_json *json)
{
    return type_of_next(json);
}

int32_t pfd_json_is(pfd_json *json, char kind)
{
    return type_of_next(json) == kind;
}

static int32_t skip_word(pfd_json *json, const char *word)
{
    int64_t size = (int64_t)strlen(word);
    if (json->size - json->at < size || memcmp(json->data + json->at, word, (size_t)size) != 0)
        return pfd_json_refuse(json, "expected a value");
    json->at += size;
    return 1;
}

int32_t pfd_json_null(pfd_json *json)
{
    return type_of_next(json) == 'n' && skip_word(json, "null");
}

static int32_t skip_other(pfd_json *json, int32_t type);

PFD_INLINE int32_t skip_value(pfd_json *json, plain_end_fn end_of)
{
    int32_t type = type_of_next(json), has_escapes = 0;
    if (type != '"') return type == 0 ? skip_number(json) : skip_other(json, type);
    json->at++;
    if (!scan_string(json, &has_escapes, end_of)) return 0;
    json->at++;
    return 1;
}

/* The end of the value at `at`, if that is a plain string, a number or a word; else 0, as for some
 * words at the text's end. */
PFD_INLINE int64_t simple_end(const pfd_json *json, int64_t at, plain_end_fn end_of)
{
    const char *problem, *word;
    const uint8_t *data = json->data;
    int64_t size = json->size;
    if (at >= size) return 0;
    if (data[at] == '"') {
        at = end_of(json, at + 1);
        return at < size && data[at] == '"' ? at + 1 : 0;
    }
    if (data[at] <= '9') {
        at = number_end(json, at, &problem);
        return problem ? 0 : at;
    }
    word = data[at] == 'n' ? "null" : data[at] == 't' ? "true" : "fals";
    if (size - at < 5 || memcmp(data + at, word, 4) != 0) return 0;
    at += 4;
    return *word != 'f' ? at : data[at] == 'e' ? at + 1 : 0;
}

/* Members that begin as the trail says are passed up to the first wanted one, or any other member:
 * no byte before their values has to be looked for.  Returns 1 if it is a wanted one.  The place
 * stays in a register as long as values are simple, as most are. */
PFD_INLINE int32_t pass_known(pfd_json *json, uint64_t names, pfd_json_text *key,
                              plain_end_fn end_of, begins_as_fn begins)
{
    int64_t at = json->at, size = json->size, members = json->members;
    int32_t is_fresh = json->is_fresh, is_wanted = 0;
    while (1) {
        const pfd_json_lead *lead = &json->trail[members & (PFD_JSON_TRAIL - 1)];
        const uint8_t *text = json->data + at;
        if (lead->begins != 1 + is_fresh || !begins(text, size - at, lead)) break;
        at += lead->size;
        is_fresh = 0;
        members++;
        if (lead->name_bit & names) {
            *key = (pfd_json_text){text + lead->key, lead->key_size, 0, lead_number(members)};
            is_wanted = 1;
            break;
        }
        int64_t end = simple_end(json, at, end_of);
        if (!end) {
            json->at = at;
            json->is_fresh = 0;
            json->members = members;
            if (!skip_value(json, end_of)) return 0;
            end = json->at;
            members = json->members;
        }
        at = end;
    }
    json->at = at;
    json->is_fresh = is_fresh;
    json->members = members;
    return is_wanted;
}

PFD_INLINE int32_t member_of(pfd_json *json, uint64_t names, pfd_json_text *key,
                             plain_end_fn end_of, begins_as_fn begins)
{
    while (1) {
        int32_t may_know = json->trail && !json->problem;
        if (may_know && pass_known(json, names, key, end_of, begins)) return 1;
        if (!read_plain_key(json, key, end_of) && !read_any_key(json, key)) return 0;
        uint64_t bit = pfd_json_name_bit((const char *)key->data, key->size);
        if (names & bit || key->has_escapes) return 1;
        (void)skip_value(json, end_of);
    }
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 static int32_t member_of_avx2(pfd_json *json, uint64_t names,
                                              pfd_json_text *key)
{
    return member_of(json, names, key, plain_end_avx2, begins_as_avx2);
}

PFD_TARGET_AVX2 static int32_t skip_avx2(pfd_json *json)
{
    return skip_value(json, plain_end_avx2);
}
#endif

int32_t pfd_json_member_of(pfd_json *json, uint64_t names, pfd_json_text *key)
{
#if defined(__x86_64__)
    if (json->is_wide) return member_of_avx2(json, names, key);
#endif
    return member_of(json, names, key, plain_end, begins_as);
}

int32_t pfd_json_member(pfd_json *json, pfd_json_text *key)
{
    return pfd_json_member_of(json, UINT64_MAX, key);
}

static int32_t skip_object(pfd_json *json)
{
    pfd_json_text key;
    (void)pfd_json_enter(json, '{'); /* which bounds the depth */
    while (pfd_json_member_of(json, 0, &key)) (void)pfd_json_skip(json);
    return !json->problem;
}

/* Passes elements as long as they are simple, as most are. */
PFD_INLINE void pass_elements(pfd_json *json, plain_end_fn end_of)
{
    int64_t end = simple_end(json, json->at, end_of);
    while (end) {
        json->at = end;
        json->is_fresh = 0;
        if (end == json->size || json->data[end] != ',') return;
        end = simple_end(json, blanks_end(json, end + 1), end_of);
    }
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 static void pass_elements_avx2(pfd_json *json)
{
    pass_elements(json, plain_end_avx2);
}
#endif

static void pass_simple_elements(pfd_json *json)
{
#if defined(__x86_64__)
    if (json->is_wide) {
        pass_elements_avx2(json);
        return;
    }
#endif
    pass_elements(json, plain_end);
}

static int32_t skip_array(pfd_json *json)
{
    if (!pfd_json_enter(json, '[')) return 0;
    pass_simple_elements(json);
    while (pfd_json_element(json)) (void)pfd_json_skip(json);
    return !json->problem;
}

/* Passes a value that is neither a number nor a string. */
static int32_t skip_other(pfd_json *json, int32_t type)
{
    switch (type) {
    case '{':
        return skip_object(json);
    case '[':
        return skip_array(json);
    case 't':
        return skip_word(json, "true");
    case 'f':
        return skip_word(json, "false");
    case 'n':
        return skip_word(json, "null");
    default:
        return pfd_json_refuse(json, "expected a value");
    }
}

int32_t pfd_json_skip(pfd_json *json)
{
#if defined(__x86_64__)
    if (json->is_wide) return skip_avx2(json);
#endif
    return skip_value(json, plain_end);
}

int32_t pfd_json_end(pfd_json *json)
{
    if (peek(json) >= 0) return pfd_json_refuse(json, "expected nothing more after the value");
    return !json->problem;
}

int32_t pfd_json_values(const uint8_t *data, int64_t size, int32_t is_cut, int64_t *at,
                        const char **problem)
{
    enum { longest = 12 }; /* bytes of an escape; words, numbers and characters are cut, too */
    pfd_json json = pfd_json_begin(data, size);
    while (peek(&json) >= 0 && pfd_json_skip(&json));
    *at = json.at;
    *problem = json.problem;
    return !json.problem || json.depth == PFD_JSON_DEPTH || (is_cut && size - json.at < longest);
}
