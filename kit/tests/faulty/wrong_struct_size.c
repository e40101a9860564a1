/* Was written for a descriptor of another size.
 *
 * group: descriptor
 * finding: descriptor
 * says: struct_size is 24; it must be sizeof\(pfd_op\) */
#include "box.h"

#define BOX_OP_SIZE 24
#include "box_plugin.h"
