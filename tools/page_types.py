"""Writes the Python of README.md and docs/ as modules, for mypy and Pyright: `make check-types`.

    python -m tools.page_types build/pages

A page is a module whose lines are those of the page, so that an error names the line to mend; a
block with a title is a separate module.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools.page_blocks import ROOT, blocks_of, pages


def write_modules(folder: Path) -> int:
    """How many; what an earlier call wrote is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    count = 0
    for page in pages():
        blocks = [block for block in blocks_of(page) if block.language == "python"]
        name = page.removeprefix("docs/").removesuffix(".md").replace("/", "_").replace("-", "_")
        lines: list[str] = []
        for block in blocks:
            if block.title:
                place = folder / f"{name}__{Path(block.title).name}"
                place.write_text(block.at_its_line(), encoding="utf-8")
                count += 1
            elif not block.marks.keys() & {"not run", "not typed"}:
                lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
        if lines:
            text = "\n".join(lines) + "\n"
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
            count += 1
    return count


if __name__ == "__main__":
    if write_modules(ROOT / sys.argv[1]) < 20:
        sys.exit("page_types: fewer than 20 pages with Python; are the fences still found?")
