"""A file earns its door: two other files use it, or it is large, or it is one of a kind.

The kit's files do so as well.  What has one user belongs into the file of that user.
"""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from support.paths import ROOT
from support.rules import keep
from support.source_tree import parsed

from pyflowdata.cli import COMMANDS

LARGE = 200  # lines, of a .c with its .h together
MOST_FILES = {"csrc": 400, "pyflowdata": 220}  # a new room, as that of remote files, adds its own
MOST_IN_FOLDER = 40
MOST_AT_THE_TOP = 8  # modules of pyflowdata
OF_ONE_KIND = (
    "csrc/formats",
    "csrc/images/ops",
    "csrc/ops",
)  # folders that grow with what is added
FORMATS = [path.name for path in (ROOT / "csrc/formats").iterdir()]
# A file of a kind: view, format, codec, command, integration, their lists, the one host table of
# op.h, a public header or module; of the kit a watch, a group of checks, a command.  C files with a
# DESCRIPTOR, as ops, are of a kind, too.
KIND = re.compile(rf"""
    csrc/views/\w+_dataset\.c | csrc/images/codecs/\w+_codec\.c | csrc/\w+/builtin_\w+\.c
    | csrc/registry/host\.c | csrc/include/
    | pyflowdata/\w+\.py | pyflowdata/cli/({"|".join(COMMANDS)})\.py
    | pyflowdata/formats/({"|".join(FORMATS)})\.py
    | pyflowdata/integrations/\w+\.py
    | kit/csrc/watch/\w+\.c | kit/pyflowdata_kit/(checks|commands)/\w+\.py
    | (kit/)?pyflowdata(_kit)?/(\w+/)*__(init|main)__\.py
""", re.VERBOSE)  # fmt: skip
DESCRIPTOR = re.compile(r"^const pfd_(op|view|format|codec|image_codec)\w* pfd_", re.MULTILINE)
# File -> what it names of the kit: the public name of a part of it, and how it is installed.
NAMES_OF_KIT = {
    "pyflowdata/testing.py": "pyflowdata_kit", "pyflowdata/words/remedies.py": "pyflowdata-kit",
}  # fmt: skip
WRITTEN = {"ops.pyi", "declared.py"}  # by make
C_USERS = ("csrc", "kit/csrc", "tests/c")  # the kit and the C tests look inside


def files_of(folder, *suffixes):
    found = (ROOT / folder).rglob("*")
    return sorted(
        path.relative_to(ROOT) for path in found
        if path.is_file() and path.suffix in suffixes and path.name not in WRITTEN
    )  # fmt: skip


def lines_of(*paths):
    return sum(len((ROOT / path).read_text().splitlines()) for path in paths)


def keep_doors(files, users):
    """Fails where a file has few users, and says what to do with it."""
    by_name = ((what, ", ".join(sorted(map(str, by)))) for what, by in users.items())
    keep(
        f"a file has two users, or more than {LARGE} lines, or is one of a kind",
        (f"{files[what][0]}:1: {lines_of(*files[what])} lines; "
         + (f"it belongs into its only user, {names}" if names else "no other file includes it")
         for what, names in by_name),
    )  # fmt: skip


# ---- C ------------------------------------------------------------------------------------------


def c_includes():
    """The files of csrc/ and of the kit's; header -> the files that include it.  Names are unique
    over the tree."""
    paths = [*files_of("csrc", ".c", ".h"), *files_of("kit/csrc", ".c", ".h")]
    by_name = {path.name: path for path in paths}
    users = defaultdict(set)
    for path in (user for folder in C_USERS for user in files_of(folder, ".c", ".h")):
        for included in re.findall(
            r'^#\s*include "([^"]+)"', (ROOT / path).read_text(), re.MULTILINE
        ):
            if target := by_name.get(Path(included).name):
                users[target].add(path)
    return paths, users


def is_of_kind(*paths):
    if any(KIND.match(str(path)) for path in paths):
        return True
    return any(DESCRIPTOR.search((ROOT / path).read_text()) for path in paths)


def test_each_module_of_c_earns_its_door():
    paths, includes = c_includes()
    modules = defaultdict(list)
    for path in paths:
        modules[path.with_suffix("")].append(path)
    few = {}
    for stem, own in modules.items():
        users = {user.with_suffix("") for path in own for user in includes[path]} - {stem}
        if len(users) < 2 and lines_of(*own) <= LARGE and not is_of_kind(*own):
            few[stem] = users
    keep_doors(modules, few)


def test_a_header_with_one_includer_is_part_of_it():
    paths, users = c_includes()
    keep("a header that one file includes is part of that file", (
        f"{path}:1: its only user is {next(iter(users[path]))}"
        for path in paths
        if path.suffix == ".h" and len(users[path]) == 1 and not is_of_kind(path)
    ))  # fmt: skip


# ---- Python -------------------------------------------------------------------------------------


def imported(path, names):
    """The modules, by their dotted names, that a file imports anywhere in it."""
    package = Path(str(path).removeprefix("kit/")).with_suffix("").parts[:-1]
    for node in ast.walk(parsed(ROOT / path)):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            parts = [f"{base}.{alias.name}" for alias in node.names]
            found = [part if part in names else base for part in parts]
        yield from (name for name in found if name in names)


def test_each_module_of_python_earns_its_door():
    paths = [*files_of("pyflowdata", ".py"), *files_of("kit/pyflowdata_kit", ".py")]
    names = {".".join(path.with_suffix("").parts).removeprefix("kit."): path for path in paths}
    users = defaultdict(set)
    for path in paths:
        for name in imported(path, names):
            users[names[name]].add(path)
    few = {
        path: users[path]
        for path in paths
        if len(users[path] - {path}) < 2 and lines_of(path) <= LARGE and not KIND.match(str(path))
    }
    keep_doors({path: [path] for path in paths}, few)


def test_the_top_of_the_package_has_few_modules():
    found = [path.name for path in (ROOT / "pyflowdata").glob("*.py")]
    own = sorted(name for name in found if name != "__main__.py")
    keep(f"the top of pyflowdata/ has at most {MOST_AT_THE_TOP} modules",
         [f"pyflowdata/{name}:1: one of {len(own)}" for name in own if len(own) > MOST_AT_THE_TOP],
    )  # fmt: skip


# ---- Both ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder, most", MOST_FILES.items())
def test_there_are_not_too_many_files(folder, most):
    found = len(files_of(folder, ".c", ".h", ".py"))
    keep(f"{folder}/ has at most {most} files of code",
         [f"{folder}/:1: it has {found}"] if found > most else [])  # fmt: skip


@pytest.mark.parametrize("top", [*MOST_FILES, "tests"])
def test_no_folder_is_too_full(top):
    counts = Counter(path.parent for path in files_of(top, ".c", ".h", ".py"))
    keep(f"no folder has more than {MOST_IN_FOLDER} files, but those of one kind", (
        f"{folder}/:1: it has {count}"
        for folder, count in counts.items()
        if count > MOST_IN_FOLDER and not str(folder).startswith(OF_ONE_KIND)
    ))  # fmt: skip


@pytest.mark.parametrize("top", MOST_FILES)
def test_the_product_does_not_name_the_kit(top):
    """The kit comes by its entry points; messages say how it is installed."""
    named = re.compile(r'\bkit/|pyflowdata-kit|pyflowdata_kit(?=/| import|\.\w+ import)')
    keep("csrc and pyflowdata never name kit/", (
        f"{path}:{number}: {line.strip()}"
        for path in files_of(top, ".c", ".h", ".py", ".map")
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if (name := named.search(line)) and NAMES_OF_KIT.get(str(path)) != name[0]
    ))  # fmt: skip
