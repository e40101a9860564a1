"""Checks a source distribution: it has the files of git, what setuptools adds and what
`make` writes, nothing else.

    python tools/wheel/check_sdist.py dist/pyflowdata-*.tar.gz
"""

import subprocess
import sys
import tarfile

ADDED = {
    "PKG-INFO", "setup.cfg", "pyflowdata/ops.pyi", "pyflowdata/native/declared.py",
    "kit/pyflowdata_kit/declared.py",
}  # fmt: skip


def main() -> int:
    with tarfile.open(sys.argv[1]) as archive:
        files = {entry.name.partition("/")[2] for entry in archive if entry.isfile()}
        odd = [entry.name for entry in archive if not (entry.isfile() or entry.isdir())]
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = set(subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0"))
    extra = sorted(
        name for name in files - listed - ADDED if not name.startswith("pyflowdata.egg-info/")
    )
    faults = [f"has {name}" for name in extra] + [f"has the link {name}" for name in odd]
    faults += [f"lacks {name}" for name in sorted(listed - files - {""})]
    for fault in faults:
        print(f"{sys.argv[1]} {fault}", file=sys.stderr)
    if not faults:
        print(f"{sys.argv[1]}: {len(files)} files, all is well")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
