"""Pages of the C headers: their text, and their declarations under the headings of the sections."""

from __future__ import annotations

import re
from pathlib import Path

from .markdown import fenced, table
from .page import Page

ROOT = Path(__file__).resolve().parents[2]
_HEADERS = {
    "csrc/include/pyflowdata/op.h":
        "All that the author of an op includes: descriptors, attrs, sources and kernels.",
    "csrc/include/pyflowdata/pyflowdata.h":
        "The C interface that the Python package binds: registry, nodes and loaders.",
    "kit/pyflowdata_kit/include/pyflowdata_kit/kit.h":
        "The C interface of the library that checks and measures ops.",
}  # fmt: skip
_WHERE = {"pyflowdata": ", and `pyflowdata include-dir` prints where it is"}
_DECLARED = re.compile(
    r"^typedef .*?\b(pfd_\w+);|^\} (pfd_\w+);|^[\w \*]*?\b(pfd_\w+)\(", re.M
)
_SECTION = re.compile(r"^/\* ---- (.+?) -*\s*(?:\*/|\n)", re.M)


def pages() -> list[Page]:
    """One for each header."""
    return [_page(path, about) for path, about in _HEADERS.items()]


def _page(path: str, about: str) -> Page:
    text = (ROOT / path).read_text(encoding="utf-8")
    folder, name = Path(path).parts[-2:]
    head, _, rest = text.partition("*/\n")
    first = _SECTION.search(rest)
    assert first, name
    sections = _SECTION.split(rest[first.start() :])
    titled = list(zip(sections[1::2], sections[2::2], strict=True))
    index = [[f"[{_title(title)}](#{_anchor(title)})", _names(body)] for title, body in titled]
    parts = [
        f"# {name}\n", f"{about}\n",
        f"This is the text of [{path}](../../../{path}); a C file has "
        f"`#include <{folder}/{name}>`{_WHERE.get(folder, '')}.\n",
        table(["section", "declares"], index),
        "## Rules { #rules }\n", fenced(_uncommented(head), "text"),
        *(f"## {_title(title)} {{ #{_anchor(title)} }}\n\n{_body(body)}" for title, body in titled),
    ]  # fmt: skip
    return Page(name.replace(".h", "-h.md"), name, "\n".join(parts))


def _title(said: str) -> str:
    return said.rstrip("- ").strip()


def _anchor(said: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _title(said).lower()).strip("-")


def _uncommented(said: str) -> str:
    lines = said.removeprefix("/* ").rstrip().split("\n")
    return "\n".join(re.sub(r"^ \* ?", "", line) for line in lines)


def _body(said: str) -> str:
    """A section; the rest of a comment that its title began is a text in front of the code."""
    comment = ""
    if said.startswith(" *"):
        comment, _, said = said.partition("*/")
    said = re.sub(r"/\* cdef-(?:begin|end) \*/\n", "", said).strip("\n")
    said = re.sub(r"\n*#ifdef __cplusplus\n}\n#endif.*\Z", "", said, flags=re.S)
    before = f"{_plain(comment)}\n\n" if comment.strip(" *\n") else ""
    return before + (fenced(said, "c") if said else "")


def _plain(comment: str) -> str:
    text = _uncommented(comment).strip()
    return fenced(text, "text")


def _names(said: str) -> str:
    """What a section declares."""
    found = _DECLARED.findall(said)
    names = dict.fromkeys(next(one for one in match if one) for match in found)
    return ", ".join(f"`{one}`" for one in names)
