"""The code blocks of the pages in docs/ and of README.md; CONTRIBUTING.md has the convention.

    for block in blocks_of("docs/how-to/map.md"):
        print(block.line, block.language, block.title, block.marks)
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_FENCED = re.compile(
    r"(?P<marks>(?:^ *<!--[^\n]*-->\n\s*)*)"
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
_COMMAND = re.compile(
    r"(?P<marks>(?:^<!--[^\n]*-->\n\s*)*)(?P<text>(?:^    pyflowdata .*\n(?:^      .*\n)*)+)", re.M
)
_MARK = re.compile(r"<!-- *([a-z]+(?: \w+)*)(?:: *([^\n]*?))? *-->")
_OF_ALL = re.compile(r"^<!-- all ([a-z]+(?: \w+)*): *([^\n]*?) *-->$", re.M)


@dataclass
class Block:
    """One block: `line` is that of its first line of text, counted from 1."""

    page: str
    line: int
    language: str
    text: str
    title: str | None = None
    marks: dict[str, str] = field(default_factory=dict)
    prints: Block | None = None

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def needs(self) -> list[str]:
        """Modules that must be installed: `<!-- needs torch -->`."""
        return [mark.split()[1] for mark in self.marks if mark.startswith("needs ")]

    @property
    def runs(self) -> bool:
        """Whether it is code of its page: not a file to save, and not marked `not run`, or `tested
        by` a file that runs it."""
        is_code = self.language in ("python", "sh") and not self.title
        return is_code and not self.marks.keys() & {"not run", "tested by"}

    def at_its_line(self) -> str:
        """The text after as many empty lines as precede it on the page, for messages."""
        return "\n" * (self.line - 1) + self.text


def pages() -> list[str]:
    """README.md and all pages of docs/, relative to the root of the tree."""
    docs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *docs]


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page in its order; each has the `text` block after it as what it prints.

    A comment `<!-- all NAME: VALUE -->` marks every block of the page with NAME.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [_block(page, text, match, match["info"]) for match in _FENCED.finditer(text)]
    prose = _FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in _COMMAND.finditer(prose):
        found.append(_block(page, prose, match, "sh"))
    found.sort(key=lambda block: block.line)
    for block, after in zip(found, found[1:]):
        if block.language in ("python", "sh") and after.language == "text" and not after.title:
            block.prints = after
    for name, value in _OF_ALL.findall(text):
        for block in found:
            block.marks.setdefault(name, value)
    return found


def _block(page: str, text: str, match: re.Match[str], info: str) -> Block:
    language, _, options = info.partition(" ")
    title = re.search(r'title="([^"]+)"', options)
    return Block(
        page=page,
        line=text.count("\n", 0, match.start("text")) + 1,
        language=language,
        text=textwrap.dedent(match["text"]),
        title=title[1] if title else None,
        marks={name: value or "" for name, value in _MARK.findall(match["marks"])},
    )
