/* The header of NumPy's .npy format: a magic, a version, a length, and a Python dict as text. */
#include "formats/npy/npy_header.h"

#include "core/bytes.h"
#include "core/rows.h"
#include "files/file_hint.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

/* A place in the text of the header, which ends at `size`. */
typedef struct cursor {
    const pfd_host *host;
    const uint8_t *data;
    int64_t size, at;
    pfd_error *err;
} cursor;

static pfd_status fail_expected(cursor *c, const char *expected)
{
    char found[256];
    int64_t left = c->size - c->at;
    return c->host->fail_row(c->err, -1, c->at, PFD_CORRUPT_DATA,
                             "the .npy header is damaged: expected %s, found %s", expected,
                             left > 0 ? pfd_quote_bytes(c->data + c->at, left, found, sizeof found)
                                      : "its end");
}

/* NumPy itself reads headers of up to 10,000 bytes by default. */
enum { most_header_bytes = 1024 * 1024 };

/* ---- Magic, version, length ------------------------------------------------------------------ */

static pfd_status fail_short(const pfd_host *host, int64_t size, int64_t expected, pfd_error *err)
{
    return host->fail_row(err, -1, size, PFD_CORRUPT_DATA,
                          "the .npy header ends after %" PRId64 " bytes of %" PRId64
                          "; is it truncated?",
                          size, expected);
}

static pfd_status check_magic(const pfd_host *host, const uint8_t *data, int64_t size,
                              pfd_error *err)
{
    static const uint8_t magic[] = "\x93NUMPY";
    char found[256], seems[100];
    int64_t n = size < 6 ? size : 6;
    if (memcmp(data, magic, (size_t)n) != 0) {
        const char *hint = n > 1 && data[0] == 'P' && data[1] == 'K'
                               ? ", which is a zip archive (.npz?): unpack it"
                               : "";
        const char *other = pfd_looks_like_hint(host->looks_like(data, size, "npy"), "", seems,
                                                sizeof seems);
        return host->fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                              "this is not a .npy file: it begins with %s%s; a .npy file begins "
                              "with '\\x93NUMPY'%s",
                              pfd_quote_bytes(data, n, found, sizeof found), hint,
                              hint[0] ? "" : other);
    }
    return size < 8 ? fail_short(host, size, 8, err) : PFD_OK;
}

pfd_status pfd_npy_header_size(const pfd_host *host, const uint8_t *data, int64_t size,
                               int64_t *bytes, pfd_error *err)
{
    PFD_TRY(check_magic(host, data, size, err));
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return host->fail_row(err, -1, 6, PFD_CORRUPT_DATA,
                              "the .npy format has version %d.%d; 1.0, 2.0 and 3.0 are supported",
                              data[6], data[7]);
    int64_t prefix = data[6] == 1 ? 10 : 12;
    if (size < prefix) return fail_short(host, size, prefix, err);
    int64_t length = data[6] == 1 ? pfd_load_le16(data + 8) : pfd_load_le32(data + 8);
    if (length > most_header_bytes)
        return host->fail_row(err, -1, 8, PFD_CORRUPT_DATA,
                              "the size of the header is %" PRId64 " bytes; expected at most %d",
                              length, most_header_bytes);
    *bytes = prefix + length;
    return PFD_OK;
}

/* ---- The dict -------------------------------------------------------------------------------- */

static void skip_blanks(cursor *c)
{
    while (c->at < c->size && strchr(" \t\n", c->data[c->at]) && c->data[c->at]) c->at++;
}

static int32_t take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at >= c->size || c->data[c->at] != (uint8_t)wanted) return 0;
    c->at++;
    return 1;
}

static int32_t take_word(cursor *c, const char *word)
{
    int64_t size = (int64_t)strlen(word);
    skip_blanks(c);
    if (c->size - c->at < size || memcmp(c->data + c->at, word, (size_t)size) != 0) return 0;
    c->at += size;
    return 1;
}

/* Reads a text between two quotes.  NumPy writes no escapes in it. */
static pfd_status read_string(cursor *c, const uint8_t **text, int64_t *size)
{
    skip_blanks(c);
    if (c->at >= c->size || (c->data[c->at] != '\'' && c->data[c->at] != '"'))
        return fail_expected(c, "a quoted text");
    const uint8_t *begin = c->data + c->at + 1;
    const uint8_t *end = memchr(begin, c->data[c->at], (size_t)(c->size - c->at - 1));
    if (!end) return fail_expected(c, "a quoted text with a closing quote");
    *text = begin;
    *size = end - begin;
    c->at = end + 1 - c->data;
    return PFD_OK;
}

static pfd_status fail_descr(cursor *c, const uint8_t *text, int64_t size)
{
    static const struct {
        char kind;
        const char *what;
    } kinds[] = {{'O', "Python objects, which are pickled: they are never loaded"},
                 {'S', "byte strings"},
                 {'U', "texts"},
                 {'V', "raw or structured records"},
                 {'c', "complex numbers"},
                 {'M', "dates"},
                 {'m', "time differences"},
                 {'f', "floats of another size"}};
    char found[256];
    const char *what = "of an unknown kind";
    char kind = size > 1 && strchr("<>|=", text[0]) ? (char)text[1] : size > 0 ? (char)text[0] : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].kind == kind) what = kinds[i].what;
    return c->host->fail_row(c->err, -1, text - c->data, PFD_CORRUPT_DATA,
                             "the dtype of the array is %s, %s; bool, integers of 1 to 8 bytes and "
                             "floats of 2, 4 and 8 bytes can be read",
                             pfd_quote_bytes(text, size, found, sizeof found), what);
}

static pfd_status read_descr(cursor *c, pfd_npy_header *out)
{
    static const struct {
        char text[3];
        int32_t dtype;
    } dtypes[] = {{"b1", PFD_BOOL},    {"i1", PFD_INT8},    {"u1", PFD_UINT8},  {"i2", PFD_INT16},
                  {"u2", PFD_UINT16},  {"i4", PFD_INT32},   {"u4", PFD_UINT32}, {"i8", PFD_INT64},
                  {"u8", PFD_UINT64},  {"f2", PFD_FLOAT16}, {"f4", PFD_FLOAT32},
                  {"f8", PFD_FLOAT64}};
    const uint8_t *text;
    int64_t size;
    skip_blanks(c);
    if (c->at < c->size && c->data[c->at] == '[')
        return c->host->fail_row(
            c->err, -1, c->at, PFD_CORRUPT_DATA,
            "the array is structured: its elements have fields; save each field as "
            "a separate array");
    PFD_TRY(read_string(c, &text, &size));
    int64_t sign = size > 0 && strchr("<>|=", text[0]) ? 1 : 0;
    out->dtype = 0;
    for (size_t i = 0; size - sign == 2 && i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (!memcmp(text + sign, dtypes[i].text, 2)) out->dtype = dtypes[i].dtype;
    if (!out->dtype) return fail_descr(c, text, size);
    int32_t own = pfd_order_is_foreign(PFD_ORDER_LITTLE) ? PFD_ORDER_BIG : PFD_ORDER_LITTLE;
    int32_t big = sign && text[0] == '>', little = sign && text[0] == '<';
    out->byte_order = big ? PFD_ORDER_BIG : little ? PFD_ORDER_LITTLE : own;
    if (pfd_dtype_size(out->dtype) == 1) out->byte_order = PFD_ORDER_LITTLE;
    return PFD_OK;
}

static pfd_status read_dimension(cursor *c, int64_t *out)
{
    const int64_t begin = c->at;
    *out = 0;
    for (; c->at < c->size && c->data[c->at] >= '0' && c->data[c->at] <= '9'; c->at++) {
        if (*out > (INT64_MAX - 9) / 10) {
            c->at = begin;
            return fail_expected(c, "a dimension below 2^63");
        }
        *out = *out * 10 + (c->data[c->at] - '0');
    }
    if (c->at == begin) return fail_expected(c, "a dimension");
    (void)take(c, 'L'); /* the suffix of long integers in Python 2 */
    return PFD_OK;
}

static pfd_status read_shape(cursor *c, pfd_npy_header *out)
{
    out->ndim = 0;
    if (!take(c, '(')) return fail_expected(c, "a tuple");
    while (!take(c, ')')) {
        if (out->ndim > 0 && !take(c, ',')) return fail_expected(c, "a comma");
        if (out->ndim > 0 && take(c, ')')) break;
        if (out->ndim == PFD_NPY_MAX_DIMS)
            return c->host->fail_row(c->err, -1, c->at, PFD_CORRUPT_DATA,
                                     "the array has more than %d dimensions", PFD_NPY_MAX_DIMS);
        skip_blanks(c);
        PFD_TRY(read_dimension(c, &out->shape[out->ndim]));
        out->ndim++;
    }
    return PFD_OK;
}

enum { has_descr = 1, has_order = 2, has_shape = 4, has_all = 7 };

static pfd_status read_pair(cursor *c, pfd_npy_header *out, int32_t *seen)
{
    const uint8_t *key;
    int64_t size, begin = c->at;
    PFD_TRY(read_string(c, &key, &size));
    if (!take(c, ':')) return fail_expected(c, "a colon");
    int32_t is = size == 5 && !memcmp(key, "descr", 5)            ? has_descr
                 : size == 13 && !memcmp(key, "fortran_order", 13) ? has_order
                 : size == 5 && !memcmp(key, "shape", 5)          ? has_shape
                                                                  : 0;
    if (!is || *seen & is) {
        c->at = begin;
        return fail_expected(c, "each of the keys descr, fortran_order and shape once");
    }
    *seen |= is;
    if (is == has_descr) return read_descr(c, out);
    if (is == has_shape) return read_shape(c, out);
    out->is_fortran = take_word(c, "True");
    return out->is_fortran || take_word(c, "False") ? PFD_OK : fail_expected(c, "True or False");
}

static pfd_status count_bytes(cursor *c, pfd_npy_header *out)
{
    int64_t bytes = pfd_dtype_size(out->dtype);
    for (int32_t i = 0; i < out->ndim; i++) {
        if (out->shape[i] > 0 && bytes > INT64_MAX / out->shape[i])
            return fail_expected(c, "a shape of less than 2^63 bytes");
        bytes *= out->shape[i];
    }
    out->num_bytes = bytes;
    return PFD_OK;
}

pfd_status pfd_npy_header_read(const pfd_host *host, const uint8_t *data, int64_t size,
                               pfd_npy_header *out, pfd_error *err)
{
    *out = (pfd_npy_header){0};
    PFD_TRY(pfd_npy_header_size(host, data, size, &out->header_bytes, err));
    if (size < out->header_bytes) return fail_short(host, size, out->header_bytes, err);
    cursor c = {host, data, out->header_bytes, data[6] == 1 ? 10 : 12, err};
    int32_t seen = 0;
    if (!take(&c, '{')) return fail_expected(&c, "a dict");
    while (!take(&c, '}')) {
        if (seen && !take(&c, ',')) return fail_expected(&c, "a comma");
        if (seen && take(&c, '}')) break;
        PFD_TRY(read_pair(&c, out, &seen));
    }
    if (seen != has_all) return fail_expected(&c, "the keys descr, fortran_order and shape");
    skip_blanks(&c);
    if (c.at != c.size) return fail_expected(&c, "nothing after the dict");
    if (out->ndim < 2) out->is_fortran = 0;
    return count_bytes(&c, out);
}
