"""Markdown of plain texts: sentences, tables, signatures, and docstrings with their sections."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence

# Of code in HTML; names break after underscores.
_CODE = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "*": "&#42;", "_": "&#95;<wbr>"}
_SECTION = re.compile(r"^(?:Args|Attributes|Returns|Yields|Raises):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)(?: \(([^)]*)\))?: (.*)$", re.S)


def prose(said: str) -> str:
    """A sentence in which only `code` is markup."""
    parts = re.split(r"(`[^`]*`)", said)
    return "".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(said: str) -> str:
    said = re.sub(r"([\\*_#|\[\]])", r"\\\1", said)
    return said.replace("<", "&lt;").replace(">", "&gt;")


def code(said: str) -> str:
    """A text in letters of equal width, also in a table."""
    if not said:
        return ""
    for one, shown in _CODE.items():
        said = said.replace(one, shown)
    return f"<code>{said}</code>"


def fenced(said: str, language: str) -> str:
    longest = max((len(one) for one in re.findall(r"^`{3,}", said, re.M)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{said.rstrip()}\n{fence}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown without line breaks.  Columns that are empty are left out."""
    listed = [list(row) for row in rows]
    used = [place for place in range(len(head)) if place == 0 or any(row[place] for row in listed)]
    lines = [[head[place] for place in used], ["---"] * len(used)]
    lines += [[row[place] for place in used] for row in listed]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def heading(level: int, said: str, anchor: str) -> str:
    return f"{'#' * level} {said} {{ #{anchor} }}\n"


def summary(said: str) -> str:
    """The first sentence."""
    first = inspect.cleandoc(said).split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.:;]) {1,2}(?=[A-Z`])", first)[0].rstrip(":;.") + "."


# ---- Docstrings ---------------------------------------------------------------------------------


def docstring(said: str) -> str:
    """The Markdown of a docstring: its text, and a table for each of its sections."""
    body, sections = _divided(inspect.cleandoc(said))
    parts = [_body(body)]
    for name, lines in sections:
        parts.append(_section(name, textwrap.dedent("\n".join(lines)).strip("\n")))
    return "\n".join(part for part in parts if part)


def _divided(said: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    body: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    into = body
    for line in said.split("\n"):
        if _SECTION.match(line):
            into = []
            sections.append((line[:-1], into))
        elif line and not line.startswith(" ") and sections and into is not body:
            into = body  # text after a section
            into += ["", line]
        else:
            into.append(line)
    return body, sections


def _body(lines: Sequence[str]) -> str:
    """Paragraphs and lists; what is indented is code."""
    drawn: list[str] = []
    for block in re.split(r"\n{2,}", "\n".join(lines).strip("\n")):
        if block.startswith("    "):
            drawn.append(_code_block(block, drawn))
        elif re.match(r"\s*[-*] ", block):
            items = re.split(r"\n(?=\s*[-*] )", block)
            drawn.append("".join(f"- {prose(_joined(item.strip()[2:]))}\n" for item in items))
        else:
            drawn.append(prose(_joined(block)) + "\n")
    return "\n".join(drawn)


def _code_block(block: str, drawn: list[str]) -> str:
    """One block for code that has empty lines in it."""
    text = textwrap.dedent(block)
    if drawn and drawn[-1].startswith("```"):
        text = drawn.pop().split("\n", 1)[1].rsplit("```", 1)[0] + "\n" + text
    is_python = re.search(r"^(?:from|import|with|for|def|@|\w[\w, ]* = |print\()", text, re.M)
    return fenced(text, "python" if is_python else "text")


def _joined(said: str) -> str:
    return re.sub(r"\s*\n\s*", " ", said)


def _section(name: str, said: str) -> str:
    if not said:
        return ""
    entries = re.split(r"\n(?=\S)", said)
    matches = [_ENTRY.match(entry) for entry in entries]
    if name in ("Returns", "Yields") or not all(matches):
        return f"**{name}**\n\n{_body(said.split(chr(10)))}"
    head = {"Args": "argument", "Raises": "error", "Attributes": "attribute"}[name]
    rows = []
    for match in matches:
        assert match
        words, kind, about = match.groups()
        about = (f"{kind}. " if kind else "") + _joined(about)
        rows.append([", ".join(code(one) for one in words.split(", ")), prose(about)])
    return table([head, "what it is"], rows)


# ---- Signatures ---------------------------------------------------------------------------------


def signature(name: str, made: inspect.Signature | None, *, skip_self: bool = False) -> str:
    """A call with its parameters; on several lines where one is too short."""
    if made is None:
        return f"{name}(...)"
    parameters = list(made.parameters.values())
    if skip_self and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    shown: list[str] = []
    is_by_name = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not is_by_name:
            is_by_name = True
            if not any(other.kind is other.VAR_POSITIONAL for other in parameters):
                shown.append("*")
        is_by_name = is_by_name or one.kind is one.VAR_POSITIONAL
        shown.append(_parameter(one))
    answer = made.return_annotation
    returns = "" if answer is made.empty else f" -> {_annotation(answer)}"
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f"){returns}"


def _parameter(one: inspect.Parameter) -> str:
    said = str(one.replace(annotation=one.empty, default=one.empty))  # with its stars
    if one.annotation is not one.empty:
        said += f": {_annotation(one.annotation)}"
    if one.default is not one.empty:
        value = repr(one.default)
        value = "..." if " at 0x" in value else value
        said += f" = {value}" if one.annotation is not one.empty else f"={value}"
    return said


def _annotation(kind: object) -> str:
    said: str = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    said = said.strip("'\"")
    return re.sub(r"\b(?:collections\.abc|typing|pyflowdata(?:\.\w+)*|numpy(?=\.nd))\.", "", said)
