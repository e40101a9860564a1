"""Each of many faulty plugins is caught by the kit, by name; those without a fault pass."""

import re

import pytest
from conformance.box_samples import write_box_samples
from support.paths import ROOT
from support.plugin_sources import compile_library

from pyflowdata import testing
from pyflowdata.conformance.spec import Spec

DATA = str(ROOT / "data")
FOLDER = ROOT / "tests/conformance/faulty"

# Plugin -> the group of checks that catches it, the finding that names its fault, and words of its
# text.
FAULTS = {
    "accepts_any_type": (
        "types", "reads-past-input",
        r"compute\(\) read byte \d+ past .* of input 0",
    ),
    "aborts_on_truncation": (
        "damage: cut", "crash",
        r"open\(\) crashed \(Aborted\), with part-1 cut to",
    ),
    "alloc_overflow": (
        "records", "writes-past-alloc",
        r"wrote 1 bytes past the end of the \d+ bytes that",
    ),
    "at_not_pure": ("records", "at-not-pure", r"at\(\) .* must be a pure function of the ordinals"),
    "bytes_unwritten": (
        "records", "bytes-unwritten",
        r"wrote only a part of row 0 of output 'values'",
    ),
    "damage_unnoticed": (
        "damage: flipped", "damage-unnoticed",
        r"read without an error .* compare the checksum",
    ),
    "data_race": ("threads", "threads-differ", r"several threads at once"),
    "end_not_kept": (
        "records", "end-not-kept",
        r"next\(\) after PFD_END returned status 0; it must be",
    ),
    "describe_crashes": ("records", "null-pointer", r"describe\(\) used a NULL pointer"),
    "exits": ("failures", "exit", r"exit status 1\): an op must never call exit\(\)"),
    "failure_not_named": ("damage: flipped", "no-row", r"say with host->fail_row\(\) which row"),
    "filler_wrong": ("records", "filler-differs", r"filler = 1 gives another row"),
    "forgets_last": (
        "damage: flipped", "tail-ignored",
        r"the last \d+ bytes .* is the last record forgotten",
    ),
    "changes_handler": (
        "records", "process-state",
        r"open\(\) changed the handler of the signal SIGINT of",
    ),
    "changes_directory": (
        "records", "process-state",
        r"open\(\) changed the working directory of the whole",
    ),
    "changes_locale": (
        "records", "process-state",
        r"open\(\) changed the locale of the whole process",
    ),
    "global_state": ("records", "global-state", r"compute\(\) changed the global .* 'unpacked"),
    "group_by_count": (
        "records", "group-differs",
        r"calls of group\(\) with record 0 gave \d+ and \d+",
    ),
    "group_reads_past": (
        "records", "reads-past-record",
        r"group\(\) read byte 1 past the end of the \d+",
    ),
    "hangs_on_zero_length": (
        "damage: flipped", "hang",
        r"open\(\) did not end in time .* with .* a length",
    ),
    "huge_alloc": (
        "damage: lengths", "huge-alloc",
        r"asked host->alloc\(\) for \d{10} bytes, of files that have",
    ),
    "ignores_alloc_failure": (
        "failures", "alloc-failure-ignored",
        r"used the NULL that host->alloc\(\)",
    ),
    "ignores_read_failure": (
        "failures", "read-failure-ignored",
        r"host->read\(\) had failed: return the",
    ),
    "later_epoch_short": (
        "records", "epoch-differs",
        r"seek\(\) to epoch 1, next\(\) yields \d+ records",
    ),
    "leaks_descriptors": ("leaks", "leaks-descriptors", r"left 2 descriptors open: close them"),
    "leaks_memory": (
        "leaks", "leaks-memory",
        r"closing left \d+ bytes of malloc\(\) memory unfreed",
    ),
    "leaks_when_failing": (
        "failures", "leaks-memory",
        r"closing that failed left \d+ bytes of malloc",
    ),
    "order_by_time": ("records", "open-not-repeatable", r"closed and opened again: .* not on time"),
    "ordinal_wrong": (
        "records", "record-field",
        r"record 7 with ordinal = 0; it must be the one asked for",
    ),
    "place_wrong": (
        "records", "place-field",
        r"record 0 is in file 77 at byte \d+: the reader has fewer files",
    ),
    "places_past_end": (
        "records", "writes-past-found-records",
        r"places\(\) wrote byte \d+ past the end",
    ),
    "ragged_row_wild": (
        "records", "returns-wild-pointer",
        r"returned a ragged row, number 0 whose bytes",
    ),
    "ragged_row_wrong": (
        "records", "ragged-row",
        r"row \d+ of output 'values' .* num_elements is negative",
    ),
    "read_status_changed": (
        "failures", "read-failure-status",
        r"failed with PFD_IO .* made PFD_CORRUPT_DATA",
    ),
    "reads_past_file": (
        "records", "reads-past-read",
        r"open\(\) read byte \d past the end of the 8 bytes of",
    ),
    "reads_past_record": (
        "records", "reads-past-record",
        r"compute\(\) read byte 1 past the end of the \d+",
    ),
    "row_is_next": (
        "damage: flipped", "row-wrong",
        r"err->row = \d+ of \d+ .* record alone can be computed",
    ),
    "row_is_ordinal": (
        "damage: flipped", "no-row",
        r"PFD_CORRUPT_DATA and err->row = \d+ of 1 rows",
    ),
    "row_unwritten": ("records", "row-unwritten", r"did not write row \d+ of output 'values'"),
    "rows_not_equal": (
        "records", "rows-not-equal",
        r"rows 0 and 1 of output 'out' differ in shape, though the op has PFD_EQUAL_ROWS",
    ),
    "scratch_kept": ("records", "late-read", r"at\(\) read memory .* that was no longer its own"),
    "seek_ignored": (
        "records", "seek-wrong",
        r"after seek\(\) to record 1, next\(\) yields record 0",
    ),
    "seeks_forward_only": (
        "records", "seek-wrong",
        r"seek\(\) to record 1, next\(\) yields .* also backwards",
    ),
    "status_without_message": (
        "damage: flipped", "no-message",
        r"returned status -2 without a message",
    ),
    "thread_dependent": (
        "threads", "threads-differ",
        r"outputs of record \d+ are others .* several threads",
    ),
    "waits_for_ever": (
        "damage: lengths", "hang",
        r"open\(\) did not end in time .*, with bytes .* set to 0x",
    ),
    "wild_record": (
        "records", "returns-wild-pointer",
        r"at\(\) returned record 0 whose bytes cannot be read",
    ),
    "writes_into_record": (
        "records", "writes-into-record",
        r"wrote into the bytes of record 0, which are",
    ),
    "writes_past_row": (
        "records", "writes-past-output",
        r"wrote byte 1 past the end of the \d+ bytes of out",
    ),
    "wrong_status": (
        "damage: flipped", "damage-status",
        r"gives PFD_INVALID_ARGUMENT \(bad data\): damaged data is",
    ),
    "wrong_struct_size": (
        "descriptor", "descriptor",
        r"struct_size is 24; it must be sizeof\(pfd_op\)",
    ),
}  # fmt: skip
GOOD = ["good", "good_endless", "good_grouped", "good_ragged", "good_random", "good_stream",
        "good_whole_batch"]  # fmt: skip
WITH_INPUTS = {"accepts_any_type": "PairSum", "good_whole_batch": "Centre",
               "rows_not_equal": "Stairs"}  # and their ops  # fmt: skip
TIMEOUTS = {"hangs_on_zero_length": 0.5, "waits_for_ever": 0.3}  # seconds; these take them all
ONLY_SANITIZED = ["shifts_too_far"]  # what test_kit.py compiles with a sanitizer




@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return write_box_samples(tmp_path_factory.mktemp("box"))


@pytest.fixture
def check(tmp_path, samples):
    """Compiles and checks a plugin, by some groups or by all."""

    def run(name, groups=None):
        library = compile_library(
            tmp_path / f"{name}.so", FOLDER / f"{name}.c", flags=("-D_GNU_SOURCE",)
        )
        spec = Spec("BoxReader", attrs={"data_dir": str(samples)})
        if name in WITH_INPUTS:
            rows = Spec("MiniReader", attrs={"data_dir": DATA})
            spec = Spec(WITH_INPUTS[name], inputs=((rows, ""),))
        return testing.run_checks(
            spec, [str(library)], checksums=True, timeout=TIMEOUTS.get(name, 2), groups=groups
        )

    return run


def test_every_plugin_has_its_finding_here():
    known = sorted([*FAULTS, *GOOD, *ONLY_SANITIZED])
    assert sorted(path.stem for path in FOLDER.glob("*.c")) == known
    assert len(FAULTS) >= 15


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_caught_and_named(check, name):
    group, id, words = FAULTS[name]
    report = check(name, [group])
    found = {finding.id: finding for finding in report.faults}
    assert id in found and found[id].group == group, report
    assert re.search(words, found[id].text), found[id].text


@pytest.mark.parametrize("name", GOOD)
def test_a_plugin_without_a_fault_passes(check, name):
    report = check(name)
    left_out = ["the loader: BoxReader makes batches by group"] if name == "good_grouped" else []
    assert report.findings == [] and report.left_out == left_out, report
    groups = {"records", "threads", "failures", "leaks", "damage: cut"}
    assert groups | (set() if left_out else {"loader"}) < set(report.groups)
