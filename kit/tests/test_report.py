"""What a report says of findings: causes, consequences, and ids."""

import ast
import inspect
import re

import pytest
from finding_ids import finding_ids, told_with_causes
from support.paths import ROOT

from pyflowdata_kit import causes as causes_module
from pyflowdata_kit.causes import CAUSES, NO_CAUSES, causes_of
from pyflowdata_kit.checks.state import _IDS
from pyflowdata_kit.report import _RULES, Finding, Report, names_line
from pyflowdata_kit.options import Options, command_words
from pyflowdata_kit.spec import Spec
from pyflowdata.plugins import compiler


def report_of(*ids, warnings=()):
    report = Report("MyReader")
    for id in ids:
        report.add(Finding(id, f"text of {id}", "records", id in warnings))
    return report


# ---- What follows -------------------------------------------------------------------------------


def test_what_follows_from_a_fault_is_named_under_it():
    report = report_of("open-not-repeatable", "threads-differ", "leaks-memory", "resume-differs")
    assert [one.follows_from for one in report.findings] == [
        "", "open-not-repeatable", "", "open-not-repeatable",
    ]  # fmt: skip
    said = str(report)
    assert said.startswith("MyReader: 2 faults\n")
    also = "also seen, most likely for the same reason: threads-differ (records), resume-differs"
    assert also in re.sub(r"\s+", " ", said)
    assert said.index("also seen") < said.index("FAULT leaks-memory")
    assert "text of threads-differ" not in said and len(report.faults) == 4


@pytest.mark.parametrize(
    "ids", [["leaks-memory", "crash"], ["resume-differs", "at-not-pure"], ["no-message", "hang"],
            ["record-count", "leaks-descriptors"], ["crash", "damage-status"]],
)  # fmt: skip
def test_what_may_have_a_cause_of_its_own_is_a_fault_of_its_own(ids):
    assert [one.id for one in report_of(*ids).causes] == ids


def test_a_warning_causes_nothing_and_may_follow():
    report = report_of("cut-unnoticed", "record-count", warnings=["cut-unnoticed"])
    assert report.causes[0].id == "record-count" and not report.findings[0].follows_from
    report = report_of("at-not-pure", "cut-unnoticed", warnings=["cut-unnoticed"])
    assert "text of cut-unnoticed" not in str(report)


def test_what_a_sample_that_cannot_be_read_brings_with_it_is_one_fault():
    report = report_of("sample-fails", "threads-differ", "leaks-memory", "loader-fails")
    assert [one.id for one in report.causes] == ["sample-fails", "leaks-memory"]


def test_warnings_come_after_faults():
    said = str(report_of("cut-unnoticed", "leaks-memory", warnings=["cut-unnoticed"]))
    assert said.index("FAULT leaks-memory") < said.index("warning cut-unnoticed")
    assert str(report_of()) == "MyReader: passed"


def test_the_rules_name_ids_that_there_are():
    ids = finding_ids()
    for rule in _RULES:
        for pattern in rule:
            for part in re.split(r"\|(?![^(]*\))", pattern):
                assert any(re.fullmatch(part, id) for id in ids), part


def test_groups_choose_among_ids_that_there_are():
    """Findings of other groups are not told, so a finding of another name would be lost."""
    assert {*_IDS} - {*finding_ids()} == set()
    (ranges,) = (ROOT / "kit/csrc").rglob("ranges.c")
    chosen = ranges.read_text().split("depends_on_length(const char *id)\n{")[1].split("\n}")[0]
    ids = re.findall(r'"([^"]+)"', chosen)
    assert len(ids) == 5 and {*ids} - {*finding_ids()} == set()


# ---- Causes -------------------------------------------------------------------------------------


def test_every_finding_has_causes_or_a_reason_why_not():
    ids, told = finding_ids(), told_with_causes()
    assert len(ids) > 90
    known = {id for id in ids if causes_of(id)}
    assert [id for id in ids if id not in known | told | NO_CAUSES.keys()] == []
    assert known & NO_CAUSES.keys() == set()


def test_the_causes_of_a_finding_are_named_once():
    for table in ast.walk(ast.parse(inspect.getsource(causes_module))):
        if isinstance(table, ast.Dict):
            keys = [ast.literal_eval(key) for key in table.keys]
            assert len(keys) == len(set(keys)), keys


def test_no_cause_is_of_what_is_not_there():
    ids = finding_ids()
    prefixes = [key for key in CAUSES if key.endswith("…")]
    assert [key for key in {*CAUSES, *NO_CAUSES} - {*prefixes} if key not in ids] == []
    assert all(any(id.startswith(key[:-1]) for id in ids) for key in prefixes)


def test_causes_are_short_and_no_sentences():
    for id, causes in CAUSES.items():
        for cause in causes:
            assert len(cause) <= 120 and not cause.endswith("."), (id, cause)


# ---- Where a fault is ---------------------------------------------------------------------------


def test_a_fault_of_memory_says_how_to_get_its_line():
    memory = {id for id in finding_ids() if names_line(id, True)}
    assert {"reads-past-record", "writes-into-attrs", "late-read", "null-pointer"} <= memory
    assert not {"row-unwritten", "leaks-memory", "sample-fails", "asan"} & memory
    assert "--source FILE" in names_line("crash", False)


# ---- The command that repeats a case ------------------------------------------------------------


def test_a_compiled_plugin_is_repeated_from_its_source(monkeypatch):
    monkeypatch.setitem(compiler._sources, "/cache/own.so", ("/home/own.c", ("-lz", "-DN=1")))
    words = command_words(Spec("Own"), ["/cache/own.so"], Options(), ["/other.so"])
    assert words is not None and words[:3] == ["pyflowdata", "check", "/home/own.c"]
    assert "--cflags=-lz -DN=1" in words and "/other.so" in words
