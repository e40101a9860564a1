"""The API reference: pages made of the registry, docstrings, parsers and headers.

`sections()` returns all pages; this module does not need MkDocs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from . import command_pages, header_pages, op_pages, python_pages
from .markdown import table
from .op_groups import built_in_ops, groups
from .page import Page


@dataclass(frozen=True)
class Section:
    """A part of the reference.

    Attributes:
        title: As the navigation shows it.
        pages: With paths from docs/reference.
    """

    title: str
    pages: tuple[Page, ...]


def _placed(folder: str, pages: list[Page]) -> tuple[Page, ...]:
    return tuple(replace(page, path=f"{folder}{page.path}") for page in pages)


@functools.cache
def sections() -> tuple[Section, ...]:
    ops = _placed("ops/", op_pages.pages())
    shared, *rest = ops
    readers = {f"ops/{group.key}.md" for group in groups() if group.ops[0].is_reader
               and not group.ops[0].is_view}  # fmt: skip
    images = [page for page in rest if page.path.startswith("ops/images-")]
    others = [page for page in rest if page.path not in readers and page not in images]
    return (
        Section("Readers and formats", (shared, *(one for one in rest if one.path in readers))),
        Section("Ops on values, and views", tuple(others)),
        Section("Ops on images", tuple(images)),
        Section("Python API", _placed("python/", python_pages.pages())),
        Section("Command line", _placed("", command_pages.pages())),
        Section("C headers", _placed("c/", header_pages.pages())),
    )


def pages() -> dict[str, Page]:
    """By path from docs/; also an index of all."""
    made = {page.path: page for section in sections() for page in section.pages}
    made["index.md"] = _index()
    return {f"reference/{path}": page for path, page in made.items()}


def _index() -> Page:
    """What is added to the first page: every op and every name, by the page that it is on."""
    parts = [f"There are {len(built_in_ops())} ops.\n"]
    for section in sections():
        is_ops = section.title.startswith(("Readers", "Ops"))
        anchor = " { #ops }" if section.title.startswith("Readers") else ""
        parts.append(f"## {section.title}{anchor}\n")
        rows = [
            [f"[{page.title}]({page.path})",
             ", ".join(f"[{name}]({page.path}#{name})" for name in page.names)
             or page.text.split("\n\n")[1]]
            for page in section.pages
        ]  # fmt: skip
        parts.append(table(["page", "ops" if is_ops else "names"], rows))
    return Page("index.md", "Reference", "\n".join(parts))
