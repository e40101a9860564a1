"""Whether a package is installed; a folder of tests may have the same name, as `datasets` has."""

import importlib.util


def is_installed(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None
