"""docs/coming-from/equivalents-datasets.md: every form is run, and gives what the page says."""

import ast
import operator
import os
import re

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

PAGE = (ROOT / "docs" / "coming-from" / "equivalents-datasets.md").read_text()


def rows():
    """The rows of the tables: the library's form, pyflowdata's form, and what that form gives."""
    lines = re.findall(r"^\| (.*?) \| (.*) \| ?(.*?) ?\|$", PAGE, re.M)
    return [row for row in lines if row[1] != "pyflowdata"]


def forms(cell):
    """The pieces of code in a cell, with the names that follow `with`."""
    code, _, given = cell.partition("` with `")
    names = {}
    for assignment in re.findall(r"(\w+ = [^`]+)", given):
        exec(assignment, {"np": np}, names)
    return re.findall(r"`([^`]+)`", code if not given else code + "`"), names


@pytest.fixture(scope="module")
def prelude(tmp_path_factory):
    """The names of the page's first block, in a separate folder."""
    folder, before = tmp_path_factory.mktemp("equivalents"), os.getcwd()
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    names = {}
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(block, names)
    names["f"] = operator.neg
    yield names
    os.chdir(before)


def is_expression(code):
    try:
        body = ast.parse(code, mode="eval").body
        return isinstance(body, (ast.Call, ast.Subscript)) and not code.startswith("batch(")
    except SyntaxError:
        return False


def values(found):
    if isinstance(found, flow.Dataset):
        return [int(record["x"]) for record in found]
    return found


def test_all_libraries_have_lines():
    assert len(rows()) > 110
    assert sum(bool(gives) for *_, gives in rows()) > 60


@pytest.mark.parametrize("library", re.findall(r"^## (.*)$", PAGE, re.M))
def test_every_form_runs_and_gives_what_is_said(library, prelude):
    section = PAGE.split(f"## {library}\n")[1].split("\n## ")[0]
    own = [row for row in rows() if f"| {row[0]} | {row[1]} |" in section]
    assert len(own) > 15
    for theirs, cell, gives in own:
        codes, names = forms(cell)
        found = None
        for code in codes:
            needs_loader = "oader" in code and "flow." not in code
            if is_expression(code) and not needs_loader and code != "len()":
                found = eval(code, {**prelude, **names})
        if gives.startswith("len "):
            assert len(found) == int(gives[4:]), theirs
        elif gives:
            assert values(found) == ast.literal_eval(gives), theirs
