/* A reader without a fault of records of any length, also in files of more than 4 GB. */
#include "box_wide.h"

#include "box_plugin.h"
