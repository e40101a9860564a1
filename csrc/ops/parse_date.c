/* ParseDate: the date and time that a text states, as an integer. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { MOST_SHOWN = 40 }; /* bytes of a text in a message */

/* The attr `unit`, in the order of its choices. */
enum { DAYS, SECONDS, MS, US, NS, YEAR, MONTH, DAY, WEEKDAY, YEARDAY, HOUR };
#define UNITS "days|s|ms|us|ns|year|month|day|weekday|yearday|hour"

typedef struct parse_date_attrs {
    const char *format;
    int64_t fill;
    int32_t unit, on_bad;
} parse_date_attrs;

/* ---- The calendar ---------------------------------------------------------------------------- */

#define DAYS_BEFORE_1970 719162 /* from 0001-01-01, day 0 */
#define SECONDS_OF_DAY 86400

/* Days of a year before each month, of years that are no leap years and of those that are. */
static const int64_t days_before[2][13] = {
    {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
    {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366},
};

static int32_t is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_before_year(int64_t year)
{
    int64_t past = year - 1;
    return 365 * past + past / 4 - past / 100 + past / 400;
}

/* The part of an instant that a unit stands for. `day` counts from 0001-01-01. */
static int64_t part_of(int64_t day, int64_t seconds, int32_t unit)
{
    if (unit == WEEKDAY) return day % 7; /* 0001-01-01 is a Monday */
    if (unit == HOUR) return seconds / 3600;
    int64_t year = day * 400 / 146097 + 1, month = 1;
    while (days_before_year(year) > day) year--;
    while (days_before_year(year + 1) <= day) year++;
    int64_t rest = day - days_before_year(year);
    if (unit == YEAR || unit == YEARDAY) return unit == YEAR ? year : rest + 1;
    while (days_before[is_leap(year)][month] <= rest) month++;
    return unit == MONTH ? month : rest - days_before[is_leap(year)][month - 1] + 1;
}

/* ---- Parts of a text ------------------------------------------------------------------------- */

/* What a text states.  0: it does not state the part. */
typedef struct date {
    int64_t year, month, day, yearday, hour, half_hour, minute, second, nanoseconds;
    int64_t short_year; /* the last two digits of the year, and 1 */
    int64_t offset;     /* from UTC, in seconds */
    int32_t is_afternoon;
} date;

typedef struct text {
    const uint8_t *data;
    int64_t size, at;
    const char *expected; /* at `at`, once something has failed */
} text;

/* A part of one to four digits; what is kept is its value plus `added`. */
typedef struct digits {
    char letter;
    int32_t least, most, min, max, added;
    size_t offset;
    const char *expected;
} digits;

static const digits numbers[] = {
    {'Y', 4, 4, 1, 9999, 0, offsetof(date, year), "a year of four digits, from 0001"},
    {'y', 2, 2, 0, 99, 1, offsetof(date, short_year), "a year of two digits"},
    {'m', 1, 2, 1, 12, 0, offsetof(date, month), "a month from 1 to 12"},
    {'d', 1, 2, 1, 31, 0, offsetof(date, day), "a day from 1 to 31"},
    {'j', 1, 3, 1, 366, 0, offsetof(date, yearday), "a day of the year from 1 to 366"},
    {'H', 1, 2, 0, 23, 0, offsetof(date, hour), "an hour from 0 to 23"},
    {'I', 1, 2, 1, 12, 0, offsetof(date, half_hour), "an hour from 1 to 12"},
    {'M', 1, 2, 0, 59, 0, offsetof(date, minute), "a minute from 0 to 59"},
    {'S', 1, 2, 0, 59, 0, offsetof(date, second), "a second from 0 to 59"},
};
#define OTHER_DIRECTIVES "bfpz%"

static const digits *numbers_of(char letter)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].letter == letter) return &numbers[i];
    return NULL;
}

static int32_t fail_at(text *in, const char *expected)
{
    in->expected = expected;
    return 0;
}

static int32_t is_digit(const text *in)
{
    return in->at < in->size && (uint8_t)(in->data[in->at] - '0') <= 9;
}

static int32_t read_number(text *in, const digits *kind, int32_t least, void *out)
{
    int64_t begin = in->at, value = 0;
    while (in->at - begin < kind->most && is_digit(in))
        value = 10 * value + in->data[in->at++] - '0';
    if (in->at - begin < least || value < kind->min || value > kind->max) {
        in->at = begin;
        return fail_at(in, kind->expected);
    }
    *(int64_t *)(void *)((uint8_t *)out + kind->offset) = value + kind->added;
    return 1;
}

static int32_t take(text *in, char c)
{
    if (in->at >= in->size || in->data[in->at] != (uint8_t)c) return 0;
    in->at++;
    return 1;
}

/* Up to nine digits of a fraction. */
static int32_t read_fraction(text *in, date *out)
{
    int64_t unit = 1000000000;
    if (!is_digit(in)) return fail_at(in, "the digits of a fraction");
    for (; is_digit(in) && unit > 1; in->at++)
        out->nanoseconds += (in->data[in->at] - '0') * (unit /= 10);
    return 1;
}

/* Z, +02:00, +0200 or +02. */
static int32_t read_offset(text *in, date *out)
{
    date found = {0};
    if (take(in, 'Z') || take(in, 'z')) return 1;
    int32_t is_west = take(in, '-');
    if (!is_west && !take(in, '+')) return fail_at(in, "Z or an offset such as +02:00");
    if (!read_number(in, numbers_of('H'), 2, &found)) return 0;
    int32_t has_minutes = take(in, ':') || is_digit(in);
    if (has_minutes && !read_number(in, numbers_of('M'), 2, &found)) return 0;
    out->offset = (is_west ? -60 : 60) * (60 * found.hour + found.minute);
    return 1;
}

/* One of names of `width` capital letters, in any case: its number, or -1. */
static int64_t read_name(text *in, const char *names, int64_t count, int64_t width)
{
    for (int64_t i = 0; i < count && in->size - in->at >= width; i++) {
        int64_t same = 0;
        while (same < width && (in->data[in->at + same] & ~0x20) == names[i * width + same]) same++;
        if (same < width) continue;
        in->at += width;
        return i;
    }
    return -1;
}

static int32_t read_directive(text *in, char letter, date *out)
{
    const digits *kind = numbers_of(letter);
    int64_t found;
    if (kind) return read_number(in, kind, kind->least, out);
    switch (letter) {
    case 'f': return read_fraction(in, out);
    case 'z': return read_offset(in, out);
    case 'b':
        found = read_name(in, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 12, 3);
        out->month = found + 1;
        return found >= 0 ? 1 : fail_at(in, "a month from Jan to Dec");
    case 'p':
        found = read_name(in, "AMPM", 2, 2);
        out->is_afternoon = found == 1;
        return found >= 0 ? 1 : fail_at(in, "AM or PM");
    default: return take(in, '%') ? 1 : fail_at(in, "a %");
    }
}

static int32_t read_format(text *in, const char *format, date *out)
{
    for (const char *c = format; *c; c++) {
        if (*c == '%') {
            if (!read_directive(in, *++c, out)) return 0;
        } else if (!take(in, *c)) {
            return fail_at(in, "the text of format between the parts");
        }
    }
    return 1;
}

static inline uint32_t two_digits(const uint8_t *at)
{
    uint32_t tens = at[0] - (uint32_t)'0', ones = at[1] - (uint32_t)'0';
    return tens <= 9 && ones <= 9 ? 10 * tens + ones : 100;
}

/* 2024-02-29, which most dates begin with, without a loop.  0: something else is there, and nothing
 * was read. */
static int32_t read_plain_day(text *in, date *out)
{
    if (in->size - in->at < 10) return 0;
    const uint8_t *at = in->data + in->at;
    uint32_t century = two_digits(at), year = 100 * century + two_digits(at + 2);
    uint32_t month = two_digits(at + 5), day = two_digits(at + 8);
    if (at[4] != '-' || at[7] != '-' || century > 99 || two_digits(at + 2) > 99 || year < 1 ||
        month - 1 > 11 || day - 1 > 30)
        return 0;
    out->year = year;
    out->month = month;
    out->day = day;
    in->at += 10;
    return 1;
}

/* 2024-02-29, also with T or a space, 12:30, :59, .123456789 and Z or +02:00. */
static int32_t read_iso(text *in, date *out)
{
    static const char order[] = "Ymd", clock[] = "HM";
    for (int32_t i = read_plain_day(in, out) ? 3 : 0; i < 3; i++) {
        if (i > 0 && !take(in, '-')) return fail_at(in, "a - between year, month and day");
        const digits *kind = numbers_of(order[i]);
        if (!read_number(in, kind, kind->most, out)) return 0;
    }
    if (!take(in, 'T') && !take(in, 't') && !take(in, ' ')) return 1;
    for (int32_t i = 0; i < 2; i++) {
        if (i > 0 && !take(in, ':')) return fail_at(in, "a : between hour and minute");
        if (!read_number(in, numbers_of(clock[i]), 2, out)) return 0;
    }
    if (take(in, ':')) {
        if (!read_number(in, numbers_of('S'), 2, out)) return 0;
        if ((take(in, '.') || take(in, ',')) && !read_fraction(in, out)) return 0;
    }
    return in->at == in->size || read_offset(in, out);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The day from 0001-01-01 that is stated; what is not stated is that of 1970-01-01. */
static int32_t day_of(text *in, const date *found, int64_t *out)
{
    int64_t year = found->year;
    if (found->short_year) year = found->short_year - 1 + (found->short_year > 69 ? 1900 : 2000);
    if (!year) year = 1970;
    const int64_t *before = days_before[is_leap(year)];
    int64_t month = found->month ? found->month : 1, day = found->day ? found->day : 1;
    int64_t place = found->yearday ? found->yearday : before[month - 1] + day;
    *out = days_before_year(year) + place - 1;
    if (found->yearday ? found->yearday <= before[12] : day <= before[month] - before[month - 1])
        return 1;
    return fail_at(in, "a day that the month, or the year, has");
}

static int32_t number_of(text *in, const date *found, int32_t unit, int64_t *out)
{
    static const int64_t of_second[] = {
        [SECONDS] = 1, [MS] = 1000, [US] = 1000000, [NS] = 1000000000};
    int64_t day, hour = found->hour;
    if (found->half_hour) hour = found->half_hour % 12 + 12 * found->is_afternoon;
    if (!day_of(in, found, &day)) return 0;
    int64_t seconds = 3600 * hour + 60 * found->minute + found->second - found->offset;
    int64_t shift = seconds < 0 ? -1 : seconds >= SECONDS_OF_DAY; /* an offset is below a day */
    day += shift;
    seconds -= shift * SECONDS_OF_DAY;
    if (day < 0 || day >= days_before_year(10000))
        return fail_at(in, "a year from 1 to 9999 in UTC");
    *out = day - DAYS_BEFORE_1970;
    if (unit == DAYS) return 1;
    if (unit > NS) {
        *out = part_of(day, seconds, unit);
        return 1;
    }
    int64_t rate = of_second[unit];
    if (__builtin_mul_overflow(*out * SECONDS_OF_DAY + seconds, rate, out) ||
        __builtin_add_overflow(*out, found->nanoseconds / (1000000000 / rate), out))
        return fail_at(in, "a date that int64 holds in this unit");
    return 1;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const parse_date_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_bytes(args, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    for (const char *c = attrs->format; *c; c++) {
        if (*c != '%') continue;
        c++;
        if (!*c || (!numbers_of(*c) && !strchr(OTHER_DIRECTIVES, *c)))
            return args->host->fail_attr(
                err, "format", NULL, PFD_INVALID_ARGUMENT,
                " = \"%s\": %%%s is not known; it has %%Y %%y %%m %%b %%d %%j %%H %%I %%p %%M %%S "
                "%%f %%z and %%%%", attrs->format, *c ? (const char[]){*c, 0} : "");
    }
    return PFD_OK;
}

static int32_t is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static pfd_status convert(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const parse_date_attrs *attrs = args->attrs;
    pfd_bytes row = pfd_row_bytes(args->inputs[0], i), bare = row;
    while (bare.size > 0 && is_space(bare.data[bare.size - 1])) bare.size--;
    while (bare.size > 0 && is_space(bare.data[0])) bare.data++, bare.size--;
    text in = {.data = bare.data, .size = bare.size};
    date found = {0};
    int64_t *out = (int64_t *)(void *)args->outputs[0]->data + i;
    int32_t is_read = *attrs->format ? read_format(&in, attrs->format, &found)
                                     : read_iso(&in, &found);
    if (is_read && in.at < in.size) is_read = fail_at(&in, "the end of the text");
    if (is_read && number_of(&in, &found, attrs->unit, out)) return PFD_OK;
    if (attrs->on_bad) {
        *out = attrs->fill;
        return PFD_OK;
    }
    int32_t shown = row.size > MOST_SHOWN ? MOST_SHOWN : (int32_t)row.size;
    const uint8_t *place = bare.size > 0 ? bare.data + in.at : row.data; /* NULL: an empty row */
    return args->host->fail_row(
        err, i, pfd_place_in_record(args, i, place), PFD_CORRUPT_DATA,
        "byte %" PRId64 " of the text '%.*s'%s: expected %s; on_bad='fill' of ParseDate keeps such "
        "records, with the value of fill",
        row.size > 0 ? (int64_t)(place - row.data) : 0, shown,
        shown ? (const char *)row.data : "", shown < row.size ? "..." : "", in.expected);
}

PFD_COMPUTE_EACH_ROW(convert)

static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(parse_date_attrs, format, "",
                    "The form of the texts, as strptime() of Python has it: %Y %y %m %b %d %j %H "
                    "%I %p %M %S %f %z %%, and other characters, which stand for themselves; left "
                    "out, ISO 8601: 2024-02-29, 2024-02-29T12:30, 2024-02-29 12:30:59.25+02:00."),
    PFD_CHOICE_ATTR(parse_date_attrs, unit, "s", UNITS,
                    "The meaning of the integer: the days, seconds, milliseconds, microseconds or "
                    "nanoseconds since 1970-01-01 in UTC, rounded down; or a part of the date and "
                    "time in UTC: month and day from 1, weekday from 0 (Monday), yearday from 1."),
    PFD_CHOICE_ATTR(parse_date_attrs, on_bad, "raise", "raise|fill",
                    "How to handle a text that is empty, or not a date of this form; raise: its "
                    "record is damaged, and on_error of the reader or batches decides whether that "
                    "is an error; fill: the record is kept, and its row is the value of fill."),
    PFD_INT_ATTR(parse_date_attrs, fill, "-9223372036854775808", 0, 0,
                 "The integer in rows without a date; the default is NaT of NumPy's datetime64, "
                 "which Statistics and FillMissing treat as missing, and which Affine turns into "
                 "NaN."),
};

static const pfd_port inputs[] = {{"in", "Rows of text, uint8 of one dimension, which may vary."}};
static const pfd_port outputs[] = {{"out", "One int64 for each row."}};

const pfd_op pfd_op_parse_date = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ParseDate",
    .doc = "Parses the text of each row as a date and time, and returns an integer. Years are 0001 "
           "to 9999 of the Gregorian calendar. A text without an offset is UTC. Parts that the "
           "form does not have are taken from 1970-01-01 00:00. %y is 1969 to 2068, %b the first "
           "three letters of an English month in any case, %f one to nine digits, %z Z or an "
           "offset such as +02:00. White space around the text is ignored.",
    PFD_OP_ATTRS(parse_date_attrs, attr_table),
};
