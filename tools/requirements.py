"""Prints what pip has to install for some targets of the Makefile, from pyproject.toml.

    python tools/requirements.py train test

A name is `train` for what the package needs, a dependency group (PEP 735), or an extra.  pip knows
groups since 25.1, and Debian 12 has pip 23.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def requirements(made: dict[str, Any], name: str) -> list[str]:
    """The lines for a name.  Raises KeyError if pyproject.toml has no such name."""
    project = made["project"]
    if name == "train":
        return list(project["dependencies"])
    groups = made["dependency-groups"]
    if name not in groups:
        return list(project["optional-dependencies"][name])
    lines = []
    for one in groups[name]:
        lines += requirements(made, one["include-group"]) if isinstance(one, dict) else [one]
    return lines


def main(names: list[str]) -> None:
    made = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name in names:
        print(*requirements(made, name), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
