"""Plugins inside Python packages, as `pyflowdata new --package` writes them: NAME/NAME.so."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from ..errors import Error
from .loading import Plugin, load_library


def load_package_ops(module: str, library: str) -> None:
    """Loads the plugin in the folder of a module, and makes its ops the functions of that module.

    The module then has the op functions, their names in `__all__`, and the `__version__` of the
    plugin.  The functions belong to the module: unpickling them imports it.

    Args:
        module: `__name__` of the module, which calls this while it is imported.
        library: Name of the plugin's file.

    Raises:
        ImportError: The package is not built, or its plugin cannot be loaded: it needs a newer
            pyflowdata, or an op of that name is there already.
    """
    this = sys.modules[module]
    package = module.rpartition(".")[0] or module
    path = Path(str(this.__file__)).with_name(library)
    if not path.is_file():
        raise ImportError(
            f"{package} is not built: {path} is missing; run `make`, or `pip install .`, in the "
            "folder of the project, or import the package that is installed",
            name=module, path=str(path),
        )  # fmt: skip
    try:
        plugin = load_library(path)
    except Error as failure:
        raise ImportError(
            f"the plugin of {package} cannot be loaded: {failure}", name=module, path=str(path)
        ) from failure
    names = []
    for function in plugin:
        function.__module__ = module
        setattr(this, function.__name__, function)
        names.append(function.__name__)
    this.__dict__.update(__all__=names, __version__=plugin.version)


def load_named(said: str) -> Plugin:
    """Loads the plugin that a user names: by its path, by its package, or by its C or C++ file,
    which is compiled first.
    """
    if said.endswith((".c", ".cc", ".cpp", ".cxx")) and os.path.exists(said):
        from .compiler import compile  # noqa: A004  (imported where it is needed)

        return compile(Path(said))
    return load_library(library_path(said))


def library_path(said: str) -> str:
    """The path of the plugin that a user names by its path, or by the package that contains it. The
    package is looked up, but not imported.  A folder is not a plugin: it may be the project from
    which the installed package was built.
    """
    if os.path.isfile(said) or not said.isidentifier():
        return said
    try:
        found = importlib.util.find_spec(said)
    except (ImportError, ValueError):
        return said
    folders = (found.submodule_search_locations if found else None) or ()
    libraries = [os.path.join(folder, f"{said}.so") for folder in folders]
    return next(filter(os.path.isfile, libraries), said)
