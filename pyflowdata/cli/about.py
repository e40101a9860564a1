"""The parts of this installation, for `pyflowdata --version` and for reports of faults."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version as version_of

from ..native import build_parts, has_lock, library_path, version


def _version_of(package: str) -> str:
    try:
        return version_of(package)
    except PackageNotFoundError:
        return "of unknown version"


def about() -> dict[str, str]:
    """Name and version of each part, in the order in which they are shown.

    The version of a codec that is missing in this build is "not in this build".
    """
    found = {"pyflowdata": version(), "library": library_path()}
    for name, stated in build_parts():
        found[name] = "not in this build" if stated is None else stated
    threads = "" if has_lock() else ", without GIL"
    found["Python"] = f"{platform.python_version()} ({sys.implementation.name}{threads})"
    for package in ("numpy", "cffi"):
        found[package] = _version_of(package)
    libc = " ".join(platform.libc_ver())
    found["system"] = f"{platform.system()} {platform.release()} {platform.machine()}, {libc}"
    found["processors"] = str(len(os.sched_getaffinity(0)))
    return found


def in_lines() -> str:
    """`about()` as text; the first line has only the name and the version, for scripts."""
    first, *others = about().items()
    width = max(len(name) for name, _ in others)
    return "\n".join([" ".join(first), *(f"{name:{width}}  {stated}" for name, stated in others)])
