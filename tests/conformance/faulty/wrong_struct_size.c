/* Was written for a descriptor of another size. */
#include "box.h"

#define BOX_OP_SIZE 24
#include "box_plugin.h"
