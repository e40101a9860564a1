"""Brings the test files of torch's and torchdata's own DataLoaders into build/torch-tests.

    python -m tools.fetch_torch_tests [FOLDER]

The versions are pinned, and the SHA-256 of each file is checked.  On a machine without network,
FOLDER has the files, at the same paths.  tests/trainers/test_torch_own_tests.py runs them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.request
from pathlib import Path

HOST = "https://raw.githubusercontent.com/"
STATEFUL = "meta-pytorch/data/v0.11.0/test/stateful_dataloader/"
# Path in build/torch-tests -> path at the host, SHA-256.
PINNED = {
    "torch/test_dataloader.py": (
        "pytorch/pytorch/v2.6.0/test/test_dataloader.py",
        "c955067aa66c0d9d74bff7ddabd3f912ab81164e0b133bd12d1debad557215a3",
    ),
    "torchdata/test_dataloader.py": (
        STATEFUL + "test_dataloader.py",
        "42e346271284dfa59348ce00d8473859db85499c28c0e811f7f3b8b5a1b49475",
    ),
    "torchdata/test_hugging_face.py": (
        STATEFUL + "test_hugging_face.py",
        "ceefd26089ad15470243fbf04ed9a836f53768aac1e3de3906bc8a2eb97d0ab6",
    ),
    "torchdata/test_sampler.py": (
        STATEFUL + "test_sampler.py",
        "b61db594c45ac861b5d3cb741e9606a9d6175aa5f2318dcd3a700bebc81bb255",
    ),
    "torchdata/test_state_dict.py": (
        STATEFUL + "test_state_dict.py",
        "8bdc8e83cb30e184ea8a024b8b5932643fb50607f7eca9373da6ec8cb4d495d7",
    ),
}
VARIABLE = "PYFLOWDATA_TORCH_TESTS"
ROOT = Path(__file__).resolve().parent.parent


def folder_of_tests() -> Path:
    """Where the files are or would be: $PYFLOWDATA_TORCH_TESTS, or build/torch-tests."""
    return Path(os.environ.get(VARIABLE) or ROOT / "build" / "torch-tests")


def is_pinned(name: str, content: bytes) -> bool:
    """True if this is the content of the file of that name."""
    return hashlib.sha256(content).hexdigest() == PINNED[name][1]


def fetch(name: str, source: Path | None) -> bytes:
    """The content of one file, from the folder `source` or from the host."""
    if source is not None:
        content = (source / name).read_bytes()
    else:
        with urllib.request.urlopen(HOST + PINNED[name][0], timeout=30) as answer:
            content = answer.read()
    if not is_pinned(name, content):
        where = source / name if source is not None else HOST + PINNED[name][0]
        sys.exit(f"{where} is not the file whose SHA-256 tools/fetch_torch_tests.py has")
    return bytes(content)


def main(arguments: list[str]) -> None:
    source = Path(arguments[0]) if arguments else None
    into = ROOT / "build" / "torch-tests"
    for name in PINNED:
        content = fetch(name, source)
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(content)
    print(f"{len(PINNED)} files of tests are in {into}")


if __name__ == "__main__":
    main(sys.argv[1:])
