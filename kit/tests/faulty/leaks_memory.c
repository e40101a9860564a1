/* Keeps its index when it is closed.
 *
 * group: leaks
 * finding: leaks-memory
 * says: closing left \d+ bytes of malloc\(\) memory unfreed */
#include "box.h"

static void faulty_close(void *source)
{
    free(source);
}

#define BOX_CLOSE faulty_close
#include "box_plugin.h"
