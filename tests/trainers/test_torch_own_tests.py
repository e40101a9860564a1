"""The tests of torch's DataLoader and torchdata's StatefulDataLoader, run with ours."""

import fnmatch
import importlib.util

import pytest
from support import torch_own
from support.torch_own_lists import FAIL_WITH_OURS, NOT_RUN, QUICK
from tools.fetch_torch_tests import PINNED, folder_of_tests, is_pinned

NEEDS = {
    "torch": ["torch", "expecttest", "psutil"],
    "torchdata": ["torchdata", "expecttest", "parameterized", "psutil"],
}
MORE = {"torchdata/test_hugging_face.py": ["datasets"]}


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
    results = torch_own.run(source, tmp_path, without=listed(NOT_RUN, name))
    assert results
    compare(results, listed(FAIL_WITH_OURS, name))


@pytest.mark.parametrize("name", QUICK)
def test_some_of_a_file(name, tmp_path):
    """Those that take no long time and show most."""
    only = QUICK[name].split()
    results = torch_own.run(source_of(name), tmp_path, only=only)
    assert sorted(results) == sorted(only)
    compare(results, [])
