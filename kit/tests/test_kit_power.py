"""The kit catches each of many faulty plugins by the name of its fault; plugins without a fault
pass."""

import os
import re

import pytest
from box_samples import write_samples
from faulty_plugins import FAULTY, FOLDER, GOOD, PLUGINS

from pyflowdata import testing
from pyflowdata_kit.checks import GROUPS

DAMAGE = [group.name for group in GROUPS if group.name.startswith("damage: ")]
OTHERS = [group.name for group in GROUPS if group.name not in DAMAGE]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def check(tmp_path, samples):
    """Compiles and checks a plugin by some groups."""

    def run(plugin, groups, quick=False):
        return testing.run_checks(
            plugin.spec(samples), plugin.compile(tmp_path), checksums=True, timeout=plugin.seconds,
            groups=groups, quick=quick, ignore=["sample-poor"],
        )  # fmt: skip

    return run


def test_every_plugin_says_what_is_expected():
    assert len(FAULTY) >= 50 and len(GOOD) >= 7
    for name in FAULTY:
        assert {"group", "finding", "says"} <= PLUGINS[name].words.keys(), name
    assert all(name.startswith("good") for name in GOOD), GOOD
    assert {path.suffix for path in FOLDER.iterdir()} <= {".c", ".cc", ".h"}


@pytest.mark.parametrize("name", FAULTY)
def test_the_fault_is_caught_and_named(check, name):
    words = PLUGINS[name].words
    report = check(PLUGINS[name], [words["group"]])
    found = {finding.id: finding for finding in report.faults}
    assert words["finding"] in found, report
    finding = found[words["finding"]]
    assert finding.group == words["group"], report
    assert re.search(words["says"], finding.text), finding.text
    assert "likely" not in words or re.search(words["likely"], finding.likely[0]), finding.likely


@pytest.mark.parametrize("name", ["own_random_device", "order_by_time"])
def test_what_cannot_be_repeated_is_not_put_down_to_the_locale(check, name):
    report = check(PLUGINS[name], ["state"])
    assert "locale-dependent" not in {finding.id for finding in report.findings}, report


@pytest.mark.parametrize("name", GOOD)
def test_a_plugin_without_a_fault_passes(check, name):
    """One of six damaged samples is tried, unless it should warn of some; all in `make soak`."""
    left_out = PLUGINS[name].words.get("left out")
    warns = PLUGINS[name].words.get("warns", "").split()
    report = check(PLUGINS[name], OTHERS)
    assert report.passed and report.left_out == ([left_out] if left_out else []), report
    damaged = check(PLUGINS[name], DAMAGE, quick="SOAK" not in os.environ and not warns)
    assert damaged.passed, damaged
    found = [finding.id for finding in (*report.findings, *damaged.findings)]
    assert sorted(found) == sorted(warns), (report, damaged)
    groups = {"records", "threads", "failures", "leaks", "damage: cut", "loader"}
    assert {group for group in groups if not (left_out or "").startswith(f"the {group}")} < {
        *report.groups, *damaged.groups,
    }  # fmt: skip
