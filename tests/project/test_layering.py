"""The arrows of docs/architecture.md: who may include or import whom, never back."""

import ast
import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pyflowdata import cli

ROOT = Path(__file__).resolve().parents[2]

# Folder of csrc/ -> the folders whose headers its files may include.
C_LAYERS = {
    "include": {"include"},
    "core": {"core", "include"},
    "text": {"text", "core", "include"},
    "proto": {"proto", "text", "core", "include"},
    "io": {"io", "proto", "text", "core", "include"},
    "dataset": {"dataset", "io", "core", "include"},
    "op": {"op", "dataset", "io", "text", "core", "include"},
    "loader": {"loader", "op", "dataset", "io", "core", "include"},
    "kit": {"kit", "loader", "op", "dataset", "io", "core", "include"},
    "readers": {"io", "text", "proto", "core", "include"},
    "decoders": {"io", "text", "proto", "core", "include"},
}

# A module may import those before it.
PYTHON_ORDER = """
    _interrupt _calls errors _world objects _native registry attr_values graph op_functions
    op_builder ops plugins compiler ragged row_types python_attrs tensors callbacks python_op
    python_numbers
    samples
    python_sources numba_ops python_ops batches state opening loader _check_report _check_job
    _op_bench _op_bench_report _check_kit _check_damage _check_low _check_loader _check_worker
    _check_native testing __init__ cli _stubs __main__
""".split()

C_FILES = sorted((ROOT / "csrc").rglob("*.[ch]"))
OPS = sorted(p.stem for kind in ("readers", "decoders") for p in (ROOT / "csrc" / kind).glob("*.c"))


@functools.cache
def code(path: Path) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.S)


@pytest.mark.parametrize("path", C_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_c_includes_point_down(path):
    layer = path.relative_to(ROOT / "csrc").parts[0]
    for included in re.findall(r'#\s*include\s*"([^"]+)"', path.read_text()):
        folder = included.split("/")[0].replace("pyflowdata", "include")
        assert folder in C_LAYERS[layer], f"{layer}/ may not include {included}"


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
    home = {name: path.parent.name for path, name, is_defined in found if is_defined}
    used = [(path, name) for path, name, is_defined in found if not is_defined]
    assert len(used) > 500
    for path, name in used:
        if path.name != "builtin_ops.c":
            assert home[name] in C_LAYERS[path.parent.name], f"{path} may not use {name}"


def test_one_file_names_the_ops():
    for op in OPS:
        camel = op.title().replace("_", "")
        snake = rf'|"{op}"' if "_" in op else ""  # a word like "pad" has other uses
        names = re.compile(rf'\bpfd_op_{op}\b|"{camel}"{snake}')
        found = {p.stem for p in C_FILES if names.search(code(p))}
        assert found <= {op}, f"{op} is named in {found}"
        assert re.search(rf"\bX\({op}\)", code(ROOT / "csrc/op/builtin_ops.c"))


# ---- Python -------------------------------------------------------------------------------------

PACKAGE = ROOT / "pyflowdata"


def modules(folder: str = "") -> list[tuple[Path, ast.Module]]:
    paths = sorted((PACKAGE / folder).glob("*.py"))
    assert paths
    return [(path, ast.parse(path.read_text())) for path in paths]


def imported(path: Path, tree: ast.Module) -> set[str]:
    """The modules of this package that a file imports, anywhere in it; "" is the package itself."""
    here = ("pyflowdata", *path.parent.relative_to(PACKAGE).parts)
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*here[: len(here) + 1 - node.level], *filter(None, [node.module])])
            names |= from_package(base if node.level else node.module or "", node.names)
    return {name.removeprefix("pyflowdata").lstrip(".") for name in names if is_ours(name)}


def from_package(base: str, names: list[ast.alias]) -> set[str]:
    """`from . import registry` imports a module, `from . import DataLoader` the package."""
    folder = ROOT.joinpath(*base.split("."))
    files = {path.stem for path in folder.glob("*.py")} if is_ours(base) else set()
    return {f"{base}.{each.name}" if each.name in files else base for each in names}


def is_ours(name: str) -> bool:
    return name.split(".")[0] == "pyflowdata"


def test_python_imports_point_down():
    for path, tree in modules():
        below = set(PYTHON_ORDER[: PYTHON_ORDER.index(path.stem)])
        names = {name.split(".")[0] or "__init__" for name in imported(path, tree)}
        assert names <= below, f"{path.name} may not import {names - below}"


def test_commands_know_nothing_of_each_other():
    commands = {f"cli.{name}" for name in cli.COMMANDS}
    for path, tree in modules("cli"):
        others = imported(path, tree) & commands
        assert not others, f"{path.name} imports other commands: {others}"


def test_writers_and_formats_are_on_top():
    """Only commands know them; formats know the writers."""
    below = {
        "io": {"_native", "errors", "ragged"},
        "formats": {"_native", "attr_values", "errors", "graph", "io.crc32c", "loader", "registry"},
    }
    for folder, allowed in below.items():
        for path, tree in modules(folder):
            own = {name for name in imported(path, tree) if name.split(".")[0] == folder}
            names = imported(path, tree) - own
            assert names <= allowed, f"{folder}/{path.name} imports {names - allowed}"


def test_integrations_are_on_top():
    """They take the public face, types, and the graph as data; nothing imports them."""
    allowed = {"", *"batches errors graph op_functions opening state".split()}
    for path, tree in modules("integrations"):
        names = imported(path, tree)
        names = {name for name in names if name.split(".")[0] != "integrations"}
        assert names <= allowed, f"{path.name} imports {names - allowed}"
    for path in PACKAGE.glob("*.py"):
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
    camel = {op.title().replace("_", "") for op in OPS}
    names = camel | {op for op in OPS if "_" in op}  # a word like "pad" has other uses
    for path in sorted(PACKAGE.rglob("*.py")):
        if PACKAGE / "formats" not in path.parents:
            found = strings(ast.parse(path.read_text())) & names
            assert not found, f"{path.relative_to(PACKAGE)} names {found}"
