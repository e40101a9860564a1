"""What all tests share: where the package is, and which files the sanitizer runs take."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
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

# The cache of the user who runs the tests is not theirs; what tests it says where.
os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")

import plugin_sources  # noqa: E402

import pyflowdata as flow  # noqa: E402

SANITIZED = "LD_PRELOAD" in os.environ

# Marker -> its meaning, and the test files that carry it as a whole.
MARKERS = {
    "build": (
        "compiles C or installs the package; left out of the sanitizer runs",
        {
            "test_abi",
            "test_abi_matrix",
            "test_add_op",
            "test_kit",
            "test_kit_builtin",
            "test_kit_power",
            "test_cli_new",
            "test_compile",
            "test_example_custom_reader",
            "test_install",
            "test_plugins",
            "test_port_pages",
            "test_op_bench",
            "test_readme",
            "test_without_libraries",
        },
    ),
    "threads": (
        "exercises the threads of a loader; what ThreadSanitizer watches",
        {
            "test_engine",
            "test_generator_reader",
            "test_invariance",
            "test_mini_dataloader",
            "test_python_ops",
            "test_ragged",
            "test_resume",
            "test_whole_batch",
        },
    ),
    "slow": (
        "takes seconds; left out of the sanitizer runs",
        {
            "test_accelerate",
            "test_cli_convert",
            "test_cli_csv",
            "test_cli_head",
            "test_cli_verify",
            "test_examples",
            "test_lightning",
            "test_numba_ops",
            "test_soak",
            "test_torch",
        },
    ),
    "python": (
        "is about Python or the tree; left out of the sanitizer runs",
        {
            "test_bench_smoke",
            "test_instructions",
            "test_io_files",
            "test_io_formats",
            "test_io_interop",
            "test_layering",
            "test_stubs",
            "test_world",
        },
    ),
}

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("sanitized", deadline=None, max_examples=10)
hypothesis.settings.load_profile("sanitized" if SANITIZED else "default")


def pytest_configure(config: pytest.Config) -> None:
    for marker, (meaning, _) in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, (_, files) in MARKERS.items():
            if item.path.stem in files:
                item.add_marker(marker)


@pytest.fixture(scope="session")
def test_ops(tmp_path_factory: pytest.TempPathFactory) -> flow.Plugin:
    """The plugin of the ops in tests/ops, loaded: flow.StreamReader and the others are there."""
    return plugin_sources.load_test_ops(tmp_path_factory.mktemp("test_ops"))


@pytest.fixture(scope="session")
def ragged_ops(tmp_path_factory: pytest.TempPathFactory) -> flow.Plugin:
    """The plugin of tests/plugins/ragged_ops.c, loaded."""
    library = tmp_path_factory.mktemp("ragged_ops") / "ragged_ops.so"
    return plugin_sources.load_ops(library, ROOT / "tests" / "plugins" / "ragged_ops.c")
