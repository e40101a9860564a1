"""`pyflowdata new reader NAME`: a folder with a plugin that works, to be changed to one's own."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import pyflowdata

from ..errors import Error
from ..nodes import find_op
from .usage import UsageError

_PACKAGE = Path(__file__).resolve().parent.parent
_TEMPLATES = _PACKAGE / "templates"
_SUFFIX = ".in"  # of each file there
_IN_NAME = "NAME"  # in the name of a file: the op's, in snake_case
_LONGEST = 40  # so that what is made of it stays below the 63 letters of an op's name


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
    """Lines of a Makefile, so that Python finds the package where it is not installed; none where
    it is."""
    source_tree = package.parent
    if not (source_tree / "pyproject.toml").is_file():
        return ""
    path = str(source_tree).replace("$", "$$").replace("#", r"\#")
    return (
        f"PYFLOWDATA_PATH ?= {path}\n"
        "override PYTHON := env "
        '"PYTHONPATH=$(PYFLOWDATA_PATH)$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON)\n'
    )


def _write(template: Path, folder: Path, snake: str, camel: str) -> list[str]:
    """Fills the files of a template in; returns their names."""
    words = {"@snake@": snake, "@Camel@": camel, "@search_path@": search_path(_PACKAGE)}
    names = []
    for path in sorted(template.iterdir()):
        text = path.read_text(encoding="utf-8")
        for word, meant in words.items():
            text = text.replace(word, meant)
        name = path.name.removesuffix(_SUFFIX).replace(_IN_NAME, snake)
        (folder / name).write_text(text, encoding="utf-8")
        names.append(name)
    return names


def run(args: argparse.Namespace) -> int:
    """Writes the folder as a whole, or nothing."""
    snake, camel = spellings(args.name)
    _refuse_known(snake)
    target = args.dir / snake
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already; choose another name, or another --dir")
    args.dir.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{snake}-", dir=args.dir))
    try:
        names = _write(_TEMPLATES / args.kind, made, snake, camel)
        made.chmod(0o777 & ~_umask())
        made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    print(f"{target}: {', '.join(names)}")
    print(f"next:  cd {shlex.quote(str(target))} && make test{_python()}")
    if importlib.util.find_spec("pytest") is None:
        print(f"its tests need pytest:  {shlex.quote(sys.executable)} -m pip install pytest")
    return 0


def _python() -> str:
    """The argument of make that names this Python, where `python3` is another one."""
    usual = shutil.which("python3")
    if usual is not None and os.path.dirname(usual) == os.path.dirname(sys.executable):
        return ""
    return f" PYTHON={shlex.quote(sys.executable)}"


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
