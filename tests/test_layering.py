"""The arrows of docs/architecture.md: who may include or import whom, never back."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pyflowdata import cli

ROOT = Path(__file__).resolve().parent.parent

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


def code(path: Path) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.S)


@pytest.mark.parametrize("path", C_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_c_includes_point_down(path):
    layer = path.relative_to(ROOT / "csrc").parts[0]
    for included in re.findall(r'#\s*include\s*"([^"]+)"', path.read_text()):
        folder = included.split("/")[0].replace("pyflowdata", "include")
        assert folder in C_LAYERS[layer], f"{layer}/ may not include {included}"


def symbols(path: Path, *options: str) -> set[str]:
    """The symbols of this library in the object that `make` compiled from a .c file."""
    compiled = (ROOT / "build/release" / path.relative_to(ROOT)).with_suffix(".o")
    out = subprocess.run(
        ["nm", "-P", *options, compiled], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[0] for line in out.splitlines() if line.startswith("pfd_")}


def test_c_calls_point_down():
    """What is declared in a public header may still be defined in too high a folder."""
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not here")
    if not (ROOT / "build/release").is_dir():
        pytest.skip("only `make` compiles the objects that are looked into")
    files = [path for path in C_FILES if path.suffix == ".c"]
    home = {name: path.parent.name for path in files for name in symbols(path, "--defined-only")}
    for path in files:
        if path.name == "builtin_ops.c":
            continue
        for name in symbols(path, "--undefined-only"):
            assert home[name] in C_LAYERS[path.parent.name], f"{path} may not use {name}"


def test_one_file_names_the_ops():
    for op in OPS:
        camel = op.title().replace("_", "")
        snake = rf'|"{op}"' if "_" in op else ""  # a word like "pad" has other uses
        names = re.compile(rf'\bpfd_op_{op}\b|"{camel}"{snake}')
        found = {p.stem for p in C_FILES if names.search(code(p))}
        assert found <= {op}, f"{op} is named in {found}"
        assert re.search(rf"\bX\({op}\)", code(ROOT / "csrc/op/builtin_ops.c"))


def test_python_imports_point_down():
    for path in (ROOT / "pyflowdata").glob("*.py"):
        below = PYTHON_ORDER[: PYTHON_ORDER.index(path.stem)]
        for imported in re.findall(r"^\s*from \.(\w+) import", path.read_text(), re.M):
            assert imported in below, f"{path.name} may not import {imported}"


def test_commands_know_nothing_of_each_other():
    for path in (ROOT / "pyflowdata" / "cli").glob("*.py"):
        imported = set(re.findall(r"^\s*from \.(\w+) import", path.read_text(), re.M))
        assert not imported & set(cli.COMMANDS), f"{path.name} imports another command"


def test_writers_and_formats_are_on_top():
    """Only commands know them; formats know the writers."""
    below = {
        "io": {"_native", "errors", "ragged"},
        "formats": {"_native", "attr_values", "errors", "graph", "io.crc32c", "loader", "registry"},
    }
    for folder, allowed in below.items():
        for path in (ROOT / "pyflowdata" / folder).glob("*.py"):
            imported = set(re.findall(r"^\s*from \.\.([\w.]*) import", path.read_text(), re.M))
            assert imported <= allowed, f"{folder}/{path.name} imports {imported - allowed}"


def test_integrations_are_on_top():
    """They take the public face, types, and the graph as data; nothing imports them."""
    below = "batches errors graph op_functions opening state".split()
    allowed = {"..", *(f"..{name}" for name in below)}
    for path in (ROOT / "pyflowdata" / "integrations").glob("*.py"):
        imported = re.findall(r"^\s*from (\.+\w*) import", path.read_text(), re.M)
        assert set(imported) <= allowed, f"{path.name} imports {imported}"
    for path in (ROOT / "pyflowdata").glob("*.py"):
        assert "integrations" not in path.read_text(), f"{path.name} may not know integrations"


def test_python_names_no_op():
    names = "|".join(name for op in OPS for name in (op, op.title().replace("_", "")))
    for path in (ROOT / "pyflowdata").glob("*.py"):
        text = re.sub(r'""".*?"""|#[^\n]*', "", path.read_text(), flags=re.S)
        found = re.search(rf"""["'](?:{names})["']""", text)
        assert not found, f"{path.name} names {found[0]}"
