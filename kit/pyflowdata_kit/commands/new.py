"""`pyflowdata new reader NAME`: makes a folder with a working plugin, which the user changes.

The templates are files with words such as @snake@ in them.  A line that begins with @plain@ is only
for a plugin by itself; a line with @package@ is only for a project that makes a Python package of
the plugin.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import keyword
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyflowdata

from pyflowdata.errors import Error
from pyflowdata.nodes import find_op
from pyflowdata.cli.usage import UsageError

_PACKAGE = Path(__file__).resolve().parent.parent
_TEMPLATES = _PACKAGE / "templates"
_PROJECT = _PACKAGE / "project_template"  # further files of a package
_SUFFIX = ".in"  # suffix of the templates
_IN_NAME = "NAME"  # in names of files: the op's name in snake_case
_DOT = "DOT."  # begins names that get a dot instead
_FOR_PACKAGES, _FOR_OTHERS = "@package@", "@plain@"
_C_FOLDER, _TEST_FOLDER = "csrc", "tests"  # folders of a project
_LONGEST = 40  # names made from it stay below the 63 letters of an op's name


def _kinds() -> list[str]:
    return sorted(path.name for path in _TEMPLATES.iterdir() if path.is_dir())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("kind", choices=_kinds(), help="what it is to be")
    parser.add_argument("name", metavar="NAME", help="of the op: my_reader or MyReader")
    parser.add_argument(
        "--dir", type=Path, default=Path(), metavar="D",
        help="make the folder in this one (default: the current one)",
    )  # fmt: skip
    parser.add_argument(
        "--package", action="store_true",
        help="write a project that builds a Python package with the op in it, as a wheel",
    )  # fmt: skip


def spellings(name: str) -> tuple[str, str]:
    """The name as snake_case and CamelCase; a UsageError if it cannot name an op."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", snake, re.ASCII):
        raise UsageError(
            f"'{name}' is not a name for an op: letters and digits, as in my_reader or MyReader"
        )
    if len(snake) > _LONGEST:
        raise UsageError(f"'{name}' is too long: at most {_LONGEST} letters")
    camel = "".join(part[0].upper() + part[1:] for part in snake.split("_"))
    if keyword.iskeyword(camel) or hasattr(pyflowdata, camel):
        raise UsageError(f"'{camel}' means something else in Python or in pyflowdata already")
    return snake, camel


def _refuse_known(snake: str) -> None:
    try:
        known = find_op(snake)
    except Error:
        return
    raise UsageError(f"there is an op {known.name} already ({known.origin}); choose another name")


def search_path(package: Path) -> str:
    """Lines of a Makefile with which Python finds the package if it is not installed; "" if it
    is."""
    source_tree = package.parent
    if not (source_tree / "pyproject.toml").is_file():
        return ""
    path = str(source_tree).replace("$", "$$").replace("#", r"\#")
    return (
        f"PYFLOWDATA_PATH ?= {path}\n"
        "override PYTHON := env "
        '"PYTHONPATH=$(PYFLOWDATA_PATH)$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON)\n'
    )


def _refuse_module(snake: str) -> None:
    """Fails if a package would hide another module."""
    found = importlib.util.find_spec(snake) if not keyword.iskeyword(snake) else None
    is_taken = keyword.iskeyword(snake) or hasattr(builtins, snake)
    if is_taken or (found is not None and found.origin is not None):
        raise UsageError(f"`import {snake}` means something else in Python; choose another name")


def _templates(kind: str, is_package: bool) -> Iterator[tuple[Path, str]]:
    """Each file to fill in, and its place."""
    for path in sorted((_TEMPLATES / kind).iterdir()):
        name = path.name.removesuffix(_SUFFIX)
        if is_package and name == "Makefile":
            continue
        folder = ""
        if is_package:
            folder = {".c": f"{_C_FOLDER}/", ".py": f"{_TEST_FOLDER}/"}.get(Path(name).suffix, "")
        yield path, folder + name
    for path in sorted(_PROJECT.rglob(f"*{_SUFFIX}")) if is_package else ():
        yield path, str(path.relative_to(_PROJECT)).removesuffix(_SUFFIX)


def _filled(text: str, words: Mapping[str, str], is_package: bool) -> str:
    kept, dropped = _FOR_PACKAGES, _FOR_OTHERS
    if not is_package:
        kept, dropped = dropped, kept
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(dropped)]
    text = "".join(line.removeprefix(kept) for line in lines)
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text


def _write(kind: str, folder: Path, snake: str, camel: str, is_package: bool) -> list[str]:
    """Fills in the files of a template; returns their names."""
    words = {
        "@snake@": snake, "@Camel@": camel, "@kind@": kind, "@version@": pyflowdata.__version__,
        "@search_path@": search_path(Path(pyflowdata.__file__).resolve().parent),
        "@c_file@": f"{_C_FOLDER}/{snake}.c" if is_package else f"{snake}.c",
        "@tests@": f"{_TEST_FOLDER}/" if is_package else "",
    }  # fmt: skip
    names = []
    for path, place in _templates(kind, is_package):
        name = place.replace(_IN_NAME, snake).replace(_DOT, ".")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = _filled(path.read_text(encoding="utf-8"), words, is_package)
        (folder / name).write_text(text, encoding="utf-8")
        names.append(name)
    return names


def run(args: argparse.Namespace) -> int:
    """Writes the folder as a whole, or nothing."""
    snake, camel = spellings(args.name)
    _refuse_known(snake)
    if args.package:
        _refuse_module(snake)
    target = args.dir / snake
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already; choose another name, or another --dir")
    if not args.dir.absolute().parent.is_dir():
        raise UsageError(f"--dir {args.dir}: there is no folder {args.dir.absolute().parent}")
    args.dir.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{snake}-", dir=args.dir))
    try:
        names = _write(args.kind, made, snake, camel, args.package)
        made.chmod(0o777 & ~_umask())
        made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    print(f"{target}: {', '.join(names)}")
    print(f"next:  cd {shlex.quote(str(target))} && make test{_python()}")
    needed = ["setuptools>=77", "pytest"] if args.package else ["pytest"]
    absent = [one for one in needed if importlib.util.find_spec(one.partition(">")[0]) is None]
    if absent:
        install = shlex.join([sys.executable, "-m", "pip", "install", *absent])
        print(f"its {'build and tests need' if args.package else 'tests need'} more:  {install}")
    return 0


def _python() -> str:
    """The argument of make that names this Python, if `python3` is another one."""
    usual = shutil.which("python3")
    if usual is not None and os.path.dirname(usual) == os.path.dirname(sys.executable):
        return ""
    return f" PYTHON={shlex.quote(sys.executable)}"


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
