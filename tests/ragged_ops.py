"""The ops of tests/plugins/ragged_ops.c, and lines for them to read.

A plugin cannot be unloaded, and other tests look at all ops that there are: what uses these ops
runs in a process of its own, `there(function, ...)` calls a function of a test module in it.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import random
import subprocess
import types
from pathlib import Path

import pytest

import pyflowdata as flow

HERE = Path(__file__).resolve().parent
ops = types.SimpleNamespace()  # in the process where the plugin is loaded


def compile_plugin(library: Path) -> Path:
    include = HERE.parent / "csrc" / "include"
    source = HERE / "plugins" / "ragged_ops.c"
    environment = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
    command = ["cc", "-std=c11", "-O1", "-fPIC", "-shared", "-I", include, source, "-o", library]
    subprocess.run(command, check=True, env=environment)
    return library


def load(path: str) -> None:
    for function in flow.load_library(path):
        setattr(ops, function.__name__, function)


@pytest.fixture(scope="session")
def there(tmp_path_factory):
    library = compile_plugin(tmp_path_factory.mktemp("ragged_ops") / "ragged_ops.so")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parent)]))
        patch.setenv("TSAN_OPTIONS", "halt_on_error=1 " + os.environ.get("TSAN_OPTIONS", ""))
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(
            1, mp_context=context, initializer=load, initargs=(str(library),)
        ) as process:

            def call(function, *args, **kwargs):
                return process.submit(function, *args, **kwargs).result(timeout=300)

            yield call


def write_lines(
    folder: Path, count: int = 600, special: dict[int, str] | None = None, most: int = 40
) -> list[str]:
    """Writes lines of 1 to `most` letters, some of thousands, in four parts; returns them."""
    folder.mkdir(exist_ok=True)
    chance = random.Random(7)
    lines = []
    for i in range(count):
        size = chance.randrange(1, most) if i % 50 else 3000 + i
        lines.append("".join(chance.choices("abcxyz", k=size)))
    for i, line in (special or {}).items():
        lines[i] = line
    third = count // 3
    for part, end in enumerate(["\n", "\r\n", "\n", "\n\n"]):
        text = "".join(line + end for line in lines[part * third : (part + 1) * third])
        (folder / f"part-{part}").write_bytes(text.encode())
    return lines[: 4 * third]


def read(make, *args, num_threads=2, prefetch=None, memory_budget=None, epochs=1, **kwargs):
    """All batches of a loader of the blobs that `make` makes, in a list; arrays are copied."""
    blobs = make(*args, **kwargs)
    options = dict(num_threads=num_threads, prefetch=prefetch, memory_budget=memory_budget)
    with flow.DataLoader(blobs, **options) as loader:
        return [batch for _ in range(epochs) for batch in loader]
