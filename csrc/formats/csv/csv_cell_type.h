/* formats/csv/csv_cell_type.h -- which number a cell of a CSV file is. */
#ifndef PFD_FORMATS_CSV_CSV_CELL_TYPE_H
#define PFD_FORMATS_CSV_CSV_CELL_TYPE_H
#include "core/rows.h"

/* As formats/csv/cells.py knows them. */
enum {
    PFD_CSV_MISSING = 1,
    PFD_CSV_TEXT = 2,
    PFD_CSV_FLOAT = 4,
    PFD_CSV_INTEGER = 8,   /* 0 to 2^63 - 1 */
    PFD_CSV_NEGATIVE = 16, /* -2^63 to -1 */
    PFD_CSV_UNSIGNED = 32, /* 2^63 to 2^64 - 1 */
    PFD_CSV_BEYOND = 64,   /* an integer outside these */
    PFD_CSV_INEXACT = 128, /* an integer that float64 may not hold */
    PFD_CSV_INFINITE = 256 /* digits of a float that is too large for float64 */
};

/* A cell without the spaces and tabs around it. */
static inline pfd_bytes pfd_csv_stripped(pfd_bytes cell)
{
    while (cell.size > 0 && (cell.data[0] == ' ' || cell.data[0] == '\t')) {
        cell.data++;
        cell.size--;
    }
    while (cell.size > 0 && (cell.data[cell.size - 1] == ' ' || cell.data[cell.size - 1] == '\t'))
        cell.size--;
    return cell;
}

/* The type of a stripped cell that is not empty, as bits but for PFD_CSV_MISSING.  A number whose
 * text would change when it is written again, as 01234 or +5, is text. */
uint32_t pfd_csv_cell_type(pfd_bytes cell);
#endif
