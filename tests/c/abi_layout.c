/* The layout of op.h 1.1 as static asserts; written by tools/abi_layout.py. */
#include "pyflowdata/op.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " is of another size")
#define AT(type, field, place, bytes)                                                              \
    _Static_assert(offsetof(type, field) == (place) && sizeof(((type *)0)->field) == (bytes),      \
                   #type "." #field " is at another place")

SIZE(pfd_status, 4);

#ifdef __LP64__

SIZE(pfd_error, 1728);
AT(pfd_error, struct_size, 0, 4);
AT(pfd_error, status, 4, 4);
AT(pfd_error, row, 8, 8);
AT(pfd_error, byte, 16, 8);
AT(pfd_error, line, 24, 8);
AT(pfd_error, ordinal, 32, 8);
AT(pfd_error, op, 40, 64);
AT(pfd_error, file, 104, 512);
AT(pfd_error, message, 616, 1024);
AT(pfd_error, reason, 1640, 4);
AT(pfd_error, reserved, 1644, 4);
AT(pfd_error, records, 1648, 8);
AT(pfd_error, cause, 1656, 8);
AT(pfd_error, attr, 1664, 64);

SIZE(pfd_row_type, 72);
AT(pfd_row_type, dtype, 0, 4);
AT(pfd_row_type, ndim, 4, 4);
AT(pfd_row_type, shape, 8, 64);

SIZE(pfd_ragged_row, 24);
AT(pfd_ragged_row, data, 0, 8);
AT(pfd_ragged_row, num_elements, 8, 8);
AT(pfd_ragged_row, shape, 16, 8);

SIZE(pfd_tensor, 104);
AT(pfd_tensor, struct_size, 0, 4);
AT(pfd_tensor, is_ragged, 4, 4);
AT(pfd_tensor, type, 8, 72);
AT(pfd_tensor, data, 80, 8);
AT(pfd_tensor, row_bytes, 88, 8);
AT(pfd_tensor, rows, 96, 8);

SIZE(pfd_list_int64, 16);
AT(pfd_list_int64, data, 0, 8);
AT(pfd_list_int64, size, 8, 8);

SIZE(pfd_list_float64, 16);
AT(pfd_list_float64, data, 0, 8);
AT(pfd_list_float64, size, 8, 8);

SIZE(pfd_list_string, 16);
AT(pfd_list_string, data, 0, 8);
AT(pfd_list_string, size, 8, 8);

SIZE(pfd_attr, 72);
AT(pfd_attr, name, 0, 8);
AT(pfd_attr, type, 8, 4);
AT(pfd_attr, offset, 12, 4);
AT(pfd_attr, size, 16, 4);
AT(pfd_attr, default_value, 24, 8);
AT(pfd_attr, min, 32, 8);
AT(pfd_attr, max, 40, 8);
AT(pfd_attr, choices, 48, 8);
AT(pfd_attr, doc, 56, 8);
AT(pfd_attr, flags, 64, 8);

SIZE(pfd_file, 24);
AT(pfd_file, struct_size, 0, 4);
AT(pfd_file, index, 4, 4);
AT(pfd_file, path, 8, 8);
AT(pfd_file, size, 16, 8);

SIZE(pfd_record, 40);
AT(pfd_record, data, 0, 8);
AT(pfd_record, size, 8, 8);
AT(pfd_record, offset, 16, 8);
AT(pfd_record, ordinal, 24, 8);
AT(pfd_record, file, 32, 4);
AT(pfd_record, filler, 36, 4);

SIZE(pfd_place, 16);
AT(pfd_place, offset, 0, 8);
AT(pfd_place, file, 8, 4);
AT(pfd_place, reserved, 12, 4);

SIZE(pfd_source_methods, 96);
AT(pfd_source_methods, struct_size, 0, 4);
AT(pfd_source_methods, reserved, 4, 4);
AT(pfd_source_methods, close, 8, 8);
AT(pfd_source_methods, size, 16, 8);
AT(pfd_source_methods, at, 24, 8);
AT(pfd_source_methods, next, 32, 8);
AT(pfd_source_methods, seek, 40, 8);
AT(pfd_source_methods, describe, 48, 8);
AT(pfd_source_methods, places, 56, 8);
AT(pfd_source_methods, fingerprint, 64, 8);
AT(pfd_source_methods, record_bytes, 72, 8);
AT(pfd_source_methods, blocks, 80, 8);
AT(pfd_source_methods, need, 88, 8);

SIZE(pfd_source, 24);
AT(pfd_source, struct_size, 0, 4);
AT(pfd_source, reserved, 4, 4);
AT(pfd_source, methods, 8, 8);
AT(pfd_source, self, 16, 8);

SIZE(pfd_frame, 32);
AT(pfd_frame, struct_size, 0, 4);
AT(pfd_frame, is_record, 4, 4);
AT(pfd_frame, data, 8, 8);
AT(pfd_frame, size, 16, 8);
AT(pfd_frame, next, 24, 8);

SIZE(pfd_frame_args, 48);
AT(pfd_frame_args, struct_size, 0, 4);
AT(pfd_frame_args, reserved, 4, 4);
AT(pfd_frame_args, host, 8, 8);
AT(pfd_frame_args, attrs, 16, 8);
AT(pfd_frame_args, file, 24, 8);
AT(pfd_frame_args, offset, 32, 8);
AT(pfd_frame_args, scratch, 40, 8);

SIZE(pfd_framing, 16);
AT(pfd_framing, struct_size, 0, 4);
AT(pfd_framing, has_header, 4, 4);
AT(pfd_framing, frame, 8, 8);

SIZE(pfd_fixed_layout, 32);
AT(pfd_fixed_layout, struct_size, 0, 4);
AT(pfd_fixed_layout, reserved, 4, 4);
AT(pfd_fixed_layout, header_bytes, 8, 8);
AT(pfd_fixed_layout, record_bytes, 16, 8);
AT(pfd_fixed_layout, footer_bytes, 24, 8);

SIZE(pfd_infer_args, 56);
AT(pfd_infer_args, struct_size, 0, 4);
AT(pfd_infer_args, reserved, 4, 4);
AT(pfd_infer_args, host, 8, 8);
AT(pfd_infer_args, attrs, 16, 8);
AT(pfd_infer_args, inputs, 24, 8);
AT(pfd_infer_args, outputs, 32, 8);
AT(pfd_infer_args, num_inputs, 40, 8);
AT(pfd_infer_args, num_outputs, 48, 8);

SIZE(pfd_companion_args, 64);
AT(pfd_companion_args, struct_size, 0, 4);
AT(pfd_companion_args, reserved, 4, 4);
AT(pfd_companion_args, host, 8, 8);
AT(pfd_companion_args, attrs, 16, 8);
AT(pfd_companion_args, paths, 24, 8);
AT(pfd_companion_args, num_paths, 32, 8);
AT(pfd_companion_args, list, 40, 8);
AT(pfd_companion_args, add, 48, 8);
AT(pfd_companion_args, replace, 56, 8);

SIZE(pfd_propose_args, 104);
AT(pfd_propose_args, struct_size, 0, 4);
AT(pfd_propose_args, reserved, 4, 4);
AT(pfd_propose_args, host, 8, 8);
AT(pfd_propose_args, attrs, 16, 8);
AT(pfd_propose_args, paths, 24, 8);
AT(pfd_propose_args, num_paths, 32, 8);
AT(pfd_propose_args, scratch, 40, 8);
AT(pfd_propose_args, found, 48, 8);
AT(pfd_propose_args, open, 56, 8);
AT(pfd_propose_args, set_int, 64, 8);
AT(pfd_propose_args, set_string, 72, 8);
AT(pfd_propose_args, set_ints, 80, 8);
AT(pfd_propose_args, set_strings, 88, 8);
AT(pfd_propose_args, leave_out, 96, 8);

SIZE(pfd_open_args, 56);
AT(pfd_open_args, struct_size, 0, 4);
AT(pfd_open_args, access, 4, 4);
AT(pfd_open_args, host, 8, 8);
AT(pfd_open_args, attrs, 16, 8);
AT(pfd_open_args, files, 24, 8);
AT(pfd_open_args, num_files, 32, 8);
AT(pfd_open_args, scratch, 40, 8);
AT(pfd_open_args, index, 48, 8);

SIZE(pfd_compute_args, 96);
AT(pfd_compute_args, struct_size, 0, 4);
AT(pfd_compute_args, reserved, 4, 4);
AT(pfd_compute_args, host, 8, 8);
AT(pfd_compute_args, attrs, 16, 8);
AT(pfd_compute_args, num_rows, 24, 8);
AT(pfd_compute_args, records, 32, 8);
AT(pfd_compute_args, inputs, 40, 8);
AT(pfd_compute_args, outputs, 48, 8);
AT(pfd_compute_args, scratch, 56, 8);
AT(pfd_compute_args, random_key, 64, 8);
AT(pfd_compute_args, num_inputs, 72, 8);
AT(pfd_compute_args, num_outputs, 80, 8);
AT(pfd_compute_args, source, 88, 8);

SIZE(pfd_group_args, 40);
AT(pfd_group_args, struct_size, 0, 4);
AT(pfd_group_args, reserved, 4, 4);
AT(pfd_group_args, host, 8, 8);
AT(pfd_group_args, attrs, 16, 8);
AT(pfd_group_args, record, 24, 8);
AT(pfd_group_args, scratch, 32, 8);

SIZE(pfd_host, 120);
AT(pfd_host, struct_size, 0, 4);
AT(pfd_host, abi_major, 4, 4);
AT(pfd_host, abi_minor, 8, 4);
AT(pfd_host, reserved, 12, 4);
AT(pfd_host, fail, 16, 8);
AT(pfd_host, fail_row, 24, 8);
AT(pfd_host, fail_file, 32, 8);
AT(pfd_host, alloc, 40, 8);
AT(pfd_host, is_cancelled, 48, 8);
AT(pfd_host, read, 56, 8);
AT(pfd_host, open_lines, 64, 8);
AT(pfd_host, open_frames, 72, 8);
AT(pfd_host, open_fixed, 80, 8);
AT(pfd_host, parse_double, 88, 8);
AT(pfd_host, random_bits, 96, 8);
AT(pfd_host, looks_like, 104, 8);
AT(pfd_host, fail_attr, 112, 8);

SIZE(pfd_port, 16);
AT(pfd_port, name, 0, 8);
AT(pfd_port, doc, 8, 8);

SIZE(pfd_op, 168);
AT(pfd_op, struct_size, 0, 4);
AT(pfd_op, attr_size, 4, 4);
AT(pfd_op, port_size, 8, 4);
AT(pfd_op, flags, 12, 4);
AT(pfd_op, name, 16, 8);
AT(pfd_op, aliases, 24, 8);
AT(pfd_op, doc, 32, 8);
AT(pfd_op, attrs, 40, 8);
AT(pfd_op, num_attrs, 48, 4);
AT(pfd_op, attrs_struct_size, 52, 4);
AT(pfd_op, inputs, 56, 8);
AT(pfd_op, num_inputs, 64, 4);
AT(pfd_op, outputs, 72, 8);
AT(pfd_op, num_outputs, 80, 4);
AT(pfd_op, infer, 88, 8);
AT(pfd_op, open, 96, 8);
AT(pfd_op, compute, 104, 8);
AT(pfd_op, group, 112, 8);
AT(pfd_op, outputs_attr, 120, 8);
AT(pfd_op, companions, 128, 8);
AT(pfd_op, propose, 136, 8);
AT(pfd_op, group_attr, 144, 8);
AT(pfd_op, batch_size_attr, 152, 8);
AT(pfd_op, same_without, 160, 8);

SIZE(pfd_probe_args, 40);
AT(pfd_probe_args, struct_size, 0, 4);
AT(pfd_probe_args, reserved, 4, 4);
AT(pfd_probe_args, data, 8, 8);
AT(pfd_probe_args, size, 16, 8);
AT(pfd_probe_args, file_size, 24, 8);
AT(pfd_probe_args, path, 32, 8);

SIZE(pfd_probe_folder_args, 16);
AT(pfd_probe_folder_args, struct_size, 0, 4);
AT(pfd_probe_folder_args, reserved, 4, 4);
AT(pfd_probe_folder_args, path, 8, 8);

SIZE(pfd_format, 96);
AT(pfd_format, struct_size, 0, 4);
AT(pfd_format, flags, 4, 4);
AT(pfd_format, name, 8, 8);
AT(pfd_format, title, 16, 8);
AT(pfd_format, doc, 24, 8);
AT(pfd_format, suffixes, 32, 8);
AT(pfd_format, reader, 40, 8);
AT(pfd_format, decoders, 48, 8);
AT(pfd_format, checks, 56, 8);
AT(pfd_format, folder_file, 64, 8);
AT(pfd_format, probe, 72, 8);
AT(pfd_format, resync, 80, 8);
AT(pfd_format, probe_folder, 88, 8);

SIZE(pfd_plugin, 56);
AT(pfd_plugin, struct_size, 0, 4);
AT(pfd_plugin, abi_major, 4, 4);
AT(pfd_plugin, abi_minor, 8, 4);
AT(pfd_plugin, num_ops, 12, 4);
AT(pfd_plugin, ops, 16, 8);
AT(pfd_plugin, name, 24, 8);
AT(pfd_plugin, version, 32, 8);
AT(pfd_plugin, num_formats, 40, 4);
AT(pfd_plugin, reserved, 44, 4);
AT(pfd_plugin, formats, 48, 8);

#endif
