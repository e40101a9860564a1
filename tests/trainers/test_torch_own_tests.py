"""The tests of torch's DataLoader and torchdata's StatefulDataLoader, run with ours."""

import fnmatch
import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT
from support.torch_own_lists import FAIL_WITH_OURS, NOT_RUN, QUICK
from tools.fetch_torch_tests import PINNED, folder_of_tests, is_pinned

NEEDS = {
    "torch": ["torch", "expecttest", "psutil"],
    "torchdata": ["torchdata", "expecttest", "parameterized", "psutil"],
}
MORE = {"torchdata/test_hugging_face.py": ["datasets"]}

IMPORT = re.compile(
    r"^from (?:torch\.utils\.data|torchdata\.stateful_dataloader) import (\([^)]*\)|.*)$", re.M
)
LOADER = re.compile(r"^((?:Stateful)?DataLoader)(?: as (\w+))?$")
OURS = "from pyflowdata.integrations.torch import DataLoader as "
WAITS = re.compile(r"^JOIN_TIMEOUT = .*$", re.M)  # for a process that the machine may be slow with
WAIT, LIMIT = 200, 300  # seconds: for such a process, for a test

SLOW_IMPORTS = ["torch._dynamo"]  # takes seconds; each test would import it for itself


def with_our_loader(text):
    """The source of a test file, or of a script in it, in which DataLoader is ours."""
    text = IMPORT.sub(lambda found: found[0] + "".join(ours_for(found[1])), text)
    if OURS + "DataLoader\n" in text:
        text = text.replace("torch.utils.data.DataLoader(", "DataLoader(")
    return text


def ours_for(imported):
    """The line of import that takes the place of each loader among the imported names."""
    for name in imported.strip("()").split(","):
        loader = LOADER.match(name.strip())
        if loader:
            yield "\n" + OURS + (loader[2] or loader[1])


def run(source, folder, only=(), without=(), ours=True):
    """Name -> (status, why) of the tests of the file `source`, which is copied into the folder.

    The statuses are those of each_in_a_process.py.  `only` and `without` are patterns of their
    names; with `ours` False the loader stays torch's or torchdata's own.
    """
    text = source.read_text(encoding="utf-8")
    text = WAITS.sub(f"JOIN_TIMEOUT = {WAIT}.0", with_our_loader(text) if ours else text)
    copy, results = folder / source.name, folder / "results.jsonl"
    copy.write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests/support/each_in_a_process.py")]
    command += [str(copy), str(results), "--limit", str(LIMIT)]
    command += ["--only", *only] if only else []
    command += ["--without", *without] if without else []
    command += ["--preload", *SLOW_IMPORTS]
    path = [str(ROOT), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    lines = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    return {line["name"]: (line["status"], line["why"]) for line in lines}


def source_of(name):
    """Path of the test file, or the test is skipped and says what is missing."""
    for package in NEEDS[name.split("/")[0]] + MORE.get(name, []):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: `make test-trainers` installs it")
    path = folder_of_tests() / name
    if not path.exists():
        pytest.skip(f"{path} is not there: python -m tools.fetch_torch_tests gets it")
    assert is_pinned(name, path.read_bytes()), f"{path} is of another version: fetch it again"
    return path


def listed(entries, name):
    """The patterns in the entries for this file."""
    return " ".join(patterns for file, _, patterns in entries if file == name).split()


def compare(results, may_fail):
    """Fails unless exactly the tests of these patterns did; torch may skip some of them here."""
    failed = {test for test, (status, _) in results.items() if status not in ("passed", "skipped")}
    allowed = {test for each in may_fail for test in fnmatch.filter(results, each)}
    new = "\n\n".join(f"{test}: {results[test]}" for test in sorted(failed - allowed))
    assert not new, f"these fail with our DataLoader:\n\n{new}"
    mended = [test for test in allowed - failed if results[test][0] == "passed"]
    assert not mended, f"these pass now, so take them from torch_own_lists.py: {mended}"
    stale = [each for each in may_fail if not fnmatch.filter(results, each)]
    assert not stale, f"no test has these names of torch_own_lists.py: {stale}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PINNED)
def test_all_of_a_file(name, tmp_path):
    """All but those that are listed pass, and those do fail."""
    source = source_of(name)
    results = run(source, tmp_path, without=listed(NOT_RUN, name))
    assert results
    compare(results, listed(FAIL_WITH_OURS, name))


@pytest.mark.parametrize("name", QUICK)
def test_some_of_a_file(name, tmp_path):
    """The tests that take little time and show most."""
    only = QUICK[name].split()
    results = run(source_of(name), tmp_path, only=only)
    assert sorted(results) == sorted(only)
    compare(results, [])
