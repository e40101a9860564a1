"""Formats of plugins: known by their content, replaced with their plugin, refused where faulty."""

import pytest
from support.plugin_sources import build

import pyflowdata as flow
from pyflowdata.nodes.registry import detect_format, registered_formats

SOURCE = """
#include "pyflowdata/op.h"
#include <string.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    static const pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), 4, 2, 0};
    return args->host->open_fixed(args, &layout, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++)
        memcpy(args->outputs[0]->data + 2 * row, args->records[row].data, 2);
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The pairs."}};
static const pfd_op op = {
    PFD_OP_SIZES, .flags = PFD_READS_FILES, .name = "FormatReader", .doc = "Reads.",
    .outputs = outputs, .num_outputs = PFD_COUNT(outputs), .infer = infer, .open = open_source,
    .compute = compute,
};

static int32_t probe(const pfd_probe_args *args)
{
    return args->size >= 4 && !memcmp(args->data, "MAGIC", 4) ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

static const pfd_format format = {
    .struct_size = sizeof(pfd_format), .name = "format_name", .title = "Title", .doc = "Doc.",
    .suffixes = ".suffix", .reader = "FormatReader", .probe = probe,
};
static const pfd_op *const ops[] = {&op};
static const pfd_format *const formats[] = {&format};
PFD_PLUGIN_WITH_FORMATS("plugin", "1.0", ops, formats)
"""


def source(reader, name, title="Pairs", magic="PAIR"):
    text = SOURCE.replace("FormatReader", reader).replace("format_name", name)
    return text.replace("Title", title).replace("MAGIC", magic)


def titles(name):
    return [one.title for one in registered_formats() if one.name == name]


def test_a_format_of_a_plugin_is_one_like_others(tmp_path):
    library = build(tmp_path, source("PairsReader", "pairs"))
    before = registered_formats()
    flow.load_library(library)
    assert registered_formats()[:-1] == before
    added = registered_formats()[-1]
    assert (added.name, added.reader, added.suffixes) == ("pairs", "PairsReader", (".suffix",))
    assert added.origin == str(library)
    file = tmp_path / "file.dat"
    file.write_bytes(b"PAIRabcd")
    assert detect_format(str(file), file.read_bytes(), 8) == "pairs"
    with pytest.raises(flow.CorruptDataError, match="looks like Pairs .PairsReader reads it"):
        flow.NpyReader(files=str(file))
    flow.load_library(library)
    assert registered_formats() == (*before, added)


def test_a_plugin_that_is_compiled_again_replaces_its_format():
    flow.compile(source("AgainReader", "again", "First", "ONE!"))
    count = len(registered_formats())
    assert titles("again") == ["First"] and detect_format("a", b"ONE!", 4) == "again"
    flow.compile(source("AgainReader", "again", "Second", "TWO!"))
    assert titles("again") == ["Second"] and len(registered_formats()) == count
    assert detect_format("a", b"TWO!", 4) == "again" and detect_format("a", b"ONE!", 4) == "text"


@pytest.mark.parametrize(
    "old, new, part",
    [
        ('.name = "faulty"', '.name = "Faulty"', "'Faulty': name must be in lower_snake_case"),
        ('.reader = "FaultyReader"', '.reader = "NoReader"', "reader must be the name of an op"),
        ('.suffixes = ".suffix"', '.suffixes = "suffix"', "suffixes must be like"),
        ('.doc = "Doc."', '.doc = ""', "doc must be a sentence"),
        ('"plugin", "1.0", ops, formats', '"plugin", "1.0", ops, (formats)', None),
    ],
)
def test_a_faulty_format_is_refused_with_its_plugin(old, new, part, tmp_path):
    text = source("FaultyReader", "faulty")
    assert text.count(old) == 1
    library = build(tmp_path, text.replace(old, new))
    if part is None:  # the unchanged plugin, which is sound
        assert flow.load_library(library).FaultyReader
        return
    with pytest.raises(flow.InternalError, match=part):
        flow.load_library(library)
    assert not titles("faulty") and not titles("Faulty") and not hasattr(flow, "FaultyReader")


def test_the_name_of_a_built_in_format_is_taken(tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match="another format .built in"):
        flow.load_library(build(tmp_path, source("TakenReader", "tar")))
    with pytest.raises(flow.InvalidArgumentError, match="another format .built in"):
        flow.compile(source("TakenReader", "tar"))
