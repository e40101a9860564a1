"""HTML that notebooks show: small tables that take the colours of the page they are in.

Colours of text are those of the page, and lines and fills are translucent, so that a table reads
well on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_TABLE = "border-collapse:collapse;margin:4px 0;color:inherit;font-size:13px"
_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0;border:0;color:inherit"
_HEAD = f"{_CELL};font-weight:600;border-bottom:1px solid rgba(128,128,128,.5)"
_ROW = "background:transparent;border:0"


class Html(str):
    """A text that is HTML already; any other is escaped where it is put into HTML."""

    __slots__ = ()


def escape(text: object) -> Html:
    """The text for a page or an attribute of an element: no character of it is markup."""
    if isinstance(text, Html):
        return text
    said = str(text)
    for one, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#39")):
        said = said.replace(one, f"&{name};")
    return Html("".join(one if _is_of_pages(one) else f"\\x{ord(one):02x}" for one in said))


def _is_of_pages(character: str) -> bool:
    """Whether HTML and XML may have it: control characters and halves of pairs are not of them."""
    code = ord(character)
    return code in (9, 10, 13) or (32 <= code and not 0xD800 <= code < 0xE000
                                   and code not in (0xFFFE, 0xFFFF))  # fmt: skip


def element(name: str, content: object, style: str = "") -> Html:
    """<name>content</name>."""
    styled = f' style="{style}"' if style else ""
    return Html(f"<{name}{styled}>{escape(content)}</{name}>")


def title(text: object) -> Html:
    """A line above a table."""
    return element("div", text, "font-weight:600;margin-top:4px")


def note(text: object) -> Html:
    """A line below a table; "": none."""
    return Html("") if text == "" else element("div", text, "opacity:.75;font-size:13px")


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> Html:
    """A table; with a head, it has names of columns."""
    lines = []
    if head:
        cells = "".join(element("th", one, _HEAD) for one in head)
        lines.append(f'<tr style="{_ROW}">{cells}</tr>')
    for row in rows:
        cells = "".join(element("td", one, _CELL) for one in row)
        lines.append(f'<tr style="{_ROW}">{cells}</tr>')
    return Html(f'<table style="{_TABLE}">{"".join(lines)}</table>')


def joined(*parts: object) -> Html:
    """The parts one after another, in one element."""
    return Html(f"<div>{''.join(escape(part) for part in parts)}</div>")


def code(text: object) -> Html:
    """A text in letters of equal width."""
    return element("code", text, "background:transparent;color:inherit")
