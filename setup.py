"""Builds the C library by make and puts it, with its headers, into the package."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
BUILD = Path("build", "wheel")
# Of a wheel with the codecs in it: libjpeg-turbo has IJG, BSD and Zlib; zstd, lz4 and libwebp have
# BSD; the compiler's runtime has MIT.
LICENSES = "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND IJG AND MIT AND Zlib AND libpng-2.0"
OWN_LICENSE = "License-File: LICENSE\n"
BUILT = BUILD / "libpyflowdata.so"
WRITTEN = [Path("pyflowdata", "ops.pyi"), Path("pyflowdata", "native", "declared.py")]  # for Python


def make(*targets: str | Path) -> None:
    # A folder of its own, and our warnings must not fail a build with a new compiler.
    command = ["make", f"BUILD={BUILD}", "WERROR=", f"PYTHON={sys.executable}", *map(str, targets)]
    subprocess.run(command, cwd=ROOT, check=True)


class BuildWithLibrary(build_py):
    """Adds library and headers.  An editable install finds them in the checkout."""

    def run(self) -> None:
        make("all") if self.editable_mode else make(BUILT, *WRITTEN)
        super().run()
        if not self.editable_mode:
            for source, addition in self._additions().items():
                addition.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, addition)

    def _additions(self) -> dict[Path, Path]:
        package = Path(self.build_lib) / "pyflowdata"
        headers = sorted((ROOT / "csrc" / "include" / "pyflowdata").glob("*.h"))
        added = {header: package / "include" / "pyflowdata" / header.name for header in headers}
        return added | {ROOT / BUILT: package / BUILT.name}

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return super().get_outputs(include_bytecode) + [str(p) for p in self._additions().values()]


class WithWritten(sdist):
    """Has what the build writes, which a clone does not have before it."""

    def run(self) -> None:
        if not all((ROOT / path).is_file() for path in WRITTEN):
            make(*WRITTEN)
        super().run()


class PlatformWheel(bdist_wheel):
    """For one platform, but any Python 3: the library does not know Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Adds the licences of libraries that are linked in: the files of $BUNDLED_LICENSES.

        tools/wheel/Makefile sets it.
        """
        super().egg2dist(egginfo_path, distinfo_path)
        folder = os.environ.get("BUNDLED_LICENSES")
        for source in sorted(Path(folder).iterdir()) if folder else []:
            added = Path("bundled", source.name)
            target = Path(distinfo_path, "licenses", added)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            metadata = Path(distinfo_path, "METADATA")
            text = metadata.read_text(encoding="utf-8")
            text = text.replace(OWN_LICENSE, f"{OWN_LICENSE}License-File: {added}\n", 1)
            text = re.sub("(?m)^License-Expression: .*$", f"License-Expression: {LICENSES}", text)
            metadata.write_text(text, encoding="utf-8")


class WithLibrary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    version=runpy.run_path(str(ROOT / "tools" / "version.py"))["version"](),
    distclass=WithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "sdist": WithWritten, "bdist_wheel": PlatformWheel},
)
