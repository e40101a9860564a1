"""Files outside docs/ that pages link to, as pages of the site: sources, folders, Markdown."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from .markdown import fenced

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "source"  # of these pages

_LINK = re.compile(r"(\[[^\]]*\]\()([^)\s#:]+)(#[\w.-]+)?\)")
_LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".md": "markdown", ".toml": "toml",
              ".txt": "text", ".json": "json", ".csv": "text"}  # fmt: skip
_MOST_BYTES = 200_000


def target_of(page: str, link: str) -> str | None:
    """The file or folder of the repository that a page in docs/ links to; None: one in docs/.

    Raises:
        FileNotFoundError: It is not there.
    """
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    if path == "docs" or path.startswith("docs/"):
        return None
    if path.startswith("../") or not (ROOT / path).exists():
        raise FileNotFoundError(f"docs/{page} links to {link}: there is no {path}")
    return path


def place_of(path: str) -> str:
    """The page of a file or folder, from docs/."""
    suffix = "" if path.endswith(".md") else ".md"
    return "index.md" if path == "README.md" else f"{FOLDER}/{path.rstrip('/')}{suffix}"


def with_links(page: str, text: str, found: set[str]) -> str:
    """The Markdown with links to the pages of files; adds these files to `found`."""

    def changed(match: re.Match[str]) -> str:
        target = target_of(page, match[2])
        if target is None:
            return match[0]
        found.add(target)
        way = posixpath.relpath(place_of(target), posixpath.dirname(page))
        anchor = (match[3] or "") if target.endswith(".md") else ""
        return f"{match[1]}{way}{anchor})"

    return _linked(text, changed)


def _linked(text: str, changed: Callable[[re.Match[str]], str]) -> str:
    """The Markdown with every link changed that is not in code."""
    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.S | re.M)
    return "".join(part if place % 2 else _LINK.sub(changed, part)
                   for place, part in enumerate(parts))  # fmt: skip


def page(path: str, found: set[str]) -> str:
    """The Markdown of the page of a file or folder."""
    whole = ROOT / path
    if whole.is_dir():
        return _folder_page(path, whole, found)
    text = whole.read_text(encoding="utf-8")
    if path.endswith(".md"):  # its links are from where it is
        return _moved(path, text, found)
    language = _LANGUAGES.get(whole.suffix, "makefile" if whole.name == "Makefile" else "text")
    return f"# {whole.name}\n\nThe file `{path}` of the repository.\n\n{fenced(text, language)}"


def with_sections_of_readme(text: str, found: set[str]) -> str:
    """The first page, with the sections that its comments name in the place of each comment.

    Raises:
        LookupError: README.md has no such section.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def sections(comment: re.Match[str]) -> str:
        parts = []
        for title in comment[1].split(", "):
            section = re.search(rf"^## {title}\n.*?(?=^## |\Z)", readme, re.M | re.S)
            if section is None:
                raise LookupError(f"README.md has no section {title!r}, which docs/index.md names")
            parts.append(_moved("README.md", section[0], found))
        return "\n".join(parts)

    return re.sub(r"^<!-- .* README.md here: (.*) -->$", sections, text, flags=re.M)


def _moved(path: str, text: str, found: set[str]) -> str:
    """A Markdown file outside docs/, with its links as from its page."""

    def changed(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
        if not (ROOT / target).exists():
            raise FileNotFoundError(f"{path} links to {match[2]}: there is no {target}")
        anchor = (match[3] or "") if target.endswith(".md") else ""
        if target.startswith("docs/"):
            place = target.removeprefix("docs/")
        else:
            found.add(target)
            place = place_of(target)
        way = posixpath.relpath(place, posixpath.dirname(place_of(path)))
        return f"{match[1]}{way}{anchor})"

    return _linked(text, changed)


def _folder_page(path: str, whole: Path, found: set[str]) -> str:
    """Its files, as links."""
    lines = []
    for one in sorted(whole.iterdir()):
        if one.name.startswith((".", "__")) or one.suffix in (".so", ".pyc"):
            continue
        if one.is_file() and _is_text(one):
            name = f"{path}/{one.name}"
            found.add(name)
            way = posixpath.relpath(place_of(name), posixpath.dirname(place_of(path)))
            lines.append(f"- [{one.name}]({way})")
        elif one.is_file() or any(one.iterdir()):
            lines.append(f"- {one.name}")
    return f"# {whole.name}\n\nThe folder `{path}` of the repository.\n\n" + "\n".join(lines) + "\n"


def _is_text(path: Path) -> bool:
    data = path.read_bytes()
    return len(data) < _MOST_BYTES and b"\0" not in data
