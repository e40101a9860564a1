"""The hooks of MkDocs.  They add to the pages of docs/: the reference, the sources that pages
link to, descriptions, pictures in the colours of the page, and a search without a server.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.site import reference, source_pages, svg  # noqa: E402

_ALONE = {"index.md", "faq.md", "gallery/index.md"}  # the only pages of their tabs
_BEGINNING = re.compile(r"\s*# ([^\n]+)\n\n?((?!```)[^\s#|<!].*?)\n *\n", re.S)
_OWN_STYLE = re.compile(r'<svg[^>]* class="pfd')  # rules are for that class alone
_TABLE = re.compile(r"<table(>.*?</table>)", re.S)
_IMAGE = re.compile(r'<img alt="([^"]*)" src="([^"]*pictures/([\w-]+\.svg))" */?>')


def on_config(config: Any) -> Any:
    """Puts the pages of the reference into the navigation, where it says "Reference"."""
    for entry in config.nav:
        if "Reference" in entry:
            made = [
                {section.title: [{page.title: f"reference/{page.path}"} for page in section.pages]}
                for section in reference.sections()
            ]
            entry["Reference"] = ["reference/index.md", *made, *entry["Reference"]]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds pages that are not files: the reference, sources, and styles of pictures."""
    texts = {file.src_uri: file.content_string for file in files.documentation_pages()}
    for path, page in reference.pages().items():
        texts[path] = f"{texts[path]}\n{page.text}" if path in texts else page.text
    wanted = {"CHANGELOG.md", "CONTRIBUTING.md"}  # which the navigation has
    made = {path: source_pages.with_links(path, text, wanted) for path, text in texts.items()}
    made["index.md"] = source_pages.with_sections_of_readme(made["index.md"], wanted)
    done: set[str] = set()
    while wanted - done:
        for path in sorted(wanted - done):
            done.add(path)
            place = source_pages.place_of(path)
            if place not in made:
                made[place] = source_pages.page(path, wanted)
    for path, text in made.items():
        old = files.get_file_from_path(path)
        if old is not None:
            old.content_string = text
        else:
            files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, "site/pictures.css", content=svg.page_colors()))
    config.extra_css.append("site/pictures.css")
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Gives the page its description, the first sentence after the title."""
    path = page.file.src_uri
    if path.startswith(source_pages.FOLDER + "/"):
        page.meta["description"] = f"{path.partition('/')[2].removesuffix('.md')} of pyflowdata"
        page.meta["search"] = {"exclude": True}
        return markdown
    found = _BEGINNING.match(markdown + "\n\n")
    if found is None:
        raise ValueError(f"docs/{path} does not begin with a title and a sentence")
    page.meta["description"] = _plain(found[2])
    if path in _ALONE:
        page.meta["hide"] = ["navigation"]
    if path not in reference.pages() and path != "gallery/index.md":
        page.meta["search"] = {"boost": 2}  # a page on a subject before the names it mentions
    return markdown


def _plain(said: str) -> str:
    """A sentence without markup, for search engines."""
    said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(said.split()))
    said = re.sub(r"\\(.)", r"\1", said.replace("`", "").replace("**", ""))
    return re.split(r"(?<=[.?:]) +(?=[A-Z])", said)[0].replace('"', "'")


def on_page_content(html: str, page: Page, config: Any, files: Files) -> str:
    """Puts pictures into the page, so that they have its colours; tables scroll by themselves."""

    def inlined(match: re.Match[str]) -> str:
        text = (ROOT / "docs" / "pictures" / match[3]).read_text(encoding="utf-8")
        if not _OWN_STYLE.match(text):
            return match[0]  # its style would be that of the page as well
        return f'<span class="picture" tabindex="0">{text.strip()}</span>'

    return _TABLE.sub(_with_width, _IMAGE.sub(inlined, html))


def _with_width(table: re.Match[str]) -> str:
    """Marks a table of single signs: its columns are narrow."""
    cells = re.findall(r"<td>(.*?)</td>", table[0], re.S)
    signs = [cell for cell in cells if len(cell) <= 1]
    return f"<table data-signs{table[1]}" if 2 * len(signs) > len(cells) else table[0]


def on_post_build(config: Any) -> None:
    """The index of the search as a script: pages that are opened as files cannot fetch others."""
    folder = Path(config.site_dir, "search")
    index = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))
    text = json.dumps(index, separators=(",", ":"))
    (folder / "search_index.js").write_text(f"var __index = {text}\n", encoding="utf-8")
