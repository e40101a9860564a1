/* A reader without a fault. */
#include "box.h"

#include "box_plugin.h"
