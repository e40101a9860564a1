/* Writes attr values as text, and parses default_value. */
#include "registry/attr_text.h"

#include "core/error.h"
#include "core/scratch.h"
#include "parse/number_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STRING_BYTES = 100, MOST_ELEMENTS = 8 };

pfd_text pfd_text_in(char *data, size_t capacity)
{
    data[0] = '\0';
    return (pfd_text){.data = data, .capacity = capacity};
}

/* The longest part of at most `size` bytes that does not end inside a UTF-8 character. */
static size_t cut_size(const char *string, size_t size)
{
    while (size > 0 && ((unsigned char)string[size] & 0xc0) == 0x80) size--;
    return size;
}

void pfd_text_add(pfd_text *text, const char *format, ...)
{
    size_t room = text->capacity - text->used;
    if (room == 0) return;
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text->data + text->used, room, format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < room) {
        text->used += (size_t)size;
        return;
    }
    size_t end = cut_size(text->data, text->capacity - sizeof "...");
    memcpy(text->data + end, "...", sizeof "...");
    text->used = text->capacity;
}

void pfd_text_add_float(pfd_text *text, double value, int32_t is_float32)
{
    char digits[64], plain[64];
    for (int precision = is_float32 ? 6 : 15; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, value);
        /* printf follows the locale: whatever stands between the digits is the point. */
        size_t size = 0;
        for (const char *c = digits; *c; c++) {
            if (strchr("+-0123456789einfa", *c)) plain[size++] = *c;
            else if (size == 0 || plain[size - 1] != '.') plain[size++] = '.';
        }
        plain[size] = '\0';
        double back = 0;
        (void)pfd_parse_double(plain, (int64_t)size, &back);
        if (is_float32 ? (float)back == (float)value : back == value) break;
    }
    pfd_text_add(text, "%s%s", plain, strpbrk(plain, ".ein") ? "" : ".0");
}

void pfd_text_add_escaped(pfd_text *text, const char *string, const char *also_escaped)
{
    for (const char *c = string; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte < 0x20 || byte == 0x7f) pfd_text_add(text, "\\x%02x", byte);
        else pfd_text_add(text, strchr(also_escaped, *c) ? "\\%c" : "%c", *c);
    }
}

void pfd_text_add_quoted(pfd_text *text, const char *string)
{
    if (!string) {
        pfd_text_add(text, "NULL");
        return;
    }
    char shown[MOST_STRING_BYTES + 1];
    size_t size = strlen(string);
    size_t shown_size = size <= MOST_STRING_BYTES ? size : cut_size(string, MOST_STRING_BYTES);
    memcpy(shown, string, shown_size);
    shown[shown_size] = '\0';
    pfd_text_add(text, "'");
    pfd_text_add_escaped(text, shown, "\\'");
    pfd_text_add(text, shown_size < size ? "...'" : "'");
}

static void add_list(pfd_text *text, const pfd_attr_value *value)
{
    pfd_text_add(text, "[");
    int64_t shown = value->list ? value->list_size : 0;
    for (int64_t i = 0; i < shown && i < MOST_ELEMENTS; i++) {
        if (i > 0) pfd_text_add(text, ", ");
        if (value->kind == PFD_VALUE_LIST_INT)
            pfd_text_add(text, "%" PRId64, ((const int64_t *)value->list)[i]);
        else if (value->kind == PFD_VALUE_LIST_FLOAT)
            pfd_text_add_float(text, ((const double *)value->list)[i], 0);
        else
            pfd_text_add_quoted(text, ((const char *const *)value->list)[i]);
    }
    if (shown > MOST_ELEMENTS) pfd_text_add(text, ", ... %" PRId64 " elements", shown);
    pfd_text_add(text, "]");
}

void pfd_text_add_value(pfd_text *text, const pfd_attr_value *value)
{
    switch (value->kind) {
    case PFD_VALUE_BOOL: pfd_text_add(text, value->i ? "True" : "False"); break;
    case PFD_VALUE_INT: pfd_text_add(text, "%" PRId64, value->i); break;
    case PFD_VALUE_FLOAT: pfd_text_add_float(text, value->f, 0); break;
    case PFD_VALUE_STRING: pfd_text_add_quoted(text, value->s); break;
    default: add_list(text, value);
    }
}

const char *pfd_value_kind_name(int32_t kind)
{
    switch (kind) {
    case PFD_VALUE_BOOL: return "a bool";
    case PFD_VALUE_INT: return "an integer";
    case PFD_VALUE_FLOAT: return "a float";
    case PFD_VALUE_STRING: return "a string";
    case PFD_VALUE_LIST_INT: return "a list of integers";
    case PFD_VALUE_LIST_FLOAT: return "a list of floats";
    case PFD_VALUE_LIST_STRING: return "a list of strings";
    default: return NULL;
    }
}

/* Parses all of [text, end): decimal digits with an optional sign. */
static int32_t parse_int(const char *text, const char *end, int64_t *out)
{
    int32_t negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+')) text++;
    if (text == end) return 0;
    int64_t value = 0; /* below zero, where the range is larger by one */
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') return 0;
        int digit = *text - '0';
        if (value < (INT64_MIN + digit) / 10) return 0;
        value = value * 10 - digit;
    }
    if (!negative && value == INT64_MIN) return 0;
    *out = negative ? value : -value;
    return 1;
}

static int32_t parse_float(const char *text, const char *end, double *out)
{
    return end > text && pfd_parse_double(text, end - text, out) == end - text;
}

static const char *copy_text(const char *text, const char *end, pfd_scratch *memory)
{
    char *copy = pfd_scratch_alloc(memory, end - text + 1);
    if (!copy) return NULL;
    memcpy(copy, text, (size_t)(end - text));
    copy[end - text] = '\0';
    return copy;
}

static pfd_status fail_default(const pfd_attr *row, const char *expected, pfd_error *err)
{
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT,
                         ": default_value \"%s\" is not %s", row->default_value, expected);
}

/* Elements are separated by commas; an empty text is the empty list. */
static pfd_status parse_list(const pfd_attr *row, pfd_scratch *memory, pfd_attr_value *out,
                             pfd_error *err)
{
    const char *text = row->default_value;
    int64_t n = *text ? 1 : 0;
    for (const char *c = text; *c; c++) n += *c == ',';
    void *list = pfd_scratch_alloc(memory, n * (int64_t)sizeof(double));
    if (!list) return pfd_fail_memory(err, n * (int64_t)sizeof(double), "a list");
    for (int64_t i = 0; i < n; i++) {
        while (*text == ' ') text++;
        const char *end = text + strcspn(text, ",");
        if (out->kind == PFD_VALUE_LIST_STRING) {
            const char *copy = copy_text(text, end, memory);
            if (!copy) return pfd_fail_memory(err, end - text, "a string");
            ((const char **)list)[i] = copy;
        } else if (out->kind == PFD_VALUE_LIST_INT) {
            if (!parse_int(text, end, (int64_t *)list + i))
                return fail_default(row, "integers separated by commas", err);
        } else if (!parse_float(text, end, (double *)list + i)) {
            return fail_default(row, "numbers separated by commas", err);
        }
        text = end + 1;
    }
    out->list = list;
    out->list_size = n;
    return PFD_OK;
}

pfd_status pfd_attr_parse_default(const pfd_attr *row, pfd_scratch *memory, pfd_attr_value *out,
                                  pfd_error *err)
{
    const char *text = row->default_value;
    const char *end = text + strlen(text);
    *out = (pfd_attr_value){.name = row->name};
    switch (row->type) {
    case PFD_ATTR_BOOL:
        out->kind = PFD_VALUE_BOOL;
        out->i = strcmp(text, "true") == 0;
        if (!out->i && strcmp(text, "false") != 0) return fail_default(row, "true or false", err);
        return PFD_OK;
    case PFD_ATTR_INT32:
    case PFD_ATTR_INT64:
        out->kind = PFD_VALUE_INT;
        return parse_int(text, end, &out->i) ? PFD_OK : fail_default(row, "an integer", err);
    case PFD_ATTR_FLOAT32:
    case PFD_ATTR_FLOAT64:
        out->kind = PFD_VALUE_FLOAT;
        return parse_float(text, end, &out->f) ? PFD_OK : fail_default(row, "a number", err);
    case PFD_ATTR_STRING:
    case PFD_ATTR_CHOICE:
    case PFD_ATTR_DTYPE:
        out->kind = PFD_VALUE_STRING;
        out->s = text;
        return PFD_OK;
    case PFD_ATTR_SHAPE:
    case PFD_ATTR_LIST_INT64: out->kind = PFD_VALUE_LIST_INT; break;
    case PFD_ATTR_LIST_FLOAT64: out->kind = PFD_VALUE_LIST_FLOAT; break;
    default: out->kind = PFD_VALUE_LIST_STRING;
    }
    return parse_list(row, memory, out, err);
}
