/* parse/json.h -- strict JSON (RFC 8259), read in place by a cursor.
 *
 *     pfd_json json = pfd_json_begin(data, size);
 *     pfd_json_text key;
 *     pfd_json_enter(&json, '{');
 *     while (pfd_json_member(&json, &key)) {
 *         if (pfd_json_equals(&key, "samples")) pfd_json_int64(&json, &samples);
 *         else pfd_json_skip(&json);
 *     }
 *     if (!pfd_json_end(&json)) ... json.problem at byte json.at
 *
 * Nothing is allocated: strings are views of the text, decoded where they are wanted.  Arrays and
 * objects nest up to PFD_JSON_DEPTH levels.  Where keys are repeated, the caller sees each of them.
 *
 * OWNERSHIP  The cursor borrows the text; a pfd_json_text points into it.
 * THREADS    One thread at a time for a cursor.
 * ERRORS     The first problem stays: every call after it does nothing and returns 0, loops end.
 */
#ifndef PFD_PARSE_JSON_H
#define PFD_PARSE_JSON_H
#include <stdint.h>

#define PFD_JSON_DEPTH 64

/* How a member of an earlier text began: its comma, key, colon and blanks.  A trail is a ring of
 * PFD_JSON_TRAIL of them: member i of the text before is in place i % PFD_JSON_TRAIL; a zeroed one
 * is empty.  The cursor compares each member's beginning with the one in its place, and passes it
 * in one step where they are equal. */
#define PFD_JSON_LEAD 32 /* longer ones are not kept */
typedef struct pfd_json_lead {
    uint8_t text[PFD_JSON_LEAD];
    int32_t size, key, key_size; /* key: where it begins */
    int32_t begins;              /* 1: a member; 2: the first one of its object; 0: no lead */
    uint32_t mask;               /* a bit for each byte of the text */
    int32_t asked;               /* the caller's own; 0 in a new lead */
    uint64_t name_bit; /* pfd_json_name_bit() of the key */
} pfd_json_lead;
#define PFD_JSON_TRAIL 64 /* a power of two */

typedef struct pfd_json {
    const uint8_t *data;
    int64_t size;
    int64_t at;          /* the next byte; of a problem: where it was found */
    const char *problem; /* "expected ..."; static; NULL: none so far */
    int32_t depth;       /* arrays and objects that are open */
    int32_t is_fresh;    /* the innermost one has just been entered */
    int32_t keeps_bytes; /* set by the caller: strings may have bytes that are not UTF-8 */
    int32_t is_wide;     /* may use the instructions of PFD_SIMD_AVX2 */
    int64_t members;      /* with plain keys so far, if there is a trail */
    pfd_json_lead *trail; /* set by the caller; NULL: none */
} pfd_json;

/* A string, without its quotes, valid UTF-8 but for keeps_bytes; with escapes still in it. */
typedef struct pfd_json_text {
    const uint8_t *data;
    int64_t size;
    int32_t has_escapes;
    int32_t lead; /* of a key: 1 + its place in the trail; 0: it is not there */
} pfd_json_text;

pfd_json pfd_json_begin(const uint8_t *data, int64_t size);

/* Goes into an array ('[') or object ('{').  Then one of the next two before each value: 1 when
 * there is one more, which the caller must read or skip; 0 after the last, and the cursor has left
 * the array or object. */
int32_t pfd_json_enter(pfd_json *json, char bracket);
int32_t pfd_json_element(pfd_json *json);
int32_t pfd_json_member(pfd_json *json, pfd_json_text *key);

/* pfd_json_member() that passes members whose key is none of `names`, the sum of the bits of the
 * wanted ones.  The key may still be another one. */
int32_t pfd_json_member_of(pfd_json *json, uint64_t names, pfd_json_text *key);

static inline uint64_t pfd_json_name_bit(const char *name, int64_t size)
{
    if (!size) return 1;
    return UINT64_C(1) << (((uint8_t)name[0] + 11 * size + 3 * (uint8_t)name[size - 1]) & 63);
}

/* The place before a value, and the way back to it. */
typedef struct pfd_json_mark {
    int64_t at, members;
    int32_t depth, reserved;
} pfd_json_mark;

static inline pfd_json_mark pfd_json_here(const pfd_json *json)
{
    return (pfd_json_mark){json->at, json->members, json->depth, 0};
}

static inline void pfd_json_back(pfd_json *json, pfd_json_mark to)
{
    json->at = to.at;
    json->members = to.members;
    json->depth = to.depth;
    json->is_fresh = 0;
}

/* Read one value, and return 1; a value of another kind is a problem, and 0. */
int32_t pfd_json_string(pfd_json *json, pfd_json_text *text);
int32_t pfd_json_int64(pfd_json *json, int64_t *value); /* no fraction, no exponent */

/* pfd_json_string() for strings that are wanted as what they mean, which is written to `out`.  The
 * text is there if it had escapes, else where it was.  `out` holds as many bytes as the JSON has
 * after json->at, and all of it may be written. */
int32_t pfd_json_string_copy(pfd_json *json, char *out, pfd_json_text *text);

/* A number, rounded to the nearest double. */
int32_t pfd_json_double(pfd_json *json, double *value);

/* The kind of the next value: { [ " t (true) f n, or 0 for a number; -1: there is none.  The cursor
 * moves to it. */
int32_t pfd_json_kind(pfd_json *json);

/* Whether the next value is of this kind. */
int32_t pfd_json_is(pfd_json *json, char kind);

/* Returns 1 and passes the next value if it is null; else 0, and the cursor stays. */
int32_t pfd_json_null(pfd_json *json);

/* Passes the next value, of any kind, and checks it. */
int32_t pfd_json_skip(pfd_json *json);

/* The first byte, after blanks, in the array that the text begins with: '{' of an object, ']' of an
 * empty array.  0: the text does not begin with an array; -1: it ends before that byte. */
int32_t pfd_json_array_first(const uint8_t *text, int64_t size);

/* Whether all went well, and only blanks follow. */
int32_t pfd_json_end(pfd_json *json);

/* Says what is wrong with the value that was just read. */
int32_t pfd_json_refuse(pfd_json *json, const char *problem);

/* Compares with, or writes, what the string means; `out` holds text->size bytes.  Returns how many
 * bytes were written. */
int32_t pfd_json_equals(const pfd_json_text *text, const char *with);
int32_t pfd_json_equals_folded(const pfd_json_text *text, const char *with); /* a is A, in ASCII */
int64_t pfd_json_decode(const pfd_json_text *text, char *out);
#endif
