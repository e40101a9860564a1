"""Builds the kit's C library by make and puts it into the package.

The library is compiled with the sources of pyflowdata, which lie in the folder above, or in
product/ of a source distribution of the kit.
"""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
PRODUCT = HERE / "product" if (HERE / "product").is_dir() else HERE.parent
TOOLS = ["version.py", "install_packages", "c_headers.py", "declarations.py"]
NEEDED = ["Makefile", "csrc", *(f"tools/{name}" for name in TOOLS)]
BUILT = Path("build", "wheel", "libpyflowdata_kit.so")
DECLARED = Path("pyflowdata_kit", "declared.py")
VERSION = runpy.run_path(str(PRODUCT / "tools" / "version.py"))["version"]()


if not (HERE / "LICENSE").is_file():
    shutil.copy2(PRODUCT / "LICENSE", HERE)


def make(*targets: str) -> None:
    folder = ".." if PRODUCT.name == "product" else HERE.name
    command = ["make", f"BUILD={BUILT.parent}", f"KIT_DIR={folder}", "WERROR=",
               f"PYTHON={sys.executable}", *targets]  # fmt: skip
    subprocess.run(command, cwd=PRODUCT, check=True)


def make_declared() -> None:
    """What Python knows of kit.h, which a clone does not have before it."""
    make(str(Path("..", DECLARED) if PRODUCT.name == "product" else Path(HERE.name, DECLARED)))


class BuildWithLibrary(build_py):
    """Adds the library.  An editable install finds it in the checkout."""

    def run(self) -> None:
        make("all" if self.editable_mode else str(BUILT))
        make_declared()
        super().run()
        if not self.editable_mode:
            shutil.copy2(PRODUCT / BUILT, self._addition())

    def _addition(self) -> Path:
        return Path(self.build_lib) / "pyflowdata_kit" / BUILT.name

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), str(self._addition())]


class WithProduct(sdist):
    """Adds what the library is compiled with."""

    def run(self) -> None:
        make_declared()
        super().run()

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        for name in NEEDED:
            source, target = PRODUCT / name, Path(base_dir, "product", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, target)


class PlatformWheel(bdist_wheel):
    """For one platform, but any Python 3: the library does not know Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    version=VERSION,
    install_requires=[f"pyflowdata=={VERSION}"],
    distclass=WithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel, "sdist": WithProduct},
)
