"""The arrows of docs/architecture.md: who may include or import whom, never back."""

import ast
import collections
import functools
import graphlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pyflowdata import cli

ROOT = Path(__file__).resolve().parents[2]

# The folders of csrc/ from the lowest up: a file may include its own and those before it.
C_LAYERS = (
    "include core parse images image_codecs files index sources dataset registry loader kit"
).split()
# Beside each other on top of sources/: a format's folder sees neither another's nor the ops'.
C_OPS = ("formats", "ops", "image_ops")

# Package or module of pyflowdata/ -> the ones that its files may import, besides their own.
PYTHON_LAYERS = {
    "errors": set(),
    "ragged": set(),
    "image_files": set(),
    "image_statistics": set(),
    "native": {"errors"},
    "graph": {"native", "ragged", "errors"},
    "ops": {"graph"},
    "other_names": {"graph", "errors"},
    "loader": {"graph", "native", "ragged", "errors"},
    "sheet": {"loader", "ops", "graph", "ragged", "image_files", "errors"},
    "plugins": {"ops", "graph", "native", "errors"},
    "pyops": {"plugins", "graph", "native", "ragged", "errors"},
    "__init__": {
        "pyops", "plugins", "sheet", "loader", "ops", "other_names", "graph", "native", "ragged",
        "image_statistics", "errors",
    },
    "conformance": {"plugins", "loader", "graph", "native", "errors"},
    "testing": {"conformance", "plugins", "graph", "errors"},
    "formats": {"loader", "graph", "native", "ragged", "image_files", "errors"},
    "io": {"formats"},
    "integrations": {"__init__", "loader", "graph", "errors"},
    "cli": {
        "__init__", "testing", "conformance", "formats", "io", "plugins", "sheet", "loader",
        "graph", "native", "ragged", "errors",
    },
    "__main__": {"cli"},
}  # fmt: skip

C_FILES = sorted((ROOT / "csrc").rglob("*.[ch]"))
FORMATS = [path.parent.name for path in C_FILES if path.name == f"{path.parent.name}_format.c"]
DECLARES_OP = re.compile(r"^const pfd_op pfd_op_(\w+) = ", re.MULTILINE)


@functools.cache
def code(path: Path) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.S)


def folder_of(path: Path | str) -> str:
    """Of a file or an include: "core", "ops", or "formats/csv"; kit.h is in "kit"."""
    if str(path).endswith("pyflowdata/kit.h"):
        return "kit"
    parts = Path(str(path).replace("pyflowdata/", "include/")).parts
    return "/".join(parts[:2] if parts[0] == "formats" else parts[:1])


def may_use(user: str, used: str) -> bool:
    if user == used:
        return True
    if used not in C_LAYERS:
        return False
    top = "sources" if user.split("/")[0] in C_OPS else user
    return C_LAYERS.index(used) <= C_LAYERS.index(top)


@functools.cache
def includes(path: Path) -> list[str]:
    return re.findall(r'#\s*include\s*"([^"]+)"', path.read_text())


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def ops_in(path: Path) -> list[str]:
    return DECLARES_OP.findall(code(path))


OPS = {op: path for path in C_FILES for op in ops_in(path)}


def upward_includes(csrc: Path) -> list[str]:
    """The includes of a tree that do not point down."""
    return [
        f"{path.relative_to(csrc)} may not include {included}"
        for path in sorted(csrc.rglob("*.[ch]"))
        for included in includes(path)
        if not may_use(folder_of(path.relative_to(csrc)), folder_of(included))
    ]


def test_c_includes_point_down():
    assert not upward_includes(ROOT / "csrc")


def test_file_names_of_c_are_unique():
    """A word like ring.h, in a message or a comment, means one file."""
    names = collections.Counter(path.name for path in C_FILES)
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Nodes of a circle, the first one again at its end; nothing where there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as found:
        return list(found.args[1])
    return []


def included_files(csrc: Path) -> dict[str, set[str]]:
    """What each file includes; a header and its source are one file, "loader/ring"."""
    graph: dict[str, set[str]] = {}
    for path in sorted(csrc.rglob("*.[ch]")):
        user = str(path.relative_to(csrc).with_suffix(""))
        used = includes(path)
        graph.setdefault(user, set()).update({name.rsplit(".", 1)[0] for name in used} - {user})
    return graph


def folders_of(files: dict[str, set[str]]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for user, used in files.items():
        folder = folder_of(user)
        graph.setdefault(folder, set()).update({folder_of(name) for name in used} - {folder})
    return graph


def test_no_circle_of_c_files_or_folders():
    files = included_files(ROOT / "csrc")
    assert len(files) > 150
    assert not circle_in(files)
    assert not circle_in(folders_of(files))


@pytest.mark.parametrize("planted, circle, circle_of_folders", [
    ({"files/a.h": "files/b.h", "files/b.c": "files/a.h"}, {"files/a", "files/b"}, set()),
    ({"files/a.c": "files/b.h", "files/b.c": "files/c.h", "files/c.h": "files/a.h"},
     {"files/a", "files/b", "files/c"}, set()),
    ({"files/a.c": "index/b.h", "index/c.h": "files/d.h"}, set(), {"files", "index"}),
])  # fmt: skip
def test_a_planted_circle_is_found(tmp_path, planted, circle, circle_of_folders):
    for name, included in planted.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'#include "{name[:-1]}h"\n#include "{included}"\n')
    files = included_files(tmp_path)
    assert set(circle_in(files)) == circle
    assert set(circle_in(folders_of(files))) == circle_of_folders


def symbols(files: list[Path]) -> list[tuple[Path, str, bool]]:
    """File, name and whether it is defined there: symbols of this library in what `make` made."""
    objects = {}
    for path in files:
        compiled = (ROOT / "build/release" / path.relative_to(ROOT)).with_suffix(".o")
        objects[str(compiled)] = path
    out = subprocess.run(
        ["nm", "-P", "-A", *objects], capture_output=True, text=True, check=True
    ).stdout
    lines = (re.fullmatch(r"(.*): (pfd_\S+) (\w).*", line) for line in out.splitlines())
    return [(objects[found[1]], found[2], found[3] != "U") for found in lines if found]


def test_c_calls_point_down():
    """What is declared in a public header may still be defined in too high a folder."""
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not here")
    if not (ROOT / "build/release").is_dir():
        pytest.skip("only `make` compiles the objects that are looked into")
    found = symbols([path for path in C_FILES if path.suffix == ".c"])
    home = {name: path for path, name, is_defined in found if is_defined}
    used = [(path, name) for path, name, is_defined in found if not is_defined]
    assert len(used) > 500
    for path, name in used:
        if path.name not in ("builtin_ops.c", "builtin_formats.c", "builtin_fusions.c"):
            csrc = ROOT / "csrc"
            user, owner = (folder_of(one.relative_to(csrc)) for one in (path, home[name]))
            assert may_use(user, owner), f"{path} may not use {name}"
    calls: dict[str, set[str]] = {}
    for path, name in used:
        if home[name] != path:
            calls.setdefault(str(path), set()).add(str(home[name]))
    assert not circle_in(calls)


PRIVATE_FAILURE = re.compile(r"\bpfd_fail\w*\(")


def fails_by_itself(text: str) -> list[str]:
    return PRIVATE_FAILURE.findall(text)


def test_ops_and_formats_fail_as_plugins_do():
    """By the host's functions: what is here can be copied out of the tree."""
    layers = [path for path in C_FILES if path.relative_to(ROOT / "csrc").parts[0] in C_OPS]
    assert len(layers) > 60
    found = {path.name: fails_by_itself(path.read_text()) for path in layers}
    assert not [name for name, calls in found.items() if calls]
    assert fails_by_itself('if (!copy) return pfd_fail_memory(err, 8, "a path");')


def test_one_file_names_the_ops():
    listed = re.findall(r"\bX\((\w+)\)", code(ROOT / "csrc/registry/builtin_ops.c"))
    assert sorted(listed) == sorted(OPS)
    for op, home in OPS.items():
        assert home.stem == op, f"{home} declares {op}"
        (name,) = re.findall(r'\.name = "(\w+)"', code(home))
        names = re.compile(rf'\bpfd_op_{op}\b|"{name}"')
        found = {path for path in C_FILES if names.search(code(path))}
        own = {home, home.with_name(f"{home.parent.name}_format.c")}
        assert found <= own, f"{op} is named in {found}"


def listed_formats() -> list[str]:
    return re.findall(r"\bX\((\w+)\)", code(ROOT / "csrc/registry/builtin_formats.c"))


def misplaced_format_names(csrc: Path) -> list[str]:
    """Texts that are the name of a format, or of its reader, outside the format's folder."""
    reader = re.compile(r'\.reader = "(\w+)"')
    homes = {name: name for name in FORMATS}
    for name in FORMATS:
        (op,) = reader.findall((csrc / f"formats/{name}/{name}_format.c").read_text())
        homes[op] = name
    found = []
    for path in sorted(csrc.rglob("*.[ch]")):
        home = folder_of(path.relative_to(csrc)).removeprefix("formats/")
        whole = re.sub(r'"\s*"', "", code(path))  # a text in several pieces
        for name in re.findall(r'"(\w+)"', whole):
            if homes.get(name, home) != home:
                found.append(f"{path.relative_to(csrc)} names {name}")
    return found


def test_a_format_is_named_in_its_folder_and_in_the_lists():
    assert len(FORMATS) >= 14 and sorted(listed_formats()) == sorted(FORMATS)
    for name in FORMATS:
        own = code(ROOT / f"csrc/formats/{name}/{name}_format.c")
        assert f"const pfd_format pfd_format_{name} = " in own and f'.name = "{name}"' in own
    assert misplaced_format_names(ROOT / "csrc") == []


def test_a_format_that_is_named_elsewhere_is_found(tmp_path):
    shutil.copytree(ROOT / "csrc", tmp_path / "csrc")
    for name, text in (("registry/host.c", '"csv"'), ("loader/plan.c", '"TarReader"')):
        with (tmp_path / "csrc" / name).open("a") as file:
            file.write(f"static const char *const planted = {text};\n")
    assert misplaced_format_names(tmp_path / "csrc") == [
        "loader/plan.c names TarReader",
        "registry/host.c names csv",
    ]


def test_signatures_of_others_are_not_those_of_formats_here():
    table = (ROOT / "csrc/registry/format_detect.c").read_text()
    table = table.split("foreign_signatures[] = {")[1].split("};")[0]
    others = [name.casefold() for name in re.findall(r'\{"([^"]+)"', table)]
    assert len(others) > 8
    for name in FORMATS:
        own = code(ROOT / f"csrc/formats/{name}/{name}_format.c")
        (title,) = re.findall(r'\.title = "([^"]+)"', own)
        assert not {name, title.casefold()} & set(others)


# ---- Python -------------------------------------------------------------------------------------

PACKAGE = ROOT / "pyflowdata"


def modules(folder: str = "", package: Path = PACKAGE) -> list[tuple[Path, ast.Module]]:
    paths = sorted((package / folder).rglob("*.py"))
    assert paths
    return [(path, parsed(path)) for path in paths]


def module_name(path: Path, package: Path = PACKAGE) -> str:
    """`graph.node`, `graph.__init__`, `errors` or, of the package itself, `__init__`."""
    return ".".join(path.relative_to(package).with_suffix("").parts)


def layer_of(module: str) -> str:
    return module.split(".")[0]


def imported(path: Path, tree: ast.Module, package: Path = PACKAGE) -> set[str]:
    """The modules of this package that a file imports, anywhere in it."""
    here = ("pyflowdata", *path.parent.relative_to(package).parts)
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*here[: len(here) + 1 - node.level], *filter(None, [node.module])])
            base = base if node.level else node.module or ""
            # `from . import registry` imports a module, `from . import DataLoader` the package.
            names |= {
                name if file_of(name := f"{base}.{each.name}") else base for each in node.names
            }
    return {module_name(file) for name in names if (file := file_of(name))}


def file_of(name: str) -> Path | None:
    """The file that is run when `pyflowdata.graph` or `pyflowdata.graph.node` is imported."""
    if name.split(".")[0] != "pyflowdata":
        return None
    place = ROOT.joinpath(*name.split("."))
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def test_every_python_package_has_a_layer():
    assert {layer_of(module_name(path)) for path, _ in modules()} == set(PYTHON_LAYERS)


def test_python_imports_point_down():
    tuple(graphlib.TopologicalSorter(PYTHON_LAYERS).static_order())  # raises if there is a circle
    for path, tree in modules():
        layer = layer_of(module_name(path))
        names = {layer_of(name) for name in imported(path, tree)} - {layer}
        above = names - PYTHON_LAYERS[layer]
        assert not above, f"{path.relative_to(PACKAGE)} may not import {above}"


def test_what_formats_share_is_theirs():
    """Commands and writers take from pyflowdata.formats what they need of it."""
    for path, tree in modules():
        inner = {name for name in imported(path, tree) if name.startswith("formats.base.")}
        assert not inner or path.is_relative_to(PACKAGE / "formats"), f"{path} imports {inner}"


def test_only_conformance_binds_the_kit():
    for path, tree in modules():
        if "conformance.binding" in imported(path, tree):
            assert path.parent.name == "conformance", f"{path.relative_to(PACKAGE)} loads the kit"


def test_python_modules_have_no_circle():
    """Nor may a module import the package it is in, whose __init__.py imports the modules."""
    used = {module_name(path): imported(path, tree) for path, tree in modules()}
    assert sum(map(len, used.values())) > 200
    tuple(graphlib.TopologicalSorter(used).static_order())


def test_every_python_package_says_what_it_is():
    for path, tree in modules():
        if path.name == "__init__.py":
            assert ast.get_docstring(tree), f"{path.relative_to(PACKAGE)} has no docstring"


def test_commands_know_nothing_of_each_other():
    commands = {f"cli.{name}" for name in cli.COMMANDS}
    for path, tree in modules("cli"):
        others = imported(path, tree) & commands
        assert not others, f"{path.name} imports other commands: {others}"


def test_formats_take_little_of_what_is_below():
    allowed = {
        "native.__init__", "errors", "ragged", "graph.__init__", "graph.attr_values",
        "graph.eager", "graph.registry", "image_files", "loader.__init__",
    }  # fmt: skip
    for path, tree in modules("formats"):
        names = {name for name in imported(path, tree) if layer_of(name) != "formats"}
        assert names <= allowed, f"{path.name} imports {names - allowed}"


def format_of(module: str) -> str | None:
    """The format whose module this is: "csv" of formats.csv.table."""
    layer, name, *_ = [*module.split("."), "", ""]
    return name if layer == "formats" and name in FORMATS else None


def formats_that_see_each_other(package: Path) -> list[str]:
    """Modules of a format that import others than their own and formats/base."""
    return [
        f"{module_name(path, package)} may not import {name}"
        for path, tree in modules("formats", package)
        if (own := format_of(module_name(path, package)))
        for name in sorted(imported(path, tree, package))
        if layer_of(name) == "formats" and format_of(name) != own
        and not name.startswith("formats.base.")
    ]  # fmt: skip


def format_names_outside(package: Path) -> list[str]:
    """Texts that are the name of a format, or of its reader, outside the format's own module.

    Modules that may not import formats know none; there a word like "text" has another meaning.
    """
    know = {"formats", *(layer for layer, below in PYTHON_LAYERS.items() if "formats" in below)}
    home = {name: name for name in FORMATS}
    for name in FORMATS:
        own = code(ROOT / f"csrc/formats/{name}/{name}_format.c")
        home[re.findall(r'\.reader = "(\w+)"', own)[0]] = name
    return [
        f"{path.relative_to(package)} names {text}"
        for path, tree in modules("", package)
        for text in sorted(strings(tree) & home.keys())
        if layer_of(module_name(path, package)) in know
        and format_of(module_name(path, package)) != home[text]
    ]  # fmt: skip


def test_a_format_is_known_in_its_own_module_alone():
    assert formats_that_see_each_other(PACKAGE) == []
    assert format_names_outside(PACKAGE) == []


def test_a_format_that_is_known_elsewhere_is_found(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "pyflowdata", ignore=shutil.ignore_patterns("*.so"))
    package = tmp_path / "pyflowdata"
    for name, line in {
        "cli/head.py": 'is_table = source.format.name == "csv"',
        "formats/base/open_source.py": '_READERS = {"TarReader"}',
        "formats/mds.py": "from .csv.cells import Column",
        "formats/csv/table.py": "from .. import tar",
    }.items():
        with (package / name).open("a") as file:
            file.write(f"{line}\n")
    assert format_names_outside(package) == [
        "cli/head.py names csv",
        "formats/base/open_source.py names TarReader",
    ]
    assert formats_that_see_each_other(package) == [
        "formats.csv.table may not import formats.tar",
        "formats.mds may not import formats.csv.cells",
    ]


def test_integrations_are_on_top():
    """They take the public face, types, and the graph as data; nothing names them."""
    allowed = {
        "__init__", "errors", "graph.__init__", "graph.node", "graph.op_functions",
        "loader.batches", "loader.opening", "loader.state",
    }  # fmt: skip
    for path, tree in modules("integrations"):
        names = {name for name in imported(path, tree) if layer_of(name) != "integrations"}
        assert names <= allowed, f"{path.name} imports {names - allowed}"
    for path, _ in modules():
        if path.parent.name != "integrations":
            assert "integrations" not in path.read_text(), f"{path.name} may not know integrations"


def strings(tree: ast.Module) -> set[str]:
    """Those that a program uses: no docstrings."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    }


def test_only_formats_names_ops():
    """Only formats/ names ops: it chooses the reader of a file."""
    camel = {re.findall(r'\.name = "(\w+)"', code(home))[0] for home in OPS.values()}
    names = camel | {op for op in OPS if "_" in op}  # a word like "pad" has other uses
    for path in sorted(PACKAGE.rglob("*.py")):
        if PACKAGE / "formats" not in path.parents:
            found = strings(parsed(path)) & names
            assert not found, f"{path.relative_to(PACKAGE)} names {found}"


# ---- Messages -----------------------------------------------------------------------------------

COMPARES = re.compile(
    r"\b(?:strn?(?:case)?cmp|str(?:case)?str|memcmp|memmem|strr?chr|strpbrk|strs?pn|sscanf|fnmatch)"
    r"(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
)
REGEX_METHODS = set("match fullmatch search findall finditer sub subn split".split())


def compared_messages_in_c(text: str) -> list[str]:
    """The calls that look into the message of an error."""
    return [
        found[0] for found in COMPARES.finditer(text) if re.search(r"(\.|->)message\b", found[1])
    ]


def compared_messages_in_python(tree: ast.Module) -> list[str]:
    """The expressions that look into the message of an error, or into the str() of an exception."""
    caught = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
    }
    texts: set[str] = set()  # names that were given a message

    def is_message(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr == "message"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = {each.id for each in node.args if isinstance(each, ast.Name)}
            return node.func.id == "str" and bool(given & caught)
        return isinstance(node, ast.Name) and node.id in texts

    def looks_inside(node: ast.AST) -> bool:
        if isinstance(node, ast.Compare):
            return any(map(is_message, [node.left, *node.comparators]))
        if isinstance(node, ast.Subscript):
            return is_message(node.value)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        by_regex = node.func.attr in REGEX_METHODS and any(map(is_message, node.args))
        return by_regex or (is_message(node.func.value) and node.func.attr != "encode")

    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.NamedExpr)) and is_message(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            texts |= {each.id for each in targets if isinstance(each, ast.Name)}
    return [ast.unparse(node) for node in ast.walk(tree) if looks_inside(node)]


def test_no_message_is_compared():
    """Errors have a reason, an attr, counts and a cause: what decides is never a sentence."""
    for path in [*C_FILES, *sorted((PACKAGE / "conformance").glob("*.c"))]:
        found = compared_messages_in_c(code(path))
        assert not found, f"{path.relative_to(ROOT)} looks into a message: {found}"
    for path, tree in modules():
        found = compared_messages_in_python(tree)
        assert not found, f"{path.relative_to(ROOT)} looks into a message: {found}"


@pytest.mark.parametrize(
    "planted",
    [
        'if (strstr(err->message, "not one record")) return 1;',
        'return !strncmp(shorten(loop->error->message, 9), "attr", 4);',
        'int same = memcmp("gzip", inner.message, 4);',
        'sscanf(err.message, "%d records", &n);',
    ],
)
def test_a_message_that_is_compared_in_c_is_found(planted):
    assert compared_messages_in_c(planted)
    assert not compared_messages_in_c(planted.replace("message", "name"))


@pytest.mark.parametrize(
    "planted",
    [
        'failure.message == "gone"',
        '"not one record" in failure.message',
        're.search("world_size = ", failure.message)',
        "_BEFORE.search(failure.message)",
        'failure.message.startswith("attr")',
        "failure.message[:4]",
        "said = failure.message\n_BEFORE.search(said)",
        'try:\n    pass\nexcept Error as failure:\n    found = "gone" in str(failure)',
    ],
)
def test_a_message_that_is_compared_in_python_is_found(planted):
    assert compared_messages_in_python(ast.parse(planted))
    assert not compared_messages_in_python(ast.parse(planted.replace("message", "name").replace(
        "str(failure)", "names")))  # fmt: skip
