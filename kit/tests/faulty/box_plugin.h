/* box_plugin.h -- the descriptor of a plugin over box.h; what is faulty is defined before. */
#ifndef BOX_CLOSE
#define BOX_CLOSE box_close
#endif
#ifndef BOX_SIZE
#define BOX_SIZE box_size
#endif
#ifndef BOX_AT
#define BOX_AT box_at
#endif
#ifndef BOX_DESCRIBE
#define BOX_DESCRIBE NULL
#endif
#ifndef BOX_PLACES
#define BOX_PLACES NULL
#endif
#ifndef BOX_BLOCKS
#define BOX_BLOCKS NULL
#endif
#ifndef BOX_NEED
#define BOX_NEED NULL
#endif
#ifndef BOX_NEXT
#define BOX_NEXT box_next
#endif
#ifndef BOX_SEEK
#define BOX_SEEK box_seek
#endif
#ifndef BOX_INDEX
#define BOX_INDEX box_index_file
#endif
#ifdef BOX_ROW /* called for each row after it is written: void (args, row) */
static pfd_status box_compute_rows(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        BOX_ROW(args, row);
    }
    return PFD_OK;
}
#define BOX_COMPUTE box_compute_rows
#endif
#ifndef BOX_COMPUTE
#define BOX_COMPUTE box_compute
#endif
#ifndef BOX_GROUP
#define BOX_GROUP NULL
#endif
#ifndef BOX_COMPANIONS
#define BOX_COMPANIONS NULL
#endif
#ifndef BOX_OPS
#define BOX_OPS &box_op
#endif
#ifndef BOX_INFER
#define BOX_INFER box_infer
#endif
#ifndef BOX_OP_SIZE
#define BOX_OP_SIZE sizeof(pfd_op)
#endif

#ifndef BOX_METHODS
static const pfd_source_methods box_methods = {
    PFD_SIZE(pfd_source_methods),
    .close = BOX_CLOSE,
#ifdef BOX_STREAM
    .next = BOX_NEXT,
    .seek = BOX_SEEK,
#else
    .size = BOX_SIZE,
    .at = BOX_AT,
    .describe = BOX_DESCRIBE,
    .places = BOX_PLACES,
    .blocks = BOX_BLOCKS,
    .need = BOX_NEED,
#endif
};
#endif

#ifndef BOX_ROW_WIDTH
#define BOX_ROW_WIDTH BOX_WIDTH
#endif

static pfd_status box_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {BOX_ROW_WIDTH}};
    args->outputs[1] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

#ifndef BOX_OPEN
#define BOX_OPEN box_open
static pfd_status box_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return box_open_with(args, out, &box_methods, BOX_INDEX, err);
}
#endif

static const pfd_port box_outputs[] = {
    {"values", "The payload, filled up with zeros."},
    {"size", "Bytes of the payload."},
};

static const pfd_op box_op = {
    (uint32_t)(BOX_OP_SIZE), sizeof(pfd_attr),
    sizeof(pfd_port),        .flags = PFD_READS_FILES,
    .name = "BoxReader",     .doc = "Reads box files.",
    .outputs = box_outputs,  .num_outputs = PFD_COUNT(box_outputs),
    .infer = BOX_INFER,      .open = BOX_OPEN,
    .compute = BOX_COMPUTE,  .group = BOX_GROUP,
    .companions = BOX_COMPANIONS,
};

#ifdef BOX_PROBE
static const pfd_format box_format = {
    .struct_size = (uint32_t)sizeof(pfd_format), .name = "box",       .title = "Box",
    .doc = "Records in boxes, for tests.",       .suffixes = ".box",  .reader = "BoxReader",
    .probe = BOX_PROBE,
};
static const pfd_op *const box_ops[] = {BOX_OPS};
static const pfd_format *const box_formats[] = {&box_format};
PFD_PLUGIN_WITH_FORMATS("box", "1.0", box_ops, box_formats)
#else
PFD_PLUGIN("box", "1.0", BOX_OPS)
#endif
