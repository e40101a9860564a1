"""HTML: elements, pages, and small tables for notebooks that take the colours of their page.

Colours of a table's text are those of the page, and lines and fills are translucent, so that it
reads well on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


# Letters of equal width.
MONOSPACED = (
    "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
)
_TABLE = (
    "border-collapse:collapse;margin:4px 0;color:inherit;font-size:13px;font-family:" + MONOSPACED
)
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
    """Whether HTML and XML allow it: no control character, and no half of a surrogate pair."""
    code = ord(character)
    return code in (9, 10, 13) or (32 <= code and not 0xD800 <= code < 0xE000
                                   and code not in (0xFFFE, 0xFFFF))  # fmt: skip


def element(name: str, /, *content: object, **attrs: object) -> Html:
    """<name attr="value">content</name>, or <name attr="value"/> where no content is given, as of
    drawings; in HTML give "".

    In names of attributes `_` stands for `-`, and one at the end is dropped (`class_`).  Numbers
    have at most two digits after the point.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(decimal(value))}"'
        for key, value in attrs.items()
    )
    if not content:
        return Html(f"<{name}{said}/>")
    return Html(f"<{name}{said}>{strung(content)}</{name}>")


def strung(parts: Iterable[object]) -> Html:
    return Html("".join(map(escape, parts)))


def decimal(value: object) -> object:
    """A number for a drawing, with at most two digits after the point; other values as they are."""
    if not isinstance(value, (int, float)):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".")


def page(title: str, style: str, *body: object) -> Html:
    """A page that loads nothing from elsewhere; `style` is CSS."""
    head = (
        Html('<meta charset="utf-8">\n'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        element("title", title), element("style", Html(style)),
    )  # fmt: skip
    return strung((
        Html('<!DOCTYPE html>\n<html lang="en">\n'), element("head", *head), "\n",
        element("body", "\n", *body, "\n"), Html("\n</html>\n"),
    ))  # fmt: skip


def title(text: object) -> Html:
    """A line above a table."""
    return element("div", text, style="font-weight:600;margin-top:4px")


def note(text: object) -> Html:
    """A line below a table; "": none."""
    return Html("") if text == "" else element("div", text, style="opacity:.75;font-size:13px")


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> Html:
    """A table; with a head, it has names of columns."""
    found = []
    if head:
        found.append(element("tr", *(element("th", one, style=_HEAD) for one in head), style=_ROW))
    for row in rows:
        found.append(element("tr", *(element("td", one, style=_CELL) for one in row), style=_ROW))
    return element("table", *found, style=_TABLE)


def code(text: object) -> Html:
    """A text in letters of equal width."""
    return element("code", text, style="background:transparent;color:inherit")


def lines(text: object) -> Html:
    """Lines in letters of equal width, whose columns stay below each other."""
    style = f"background:transparent;color:inherit;font-size:13px;font-family:{MONOSPACED}"
    return element("pre", text, style=style)
