/* A reader of records of one size, without a fault: what is cut off at the
 * end of one cannot be noticed.
 *
 * warns: cut-unnoticed
 * sample: fixed */
#include "box_fixed.h"

#include "box_plugin.h"
