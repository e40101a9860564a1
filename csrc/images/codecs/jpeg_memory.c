/* libjpeg's memory manager on a scratch: one bump allocation for each request.
 *
 * libjpeg calls these through cinfo->mem.  Its "virtual arrays", which may lie in temporary files,
 * are wholly in memory here.
 */
#ifdef PFD_HAVE_JPEG
#include "images/codecs/jpeg_memory.h"

#include <string.h>

#include <jerror.h>

enum { ROW_ALIGNMENT = 64 }; /* libjpeg-turbo's vector code reads and writes whole rows */

/* Declared, not defined, in jpeglib.h. */
struct jvirt_sarray_control {
    struct jvirt_sarray_control *next;
    JSAMPARRAY rows; /* NULL until realized */
    JDIMENSION width, height;
    boolean is_zeroed;
};

struct jvirt_barray_control {
    struct jvirt_barray_control *next;
    JBLOCKARRAY rows;
    JDIMENSION width, height;
    boolean is_zeroed;
};

static void *allocate(j_common_ptr cinfo, int pool_id, size_t bytes)
{
    pfd_jpeg_memory *self = (void *)cinfo->mem;
    void *memory =
        bytes <= INT64_MAX / 8 ? pfd_scratch_alloc(self->arena, (int64_t)bytes) : NULL;
    if (!memory) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, pool_id);
    return memory;
}

/* Rows of `row_bytes` bytes, one after another, and the pointers to them. */
static void *allocate_rows(j_common_ptr cinfo, int pool_id, size_t row_bytes, JDIMENSION rows,
                           boolean is_zeroed)
{
    row_bytes = (row_bytes + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    uint8_t **pointers = allocate(cinfo, pool_id, rows * sizeof *pointers);
    uint8_t *memory = allocate(cinfo, pool_id, rows * row_bytes);
    if (is_zeroed) memset(memory, 0, rows * row_bytes);
    for (JDIMENSION i = 0; i < rows; i++) pointers[i] = memory + i * row_bytes;
    return pointers;
}

static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int pool_id, JDIMENSION width, JDIMENSION rows)
{
    return allocate_rows(cinfo, pool_id, width * sizeof(JSAMPLE), rows, FALSE);
}

static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int pool_id, JDIMENSION width, JDIMENSION rows)
{
    return allocate_rows(cinfo, pool_id, width * sizeof(JBLOCK), rows, FALSE);
}

static jvirt_sarray_ptr request_virt_sarray(j_common_ptr cinfo, int pool_id, boolean is_zeroed,
                                            JDIMENSION width, JDIMENSION height,
                                            JDIMENSION max_access)
{
    pfd_jpeg_memory *self = (void *)cinfo->mem;
    jvirt_sarray_ptr array = allocate(cinfo, pool_id, sizeof *array);
    (void)max_access;
    *array = (struct jvirt_sarray_control){self->sarrays, NULL, width, height, is_zeroed};
    return self->sarrays = array;
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int pool_id, boolean is_zeroed,
                                            JDIMENSION width, JDIMENSION height,
                                            JDIMENSION max_access)
{
    pfd_jpeg_memory *self = (void *)cinfo->mem;
    jvirt_barray_ptr array = allocate(cinfo, pool_id, sizeof *array);
    (void)max_access;
    *array = (struct jvirt_barray_control){self->barrays, NULL, width, height, is_zeroed};
    return self->barrays = array;
}

static void realize_virt_arrays(j_common_ptr cinfo)
{
    pfd_jpeg_memory *self = (void *)cinfo->mem;
    for (jvirt_sarray_ptr array = self->sarrays; array; array = array->next)
        if (!array->rows)
            array->rows = allocate_rows(cinfo, JPOOL_IMAGE, array->width * sizeof(JSAMPLE),
                                        array->height, array->is_zeroed);
    for (jvirt_barray_ptr array = self->barrays; array; array = array->next)
        if (!array->rows)
            array->rows = allocate_rows(cinfo, JPOOL_IMAGE, array->width * sizeof(JBLOCK),
                                        array->height, array->is_zeroed);
}

static int is_inside(JDIMENSION start, JDIMENSION rows, JDIMENSION height)
{
    return start <= height && rows <= height - start;
}

static JSAMPARRAY access_virt_sarray(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION start,
                                     JDIMENSION rows, boolean writable)
{
    (void)writable;
    if (!array->rows || !is_inside(start, rows, array->height))
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    return array->rows + start;
}

static JBLOCKARRAY access_virt_barray(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION start,
                                      JDIMENSION rows, boolean writable)
{
    (void)writable;
    if (!array->rows || !is_inside(start, rows, array->height))
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    return array->rows + start;
}

static void free_pool(j_common_ptr cinfo, int pool_id)
{
    (void)cinfo;
    (void)pool_id;
}

static void self_destruct(j_common_ptr cinfo)
{
    (void)cinfo;
}

void pfd_jpeg_memory_install(pfd_jpeg_memory *self, j_common_ptr cinfo)
{
    *self = (pfd_jpeg_memory){
        .methods = {.alloc_small = allocate,
                    .alloc_large = allocate,
                    .alloc_sarray = alloc_sarray,
                    .alloc_barray = alloc_barray,
                    .request_virt_sarray = request_virt_sarray,
                    .request_virt_barray = request_virt_barray,
                    .realize_virt_arrays = realize_virt_arrays,
                    .access_virt_sarray = access_virt_sarray,
                    .access_virt_barray = access_virt_barray,
                    .free_pool = free_pool,
                    .self_destruct = self_destruct,
                    .max_memory_to_use = cinfo->mem->max_memory_to_use,
                    .max_alloc_chunk = cinfo->mem->max_alloc_chunk},
        .own = cinfo->mem};
    cinfo->mem = &self->methods;
}

void pfd_jpeg_memory_use(pfd_jpeg_memory *self, pfd_scratch *arena)
{
    self->arena = arena;
    self->sarrays = NULL;
    self->barrays = NULL;
}

void pfd_jpeg_memory_remove(pfd_jpeg_memory *self, j_common_ptr cinfo)
{
    if (self->own) cinfo->mem = self->own;
}
#else
typedef int pfd_jpeg_is_absent; /* a file has a declaration */
#endif
