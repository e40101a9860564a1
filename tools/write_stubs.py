"""Writes pyflowdata/ops.pyi, the types of the built-in ops.

    python -m tools.write_stubs            writes it; `make stubs` runs this
    python -m tools.write_stubs --check    writes nothing; exits with 1 if it is not current
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyflowdata.stubs import make_stubs

PATH = Path(__file__).resolve().parent.parent / "pyflowdata" / "ops.pyi"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.write_stubs [--check]", file=sys.stderr)
        return 2
    stubs = make_stubs()
    if arguments:
        current = PATH.is_file() and PATH.read_text(encoding="utf-8") == stubs
        if not current:
            print(f"{PATH} is not current; run `make stubs`", file=sys.stderr)
        return 0 if current else 1
    PATH.write_text(stubs, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
