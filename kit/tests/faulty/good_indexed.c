/* A reader with companion files, without a fault.
 *
 * sample: indexed */
#include "box_index.h"

#include "box_plugin.h"
