"""Makes the files in tests/fixtures again with the libraries they come from, and compares them.

    python tools/fixtures.py [LIBRARY ...]            exits with 1 and names what differs
    python tools/fixtures.py --write [LIBRARY ...]    writes them

For each library there are tests/fixtures/make_LIBRARY.py, which is called with an empty folder to
fill, tests/fixtures/requirements-LIBRARY.txt and the folder tests/fixtures/LIBRARY.  Each has a
virtual environment of its own in build/fixtures.  The list NOT_REPRODUCIBLE of a script
has names or patterns of files that its library writes differently each time: these files only have
to be written.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"


def libraries() -> list[str]:
    return sorted(path.stem.removeprefix("make_") for path in FIXTURES.glob("make_*.py"))


def python_of(library: str) -> Path:
    """The interpreter of the library's environment, which is made if it is not there."""
    requirements = FIXTURES / f"requirements-{library}.txt"
    folder = ROOT / "build" / "fixtures" / library
    python, done = folder / "bin" / "python", folder / "requirements.txt"
    if not done.is_file() or done.read_text() != requirements.read_text():
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", requirements], check=True)
        shutil.copy(requirements, done)
    return python


def not_reproducible(script: Path) -> list[str]:
    for node in ast.parse(script.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NOT_REPRODUCIBLE":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def differences(library: str, made: Path) -> list[str]:
    patterns = not_reproducible(FIXTURES / f"make_{library}.py")
    new, old = contents(made), contents(FIXTURES / library)
    found = [f"{name} is not made any more" for name in old.keys() - new.keys()]
    found += [f"{name} is new" for name in new.keys() - old.keys()]
    found += [
        f"{name} is another one"
        for name in new.keys() & old.keys()
        if new[name] != old[name] and not any(fnmatch.fnmatch(name, one) for one in patterns)
    ]
    return [f"{library}/{line}" for line in sorted(found)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="*", help="all of them, where none is named")
    parser.add_argument("--write", action="store_true", help="write them again")
    arguments = parser.parse_args()
    failures: list[str] = []
    for library in arguments.library or libraries():
        with tempfile.TemporaryDirectory() as made:
            script = FIXTURES / f"make_{library}.py"
            subprocess.run([python_of(library), script, made], check=True, cwd=made)
            if arguments.write:
                shutil.rmtree(FIXTURES / library, ignore_errors=True)
                shutil.copytree(made, FIXTURES / library)
            else:
                failures += differences(library, Path(made))
                print(f"{library}: {len(contents(Path(made)))} files made")
    print("\n".join(failures) or "all as they are in tests/fixtures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
