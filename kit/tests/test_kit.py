"""pyflowdata.testing and `pyflowdata check`: what they accept, say and return."""

import json
import re

import pytest
from box_samples import PAYLOADS, box_file, write_box_samples
from faulty_plugins import compiled
from support.command import here  # noqa: F401  (a fixture)
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import testing

FAULTY = ROOT / "kit/tests/faulty"
DATA = str(ROOT / "data")
RECORDS = sum(map(len, PAYLOADS))


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return write_box_samples(tmp_path_factory.mktemp("box") / "samples")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return compiled(FAULTY / "good.c", tmp_path_factory.mktemp("good"))


# ---- In a test ----------------------------------------------------------------------------------


def test_a_wrong_number_of_records_is_a_fault():
    with pytest.raises(testing.CheckFailed, match="(?s)record-count.*finds 18 .*sample has 19"):
        testing.check_reader(flow.MiniReader(DATA, batch_size=2), records=19)


def test_a_finding_can_be_ignored():
    report = testing.check_reader(
        flow.MiniReader(DATA, batch_size=2), records=19, ignore=["record-count"]
    )
    assert report.passed


def test_an_assertion_carries_the_report():
    with pytest.raises(AssertionError) as failed:
        testing.check_reader(flow.MiniReader(DATA), checksums=True)
    report = failed.value.report
    assert [finding.id for finding in report.faults] == ["damage-unnoticed"]
    assert str(report) == str(failed.value) and "FAULT damage-unnoticed" in str(report)


@pytest.mark.parametrize(
    ("check", "blob", "says"),
    [
        ("check_decoder", lambda: flow.MiniReader(DATA), "MiniReader is not a decoder: use check_"),
        ("check_reader", lambda: flow.Affine(flow.MiniReader(DATA)), "Affine is not a reader: use"),
        ("check_reader", lambda: "MiniReader", "must be a Blob"),
        ("check_reader", lambda: [], "must be a Blob"),
    ],
)
def test_wrong_arguments_are_told(check, blob, says):
    with pytest.raises(flow.InvalidArgumentError, match=re.escape(says)):
        getattr(testing, check)(blob())


# ---- On the command line ------------------------------------------------------------------------


def test_a_plugin_passes_with_further_samples(good, samples, tmp_path, here):  # noqa: F811
    for name, payloads in (("none", []), ("one", [b"single"])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-0").write_bytes(box_file(payloads))
    done = here(
        "check", good, "--op", "BoxReader", "--attr", f"data_dir={samples}", "--records", RECORDS,
        "--checksums", "--also", f"{tmp_path / 'none'}=0", "--also", f"{tmp_path / 'one'}=1",
        "--json", "--ignore", "sample-poor",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] and report["findings"] == []
    assert "2 further samples" in report["groups"]["sizes"]


def test_a_sample_may_be_a_pattern(good, samples, here):  # noqa: F811
    """Damaged copies of the sample keep its names, and no other file is added."""
    done = here(
        "check", good, "--op", "BoxReader", "--attr", f"files={samples}/part-*", "--records",
        RECORDS, "--checksums", "--json", "--ignore", "sample-poor",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["findings"] == [] and "sizes" in report["groups"]
    assert re.match(r"(\d+) samples, \1 refused, 0 unharmed", report["groups"]["damage: flipped"])


def test_a_further_sample_of_another_number_is_a_fault(good, samples, tmp_path, here):  # noqa: F811
    (tmp_path / "part-0").write_bytes(box_file([b"single"]))
    done = here(
        "check", good, "--op", "box_reader", "--attr", f"data_dir={samples}", "--also",
        f"{tmp_path}=2",
    )  # fmt: skip
    assert done.returncode == 1
    said = re.sub(r"\s+", " ", done.stdout)
    assert said.startswith("BoxReader: 1 fault ") and "FAULT record-count (sizes)" in said
    assert "1 records (PFD_OK), where 2 are expected" in said


def test_a_decoder_is_fed_by_a_reader(here):  # noqa: F811
    done = here(
        "check", "--op", "Affine", "--attr", "scale=2", "--attr", "dtype=float32", "--input",
        f"MiniReader.out data_dir={DATA} batch_size=4",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Affine: passed\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.so", "--op", "X"], "there is no file nowhere.so"),
        (["--op", "MiniReader", "--attr", "data_dir"], "--attr data_dir: it must be NAME=VALUE"),
        (["--op", "MiniReader", "--also", "x=few"], "'few' is not a number of records"),
        (["--op", "MiniReader", "--asan"], "give --source FILE"),
        (["--op", "MiniReadr", "--attr", f"data_dir={DATA}"],
         "error: --op MiniReadr: unknown op 'MiniReadr'; did you mean 'MiniReader'? The command "
         "`pyflowdata ops` lists all of them. An op of a plugin needs the plugin before --op"),
        (["--op", "Affine", "--attr", "scale=x", "--input", f"MiniReader data_dir={DATA}"],
         "attr 'scale' = 'x'; it must be a"),
    ],
)  # fmt: skip
def test_wrong_usage_is_2(arguments, says, here):  # noqa: F811
    done = here("check", *arguments)
    assert done.returncode == 2, done.stdout
    assert says in re.sub(r"\s+", " ", done.stdout + done.stderr)


def test_a_missing_sample_is_told(tmp_path, here):  # noqa: F811
    done = here("check", "--op", "MiniReader", "--attr", f"data_dir={tmp_path / 'no'}")
    assert done.returncode == 2 and "FAULT no-sample" in done.stdout


# ---- Compiled by the command --------------------------------------------------------------------


def test_a_source_that_does_not_compile_is_told(tmp_path, here):  # noqa: F811
    (tmp_path / "bad.c").write_text("int main(\n")
    done = here("check", tmp_path / "bad.c", "--op", "X")
    assert done.returncode == 2 and "cannot be compiled" in done.stderr
