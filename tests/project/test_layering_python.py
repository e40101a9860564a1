"""The arrows of docs/concepts/architecture.md between Python's packages: who may import whom."""

import ast
import functools
import graphlib
import re
import shutil
from pathlib import Path

from support.paths import ROOT
from support.rules import keep, line_with
from support.source_tree import FORMATS, OPS, PACKAGE, code, modules, parsed

from pyflowdata import cli

# Package or module of pyflowdata/ -> the ones that its files may import, besides their own.
PYTHON_LAYERS = {
    "errors": set(),
    "words": {"errors"},
    "ragged": {"words"},
    "native": {"errors"},
    "workers": set(),
    "remote": {"native", "words", "errors"},
    "nodes": {"remote", "native", "ragged", "words", "errors"},
    "ops": {"nodes"},
    "packaging": {"native"},
    "insight": {"ops", "nodes", "native", "ragged", "words", "errors"},
    "loader": {"insight", "remote", "nodes", "native", "ragged", "words", "errors"},
    "datasets": {
        "pyops", "formats", "loader", "insight", "remote", "nodes", "native", "ragged", "words",
        "errors",
    },
    "plugins": {"ops", "nodes", "native", "words", "errors"},
    "pyops": {"workers", "plugins", "ops", "nodes", "native", "ragged", "words", "errors"},
    "__init__": {
        "datasets", "formats", "pyops", "plugins", "loader", "insight", "ops", "nodes", "remote",
        "native", "ragged", "errors",
    },
    "testing": {"words"},
    "formats": {"loader", "remote", "nodes", "native", "ragged", "words", "errors"},
    "io": {"formats"},
    "integrations": {"__init__", "workers", "loader", "insight", "nodes", "native", "errors"},
    "cli": {
        "__init__", "workers", "datasets", "formats", "io", "plugins", "pyops", "ops", "loader",
        "insight", "remote", "nodes", "native", "ragged", "words", "errors",
    },
    "__main__": {"cli"},
}  # fmt: skip


def module_name(path: Path, package: Path = PACKAGE) -> str:
    """`nodes.node`, `nodes.__init__`, `errors` or, of the package itself, `__init__`."""
    return ".".join(path.relative_to(package).with_suffix("").parts)


def layer_of(module: str) -> str:
    return module.split(".")[0]


@functools.cache
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
    """The file that is run when `pyflowdata.nodes` or `pyflowdata.nodes.node` is imported."""
    if name.split(".")[0] != "pyflowdata":
        return None
    place = ROOT.joinpath(*name.split("."))
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def test_every_python_package_has_a_layer():
    assert {layer_of(module_name(path)) for path, _ in modules()} == set(PYTHON_LAYERS)


def test_the_page_has_the_same_layers():
    """Each has a line or is named in one, and an arrow leads only to what may be imported."""
    page = (ROOT / "docs/concepts/architecture.md").read_text()
    _, rest = page.split("\n    Python  ")
    named = set()
    for line in rest.split("\n\n")[0].splitlines():
        arrow = re.match(r"(.*?) ─► (.*?)(?:  +|$)", line.strip())
        above, below = arrow.groups() if arrow else (re.split("  +", line.strip())[0], "")
        heads, others = ({*re.findall(r"\w+", text)} & {*PYTHON_LAYERS} for text in (above, below))
        assert heads, line
        named |= heads | others
        if not below.startswith("all but"):
            wrong = others - {*heads}.union(*(PYTHON_LAYERS[head] for head in heads))
            assert not wrong, f"{line}: {wrong}"
    assert named == {*PYTHON_LAYERS} - {"__main__"}


def test_python_imports_point_down():
    tuple(graphlib.TopologicalSorter(PYTHON_LAYERS).static_order())  # raises if there is a circle
    above = []
    for path, tree in modules():
        layer = layer_of(module_name(path))
        names = {layer_of(name) for name in imported(path, tree)} - {layer}
        above += [
            f"{line_with(path, name)}: {layer} may not import {name}"
            for name in sorted(names - PYTHON_LAYERS[layer])
        ]
    keep(
        "a layer of Python imports only those of its row in PYTHON_LAYERS, which are below it",
        above,
    )


def test_what_formats_share_is_theirs():
    """Commands and writers take from pyflowdata.formats what they need of it."""
    for path, tree in modules():
        inner = {name for name in imported(path, tree) if name.startswith("formats.base.")}
        if not path.is_relative_to(PACKAGE / "formats"):
            keep(
                "what formats share is imported from pyflowdata.formats, not from formats.base",
                (f"{line_with(path, 'formats.base')}: imports {name}" for name in inner),
            )


def test_python_modules_have_no_circle():
    """Nor may a module import the package it is in, whose __init__.py imports the modules."""
    used = {module_name(path): imported(path, tree) for path, tree in modules()}
    assert sum(map(len, used.values())) > 200
    tuple(graphlib.TopologicalSorter(used).static_order())


def test_every_python_package_says_what_it_is():
    for path, tree in modules():
        if path.name == "__init__.py":
            keep(
                "a package says in its docstring what it is",
                [] if ast.get_docstring(tree) else [f"{line_with(path, '')}: has none"],
            )


def test_docstrings_stand_as_far_in_as_their_quotes():
    """`help()` and the pages take the least indentation for that of the text."""
    for path, tree in modules():
        lines = path.read_text().splitlines()
        blocks = (one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.ClassDef)))
        texts = (block.body[0] for block in blocks if ast.get_docstring(block))
        keep(
            "no line of a docstring begins left of its quotes",
            (
                f"{path.relative_to(ROOT)}:{number + 1}: {lines[number]}"
                for text in texts
                for number in range(text.lineno, text.end_lineno)
                if lines[number][: text.col_offset].strip()
            ),
        )


def test_commands_know_nothing_of_each_other():
    commands = {f"cli.{name}" for name in cli.COMMANDS}
    for path, tree in modules("cli"):
        others = imported(path, tree) & commands
        keep(
            "a command does not import another one",
            (f"{line_with(path, name.split('.')[-1])}: imports {name}" for name in others),
        )


def test_formats_take_little_of_what_is_below():
    allowed = {
        "native.__init__", "native.protobuf", "errors", "ragged", "nodes.__init__",
        "nodes.attr_values", "nodes.eager", "nodes.registry", "nodes.image_files",
        "nodes.sampled_attrs", "nodes.node", "loader.__init__", "remote.__init__", "remote.client",
        "words.plain_text", "words.remedies",
    }  # fmt: skip
    for path, tree in modules("formats"):
        names = {name for name in imported(path, tree) if layer_of(name) != "formats"}
        keep(
            "a format needs little of what is below: the modules that this test lists",
            (f"{line_with(path, name.split('.')[-1])}: imports {name}" for name in names - allowed),
        )


def format_of(module: str) -> str | None:
    """The format whose module this is: "csv" of formats.csv or formats.csv.table."""
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
    keep("formats do not see each other", formats_that_see_each_other(PACKAGE))
    keep(
        "a format's name and its reader's stand in its own module alone",
        format_names_outside(PACKAGE),
    )


def test_a_format_that_is_known_elsewhere_is_found(tmp_path):
    package = tmp_path / "pyflowdata"
    for layer in ("cli", "formats"):
        shutil.copytree(PACKAGE / layer, package / layer)
    for name, line in {
        "cli/head.py": 'is_table = source.format.name == "csv"',
        "formats/base/open_source.py": '_READERS = {"TarReader"}',
        "formats/mds.py": "from .csv import CSVWriter",
        "formats/csv.py": "from . import tar",
    }.items():
        with (package / name).open("a") as file:
            file.write(f"{line}\n")
    assert format_names_outside(package) == [
        "cli/head.py names csv",
        "formats/base/open_source.py names TarReader",
    ]
    assert formats_that_see_each_other(package) == [
        "formats.csv may not import formats.tar",
        "formats.mds may not import formats.csv",
    ]


def test_integrations_are_on_top():
    """Integrations take the public face, types, and the graph as data; only messages name them."""
    allowed = {
        "__init__", "errors", "nodes.__init__", "nodes.batch_forms", "nodes.node", "nodes.op_texts",
        "nodes.world",
        "loader.batches", "loader.data_loader", "loader.epoch_steps", "loader.epochs",
        "loader.ledger", "loader.loader", "loader.loader_arguments",
        "loader.open_loader", "loader.sinks",
        "loader.state",
        "nodes.argument_hints", "nodes.world", "insight.report", "insight.counters",
        "insight.metrics", "insight.stats", "native.__init__", "workers.pool",
        "workers.remote_errors",
        "workers.shared_memory",
    }  # fmt: skip
    for path, tree in modules("integrations"):
        names = {name for name in imported(path, tree) if layer_of(name) != "integrations"}
        keep(
            "an integration takes the public face, types, and the graph as data",
            (f"{line_with(path, name.split('.')[-1])}: imports {name}" for name in names - allowed),
        )
    for path, _ in modules():
        if "integrations" not in path.parts and path.stem not in ("remedies", "name_hints"):
            keep(
                "no module but messages knows of the integrations",
                [f"{line_with(path, 'integrations')}: names them"]
                if "integrations" in path.read_text()
                else [],
            )


def private_attributes(*packages: str) -> dict[str, set[str]]:
    """The private attributes that the modules of packages use, and of these the own: of `self`."""
    found: dict[str, set[str]] = {"all": set(), "own": set()}
    for package in packages:
        for node in (node for _, tree in modules(package) for node in ast.walk(tree)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
                found["own"].add(node.name)
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
                found["own" if is_own else "all"].add(node.attr)
    return found


def test_integrations_touch_no_private_attribute_of_a_loader():
    """Integrations use open_loader_of() where the public face of a DataLoader is not enough."""
    theirs, loaders = private_attributes("integrations"), private_attributes("loader")
    assert "_opened" in loaders["own"]
    assert theirs["all"] & (loaders["own"] - theirs["own"]) == set()


def strings(tree: ast.Module) -> set[str]:
    """The strings that a program uses: no docstrings."""
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
            keep(
                "only formats/ names ops: it chooses the reader of a file",
                (f"{line_with(path, name)}: names {name}" for name in found),
            )
