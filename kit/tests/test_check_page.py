"""docs/reference/check-findings.md: each finding, and where it is found; check.md: its code runs,
and it has each option."""

import re

import pytest
from faulty_plugins import FAULTY, PLUGINS
from finding_ids import finding_ids
from support.page_runner import PageProcess, run_page
from support.paths import ROOT
from tools.page_blocks import blocks_of

from pyflowdata_kit.checks import GROUPS
from pyflowdata_kit.recompiled.compiling import NATIVE_GROUPS, SANITIZERS

PAGE = (ROOT / "docs/reference/check.md").read_text()
FINDINGS = (ROOT / "docs/reference/check-findings.md").read_text()
_ROW = re.compile(r"^\| (`[^|]*`) \| ([^|]+) \| ([^|]+) \| (.+) \|$", re.M)


def rows():
    """The ids of each row, the groups or sanitizers that find them, and what it says."""
    table = FINDINGS.split("## Every finding")[1]
    return [
        (re.findall(r"`([^`]+)`", ids), found.split(", "), says)
        for ids, _, found, says in _ROW.findall(table)
    ]


def row_of(id):
    """The place that names an id, or a beginning that ends in "…"."""
    named = [row for row in rows() if id in row[0]]
    return named or [
        row for row in rows()
        if any(one.endswith("…") and id.startswith(one[:-1]) for one in row[0])
    ]  # fmt: skip


def test_the_table_has_each_finding_once():
    ids = finding_ids()
    assert [id for id in ids if len(row_of(id)) != 1] == []


def test_the_table_has_no_finding_that_is_not_there():
    ids = finding_ids()
    for named, _, says in rows():
        for one in named:
            prefix = one.removesuffix("…")
            assert one in ids or (prefix != one and any(id.startswith(prefix) for id in ids)), one
        assert says.strip()


def test_the_table_names_groups_that_there_are():
    names = {group.name.partition(":")[0] for group in GROUPS}
    names |= {"any", "descriptor", *NATIVE_GROUPS}
    for _, found, _ in rows():
        assert set(found) <= names, found


@pytest.mark.parametrize("name", FAULTY)
def test_the_table_says_where_a_faulty_plugin_is_caught(name):
    words = PLUGINS[name].words
    ((_, found, _),) = row_of(words["finding"])
    assert found == ["any"] or words["group"].partition(":")[0] in found


def in_quick(name):
    """The cases of a group that --quick runs, by the page."""
    groups = [group for group in GROUPS if group.name.partition(":")[0] == name]
    quick = [group.is_quick for group in groups]
    if not any(quick):
        return "none"
    return "all" if all(quick) and all(group.quick_every == 1 for group in groups) else "some"


def test_each_group_is_described_in_order():
    table = FINDINGS.split("## Groups of checks")[1].split("\n## ")[0]
    listed = re.findall(r"^\| ([a-z ]+) \| (all|some|none) \| .", table, re.M)
    names = list(dict.fromkeys(group.name.partition(":")[0] for group in GROUPS))
    assert listed == [("descriptor", "all"), *((name, in_quick(name)) for name in names)]


def test_each_option_is_described():
    command = (ROOT / "kit/pyflowdata_kit/commands/check.py").read_text()
    for option in re.findall(r'add\("(--[a-z]+)"', command):
        assert f"| `{option}" in PAGE or f"`{option} FLAGS`" in PAGE, option
    assert all(f"`--{name}`" in PAGE for name in SANITIZERS)


def test_its_code_runs(tmp_path):
    blocks = blocks_of("docs/reference/check.md")
    for block in blocks:
        del block.marks["tested by"]
    process = PageProcess()
    run_page(process, blocks, tmp_path)
    process.close()
