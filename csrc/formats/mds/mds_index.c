/* Parses the index.json of MDS datasets, and the JSON with the same facts in a shard. */
#include "formats/mds/mds_index.h"

#include <string.h>

/* Parses {"basename": ..., "bytes": ..., "hashes": {...}}, or null. */
static int32_t parse_file(pfd_json *json, pfd_json_text *name, int64_t *bytes)
{
    pfd_json_text key;
    *name = (pfd_json_text){.size = 0};
    *bytes = -1;
    if (pfd_json_null(json)) return 1;
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "basename")) pfd_json_string(json, name);
        else if (pfd_json_equals(&key, "bytes")) pfd_json_int64(json, bytes);
        else pfd_json_skip(json);
    }
    if (!json->problem && (name->size == 0 || *bytes < 0))
        pfd_json_refuse(json, "expected the members basename and bytes of a file before here");
    return !json->problem;
}

static int32_t parse_version(pfd_json *json)
{
    int64_t version = 0;
    if (!pfd_json_int64(json, &version)) return 0;
    return version == 2 || pfd_json_refuse(json, "expected version 2 before here");
}

static int32_t parse_format(pfd_json *json)
{
    pfd_json_text format;
    if (!pfd_json_string(json, &format)) return 0;
    return pfd_json_equals(&format, "mds") ||
           pfd_json_refuse(json, "expected shards of the format mds; shards of csv and jsonl are "
                                 "text files, which CSVReader and TextLineReader read");
}

/* Copies the cursor before a value to *place, and skips the value. */
static void remember(pfd_json *json, pfd_json *place)
{
    *place = *json;
    pfd_json_skip(json);
}

/* Parses a member that both an index and the JSON in a shard have.  Returns 0 if it is another
 * one. */
static int32_t parse_common(pfd_json *json, const pfd_json_text *key, pfd_mds_arrays *columns)
{
    if (pfd_json_equals(key, "column_names")) remember(json, &columns->names);
    else if (pfd_json_equals(key, "column_encodings")) remember(json, &columns->encodings);
    else if (pfd_json_equals(key, "column_sizes")) remember(json, &columns->sizes);
    else if (pfd_json_equals(key, "version")) parse_version(json);
    else if (pfd_json_equals(key, "format")) parse_format(json);
    else return 0;
    return 1;
}

static int32_t check_columns(pfd_json *json, const pfd_mds_arrays *columns)
{
    if (columns->names.data && columns->encodings.data && columns->sizes.data) return 1;
    return pfd_json_refuse(json, "expected column_names, column_encodings and column_sizes before "
                                 "here");
}

static int32_t parse_shard(pfd_json *json, pfd_mds_shard *out)
{
    pfd_json_text key;
    *out = (pfd_mds_shard){.raw_bytes = -1, .zip_bytes = -1, .samples = -1};
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (parse_common(json, &key, &out->columns)) continue;
        if (pfd_json_equals(&key, "samples")) {
            pfd_json_int64(json, &out->samples);
        } else if (pfd_json_equals(&key, "raw_data")) {
            parse_file(json, &out->raw_name, &out->raw_bytes);
        } else if (pfd_json_equals(&key, "zip_data")) {
            parse_file(json, &out->zip_name, &out->zip_bytes);
        } else if (pfd_json_equals(&key, "compression")) {
            if (!pfd_json_null(json)) pfd_json_string(json, &out->compression);
        } else {
            pfd_json_skip(json);
        }
    }
    if (json->problem) return 0;
    if (out->samples < 0 || out->samples > UINT32_MAX || out->raw_name.size == 0)
        return pfd_json_refuse(json, "expected the members samples and raw_data of a shard before "
                                     "here");
    return check_columns(json, &out->columns);
}

int32_t pfd_mds_index_begin(const uint8_t *text, int64_t size, pfd_mds_index *out)
{
    pfd_json_text key;
    pfd_json json = pfd_json_begin(text, size), shards = {0};
    pfd_json_enter(&json, '{');
    while (pfd_json_member(&json, &key)) {
        if (pfd_json_equals(&key, "shards")) remember(&json, &shards);
        else if (pfd_json_equals(&key, "version")) parse_version(&json);
        else pfd_json_skip(&json);
    }
    if (pfd_json_end(&json) && !shards.data)
        pfd_json_refuse(&json, "expected the array \"shards\" before here");
    *out = (pfd_mds_index){.json = json.problem ? json : shards};
    return !json.problem && pfd_json_enter(&out->json, '[');
}

int32_t pfd_mds_index_next(pfd_mds_index *index, pfd_mds_shard *out)
{
    if (!pfd_json_element(&index->json) || !parse_shard(&index->json, out)) return 0;
    index->shards++;
    return 1;
}

int32_t pfd_mds_config(const uint8_t *text, int64_t size, pfd_mds_arrays *columns, pfd_json *json)
{
    pfd_json_text key;
    *json = pfd_json_begin(text, size);
    *columns = (pfd_mds_arrays){0};
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key))
        if (!parse_common(json, &key, columns)) pfd_json_skip(json);
    return pfd_json_end(json) && check_columns(json, columns);
}
