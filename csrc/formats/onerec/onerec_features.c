/* Finds the features of a OneRec message. */
#include "formats/onerec/onerec_features.h"

#include "core/bytes.h"

#include <string.h>

/* Numbers of fields; a union has two, its type and its value. */
enum { example_features = 0 };
enum { feature_name = 0, feature_tensor = 1 };
enum { tensor_shape = 0, tensor_data_type = 1, tensor_data = 2 };
enum { list_values = 0, binary_buffer = 0 };
enum { offset_bytes = 4 };

const char *pfd_onerec_kind_name(int32_t kind)
{
    static const char *const names[] = {"no list", "int8",    "int16",   "int32",   "int64",
                                        "float32", "float64", "strings", "binaries"};
    return names[kind];
}

int32_t pfd_onerec_open(pfd_flatbuffer *buffer, pfd_flat_vector *features)
{
    pfd_flat_table example;
    return pfd_flat_root(buffer, "1REC", &example) &&
                   pfd_flat_vector_field(buffer, &example, example_features, offset_bytes, features)
               ? 1
               : -1;
}

static int32_t read_name(pfd_flatbuffer *buffer, const pfd_flat_vector *features, int64_t i,
                         pfd_flat_table *feature, pfd_flat_vector *name)
{
    return pfd_flat_table_at(buffer, features->at + offset_bytes * i, feature) &&
           pfd_flat_vector_field(buffer, feature, feature_name, 1, name);
}

int32_t pfd_onerec_name(pfd_flatbuffer *buffer, const pfd_flat_vector *features, int64_t i,
                        pfd_flat_vector *name)
{
    pfd_flat_table feature;
    return read_name(buffer, features, i, &feature, name) ? 1 : -1;
}

static int32_t fail_kind(pfd_flatbuffer *buffer, int64_t place)
{
    buffer->damage = place;
    return 0;
}

static int32_t read_list(pfd_flatbuffer *buffer, const pfd_flat_table *tensor,
                         pfd_onerec_feature *out)
{
    static const int64_t item_bytes[] = {0, 1, 2, 4, 8, 4, 8, offset_bytes, offset_bytes};
    int64_t type, data;
    pfd_flat_table list;
    if (!pfd_flat_field(buffer, tensor, tensor_data_type, 1, &type) ||
        !pfd_flat_field(buffer, tensor, tensor_data, offset_bytes, &data))
        return 0;
    out->kind = type ? buffer->data[type] : PFD_ONEREC_NONE;
    if (out->kind > PFD_ONEREC_BINARIES) return fail_kind(buffer, type);
    if (out->kind == PFD_ONEREC_NONE || data == 0) return 1;
    return pfd_flat_table_at(buffer, data, &list) &&
           pfd_flat_vector_field(buffer, &list, list_values, item_bytes[out->kind], &out->values);
}

static int32_t read_tensor(pfd_flatbuffer *buffer, const pfd_flat_table *feature,
                           pfd_onerec_feature *out)
{
    int64_t place;
    pfd_flat_table tensor;
    *out = (pfd_onerec_feature){0};
    if (!pfd_flat_field(buffer, feature, feature_tensor, offset_bytes, &place)) return 0;
    if (place == 0) return 1;
    return pfd_flat_table_at(buffer, place, &tensor) &&
           pfd_flat_vector_field(buffer, &tensor, tensor_shape, 4, &out->shape) &&
           read_list(buffer, &tensor, out);
}

/* Searches linearly: writers sort features by name, but this does not depend on it. */
int32_t pfd_onerec_find(pfd_flatbuffer *buffer, const pfd_flat_vector *features, const char *name,
                        int64_t name_size, pfd_onerec_feature *out)
{
    for (int64_t i = 0; i < features->count; i++) {
        pfd_flat_table feature;
        pfd_flat_vector found;
        if (!read_name(buffer, features, i, &feature, &found)) return -1;
        if (found.count != name_size ||
            memcmp(buffer->data + found.at, name, (size_t)name_size) != 0)
            continue;
        return read_tensor(buffer, &feature, out) ? 1 : -1;
    }
    return 0;
}

int32_t pfd_onerec_bytes(pfd_flatbuffer *buffer, const pfd_onerec_feature *feature, int64_t i,
                         pfd_flat_vector *out)
{
    int64_t place = feature->values.at + offset_bytes * i;
    pfd_flat_table binary;
    if (feature->kind == PFD_ONEREC_STRINGS)
        return pfd_flat_vector_at(buffer, place, 1, out) ? 1 : -1;
    return pfd_flat_table_at(buffer, place, &binary) &&
                   pfd_flat_vector_field(buffer, &binary, binary_buffer, 1, out)
               ? 1
               : -1;
}

int64_t pfd_onerec_dimension(const pfd_flatbuffer *buffer, const pfd_onerec_feature *feature,
                             int64_t i)
{
    return (int32_t)pfd_load_le32(buffer->data + feature->shape.at + 4 * i);
}
