"""`pyflowdata bench`: right counts and sums, every part there, and words for what went wrong.

Nothing here depends on how fast the machine is.
"""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest
from support.face import DATA
from support.plugin_sources import COUNT, build, renamed

import pyflowdata as flow
from pyflowdata_kit.bench import Scaling, as_dict, as_table, measure, thread_counts, verdict
from pyflowdata.cli import main
from pyflowdata.io import TFRecordWriter

SHORT = {"rounds": 2, "seconds": 0.002, "threads": [1]}
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not here")
NOT_COUNTED = "LD_PRELOAD" in os.environ or os.uname().machine not in ("x86_64", "aarch64")

# What is loaded stays: other tests have a Count of their own.
PLAIN = renamed(COUNT, "Count", "CountPlain")

# Yields what Count does, in sequence only.
STREAM = renamed(COUNT, "Count", "CountStream").replace(
    "static const pfd_source_methods methods = {",
    """static int64_t next_ordinal;

static pfd_status source_next(void *self, int64_t max, pfd_scratch *scratch, pfd_record *out,
                              int64_t *n, pfd_error *err)
{
    int64_t size = source_size(self);
    for (*n = 0; *n < max && *n < 7 && next_ordinal < size; ++*n) {
        pfd_status status = source_at(self, &next_ordinal, 1, scratch, &out[*n], err);
        if (status != PFD_OK) return status;
        next_ordinal++;
    }
    return *n ? PFD_OK : PFD_END;
}

static pfd_status source_seek(void *self, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    (void)self, (void)epoch, (void)scratch, (void)err;
    next_ordinal = position;
    return PFD_OK;
}

static const pfd_source_methods methods = {""",
).replace("    .size = source_size,\n    .at = source_at,\n",
          "    .next = source_next,\n    .seek = source_seek,\n")  # fmt: skip

# Two allocations a record from the C library, one of them inside it, and one from the host.
WASTEFUL = renamed(COUNT, "Count", "Wasteful").replace(
    "    for (int64_t row = 0; row < args->num_rows; row++)\n",
    """    for (int64_t row = 0; row < args->num_rows; row++) {
        void *volatile own = malloc(100), *volatile copy = strdup("0123456789");
        free(own);
        free(copy);
        if (!args->host->alloc(args->scratch, 24)) return PFD_INTERNAL;
    }
    for (int64_t row = 0; row < args->num_rows; row++)
""",
).replace("#include <string.h>", "char *strdup(const char *);\n#include <string.h>")

# Records without bytes.
EMPTY = renamed(COUNT, "Count", "CountEmpty").replace(".size = 8,", ".size = 0,")

# Row i has the first i % 9 bytes of its record, where they are.
RAGGED = (
    renamed(COUNT, "Count", "CountRagged")
    .replace("{.dtype = PFD_INT64}", "{.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}}")
    .replace(
        "        memcpy(args->outputs[0]->data + 8 * row, args->records[row].data, 8);\n",
        """        args->outputs[0]->rows[row] = (pfd_ragged_row){
            .data = args->records[row].data, .num_elements = args->records[row].ordinal % 9};
""",
    )
)

# Record 100 is damaged.
DAMAGED = renamed(COUNT, "Count", "CountDamaged").replace(
    "    (void)err;\n    for (int64_t row = 0; row < args->num_rows; row++)\n",
    """    for (int64_t row = 0; row < args->num_rows; row++)
        if (args->records[row].ordinal == 100)
            return args->host->fail_row(err, row, 3, PFD_CORRUPT_DATA, "a bad checksum");
    for (int64_t row = 0; row < args->num_rows; row++)
""",
)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Builds a plugin, once for each source."""
    built = {}

    def path_of(source):
        if source not in built:
            built[source] = build(tmp_path_factory.mktemp("bench"), source)
        return built[source]

    return path_of


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Text files, and the sum of their lines as 64-bit words."""
    folder = tmp_path_factory.mktemp("lines")
    rng, total = np.random.default_rng(3), 0
    for part in range(3):
        rows = [f"{x!r},{int(y)}" for x, y in rng.normal(0, 100, (1000, 2)).tolist()]
        rows += ["1,2", "1,23456", "12345,67"]  # below, at and above the size of a word
        (folder / f"part-{part}").write_text("\n".join(rows) + "\n")
        for row in rows:
            data = row.encode() + bytes(-len(row) % 8)
            total += int(np.frombuffer(data, "=u8").sum())
    return folder, 3 * 1003, total % 2**64


def cli(capsys, *arguments):
    """Returns the exit status, stdout and stderr."""
    try:
        status = main(["bench", *map(str, arguments)])
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr()
    return status, said.out, said.err


FAST = ["--rounds", "1", "--seconds", "0.002", "--threads", "1"]


# ---- What is measured ---------------------------------------------------------------------------


def test_the_records_measured_are_those_of_the_files(lines):
    folder, count, total = lines
    reader = flow.MiniReader(folder, batch_size=64)
    bench = measure([reader], rounds=2, seconds=0.2, threads=[1])
    assert (bench.records, bench.files) == (count, 3)
    assert bench.file_bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert bench.measured_records == count  # few enough for the window to hold them all
    assert bench.measured_bytes == bench.file_bytes - count  # without newlines
    assert bench.measured_sum == total
    assert (bench.batch_size, bench.rows_per_call) == (64, 64)


def test_a_window_of_the_first_records_is_enough():
    reader = flow.MiniReader(DATA, batch_size=1)
    bench = measure([reader], rounds=1, seconds=1e-9, threads=[])
    assert bench.measured_records == 1
    assert bench.records > 1


def test_every_part_is_there_and_takes_time(lines):
    x, y = flow.MiniDecoder(flow.MiniReader(lines[0], batch_size=256))
    scaled = flow.Affine(x, scale=2.0)
    bench = measure([scaled], **SHORT)
    assert [(part.name, part.op) for part in bench.parts] == [
        ("locate", None), ("read", None), ("parse", "MiniReader"), ("decode", "MiniDecoder"),
        ("decode", "Affine"),
    ]  # fmt: skip
    assert [part.name for part in bench.limits] == ["memcpy", "sum"]
    for part in (*bench.parts, *bench.limits):
        assert part.ns > 0 and part.shuffled_ns > 0
        record_bytes = bench.measured_bytes / bench.measured_records
        assert part.gb_per_s == pytest.approx(record_bytes / part.ns)
        assert part.of_memcpy == pytest.approx(part.gb_per_s / bench.limits[0].gb_per_s)
        assert part.allocs == part.alloc_bytes == 0
        assert part.mallocs in (0, None)
    assert bench.open_ms > 0
    assert (bench.op, bench.reader, bench.origin) == ("Affine", "MiniReader", "built in")


def test_loaders_are_measured_with_each_number_of_threads(lines):
    reader = flow.MiniReader(lines[0], batch_size=256)
    allowed = os.sched_getaffinity(0)
    counts = thread_counts(len(allowed))
    bench = measure([reader], rounds=1, seconds=0.002)
    assert [one.threads for one in bench.scaling] == counts
    assert all(one.records_per_s > 0 for one in bench.scaling)
    assert bench.scaling[0].speedup == 1
    assert os.sched_getaffinity(0) == allowed


def test_thread_counts_double_and_end_with_all():
    assert [thread_counts(n) for n in (1, 2, 3, 6, 8)] == [
        [1], [1, 2], [1, 2, 3], [1, 2, 4, 6], [1, 2, 4, 8],
    ]  # fmt: skip


@needs_gcc
def test_a_reader_without_files(library):
    plugin = flow.load_library(library(PLAIN))
    bench = measure([plugin.CountPlain(size=1000, batch_size=32)], **{**SHORT, "seconds": 0.1})
    assert (bench.records, bench.files, bench.file_bytes) == (1000, 0, 0)
    assert bench.origin == str(library(PLAIN))
    assert (bench.measured_records, bench.measured_bytes) == (1000, 8000)
    assert bench.measured_sum == 1000 * 999 // 2
    assert "without files" not in as_table(bench) and "0 files" not in as_table(bench)


@needs_gcc
def test_a_stream_has_no_random_order(library):
    plugin = flow.load_library(library(STREAM))
    bench = measure([plugin.CountStream(size=500, batch_size=32)], **{**SHORT, "seconds": 0.1})
    assert bench.records is None
    assert bench.measured_records == 500
    assert bench.measured_sum == 500 * 499 // 2
    assert all(part.ns > 0 and part.shuffled_ns is None for part in bench.parts)
    assert bench.scaling[0].records_per_s > 0
    assert "a stream" in as_table(bench)


@needs_gcc
def test_ragged_outputs(library):
    plugin = flow.load_library(library(RAGGED))
    rows = plugin.CountRagged(size=1000, batch_size=32)
    bench = measure([flow.Affine(rows, scale=2.0)], **{**SHORT, "seconds": 0.1})
    assert (bench.measured_records, bench.measured_sum) == (1000, 1000 * 999 // 2)
    assert [(part.name, part.op) for part in bench.parts[2:]] == [
        ("parse", "CountRagged"), ("decode", "Affine"),
    ]  # fmt: skip
    assert all(part.ns > 0 and part.shuffled_ns > 0 for part in bench.parts)
    # Affine's rows are made in the host's memory, a reader's are where the record is.
    assert [part.allocs for part in bench.parts] == [0, 0, 0, 1]
    assert bench.scaling[0].records_per_s > 0


@needs_gcc
def test_records_without_bytes_have_no_rate(library):
    plugin = flow.load_library(library(EMPTY))
    reader = plugin.CountEmpty(size=500, batch_size=32)
    bench = measure([reader], **SHORT)
    assert bench.measured_bytes == 0
    assert all(part.gb_per_s is None and part.of_memcpy is None for part in bench.parts)
    assert "GB/s," not in verdict(bench)


@needs_gcc
@pytest.mark.skipif(NOT_COUNTED, reason="allocations cannot be counted here")
def test_allocations_are_counted_exactly(library):
    plugin = flow.load_library(library(WASTEFUL))
    bench = measure([plugin.Wasteful(size=1000, batch_size=50)], **SHORT)
    locate, read, parse = bench.parts
    assert (locate.mallocs, read.mallocs) == (0, 0)
    assert (parse.mallocs, parse.malloc_bytes) == (2, 111)
    assert (parse.allocs, parse.alloc_bytes) == (1, 24)
    assert "; 2 allocations a record: take the memory in parse from host->alloc()" in verdict(bench)


@needs_gcc
def test_allocations_are_no_longer_counted_behind_it(library):
    """The redirected pointers are restored: a second bench counts the same."""
    plugin = flow.load_library(library(WASTEFUL))
    reader = plugin.Wasteful(size=1000, batch_size=50)
    first, second = (measure([reader], **SHORT).parts[2].mallocs for _ in range(2))
    assert first == second
    assert np.array_equal(next(iter(flow.DataLoader(reader))), np.arange(50))


# ---- What is said -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(lines):
    x, y = flow.MiniDecoder(flow.MiniReader(lines[0], batch_size=256))
    return measure([x, y], **SHORT)


def test_the_table_is_short_and_even(measured):
    lines = as_table(measured).splitlines()
    assert len(lines) <= 15
    assert lines[0].startswith("MiniDecoder after MiniReader (built in): 3,009 records in 3 files")
    rows = lines[1:-2]
    assert len({len(row) for row in rows}) == 1
    assert lines[-2].startswith("loader, batch 256, threads  1: ")
    assert lines[-1] == f"verdict: {verdict(measured)}"
    assert "\n" not in verdict(measured)


def test_the_table_stays_short_behind_many_ops(measured):
    decode = measured.parts[-1]
    many = [dataclasses.replace(decode, op=f"Op{i}", ns=float(i + 1)) for i in range(20)]
    lines = as_table(
        dataclasses.replace(measured, parts=(*measured.parts[:3], *many))
    ).splitlines()
    assert len(lines) <= 15
    assert [name for name in ("Op19", "Op18", "Op17") if f"decode: {name}" in "\n".join(lines)] == [
        "Op19", "Op18", "Op17",
    ]  # fmt: skip
    (others,) = (line for line in lines if "decode: 17 others" in line)
    assert others.split()[3] == f"{sum(range(1, 18))}"


def made_up(bench, **changes):
    """A bench on a quiet machine, whose parse takes 80 of 100 ns."""
    times = {"locate": 10.0, "read": 10.0, "parse": 80.0, "decode": 0.0}
    parts = tuple(
        dataclasses.replace(
            part,
            ns=changes.get(part.name, times[part.name]),
            of_memcpy=changes.get("of_memcpy", 0.1),
            gb_per_s=0.5,
            mallocs=changes.get("mallocs", 0.0),
        )
        for part in bench.parts
    )
    rate = changes.get("rate", 1e7)
    scaling = tuple(
        Scaling(threads=n, records_per_s=rate * speedup, speedup=speedup)
        for n, speedup in changes.get("speedups", {1: 1.0, 2: 1.9}).items()
    )
    load = changes.get("load", 0.0)
    limits = tuple(dataclasses.replace(limit, gb_per_s=10.0) for limit in bench.limits)
    return dataclasses.replace(
        bench, parts=parts, limits=limits, scaling=scaling, load=load, records=10**6
    )


@pytest.mark.parametrize(
    "changes, advice",
    [
        ({}, "make compute() of MiniReader faster"),
        ({"locate": 500.0, "rate": 1.7e6}, "have at() do less"),
        ({"read": 500.0, "rate": 1.7e6}, "store fewer bytes"),
        ({"decode": 500.0, "rate": 1.7e6}, "make compute() of MiniDecoder faster"),
        ({"of_memcpy": 0.9}, "nothing is left to gain"),
        ({"mallocs": 1.0}, "host->alloc()"),
        ({"speedups": {1: 1.0, 2: 1.0}}, "threads do not scale"),
        ({"rate": 1e6}, "use larger batches"),
        ({"speedups": {1: 1.0, 2: 1.0}, "load": 1e6}, "make compute() of MiniReader faster"),
        ({"load": 1e6}, "measure again when it is quiet"),
    ],
)
def test_the_verdict_says_what_to_do(measured, changes, advice):
    assert advice in verdict(made_up(measured, **changes))


def test_the_verdict_says_where_the_time_goes(measured):
    assert verdict(made_up(measured)).startswith(
        "parse takes 80 % of the time: 80 ns a record, 0.5 GB/s, 10 % of memcpy; "
        "2 threads scale 1.9x; 0 allocations a record: "
    )


def test_json_has_all_that_was_measured(measured, capsys, lines):
    status, out, _ = cli(
        capsys, "--input", f"MiniReader data_dir={lines[0]}", "--op", "MiniDecoder", "--json", *FAST
    )
    assert status == 0
    found = json.loads(out)
    assert found.keys() == as_dict(measured).keys()
    assert found.keys() == {
        "op", "reader", "origin", "records", "files", "file_bytes", "measured_records",
        "measured_bytes", "measured_sum", "batch_size", "rows_per_call", "open_ms", "parts",
        "limits", "scaling", "load", "verdict",
    }  # fmt: skip
    assert found["parts"][0].keys() == {
        "name", "op", "ns", "shuffled_ns", "gb_per_s", "of_memcpy", "mallocs", "malloc_bytes",
        "allocs", "alloc_bytes",
    }  # fmt: skip
    assert found["scaling"][0].keys() == {"threads", "records_per_s", "speedup"}
    assert (found["records"], found["op"]) == (3009, "MiniDecoder")


# ---- The command line ---------------------------------------------------------------------------


@needs_gcc
def test_a_plugin_on_the_command_line(capsys, library):
    status, out, _ = cli(
        capsys, library(PLAIN), "--op", "count_plain",
        "--attr", "size=1000", "--attr", "batch_size=10",
        *FAST,
    )  # fmt: skip
    assert status == 0
    assert out.startswith(f"CountPlain ({library(PLAIN)}): 1,000 records; ")
    assert "parse: CountPlain" in out and "\nverdict: " in out


def test_ops_named_one_behind_the_other_are_a_chain(capsys, lines):
    status, out, _ = cli(
        capsys, "builtin", "--op", "MiniReader", "--attr", f"data_dir={lines[0]}",
        "--op", "MiniDecoder", "--op", "Affine", "--attr", "scale=2", "--attr", "dtype=float32",
        *FAST,
    )  # fmt: skip
    assert status == 0
    assert out.startswith("Affine after MiniReader")
    assert "decode: MiniDecoder" in out and "decode: Affine" in out


DATA_DIR = f"data_dir={DATA}"
READER = ["--op", "MiniReader", "--attr", DATA_DIR]


@pytest.mark.parametrize(
    "arguments, status, said",
    [
        ([], 2, "--op NAME is missing"),
        (["--attr", "x=1", "--op", "MiniReader"], 2, "it comes after --op NAME"),
        (["--op", "MiniReader", "--attr", "batch_size"], 2, "it must be NAME=VALUE"),
        ([*READER, "--attr", DATA_DIR], 2, "--attr data_dir is given twice"),
        ([*READER, "--input", ""], 2, "--input is empty"),
        ([*READER, "--input", "MiniReader 'x"], 2, "--input MiniReader 'x: No closing quotation"),
        ([*READER, "--threads", "100000"], 2, "--threads 100000"),
        ([*READER, "--threads", "two"], 2, "--threads two"),
        ([*READER, "--rounds", "0"], 1, "rounds = 0"),
        ([*READER, "--seconds", "nan"], 1, "seconds = nan"),
        ([*READER, *READER], 2, "--op MiniReader: a reader comes first"),
        ([*READER, "--input", f"MiniReader {DATA_DIR}"], 1, "it takes 0 inputs; 1 are given"),
        (["--op", "MiniDecoder"], 1, "it takes 1 inputs; 0 are given, as --input"),
        (["--op", "MiniDecoder", "--input", "MiniDecoder"], 1, "the op of an --input is a reader"),
        (["--op", "MiniDecoder", "--input", f"MiniReader.no {DATA_DIR}"], 1, "output 'no'"),
        (["--op", "MiniRaeder"], 1, "MiniReader"),
        (["--op", "MiniReader"], 1, "data_dir"),
        ([*READER, "--attr", "batch_size=four"], 1, "attr 'batch_size' = 'four'; it must be"),
        ([*READER, "--attr", "batchsize=4"], 1, "batch_size"),
    ],
)
def test_what_is_wrong_is_said(capsys, arguments, status, said):
    found, out, error = cli(capsys, *arguments)
    assert (found, out) == (status, "")
    assert said in error
    assert "Traceback" not in error


def test_a_library_that_is_not_there(capsys, tmp_path):
    status, _, error = cli(capsys, tmp_path / "none.so", *READER)
    assert status == 1
    assert "none.so" in error


def test_data_without_records(capsys, tmp_path):
    (tmp_path / "part-0").write_text("\n\n")
    reader = ["--op", "MiniReader", "--attr", f"data_dir={tmp_path}"]
    status, _, error = cli(capsys, *reader)
    assert status == 1
    assert "not one record" in error


@needs_gcc
def test_a_stream_without_records(library):
    plugin = flow.load_library(library(STREAM))
    with pytest.raises(flow.CorruptDataError, match="no record to measure"):
        measure([plugin.CountStream(size=0)], **SHORT)


def test_a_damaged_record_is_named(tmp_path):
    (tmp_path / "part-0").write_text("1,2\n3,4\n5,x\n")
    with pytest.raises(flow.CorruptDataError) as failure:
        measure([flow.MiniReader(tmp_path, batch_size=2)], **SHORT)
    assert (failure.value.op, failure.value.line) == ("MiniReader", 3)
    assert failure.value.file == str(tmp_path / "part-0")


@needs_gcc
def test_a_damaged_record_of_a_plugin_is_named(library):
    plugin = flow.load_library(library(DAMAGED))
    with pytest.raises(flow.CorruptDataError, match="a bad checksum") as failure:
        measure([plugin.CountDamaged(size=1000)], rounds=1, seconds=0.1, threads=[1])
    assert failure.value.ordinal == 100


def test_one_reader_at_a_time():
    one, two = flow.MiniReader(DATA), flow.MiniReader(DATA)
    with pytest.raises(flow.UnsupportedError, match="one reader is measured at a time"):
        measure([one, two], **SHORT)


def test_an_op_without_a_reader():
    coin = flow.user_op_builder("coin").Op("coin_flip").Output("out").Attr("batch_size", 16)
    with pytest.raises(flow.Error, match="no reader is upstream of CoinFlip; give it an input"):
        measure([coin.Build().SoleOutputBlob()])


def test_nothing_is_allocated_for_an_image(tmp_path):
    """Decoding JPEG and PNG allocates nothing; libwebp allocates by itself."""
    if NOT_COUNTED:
        pytest.skip("allocations cannot be counted here")
    pytest.importorskip("PIL")
    from images.image_files import photo, saved

    for form, options in (("jpeg", {}), ("jpeg", {"progressive": True}), ("png", {})):
        path = tmp_path / f"{form}{len(options)}"
        with TFRecordWriter(path) as writer:
            for i in range(24):
                writer.write(saved(photo(120, 160, seed=i), form, **options))
        images = flow.ImageDecoder(flow.TFRecordReader(files=path, batch_size=8))
        found = measure([images], rounds=1, seconds=0.02, threads=[1])
        (part,) = (part for part in found.parts if part.op == "ImageDecoder")
        assert part.mallocs == 0, (form, options)
