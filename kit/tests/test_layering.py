"""What the kit may use of pyflowdata, which knows nothing of the kit; and the kit's own layers."""

import ast
import collections
import graphlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import uses
from project.test_layering_c import circle_in, included_files, includes
from project.test_messages import compared_messages_in_c, compared_messages_in_python
from support.paths import ROOT
from support.source_tree import C_FILES, code, parsed

KIT = ROOT / "kit"
CSRC = KIT / "csrc"
PACKAGE = KIT / "pyflowdata_kit"
OWN_C = sorted(CSRC.rglob("*.[ch]"))
DRIVERS = sorted(PACKAGE.rglob("*.[ch]"))
OWN = [(path, parsed(path)) for path in sorted(PACKAGE.rglob("*.py"))]
PUBLIC = {"pyflowdata/op.h", "pyflowdata/pyflowdata.h", "pyflowdata_kit/kit.h"}

# Folder of the kit's C -> those that its files may use, besides their own.
C_LAYERS = {"watch": set(), "check": {"watch"}, "bench": {"watch"}}


# ---- What is used of pyflowdata ------------------------------------------------------------------


def test_the_c_files_include_what_is_listed():
    own = {str(path.relative_to(CSRC)) for path in OWN_C}
    used = {name for path in OWN_C for name in includes(path)} - own - PUBLIC
    assert used == set(uses.HEADERS)


def test_the_library_calls_what_is_listed():
    """The library calls exactly the functions that are marked and exported for the kit."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not here")
    command = [nm, "-D", "--undefined-only", PACKAGE / "libpyflowdata_kit.so"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    called = dict(re.findall(r" U (pfd_\w+)@+(\w+)", out))  # symbol -> node of the export map
    private = {name for name, node in called.items() if node == "PYFLOWDATA_PRIVATE"}
    assert private == set(uses.FUNCTIONS)
    headers = "".join(path.read_text() for path in C_FILES if path.suffix == ".h")
    assert set(re.findall(r"\b(pfd_\w+)\([^;]*\)\s+PFD_PRIVATE;", headers)) == private


def imported(tree: ast.Module) -> set[str]:
    """The modules of pyflowdata that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return {name for name in names if name.split(".")[0] == "pyflowdata"}


def test_the_python_modules_import_what_is_listed():
    assert set().union(*(imported(tree) for _, tree in OWN)) == set(uses.MODULES)


# ---- The kit's own layers ------------------------------------------------------------------------


def test_file_names_of_c_are_unique():
    names = collections.Counter(path.name for path in [*OWN_C, *C_FILES])
    assert [name for name, count in names.items() if count > 1] == []


def test_c_includes_point_down_without_a_circle():
    assert not circle_in(C_LAYERS)
    for path in OWN_C:
        folder = path.parent.name
        own = {name.split("/")[0] for name in includes(path)} & C_LAYERS.keys()
        assert own <= {folder, *C_LAYERS[folder]}, path
    files = included_files(CSRC)
    assert len(files) > 15 and not circle_in(files)


def own_module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def own_imports(path: Path, tree: ast.Module) -> set[str]:
    """The modules of the kit that a file imports, anywhere in it."""
    here = path.parent.relative_to(PACKAGE).parts
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*here[: len(here) + 1 - node.level], *(node.module or "").split(".")]
            for name in [[], *([alias.name] for alias in node.names)]:
                place = PACKAGE.joinpath(*filter(None, [*base, *name]))
                files = (place / "__init__.py", place.with_suffix(".py"))
                names |= {own_module(file) for file in files if file.is_file()}
    return names - {"__init__"}


def test_python_modules_have_no_circle():
    used = {own_module(path): own_imports(path, tree) for path, tree in OWN}
    assert sum(map(len, used.values())) > 60
    tuple(graphlib.TopologicalSorter(used).static_order())


def test_only_the_binding_loads_the_library():
    for path, tree in OWN:
        names = own_imports(path, tree)
        assert "declared" not in names or own_module(path) == "binding", path
        assert not {"commands.check", "commands.new", "commands.bench"} & names, path


def test_no_message_is_compared():
    """Errors have a reason, an attr, counts and a cause: no code decides by a sentence."""
    for path in [*OWN_C, *DRIVERS]:
        found = compared_messages_in_c(code(path))
        assert not found, f"{path.relative_to(ROOT)} looks into a message: {found}"
    for path, tree in OWN:
        found = compared_messages_in_python(tree)
        assert not found, f"{path.relative_to(ROOT)} looks into a message: {found}"
