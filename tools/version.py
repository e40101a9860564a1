"""The version, which csrc/registry/version.h states.

    python tools/version.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version(root: Path = ROOT) -> str:
    """That of the tree in this folder."""
    text = (root / "csrc" / "registry" / "version.h").read_text(encoding="utf-8")
    found = re.search(r'^#define PFD_VERSION "(.+)"$', text, re.MULTILINE)
    assert found, "csrc/registry/version.h defines no PFD_VERSION"
    return found[1]


if __name__ == "__main__":
    print(version())
