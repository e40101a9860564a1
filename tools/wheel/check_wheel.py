"""Checks wheels: tag, size, contents, licences, what the libraries ask of a system and export.

    python tools/wheel/check_wheel.py --glibc 2.28 dist/*.whl

auditwheel checks the libraries that are needed for loading.  This program checks the versions of
all symbols of glibc in every library, and the symbols that the libraries export.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

MOST_BYTES = 3_000_000
LINKED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libpyflowdata.so"}
LOADERS = re.compile(r"ld-linux-.*\.so\.[12]")
BUNDLED = ("zlib", "zstd", "lz4", "libjpeg-turbo", "libpng", "libwebp", "zig")
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def check_library(name: str, data: bytes, arch: str, glibc: str) -> Iterator[str]:
    elf = ELFFile(io.BytesIO(data))
    if elf["e_machine"] != MACHINES[arch]:
        yield f"is of {elf['e_machine']}"
    if elf.get_section_by_name(".debug_info") or elf.get_section_by_name(".symtab"):
        yield "is not stripped"
    needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    for library in sorted(needed - LINKED):
        if not LOADERS.fullmatch(library):
            yield f"needs {library}"
    for library, versions in elf.get_section_by_name(".gnu.version_r").iter_versions():
        for version in versions:
            kind, _, number = version.name.rpartition("_")
            if kind == "GLIBC" and numbers(number) > numbers(glibc):
                yield f"needs {version.name} of {library.name}"
    symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())
    if not any(symbol.name == "memcpy" for symbol in symbols):
        yield "has a memcpy of its own, slower than that of glibc"
    for symbol in symbols:
        is_exported = symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"
        if is_exported and not symbol.name.startswith(("pfd_", "PYFLOWDATA_")):
            yield f"exports {symbol.name}"


def package_of(wheel: str) -> str:
    return Path(wheel).name.partition("-")[0]


def library_of(package: str) -> str:
    return f"{package}/lib{package}.so"


def check_wheel(path: str, glibc: str) -> Iterator[str]:
    """What is wrong with a wheel, in words."""
    found = re.search(r"-py3-none-manylinux_(\d+)_(\d+)_(x86_64|aarch64)\.whl$", path)
    if not found:
        yield "has not the tag of a manylinux wheel"
        return
    if f"{found[1]}.{found[2]}" != glibc:
        yield f"is tagged for glibc {found[1]}.{found[2]}"
    package = package_of(path)
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        size = sum(entry.compress_size for entry in wheel.infolist())
        if size > MOST_BYTES:
            yield f"has {size / 1e6:.2f} MB, over {MOST_BYTES / 1e6:.0f}"
        for name in sorted(names):
            if not name.startswith((f"{package}/", f"{package}-")) or name.endswith(".pyc"):
                yield f"has {name}"
        if library_of(package) not in names:
            yield f"lacks {library_of(package)}"
        licenses = [name.rpartition("/licenses/")[2] for name in names if "/licenses/" in name]
        for bundled in BUNDLED if package == "pyflowdata" else ():
            if not any(f"LICENSE.{bundled}" in name for name in licenses):
                yield f"lacks the licence of {bundled}"
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        said = wheel.read(metadata).decode()
        for name in licenses:
            if f"License-File: {name}\n" not in said:
                yield f"METADATA does not name {name}"
        for name in sorted(name for name in names if name.endswith(".so")):
            for fault in check_library(name, wheel.read(name), found[3], glibc):
                yield f"{name} {fault}"
    if package != "pyflowdata":
        return  # auditwheel knows no library of another wheel
    audit = [sys.executable, "-m", "auditwheel", "show", path]
    shown = subprocess.run(audit, capture_output=True, text=True, check=False)
    platform = f"manylinux_{found[1]}_{found[2]}_{found[3]}"
    allowed = re.search(r'platform tag:\s+"manylinux_(\d+)_(\d+)_', " ".join(shown.stdout.split()))
    if not allowed or (int(allowed[1]), int(allowed[2])) > numbers(glibc):
        yield f"is not {platform} to auditwheel:\n{shown.stdout}{shown.stderr}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--glibc", required=True)
    parser.add_argument("wheels", nargs="+")
    args = parser.parse_args()
    failed = False
    for path in args.wheels:
        faults = list(check_wheel(path, args.glibc))
        for fault in faults:
            print(f"{path}: {fault}", file=sys.stderr)
        failed = failed or bool(faults)
        if not faults:
            with zipfile.ZipFile(path) as wheel:
                size = sum(entry.compress_size for entry in wheel.infolist())
                library = wheel.getinfo(library_of(package_of(path))).file_size
            print(f"{path}: {size / 1e6:.2f} MB, library {library / 1e6:.2f} MB, all is well")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
