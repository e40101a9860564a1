"""Checks that what a release says of itself agrees: version, changelog and licence.

    python tools/wheel/check_release.py
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
version_of = runpy.run_path(str(ROOT / "tools" / "version.py"))["version"]
HEADING = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def faults(root: Path) -> Iterator[str]:
    """What does not agree, in words."""
    version = version_of(root)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    releases = [heading for heading in headings if heading != "Unreleased"]
    if "Unreleased" in headings[1:]:
        yield "CHANGELOG.md: Unreleased is not the first heading"
    parsed = [HEADING.fullmatch(heading) for heading in releases]
    numbers = [tuple(map(int, found.groups())) for found in parsed if found]
    if len(numbers) != len(releases):
        yield "CHANGELOG.md: a heading is neither Unreleased nor a version such as 1.2.0"
    if numbers != sorted(set(numbers), reverse=True):
        yield "CHANGELOG.md: the newest version must be the first, and each is there once"
    if not releases or releases[0] != version:
        yield f"CHANGELOG.md: the first version is not {version}, that of csrc/registry/version.h"
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    if 'license = "Apache-2.0"' not in project:
        yield "pyproject.toml: the licence is not that of LICENSE"
    if "Apache License" not in (root / "LICENSE").read_text(encoding="utf-8"):
        yield "LICENSE: the licence is not that of pyproject.toml"


def main() -> int:
    found = list(faults(ROOT))
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print(f"version, changelog and licence agree: {version_of(ROOT)}")
    if not found and "\n## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        print("CHANGELOG.md has entries under Unreleased: they get a version before a release")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
