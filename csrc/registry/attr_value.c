/* The value of one attr: its text, its default, and checking it into the op's struct. */
#include "registry/attr_value.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/scratch.h"
#include "parse/number_text.h"
#include "parse/words.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

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

/* A value as Python shows it; long strings and lists are shortened. */
static void add_value(pfd_text *text, const pfd_attr_value *value)
{
    switch (value->kind) {
    case PFD_VALUE_BOOL: pfd_text_add(text, value->i ? "True" : "False"); break;
    case PFD_VALUE_INT: pfd_text_add(text, "%" PRId64, value->i); break;
    case PFD_VALUE_FLOAT: pfd_text_add_float(text, value->f, 0); break;
    case PFD_VALUE_STRING: pfd_text_add_quoted(text, value->s); break;
    default: add_list(text, value);
    }
}

/* "a bool", "an integer" ... */
static const char *kind_name(int32_t kind)
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

/* ---- Types and choices ----------------------------------------------------------------------- */

pfd_attr_type pfd_attr_type_of(int32_t type)
{
#define TYPE(c_type, name) {sizeof(c_type), alignof(c_type), name}
    static const pfd_attr_type types[] = {
        [PFD_ATTR_BOOL] = TYPE(int32_t, "bool"),
        [PFD_ATTR_INT32] = TYPE(int32_t, "integer"),
        [PFD_ATTR_INT64] = TYPE(int64_t, "integer"),
        [PFD_ATTR_FLOAT32] = TYPE(float, "float"),
        [PFD_ATTR_FLOAT64] = TYPE(double, "float"),
        [PFD_ATTR_STRING] = TYPE(const char *, "string"),
        [PFD_ATTR_DTYPE] = TYPE(int32_t, "dtype"),
        [PFD_ATTR_SHAPE] = TYPE(pfd_list_int64, "list of integers"),
        [PFD_ATTR_LIST_INT64] = TYPE(pfd_list_int64, "list of integers"),
        [PFD_ATTR_LIST_FLOAT64] = TYPE(pfd_list_float64, "list of floats"),
        [PFD_ATTR_LIST_STRING] = TYPE(pfd_list_string, "list of strings"),
        [PFD_ATTR_CHOICE] = TYPE(int32_t, "string"),
        [PFD_ATTR_OBJECT] = TYPE(int64_t, "object"),
    };
#undef TYPE
    if (type < PFD_ATTR_BOOL || type > PFD_ATTR_OBJECT) return (pfd_attr_type){0};
    return types[type];
}

int64_t pfd_split_choices(const char *choices, char buffer[PFD_CHOICES_BYTES],
                          const char *names[PFD_MAX_CHOICES])
{
    size_t size = strlen(choices);
    if (size >= PFD_CHOICES_BYTES) return -1;
    memcpy(buffer, choices, size + 1);
    int64_t n = 0;
    for (char *name = buffer; name;) {
        char *bar = strchr(name, '|');
        if (bar) *bar = '\0';
        if (n == PFD_MAX_CHOICES || !*name) return -1;
        names[n++] = name;
        name = bar ? bar + 1 : NULL;
    }
    return n;
}

/* ---- Defaults -------------------------------------------------------------------------------- */

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

/* A copy of `size` bytes of a text, terminated. */
static pfd_status copy_text(const char *text, size_t size, pfd_scratch *memory, const char **out,
                            pfd_error *err)
{
    char *copy = pfd_scratch_alloc(memory, (int64_t)size + 1);
    if (!copy) return pfd_fail_memory(err, (int64_t)size + 1, "a string");
    memcpy(copy, text, size);
    copy[size] = '\0';
    *out = copy;
    return PFD_OK;
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
            PFD_TRY(copy_text(text, (size_t)(end - text), memory, (const char **)list + i, err));
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

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Begins the text after "attr 'x'": " = 3; <element 1> must be ..." */
static pfd_text begin_refusal(const pfd_attr_value *value, int64_t element, char *data,
                              size_t capacity)
{
    pfd_text text = pfd_text_in(data, capacity);
    pfd_text_add(&text, " = ");
    add_value(&text, value);
    if (element < 0) pfd_text_add(&text, "; it must be ");
    else pfd_text_add(&text, "; element %" PRId64 " must be ", element);
    return text;
}

/* A short string of digits: a number that was read from a file or from arguments. */
static int32_t is_written_int(const pfd_attr_value *value)
{
    if (value->kind != PFD_VALUE_STRING || !value->s) return 0;
    size_t digits = strspn(value->s, "0123456789");
    return digits > 0 && digits < 16 && !value->s[digits];
}

/* Refuses a value of the wrong kind, and suggests the right one if it is clear what was meant. */
static pfd_status refuse_kind(const pfd_attr *row, const pfd_attr_value *value, pfd_error *err)
{
    const char *kind = kind_name(value->kind);
    if (!kind)
        return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT,
                             " has a value of kind %" PRId32 ", which is not one of PFD_VALUE_*",
                             value->kind);
    char data[900], shown[200];
    pfd_text text = pfd_text_in(data, sizeof data), short_value = pfd_text_in(shown, sizeof shown);
    add_value(&short_value, value);
    pfd_text_add(&text, " = %s (%s); it must be ", shown, kind);
    const char *type = pfd_attr_type_of(row->type).name;
    int32_t is_list = row->type >= PFD_ATTR_SHAPE && row->type <= PFD_ATTR_LIST_STRING,
            is_float = value->kind == PFD_VALUE_FLOAT;
    switch (row->type) {
    case PFD_ATTR_BOOL: pfd_text_add(&text, "a bool: use True or False"); break;
    case PFD_ATTR_DTYPE: pfd_text_add(&text, "the name of a dtype, like 'float32'"); break;
    case PFD_ATTR_FLOAT32:
    case PFD_ATTR_FLOAT64: pfd_text_add(&text, "a number"); break;
    default: pfd_text_add(&text, "%s %s", *type == 'i' || *type == 'o' ? "an" : "a", type);
    }
    if ((row->type == PFD_ATTR_INT32 || row->type == PFD_ATTR_INT64) && is_float &&
        fabs(value->f) < 1e15 && value->f == floor(value->f))
        pfd_text_add(&text, ": use %" PRId64, (int64_t)value->f);
    if ((row->type == PFD_ATTR_INT32 || row->type == PFD_ATTR_INT64) && is_written_int(value))
        pfd_text_add(&text, ": use %s", value->s);
    int32_t is_element = value->kind == PFD_VALUE_INT ? row->type != PFD_ATTR_LIST_STRING
                         : is_float                   ? row->type == PFD_ATTR_LIST_FLOAT64
                                                      : row->type == PFD_ATTR_LIST_STRING &&
                                                            value->kind == PFD_VALUE_STRING;
    if (is_list && is_element && strstr(row->doc, "(height, width)"))
        pfd_text_add(&text, ", (height, width): use [%s, %s], or shorter=%s of Resize to keep the "
                     "aspect ratio", shown, shown, shown);
    else if (is_list && is_element)
        pfd_text_add(&text, ": use [%s]", shown);
    if (!strcmp(row->name, "data_dir") && value->kind == PFD_VALUE_LIST_STRING)
        pfd_text_add(&text, ", the folder of part files: paths of files are given as files=");
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, "%s", data);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static int32_t has_limits(const pfd_attr *row)
{
    return row->min != row->max;
}

static void int_limits(const pfd_attr *row, int64_t *low, int64_t *high)
{
    int64_t dimension = has_limits(row) && row->min < 0 ? -1 : 0; /* -1: it varies */
    *low = row->type == PFD_ATTR_INT32   ? INT32_MIN
           : row->type == PFD_ATTR_SHAPE ? dimension
                                         : INT64_MIN;
    *high = row->type == PFD_ATTR_INT32 ? INT32_MAX : INT64_MAX;
    if (!has_limits(row)) return;
    /* Doubles from -2^63 up to, but not including, 2^63 are what an int64_t can hold. */
    double lowest = ceil(row->min), highest = floor(row->max);
    if (lowest > (double)*low) *low = lowest < 0x1p63 ? (int64_t)lowest : INT64_MAX;
    if (highest < (double)*high) *high = highest >= -0x1p63 ? (int64_t)highest : INT64_MIN;
}

static pfd_status check_int(const pfd_attr *row, const pfd_attr_value *value, int64_t number,
                            int64_t element, pfd_error *err)
{
    int64_t low, high;
    int_limits(row, &low, &high);
    if (number >= low && number <= high) return PFD_OK;
    char data[900];
    pfd_text text = begin_refusal(value, element, data, sizeof data);
    int32_t is_open = high >= INT64_C(9200000000000000000); /* 9.2e18 in a table: no limit */
    if (is_open && number < low) pfd_text_add(&text, "at least %" PRId64, low);
    else if (low == INT64_MIN) pfd_text_add(&text, "at most %" PRId64, high);
    else pfd_text_add(&text, "in [%" PRId64 ", %" PRId64 "]", low, high);
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, "%s", data);
}

static pfd_status check_float(const pfd_attr *row, const pfd_attr_value *value, double number,
                              int64_t element, pfd_error *err)
{
    int32_t is_float32 = row->type == PFD_ATTR_FLOAT32;
    int32_t fits = !is_float32 || !isfinite(number) || fabs(number) <= FLT_MAX;
    if (fits && !has_limits(row)) return PFD_OK;
    if (fits && isfinite(number) && number >= row->min && number <= row->max) return PFD_OK;
    char data[900];
    pfd_text text = begin_refusal(value, element, data, sizeof data);
    double low = row->min, high = row->max;
    if (!has_limits(row)) {
        low = -FLT_MAX;
        high = FLT_MAX;
    }
    if (isinf(low) && isinf(high)) {
        pfd_text_add(&text, "finite");
    } else if (isinf(high)) {
        pfd_text_add(&text, "finite and at least ");
        pfd_text_add_float(&text, low, is_float32);
    } else if (isinf(low)) {
        pfd_text_add(&text, "finite and at most ");
        pfd_text_add_float(&text, high, is_float32);
    } else {
        pfd_text_add(&text, "in [");
        pfd_text_add_float(&text, low, is_float32);
        pfd_text_add(&text, ", ");
        pfd_text_add_float(&text, high, is_float32);
        pfd_text_add(&text, "]");
    }
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, "%s", data);
}

static pfd_status store_number(const pfd_attr *row, const pfd_attr_value *value, void *out,
                               pfd_error *err)
{
    if (row->type == PFD_ATTR_INT32 || row->type == PFD_ATTR_INT64) {
        if (value->kind != PFD_VALUE_INT) return refuse_kind(row, value, err);
        PFD_TRY(check_int(row, value, value->i, -1, err));
        if (row->type == PFD_ATTR_INT32) *(int32_t *)out = (int32_t)value->i;
        else *(int64_t *)out = value->i;
        return PFD_OK;
    }
    if (value->kind != PFD_VALUE_FLOAT && value->kind != PFD_VALUE_INT)
        return refuse_kind(row, value, err);
    double number = value->kind == PFD_VALUE_INT ? (double)value->i : value->f;
    PFD_TRY(check_float(row, value, number, -1, err));
    if (row->type == PFD_ATTR_FLOAT32) *(float *)out = (float)number;
    else *(double *)out = number;
    return PFD_OK;
}

/* ---- Strings --------------------------------------------------------------------------------- */

/* Checks a string; if the row has choices, *choice is the number of the one that it is. */
static pfd_status check_string(const pfd_attr *row, const pfd_attr_value *value, const char *string,
                               int64_t element, int32_t *choice, pfd_error *err)
{
    if (!string)
        return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT,
                             " is given as a NULL string");
    const char *choices = row->choices;
    if (!choices && row->type == PFD_ATTR_DTYPE) choices = pfd_dtype_choices;
    if (!choices) return PFD_OK;
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = pfd_split_choices(choices, buffer, names);
    for (int64_t i = 0; i < n; i++)
        if (strcmp(string, names[i]) == 0) {
            *choice = (int32_t)i;
            return PFD_OK;
        }
    char data[900];
    pfd_text text = begin_refusal(value, element, data, sizeof data);
    pfd_text_add(&text, "one of ");
    for (int64_t i = 0; i < n; i++) pfd_text_add(&text, i ? ", %s" : "%s", names[i]);
    const char *near = pfd_nearest_name(string, names, n);
    if (near) pfd_text_add(&text, "; did you mean '%s'?", near);
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, "%s", data);
}

static pfd_status store_string(const pfd_attr *row, const pfd_attr_value *value,
                               pfd_scratch *memory, void *out, pfd_error *err)
{
    const char *string = value->s;
    if (value->kind == PFD_VALUE_BOOL && row->type == PFD_ATTR_CHOICE)
        string = value->i ? "true" : "false"; /* of the rows that have these choices */
    else if (value->kind != PFD_VALUE_STRING) return refuse_kind(row, value, err);
    int32_t choice = 0, is_inferred = row->type == PFD_ATTR_DTYPE && string && !*string &&
                                      row->default_value && !*row->default_value;
    if (!is_inferred) PFD_TRY(check_string(row, value, string, -1, &choice, err));
    if (row->type == PFD_ATTR_STRING) return copy_text(string, strlen(string), memory, out, err);
    *(int32_t *)out = row->type == PFD_ATTR_CHOICE ? choice : pfd_dtype_parse(string);
    return PFD_OK;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static pfd_status store_ints(const pfd_attr *row, const pfd_attr_value *value, int64_t *copy,
                             pfd_error *err)
{
    const int64_t *given = value->list;
    if (row->type == PFD_ATTR_SHAPE && value->list_size > PFD_MAX_DIMS)
        return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " dimensions; at most %d are possible",
                             value->list_size, PFD_MAX_DIMS);
    for (int64_t i = 0; i < value->list_size; i++) {
        PFD_TRY(check_int(row, value, given[i], i, err));
        copy[i] = given[i];
    }
    return PFD_OK;
}

static pfd_status store_floats(const pfd_attr *row, const pfd_attr_value *value, double *copy,
                               pfd_error *err)
{
    for (int64_t i = 0; i < value->list_size; i++) {
        copy[i] = value->kind == PFD_VALUE_LIST_INT ? (double)((const int64_t *)value->list)[i]
                                                    : ((const double *)value->list)[i];
        PFD_TRY(check_float(row, value, copy[i], i, err));
    }
    return PFD_OK;
}

static pfd_status store_strings(const pfd_attr *row, const pfd_attr_value *value,
                                pfd_scratch *memory, const char **copy, pfd_error *err)
{
    const char *const *given = value->list;
    for (int64_t i = 0; i < value->list_size; i++) {
        int32_t choice;
        PFD_TRY(check_string(row, value, given[i], i, &choice, err));
        PFD_TRY(copy_text(given[i], strlen(given[i]), memory, &copy[i], err));
    }
    return PFD_OK;
}

static int32_t is_list_for(const pfd_attr *row, const pfd_attr_value *value)
{
    if (value->kind < PFD_VALUE_LIST_INT || value->kind > PFD_VALUE_LIST_STRING) return 0;
    if (value->list_size == 0) return 1;
    switch (row->type) {
    case PFD_ATTR_LIST_FLOAT64: return value->kind != PFD_VALUE_LIST_STRING;
    case PFD_ATTR_LIST_STRING: return value->kind == PFD_VALUE_LIST_STRING;
    default: return value->kind == PFD_VALUE_LIST_INT;
    }
}

static pfd_status store_list(const pfd_attr *row, const pfd_attr_value *value, pfd_scratch *memory,
                             void *out, pfd_error *err)
{
    if (!is_list_for(row, value)) return refuse_kind(row, value, err);
    int64_t n = value->list_size;
    if (n < 0 || n > INT64_MAX / 64 || (n > 0 && !value->list))
        return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT,
                             " is given as a list of %" PRId64 " elements at %s", n,
                             value->list ? "an address" : "NULL");
    int64_t bytes = n * (int64_t)sizeof(int64_t);
    void *copy = pfd_scratch_alloc(memory, bytes);
    if (!copy) return pfd_fail_memory(err, bytes, "a list");
    switch (row->type) {
    case PFD_ATTR_LIST_FLOAT64:
        PFD_TRY(store_floats(row, value, copy, err));
        *(pfd_list_float64 *)out = (pfd_list_float64){copy, n};
        return PFD_OK;
    case PFD_ATTR_LIST_STRING:
        PFD_TRY(store_strings(row, value, memory, copy, err));
        *(pfd_list_string *)out = (pfd_list_string){copy, n};
        return PFD_OK;
    default:
        PFD_TRY(store_ints(row, value, copy, err));
        *(pfd_list_int64 *)out = (pfd_list_int64){copy, n};
        return PFD_OK;
    }
}

/* ---- Any value ------------------------------------------------------------------------------- */

pfd_status pfd_attr_store(const pfd_attr *row, const pfd_attr_value *value, pfd_scratch *memory,
                          void *out, pfd_error *err)
{
    switch (row->type) {
    case PFD_ATTR_BOOL:
        if (value->kind != PFD_VALUE_BOOL) return refuse_kind(row, value, err);
        *(int32_t *)out = value->i != 0;
        return PFD_OK;
    case PFD_ATTR_OBJECT:
        if (value->kind != PFD_VALUE_INT) return refuse_kind(row, value, err);
        *(int64_t *)out = value->i;
        return PFD_OK;
    case PFD_ATTR_INT32:
    case PFD_ATTR_INT64:
    case PFD_ATTR_FLOAT32:
    case PFD_ATTR_FLOAT64: return store_number(row, value, out, err);
    case PFD_ATTR_STRING:
    case PFD_ATTR_CHOICE:
    case PFD_ATTR_DTYPE: return store_string(row, value, memory, out, err);
    default: return store_list(row, value, memory, out, err);
    }
}

pfd_status pfd_attr_store_default(const pfd_attr *row, pfd_scratch *memory, void *out,
                                  pfd_error *err)
{
    pfd_attr_value value;
    PFD_TRY(pfd_attr_parse_default(row, memory, &value, err));
    return pfd_attr_store(row, &value, memory, out, err);
}
