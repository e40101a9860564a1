/* A stream without a fault. */
#include "box.h"

#define BOX_STREAM
#include "box_plugin.h"
