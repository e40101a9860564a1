"""What all tests share: where the package is, and the environment they start in."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from support.paths import ROOT

if os.environ.get("PYFLOWDATA_NO_SKIP"):  # a target that installs all packages misses none
    pytest.importorskip = lambda name, *_, **__: importlib.import_module(name)

if importlib.util.find_spec("pyflowdata") is None:
    sys.path.insert(0, str(ROOT))

# Readers find their rank in these: without them the tests are one process, under any launcher.
LAUNCHERS = "HOROVOD_ JSM_ MPI_LOCAL MV2_ OMPI_ PMI_ PMIX_ PRTE_ SLURM_ TORCHELASTIC_".split()
for variable in [*os.environ]:
    if variable in ("RANK", "WORLD_SIZE") or variable.startswith(tuple(LAUNCHERS)):
        del os.environ[variable]

# A shell that starts the tests in the background has interrupts ignored, and tests wait for them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Models of tests are tiny, and the threads that NumPy's and torch's libraries would start for them
# wait for each other where several tests run side by side.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The cache of the user who runs the tests is not theirs; what tests it says where.
os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")

from support import plugin_sources  # noqa: E402

import pyflowdata as flow  # noqa: E402

PRELOADED = "LD_PRELOAD" in os.environ
SANITIZER_FLAGS = os.environ.get("SANITIZER_FLAGS", "")  # of the compiler, for a sanitizer

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("sanitized", deadline=None, max_examples=10)
hypothesis.settings.load_profile("sanitized" if PRELOADED else "default")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Little of what is there before the first test becomes garbage: it is never looked through."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


if "PYTEST_XDIST_WORKER" in os.environ:

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Sends one report of a test that passes, not five: that took as long as pytest itself.

        A file for JUnit and `--durations` lack the times of setup; without -n they have all.
        """
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True


def left_out(sanitizer: str) -> dict[Path, set[str]]:
    """The files of tests that `make` leaves out with a sanitizer, "asan" or "tsan", each with the
    names of its functions; no names: all of it."""
    found: dict[Path, set[str]] = {}
    runs, path = "", ROOT
    for line in (ROOT / "tests/support/left_out_of_sanitizers.txt").read_text().splitlines():
        if line.startswith("["):
            runs = line.strip("[]")
        elif line and not line.startswith("#") and sanitizer in runs.split():
            words = line.split()
            if not line.startswith(" "):
                path = ROOT / "tests" / words.pop(0)
            found.setdefault(path, set()).update(words)
    return found


LEFT_OUT = left_out("tsan" if "thread" in SANITIZER_FLAGS else "asan") if SANITIZER_FLAGS else {}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if LEFT_OUT.get(collection_path) == set() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    gone = [one for one in items if one.name.partition("[")[0] in LEFT_OUT.get(one.path, ())]
    if gone:
        config.hook.pytest_deselected(items=gone)
        left = set(gone)
        items[:] = [one for one in items if one not in left]
    # At the end no process waits for another, which has a long test.
    items.sort(key=lambda one: one.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def test_ops(tmp_path_factory: pytest.TempPathFactory) -> flow.Plugin:
    """The plugin of the ops in tests/support/ops, loaded: it has flow.StreamReader and others."""
    return plugin_sources.load_test_ops(tmp_path_factory.mktemp("test_ops"))


@pytest.fixture(scope="session")
def ragged_ops(tmp_path_factory: pytest.TempPathFactory) -> flow.Plugin:
    """The plugin of tests/support/ragged_ops.c, loaded."""
    library = tmp_path_factory.mktemp("ragged_ops") / "ragged_ops.so"
    return plugin_sources.load_ops(library, ROOT / "tests/support/ragged_ops.c")
