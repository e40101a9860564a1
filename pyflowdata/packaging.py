"""For the setup.py of a package with a plugin: compiles it by setuptools, and writes its types.

    setup(ext_modules=[plugin("my_format", ["csrc/my_format.c"])], cmdclass=commands)

The package then has my_format.so, and ops.pyi with the types of its ops.  Only a build imports this
module, as setuptools is needed for nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from setuptools import Command, Extension
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

from .native import include_dir

_STUBS = "ops.pyi"
_CPP_SUFFIXES = (".cc", ".cpp", ".cxx")


class _Plugin(Extension):
    """A shared library that does not use Python."""


def plugin(
    package: str,
    sources: Sequence[str],
    *,
    libraries: Sequence[str] = (),
    flags: Sequence[str] = (),
    depends: Sequence[str] = (),
) -> Extension:
    """The element of `setup(ext_modules=[...])` that builds PACKAGE/PACKAGE.so.

    Args:
        package: Name of the package.
        sources: C or C++ files, from the project's folder.
        libraries: Libraries to link with, as "z" for libz.
        flags: Flags for the compiler, after -std=c11 (C++: -std=c++11) -fvisibility=hidden -Wall
            -Wextra.
        depends: Other files that the sources include.
    """
    is_cpp = any(source.endswith(_CPP_SUFFIXES) for source in sources)
    standard = "-std=c++11" if is_cpp else "-std=c11"
    headers = sorted(map(str, Path(include_dir(), "pyflowdata").glob("*.h")))
    return _Plugin(
        f"{package}.{package}",
        list(sources),
        include_dirs=[include_dir()],
        libraries=[*libraries, "m"],
        extra_compile_args=[standard, "-fvisibility=hidden", "-Wall", "-Wextra", *flags],
        extra_link_args=["-Wl,-z,defs"],  # what is missing is said now, not at the import
        # A pyflowdata with other headers, or another version in there, compiles it again.
        depends=[*depends, *headers, *filter(os.path.isfile, ["pyproject.toml"])],
        language="c++" if is_cpp else None,
    )


class _BuildPlugin(build_ext):
    """Gives the library a name without the tags of extension modules, and writes the types of its
    ops.
    """

    def get_ext_filename(self, fullname: str) -> str:
        if isinstance(self.ext_map.get(fullname), _Plugin):
            return os.path.join(*fullname.split(".")) + ".so"
        return str(super().get_ext_filename(fullname))

    def run(self) -> None:
        version = self.distribution.get_version()
        for one in self._plugins():
            one.define_macros.append(("PLUGIN_VERSION", f'"{version}"'))
        super().run()
        environment = {key: os.environ[key] for key in os.environ if key != "PYFLOWDATA_PLUGINS"}
        for one in self._plugins():
            library = self.get_ext_fullpath(one.name)
            stubs = str(Path(library).with_name(_STUBS))
            # Another process: this one may build several packages.
            command = [sys.executable, "-m", "pyflowdata", "stubs", library, "-o", stubs]
            done = subprocess.run(
                command, env=environment, check=False, capture_output=True, text=True
            )
            if done.returncode != 0:
                raise SystemExit(f"the plugin was compiled, and is refused:\n{done.stderr.strip()}")

    def get_outputs(self) -> list[str]:
        stubs = [
            str(Path(self.build_lib, self.get_ext_filename(one.name)).with_name(_STUBS))
            for one in self._plugins()
        ]
        return [*super().get_outputs(), *([] if self.inplace else stubs)]

    def _plugins(self) -> list[_Plugin]:
        return [one for one in self.extensions if isinstance(one, _Plugin)]


class _PlatformWheel(bdist_wheel):
    """A wheel for one platform and any Python 3, unless it has extension modules of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        python, abi, platform = super().get_tag()
        modules = self.distribution.ext_modules or []
        if all(isinstance(one, _Plugin) for one in modules):
            return "py3", "none", platform
        return python, abi, platform


commands: dict[str, type[Command]] = {"build_ext": _BuildPlugin, "bdist_wheel": _PlatformWheel}
"""What to give to `setup(cmdclass=...)`."""
